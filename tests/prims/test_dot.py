"""Products obey the laws of `tests/support/harness.py`, by loops and by BLAS."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import dot
from tests.support.harness import laws
from tests.support.records import FLOATS, INEXACT, INTEGERS, Failure, Record, normal

X = np.ones((3, 4), np.float32)
PAIRED = {"empty": "the first axes of the operands go together; see the test of empty sums"}
INTEGRAL = {**PAIRED, **dict.fromkeys(("jvp", "transpose", "second"), "integers have no tangents")}
BLAS = ("float32", "float64", "complex64", "complex128")


def general(contract, batch=((), ()), **options) -> object:
    """Return the product with fixed dimension numbers."""
    return lambda x, y: dot.dot_general(x, y, (contract, batch), **options)


def wrong(contract, batch, text) -> tuple[Failure, ...]:
    """Return a call with dimension numbers that do not fit."""
    return (Failure((X, X, (contract, batch)), TypeError, f"dot_general requires {text}"),)


RECORDS = [
    Record(
        "matrix-matrix",
        dot.dot,
        (normal(3, 4), normal(4, 2)),
        (*INEXACT, *INTEGERS),
        PAIRED,
        ulps=64,
    ),
    Record("matrix-vector", dot.dot, (normal(3, 4), normal(4)), FLOATS, PAIRED, ulps=64),
    Record("vector-vector", dot.dot, (normal(4), normal(4)), FLOATS, ulps=64),
    Record(
        "batch-last",
        general(((2,), (1,)), ((0,), (2,))),
        (normal(2, 3, 4), normal(5, 4, 2)),
        without=PAIRED,
        ulps=64,
    ),
    Record(
        "two-contracted",
        general(((0, 2), (2, 1))),
        (normal(2, 3, 4), normal(5, 4, 2)),
        without=PAIRED,
        ulps=128,
    ),
    Record("outer", general(((), ())), (normal(3), normal(2)), ulps=8),
    Record("batch-matmul", dot.batch_matmul, (normal(2, 3, 4), normal(2, 4, 2)), ulps=64),
    Record("large", dot.dot, (normal(40, 33), normal(33, 40)), BLAS, PAIRED, ulps=2048),
    Record(
        "large-flipped",
        general(((0,), (1,))),
        (normal(33, 40), normal(40, 33)),
        BLAS,
        PAIRED,
        ulps=2048,
    ),
    Record(
        "large-batch",
        general(((2,), (1,)), ((0,), (2,))),
        (normal(3, 40, 41), normal(30, 41, 3)),
        ("float32", "bfloat16"),
        PAIRED,
        ulps=2048,
    ),
]
globals().update(laws(RECORDS))

ERRORS = [
    *wrong(
        ((0,), (1,)), ((), ()), "contracting dimensions to have the same shape, got (3,) and (4,)."
    ),
    *wrong(((0,), (0,)), ((0,), (0,)), "lhs batch dimensions to be disjoint from contracting"),
    *wrong(((0,), (0,)), ((1,), ()), "equal numbers of lhs_batch and rhs_batch dimensions"),
    *wrong(((0, 0), (0, 0)), ((), ()), "lhs contracting dimensions to be distinct"),
    *wrong(((5,), (5,)), ((), ()), "lhs dimension numbers to be nonnegative and less than"),
]


@pytest.mark.parametrize("failure", ERRORS, ids=lambda failure: failure.text[20:50])
def test_dimension_numbers_that_do_not_fit_are_refused(failure):
    with pytest.raises(failure.kind) as caught:
        dot.dot_general(*failure.args)
    assert failure.text in str(caught.value)


def test_dot_of_shapes_that_are_no_matrices_is_refused():
    with pytest.raises(ValueError, match="dimension_numbers must be specified when not performing"):
        dot.dot(X, X)


@pytest.mark.parametrize(
    ("axes", "text"),
    [
        ((0, None), "c:f32[5,3,2] = dot_general[dimension_numbers=(([2], [0]), ([], []))] a b"),
        ((0, 0), "c:f32[5,3,2] = dot_general[dimension_numbers=(([2], [1]), ([0], [0]))] a b"),
    ],
)
def test_a_batch_becomes_part_of_one_product(axes, text):
    x = np.ones((5, 3, 4), np.float32)
    y = np.ones((5, 4, 2) if axes[1] == 0 else (4, 2), np.float32)
    assert text in str(jax.make_jaxpr(jax.vmap(dot.dot, axes))(x, y))


def test_parameters_print_as_jax_prints_them():
    f = general(((1,), (0,)), precision="highest", preferred_element_type=np.float32)
    text = str(jax.make_jaxpr(f)(X, X.T))
    assert "dimension_numbers=(([1], [0]), ([], []))" in text
    assert "precision=(Precision.HIGHEST, Precision.HIGHEST)" in text
    assert "preferred_element_type=float32" in text


def test_sums_of_halves_are_kept_in_single_precision():
    x = np.full(4096, 1.0, np.float16)
    assert float(dot.dot(x, x)) == 4096.0


def test_integers_stay_integers_and_booleans_are_logical():
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    wide = general(((1,), (1,)), preferred_element_type=np.int32)(x, x)
    np.testing.assert_array_equal([[5, 14], [14, 50]], wide)
    assert bool(dot.dot(np.array([True, False]), np.array([True, True]))) is True


def test_an_unknown_precision_is_refused():
    with pytest.raises(ValueError, match="Precision argument must be one of"):
        dot.dot(X, X.T, precision="foo")


def test_a_product_over_nothing_is_zero():
    np.testing.assert_array_equal(np.zeros((3, 4)), dot.dot(X[:, :0], X[:0]))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("vector_first", [False, True])
def test_large_matrices_meet_vectors_and_matrices_in_blocks(dtype, flip, vector_first):
    rng = np.random.default_rng(5)
    a = rng.normal(size=(643, 517)).astype(dtype)
    n = a.shape[int(flip) if not vector_first else 1 - int(flip)]
    v = rng.normal(size=a.shape[0] + a.shape[1] - n).astype(dtype)
    matrix = jax.numpy.asarray(a)
    if flip:
        a, matrix = a.T, matrix.T
    got = jax.jit(lambda m, v: v @ m if vector_first else m @ v)(matrix, jax.numpy.asarray(v))
    wanted = v @ a if vector_first else a @ v
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-3)
    got = jax.jit(lambda m: m @ m.T)(matrix)
    np.testing.assert_allclose(got, a @ a.T, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("sizes", [(32, 32, 9_000), (30, 17, 9_005), (1, 700, 803), (700, 1, 803)])
@pytest.mark.parametrize("flips", [(False, False), (True, False), (True, True)])
def test_many_terms_of_few_results_are_summed_apart(sizes, flips):
    n, m, k = sizes
    draw = np.random.default_rng(0)
    x, y = (draw.normal(size=shape).astype(np.float32) for shape in ((n, k), (k, m)))
    a, c = (np.array(v.T) if flip else v for v, flip in zip((x, y), flips, strict=True))

    def f(a, c):
        return (a.T if flips[0] else a) @ (c.T if flips[1] else c)

    np.testing.assert_allclose(jax.jit(f)(a, c), x.astype(np.float64) @ y, rtol=1e-3, atol=2e-3)
    text = "\n".join(k.kernel.text for k in jax.inspect(f)(a, c).kernels)
    by_terms = flips[0] if m == 1 else n > 1 or not flips[1]
    assert bool(re.search(r"\][)]* [+] t[0-9]+\[", text)) == by_terms


def test_the_rows_of_a_tall_product_are_shared():
    """Few columns take as long as some more, so that less work is worth sharing."""
    x, y = np.ones((10_000, 64), np.float32), np.ones((64, 8), np.float32)
    report = jax.inspect(lambda x, y: x @ y)(x, y)
    text, *_ = (k.kernel.text for k in report.kernels if "panels:" in k.kernel.text)
    blocks, strips = (int(n) for n in re.findall("for i[0-9]+ < ([0-9]+)", text))
    assert blocks >= 8
    assert 9_900 < blocks * strips * int(re.search("float32:([0-9]+)", text)[1]) <= 10_000
    np.testing.assert_array_equal(jax.numpy.matmul(x, y), np.full((10_000, 8), 64))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("complex64", "float32", "complex64"),
        ("float32", "int32", "float32"),
        ("bfloat16", "float16", "bfloat16"),
        ("int32", "uint32", "int32"),
        ("bool", "uint8", "uint8"),
    ],
)
def test_products_of_two_dtypes_have_that_of_greater_range(left, right, expected):
    x, y = np.array([[1, 2], [3, 1]]), np.array([[1, 1], [0, 2]])
    x = x * (1 + 2j) if left == "complex64" else x
    for a, b in ((x.astype(jax.numpy.dtype(left)), y.astype(jax.numpy.dtype(right))),):
        for found, wanted in ((dot.dot(a, b), a @ b), (dot.dot(b, a), b @ a)):
            assert found.dtype == expected
            np.testing.assert_array_equal(np.asarray(found, complex), wanted.astype(complex))


def test_gradients_of_products_of_two_dtypes_are_those_of_the_operands():
    x, y = np.full((2, 2), 1 + 2j, np.complex64), np.ones((2, 2), np.float32)
    total = jax.grad(lambda x, y: jax.numpy.real(dot.dot(x, y)).sum(), argnums=(0, 1))(x, y)
    assert [gradient.dtype for gradient in total] == ["complex64", "float32"]
    np.testing.assert_array_equal(total[1], np.full((2, 2), 2))


@pytest.mark.parametrize(("dtype", "preferred"), [("int32", "float16"), ("complex64", "int8")])
def test_products_are_not_narrower_than_integers(dtype, preferred):
    struct = jax.ShapeDtypeStruct((2, 2), dtype)
    with pytest.raises(TypeError, match="must not be narrower than the original type"):
        jax.eval_shape(lambda x: dot.dot(x, x, preferred_element_type=preferred), struct)
