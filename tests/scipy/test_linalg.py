"""`jax.scipy.linalg` against SciPy, and factors against the matrices that they make."""

import numpy as np
import pytest
from scipy import linalg

import tapeless as jax
from tapeless.scipy import linalg as ours
from tests.meta import names

R = np.random.default_rng(0)
A = R.normal(size=(5, 5))
C = A + 1j * R.normal(size=(5, 5))
POSITIVE = A @ A.T + 5 * np.eye(5)
TALL = R.normal(size=(5, 3))
B = R.normal(size=(5, 2))
V = R.normal(size=5)


@pytest.fixture(autouse=True)
def double() -> None:
    """Run in 64-bit mode."""
    with jax.enable_x64(True):
        yield


# name, arguments, keyword arguments: results that are unique.
SAME = [
    ("block_diag", (A, TALL, 2.0), {}),
    ("cholesky", (POSITIVE,), {}),
    ("cholesky", (POSITIVE,), {"lower": True}),
    ("circulant", (V,), {}),
    ("companion", (V,), {}),
    ("convolution_matrix", (V, 4), {}),
    ("convolution_matrix", (V, 4), {"mode": "same"}),
    ("convolution_matrix", (V, 7), {"mode": "valid"}),
    ("det", (A,), {}),
    ("det", (C,), {}),
    ("dft", (6,), {}),
    ("dft", (5, "sqrtn"), {}),
    ("expm", (A,), {}),
    ("expm", (C / 10,), {}),
    ("expm_frechet", (A, POSITIVE), {"compute_expm": False}),
    ("fiedler", (V,), {}),
    ("fiedler_companion", (V,), {}),
    ("fiedler_companion", (R.normal(size=6),), {}),
    ("fiedler_companion", (V[:3],), {}),
    ("funm", (A, np.exp), {}),
    ("hadamard", (8,), {}),
    ("hankel", (V,), {}),
    ("hankel", (V, B[:, 0]), {}),
    ("helmert", (5,), {}),
    ("helmert", (4,), {"full": True}),
    ("hilbert", (4,), {}),
    ("inv", (A,), {}),
    ("invhilbert", (6,), {}),
    ("invpascal", (5,), {}),
    ("invpascal", (5, "lower"), {}),
    ("leslie", (V, V[:4]), {}),
    ("pascal", (5,), {}),
    ("pascal", (5, "upper"), {}),
    ("polar", (A,), {}),
    ("polar", (TALL,), {"side": "right"}),
    ("polar", (C,), {"side": "left"}),
    ("solve", (A, B), {}),
    ("solve", (POSITIVE, V), {"assume_a": "pos"}),
    ("solve_sylvester", (A, POSITIVE[:2, :2], B), {}),
    ("solve_triangular", (A, V), {}),
    ("solve_triangular", (A, B), {"lower": True, "trans": 1, "unit_diagonal": True}),
    ("solve_triangular", (C, B + 0j), {"trans": "C"}),
    ("sqrtm", (POSITIVE,), {}),
    ("sqrtm", (C,), {}),
    ("toeplitz", (V,), {}),
    ("toeplitz", (V, B[:, 0]), {}),
    ("eigh_tridiagonal", (V, V[:4]), {"eigvals_only": True}),
    ("eigh", (POSITIVE,), {"eigvals_only": True}),
    ("svd", (TALL,), {"compute_uv": False}),
    ("hessenberg", (A,), {}),
    ("lu", (A,), {}),
    ("lu", (TALL,), {"permute_l": True}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "options"), SAME, ids=[f"{i}-{case[0]}" for i, case in enumerate(SAME)]
)
def test_same_as_scipy(name, arguments, options):
    expected = getattr(linalg, name)(*arguments, **options)
    function = jax.numpy.exp if name == "funm" else None
    arguments = (arguments[0], function) if function else arguments
    found = getattr(ours, name)(*arguments, **options)
    pairs = (
        zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    )
    for value, wanted in pairs:
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-11 * scale)


def test_all_functions_are_here():
    assert set(names.stored_names()["jax.scipy.linalg"]) <= set(dir(ours))


def test_cholesky_solves():
    factor = ours.cho_factor(POSITIVE)
    np.testing.assert_allclose(POSITIVE @ ours.cho_solve(factor, B), B, atol=1e-12)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("right", [B, V], ids=["matrix", "vector"])
