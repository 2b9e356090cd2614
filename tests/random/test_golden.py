"""Draws are those that JAX made when they were kept (`golden.py`), on any Python."""

from pathlib import Path

import numpy as np
import pytest

import tapeless as jax
from tapeless import dtypes
from tests.random import golden
from tests.random.agreement import check_agreement
from tests.random.table import as_markdown

CASES = [
    # The words of the old layout are other ones, which the streams tell; what is made of them is
    # not: long tests.
    pytest.param(*case, id="-".join(case), marks=[pytest.mark.slow] * (case[2] == "old"))
    for case in golden.cases()
]
KEPT_STREAMS = np.load(golden.STREAMS)
KEPT_DRAWS = np.load(golden.DRAWS)


def test_streams_of_both_layouts_have_the_kept_bits() -> None:
    """Bits, numbers and children of 20 seeds, in each dtype and layout."""
    found = dict(golden.streams(jax))
    assert found.keys() == set(KEPT_STREAMS.files)
    for name, words in found.items():
        kept = KEPT_STREAMS[name]
        if name.startswith("normal"):
            dtype = name.split("-")[1]
            if dtype == "bfloat16":
                words, kept = words.view(dtypes.bfloat16), kept.view(dtypes.bfloat16)
            check_agreement("normal", kept, words)
        else:
            np.testing.assert_array_equal(words, kept, err_msg=name)


@pytest.mark.parametrize(("name", "dtype", "layout"), CASES)
def test_distributions_agree_with_kept_draws(name: str, dtype: str, layout: str) -> None:
    """As closely as the table says."""
    kept = KEPT_DRAWS[f"{name}-{dtype}-{layout}"]
    if dtype == "bfloat16":
        kept = kept.view(dtypes.bfloat16)
    check_agreement(name, kept, golden.draws(jax, name, dtype, layout))


def test_the_documented_table_is_the_tested_one() -> None:
    page = Path(__file__).parents[2] / "docs" / "random.md"
    assert as_markdown() in page.read_text()
