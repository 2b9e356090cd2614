"""What is promised of errors, and how each promise is switched off; see `mutations.py`."""

from __future__ import annotations

from tests.safety.promises.mutation import Mutation

__all__ = ["PROMISES"]

MESSAGES = "tests/safety/test_messages.py::"
PAGES = "tests/test_errors.py::"
PARITY = "tests/parity/errors/test_messages.py::"
EXTENTS = (
    "tests/parity/errors/test_extents.py::"
    "test_an_extent_that_does_not_fit_is_told_with_the_function"
)
CHAINS = "tests/util/test_chains.py::"
FRAMES = "tests/util/test_frames.py::"

PROMISES: dict[str, tuple[Mutation, ...]] = {
    "Every class of jax.errors stands where it stands in JAX": (
        Mutation(
            "classes inherit as in JAX",
            "tapeless/errors.py",
            "class TracerBoolConversionError(ConcretizationTypeError):",
            "class TracerBoolConversionError(JAXTypeError):",
            PAGES + "test_ancestry_is_that_of_jax",
        ),
    ),
    "Each class is a manual page with a failing and a mended example": (
        Mutation(
            "mended examples work",
            "tapeless/errors.py",
            "            return jnp.where(x > 0, x, 0.0)\n",
            "            return x if x > 0 else 0.0\n",
            PAGES + "test_programs_on_the_pages",
        ),
        Mutation(
            "each page has both examples",
            "tapeless/errors.py",
            "    Fails, since three numbers come",
            "    Here three numbers come",
            MESSAGES + "test_every_class_has_a_manual_page_with_a_failing_and_a_mended_example",
        ),
        Mutation(
            "messages tell the way to the page",
            "tapeless/errors.py",
            'message if hint in message else f"{message}\\n{hint}"',
            "message",
            PAGES + "test_messages_end_with_the_way_to_the_page",
        ),
    ),
    ("Messages tell shapes, the user's line and names, the transformations, and what to do"): (
        Mutation(
            "the arguments are named",
            "tapeless/transforms/stage.py",
            ('        if not names:\n            return f"{text}{made}"'),
            ('        if names:\n            return f"{text}{made}"'),
            MESSAGES
            + (
                "test_a_message_tells_the_function_its_line_the_arguments_and_where_the_value_w"
                "as_made"
            ),
        ),
        Mutation(
            "the line of the value is told",
            "tapeless/transforms/stage.py",
            'made = f" The value was made on line {self.place()}." if self.place() else ""',
            'made = ""',
            MESSAGES
            + (
                "test_a_message_tells_the_function_its_line_the_arguments_and_where_the_value_w"
                "as_made"
            ),
        ),
        Mutation(
            "the transformations around are told",
            "tapeless/transforms/stage.py",
            '        text += around and f" {HAPPENED}{around}."\n',
            "",
            MESSAGES + "test_a_message_tells_the_transformations_around_the_function",
        ),
        Mutation(
            "the transformations around any error are told",
            "tapeless/util/frames.py",
            "        _tell_transformations(error, innermost.tb_frame)\n",
            "        pass\n",
            CHAINS + "test_chains_of_two_are_told",
        ),
        Mutation(
            "what is transformed by libraries is left out",
            "tapeless/util/chains.py",
            "if code is not None and code.co_filename.startswith(PACKAGE):",
            "if False:",
            CHAINS + "test_nothing_is_told_outside_of_transformations_and_of_those_of_libraries",
        ),
    ),
    "Messages have at most 15 lines, and tracebacks no internal frames": (
        Mutation(
            "many transformations are counted",
            "tapeless/util/chains.py",
            "_MOST = 3",
            "_MOST = 300",
            MESSAGES + "test_many_transformations_are_counted",
        ),
        Mutation(
            "messages are short",
            "tapeless/core/trace.py",
            '        f"JAX transformations require that functions',
            '        f"{chr(10) * 20}JAX transformations require that functions',
            PARITY + "test_messages_and_tracebacks_are_short_and_show_user_code_only",
        ),
        Mutation(
            "messages of many leaves are short",
            "tapeless/util/seqs.py",
            "    told = list(lines[:most])\n",
            "    told = list(lines)\n",
            MESSAGES + "test_messages_of_many_leaves_have_at_most_fifteen_lines",
        ),
        Mutation(
            "internal frames are filtered",
            "tapeless/util/frames.py",
            "error.__traceback__ = kept",
            "pass",
            "tests/util/test_frames.py",
        ),
        Mutation(
            "filtering can be off",
            "tapeless/util/frames.py",
            'if config.current.jax_traceback_filtering == "off":',
            "if False:",
            FRAMES + "test_filtering_can_be_off",
        ),
    ),
    "A leak tells where the value was made and from where it escaped": (
        Mutation(
            "the line of a leaked value is told",
            "tapeless/core/trace.py",
            'made = f"The leaked intermediate value was created on line {place}.\\n" if place',
            'made = "" if place',
            MESSAGES
            + "test_a_leak_tells_where_the_value_was_made_and_from_which_function_it_escaped",
        ),
        Mutation(
            "the function that leaked is told",
            "tapeless/core/trace.py",
            'traced = f"{function or ',
            'traced = f"{0 or ',
            MESSAGES
            + "test_a_leak_tells_where_the_value_was_made_and_from_which_function_it_escaped",
        ),
        Mutation(
            "the function that leaked is told of derivatives and maps",
            "tapeless/core/trace.py",
            "function or users_name(tracer.tag.function) or 'one'",
            "function or 'one'",
            MESSAGES
            + "test_a_leak_of_any_transformation_tells_the_function_and_where_the_value_was_made",
        ),
        Mutation(
            "an argument that leaks is told from what is computed",
            "tapeless/core/trace.py",
            "if place else _ARGUMENT",
            "if place else ''",
            MESSAGES
            + "test_a_leak_of_any_transformation_tells_the_function_and_where_the_value_was_made",
        ),
    ),
    "Mistakes raise the class that they raise in JAX and say what JAX says": (
        Mutation(
            "shapes that do not fit are a TypeError",
            "tapeless/prims/common.py",
            (
                "                raise TypeError(\n"
                '                    f"{self.name} got incompatible shapes'
            ),
            (
                "                raise RuntimeError(\n"
                '                    f"{self.name} got incompatible shapes'
            ),
            PARITY + "test_class_and_meaning_are_those_of_jax",
        ),
        Mutation(
            "messages say what JAX's say",
            "tapeless/prims/common.py",
            'f"{self.name} got incompatible shapes for broadcasting: {got}."',
            'f"{self.name} cannot do that."',
            PARITY + "test_class_and_meaning_are_those_of_jax",
        ),
    ),
    (
        "Wrong shapes name the function, the arguments and their shapes; broadcasting "
        "errors the axis"
    ): (
        Mutation(
            "the function and the shapes of its arguments are named",
            "tapeless/util/frames.py",
            "_tell_call(error, called)",
            "pass",
            FRAMES + "test_a_note_tells_the_function_and_its_arguments_unless_the_message_does",
        ),
        Mutation(
            "functions of lax are named",
            "tapeless/util/frames.py",
            "    if module.startswith(_OF_LAX):\n",
            "    if False:\n",
            EXTENTS + "[lax.batch_matmul]",
        ),
        Mutation(
            "extents that do not fit are refused as by JAX",
            "tapeless/prims/structural.py",
            "    if broadcast_shapes(shape, target) != tuple(target):\n",
            "    if False:\n",
            EXTENTS + "[lax.broadcast_like]",
        ),
        Mutation(
            "every function is named",
            "tapeless/util/frames.py",
            '    error.add_note(f"{_NOTE}{name}(',
            '    error.add_note(f"{_NOTE}(',
            "tests/numpy/test_wrong_shapes.py",
        ),
        Mutation(
            "errors that are caught tell the call as well",
            "tapeless/util/names.py",
            "        api_boundary(value)\n",
            "        pass\n",
            FRAMES + "test_an_error_that_is_caught_tells_the_call_and_shows_the_users_lines",
        ),
        Mutation(
            "the axis of broadcasting is told",
            "tapeless/prims/common.py",
            ("        if len(wide) > 1:\n            shown = "),
            ("        if False:\n            shown = "),
            MESSAGES + "test_broadcasting_errors_show_which_axis",
        ),
    ),
}
