"""Random jaxprs, built by the public API: intact ones, damaged ones, and wrong arguments.

    jaxpr(7)    a program is drawn, damaged three times of four, and evaluated, compiled, mapped or
                differentiated, with arguments of its types or of others

A program is traced from a recipe of tests/laws, or from a function with loops and branches, and is
taken apart and put together by `replace`.  Damage is of one equation, at any depth: it is left out,
comes again or elsewhere, reads other variables, has another primitive, or a parameter that is a
little off.  Nobody types such a program again, so that each operation must refuse what it cannot
do: by any ordinary error, but not by reading memory that is not its own.

Intact programs must be evaluated and compiled to the same values.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from tests.laws.recipes import cook, drawn

__all__ = ["evaluated"]

SECONDS = 5  # a damaged loop may be endless


class Endless(BaseException):
    """A damaged loop has used up its time."""


def evaluated(jax: ModuleType, seed: int) -> None:
    """Draw a program and evaluate it; complain of other values, and of faults of the system."""
    rng = random.Random(seed)
    f, args = _drawn(jax, rng)
    program = jax.make_jaxpr(f)(*args)
    way = rng.choice(WAYS)
    if rng.random() < 0.25:
        a, b = (use(jax, program, args) for use in (_plain, _compiled))
        assert all(map(_alike, a, b)), f"{a} and {b}"
        return
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        program = damaged(rng, program)
    if rng.random() < 0.3:
        args = [_wrong(rng, x) for x in args]
    if rng.random() < 0.1:
        args = rng.choice((args[1:], [*args, args[0]]))
    _tried(lambda: way(jax, program, args))


def _tried(run: Callable[[], Any]) -> None:
    """Run what may raise any ordinary error, for some seconds."""
    before = signal.signal(signal.SIGALRM, _ring)
    signal.alarm(SECONDS)
    try:
        run()
    except SystemError as error:
        raise AssertionError(repr(error)) from error
    except (Exception, Endless):
        return
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _ring(number: int, frame: object) -> None:
    """End the loop."""
    raise Endless


def _alike(a: Any, b: Any) -> bool:
    """Tell whether two results agree up to rounding."""
    return np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True)


# Programs


def _drawn(jax: ModuleType, rng: random.Random) -> tuple[Callable, list]:
    """Return a function and its arguments."""
    n = rng.choice((1, 3, 8))
    x, y = (jax.numpy.asarray(np.random.RandomState(n).randn(2, n)[k], "float32") for k in (0, 1))
    if rng.random() < 0.5:
        return cook(jax, drawn(rng.choice, 2)), [x, y]
    return rng.choice(_functions(jax)), [x, y]


def _functions(jax: ModuleType) -> list[Callable]:
    """Return functions whose operations have many parameters."""
    jnp, lax = jax.numpy, jax.lax
    return [
        lambda x, y: lax.scan(lambda c, r: (c + r[0] * y, r[1] * c), x, (x, y)),
        lambda x, y: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * y), (0, x)),
        lambda x, y: lax.cond(x[0] > 0, lambda x: jnp.sin(x) * y, lambda x: x - y, x),
        lambda x, y: lax.switch(jnp.int32(x[0]), [jnp.sin, jnp.cos, lambda z: z * y], x),
        lambda x, y: jnp.outer(x, y) @ y + jnp.sort(x)[::-1],
        lambda x, y: x.at[jnp.int32(y)].add(y)[jnp.argsort(y)],
        lambda x, y: lax.dynamic_update_slice(jnp.pad(x, 2), y, (jnp.int32(y[0]),)),
        lambda x, y: jnp.convolve(x, y).reshape(-1, 1).T.sum(0).cumsum(),
        lambda x, y: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)) * y)(x),
        lambda x, y: lax.map(lambda r: jax.jit(jnp.sin)(r) + y, x),
        lambda x, y: lax.reduce_window(jnp.concatenate([x, y]), 0.0, lax.add, (2,), (1,), "VALID"),
        lambda x, y: jax.nn.softmax(jnp.linalg.solve(jnp.outer(x, y) + 9 * jnp.eye(x.size), x)),
        lambda x, y: (lax.top_k(x, 1), jnp.fft.fft(y).real, jnp.where(x > 0, x, y)),
        lambda x, y: jax.random.normal(jax.random.key(jnp.int32(x[0])), y.shape) * y,
    ]


# Ways of evaluation


def _plain(jax: ModuleType, program: Any, args: Sequence) -> list:
    """Evaluate equation by equation."""
    outs = jax.core.eval_jaxpr(program.jaxpr, program.consts, *args)
    return [np.asarray(out) for out in outs]


def _compiled(jax: ModuleType, program: Any, args: Sequence) -> list:
    """Compile what evaluates."""
    f = jax.jit(lambda *args: jax.core.eval_jaxpr(program.jaxpr, program.consts, *args))
    return [np.asarray(out) for out in f(*args)]


def _mapped(jax: ModuleType, program: Any, args: Sequence) -> list:
    """Map what evaluates."""
    f = jax.vmap(lambda *args: jax.core.eval_jaxpr(program.jaxpr, program.consts, *args))
    return [np.asarray(out) for out in f(*[jax.numpy.stack([x, x]) for x in args])]


def _differentiated(jax: ModuleType, program: Any, args: Sequence) -> list:
    """Differentiate the sum of the results."""

    def total(*args: Any) -> Any:
        """Return one number."""
        outs = jax.core.eval_jaxpr(program.jaxpr, program.consts, *args)
        return sum(out.astype("float32").sum() for out in outs)

    return [np.asarray(jax.grad(total)(*args))]


def _printed(jax: ModuleType, program: Any, args: Sequence) -> list:
    """Print, check, and lower to text."""
    assert str(program)
    return [jax.jit(jax.extend.core.jaxpr_as_fun(program)).lower(*args).as_text()]


WAYS = (_plain, _compiled, _mapped, _differentiated, _printed)


# Damage


def damaged(rng: random.Random, program: Any) -> Any:
    """Return a program with one change: of an equation, of inputs or of outputs."""
    eqns = list(program.eqns)
    if not eqns or rng.random() < 0.1:
        atoms = [*program.invars, *program.outvars, *(v for e in eqns for v in e.outvars)]
        return program.replace(outvars=[rng.choice(atoms) for _ in program.outvars])
    place = rng.randrange(len(eqns))
    eqn = eqns[place]
    kind = rng.random()
    if kind < 0.1:
        del eqns[place]
    elif kind < 0.15:
        eqns.insert(rng.randrange(len(eqns) + 1), eqn)
    elif kind < 0.35:
        atoms = [*program.invars, *(v for e in eqns for v in e.outvars), *eqn.invars]
        invars = [rng.choice(atoms) if rng.random() < 0.5 else x for x in eqn.invars]
        eqns[place] = eqn.replace(invars=rng.choice((invars, invars, invars[1:], invars * 2)))
    elif kind < 0.4:
        other = rng.choice(eqns)
        eqns[place] = eqn.replace(primitive=other.primitive)
    elif kind < 0.45:
        eqns[place] = eqn.replace(outvars=rng.choice((eqn.outvars[1:], eqn.outvars * 2)))
    elif eqn.params:
        params = dict(eqn.params)
        name = rng.choice(sorted(params))
        params[name] = _off(rng, params[name])
        eqns[place] = eqn.replace(params=params)
    return program.replace(eqns=eqns)


def _off(rng: random.Random, value: Any) -> Any:
    """Return a parameter that is a little off."""
    if hasattr(value, "eqns"):
        return damaged(rng, value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, value * 2, -value, 10**9, None))
    if isinstance(value, tuple) and value and type(value) is tuple:
        values = list(value)
        place = rng.randrange(len(values))
        values[place] = _off(rng, values[place])
        return tuple(rng.choice((values, values, values[1:], [*values, values[-1]])))
    if isinstance(value, np.dtype):
        return np.dtype(rng.choice(("float32", "int32", "bool", "int8", "complex64")))
    return value if rng.random() < 0.7 else None


def _wrong(rng: random.Random, x: Any) -> Any:
    """Return an argument that may have another shape or dtype, or be no array."""
    if rng.random() < 0.5:
        return x
    options = [
        x[:0],
        x[None],
        x.sum(),
        x.astype("int32"),
        x.repeat(2),
        None,
        "x",
        1.0,
        x.real[::-1],
    ]
    return rng.choice(options)
