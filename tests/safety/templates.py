"""What the fuzzer writes: templates of expressions, and what fills their holes."""

from __future__ import annotations

import functools
import inspect
import operator
import random
from collections.abc import Callable, Sequence

import tapeless
import tapeless.numpy

__all__ = ["FILLERS", "TEMPLATES"]

UNARY = (
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log "
    "log2 log10 log1p sqrt cbrt square abs sign floor ceil trunc rint negative positive reciprocal "
    "logical_not isnan isinf isfinite real imag conj angle signbit i0 sinc deg2rad invert "
    "ravel atleast_1d atleast_2d atleast_3d zeros_like ones_like nan_to_num copy transpose"
).split()
BINARY = (
    "add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin arctan2 "
    "hypot logaddexp logaddexp2 equal not_equal less less_equal greater greater_equal logical_and "
    "logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift copysign "
    "nextafter heaviside ldexp float_power fmod gcd lcm matmul dot inner outer kron vdot "
    "array_equal allclose isclose append union1d convolve polyval searchsorted"
).split()
REDUCERS = (
    "sum prod mean max min any all argmax argmin std var median ptp nansum nanmax nanmin nanmean "
    "count_nonzero cumsum cumprod sort argsort flip nanprod nanstd average logsumexp"
).split()
LAX_UNARY = (
    "sin exp log tanh rsqrt sqrt erf lgamma digamma logistic clz population_count neg".split()
)
LAX_BINARY = (
    "add sub mul div rem max min pow atan2 shift_left shift_right_logical shift_right_arithmetic "
    "eq lt ge and_ xor nextafter dot"
).split()

DTYPES = (
    "bool int8 uint8 int16 int32 int32 uint32 float16 float32 float32 float32 complex64"
).split()
EXTENTS = (0, 1, 1, 2, 2, 3, 4, 5, 8, 17)
ODD_VALUES = ("None", "'a'", "1.5", "-1", "(1, 2)", "[]", "2**40", "True", "float('nan')", "{}")
BIG_INTEGERS = (2**31 - 1, -(2**31), 2**31, 2**63 - 1, 2**64, -(2**63))


def shape(rng: random.Random) -> str:
    """Return a shape of few elements."""
    extents = [rng.choice(EXTENTS) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4)))]
    return repr(tuple(extents))


def wild_shape(rng: random.Random) -> str:
    """Return a shape that may be negative, or no shape at all."""
    extents = [rng.choice((-2, -1, -1, 0, 1, 2, 3, 4, 6, 12)) for _ in range(rng.randrange(4))]
    return rng.choice((repr(tuple(extents)), repr(tuple(extents)), rng.choice(ODD_VALUES)))


def array(rng: random.Random) -> str:
    """Return an array, or sometimes another value."""
    if rng.random() < 0.04:
        return rng.choice(ODD_VALUES)
    if rng.random() < 0.1:
        return repr(rng.choice((0, 1, -2, 3.5, 1j, True)))
    return f"A({shape(rng)}, {rng.choice(DTYPES)!r}, {rng.randrange(1000)})"


def number(rng: random.Random) -> str:
    """Return an integer, small as a rule."""
    if rng.random() < 0.05:
        return str(rng.choice((*BIG_INTEGERS, 1000)))
    return str(rng.randrange(-4, 7))


def axis(rng: random.Random) -> str:
    """Return an axis, several, or None."""
    one = rng.randrange(-4, 4)
    few = tuple(rng.randrange(-3, 3) for _ in range(rng.randrange(3)))
    return rng.choice((str(one), str(one), "None", repr(few), rng.choice(ODD_VALUES)))


