"""What errors tell: lines, names of arguments, transformations, axes; at most 15 lines."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import config, errors, lax
from tapeless import numpy as jnp
from tapeless.experimental import checkify

HERE = r"test_messages\.py:{}"


def line_of(function: Callable, text: str) -> int:
    """Return the line of a function that contains `text`."""
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


@jax.jit
def branching(x: Any, limit: Any) -> Any:
    """Ask a tracer for its truth."""
    y = jnp.sin(x)
    decision = y > limit
    return x if decision else y


def test_a_message_tells_the_function_its_line_the_arguments_and_where_the_value_was_made() -> None:
    with pytest.raises(errors.TracerBoolConversionError) as caught:
        branching(1.0, 2.0)
    where, made = line_of(branching, "def branching"), line_of(branching, "decision = ")
    caught.match(f"tracing the function branching at .*{HERE.format(where - 1)} for jit")
    caught.match("it depends on the values of the arguments x and limit")
    caught.match(f"The value was made on line .*{HERE.format(made)}")
    caught.match(r"bool\[\]")
    caught.match(r"See help\(jax.errors.TracerBoolConversionError\)")


def test_a_message_tells_the_transformations_around_the_function() -> None:
    inner = jax.jit(lambda z: 1.0 if z > 0 else z)
    outer = jax.jit(lambda x: jax.vmap(jax.grad(inner))(x))
    with pytest.raises(errors.TracerBoolConversionError) as caught:
        outer(jnp.ones(3))
    caught.match(r"inside grad, inside vmap, inside jit of <lambda> at .*test_messages.py")
    with pytest.raises(errors.TracerBoolConversionError) as caught:
        inner(1.0)
    assert "inside" not in str(caught.value)


def test_many_transformations_are_counted() -> None:
    function: Any = jax.jit(lambda x: x * bool(x))
    for _ in range(5):
        function = jax.vmap(function)
    with pytest.raises(errors.TracerBoolConversionError, match="inside 2 more") as caught:
        function(jnp.ones((1,) * 5))
    assert len(str(caught.value).splitlines()) <= 15


def test_a_leak_tells_where_the_value_was_made_and_from_which_function_it_escaped() -> None:
    kept = []

    def leaking(x: Any) -> Any:
        kept.append(x * 2)
        return x

    jax.jit(leaking)(1.0)
    with pytest.raises(errors.UnexpectedTracerError) as caught:
        kept[0] + 1
    made = line_of(leaking, "kept.append")
    caught.match(f"created on line .*{HERE.format(made)}")
    caught.match(rf"value leaked was \S*leaking at .*{HERE.format(made - 1)} traced for jit")


def keeping(x: Any) -> Any:
    """Keep an argument and an intermediate value."""
    kept_values.append(x)
    kept_values.append(x * 2)
    return x * x


kept_values: list = []
KEEPERS: dict[str, tuple[str, Callable]] = {
    "grad": ("grad / vjp", lambda: jax.grad(keeping)(1.0)),
    "vjp": ("grad / vjp", lambda: jax.vjp(keeping, 1.0)),
    "linearize": ("grad / vjp", lambda: jax.linearize(keeping, 1.0)),
    "jvp": ("jvp", lambda: jax.jvp(keeping, (1.0,), (1.0,))),
    "vmap": ("vmap", lambda: jax.vmap(keeping)(jnp.ones(3))),
    "jit of grad": ("grad / vjp", lambda: jax.jit(jax.grad(keeping))(1.0)),
    "vmap of grad": ("grad / vjp", lambda: jax.vmap(jax.grad(keeping))(jnp.ones(3))),
    "hessian": ("grad / vjp", lambda: jax.hessian(keeping)(1.0)),
    "remat": ("checkpoint / remat", lambda: jax.grad(jax.checkpoint(keeping))(1.0)),
}


@pytest.mark.parametrize("name", KEEPERS)
def test_a_leak_of_any_transformation_tells_the_function_and_where_the_value_was_made(
    name: str,
) -> None:
    purpose, run = KEEPERS[name]
    kept_values.clear()
    run()
    first = line_of(keeping, "def keeping")
    for value, text in zip(kept_values, ["", "x * 2"], strict=True):
        with pytest.raises(errors.UnexpectedTracerError) as caught:
            value + 1
        caught.match(rf"leaked was keeping at .*{HERE.format(first)} traced for {purpose}\.")
        if text:
            caught.match(rf"created on line .*{HERE.format(line_of(keeping, text))}:")
        else:
            caught.match(rf"was an argument of the function|created on line .*{HERE.format('')}")
        assert len(str(caught.value).splitlines()) <= 15


PAIRS = [
    ((2, 3), (2, 4), 1, "3 and 4"),
    ((5, 3), (4, 5, 1), None, ""),
    ((2, 1), (3, 7), 2, "2 and 3"),
]


# Trees of forty leaves, all of which are wrong.
WIDE = {f"k{number}": jnp.ones(2) for number in range(40)}
OTHER = {name: jnp.ones(3) for name in WIDE}
DEEPER = {name: (value, value) for name, value in WIDE.items()}
LENGTHS = [jnp.ones(number + 1) for number in range(40)]


def same(*args: Any) -> Any:
    """Return what is given."""
    return args[0]


def checked_rows() -> None:
    """Raise one error for each of many rows."""
    failing = checkify.checkify(lambda x: checkify.check(x < 0, "wrong"))
    jax.vmap(failing)(jnp.arange(40))[0].throw()


MANY: dict[str, Callable[[], Any]] = {
    "scan": lambda: lax.scan(lambda carry, x: (OTHER, x), WIDE, jnp.ones(3)),
    "scan of another tree": lambda: lax.scan(lambda carry, x: (DEEPER, x), WIDE, jnp.ones(3)),
    "lengths of scan": lambda: lax.scan(lambda carry, x: (carry, x), 0, LENGTHS),
    "while_loop": lambda: lax.while_loop(lambda carry: True, lambda carry: OTHER, WIDE),
    "fori_loop": lambda: lax.fori_loop(0, 3, lambda i, carry: DEEPER, WIDE),
    "cond": lambda: lax.cond(True, lambda: WIDE, lambda: OTHER),
    "switch": lambda: lax.switch(1, [lambda: WIDE, lambda: DEEPER]),
    "vjp": lambda: jax.vjp(same, WIDE)[1](DEEPER),
    "vmap": lambda: jax.vmap(same)(LENGTHS),
    "in_axes": lambda: jax.vmap(same, in_axes=(dict.fromkeys(WIDE, (0, 0, 0)),))(DEEPER),
    "out_axes": lambda: jax.vmap(same, out_axes=dict.fromkeys(WIDE, (0, 0, 0)))(DEEPER),
    "map of trees": lambda: jax.tree.map(same, WIDE, dict.fromkeys(range(40))),
    "types of a compiled function": lambda: jax.jit(same).lower(WIDE).compile()(OTHER),
    "tree of a compiled function": lambda: jax.jit(same).lower(WIDE).compile()(DEEPER),
    "tree of an export": lambda: jax.export.export(jax.jit(same))(WIDE).call(DEEPER),
    "callback": lambda: jax.pure_callback(lambda x: DEEPER, WIDE, WIDE),
    "jvp": lambda: jax.jvp(same, (WIDE,), (DEEPER,)),
    "arguments": lambda: jax.jit(lambda *x: 1 if sum(x) > 0 else 2)(*range(60)),
    "text": lambda: jnp.sin("text\n" * 50),
    "concatenate": lambda: jnp.concatenate([*LENGTHS, WIDE["k0"][None]]),
    "broadcast": lambda: jnp.broadcast_arrays(*LENGTHS),
    "checkify": checked_rows,
}


@pytest.mark.parametrize("name", MANY)
def test_messages_of_many_leaves_have_at_most_fifteen_lines(name: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
        MANY[name]()
    text = "\n".join((str(caught.value), *getattr(caught.value, "__notes__", ())))
    assert len(text.splitlines()) <= 15, text


@pytest.mark.parametrize(("one", "other", "back", "extents"), PAIRS)
def test_broadcasting_errors_show_which_axis(
    one: tuple, other: tuple, back: int | None, extents: str
) -> None:
    x, y = jnp.ones(one), jnp.ones(other)
    calls = [
        lambda: x + y,
        lambda: jnp.maximum(x, y),
        lambda: jnp.where(x > 0, y, 1),
        lambda: jnp.broadcast_arrays(x, y),
        lambda: lax.broadcast_shapes(one, other),
    ]
    for call in calls:
        if back is None:
            call()
            continue
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        caught.match(f"Axis -{back}, counted from the back, has extents {extents}")
        assert str(one) in str(caught.value)
        assert str(other) in str(caught.value)


def test_operations_tell_the_shapes_whose_ranks_differ() -> None:
    with pytest.raises(TypeError, match=r"add: .* of shapes \(2, 3\), \(3,\)"):
        lax.add(jnp.ones((2, 3)), jnp.ones(3))


def test_broadcasting_to_a_shape_shows_which_axis() -> None:
    with pytest.raises(ValueError, match="Axis -1, counted from the back, has extents 3 and 4"):
        jnp.broadcast_to(jnp.ones((2, 3)), (2, 4))


# Classes that only others inherit from; and one that nothing raises, as its page says.
COMMON = {"JAXTypeError", "JAXIndexError", "InconclusiveDimensionOperation"}


@pytest.mark.parametrize("name", sorted(set(errors.__all__) - COMMON))
def test_every_class_has_a_manual_page_with_a_failing_and_a_mended_example(name: str) -> None:
    page = inspect.getdoc(getattr(errors, name)) or ""
    failing, _, mended = page.partition("Works")
    assert re.search(r"Fails[^:]*::", failing), page
    assert "::\n" in mended, page


ACCEPTED = [
    "jax_transfer_guard", "jax_transfer_guard_device_to_host", "jax_log_compiles",
    "jax_explain_cache_misses", "jax_check_tracer_leaks", "jax_debug_key_reuse",
    "jax_disable_jit", "jax_debug_nans", "jax_debug_infs", "jax_debug_log_modules",
    "jax_logging_level", "jax_cpu_enable_async_dispatch", "jax_use_shardy_partitioner",
]  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_flags_that_libraries_set_are_accepted(name: str) -> None:
    before = getattr(jax.config, name)
    try:
        jax.config.update(name, before)
        assert getattr(jax.config, name) == before
    finally:
        config.update(name, before)


def test_transfer_guards_are_context_managers() -> None:
    x = jnp.ones(3)
    with jax.transfer_guard("allow"), jax.transfer_guard_device_to_host("allow"):
        np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(x), np.full(3, 2))


def test_known_values_are_computed_at_once_where_that_is_asked_for() -> None:
    @jax.jit
    def largest(x: Any) -> Any:
        with jax.ensure_compile_time_eval():
            count = int(jnp.arange(3).max())
        return x * count

    assert largest(1.5) == 3


CHEAP = {
    "index": (lambda x, i: x[i], 1.1),
    "index of an update": (lambda x, i: jnp.zeros_like(x).at[i].set(x), 1.1),
    "nan": (lambda x, i: jnp.sin(x) * x + 1, 1.1),
}


@pytest.mark.parametrize("name", CHEAP)
def test_checks_cost_little(name: str) -> None:
    function, limit = CHEAP[name]
    x = jnp.linspace(0.0, 1.0, 1_000_000)
    i = jnp.asarray(np.random.RandomState(0).permutation(1_000_000).astype(np.int32))
    plain = jax.jit(function)
    checked = jax.jit(function, compiler_options={"checks": name.split()[0]})

    def seconds(run: Callable) -> float:
        """Return the processor time of some calls."""
        start = time.process_time()
        for _ in range(10):
            run(x, i)
        return time.process_time() - start

    seconds(plain), seconds(checked)
    ratios = [seconds(checked) / seconds(plain) for _ in range(15)]
    assert min(ratios) < limit
