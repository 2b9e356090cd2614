"""User frames, warnings at the user's line, and filtered tracebacks."""

import contextlib
import traceback
from functools import partial

import pytest

import tapeless
from tapeless import config
from tapeless import numpy as jnp
from tapeless.util import frames


def inside(source, **names):
    """Return the function `f` of a source text that counts as a file of the package."""
    path = f"{next(iter(tapeless.__path__))}/pretended.py"
    namespace = {"frames": frames, **names}
    exec(compile(source, path, "exec"), namespace)
    return namespace["f"]


def line_of(function, offset):
    """Return the number of the line `offset` lines below the function's first."""
    return function.__code__.co_firstlineno + offset


def test_the_user_mark_is_the_first_frame_outside_the_package():
    f = inside("def g(): return frames.user_mark()\ndef f(): return g()")
    mark = f()
    here = test_the_user_mark_is_the_first_frame_outside_the_package
    assert mark.filename == __file__
    assert mark.function == here.__name__
    assert mark.line == line_of(here, 2)
    assert mark.column == 11
    assert str(mark) == f"{__file__}:{mark.line}:11 ({here.__name__})"


def test_marks_of_one_line_differ_in_column():
    f = inside("def f(*args): return frames.user_mark()")
    marks = [f(), f()]
    assert marks[0].line == marks[1].line
    assert marks[0].column < marks[1].column


def test_user_marks_skip_the_package_and_context_managers():
    f = inside("def f(g): return g()")

    @contextlib.contextmanager
    def manager():
        yield frames.user_marks(3)

    def enter():
        with manager() as marks:
            return marks

    names = [mark.function for mark in f(enter)]
    this = test_user_marks_skip_the_package_and_context_managers.__name__
    assert names == ["manager", "enter", this]


def test_warnings_point_at_the_user():
    f = inside("def g(): frames.warn('beware')\ndef f(): g()")
    with pytest.warns(UserWarning, match="beware") as caught:
        f()
    assert caught[0].filename == __file__
    assert caught[0].lineno == line_of(test_warnings_point_at_the_user, 3)


@pytest.fixture
def failing():
    """A function of the package that calls a user's function, which fails."""
    source = "def g(h): return h()\n@frames.api_boundary\ndef f(h): return g(h)"
    return inside(source)


def names_in_traceback(function, *args):
    """Return the functions in the traceback of the error that a call raises."""
    with pytest.raises(ZeroDivisionError) as caught:
        function(*args)
    return [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]


def test_a_boundary_leaves_user_frames_only(failing):
    def user():
        return 1 // 0

    assert names_in_traceback(failing, user) == ["names_in_traceback", "user"]
    nested = names_in_traceback(failing, lambda: failing(user))
    assert nested == ["names_in_traceback", "<lambda>", "user"]


