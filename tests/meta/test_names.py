"""Each public name of JAX is here, is left out for a stated reason, or is on the list to do.

The counts are printed.  Where the lists are: see `names.py`.
"""

import json

import ml_dtypes
import pytest

from tests.meta import names

NAMES = names.stored_names()
TO_DO = json.loads(names.TO_DO.read_text())
REASONS = json.loads(names.ABSENT.read_text())
LIBRARY = ("numpy", "lax", "nn", "ops", "tree", "tree_util")
MAX_ABSENT_IN_LIBRARY = 15
FACADES = [
    "lax",
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "random",
    "nn",
    "dtypes",
    "core",
    "sharding",
    "image",
    "scipy",
    "scipy.cluster.vq",
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.spatial.transform",
    "experimental.jet",
    "experimental.ode",
]


@pytest.fixture(scope="module")
def sorted_names() -> dict:
    """The names of each module by kind."""
    return names.sort_names(NAMES, REASONS)


def test_no_name_is_lost(sorted_names, capsys):
    with capsys.disabled():
        print("\n" + names.counts(sorted_names))
    excused = {name for name in ("int1", "uint1") if not hasattr(ml_dtypes, name)}  # before 0.6
    lost = {
        m: set(kinds["to do"]) - set(TO_DO.get(m, ())) - excused
        for m, kinds in sorted_names.items()
    }
    assert not {m: found for m, found in lost.items() if found}


def test_names_left_out_are_left_out():
    full_names = [f"{m}.{name}" for m, found in NAMES.items() for name in found]
    single = {name for name in REASONS if not name.endswith(".*")}
    assert not single - set(full_names), "no such name in JAX"
    assert not [name for name in single if names.lookup(name)], "here after all"


def test_few_names_are_left_out(sorted_names):
    library = scipy = scipy_total = 0
    for module, kinds in sorted_names.items():
        head = module.split(".")[1] if "." in module else ""
        library += len(kinds["absent"]) if head in LIBRARY else 0
        scipy += len(kinds["absent"]) if head == "scipy" else 0
        scipy_total += sum(map(len, kinds.values())) if head == "scipy" else 0
    assert library <= MAX_ABSENT_IN_LIBRARY
    assert scipy <= scipy_total / 10


@pytest.mark.parametrize("module", FACADES)
def test_no_helper_shows_in_a_facade(module):
    facade = names.find_module(f"tapeless.{module}")
    shown = {name for name in dir(facade) if not name.startswith("_")}
    assert shown
    assert not shown - set(NAMES[f"jax.{module}"])


@pytest.mark.oracle
def test_the_stored_names_are_those_of_jax():
    assert NAMES == names.installed_names()
