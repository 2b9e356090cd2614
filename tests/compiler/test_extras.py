"""Symbols of routines of our own have texts; others have none."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.compiler.extras import extra_text
from tapeless.compiler.matrixtiles import PRODUCT
from tapeless.kernel.fourier import Fourier
from tapeless.kernel.panels import Panel
from tapeless.kernel.sorters import Sorter

F32 = np.dtype(np.float32)
SYMBOLS = [
    PRODUCT,
    Fourier(F32, 8, "4ss").symbol,
    Panel(F32, 2, 8, 1).symbol,
    Sorter(F32, 1, 32).symbol,
]


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_routines_export_their_symbols(symbol):
    assert f'@"{symbol}"(' in extra_text(symbol)() or f"@{symbol}(" in extra_text(symbol)()


@pytest.mark.parametrize("symbol", ["blas:sgemm", "host:0", "fault:1", "malloc"])
def test_other_symbols_are_not_ours(symbol):
    assert extra_text(symbol) is None
