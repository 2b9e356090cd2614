"""User frames, warnings at the user's line, and filtered tracebacks."""

import contextlib
import traceback

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
    assert names == ["names_in_traceback", "boundary", "f", "g", "<lambda>"]


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
    frames.filter_traceback(caught.value)
    assert caught.value.__notes__ == ["in add(argument 1: float32[2,3], argument 2: float32[7])"]
    frames.filter_traceback(caught.value)
    assert len(caught.value.__notes__) == 1
    with pytest.raises(TypeError) as caught:
        jnp.ones((5, 2)) @ jnp.ones((3, 4))
    frames.filter_traceback(caught.value)
    assert caught.value.__notes__ == ["in matmul(self: float32[5,2], other: float32[3,4])"]
    with pytest.raises(ValueError) as caught:
        jnp.linalg.inv(jnp.ones((2, 3)))
    frames.filter_traceback(caught.value)
    assert "inv" in str(caught.value) and "(2, 3)" in str(caught.value)
    assert not getattr(caught.value, "__notes__", [])
    with pytest.raises(RuntimeError) as caught:
        jnp.cov(jnp.ones((2, 3)), fweights=jnp.ones((2, 2), int))
    assert caught.value.__notes__[0].startswith("in cov(m: float32[2,3], ")
    with pytest.raises(TypeError) as caught:
        tapeless.jit(lambda x: float(x) + 1)(1.0)
    assert not getattr(caught.value, "__notes__", [])
