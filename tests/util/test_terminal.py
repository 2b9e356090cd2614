"""Figures for people, and tables."""

import pytest

from tapeless.util import lazy
from tapeless.util.terminal import counted, print_table, quantity, required, telling_line


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1, "1.0 B"),
        (123, "123 B"),
        (4096, "4.1 kB"),
        (2.5e9, "2.5 GB"),
        (2e-6, "2.0 µB"),
    ],
)
def test_quantities_have_a_prefix(value, text):
    assert quantity(value, "B") == text


@pytest.mark.parametrize(
    ("listing", "line"),
    [
        ("for i < 9:\n  a[i] = b[i] + 1.0\n  b[i] = a[i]", "a[i] = b[i] + 1.0"),
        ("for something_long < 9:\n  a[i] = 0", "a[i] = 0"),
        ("while:", "while:"),
    ],
)
def test_the_line_that_says_most_opens_no_loop(listing, line):
    assert telling_line(listing) == line


@pytest.mark.parametrize(("number", "text"), [(0, "0 kernels"), (1, "1 kernel"), (2, "2 kernels")])
def test_things_are_counted(number, text):
    assert counted(number, "kernel") == text


def test_a_missing_package_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr(lazy, "exists", lambda name: False)
    with pytest.raises(ImportError, match=r"a page needs the package jinja2.*tapeless\[inspect\]"):
        required("jinja2", "a page")


def test_tables_keep_short_columns_and_wrap_the_last(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    print_table("times", ("name", "time ", "what"), [("f[x]", "1.0 s", "y" * 99)])
    printed = capsys.readouterr().out
    assert printed.startswith("times")
    assert "f[x]" in printed  # not taken for markup
    assert "1.0 s" in printed
    assert printed.count("y") == 99
    assert max(map(len, printed.splitlines())) <= 40
