"""Functions of the oracle whose modules the loader is given: `cases(jax)`, by name.

Each is a function and its arguments.  They are chosen so that together they print every operation
that the oracle prints on a CPU for arrays of known shapes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["DIFFERENTIABLE", "PRINTED", "cases"]

Cases = dict[str, tuple[Callable, tuple]]
X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
P = np.abs(X) + np.float32(0.1)
U = (np.abs(X) % 1).astype(np.float32)
N = np.arange(12, dtype=np.int32).reshape(3, 4) * 5 - 20
W = np.arange(12, dtype=np.uint32).reshape(3, 4) * 77
B = X > 0
Z = (X + 1j * P).astype(np.complex64)
S = (X[:, :3] @ X[:, :3].T + 4 * np.eye(3)).astype(np.float32)
ZS = (S + 1j * (X[:, :3] - X[:, :3].T)).astype(np.complex64)
# Programs that are differentiated in reverse, with respect to their first argument.
DIFFERENTIABLE = (
    "softmax", "dense", "counted_loop", "scan", "sort_and_gather", "convolution", "max_pool",
    "cholesky", "solve", "scattered", "branch", "cumulative", "logsumexp", "eigh",
)  # fmt: skip

# What the oracle's rules print on one CPU, for shapes that are known.  The loader refuses `rng`.
PRINTED = """
abs add and atan2 bitcast_convert broadcast_in_dim case cbrt ceil clamp compare complex composite
concatenate constant convert convolution cosine count_leading_zeros custom_call divide dot_general
dynamic_slice dynamic_update_slice exponential exponential_minus_one fft floor gather imag iota
is_finite log log_plus_one maximum minimum multiply negate not optimization_barrier or pad popcnt
power real reduce reduce_precision reduce_window remainder reshape reverse rng rng_bit_generator
round_nearest_afz round_nearest_even rsqrt scatter select select_and_scatter shift_left
shift_right_arithmetic shift_right_logical sign sine slice sort sqrt subtract tan tanh transpose
while xor
acos acosh asinh atan atanh bessel_i1e cosh digamma erf erf_inv erfc mulhi next_after polygamma sinh
square top_k zeta
getrf geqrf orgqr ungqr ormqr potrf syevd heevd gesdd geev gees gehrd sytrd gtsv geqp3 trsm
ApproxTopK call all_reduce all_gather collective_permute reduce_scatter partition_id
"""


def cases(jax: Any) -> Cases:
    """Return the functions by name."""
    parts = (_elementwise, _integers, _shapes, _indexing, _folds, _control, _products, _linear)
    found: Cases = {}
    for part in (*parts, _randomness, _types):
        found |= part(jax)
    return found


def _elementwise(jax: Any) -> Cases:
    """Return functions of floats, element by element."""
    lax, jnp = jax.lax, jax.numpy
    any_real = (
        "abs cbrt ceil cos cosh erf erfc exp expm1 floor is_finite logistic neg round sign sin "
        "sinh square tan tanh atan asinh bessel_i1e exp2"
    )
    positive = "log log1p rsqrt sqrt lgamma digamma"
    found: Cases = {name: (getattr(lax, name), (X,)) for name in any_real.split()}
    found |= {name: (getattr(lax, name), (P,)) for name in positive.split()}
    found |= {name: (getattr(lax, name), (U,)) for name in ("asin", "acos", "atanh", "erf_inv")}
    binary = "add sub mul div max min atan2 rem nextafter eq ne lt le gt ge"
    found |= {name: (getattr(lax, name), (X, P)) for name in binary.split()}
    return found | {
        "acosh": (lambda x: lax.acosh(x + 1), (P,)),
        "pow": (lax.pow, (P, X)),
        "integer_pow": (lambda x: lax.integer_pow(x, 5), (X,)),
        "zeta": (lambda x, y: lax.zeta(x + 1.5, y), (P, P)),
        "polygamma": (lambda x: lax.polygamma(jnp.full_like(x, 2.0), x), (P,)),
        "igamma": (lax.igamma, (P, P)),
        "betainc": (lax.betainc, (P, P, U)),
        "bessel_i0e": (lax.bessel_i0e, (X,)),
        "rounded_up": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), (X * 2,)),
        "clamp": (lambda x: lax.clamp(-0.5, x, 0.5), (X,)),
        "clamp_wide": (lambda x, y: lax.clamp(-y, x, y), (X, P)),
        "reduce_precision": (lambda x: lax.reduce_precision(x, 5, 7), (X,)),
        "complex_parts": (lambda z: (z.real, z.imag, jnp.conj(z), jnp.abs(z), jnp.angle(z)), (Z,)),
        "complex_functions": (lambda z: (jnp.exp(z), jnp.sqrt(z), z * z, z / (z + 1)), (Z,)),
        "make_complex": (lax.complex, (X, P)),
        "softmax": (lambda x: jax.nn.softmax(x), (X,)),
        "where": (lambda x: jnp.where(x > 0, x, jnp.inf), (X,)),
        "total_order": (lambda x: lax.sort(jnp.stack([x, -x]), dimension=0), (X,)),
        "select_n": (lambda b, x, y: lax.select_n(b, x, y), (B, X, P)),
        "select_scalar": (lambda x, y: lax.select(x[0, 0] > 0, x, y), (X, P)),
        "barrier": (lambda x: lax.optimization_barrier((x, x + 1)), (X,)),
        "logsumexp": (lambda x: jax.scipy.special.logsumexp(x, axis=1), (X,)),
    }


def _integers(jax: Any) -> Cases:
    """Return functions of integers and booleans."""
    lax = jax.lax
    shifts = "shift_left shift_right_arithmetic shift_right_logical"
    few = np.abs(N) % 31
    found: Cases = {name: (getattr(lax, name), (N, few)) for name in shifts.split()}
    logic = "bitwise_and bitwise_or bitwise_xor"
    found |= {name: (getattr(lax, name), (N, few)) for name in logic.split()}
    found |= {f"{name}_of_booleans": (getattr(lax, name), (B, ~B)) for name in logic.split()}
    counts = "population_count clz bitwise_not"
    found |= {name: (getattr(lax, name), (N,)) for name in counts.split()}
    return found | {
        "mulhi": (lax.mulhi, (N * 99999, N * 77777)),
        "integer_division": (lambda n: (n // 7, n % 7, lax.div(n, n * 0 + 3)), (N,)),
        "unsigned": (lambda w: (w + 1, w > 300, w >> 3), (W,)),
        "signs": (lambda n: (lax.sign(n), lax.abs(n), lax.max(n, -n)), (N,)),
    }  # fmt: skip


def _shapes(jax: Any) -> Cases:
    """Return functions that move elements."""
    lax, jnp = jax.lax, jax.numpy
    return {
        "transpose": (lambda x: x.T, (X,)),
        "reshape": (lambda x: x.reshape(2, 6), (X,)),
        "broadcast": (lambda x: jnp.broadcast_to(x[:, None], (3, 2, 4)), (X,)),
        "concatenate": (lambda x, y: jnp.concatenate([x, y], 1), (X, P)),
        "reverse": (lambda x: x[::-1, ::-1], (X,)),
        "slice": (lambda x: x[1:, ::2], (X,)),
        "pad": (lambda x: lax.pad(x, 1.5, ((1, 2, 1), (-1, 1, 0))), (X,)),
        "iota": (lambda x: x + jnp.arange(4.0), (X,)),
        "iota_unsigned": (lambda: lax.broadcasted_iota(np.uint8, (2, 3), 1), ()),
        "stack": (lambda x: jnp.stack([x, x + 1]), (X,)),
        "tile": (lambda x: jnp.tile(x, (2, 1)), (X,)),
        "roll": (lambda x: jnp.roll(x, 1, 1), (X,)),
        "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 2)), (X, np.int32(9))),
        "dynamic_update": (
            lambda x, i: lax.dynamic_update_slice(x, x[:1, :2], (i, 3)), (X, np.int32(1)),
        ),
        "triangle": (lambda x: (jnp.tril(x), jnp.triu(x, 1)), (X,)),
        "resize": (lambda x: jax.image.resize(x, (5, 6), "bilinear"), (X,)),
    }  # fmt: skip


def _indexing(jax: Any) -> Cases:
    """Return gathers, scatters and sorts."""
    lax, jnp = jax.lax, jax.numpy
    I = np.array([2, 0, 2, -1, 7], np.int32)  # noqa: E741
    found: Cases = {
        f"scatter_{name}": (lambda x, i, name=name: getattr(x.at[i], name)(2.5), (X, I))
        for name in ("set", "add", "multiply", "min", "max", "subtract")
    }
    modes = ("clip", "fill", "promise_in_bounds")
    inside = np.array([2, 0, 1], np.int32)
    found |= {
        f"gather_{mode}": (
            lambda x, i, mode=mode: x.at[i].get(mode=mode),
            (X, inside if mode == "promise_in_bounds" else I),
        )
        for mode in modes
    }
    return found | {
        "take_pairs": (lambda x, i: x[i, i + 1], (X, np.array([0, 2], np.int32))),
        "take_along": (lambda x, i: jnp.take_along_axis(x, i, 1), (X, np.array([[1], [0], [3]]))),
        "batched_gather": (
            lambda x, i: jax.vmap(lambda r, j: r[j])(x, i), (X, np.array([1, 0, 3], np.int32)),
        ),
        "batched_scatter": (
            lambda x, i: jax.vmap(lambda r, j: r.at[j].add(1))(x, i), (X, np.array([1, 0, 3])),
        ),
        "scatter_apply": (lambda x: x.at[1].apply(jnp.sin), (X,)),
        "scattered": (lambda x, i: jnp.zeros((5, 4)).at[i].add(x * x), (X, I[:3])),
        "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, 4), (X, I[:3])),
        "sort": (jnp.sort, (X,)),
        "sort_columns": (lambda x: jnp.sort(x, 0), (X,)),
        "sort_descending": (lambda x: jnp.sort(x, descending=True), (X,)),
        "sort_special": (jnp.sort, (np.array([3, np.nan, 0.0, -0.0, -np.inf, 1], np.float32),)),
        "sort_integers": (jnp.sort, (N,)),
        "sort_booleans": (jnp.sort, (B,)),
        "sort_complex": (jnp.sort, (Z,)),
        "sort_two_keys": (lambda x, y: lax.sort((jnp.round(x), y, x), num_keys=2), (X, P)),
        "argsort": (jnp.argsort, (X,)),
        "sort_and_gather": (lambda x: jnp.sort(x) * jnp.arange(4.0), (X,)),
        "top_k": (lambda x: lax.top_k(x, 2), (X,)),
        "approx_max_k": (lambda x: lax.approx_max_k(x, 2), (X,)),
        "approx_min_k": (lambda x: lax.approx_min_k(x, 2), (X,)),
        "searchsorted": (lambda x, y: jnp.searchsorted(x, y), (np.sort(X[0]), X[1])),
        "unique": (lambda n: jnp.unique(n, size=3), (N % 3,)),
        "median": (lambda x: jnp.median(x, 1), (X,)),
        "nonzero": (lambda b: jnp.nonzero(b, size=6), (B,)),
    }  # fmt: skip


def _folds(jax: Any) -> Cases:
    """Return reductions, over axes and over windows."""
    lax, jnp = jax.lax, jax.numpy
    window = ((2, 2), (1, 1), "SAME")
    return {
        "sum": (lambda x: x.sum(0), (X,)),
        "prod": (lambda x: x.prod(), (X,)),
        "max": (lambda x: x.max(1), (X,)),
        "min_integers": (lambda n: n.min(1), (N,)),
        "any_all": (lambda b: (b.any(0), b.all(1)), (B,)),
        "reduce_bits": (
            lambda n: [
                getattr(lax, f"reduce_{name}")(n, (0,)) for name in ("and", "or", "xor")
            ], (N,),
        ),
        "sum_from": (lambda x: lax.reduce(x, np.float32(2), lax.add, (0,)), (X,)),
        "reduce_function": (lambda n: lax.reduce(n, 1, lambda a, b: a * 3 + b, (0, 1)), (N,)),
        "argmax": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x)), (X,)),
        "variance": (lambda x: (x.mean(0), x.var(1)), (X,)),
        "max_pool": (lambda x: lax.reduce_window(x * x, -jnp.inf, lax.max, *window), (X,)),
        "sum_pool": (lambda x: lax.reduce_window(x, 0.0, lax.add, *window), (X,)),
        "min_pool": (lambda n: lax.reduce_window(n, 99, lax.min, *window), (N,)),
        "pool_function": (
            lambda x: lax.reduce_window(x, 0.0, lambda a, b: a + b + a * b, *window), (X,),
        ),
        "dilated_pool": (
            lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "VALID", (1, 1), (2, 1)),
            (X,),
        ),
        "pool_gradient": (
            jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, *window) ** 2).sum()), (X,),
        ),
        "cumulative": (lambda x: (jnp.cumsum(x, 1), lax.cumsum(x, 0, reverse=True)), (X,)),
        "cumulative_others": (
            lambda x: (lax.cumprod(x), lax.cummax(x, 1), lax.cummin(x), lax.cumlogsumexp(x)), (X,),
        ),
        "associative_scan": (lambda x: lax.associative_scan(jnp.add, x), (X,)),
        "histogram": (lambda n: jnp.bincount(n, length=4), (np.array([1, 3, 3, 0], np.int32),)),
    }  # fmt: skip


def _control(jax: Any) -> Cases:
    """Return loops and branches."""
    lax, jnp = jax.lax, jax.numpy

    def collatz(n: Any) -> Any:
        """Count steps to one."""
        step = lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1)  # noqa: E731
        return lax.while_loop(lambda c: c[0] > 1, step, (n, 0))[1]

    return {
        "counted_loop": (lambda x: lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * i + x, x), (X,)),
        "open_loop": (lambda x, n: lax.fori_loop(0, n, lambda i, c: c * 2, x), (X, np.int32(3))),
        "while": (collatz, (np.int32(27),)),
        "batched_while": (jax.vmap(collatz), (np.array([1, 7, 12], np.int32),)),
        "scan": (lambda x: lax.scan(lambda c, r: (jnp.tanh(c + r), c * r), x[0], x), (X,)),
        "scan_reverse": (lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x, reverse=True), (X,)),
        "scan_gradient": (
            jax.grad(lambda x: lax.scan(lambda c, r: (jnp.sin(c * r), c), x[0], x)[0].sum()), (X,),
        ),
        "map": (lambda x: lax.map(lambda r: jnp.sort(r) * 2, x), (X,)),
        "branch": (lambda x, p: lax.cond(p, jnp.sin, lambda x: x * x, x), (X, np.bool_(True))),
        "switch": (
            lambda x, i: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x], x), (X, np.int32(5)),
        ),
        "batched_switch": (
            jax.vmap(lambda r, i: lax.switch(i, [jnp.sin, jnp.cos], r)),
            (X, np.array([0, 1, 0], np.int32)),
        ),
        "nested": (
            lambda x: lax.fori_loop(
                0, 3, lambda i, c: lax.cond(i > 1, lambda c: c + 1, jax.jit(jnp.cos), c), x
            ), (X,),
        ),
        "checkpoint": (
            jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum()), (X,),
        ),
        "custom_jvp": (jax.grad(lambda x: jax.nn.relu(x).sum()), (X,)),
        "composite": (lax.composite(lambda x: jnp.sin(x) * 2, "my.double_sine"), (X,)),
        "exchanges": (_on_one_device(jax), (X,)),
        "nothing": (lambda x: (), (X,)),
        "only_constants": (lambda: (np.arange(40.0, dtype=np.float32), np.zeros((0, 3))), ()),
        "odeint_like": (
            lambda x: lax.fori_loop(0, 4, lambda i, y: y + 0.1 * jnp.tanh(y @ y.T @ y), x), (X,),
        ),
    }  # fmt: skip


def _on_one_device(jax: Any) -> Callable:
    """Return a function of exchanges in a mesh of one device."""
    lax, sharding = jax.lax, jax.sharding
    mesh = jax.make_mesh((1,), ("i",), axis_types=(sharding.AxisType.Auto,))
    spec = sharding.PartitionSpec("i")

    def exchange(x: Any) -> Any:
        """Give and take with oneself."""
        summed = lax.psum_scatter(lax.psum(x, "i"), "i", tiled=True)
        moved = lax.ppermute(lax.all_gather(x, "i", tiled=True), "i", [(0, 0)])
        return summed + moved + lax.axis_index("i")

    return jax.shard_map(exchange, mesh=mesh, in_specs=spec, out_specs=spec)


def _products(jax: Any) -> Cases:
    """Return products, convolutions and transforms."""
    lax, jnp = jax.lax, jax.numpy
    image = X.reshape(1, 3, 2, 2)
    kernel = np.ones((6, 3, 2, 2), np.float32) * X[0, 0]
    names = ("NCHW", "OIHW", "NCHW")
    grouped = X.reshape(1, 2, 6)
    return {
        "dot": (lambda x, y: x @ y.T, (X, P)),
        "dot_vectors": (lambda x: jnp.dot(x[0], x[1]), (X,)),
        "dot_batched": (lambda x: jnp.einsum("bij,bkj->bik", x, x), (X.reshape(3, 2, 2),)),
        "dot_precise": (lambda x: lax.dot(x, x.T, precision="highest"), (X,)),
        "dot_integers": (lambda n: lax.dot(n, n.T, preferred_element_type=jnp.int32), (N,)),
        "dot_half": (
            lambda x: lax.dot(x, x.T, preferred_element_type=jnp.float32),
            (X.astype(jax.numpy.bfloat16),),
        ),
        "dot_algorithm": (lambda x: lax.dot(x, x.T, precision="F32_F32_F32"), (X,)),
        "dense": (lambda w, x: jax.nn.relu(x @ w + 0.1).sum(), (X.T.copy(), X)),
        "ragged_dot": (
            lambda x: lax.ragged_dot(x, jnp.ones((2, 4, 5)) * x[0, 0], np.array([1, 2], np.int32)),
            (X,),
        ),
        "convolution": (
            lambda k, x: lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=names),
            (kernel, image),
        ),
        "convolution_dilated": (
            lambda k, x: lax.conv_general_dilated(
                x, k, (2, 1), ((1, 2), (2, 1)), (2, 1), (1, 2), dimension_numbers=names
            ), (kernel, image),
        ),
        "convolution_grouped": (
            lambda x: lax.conv_general_dilated(
                x, jnp.ones((4, 1, 3)), (1,), "VALID", feature_group_count=2
            ), (grouped,),
        ),
        "convolution_gradient": (
            jax.grad(lambda k, x: (lax.conv_general_dilated(x, k, (1, 1), "VALID") ** 2).sum()),
            (kernel, image),
        ),
        "convolution_last": (
            lambda x: lax.conv_general_dilated(
                x, jnp.ones((2, 2, 3)), (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC")
            ), (grouped.transpose(0, 2, 1).copy(),),
        ),
        "convolve": (lambda x: jnp.convolve(x[0], x[1]), (X,)),
        "fft": (lambda x: (jnp.fft.fft(x), jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x))), (X,)),
        "fft2": (lambda x: jnp.fft.ifft2(jnp.fft.fft2(x)), (X,)),
    }  # fmt: skip


def _linear(jax: Any) -> Cases:
    """Return what JAX calls LAPACK for."""
    lax, jnp = jax.lax, jax.numpy
    linalg = jnp.linalg
    found: Cases = {}
    for kind, a in (("", S), ("_complex", ZS)):
        found |= {
            f"cholesky{kind}": (linalg.cholesky, (a,)),
            f"lu{kind}": (lambda a: jax.scipy.linalg.lu(a), (a,)),
            f"solve{kind}": (lambda a: linalg.solve(a, a[:, :2] + 1), (a,)),
            f"eigvalsh{kind}": (linalg.eigvalsh, (a,)),
            f"eigvals{kind}": (lambda a: jnp.sort(linalg.eigvals(a).real), (a,)),
            f"qr{kind}": (lambda a: jnp.abs(linalg.qr(a)[1]), (a,)),
            f"svd_values{kind}": (lambda a: linalg.svd(a, compute_uv=False), (a,)),
            f"hessenberg{kind}": (lambda a: jax.scipy.linalg.hessenberg(a), (a,)),
        }
    return found | {
        "eigh": (lambda a: linalg.eigh(a)[0], (S,)),
        "eigh_vectors": (lambda a: jnp.abs(linalg.eigh(a)[1]), (S,)),
        "svd": (lambda a: [jnp.abs(x) for x in linalg.svd(a)], (X,)),
        "svd_thin": (lambda a: [jnp.abs(x) for x in linalg.svd(a, full_matrices=False)], (X,)),
        "eig": (lambda a: jnp.sort(jnp.abs(linalg.eig(a)[1]).sum(0)), (S,)),
        "schur": (lambda a: jnp.sort(jnp.diag(jax.scipy.linalg.schur(a)[0])), (S,)),
        "determinant": (lambda a: (linalg.det(a), linalg.slogdet(a)), (S,)),
        "inverse_batched": (lambda a: linalg.inv(jnp.stack([a, 2 * a])), (S,)),
        "cholesky_fails": (linalg.cholesky, (-S,)),
        "triangular": (
            lambda a, b: lax.linalg.triangular_solve(
                a, b, left_side=True, lower=True, transpose_a=True
            ), (S, X),
        ),
        "tridiagonal": (lambda a: lax.linalg.tridiagonal(a)[1], (S,)),
        "tridiagonal_solve": (
            lambda a: lax.linalg.tridiagonal_solve(a[0], a[1] + 9, a[2], a), (S,),
        ),
        "qr_pivoted": (lambda a: jax.scipy.linalg.qr(a, pivoting=True)[2], (S,)),
        "qr_multiply": (
            lambda a: jnp.abs(jax.scipy.linalg.qr_multiply(a, a, mode="left")[0]), (S,),
        ),
        "pinv": (linalg.pinv, (X,)),
        "expm": (jax.scipy.linalg.expm, (S / 10,)),
    }  # fmt: skip


def _randomness(jax: Any) -> Cases:
    """Return functions of keys."""
    random, lax = jax.random, jax.lax
    key = np.array([1, 2], np.uint32)
    wrap = lambda k, impl="threefry2x32": random.wrap_key_data(k, impl=impl)  # noqa: E731
    state = np.array([5, 7, 1, 2], np.uint32)
    return {
        "normal": (lambda k: random.normal(wrap(k), (3,)), (key,)),
        "uniform": (lambda k: random.uniform(wrap(k), (3,)), (key,)),
        "split": (lambda k: random.key_data(random.split(wrap(k))), (key,)),
        "gamma": (lambda k: random.gamma(wrap(k), 2.0, (2,)), (key,)),
        "permutation": (lambda k: random.permutation(wrap(k), 7), (key,)),
        "rbg": (lambda k: random.bits(wrap(k, "rbg"), (7,)), (state,)),
        "rbg_bytes": (lambda k: random.bits(wrap(k, "rbg"), (3, 3), np.uint8), (state,)),
        "rbg_split": (lambda k: random.key_data(random.split(wrap(k, "unsafe_rbg"))), (state,)),
        "three_fry": (
            lambda k: lax.rng_bit_generator(
                k, (5,), np.uint32, algorithm=lax.RandomAlgorithm.RNG_THREE_FRY
            ), (state,),
        ),
        "philox": (
            lambda k: lax.rng_bit_generator(
                k, (2, 5), np.uint16, algorithm=lax.RandomAlgorithm.RNG_PHILOX
            ), (state,),
        ),
    }  # fmt: skip


def _types(jax: Any) -> Cases:
    """Return conversions and constants of many types."""
    lax, jnp = jax.lax, jax.numpy
    narrow = (jnp.bfloat16, jnp.float16, jnp.float8_e4m3fn, jnp.float8_e5m2)
    return {
        "convert": (lambda x: [x.astype(t).astype(np.float32) for t in narrow], (X,)),
        "convert_integers": (
            lambda x: [(x * 9).astype(t) for t in (np.int8, np.uint8, np.int16, bool)], (P,),
        ),
        "convert_complex": (lambda x: x.astype(np.complex64), (X,)),
        "bitcast": (lambda x: lax.bitcast_convert_type(x, np.int32), (X,)),
        "bitcast_narrow": (lambda x: lax.bitcast_convert_type(x, np.uint8), (X,)),
        "constants": (
            lambda: (
                jnp.array([True, False]), np.array([1 + 2j, np.inf], np.complex64),
                np.arange(40) > 3, np.array([np.nan, -np.inf, 1e-40], np.float32),
                np.arange(40, dtype=np.int8), jnp.array([1.5, -2], jnp.bfloat16), np.float16(0.1),
            ), (),
        ),
        "four_bits": (lambda n: (n.astype(jnp.int4) + jnp.int4(1)).astype(np.int32), (N % 5,)),
    }  # fmt: skip
