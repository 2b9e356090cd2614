"""Random programs as data: a recipe is drawn once and cooked in any system that speaks JAX.

    recipe ((Step("scan", blocks=(...)), Step("unary"), ...)) -- cook(system) --> f(x, y) -> vector

A block is a sequence of steps over a growing list of vectors of one length and dtype.  A step has a
kind, two numbers that pick its operands, a number for its variant, and nested blocks.  Nested
blocks see the vectors around them, so that programs capture values of outer ones.

First-order steps are bounded and smooth where a random vector meets them, so that derivatives up to
the third order stay comparable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import strategies

__all__ = ["N_PROGRAMS", "Block", "Step", "agree", "cook", "decides", "drawn", "recipes"]

# How many programs each law is tried on.
N_PROGRAMS = 1250 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 6


Values = list[Any]


@dataclass(frozen=True)
class Step:
    """One step: `kind` names it, `a` and `b` pick operands, `n` picks a variant."""

    kind: str
    a: int
    b: int
    n: int
    blocks: tuple[Block, ...] = ()


Block = tuple[Step, ...]


@strategies.composite
def recipes(draw: Callable, depth: int = 2, without: frozenset[str] = frozenset()) -> Block:
    """Draw a block with blocks nested to `depth`, without some kinds."""
    return drawn(lambda options: draw(strategies.sampled_from(options)), depth, without)


def drawn(
    choose: Callable[[Sequence], Any],
    depth: int = 2,
    without: frozenset[str] = frozenset(),
    most: int = 3,
) -> Block:
    """Return a block of at most so many steps; `choose` picks one of several options."""
    flat = sorted(FLAT.keys() - without)
    kinds = flat + (2 * sorted(NESTED.keys() - without) if depth else [])
    steps = []
    for _ in range(choose(range(1, most + 1))):
        kind = choose(kinds)
        n_blocks = N_BLOCKS.get(kind, 1) if kind in NESTED else 0
        inside = without | REFUSED_IN.get(kind, set())
        inner = tuple(drawn(choose, depth - 1, inside, 2) for _ in range(n_blocks))
        a, b, n = (choose(range(8)) for _ in range(3))
        steps.append(Step(kind, a, b, n, inner))
    return tuple(steps)


def decides(block: Block) -> bool:
    """Tell whether a step of a block, or of one nested in it, depends on a value by jumps."""
    return any(
        step.kind in DECISIONS
        or (step.kind == "binary" and step.n % 4 == 3)
        or any(map(decides, step.blocks))
        for step in block
    )


@dataclass(frozen=True)
class Kitchen:
    """A system under its JAX names."""

    jax: ModuleType

    @property
    def lax(self) -> ModuleType:
        """The operations."""
        return self.jax.lax

    @property
    def np(self) -> ModuleType:
        """The array library."""
        return self.jax.numpy

    def run(self, block: Block, values: Values) -> Any:
        """Cook a block: return its last vector, mixed with its first."""
        values = list(values)
        for step in block:
            values.append(self.step(step, values))
        return values[-1] * 0.75 + values[0] * 0.25

    def step(self, step: Step, values: Values) -> Any:
        """Cook one step."""
        x, y = values[step.a % len(values)], values[step.b % len(values)]
        if step.kind in FLAT:
            return FLAT[step.kind](self, x, y, step.n)
        # Rules of the user's own must not capture tracers.
        outer = [] if step.kind in ("own_jvp", "own_vjp", "own_vmap") else values[-2:]
        inner = [self.closed(block, outer) for block in step.blocks]
        return NESTED[step.kind](self, x, y, step.n, *inner)

    def closed(self, block: Block, outer: Values) -> Callable[..., Any]:
        """Return a block as a function of two vectors that captures some outer ones."""
        return lambda *given: self.run(block, [*given, *outer])

    def positive(self, x: Any) -> Any:
        """Return a scalar predicate of a vector."""
        return self.np.sum(self.np.real(x)) > 0.1


def cook(jax: ModuleType, block: Block) -> Callable[[Any, Any], Any]:
    """Return the block as a function of two vectors in the system `jax`."""
    kitchen = Kitchen(jax)
    return lambda x, y: kitchen.run(block, [x, y])


def agree(got: Any, want: Any, tolerance: float, leaves: Callable[[Any], list]) -> None:
    """Assert that trees of arrays agree, relative to the largest element of each array."""
    for x, y in zip(leaves(got), leaves(want), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if x.dtype.kind == "V":
            continue
        x, y = x.astype(np.complex128), y.astype(np.complex128)
        scale = max(1.0, np.abs(y[np.isfinite(y)]).max(initial=0.0))
        np.testing.assert_allclose(x / scale, y / scale, tolerance, tolerance)


# First-order steps: (kitchen, x, y, number) -> vector

Flat = Callable[[Kitchen, Any, Any, int], Any]


def unary(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Apply a bounded function."""
    names = ["sin", "cos", "tanh", "arctan"]
    if is_complex(x):
        names = ["sin", "cos"]
    return getattr(k.np, names[n % len(names)])(x)


