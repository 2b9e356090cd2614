"""Every operation's record: the module that this package prints is loaded to the same values."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import tapeless as jax
from tapeless import dtypes, stablehlo

ROOT = Path(__file__).parents[2]


def records():
    """Return the records of all test files, with the names of the files."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if path != Path(__file__) and "RECORDS" in path.read_text():
            dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            module = importlib.import_module(dotted)
            found += [(path.stem, record) for record in getattr(module, "RECORDS", [])]
    printed = [(stem, record) for stem, record in found if "hlo" not in record.without]
    return [pytest.param(record, id=f"{stem}-{record.name}") for stem, record in printed]


@pytest.mark.parametrize("record", records())
def test_what_is_printed_is_loaded(record):
    args = record.arguments(record.dtypes[0])
    with jax.enable_x64(True):
        compiled = jax.jit(record.call, keep_unused=True)
        expected = jax.tree.leaves(compiled(*args))
        loaded = stablehlo.load(compiled.lower(*args).as_text())
        found = jax.tree.leaves(loaded(*args))
    for x, y in zip(expected, found, strict=True):
        if isinstance(x.dtype, dtypes.ExtendedDtype):
            x = jax.random.key_data(x)
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape and x.dtype in (y.dtype, dtypes.float0)
        np.testing.assert_allclose(x.astype(complex), y.astype(complex), rtol=1e-5, atol=1e-5)
