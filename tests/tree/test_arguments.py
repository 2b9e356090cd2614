"""Names of functions and of their arguments."""

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
