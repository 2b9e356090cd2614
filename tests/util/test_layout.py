"""The document printer."""

import time

import pytest

from tapeless.util.layout import (
    brk,
    concat,
    group,
    hard_line,
    join,
    nest,
    note,
    pretty,
    style,
    text,
)


def program(*equations):
    """Return the document of a program, laid out as programs are."""
    body = nest(4, brk() + join(brk("; "), equations))
    return group("{ lambda ; a:f32[3]. let" + body + nest(2, brk() + "in (b,) }"))


def test_a_group_that_fits_is_flat():
    line = "{ lambda ; a:f32[3]. let b:f32[3] = sin a; c = b in (b,) }"
    document = program("b:f32[3] = sin a", "c = b")
    assert pretty(document) == line
    assert pretty(document, width=len(line)) == line


def test_a_group_that_does_not_fit_breaks_everywhere():
    document = program("b:f32[3] = sin a", "c = b")
    lines = [
        "{ lambda ; a:f32[3]. let",
        "    b:f32[3] = sin a",
        "    c = b",
        "  in (b,) }",
    ]
    assert pretty(document, width=57) == "\n".join(lines)


def test_groups_inside_a_broken_group_decide_for_themselves():
    inner = group("[" + nest(2, brk("") + "x" + brk() + "y") + brk("") + "]")
    document = group(inner + brk() + "long" * 4)
    assert pretty(document, width=10) == "[x y]\nlonglonglonglong"
    assert pretty(document, width=4) == "[\n  x\n  y\n]\nlonglonglonglong"


def test_a_list_of_groups_fills_lines():
    entries = [str(n) for n in range(10, 20)]
    rest = [group("," + brk() + entry) for entry in entries[1:]]
    document = nest(1, concat(["(10", *rest, ")"]))
    assert pretty(document, width=12) == "(10, 11, 12,\n 13, 14, 15,\n 16, 17, 18,\n 19)"


def test_a_forced_break_breaks_its_groups():
    forced = group("b" + hard_line + "c")
    free = group("d" + brk() + "e")
    document = group("a" + brk() + forced + brk() + free)
    assert pretty(document) == "a\nb\nc\nd e"
    assert pretty(nest(2, text("a\nb"))) == "a\n  b"


def test_colours_have_no_width():
    document = group(style("ab", "blue", bold=True) + brk() + style("cd", "magenta"))
    assert pretty(document, width=5) == "ab cd"
    assert pretty(document, width=5, colour=True) == "\x1b[34;1mab\x1b[39;22m \x1b[35mcd\x1b[39m"


def test_colours_change_where_text_follows():
    document = group(style("let", "blue") + nest(2, brk() + "a"))
    assert pretty(document, width=1, colour=True) == "\x1b[34mlet\n  \x1b[39ma"


def test_notes_stand_beside_their_lines():
    document = group(note("one") + note("two") + "a" + brk() + "bcd" + brk() + note("three") + "e")
    assert pretty(document, width=1) == "a   # one\n    # two\nbcd\ne   # three"
    assert pretty(document) == "a bcd e # one\n        # two\n        # three"


def test_colours_nest():
    document = style("a" + style("b", bold=True) + "c", "red")
    assert pretty(document, colour=True) == "\x1b[31ma\x1b[1mb\x1b[22mc\x1b[39m"


def test_documents_print_as_text():
    assert str(join(", ", ["a", text("b"), "c"])) == "a, b, c"
    assert str(concat([])) == ""


def test_deep_documents_need_no_deep_stack():
    document = text("x")
    for _ in range(20_000):
        document = group(nest(1, "(" + document + ")"))
    assert pretty(document, width=10).count("(") == 20_000


@pytest.mark.parametrize("width", [1, 1 << 41])
def test_time_is_linear_in_the_document(width):
    def seconds(size):
        document = text("x")
        for _ in range(size):
            document = group(document + brk() + "y")
        taken = []
        for _ in range(3):
            start = time.process_time()
            pretty(document, width=width)
            taken.append(time.process_time() - start)
        return min(taken)

    assert seconds(32_000) < 40 * seconds(4_000)