def test_lu_solves(trans, right):
    matrix = {0: C, 1: C.T, 2: C.conj().T}[trans]
    x = ours.lu_solve(ours.lu_factor(C), right + 0j, trans=trans)
    np.testing.assert_allclose(matrix @ x, right, atol=1e-12)


@pytest.mark.parametrize(
    ("matrices", "right", "single"),
    [
        ((3, 2, 2), (3, 2), True), ((2, 2, 2), (2, 2), True), ((3, 2, 2), (2,), True),
        ((1, 2, 2), (3, 2), True), ((3, 2, 2), (2, 5), False), ((2, 2), (4, 2, 3), False),
        ((3, 2, 2), (3, 2, 2), False), ((4, 3, 2, 2), (3, 2, 5), False),
        ((4, 2, 2, 2), (2, 2), False), ((3, 2, 2), (2, 3, 2, 5), False), ((0, 2, 2), (0, 2), True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_batches_of_matrices_and_right_hand_sides(matrices, right, single, trans):
    random = np.random.default_rng(1)
    a = random.normal(size=matrices) + 1j * random.normal(size=matrices) + 3 * np.eye(2)
    b = random.normal(size=right)
    turned = [a, a.swapaxes(-1, -2), a.conj().swapaxes(-1, -2)][trans]
    lower = [np.tril(a), np.tril(a).swapaxes(-1, -2), np.tril(a).conj().swapaxes(-1, -2)][trans]
    factor = np.tril(a) * (1 + trans)
    positive = factor @ factor.conj().swapaxes(-1, -2)
    columns = b[..., None] if single else b
    for matrix, x in (
        (turned, ours.lu_solve(ours.lu_factor(a), b, trans=trans)),
        (lower, ours.solve_triangular(a, b, trans=trans, lower=True)),
        (positive, ours.cho_solve((factor, True), b)),
        (positive, ours.cho_solve((factor.conj().swapaxes(-1, -2), False), b)),
    ):
        expected = np.linalg.solve(matrix, columns)
        np.testing.assert_allclose(x, expected[..., 0] if single else expected, atol=1e-12)


@pytest.mark.parametrize("right", [(3, 2), (3, 2, 4)])
def test_positive_systems_in_batches(right):
    positive = np.broadcast_to(POSITIVE[:2, :2], (3, 2, 2))
    b = np.arange(np.prod(right), dtype=float).reshape(right)
    x = ours.solve(positive, b, assume_a="pos")
    columns = b if len(right) == 3 else b[..., None]
    np.testing.assert_allclose(x, np.linalg.solve(positive, columns).reshape(right), atol=1e-12)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("shape", [(3, 4, 2), (2, 1, 2, 4), (0, 3, 3)])
def test_polar_factors_of_batches(shape, side):
    a = np.random.default_rng(2).normal(size=shape)
    u, p = ours.polar(a, side, method="svd")
    one_by_one = [linalg.polar(matrix, side) for matrix in a.reshape(-1, *shape[-2:])]
    for found, at in ((u, 0), (p, 1)):
        flat = np.asarray(found).reshape(len(one_by_one), *found.shape[-2:])
        for matrix, pair in zip(flat, one_by_one, strict=True):
            np.testing.assert_allclose(matrix, pair[at], atol=1e-12)


@pytest.mark.parametrize(
    ("matrices", "right"),
    [((3, 2, 2), (2, 2)), ((4, 3, 2, 2), (3, 2)), ((2, 2), (3, 2)), ((2, 3), (2,))],
)  # fmt: skip
def test_batches_that_do_not_go_together_are_refused(matrices, right):
    a, b = np.ones(matrices), np.ones(right)
    for call in (
        lambda: ours.solve_triangular(a, b),
        lambda: ours.cho_solve((a, True), b),
        lambda: ours.lu_solve((a, np.zeros(matrices[:-1], np.int32)), b),
    ):
        with pytest.raises(ValueError, match="(?i)shape"):
            call()


@pytest.mark.parametrize("mode", ["full", "economic"])
def test_qr(mode):
    q, r, order = ours.qr(TALL, mode=mode, pivoting=True)
    np.testing.assert_allclose(q @ r, TALL[:, order], atol=1e-12)
    assert ours.qr(TALL, mode="r")[0].shape == (5, 3)


def test_qr_multiply():
    q, r = ours.qr(TALL, mode="economic")
    np.testing.assert_allclose(ours.qr_multiply(TALL, A)[0], A @ q, atol=1e-12)
    np.testing.assert_allclose(
        ours.qr_multiply(TALL, TALL[:3], "left")[0], q @ TALL[:3], atol=1e-12
    )


@pytest.mark.parametrize("matrix", [A, C], ids=["real", "complex"])
@pytest.mark.parametrize("output", ["real", "complex"])
def test_schur(matrix, output):
    t, z = ours.schur(matrix, output)
    np.testing.assert_allclose(z @ t @ z.conj().T, matrix, atol=1e-12)
    assert np.abs(np.tril(t, -2 if output == "real" else -1)).max() == 0


def test_real_to_complex_schur_form():
    t, z = ours.rsf2csf(*ours.schur(A))
    assert np.abs(np.tril(t, -1)).max() < 1e-13
    np.testing.assert_allclose(z @ t @ z.conj().T, A, atol=1e-12)


def test_hessenberg_with_its_rotation():
    h, q = ours.hessenberg(A, calc_q=True)
    np.testing.assert_allclose(q @ h @ q.T, A, atol=1e-12)
    assert np.abs(np.tril(h, -2)).max() == 0


def test_eigenvectors_of_a_tridiagonal_matrix():
    values, vectors = ours.eigh_tridiagonal(V, V[:4], select="i", select_range=(1, 3))
    matrix = np.diag(V) + np.diag(V[:4], 1) + np.diag(V[:4], -1)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)


def test_exponential_of_a_triangle():
    triangle = np.triu(20 * A)
    expected = linalg.expm(triangle)
    value = ours.expm(triangle, upper_triangular=True)
    np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())
    assert np.isnan(ours.expm(triangle, max_squarings=1)).all()


def test_exponential_under_transformations():
    slope = jax.grad(lambda a: ours.expm(a).sum())(A / 3)
    step = 1e-6 * np.eye(5)[0][:, None] * np.eye(5)[2]
    difference = (linalg.expm(A / 3 + step).sum() - linalg.expm(A / 3 - step).sum()) / 2e-6
    np.testing.assert_allclose(slope[0, 2], difference, rtol=1e-6)
    batch = jax.jit(jax.vmap(ours.expm))(np.stack([A, 10 * A]))
    np.testing.assert_allclose(batch[1], linalg.expm(10 * A), rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("expm", (TALL,)), ("solve", (A, B, False, False, False, False, True, "bad")),
     ("solve_triangular", (A, B, 7)), ("polar", (A, "up")), ("hadamard", (6,)),
     ("companion", (V[:1],)), ("qr", (A, False, None, "bad")), ("schur", (A, "bad")),
     ("leslie", (V, V)), ("dft", (3, "bad"))],
)  # fmt: skip
def test_wrong_arguments_are_refused(name, arguments):
    with pytest.raises(ValueError):  # noqa: PT011
        getattr(ours, name)(*arguments)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("given", [A, C])