def test_filtering_can_be_off(failing):
    config.update("jax_traceback_filtering", "off")
    try:
        names = names_in_traceback(failing, lambda: 1 // 0)
    finally:
        config.update("jax_traceback_filtering", "auto")
    assert names == ["names_in_traceback", "f", "g", "<lambda>"]


def test_files_can_be_hidden():
    source = "def f(): return frames.user_mark()"
    namespace = {"frames": frames}
    exec(compile(source, "/somewhere/library.py", "exec"), namespace)
    assert namespace["f"]().filename == "/somewhere/library.py"
    frames.hide_file("/somewhere/library.py")
    assert namespace["f"]().filename == __file__


def test_a_note_tells_the_function_and_its_arguments_unless_the_message_does() -> None:
    with pytest.raises(ValueError) as caught:
        jnp.add(jnp.ones((2, 3)), jnp.ones(7))
    assert caught.value.__notes__ == ["in add(argument 1: float32[2,3], argument 2: float32[7])"]
    frames.filter_traceback(caught.value)
    assert len(caught.value.__notes__) == 1
    with pytest.raises(TypeError) as caught:
        jnp.ones((5, 2)) @ jnp.ones((3, 4))
    assert caught.value.__notes__ == ["in matmul(self: float32[5,2], other: float32[3,4])"]
    with pytest.raises(ValueError) as caught:
        jnp.linalg.inv(jnp.ones((2, 3)))
    assert "inv" in str(caught.value) and "(2, 3)" in str(caught.value)
    assert not getattr(caught.value, "__notes__", [])
    with pytest.raises(RuntimeError) as caught:
        jnp.cov(jnp.ones((2, 3)), fweights=jnp.ones((2, 2), int))
    assert caught.value.__notes__[0].startswith("in cov(m: float32[2,3], ")
    with pytest.raises(TypeError) as caught:
        tapeless.jit(lambda x: float(x) + 1)(1.0)
    assert not getattr(caught.value, "__notes__", [])


ONES = jnp.ones(3)
GRID = jnp.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "note"),
    [
        (lambda: jnp.interp(ONES, ONES, jnp.ones(4)), "in interp(x: float32[3], xp: float32[3], "),
        (lambda: jnp.einsum("i,i", ONES, jnp.ones(4)), "in einsum(subscripts: 'i,i', "),
        (lambda: jnp.insert(ONES, 1, jnp.ones((2, 4))), "in insert(arr: float32[3], obj: 1, "),
        (lambda: ONES.sum(7), "in sum(self: float32[3], argument 1: 7)"),
        (lambda: ONES[7, 8], "in get_item(x: float32[3], index: (7, 8))"),
        (lambda: ONES.at[1, 2].set(4), "in set(self: float32[3] at [1, 2], values: 4, "),
        (lambda: ONES.at[0:2].set(ONES), "in set(self: float32[3] at [0:2], values: float32[3], "),
        (
            lambda: GRID.at[..., jnp.array([0, 1])].add(ONES),
            "in add(self: float32[2,3] at [..., int32[2]], values: float32[3], ",
        ),
        (
            lambda: GRID.at[::2, None, :].mul(jnp.ones(4)),
            "in mul(self: float32[2,3] at [::2, None, :], values: float32[4], ",
        ),
        (
            lambda: ONES.at[[7, 8, 9, 10, 11, 12, 13, 14, 15]].add(ONES),
            "in add(self: float32[3], values: float32[3], ",
        ),
        (lambda: jnp.add.reduce(ONES, axis=4), "in reduce(self: <jnp.ufunc 'add'>, a: float32[3]"),
        (
            lambda: jnp.add.at(ONES, jnp.array([0, 1]), jnp.ones(5), inplace=False),
            "in at(self: <jnp.ufunc 'add'>, a: float32[3], indices: int32[2], b: float32[5], ",
        ),
        (
            lambda: jnp.add.reduceat(ONES, jnp.array([[0]])),
            "in reduceat(self: <jnp.ufunc 'add'>, a: float32[3], indices: int32[1,1], ",
        ),
        (lambda: jnp.add.accumulate(ONES, 3), "in accumulate(self: <jnp.ufunc 'add'>, a: float32"),
        (lambda: jnp.add.outer(ONES, "a"), "in outer(self: <jnp.ufunc 'add'>, A: float32[3], B:"),
        (lambda: jnp.vectorize(lambda x: jnp.insert(x, 0, ONES, 5))(ONES), "in insert(arr: "),
    ],
)
def test_an_error_that_is_caught_tells_the_call_and_shows_the_users_lines(call, note) -> None:
    error = None
    try:
        call()
    except (ValueError, TypeError, IndexError) as caught:
        error = caught
    assert error.__notes__[0].startswith(note)
    assert sum(text.startswith("in ") for text in error.__notes__) == 1
    assert {entry.filename for entry in traceback.extract_tb(error.__traceback__)} == {__file__}


def test_a_function_that_was_made_bears_its_name_in_tracebacks() -> None:
    def made():
        return 1 // 0

    frames.name_function(made, "sum", "Array.")
    assert (made.__name__, made.__qualname__) == ("sum", "Array.sum")
    assert names_in_traceback(made) == ["names_in_traceback", "sum"]


def test_the_stack_is_searched_once_for_an_error(monkeypatch):
    searched = []
    monkeypatch.setattr(frames, "transformations", lambda frame: searched.append(frame) or "")

    @partial(tapeless.custom_jvp, nondiff_argnums=(1,))
    def deep(x, n):
        return deep(x, n - 1) if n else jnp.ones(2) + jnp.ones(3)

    deep.defjvp(lambda n, x, t: (deep(x[0], n), t[0]))
    with pytest.raises((TypeError, ValueError), match="broadcast"):
        deep(1.0, 20)
    assert len(searched) == 1
