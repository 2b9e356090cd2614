"""`checks`: silent faults become errors with index, size, axis and line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import config, lax, random
from tapeless import numpy as jnp

X = np.arange(3, dtype=np.float32)
FIVE = np.array([0, 5])
HERE = r"\n.*line .*test_checking.py:\d+"
INDEX = r"index 5 is out of bounds for axis {} with size {}.*"


def index_5(axis: int, size: int) -> str:
    """Return the pattern of the message about index 5."""
    return INDEX.format(axis, size) + HERE


INDICES: dict[str, tuple[Callable, str]] = {
    "scalar": (lambda x, i: x[i[1]], index_5(0, 3)),
    "vector": (lambda x, i: x[i], index_5(0, 3)),
    "second axis": (lambda x, i: jnp.ones((7, 4))[i, i], index_5(1, 4)),
    "set": (lambda x, i: x.at[i].set(1), index_5(0, 3)),
    "add": (lambda x, i: x.at[i].add(1), index_5(0, 3)),
    "mul": (lambda x, i: x.at[i].mul(2), index_5(0, 3)),
    "min": (lambda x, i: x.at[i].min(2), index_5(0, 3)),
    "max": (lambda x, i: x.at[i].max(2), index_5(0, 3)),
    "take": (lambda x, i: jnp.take(x, i), index_5(0, 3)),
    "take_along_axis": (lambda x, i: jnp.take_along_axis(x, i, 0), index_5(0, 3)),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i[1],), (2,)), index_5(0, 3)),
    "dynamic_update_slice": (
        lambda x, i: lax.dynamic_update_slice(x, x[:2], (i[1],)),
        index_5(0, 3),
    ),
    "mapped": (lambda x, i: jax.vmap(lambda k: x[k])(i), index_5(0, 3)),
    # axes of the array that is written to, which has a row for each k
    "mapped update": (lambda x, i: jax.vmap(lambda k: x.at[k].set(1))(i), index_5(1, 3)),
    "derivative": (lambda x, i: jax.grad(lambda x: x[i].sum())(x), index_5(0, 3)),
    "in a scan": (
        lambda x, i: lax.scan(lambda c, k: (c, x[k]), 0, jnp.arange(4) + i[1] - 4)[1],
        "index 3 is out of bounds for axis 0 with size 3.*" + HERE + ".*in iteration 2 of the loop",
    ),
    "in a while": (
        lambda x, i: lax.while_loop(lambda c: c[0] < i[1], lambda c: (c[0] + 1, x[c[0]]), (0, 0.0)),
        "index 3 is out of bounds for axis 0 with size 3.*" + HERE + ".*in iteration 3 of the loop",
    ),
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_an_index_out_of_bounds_is_an_error_with_index_size_axis_and_line(
    name: str, wrap: Callable
) -> None:
    function, message = INDICES[name]
    with jax.checks(index=True):
        with pytest.raises(jax.errors.OutOfBoundsError, match=f"(?s){message}"):
            wrap(function)(jnp.asarray(X), jnp.asarray(FIVE))
    wrap(function)(jnp.asarray(X), jnp.asarray(FIVE))  # silent by default


def test_a_python_integer_out_of_bounds_is_found_when_it_is_written() -> None:
    with jax.checks(index=True):
        for run in (lambda: jnp.asarray(X)[7], lambda: jax.jit(lambda x: x[7])(X)):
            with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
                run()


def test_a_mode_says_what_an_index_out_of_bounds_means() -> None:
    x, i = jnp.asarray(X), jnp.asarray(FIVE)
    with jax.checks(index=True):
        np.testing.assert_array_equal(x.at[i].get(mode="fill", fill_value=9), [0, 9])
        np.testing.assert_array_equal(x.at[i].get(mode="clip"), [0, 2])
        assert jax.jit(lambda x, i: x.at[i].get(mode="clip"))(x, 5) == 2
        np.testing.assert_array_equal(x.at[i].set(8, mode="drop"), [8, 1, 2])
        np.testing.assert_array_equal(x[jnp.array([0, -1, -3])], [0, 2, 0])


OTHERS: dict[str, tuple[str, Callable, type, str]] = {
    "integer division": ("div", lambda a: a // (a - 5), ZeroDivisionError, "division by zero"),
    "division": ("div", lambda a: 1.0 / (a - 5), ZeroDivisionError, "division by zero"),
    "remainder": ("div", lambda a: lax.rem(a, a - 5), ZeroDivisionError, "division by zero"),
    "a % 0": ("div", lambda a: a % (a - 5), ZeroDivisionError, "division by zero"),
    "fmod": ("div", lambda a: jnp.fmod(a, a - 5), ZeroDivisionError, "division by zero"),
    "left": ("shift", lambda a: a << (a + 30), ValueError, r"outside of \[0, 32\)"),
    "right": ("shift", lambda a: a >> (a - 9), ValueError, r"outside of \[0, 32\)"),
    "nan": ("nan", lambda a: jnp.log(a - 9.0), FloatingPointError, "in log"),
    "switch": (
        "switch",
        lambda a: lax.switch(a, [lambda: 1, lambda: 2]),
        IndexError,
        "index 5 is out of bounds for a switch of 2 branches",
    ),
    "segment": (
        "segment",
        lambda a: jax.ops.segment_sum(jnp.ones(2), jnp.stack([a, a - 5]), 3),
        IndexError,
        "index 5 is out of bounds for axis 0 with size 3",
    ),
    "negative segment": (
        "segment",
        lambda a: jax.ops.segment_max(jnp.ones(2), jnp.stack([a - 6, a - 5]), 3),
        IndexError,
        "index -1 is out of bounds for axis 0 with size 3",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_other_faults_are_errors_with_a_line(name: str, wrap: Callable) -> None:
    kind, function, error, message = OTHERS[name]
    five = jnp.int32(5)
    with jax.checks(**{kind: True}), pytest.raises(error, match=f"(?s){message}.*{HERE}"):
        wrap(function)(five)
    others = {other for other, *_ in OTHERS.values()} - {kind}
    with jax.checks(**dict.fromkeys(others, True)):
        if name != "nan":
            wrap(function)(five)


def test_rows_that_have_left_a_mapped_loop_are_not_checked() -> None:
    x = jnp.arange(4.0)

    def total(step: Any, n: Any) -> Any:
        """Add every so many of the first n numbers; where it ends there is no number."""
        state = (0, 0.0)
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + step, c[1] + x[c[0]]), state)[1]

    steps, ends = jnp.array([[2, 1], [4, 3]]), jnp.full((2, 2), 4)
    for run in (jax.vmap(jax.vmap(total)), jax.jit(jax.vmap(jax.vmap(total)))):
        with jax.checks(index=True):
            np.testing.assert_array_equal(run(steps, ends), [[2, 6], [0, 3]])
            with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
                run(steps, ends + 1)


def test_everything_is_off_by_default_and_afterwards() -> None:
    def settings() -> list[Any]:
        return [getattr(config.current, name) for name in sorted(config.flags)]

    before = settings()
    with jax.checks():
        assert settings() != before
        with jax.checks(index=False):
            assert jnp.asarray(X)[jnp.int32(7)] == 2
            with pytest.raises(ZeroDivisionError):
                jnp.int32(1) // jnp.int32(0)
    assert settings() == before


def test_checks_decorate_functions() -> None:
    @jax.checks(index=True)
    def read(i: int) -> Any:
        return jnp.asarray(X)[jnp.int32(i)]

    assert read(1) == 1
    with pytest.raises(IndexError):
        read(3)


def test_checks_of_one_function() -> None:
    read = jax.jit(lambda x, i: x[i] / 2, compiler_options={"checks": "index, nan"})
    for _ in range(50):  # also when native code stands in
        assert read(X, 1) == 0.5
    bad = (X, 5)
    for run in (read, jax.jit(lambda x, i: read(x, i) + 1), jax.grad(read)):
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 3"):
            run(*bad)
    with pytest.raises(IndexError):
        jax.vmap(read, (None, 0))(X, FIVE)
    with pytest.raises(FloatingPointError):
        read(X * np.nan, 1)
    assert jax.jit(lambda x, i: x[i] / 2)(*bad) == 1
    with pytest.raises(ValueError, match="compiler option checks must be 'all' or a list"):
        jax.jit(lambda x: x, compiler_options={"checks": "indices"})


def test_programs_without_faults_give_the_same_under_all_checks() -> None:
    key = random.key(0)
    programs = [
        lambda: random.permutation(key, 9),
        lambda: random.choice(random.clone(key), 5, (3,)),
        lambda: jnp.sort(jnp.array([3.0, 1.0])),
        lambda: jnp.roll(jnp.arange(5), 2),
        lambda: jnp.interp(2.5, jnp.arange(5.0), jnp.arange(5.0)),
        lambda: jnp.linalg.solve(2 * jnp.eye(3), jnp.ones(3)),
        lambda: jnp.nonzero(jnp.array([1, 0, 1]), size=5)[0],
        lambda: jnp.median(jnp.array([3.0, 1.0, 8.0])),
        lambda: lax.associative_scan(jnp.add, jnp.arange(5.0)),
        lambda: jax.nn.softmax(jnp.arange(3.0)),
        lambda: jax.grad(lambda x: x[jnp.array([0, 2])].sum())(jnp.ones(3)),
    ]
    for program in programs:
        plain = program()
        with jax.checks():
            np.testing.assert_array_equal(program(), plain)


def test_indices_are_checked_in_the_loop_that_reads_them() -> None:
    with jax.checks(index=True):
        compiled = jax.jit(lambda x, i: x[i] + 1).lower(jnp.ones(9), jnp.zeros(500, int)).compile()
    loops = [line for line in compiled.as_text().splitlines() if line.startswith("for ")]
    assert len(loops) == 1


def test_indices_that_a_loop_counts_cost_no_check() -> None:
    def smooth(x: Any) -> Any:
        return jax.lax.fori_loop(
            2, 1000, lambda i, y: y.at[i].set(0.5 * y[i - 1] + 0.25 * y[i - 2]), x
        )

    def text(checks: str) -> str:
        return jax.jit(smooth, compiler_options={"checks": checks}).lower(x).compile().as_text()

    x = jnp.ones(1000)
    assert text("index") == text("")


def test_indices_that_a_loop_does_not_change_are_looked_at_once() -> None:
    def step(x: Any, i: Any) -> Any:
        return jax.lax.fori_loop(0, 50, lambda k, c: c[i] * 0.5 + 1, x)

    checked = jax.jit(step, compiler_options={"checks": "index"})
    x, i = jnp.ones(400), jnp.arange(400)
    text = checked.lower(x, i).compile().as_text()
    before, inside = text.split("in order:")
    assert "= and(" in before
    assert "= and(" not in inside
    with pytest.raises(IndexError, match=r"index 400 is(.|\n)*in iteration 0 of the loop"):
        checked(x, i + 1)


@pytest.mark.parametrize("n", [17, 4097, 300_000])
@pytest.mark.parametrize("place", [0, -1])
def test_an_error_tells_the_index_though_the_result_is_written_over_the_indices(
    n: int, place: int
) -> None:
    x = jnp.arange(1000)
    f = jax.jit(lambda i: i + x[i], donate_argnums=0)
    i = np.arange(n, dtype=np.int32) % 1000
    with jax.checks(index=True):
        np.testing.assert_array_equal(f(jnp.asarray(i)), 2 * i)
        i[place] = 1003
        with pytest.raises(
            IndexError, match="index 1003 is out of bounds for axis 0 with size 1000"
        ):
            f(jnp.asarray(i))
