"""Arrays in other packages: SciPy's and scikit-learn's array API, callbacks to SciPy, pickles."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy
import scipy.special

import tapeless as jax
import tapeless.numpy as jnp

SCIPY = """
import jax, jax.numpy as jnp
import numpy as np
from scipy import cluster, fft, special, stats
x = jnp.linspace(0.1, 2.0, 6)
n = np.asarray(x, np.float64)
pairs = {
    "logsumexp": (special.logsumexp(x), special.logsumexp(n)),
    "softmax": (special.softmax(x), special.softmax(n)),
    "gammaln": (special.gammaln(x), special.gammaln(n)),
    "zscore": (stats.zscore(x), stats.zscore(n)),
    "pearsonr": (stats.pearsonr(x, x**2).statistic, stats.pearsonr(n, n**2).statistic),
    "whiten": (cluster.vq.whiten(x[:, None]), cluster.vq.whiten(n[:, None])),
    "fft": (fft.fft(x), fft.fft(n)),
}
for name, (found, expected) in pairs.items():
    assert isinstance(found, jax.Array), name
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5, err_msg=name)
traced = jax.jit(special.logsumexp)(x)
np.testing.assert_allclose(traced, special.logsumexp(n), rtol=1e-5)
assert x.__array_namespace__() is jnp
print(len(pairs))
"""

LEARN = """
import jax, jax.numpy as jnp
import numpy as np
import sklearn
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, mean_squared_error
n = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
x = jnp.asarray(n)
with sklearn.config_context(array_api_dispatch=True):
    model = PCA(2, svd_solver="full").fit(x)
    scores = model.transform(x)
    error = mean_squared_error(x[:, 0], x[:, 1])
    share = accuracy_score(x[:, 0] > 0, x[:, 1] > 0)
assert isinstance(scores, jax.Array) and isinstance(model.components_, jax.Array)
reference = PCA(2, svd_solver="full").fit(n)
np.testing.assert_allclose(np.abs(scores), np.abs(reference.transform(n)), rtol=1e-3, atol=1e-5)
np.testing.assert_allclose(error, mean_squared_error(n[:, 0], n[:, 1]), rtol=1e-5)
np.testing.assert_allclose(share, accuracy_score(n[:, 0] > 0, n[:, 1] > 0), rtol=1e-6)
print(3)
"""


def run(program: str, path: Path) -> str:
    """Run a program that imports jax, by `python -m tapeless`, SciPy's array API switched on."""
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tapeless", str(path)],
        capture_output=True, text=True,
        env=os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


# SciPy before 1.17 assigns to elements of the arrays that it makes, which no JAX allows.
OLD_SCIPY = pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17), reason="assigns in place"
)


@pytest.mark.parametrize(
    ("program", "calls"),
    [pytest.param(SCIPY, 7, marks=OLD_SCIPY), (LEARN, 3)],
    ids=["scipy", "sklearn"],
)
def test_packages_for_any_array_compute_with_arrays(program, calls, tmp_path):
    assert run(program, tmp_path / "program.py") == f"{calls}\n"


def test_numpy_sees_the_memory_itself():
    x = jnp.arange(6.0).reshape(2, 3)
    address = x.unsafe_buffer_pointer()
    for view in (np.asarray(x), np.from_dlpack(x), x.__array__()):
        assert view.ctypes.data == address
        assert not view.flags.writeable
    np.testing.assert_array_equal(x.__array__(np.float64), np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(jax.dlpack.from_dlpack(np.arange(3)), [0, 1, 2])


def test_a_callback_computes_by_scipy_inside_compiled_and_mapped_functions():
    @jax.custom_jvp
    def bessel(x):
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        compute = lambda x: scipy.special.jv(0, x).astype(x.dtype)  # noqa: E731
        return jax.pure_callback(compute, like, x, vmap_method="expand_dims")

    bessel.defjvp(lambda p, t: (bessel(*p), -scipy_like(*p) * t[0]))

    def scipy_like(x):
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        compute = lambda x: scipy.special.jv(1, x).astype(x.dtype)  # noqa: E731
        return jax.pure_callback(compute, like, x, vmap_method="expand_dims")

    x = jnp.linspace(0.5, 3.0, 4)
    np.testing.assert_allclose(jax.jit(bessel)(x), scipy.special.jv(0, x), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(bessel)(x), scipy.special.jv(0, x), rtol=1e-6)
    slopes = jax.jit(jax.vmap(jax.grad(bessel)))(x)
    np.testing.assert_allclose(slopes, -scipy.special.jv(1, x), rtol=1e-5)


def test_pickles_of_arrays_and_trees():
    tree = {"a": [jnp.arange(3), jnp.ones((2, 2), jnp.bfloat16)], "key": jax.random.key(1), "n": 2}
    leaves, structure = jax.tree.flatten(tree)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        found = pickle.loads(pickle.dumps(tree, protocol))
        assert jax.tree.structure(found) == structure
        same = zip(jax.tree.leaves(found), leaves, strict=True)
        assert all(jax.typeof(a) == jax.typeof(b) and bool(jnp.all(a == b)) for a, b in same)
    assert pickle.loads(pickle.dumps(structure)) == structure