def test_generalized_eigenvalues_and_vectors(given, kind, lower):
    triangle = np.tril if lower else np.triu
    a, b = given + given.conj().T, given @ given.conj().T + np.eye(5)
    with jax.enable_x64(True):
        values, vectors = ours.eigh(triangle(a), triangle(b), lower=lower, type=kind)
    expected, _ = linalg.eigh(a, b, type=kind)
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
    v = np.asarray(vectors)
    left, right = {1: (a @ v, b @ v), 2: (a @ b @ v, v), 3: (b @ a @ v, v)}[kind]
    np.testing.assert_allclose(left, right * np.asarray(values), rtol=1e-7, atol=1e-7)


def test_kinds_of_generalized_problems_are_three():
    with pytest.raises(ValueError, match="type must be 1, 2 or 3, got 4"):
        ours.eigh(POSITIVE, POSITIVE, type=4)


def test_rsf2csf_takes_arrays_of_numpy():
    t, _ = ours.rsf2csf(np.triu(A).astype("float32"), np.eye(5, dtype="float32"))
    np.testing.assert_allclose(t, np.triu(A), rtol=1e-6)


def test_fiedler_companion_of_few_coefficients():
    for a in (np.float32([2.0]), np.float32([2.0, 6.0])):
        np.testing.assert_array_equal(ours.fiedler_companion(a), linalg.fiedler_companion(a))
    with pytest.raises(ValueError, match="requires at least one coefficient"):
        ours.fiedler_companion(np.float32([]))
