"""The table of flags compared with JAX's: the same names, the same defaults."""

import ast
import importlib
import subprocess
import sys

import pytest

from tapeless import config

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def jax():
    """The oracle."""
    return importlib.import_module("jax")


def test_every_flag_of_jax_is_in_the_table(jax):
    assert set(jax.config.values) - set(config.flags) == set()
    ours = [name for name in config.flags if name not in jax.config.values]
    assert all(name.startswith("tapeless_") for name in ours)


def test_defaults_are_those_of_jax(jax):
    # In a process of its own, since other tests change JAX's settings.
    code = (
        'import jax; print({n: getattr(v, "name", str(v)) for n, v in jax.config.values.items()})'
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name, value in ast.literal_eval(done.stdout).items():
        if name == "jax_explicit_x64_dtypes":
            assert value.lower().endswith(config.flags[name].default)
        elif name != "jax_platforms":  # which the tests set in the environment
            assert str(config.flags[name].default).lower() == value.lower(), name


def test_every_context_manager_of_jax_is_there(jax):
    missing = []
    for name, value in vars(jax).items():
        if type(value).__name__ != "State":
            continue
        if not isinstance(getattr(config, name, None), config.Option):
            missing.append(name)
    assert sorted(missing) == ["auto_pcast", "jax2tf_associative_scan_reductions"]
