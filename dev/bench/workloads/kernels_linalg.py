"""Compiled products of matrices, large, small and batched, and attention."""

from typing import Any

import numpy as np

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []


@workload(family="matmul")
def matmul_512(jax: Any):
    """Product of two 512x512 matrices."""
    return jax.jit(lambda a, b: a @ b), tuple(arrays(jax, (512, 512), (512, 512)))


@workload(family="matmul")
def matmul_64(jax: Any):
    """Product of two 64x64 matrices."""
    return jax.jit(lambda a, b: a @ b), tuple(arrays(jax, (64, 64), (64, 64)))


@workload(family="batched small matmul")
def matmul_batched_4x4(jax: Any):
    """Products of 10^4 pairs of 4x4 matrices."""
    return jax.jit(lambda a, b: a @ b), tuple(arrays(jax, (10**4, 4, 4), (10**4, 4, 4)))


@workload(family="batched small matmul")
def matmul_batched_32x32(jax: Any):
    """Products of 500 pairs of 32x32 matrices."""
    return jax.jit(lambda a, b: a @ b), tuple(arrays(jax, (500, 32, 32), (500, 32, 32)))


@workload()
def matvec(jax: Any):
    """Product of a 2000x2000 matrix and a vector."""
    return jax.jit(lambda a, x: a @ x), tuple(arrays(jax, (2000, 2000), (2000,)))


@workload()
def dense_layer(jax: Any):
    """tanh(x @ w + b), 512x512 by 512x512."""
    f = jax.jit(lambda x, w, b: jax.numpy.tanh(x @ w + b))
    return f, tuple(arrays(jax, (512, 512), (512, 512), (512,)))


@workload(memory=True)
def attention(jax: Any):
    """softmax(q k^T / sqrt(d)) v for 8 heads of 256 places and 64 features."""

    def f(q, k, v):
        scores = jax.numpy.einsum("hqd,hkd->hqk", q, k) / 8.0
        return jax.numpy.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, axis=-1), v)

    return jax.jit(f), tuple(arrays(jax, *[(8, 256, 64)] * 3, scale=1.0))


def product(jax: Any) -> Any:
    """Return the compiled product of two matrices."""
    return jax.jit(lambda a, b: a @ b)


def squares(jax: Any, size: int, dtype: str = "float32") -> tuple:
    """Return two square matrices of a dtype, of 64 bits too."""
    if dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    numbers = np.random.default_rng(0).normal(size=(2, size, size)) * (9 if "int" in dtype else 1)
    if "complex" in dtype:
        numbers = numbers + 1j * numbers[::-1]
    if "int" in dtype:
        numbers = numbers.astype(dtype)
    return tuple(jax.numpy.asarray(matrix).astype(dtype) for matrix in numbers)


@workload(family="matmul")
def matmul_128(jax: Any):
    """Product of two 128x128 matrices."""
    return product(jax), squares(jax, 128)


@workload(family="matmul")
def matmul_256(jax: Any):
    """Product of two 256x256 matrices."""
    return product(jax), squares(jax, 256)


@workload(family="matmul")
def matmul_1024(jax: Any):
    """Product of two 1024x1024 matrices."""
    return product(jax), squares(jax, 1024)


@workload(family="matmul dtypes")
def matmul_512_f64(jax: Any):
    """Product of two 512x512 matrices of doubles."""
    return product(jax), squares(jax, 512, "float64")


@workload(family="matmul dtypes")
def matmul_256_complex64(jax: Any):
    """Product of two complex 256x256 matrices."""
    return product(jax), squares(jax, 256, "complex64")


@workload(family="matmul dtypes")
def matmul_256_bf16(jax: Any):
    """Product of two 256x256 matrices of brain floats."""
    return product(jax), squares(jax, 256, "bfloat16")


@workload(family="matmul dtypes")
def matmul_256_int32(jax: Any):
    """Product of two 256x256 matrices of integers."""
    return product(jax), squares(jax, 256, "int32")


@workload(family="matmul dtypes")
def matmul_256_int8(jax: Any):
    """Product of two 256x256 matrices of bytes, summed in 32 bits."""
    f = jax.jit(lambda a, b: jax.lax.dot(a, b, preferred_element_type=jax.numpy.int32))
    return f, squares(jax, 256, "int8")


@workload(family="skinny matmul")
def matmul_tall(jax: Any):
    """Product of 10000x64 by 64x8."""
    return product(jax), tuple(arrays(jax, (10_000, 64), (64, 8)))


