"""Records: frozen, slotted classes of named fields."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError

import pytest

from tapeless.util.records import record, replace


@record
class Base:
    """Two fields, one with a default."""

    a: int
    b: tuple = ()

    def total(self):
        """Return what the fields add up to."""
        return self.a + sum(self.b)


@record
class Wider(Base):
    """A record with the fields of another, and one more."""

    c: str = "c"
    kind = "a constant of the class"


@record(eq=False)
class Identity:
    """A record that is only itself."""

    names: list


@record
class Checked:
    """A record that looks at its field."""

    size: int

    def __post_init__(self):
        """Refuse what is negative."""
        if self.size < 0:
            raise ValueError("negative")

    def __str__(self):
        """Return the size."""
        return f"of size {self.size}"


def test_fields_are_given_by_position_or_name_and_have_defaults():
    assert (Base(1).b, Base(1, (2,)).b, Base(b=(3,), a=1).b) == ((), (2,), (3,))
    assert Base(1, (2, 3)).total() == 6
    assert list(inspect.signature(Base).parameters) == ["a", "b"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        Base()
    with pytest.raises(TypeError, match="unexpected keyword argument 'd'"):
        Base(1, d=2)


def test_fields_of_a_base_come_first():
    wide = Wider(1, (2,), "x")
    assert repr(wide) == "Wider(a=1, b=(2,), c='x')"
    assert wide.kind == "a constant of the class"
    assert isinstance(wide, Base)
    assert wide != Base(1, (2,))


def test_records_are_compared_and_hashed_by_their_fields():
    assert Base(1, (2,)) == Base(1, (2,)) != Base(1, (3,))
    assert hash(Base(1)) == hash(Base(1))
    assert Base(1) != (1, ())
    one, other = Identity([]), Identity([])
    assert one == one != other
    assert len({one, other}) == 2


def test_records_are_frozen_and_slotted():
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        Base(1).a = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
        del Base(1).a
    with pytest.raises(AttributeError):
        Wider(1).d = 3
    assert not hasattr(Wider(1), "__dict__")


def test_records_are_copied_pickled_and_replaced():
    wide = Wider(1, (2,), "x")
    for same in (copy.copy(wide), copy.deepcopy(wide), pickle.loads(pickle.dumps(wide))):
        assert same == wide
    assert replace(wide, c="y") == Wider(1, (2,), "y")


def test_methods_of_the_class_are_kept():
    assert str(Checked(2)) == "of size 2"
    with pytest.raises(ValueError, match="negative"):
        Checked(-1)


def test_fields_are_matched_by_position():
    match Wider(1, (2,), "x"):
        case Base(a, b):
            assert (a, b) == (1, (2,))
