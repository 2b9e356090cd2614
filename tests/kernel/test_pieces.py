"""Nests that are cut where choices between reads change."""

from __future__ import annotations

from tapeless.core.aval import ShapedArray
from tapeless.kernel.build import KernelBuilder
from tapeless.kernel.ir import Loop
from tapeless.kernel.pieces import pieces_of
from tapeless.kernel.pprint import listing
from tapeless.kernel.value import KernelValue
from tests.kernel.test_nodes import F32


def joined(shape: tuple[int, ...], axis: int, places: tuple[int, ...]) -> str:
    """Store a choice between arrays that changes at some places along an axis."""
    b = KernelBuilder()
    aval = ShapedArray(shape, F32)
    arrays = [
        KernelValue(b, aval, buffer=b.new_buffer(aval, "input")) for _ in range(len(places) + 1)
    ]

    def pull(index: tuple) -> object:
        """Choose one element."""
        element = arrays[0].at(*index)
        for place, array in zip(places, arrays[1:], strict=True):
            element = b.select(b.ge(b.affine(index[axis]), place), array.at(*index), element)
        return element

    b.stored(b.virtual(aval, pull))
    return listing(b.finish())


def test_pieces_choose_nothing() -> None:
    text = joined((100,), 0, (30, 70))
    assert "select" not in text
    assert [line for line in text.splitlines() if line.startswith("for")] == [
        f"for {name} < {extent}:"
        for name, extent in zip(_variables(text), (30, 40, 30), strict=True)
    ]


def test_a_piece_of_one_element_has_no_loop() -> None:
    text = joined((100,), 0, (1,))
    assert text.count("for ") == 1
    assert "select" not in text


def test_an_axis_has_few_pieces() -> None:
    text = joined((100,), 0, tuple(range(1, 13)))
    assert text.count("for ") <= 9
    assert "< 88:" in text, "the long piece stays whole"
    assert "select" in text, "short ones are one"


def test_short_rows_are_not_cut() -> None:
    assert "select" in joined((100, 8), 1, (2,))
    assert joined((100, 8), 1, (2,)).count("for ") == 2
    assert "select" not in joined((4, 100), 0, (2,))


def test_rows_of_four_are_written_out_and_choose_nothing() -> None:
    text = joined((100, 4), 1, (2,))
    assert text.count("for ") == 1
    assert "select" not in text


def test_guarded_loads_have_no_guards_in_pieces() -> None:
    b = KernelBuilder()
    aval = ShapedArray((100,), F32)
    x = KernelValue(b, aval, buffer=b.new_buffer(aval, "input"))

    def pull(index: tuple) -> object:
        """Read an element of an array with two zeros before it, if it is not one of the last."""
        place = b.iadd(index[0], -2)
        inside = b.and_(b.ge(place, 0), b.lt(place, 60))
        return b.guarded(inside, x.at(place), b.const(0.0, F32))

    b.stored(b.virtual(aval, pull))
    text = listing(b.finish())
    assert "if" not in text
    assert "< 60:" in text
    assert text.count(" = 0.0") == 2


def test_choices_between_numbers_cut_nothing() -> None:
    b = KernelBuilder()
    aval = ShapedArray((100,), F32)
    x = KernelValue(b, aval, buffer=b.new_buffer(aval, "input"))

    def pull(index: tuple) -> object:
        """Choose one element, or zero."""
        return b.select(b.ge(b.affine(index[0]), 50), x.at(*index), b.const(0.0, F32))

    b.stored(b.virtual(aval, pull))
    (loop,) = b.finish()
    assert isinstance(loop, Loop)
    assert loop.extent == 100


def test_pieces_are_all_of_the_nest() -> None:
    b = KernelBuilder()
    aval = ShapedArray((20, 30), F32)
    x = KernelValue(b, aval, buffer=b.new_buffer(aval, "input"))
    nest = b.open_nest(aval.shape)
    element = x.at(*nest.index)
    for index, place in zip(nest.index, (7, 11), strict=True):
        shifted = x.at(*(0 if i is index else i for i in nest.index))
        element = b.select(b.ge(b.affine(index), place), element, shifted)
    pieces = pieces_of(b, nest.variables, aval.shape, (element,))
    assert sorted(piece.sizes for piece in pieces) == [[7, 11], [7, 19], [13, 11], [13, 19]]


def test_parts_of_parts_are_cut_as_well() -> None:
    b = KernelBuilder()
    aval = ShapedArray((70,), F32)
    x, y, z = (KernelValue(b, aval, buffer=b.new_buffer(aval, "input")) for _ in range(3))

    def pull(index: tuple) -> object:
        """Choose an element of three arrays, the place in the first two being clamped."""
        place = b.affine(index[0])
        inner = b.affine(b.min(place, 66))
        first = b.select(b.ge(inner, 4), x.at(inner), y.at(inner))
        return b.select(b.ge(place, 67), z.at(place), first)

    b.stored(b.virtual(aval, pull))
    text = listing(b.finish())
    assert "select" not in text
    assert [line.split()[3] for line in text.splitlines() if "for" in line] == ["4:", "63:", "3:"]


def _variables(text: str) -> list[str]:
    """Return the names of the loops' variables."""
    return [line.split()[1] for line in text.splitlines() if line.startswith("for")]
