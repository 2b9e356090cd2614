"""Unmodified libraries compute here what they compute on JAX (`expected.json`, by `record.py`)."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.ecosystem import record

STORED = json.loads(record.EXPECTED.read_text())
RUN = """
import json, sys
import tapeless
tapeless.install_as_jax()
from tests.ecosystem import record
print(json.dumps(record.numbers_of(sys.argv[1])))
assert not any(name.startswith("jaxlib.xla") for name in sys.modules), "jaxlib was loaded"
"""
# Relative error where an iteration amplifies rounding.
LOOSE = {
    "blackjax_nuts": 1e-2,
    "blackjax_window": 1e-2,
    "jaxopt_implicit": 5e-3,
    "jaxopt_lbfgs": 2e-3,
    "optax_lbfgs": 1e-2,
}


def compare(found: object, expected: object, tolerance: float, where: str = "") -> None:
    """Compare two trees of numbers."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            compare(found[key], expected[key], tolerance, f"{where}/{key}")
        return
    if isinstance(expected, list) and any(isinstance(x, (list, dict, str)) for x in expected):
        assert len(found) == len(expected), where
        for number, pair in enumerate(zip(found, expected, strict=True)):
            compare(*pair, tolerance, f"{where}/{number}")
        return
    if isinstance(expected, (str, bool)):
        assert found == expected, where
        return
    scale = np.abs(np.asarray(expected, float)).max(initial=0.0)
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * scale, err_msg=where
    )


def test_each_program_has_stored_numbers():
    assert {path.stem for path in record.PROGRAMS.glob("*.py")} == set(STORED)


@pytest.mark.parametrize("program", sorted(STORED))
def test_program(program):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, program],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    compare(json.loads(done.stdout.splitlines()[-1]), STORED[program], LOOSE.get(program, 2e-5))
