"""The approximate top k is the exact one."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.prims import approx

X = np.random.default_rng(0).normal(size=(3, 50)).astype(np.float32)


def test_largest_and_least():
    values, places = approx.approx_max_k(X, 4)
    np.testing.assert_array_equal(np.sort(X, 1)[:, :-5:-1], values)
    np.testing.assert_array_equal(np.argsort(X, 1)[:, :-5:-1], places)
    values, places = approx.approx_min_k(X, 2, 0)
    np.testing.assert_array_equal(np.sort(X, 0)[:2], values)
    np.testing.assert_array_equal(np.argsort(X, 0)[:2], places)


def test_recall_is_a_probability():
    with pytest.raises(ValueError, match="recall_target must be in"):
        approx.approx_max_k(X, 4, recall_target=2.0)
