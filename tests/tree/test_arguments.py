"""Names of functions and of their arguments."""

import numpy as np
import pytest

from tapeless.tree import arguments


def test_objects_with_a_name_that_is_no_string_are_wrapped():
    class Function:
        """An object that is called."""

        __name__ = 3
        __annotations__ = None

        def __call__(self, x):
            """Double."""
            return 2 * x

    wrapped = arguments.wraps(Function())(lambda x: x)
    assert wrapped.__name__ == "<lambda>"
    assert arguments.wraps(max)(lambda x: x).__name__ == "max"


def test_numbers_of_arguments_are_of_any_kind_of_index() -> None:
    assert arguments.argument_numbers(None) == ()
    assert arguments.argument_numbers(np.int32(1)) == (1,)
    assert arguments.argument_numbers(np.array(1)) == (1,)
    assert arguments.argument_numbers(np.array([0, 2])) == (0, 2)
    assert arguments.argument_numbers(range(2)) == (0, 1)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        arguments.argument_numbers("0")
    assert arguments.is_one_number(np.array(1))
    assert not arguments.is_one_number(np.array([1]))
