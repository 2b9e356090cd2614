"""Routines of our own that programs call: modules beside the program's, shared by all programs.

The symbol of a call names the routine and its sizes; the text is written when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tapeless.compiler.fouriertext import fourier_text
from tapeless.compiler.matrixtiles import PRODUCT, product_text
from tapeless.compiler.paneltext import panel_text
from tapeless.compiler.placetext import PLACES, places_text
from tapeless.compiler.sorttext import sorter_text
from tapeless.compiler.striptext import strip_text
from tapeless.kernel.fourier import FOURIER
from tapeless.kernel.panels import PANELS
from tapeless.kernel.sorters import SORTERS
from tapeless.kernel.strips import STRIPS

__all__ = ["extra_text"]

_TEXTS = {
    FOURIER: fourier_text,
    PANELS: panel_text,
    SORTERS: sorter_text,
    STRIPS: strip_text,
}


def extra_text(symbol: str) -> Callable[[], str] | None:
    """Return what writes the module of a symbol, or None if the symbol is no routine of ours."""
    if symbol == PRODUCT:
        return product_text
    if symbol == PLACES:
        return places_text
    prefix, colon, _ = symbol.partition(":")
    write = _TEXTS.get(prefix + colon)
    return None if write is None else partial(write, symbol)
