"""Weak collections, and that nothing of Python runs when something in them dies."""

import gc
import sys
import weakref
from pathlib import Path

import pytest

from tapeless.util.weak import WeakMembers, WeakValues, weak_key

PACKAGE = Path(__file__).parent.parent.parent / "tapeless"


class Thing:
    """Something that can be referred to weakly."""


def calls_of(function):
    """Return the Python functions that run as a function written in C is called."""
    codes = []
    sys.setprofile(lambda frame, event, _: event == "call" and codes.append(frame.f_code))
    function()
    sys.setprofile(None)
    mine = ("weak.py", "weakref.py")  # libraries ask the garbage collector to call them
    return [code.co_name for code in codes if code.co_filename.endswith(mine)]


def in_cycle(thing):
    """Let a thing hold itself."""
    thing.itself = thing
    return thing


@pytest.mark.parametrize("made", [lambda thing: thing, in_cycle], ids=["alone", "in_a_cycle"])
def test_members_go_when_they_die_and_no_python_code_runs(made):
    members = WeakMembers()
    kept, things = Thing(), [made(Thing())]
    members.add(kept)
    members.add(kept)
    members.add(things[0])
    assert len(members) == 2
    assert set(members.living()) == {kept, things[0]}
    assert calls_of(things.clear) + calls_of(gc.collect) == []
    assert len(members) == 1
    assert members.living() == (kept,)


def test_members_may_come_while_they_are_gone_through():
    members, kept = WeakMembers(), [Thing() for _ in range(3)]
    for thing in kept:
        members.add(thing)
    for number, _ in enumerate(members.living()):
        kept.append(Thing())
        members.add(kept[-1])
        assert len(members) == 4 + number


@pytest.mark.parametrize("made", [lambda thing: thing, in_cycle], ids=["alone", "in_a_cycle"])
def test_values_go_when_they_die_and_no_python_code_runs(made):
    values, things = WeakValues(), [made(Thing())]
    assert values.setdefault("key", things[0]) is things[0]
    assert values.setdefault("key", Thing()) is things[0]
    assert values.get("key") is things[0]
    assert calls_of(things.clear) + calls_of(gc.collect) == []
    assert values.get("key") is None
    assert values.living() == ()
    other = Thing()
    assert values.setdefault("other", other) is other
    assert list(values.references) == ["other"]


def test_a_key_that_is_used_again_keeps_its_new_value():
    values, things = WeakValues(), [Thing()]
    values.setdefault("key", things[0])
    things.clear()
    new = Thing()
    assert values.setdefault("key", new) is new
    values.setdefault("other", new)
    assert values.get("key") is new


def test_an_entry_goes_with_its_subject():
    table, things = {}, [Thing(), Thing()]
    for thing in things:
        table[id(thing)] = weak_key(table, thing), "entry"
    del table[id(things[0])], thing
    assert calls_of(things.clear) == []
    assert table == {}


def test_nothing_in_the_package_has_callbacks_or_finalizers_in_python():
    """Sets and dicts of the module weakref have such callbacks, and so would a finalizer."""
    assert weakref.WeakSet  # what is looked for is spelled so
    words = ("WeakSet", "WeakValueDictionary", "WeakKeyDictionary", "def __del__", ".finalize(")
    found = {
        f"{path.relative_to(PACKAGE)}: {word}"
        for path in PACKAGE.rglob("*.py")
        for word in words
        if word in path.read_text()
    }
    assert found == set()