def binary(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Combine two vectors."""
    return [
        lambda: x * y,
        lambda: x + y,
        lambda: x - y,
        lambda: k.np.where(k.np.real(x) > k.np.real(y) + 0.01, x, y * 0.5),
    ][n % 4]()


def constant(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Combine with a number."""
    return [lambda: x * 1.5, lambda: 0.5 - x, lambda: x / 2, lambda: -x][n % 4]()


def ordered(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Move elements."""
    return [
        lambda: k.np.flip(x),
        lambda: k.np.roll(x, 1),
        lambda: k.lax.cumsum(x) * 0.5,
        lambda: k.lax.rev(k.np.concatenate([x[1:], x[:1]]), (0,)),
    ][n % 4]()


def reduced(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Reduce, and spread over a vector."""
    return [
        lambda: k.np.sum(x * y) * 0.3 + y,
        lambda: k.np.mean(x) * y if x.size else y,
        lambda: y * k.np.sum(k.np.sin(x)),
    ][n % 3]()


def product(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Multiply by a matrix."""
    size = x.shape[0]
    weight = np.cos(np.arange(size * size)).reshape(size, size) * 0.4
    weight = k.np.asarray(weight, x.dtype)
    return weight @ x if n % 2 else x @ weight


def indexed(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Read and write elements."""
    size = x.shape[0]
    if not size:
        return x
    where = n % size
    return [
        lambda: x.at[where].set(y[size - 1 - where]),
        lambda: x.at[where].add(y[where]),
        lambda: x[np.arange(size)[::-1]] * y,
        lambda: x.at[np.zeros(2, int)].add(y[:1]),
    ][n % 4]()


def stopped(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Take a value without its derivative."""
    return x * k.lax.stop_gradient(y)


def rounded(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Go through integers."""
    whole = k.np.floor(k.np.real(x) * 4).astype(np.int32)
    return y + whole.astype(x.dtype) * 0.1


def cumulative(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Accumulate along the vector, from either end."""
    names = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]
    if is_complex(x):
        names = names[:2]
    return getattr(k.lax, names[n % len(names)])(x * 0.5, reverse=n > 4)


def windows(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Sum, or take the largest, in windows that overlap."""
    if n % 2 and not is_complex(x):
        smallest = -np.inf
        return k.lax.reduce_window(x, smallest, k.lax.max, (2,), (1,), "SAME")
    return k.lax.reduce_window(x, 0.0, k.lax.add, (2,), (1,), "SAME") * 0.5


def folded(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Reduce by a function of one's own, which is associative, and spread."""
    start = k.np.asarray(0, x.dtype)
    return k.lax.reduce(x * 0.5, start, lambda a, b: a + b + 0.125 * a * b, (0,)) * y


def chosen(k: Kitchen, x: Any, y: Any, n: int) -> Any:
    """Choose each element from three vectors."""
    which = k.np.clip(k.np.floor(k.np.real(x) + 1), 0, 2).astype(np.int32)
    return k.lax.select_n(which, x, y, x * y)


def is_complex(x: Any) -> bool:
    """Tell whether a vector is complex."""
    return np.dtype(x.dtype).kind == "c"


FLAT: dict[str, Flat] = {
    step.__name__: step
    for step in (
        unary,
        binary,
        constant,
        ordered,
        reduced,
        product,
        indexed,
        stopped,
        rounded,
        cumulative,
        windows,
        folded,
        chosen,
    )
}

# Steps that contain blocks: (kitchen, x, y, number, *functions of two vectors) -> vector


def scan(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Scan rows, with a counter in the carry and stacked outputs; some steps are written out."""
    rows = k.np.stack([y * 0.5, y, -y])

    def step(carry: tuple, row: Any) -> tuple:
        """Run one step."""
        i, value = carry
        new = body(value, row)
        return (i + 1, new), (new * row, i)

    kwargs = {"reverse": n % 2 == 1, "unroll": [1, 2, True, 3][n // 2]}
    (count, last), (ys, numbers) = k.lax.scan(step, (n, x), rows, **kwargs)
    again = k.lax.scan(lambda c, _: (c * 0.5 + y, None), last, None, length=n % 3)[0]
    return again + k.np.sum(ys, 0) * 0.2 + (count + numbers[0]) * 0.01


def fori(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Loop between known bounds."""
    return k.lax.fori_loop(0, n % 3, lambda i, v: body(v, y) + i * 0.1, x)


def loop(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Loop until a counter, or the values, say so."""

    def running(carry: tuple) -> Any:
        """Tell whether to go on."""
        i, value = carry
        return (i < 3) & (k.np.sum(k.np.real(value)) < 2)

    return k.lax.while_loop(running, lambda c: (c[0] + 1, body(c[1], y)), (n % 2, x))[1]


def cond(k: Kitchen, x: Any, y: Any, n: int, yes: Callable, no: Callable) -> Any:
    """Branch on a value."""
    return k.lax.cond(k.positive(x), yes, no, x, y)


def switch(k: Kitchen, x: Any, y: Any, n: int, first: Callable, second: Callable) -> Any:
    """Branch three ways."""
    index = k.np.sum(k.np.floor(k.np.real(x))).astype(np.int32) % 3
    return k.lax.switch(index, [first, second, lambda a, b: b * 2], x, y)


def remat(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Checkpoint."""
    policies = k.jax.checkpoint_policies
    policy = [None, policies.dots_saveable, policies.everything_saveable][n % 3]
    return k.jax.checkpoint(body, policy=policy)(x, y)


def jit(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Compile."""
    return k.jax.jit(body)(x, y)


def mapped(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Map over rows; one operand may be shared."""
    rows = k.np.stack([x, y], n % 2)
    out = k.jax.vmap(body, in_axes=(n % 2, None), out_axes=n // 2 % 2)(rows, y)
    return k.np.sum(out, n // 2 % 2)


def tangent(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Take a derivative inside."""
    return k.jax.jvp(lambda v: body(v, y), (x,), (y,))[1]


def gradient(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Take a gradient inside."""
    return k.jax.grad(lambda v: k.np.sum(k.np.real(body(v, y))))(x)


def own_jvp(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Give a function its own forward rule, which is the true one."""
    function = k.jax.custom_jvp(body)
    function.defjvp(lambda primals, tangents: k.jax.jvp(body, primals, tangents))
    return function(x, y)


def own_vjp(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Give a function its own backward rule, which is the true one."""
    function = k.jax.custom_vjp(body)
    function.defvjp(lambda a, b: k.jax.vjp(body, a, b), lambda pull, ct: pull(ct))
    return function(x, y)


def own_vmap(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Give a function its own rule for rows, which is the true one, and map it."""
    function = k.jax.custom_batching.custom_vmap(body)

    def rule(size: int, mapped: Sequence, a: Any, b: Any) -> tuple:
        """Map the body over the operands that are mapped."""
        axes = [0 if flag else None for flag in mapped]
        return k.jax.vmap(body, axes)(a, b), True

    function.def_vmap(rule)
    out = k.jax.vmap(function, (0, None if n % 2 else 0))
    rows = k.np.stack([x, y])
    return k.np.sum(out(rows, y if n % 2 else rows), 0)


def rowwise(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Map over rows one by one, or some at a time, with a remainder."""
    rows = (k.np.stack([x, y, x * y]), k.np.stack([y, y, x]))
    batch_size = [None, 2, 1, 3][n % 4] if x.size else None  # JAX cannot reshape nothing
    return k.lax.map(lambda pair: body(*pair), rows, batch_size=batch_size)[n % 3]


def associated(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Compose linear functions along an axis, made from rows by the block."""
    rows = k.np.stack([x, y, x - y, y * 0.5, x], n % 2)
    slopes = k.jax.vmap(body, (n % 2, None), n % 2)(rows, y) * 0.25

    def compose(first: tuple, second: tuple) -> tuple:
        """Apply one linear function after the other."""
        return first[0] * second[0], first[1] * second[0] + second[1]

    function = [compose, k.jax.jit(compose), k.jax.checkpoint(compose)][n % 3]
    scanned = k.lax.associative_scan(function, (slopes, rows), reverse=n > 3, axis=n % 2)
    return k.np.sum(scanned[1], n % 2) * 0.3


def platform(k: Kitchen, x: Any, y: Any, n: int, yes: Callable, no: Callable) -> Any:
    """Branch on the platform."""
    return k.lax.platform_dependent(x, y, cpu=yes, default=no)


def vectorized(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Extend the block over leading axes by its signature."""
    function = k.np.vectorize(body, signature="(n),(n)->(n)")
    rows = k.np.stack([x, y])
    return k.np.sum(function(rows[:, None], y if n % 2 else rows), (0, 1)) * 0.5


def collective(k: Kitchen, x: Any, y: Any, n: int, body: Callable) -> Any:
    """Map over a named axis along which rows speak to each other."""

    def row(a: Any) -> Any:
        """Mix a row with others."""
        value = body(a, y)
        three = k.np.stack([value, a, y])
        shuffled = lambda: k.lax.pshuffle(value, "rows", [2, 0, 1])  # noqa: E731
        extent = lambda v: k.lax.pmax(v, "rows") - k.lax.pmin(v, "rows")  # noqa: E731
        return [
            lambda: value - k.lax.psum(a, "rows") * 0.2,
            lambda: k.lax.ppermute(value, "rows", [(0, 1), (1, 2), (2, 0)]) * a,
            lambda: value * k.lax.pmean(value, "rows"),
            lambda: k.np.sum(k.lax.all_gather(value, "rows"), 0) * 0.3,
            lambda: value / k.lax.axis_size("rows") + k.lax.axis_index("rows").astype(value.dtype),
            lambda: k.np.sum(k.lax.all_to_all(three, "rows", 0, 0, tiled=True), 0) * a,
            lambda: k.lax.psum_scatter(three, "rows") * 0.3,
            lambda: shuffled() + extent(k.lax.stop_gradient(k.np.real(a))) * 0.1,
        ][n]()

    return k.np.sum(k.jax.vmap(row, axis_name="rows")(k.np.stack([x, y, x * y])), 0)


Nested = Callable[..., Any]
NESTED: dict[str, Nested] = {
    step.__name__: step
    for step in (
        scan,
        fori,
        loop,
        cond,
        switch,
        remat,
        jit,
        mapped,
        tangent,
        gradient,
        own_jvp,
        own_vjp,
        own_vmap,
        rowwise,
        associated,
        platform,
        vectorized,
        collective,
    )
}
N_BLOCKS = {"cond": 2, "switch": 2, "platform": 2}
DECISIONS = {"rounded", "cond", "switch", "loop", "windows", "cumulative", "chosen"}
# A backward rule cannot be pushed forward, a loop of unknown length not be run backwards.
REFUSED_IN = {"tangent": {"own_vjp"}, "gradient": {"loop"}}
