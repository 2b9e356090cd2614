"""What only some rows want is computed for them alone; values and gradients stay."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.demand import by_rows
from tapeless.compiler.emit import emit_program
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.simplify import simplify
from tapeless.compiler.target import host_target
from tapeless.kernel.ir import Loop, Store
from tests.compiler.limits import within

RNG = np.random.default_rng(0)
W = RNG.normal(size=(6, 6)).astype(np.float32) / 3


def costly(x: jax.Array) -> jax.Array:
    """Take many steps."""
    return lax.fori_loop(0, 40, lambda i, y: jnp.sin(y) + x, x)


def endless(x: jax.Array) -> jax.Array:
    """Take more steps than anyone can wait for."""
    return lax.fori_loop(0, 2**31 - 1, lambda i, y: jnp.sin(y) + x, x)


def branchy(limit: float, expensive: Callable = costly) -> Callable:
    """Return a function that is expensive above a limit."""

    def function(x: jax.Array) -> jax.Array:
        return lax.cond(x.sum() > limit, expensive, lambda x: x * 2, x)

    return function


def operations(function: Callable, *args: np.ndarray) -> list[str]:
    """Return the names of the operations that a program is compiled from."""
    program = by_rows(simplify(jax.make_jaxpr(function)(*args).jaxpr))
    return [eqn.primitive.name for eqn in program.eqns]


def check(function: Callable, *args: np.ndarray) -> None:
    """Compare a mapped function with a loop over the rows."""
    expected = [jax.jit(function)(*row) for row in zip(*args, strict=True)]
    found = jax.jit(jax.vmap(function))(*args)
    for k, leaf in enumerate(jax.tree.leaves(found)):
        rows = np.stack([np.asarray(jax.tree.leaves(row)[k]) for row in expected])
        np.testing.assert_allclose(np.asarray(leaf), rows, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("limit", [9.0, 1.5, 0.0, -9.0])
@pytest.mark.parametrize("n_rows", [3, 40, 100])
def test_values_for_few_and_for_many_rows(n_rows: int, limit: float) -> None:
    x = RNG.normal(size=n_rows).astype(np.float32)
    assert "rows_on_demand" in operations(jax.vmap(branchy(limit)), x)
    check(branchy(limit), x)


@pytest.mark.parametrize("limit", [9.0, 2.0, -9.0])
def test_rows_that_are_arrays(limit: float) -> None:
    x = RNG.normal(size=(50, 6)).astype(np.float32)
    check(branchy(limit, lambda x: lax.fori_loop(0, 9, lambda i, y: jnp.tanh(W @ y), x)), x)
    check(branchy(limit, lambda x: jnp.cumsum(jnp.sort(x)) + jnp.fft.fft(x).real), x)


@pytest.mark.parametrize("limit", [9.0, 1.0])
def test_gradients_of_rows(limit: float) -> None:
    x = RNG.normal(size=40).astype(np.float32)
    check(jax.value_and_grad(branchy(limit)), x)
    whole = jax.grad(lambda x: jax.vmap(branchy(limit))(x).sum())
    rows = np.stack([np.asarray(jax.grad(branchy(limit))(row)) for row in x])
    np.testing.assert_allclose(np.asarray(jax.jit(whole)(x)), rows, rtol=1e-4, atol=1e-4)


def test_branches_within_branches_and_loops() -> None:
    x = RNG.normal(size=40).astype(np.float32)
    n = RNG.integers(0, 20, size=40).astype(np.int32)
    check(branchy(0.0, branchy(1.0)), x)
    check(branchy(0.5, lambda x: lax.map(branchy(1.0), x + jnp.arange(4.0)).sum()), x)
    check(lambda n, x: lax.switch(n % 3, [costly, jnp.negative, branchy(0.0)], x), n, x)
    check(jax.vmap(branchy(1.0)), RNG.normal(size=(5, 7)).astype(np.float32))


def test_no_row_wants_it_so_it_is_not_computed() -> None:
    x = np.linspace(0.0, 1.0, 1000, dtype=np.float32)
    with within(60):
        out = jax.jit(jax.vmap(branchy(2.0, endless)))(x)
    np.testing.assert_array_equal(np.asarray(out), 2 * x)


def meeting(x: jax.Array) -> jax.Array:
    """Work that is called for all rows at once, so that there is no program for one row."""
    result = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda x: np.sort(x, -1), result, x, vmap_method="expand_dims")


@pytest.mark.parametrize("limit", [99.0, 2.0, -99.0])
def test_rows_that_meet_are_computed_if_any_wants_them(limit: float) -> None:
    x = RNG.normal(size=(50, 6)).astype(np.float32)
    function = branchy(limit, meeting)
    program = by_rows(simplify(jax.make_jaxpr(jax.vmap(function))(x).jaxpr))
    (operation,) = [e for e in program.eqns if e.primitive.name == "rows_on_demand"]
    assert operation.params["n_rows"] is None
    check(function, x)


def test_no_row_wants_the_rows_that_meet() -> None:
    """A loop of products of all rows is not run when all rows go the other way."""
    x = np.linspace(0.0, 1.0, 100, dtype=np.float32)

    def together(x: jax.Array) -> jax.Array:
        """Take endless steps over the whole batch."""
        step = lambda i, y: jnp.sin(y) + lax.psum(x, "rows")  # noqa: E731
        return lax.fori_loop(0, 2**31 - 1, step, x)

    function = lambda x: lax.select(x > 2, together(x), x * 2)  # noqa: E731
    with within(60):
        out = jax.jit(jax.vmap(function, axis_name="rows"))(x)
    np.testing.assert_array_equal(np.asarray(out), 2 * x)


@pytest.mark.parametrize("limit", [99.0, 2.0, -99.0])
def test_rows_of_convolutions(limit: float) -> None:
    """Rows share an axis there, with images or with channels."""
    x = RNG.normal(size=(50, 36)).astype(np.float32)
    kernel = RNG.normal(size=(2, 1, 3, 3)).astype(np.float32)
    more = RNG.normal(size=(1, 2, 3, 3)).astype(np.float32)

    def expensive(x: jax.Array) -> jax.Array:
        """Filter an image by others, and by a part of itself."""
        image = x.reshape(1, 1, 6, 6)
        image = jnp.tanh(lax.conv_general_dilated(image, kernel, (1, 1), "SAME"))
        image = lax.conv_general_dilated(image, more, (1, 1), "SAME")
        own = x[:9].reshape(1, 1, 3, 3)
        return lax.conv_general_dilated(image, own, (1, 1), "SAME").reshape(36)

    function = branchy(limit, expensive)
    names = operations(jax.vmap(function), x)
    assert "rows_on_demand" in names and "conv_general_dilated" not in names
    check(function, x)
    check(jax.grad(lambda x: (function(x) ** 2).sum()), x)


def test_what_rows_share_waits_for_one_that_wants_it() -> None:
    x = np.linspace(0.0, 1.0, 100, dtype=np.float32)

    def expensive(x: jax.Array, y: jax.Array) -> jax.Array:
        """Take endless steps with what is the same for all rows."""
        return x * endless(y)

    function = lambda x, y: lax.cond(x > 2, expensive, lambda x, y: x * 2, x, y)  # noqa: E731
    with within(60):
        out = jax.jit(jax.vmap(function, (0, None)))(x, np.float32(1))
    np.testing.assert_array_equal(np.asarray(out), 2 * x)


@pytest.mark.parametrize("limit", [9.0, 1.5, -99.0])
def test_expressions_that_meet_again_and_again_are_work(limit: float) -> None:
    x = RNG.normal(size=(40, 30)).astype(np.float32)

    def normalised(x: jax.Array) -> jax.Array:
        """Take sums of all, five times."""
        for _ in range(5):
            x = jnp.exp(-x * x) - x / (1 + jnp.abs(x).sum())
        return x

    assert "rows_on_demand" in operations(jax.vmap(branchy(limit, normalised)), x)
    check(branchy(limit, normalised), x)


def test_callbacks_are_called_for_the_rows_that_want_them() -> None:
    x = np.arange(20, dtype=np.float32)
    seen = []

    def note(x: np.ndarray) -> np.ndarray:
        """Note the rows."""
        seen.append(float(x))
        return x

    def called(x: jax.Array) -> jax.Array:
        """Call Python."""
        return jax.pure_callback(note, jax.typeof(x), x, vmap_method="sequential")

    out = jax.jit(jax.vmap(lambda x: lax.cond(x > 16, called, jnp.negative, x)))(x)
    np.testing.assert_array_equal(np.asarray(out), np.where(x > 16, x, -x))
    assert seen == [17.0, 18.0, 19.0]


def test_demands_of_two_kinds() -> None:
    """A value that one case wants by rows and another as a whole is there for both."""
    x = RNG.normal(size=(40, 6)).astype(np.float32)

    def function(x: jax.Array) -> jax.Array:
        """Use one loop in two branches."""
        y = lax.fori_loop(0, 30, lambda i, y: jnp.sin(y) + x, x)
        first = jnp.where(x[0] > 1, y * 2, x)
        return jnp.where(x[1] > 1, y - lax.psum(y, "rows"), first)

    wanted = x.copy()
    steps = x.copy()
    for _ in range(30):
        steps = np.sin(steps) + x
    wanted = np.where(x[:, :1] > 1, steps * 2, x)
    wanted = np.where(x[:, 1:2] > 1, steps - steps.sum(0), wanted)
    found = jax.jit(jax.vmap(function, axis_name="rows"))(x)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-4)


def test_one_choice_for_everything_is_lazy_too() -> None:
    select = jax.jit(lambda p, x: jnp.where(p, endless(x), x * 2))
    with within(60):
        assert float(select(False, np.float32(3))) == 6


def test_what_both_cases_want_is_computed_once_for_all() -> None:
    def function(p: jax.Array, x: jax.Array) -> jax.Array:
        y = costly(x)
        return jnp.where(p, y, -y)

    x = RNG.normal(size=40).astype(np.float32)
    assert "rows_on_demand" not in operations(function, x > 0, x)


def test_effects_of_both_branches_happen(capfd: pytest.CaptureFixture) -> None:
    def loud(x: jax.Array) -> jax.Array:
        jax.debug.print("loud {}", x)
        return costly(x)

    x = np.float32([0, 1])
    out = jax.jit(jax.vmap(branchy(9.0, loud)))(x)
    jax.effects_barrier()
    np.testing.assert_array_equal(np.asarray(out), 2 * x)
    assert capfd.readouterr().out.count("loud") == 2


def test_values_that_are_not_numbers_stay_in_their_rows() -> None:
    x = np.float32([np.nan, 1, np.inf, -1])
    check(branchy(0.5, lambda x: lax.fori_loop(0, 30, lambda i, y: jnp.log(y) + x, x)), x)
    gradient = jax.jit(jax.vmap(jax.grad(branchy(0.5, lambda x: lax.cumsum(jnp.log(x)[None])[0]))))
    np.testing.assert_array_equal(np.asarray(gradient(np.float32([-1, 0, 2]))), [2, 2, 0.5])


def test_a_shared_matrix_is_not_broadcast() -> None:
    matrix = RNG.normal(size=(64, 64)).astype(np.float32) / 8
    x = RNG.normal(size=(128, 64)).astype(np.float32)

    def expensive(m: jax.Array, x: jax.Array) -> jax.Array:
        return lax.fori_loop(0, 5, lambda i, y: jnp.tanh(m @ y), x)

    def function(m: jax.Array, x: jax.Array) -> jax.Array:
        return lax.cond(jnp.sum(x) > 1e9, expensive, lambda m, x: x * 2.0, m, x)

    mapped = jax.jit(jax.vmap(function, (None, 0)))
    assert "f32[128,64,64]" in str(jax.make_jaxpr(mapped)(matrix, x))
    plain = jax.jit(jax.vmap(expensive, (None, 0)))
    bytes_of = [
        f.lower(matrix, x).compile().memory_analysis().temp_size_in_bytes for f in (mapped, plain)
    ]
    assert bytes_of[0] < 8 * bytes_of[1] < matrix.nbytes * 128
    np.testing.assert_array_equal(np.asarray(mapped(matrix, x)), 2 * x)
    np.testing.assert_allclose(
        np.asarray(mapped(matrix, x + 1e9)), np.asarray(plain(matrix, x + 1e9)), atol=1e-5
    )


def test_rows_that_a_mask_leaves_out_of_a_scan() -> None:
    """An operand that is stretched along the rows is one row for all."""
    weights = RNG.normal(size=(16, 12)).astype(np.float32)
    bias = RNG.normal(size=16).astype(np.float32)

    def row(b: jax.Array, length: jax.Array, xs: jax.Array) -> jax.Array:
        def step(c: jax.Array, inputs: tuple) -> tuple:
            t, x = inputs
            new = jnp.tanh(weights @ jnp.concatenate([x, c]) + b)[:8]
            kept = jnp.where(t < length, new, c)
            return kept, kept.sum()

        return lax.scan(step, jnp.zeros(8), (jnp.arange(6), xs))[1]

    xs = RNG.normal(size=(40, 6, 4)).astype(np.float32)
    length = RNG.integers(0, 6, size=40).astype(np.int32)
    found = jax.jit(jax.vmap(row, (None, 0, 0)))(bias, length, xs)
    expected = np.stack([row(bias, n, x) for n, x in zip(length, xs, strict=True)])
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)


def test_masks_of_elements_are_left_alone() -> None:
    def attention(x: jax.Array) -> jax.Array:
        mask = jnp.tril(jnp.ones((64, 64), bool))
        return jnp.where(mask, x @ x.T, -1e9)

    assert "rows_on_demand" not in operations(attention, np.ones((64, 32), np.float32))


def test_a_branch_inside_a_sum_may_need_the_index_of_the_loop():
    x = np.sin(np.arange(288, dtype=np.float32)).reshape(96, 3)
    chosen = np.arange(96, dtype=np.int32) % 3

    def mean(x, chosen):
        """Return the mean of one element of each row."""
        return jnp.mean(jnp.take_along_axis(x, chosen[:, None], 1))

    expected = x[np.arange(96), chosen].mean()
    np.testing.assert_allclose(jax.jit(mean)(x, chosen), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(mean))(x, chosen).sum(), 1, rtol=1e-5)


SMALL = {
    "cumsum": jnp.cumsum,
    "sort": jnp.sort,
    "top_k": lambda x: jnp.concatenate([lax.top_k(x, 3)[0], x[3:]]),
    "scatter": lambda x: x.at[(x * 9).astype(int) % 16].add(x),
    "product": lambda x: (x.reshape(4, 4) @ x.reshape(4, 4)).reshape(16),
    "window": lambda x: lax.reduce_window(x, -np.inf, lax.max, (5,), (1,), "SAME"),
    "counter": lambda x: lax.while_loop(
        lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * 0.9 + x), (0, x)
    )[1],
}


@pytest.mark.parametrize("name", SMALL)
def test_rows_of_sixteen_numbers_wait_for_those_that_want_them(name: str) -> None:
    function = branchy(1.0, SMALL[name])
    x = RNG.normal(size=(40, 16)).astype(np.float32)
    program = by_rows(simplify(jax.make_jaxpr(jax.vmap(function))(x).jaxpr))
    (operation,) = [eqn for eqn in program.eqns if eqn.primitive.name == "rows_on_demand"]
    assert operation.params["n_rows"] == 40
    check(function, x)


@pytest.mark.parametrize("length", [16, 64])
def test_gradients_of_sorts_scatter_for_those_that_sort(length: int) -> None:
    def loss(x: jax.Array, q: jax.Array) -> jax.Array:
        """Sum the squares of a row that is sorted, or not."""
        return (lax.cond(q < 0.1, jnp.sort, lambda x: x * 2, x) ** 2).sum()

    x = RNG.uniform(size=(50, length)).astype(np.float32)
    q = RNG.uniform(size=50).astype(np.float32)
    assert "scatter-add" not in operations(jax.vmap(jax.grad(loss)), x, q)
    check(jax.grad(loss), x, q)


DEAR: dict[str, tuple[tuple[int, ...], Callable]] = {
    "power": ((), lambda x: jnp.abs(x) ** 1.7),
    "gradient of a power": ((), jax.grad(lambda x: jnp.abs(x) ** 1.7)),
    "lgamma": ((), lax.lgamma),
    "digamma": ((), lax.digamma),
    "erf_inv": ((), lambda x: lax.erf_inv(x * 0.2)),
    "three functions": ((), lambda x: jnp.exp(jnp.sin(x)) * jnp.tanh(x)),
    "softmax": ((4,), jax.nn.softmax),
    "gradient of softmax": ((3,), jax.grad(lambda x: (jax.nn.softmax(x) * x).sum())),
}


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.01, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("name", DEAR)
def test_dear_expressions_of_many_short_rows_wait_for_those_that_want_them(
    name: str, share: float
) -> None:
    shape, dear = DEAR[name]
    x = RNG.normal(size=(40003, *shape)).astype(np.float32)
    x[::7] *= np.float32(np.inf)
    p = RNG.random(40003) < share
    chosen = jax.vmap(lambda p, x: lax.cond(p, dear, lambda x: x * 2, x))
    names = operations(chosen, p, x)
    assert "rows_on_demand" in names and "select_n" not in names
    everywhere = np.asarray(jax.jit(jax.vmap(dear))(x))
    wanted = p.reshape(-1, *(1 for _ in shape))
    np.testing.assert_array_equal(jax.jit(chosen)(p, x), np.where(wanted, everywhere, x * 2))


def some_wanted(kind: str, n_rows: int) -> np.ndarray:
    """Return which rows want something: so many of all, or all of those at the end."""
    if kind == "the last":
        return np.arange(n_rows) > n_rows - 70_000
    return np.random.default_rng(1).random(n_rows) < float(kind)


@pytest.mark.parametrize("kind", ["0.0", "0.001", "0.3", "1.0", "the last"])
@pytest.mark.parametrize("n_rows", [262_145, 300_007, 327_680])
def test_more_rows_than_the_cache_holds_choose_by_stretches(n_rows: int, kind: str) -> None:
    x = RNG.normal(size=n_rows).astype(np.float32)
    x[::7] *= np.float32(np.inf)
    p = some_wanted(kind, n_rows)
    chosen = jax.vmap(lambda p, x: lax.cond(p, lax.lgamma, lambda x: x * 2, x))
    program = by_rows(simplify(jax.make_jaxpr(chosen)(p, x).jaxpr))
    (operation,) = [e for e in program.eqns if e.primitive.name == "rows_on_demand"]
    assert operation.params["stretch"] <= 1 << 15
    expected = np.where(p, np.asarray(lax.lgamma(x)), x * 2)
    np.testing.assert_array_equal(jax.jit(chosen)(p, x), expected)
    doing = jax.jit(chosen, donate_argnums=1)
    np.testing.assert_array_equal(doing(p, jnp.asarray(x)), expected)


@pytest.mark.parametrize("kind", ["0.001", "0.3", "the last"])
def test_stretches_of_choices_that_are_computed_and_of_rows_that_are_arrays(kind: str) -> None:
    n_rows = 300_007
    p = some_wanted(kind, n_rows)
    x = RNG.normal(size=(n_rows, 3)).astype(np.float32)
    q = np.where(p, RNG.integers(1, 3, size=n_rows), 0).astype(np.int32)

    def one(q: jax.Array, x: jax.Array) -> jax.Array:
        """Return one of three functions of a row."""
        sides = [lambda x: x * 2, lax.digamma, lax.lgamma]
        return lax.switch(q * 3 - q * 2, sides, x)

    chosen = jax.vmap(one)
    names = operations(chosen, q, x)
    assert names.count("rows_on_demand") == 2
    expected = np.choose(q[:, None], [x * 2, lax.digamma(x), lax.lgamma(x)])
    np.testing.assert_array_equal(jax.jit(chosen)(q, x), expected)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.7, 1.0])
def test_short_sums_are_for_those_that_want_them(share: float) -> None:
    x = RNG.normal(size=(40_000, 4)).astype(np.float32)
    p = RNG.random(40_000) < share
    chosen = jax.vmap(lambda p, x: lax.cond(p, jnp.cumsum, lambda x: x * 2, x))
    assert "rows_on_demand" in operations(chosen, p, x)
    everywhere = np.asarray(jax.jit(jax.vmap(jnp.cumsum))(x))
    np.testing.assert_array_equal(jax.jit(chosen)(p, x), np.where(p[:, None], everywhere, x * 2))


def test_rows_of_a_whole_are_lanes() -> None:
    """Where most rows want it, short rows are written out: no row is a loop of its own."""
    x, p = np.ones((40_000, 4), np.float32), np.ones(40_000, bool)
    chosen = jax.vmap(lambda p, x: lax.cond(p, jnp.tanh, lambda x: x * 2, x))
    body = lower_jaxpr(simplify(jax.make_jaxpr(chosen)(p, x).jaxpr)).body
    whole = body[-1].branches[1]
    loops = [statement for statement in whole if isinstance(statement, Loop)]
    assert loops and all(isinstance(s, Store) for loop in loops for s in loop.body)


def test_two_dear_sides_are_both_gathered() -> None:
    x = RNG.normal(size=40000).astype(np.float32)
    chosen = jax.vmap(lambda x: lax.cond(x < -2, lax.lgamma, lax.digamma, x))
    assert "select_n" not in operations(chosen, x)
    everywhere = np.where(x < -2, lax.lgamma(x), lax.digamma(x))
    np.testing.assert_array_equal(jax.jit(chosen)(x), everywhere)


@pytest.mark.parametrize(
    ("rows", "dear"),
    [
        ((4000,), lax.lgamma),
        ((40_000,), jnp.exp),
        ((40_000, 20), lax.lgamma),
    ],
    ids=["few rows", "one exponential", "long rows"],
)
def test_other_expressions_stay_expressions(rows: tuple[int, ...], dear: Callable) -> None:
    x = np.ones(rows, np.float32)
    chosen = jax.vmap(lambda x: lax.cond(x.sum() > 0, dear, lambda x: x * 2, x))
    assert "rows_on_demand" not in operations(chosen, x)


def test_what_is_chosen_for_larger_expressions_stays_in_them() -> None:
    x = np.ones(40_000, np.float32)
    names = operations(lambda x: jnp.where(x > 1, lax.lgamma(x), x) * 3 + x, x)
    assert "rows_on_demand" not in names


def test_choices_among_choices_are_not_written_for_each_way_of_those_around_them() -> None:
    """The text of a chain of choices grows with its length, not with a power of two."""
    irregular = random.Random(0)  # steps that repeat would be a loop

    def chain(x: Any, length: int) -> Any:
        """Choose the first of some long polynomials whose limit is above the element."""
        if length == 0:
            return x
        total = x
        for k in range(50):
            is_sum = irregular.random() < 0.5
            total = total * x + k if is_sum else (total - k) * x
        return jnp.where(x < length, chain(x, length - 1), total)

    def size(length: int) -> int:
        """Return the size of the text for a chain."""
        x = jax.ShapeDtypeStruct((1000,), jnp.float32)
        jaxpr = jax.make_jaxpr(lambda x: chain(x, length))(x).jaxpr
        return len(emit_program(lower_jaxpr(jaxpr), host_target()).text)

    assert size(6) < 2.5 * size(3)