@workload(family="skinny matmul")
def matmul_gram(jax: Any):
    """x^T x of 10000x32."""
    return jax.jit(lambda x: x.T @ x), tuple(arrays(jax, (10_000, 32)))


@workload(family="matvec")
def vecmat(jax: Any):
    """Product of a vector and a 2000x2000 matrix."""
    return jax.jit(lambda x, a: x @ a), tuple(arrays(jax, (2000,), (2000, 2000)))


@workload(family="matvec")
def matvec_batched(jax: Any):
    """Products of 1,000 pairs of a 64x64 matrix and a vector."""
    f = jax.jit(lambda a, x: jax.numpy.einsum("bij,bj->bi", a, x))
    return f, tuple(arrays(jax, (1000, 64, 64), (1000, 64)))


@workload(family="einsum")
def einsum_bilinear(jax: Any):
    """einsum "bi,ijk,bk->bj", 64 rows, 32x32x32 weights."""
    f = jax.jit(lambda x, w, y: jax.numpy.einsum("bi,ijk,bk->bj", x, w, y))
    return f, tuple(arrays(jax, (64, 32), (32, 32, 32), (64, 32)))


@workload(family="einsum")
def einsum_contract_middle(jax: Any):
    """einsum "ijk,jl->ikl", 64x128x64 by 128x32."""
    f = jax.jit(lambda x, w: jax.numpy.einsum("ijk,jl->ikl", x, w))
    return f, tuple(arrays(jax, (64, 128, 64), (128, 32)))


def well_conditioned(jax: Any, n: int, size: int) -> Any:
    """Return n symmetric positive definite matrices.  -> (n, size, size)"""
    (x,) = arrays(jax, (n, size, size), scale=1.0)
    return x @ jax.numpy.swapaxes(x, 1, 2) + jax.numpy.eye(size)


@workload(family="small linear algebra")
def inverse_3x3(jax: Any):
    """Inverses of 10^4 3x3 matrices."""
    return jax.jit(jax.numpy.linalg.inv), (well_conditioned(jax, 10**4, 3),)


@workload(family="small linear algebra")
def solve_3x3(jax: Any):
    """Solve 10^4 systems of three equations."""
    (b,) = arrays(jax, (10**4, 3, 1))
    return jax.jit(jax.numpy.linalg.solve), (well_conditioned(jax, 10**4, 3), b)


@workload(family="small linear algebra")
def cholesky_3x3(jax: Any):
    """Cholesky factors of 10^4 3x3 matrices."""
    return jax.jit(jax.numpy.linalg.cholesky), (well_conditioned(jax, 10**4, 3),)


@workload(family="small linear algebra")
def det_3x3(jax: Any):
    """Determinants of 10^4 3x3 matrices."""
    return jax.jit(jax.numpy.linalg.det), (well_conditioned(jax, 10**4, 3),)


@workload(family="linear algebra")
def svd_200(jax: Any):
    """Singular value decomposition of a 200x200 matrix: the singular values."""
    f = jax.jit(lambda x: jax.numpy.linalg.svd(x)[1])
    return f, tuple(arrays(jax, (200, 200), scale=1.0))


@workload(family="linear algebra")
def eigh_200(jax: Any):
    """Eigenvalues and vectors of a symmetric 200x200 matrix: the eigenvalues."""
    f = jax.jit(lambda x: jax.numpy.linalg.eigh(x)[0])
    return f, (well_conditioned(jax, 1, 200)[0],)


@workload(family="linear algebra")
def cholesky_500(jax: Any):
    """Cholesky factor of a 500x500 matrix."""
    return jax.jit(jax.numpy.linalg.cholesky), (well_conditioned(jax, 1, 500)[0],)


@workload(family="linear algebra")
def solve_500(jax: Any):
    """Solve 500 equations."""
    (b,) = arrays(jax, (500,))
    return jax.jit(jax.numpy.linalg.solve), (well_conditioned(jax, 1, 500)[0], b)


@workload(family="fft")
def fft_1d(jax: Any):
    """Fourier transforms of 1,000 rows of 1,024."""
    return jax.jit(jax.numpy.fft.fft), tuple(arrays(jax, (1000, 1024)))


@workload(family="fft")
def rfft_2d(jax: Any):
    """Real Fourier transform of 1024x1024, and back."""
    fft = jax.numpy.fft
    return jax.jit(lambda x: fft.irfft2(fft.rfft2(x) * 0.5)), tuple(arrays(jax, (1024, 1024)))