def index(rng: random.Random) -> str:
    """Return an index of one or several parts."""
    parts = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        bound = lambda: rng.choice(("", str(rng.randrange(-6, 7)), number(rng)))  # noqa: E731
        step = rng.choice(("", "", "2", "-1", "-3", "0"))
        parts.append(
            rng.choice(
                (
                    number(rng),
                    f"{bound()}:{bound()}:{step}",
                    "...",
                    "None",
                    f"A({shape(rng)}, 'int32', {rng.randrange(99)})",
                    f"A({shape(rng)}, 'bool', {rng.randrange(99)})",
                    f"np.array([{number(rng)}, {number(rng)}])",
                    rng.choice(("True", "1.5", "'a'", "[0, 1]", "[]")),
                )
            )
        )
    return ", ".join(parts)


MODULES = (
    *("numpy",) * 6, *("lax",) * 4, *("nn", "scipy.special", "scipy.linalg", "scipy.signal") * 2,
    "numpy.fft", "numpy.linalg", "scipy.stats.norm", "scipy.stats", "scipy.fft", "scipy.ndimage",
    "scipy.cluster.vq", "scipy.integrate", "ops",
    "nn.initializers", "image", "random", "random", "tree_util", "dlpack", "lax.linalg",
)  # fmt: skip
# They read or write files or the state of the process, or wait for other processes.
LEFT_OUT = frozenset(
    "save savez savez_compressed load fromfile tofile loadtxt savetxt set_printoptions "
    "printoptions register_pytree_node register_pytree_node_class register_dataclass "
    "register_pytree_with_keys register_pytree_with_keys_class register_static create_token".split()
)
WORDS = ("'valid'", "'same'", "'full'", "'linear'", "'C'", "'F'", "'i,j'", "'reflect'", "'lower'")


@functools.cache
def public_functions(module: str) -> tuple[str, ...]:
    """Return the functions of a module, by name."""
    found = operator.attrgetter(module)(tapeless)
    return tuple(
        name
        for name in sorted(dir(found))
        if not name.startswith("_")
        and name not in LEFT_OUT
        and callable(getattr(found, name))
        and not inspect.isclass(getattr(found, name))
    )


def function(rng: random.Random) -> str:
    """Return a function of the public interface, and the start of its arguments."""
    module = rng.choice(MODULES)
    name = f"jax.{module}.{rng.choice(public_functions(module))}("
    return f"{name}random.key({number(rng)}), " if module == "random" else name


def argument(rng: random.Random) -> str:
    """Return something that functions take."""
    return rng.choice(
        (
            *(array,) * 6, number, axis, shape, wild_shape,
            lambda rng: f"[{array(rng)}, {array(rng)}]",
            lambda rng: f"({array(rng)}, {number(rng)})",
            lambda rng: f"(lambda *y: jnp.{rng.choice(UNARY)}(*y))",
            lambda rng: repr(rng.choice(DTYPES)),
            lambda rng: rng.choice(WORDS),
        )
    )(rng)  # fmt: skip


def arguments(rng: random.Random) -> str:
    """Return arguments, some of them by name."""
    positional = [argument(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 2, 3, 3, 4)))]
    names = rng.sample(("axis", "dtype", "shape", "mode", "k", "n", "keepdims", "size", "where"), 2)
    named = [f"{name}={argument(rng)}" for name in names[: rng.choice((0, 0, 0, 1, 2))]]
    return ", ".join((*positional, *named))


FILLERS: dict[str, Sequence | Callable[[random.Random], str]] = {
    "x": array,
    "function": function,
    "arguments": arguments,
    "n": number,
    "small": lambda rng: str(rng.randrange(-4, 9)),
    "axis": axis,
    "shape": shape,
    "wild": wild_shape,
    "index": index,
    "dtype": lambda rng: repr(rng.choice((*DTYPES, *DTYPES, "bfloat16", "int4", "foo", "float64"))),
    "mode": ["'clip'", "'fill'", "'wrap'", "'drop'", "'promise_in_bounds'", "None", "'foo'"],
    "pad": ["'constant'", "'edge'", "'reflect'", "'symmetric'", "'wrap'", "'maximum'", "'foo'"],
    "update": ["set", "add", "multiply", "min", "max", "divide", "power"],
    "unary": UNARY,
    "binary": BINARY,
    "reducer": REDUCERS,
    "lax1": LAX_UNARY,
    "lax2": LAX_BINARY,
    "bool": ["True", "False"],
    "spec": [
        "ij,jk->ik",
        "ij,ij->",
        "i,j->ij",
        "ii",
        "ii->i",
        "...i,i",
        "ij->ji",
        "ab,b",
        "i->",
        "ijk",
    ],
    "f": lambda rng: f"(lambda y: jnp.{rng.choice(UNARY)}(jnp.{rng.choice(UNARY)}(y)))",
    "linalg": "cholesky inv det slogdet qr svd eigh pinv norm matrix_rank eigvalsh".split(),
    "sampler": "normal uniform exponential gumbel laplace logistic cauchy bits".split(),
}

TEMPLATES = [
    *("{function}{arguments})",) * 60,
    *("jit(lambda y: {function}y, {arguments}))({x})",) * 10,
    *("vmap(lambda y: {function}y, {arguments}))({x})",) * 10,
    *("jax.jvp(lambda y: {function}y, {arguments}), ({x},), ({x},))",) * 5,
    "jnp.{unary}({x})",
    "jit(jnp.{unary})({x})",
    "jnp.{binary}({x}, {x})",
    "jnp.{binary}({x}, {x})",
    "jit(jnp.{binary})({x}, {x})",
    "jnp.{reducer}({x})",
    "jnp.{reducer}({x}, axis={axis})",
    "jnp.{reducer}({x}, axis={axis}, keepdims={bool})",
    "jit(lambda x: jnp.{reducer}(x, axis={axis}))({x})",
    "({x})[{index}]",
    "({x})[{index}]",
    "jit(lambda x: x[{index}])({x})",
    "({x}).at[{index}].{update}({x})",
    "({x}).at[{index}].{update}({x}, mode={mode})",
    "({x}).at[{index}].get(mode={mode}, fill_value={n})",
    "jnp.take({x}, {x}, axis={axis}, mode={mode})",
    "jnp.take_along_axis({x}, {x}, axis={axis})",
    "jnp.reshape({x}, {wild})",
    "jnp.broadcast_to({x}, {wild})",
    "jnp.moveaxis({x}, {axis}, {axis})",
    "jnp.transpose({x}, {axis})",
    "jnp.swapaxes({x}, {n}, {n})",
    "jnp.expand_dims({x}, {axis})",
    "jnp.squeeze({x}, {axis})",
    "jnp.concatenate([{x}, {x}], axis={axis})",
    "jnp.stack([{x}, {x}], axis={axis})",
    "jnp.hstack([{x}, {x}])",
    "jnp.split({x}, {small}, axis={axis})",
    "jnp.array_split({x}, {small})",
    "jnp.tile({x}, {wild})",
    "jnp.repeat({x}, {n}, axis={axis})",
    "jnp.roll({x}, {n}, axis={axis})",
    "jnp.rot90({x}, {small})",
    "jnp.pad({x}, {n}, mode={pad})",
    "jnp.pad({x}, (({n}, {n}), ({n}, {n})))",
    "jnp.where({x}, {x}, {x})",
    "jnp.clip({x}, {x}, {x})",
    "jnp.astype({x}, {dtype})",
    "({x}).astype({dtype})",
    "jnp.array({x}, dtype={dtype})",
    "jnp.zeros({wild}, {dtype})",
    "jnp.full({wild}, {x})",
    "jnp.arange({n}, {n}, {n})",
    "jnp.linspace({x}, {x}, {n})",
    "jnp.eye({n}, {n}, {n})",
    "jnp.tri({n}, {n}, {n})",
    "jnp.diag({x}, {n})",
    "jnp.triu({x}, {n})",
    "jnp.trace({x}, {n})",
    "jnp.diff({x}, {small}, axis={axis})",
    "jnp.unique({x})",
    "jnp.nonzero({x}, size={n})",
    "jnp.bincount({x}, length={n})",
    "jnp.histogram({x}, {n})",
    "jnp.quantile({x}, {x}, axis={axis})",
    "jnp.einsum('{spec}', {x}, {x})",
    "jnp.einsum('{spec}', {x})",
    "jnp.tensordot({x}, {x}, {axis})",
    "jnp.cross({x}, {x})",
    "jnp.interp({x}, {x}, {x})",
    "jnp.linalg.{linalg}({x})",
    "jnp.linalg.solve({x}, {x})",
    "jnp.fft.fft({x}, {n}, axis={axis})",
    "jnp.fft.rfft({x})",
    "lax.{lax1}({x})",
    "lax.{lax2}({x}, {x})",
    "lax.slice({x}, {wild}, {wild})",
    "lax.dynamic_slice({x}, {wild}, {wild})",
    "lax.dynamic_slice_in_dim({x}, {n}, {n}, {n})",
    "lax.dynamic_update_slice({x}, {x}, {wild})",
    "lax.pad({x}, {x}, [({n}, {n}, {n})])",
    "lax.reshape({x}, {wild})",
    "lax.broadcast_in_dim({x}, {wild}, {wild})",
    "lax.rev({x}, {wild})",
    "lax.sort({x}, dimension={n})",
    "lax.top_k({x}, {n})",
    "lax.cumsum({x}, axis={n})",
    "lax.iota({dtype}, {n})",
    "lax.convert_element_type({x}, {dtype})",
    "lax.bitcast_convert_type({x}, {dtype})",
    "lax.select({x}, {x}, {x})",
    "lax.clamp({x}, {x}, {x})",
    "lax.conv({x}, {x}, {wild}, 'SAME')",
    "lax.reduce_window({x}, 0.0, lax.add, {wild}, {wild}, 'VALID')",
    "lax.integer_pow({x}, {n})",
    "lax.scan(lambda c, k: (c + k, c * k), {x}, {x})",
    "lax.fori_loop({small}, {small}, lambda i, c: c + i, {x})",
    "lax.while_loop(lambda c: (jnp.size(c) > 0) & (abs(c) < 9).all(), lambda c: c + 3, {x})",
    "lax.cond({x}, lambda a: a + 1, lambda a: a * 2, {x})",
    "lax.switch({x}, [lambda a: a, lambda a: -a], {x})",
    "lax.associative_scan(jnp.add, {x}, axis={n})",
    "lax.map(lambda a: jnp.{unary}(a), {x})",
    "vmap({f}, in_axes={axis}, out_axes={axis})({x})",
    "vmap(lambda a, b: jnp.{binary}(a, b), in_axes=({axis}, {axis}))({x}, {x})",
    "vmap(lambda a: a[{index}])({x})",
    "grad(lambda y: {f}(y).sum())({x})",
    "grad(lambda y: jnp.{reducer}(y, axis={axis}).sum())({x})",
    "grad(lambda y: y[{index}].sum())({x})",
    "grad(lambda y: jnp.{binary}(y, {x}).sum())({x})",
    "jax.jvp({f}, ({x},), ({x},))",
    "jax.hessian(lambda y: {f}(y).sum())({x})",
    "jax.checkpoint({f})({x})",
    "jax.nn.softmax({x}, axis={axis})",
    "jax.nn.one_hot({x}, {n})",
    "jax.nn.relu({x})",
    "jax.ops.segment_sum({x}, {x}, {n})",
    "random.{sampler}(random.key({n}), {wild})",
    "random.randint(random.key({n}), {shape}, {x}, {x})",
    "random.permutation(random.key(0), {x}, axis={n})",
    "random.split(random.key(0), {wild})",
    "random.choice(random.key(0), {x}, {wild}, replace={bool})",
    "random.categorical(random.key(0), {x}, axis={n})",
    "jax.tree.map(lambda a: a + 1, [{x}, ({x}, None)])",
    "jax.eval_shape({f}, {x}).shape",
    "str(jax.make_jaxpr({f})({x}))[:1]",
    "str(jit({f}).lower({x}).as_text())[:1]",
]
