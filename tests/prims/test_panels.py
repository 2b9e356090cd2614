"""Products with a packed factor: all shapes of strips, panels, passes and edges."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.kernel.panels import PAIRS
from tapeless.kernel.strips import Registers
from tapeless.prims import panels

SHAPES = {
    "whole panels": (64, 64, 80),
    "a panel of one vector": (70, 48, 100),
    "a narrow panel": (200, 40, 64),
    "an edge": (65, 45, 130),
    "an edge alone": (500, 10, 70),
    "a rest of one row": (29, 96, 128),
    "few rows": (8, 300, 200),
    "passes": (33, 72, 2100),
    "passes of copied rows": (530, 40, 2100),
    "lines in each other's way": (530, 40, 1024),
    "lines in each other's way, few rows": (40, 530, 1024),
    "copied columns": (300, 200, 600),
    "blocks": (300, 270, 200),
    "shared": (520, 270, 100),
    "in place": (64, 64, 64),
    "in place, with an overlap": (40, 45, 100),
    "in place, of two narrow panels": (40, 11, 100),
    "bands": (9, 520, 150),
    "bands, with an overlap": (12, 300, 100),
    "bands of several strips": (25, 512, 70),
    "more bands than a pass has terms": (10, 150, 2500),
    "a block that is left over": (20, 1100, 40),
}
WIDE = Registers(32, 64)


@pytest.fixture
def with_doubles():
    """Have 64-bit numbers."""
    with jax.enable_x64(True):
        yield


def text_of(f, *args) -> str:
    """Return the loops of a compiled function."""
    return "\n".join(kernel.kernel.text for kernel in jax.inspect(f)(*args).kernels)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("flips", [(0, 0), (1, 0), (0, 1)])
@pytest.mark.usefixtures("with_doubles")
def test_products_are_those_of_numpy(shape, dtype, flips):
    n, m, k = SHAPES[shape]
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(n, k)).astype(dtype), draw.normal(size=(k, m)).astype(dtype)
    a, c = (np.ascontiguousarray(v.T) if flip else v for v, flip in zip((x, y), flips, strict=True))

    def f(a, c):
        return (a.T if flips[0] else a) @ (c.T if flips[1] else c)

    rtol = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(jax.jit(f)(a, c), x @ y, rtol=rtol, atol=100 * rtol)
    if jax.jit(f).lower(a, c).compile() and n * m * k > panels.LEAST_WORK:
        assert "panels:" in text_of(f, a, c)


def test_batches_and_narrow_floats_are_packed_and_converted():
    draw = np.random.default_rng(1)
    x, y = draw.normal(size=(3, 64, 70)), draw.normal(size=(3, 70, 90))
    x, y = jnp.asarray(x, jnp.float16), jnp.asarray(y, jnp.float16)
    got = jax.jit(jnp.matmul)(x, y)
    wanted = np.matmul(np.asarray(x, np.float32), np.asarray(y, np.float32))
    np.testing.assert_allclose(np.asarray(got, np.float32), wanted, rtol=2e-3, atol=2e-2)
    assert "panels:" in text_of(jnp.matmul, x, y)


@pytest.mark.parametrize(
    "sizes", [(3, 16, 16, 16), (2, 40, 30, 50), (3, 130, 140, 60), (2, 70, 1024, 90)]
)
@pytest.mark.parametrize("flips", [(0, 0), (1, 0), (0, 1)])
def test_products_of_batches(sizes, flips):
    count, n, k, m = sizes
    draw = np.random.default_rng(3)
    x = draw.normal(size=(count, n, k)).astype(np.float32)
    y = draw.normal(size=(count, k, m)).astype(np.float32)
    a, c = (
        np.ascontiguousarray(v.swapaxes(1, 2)) if flip else v
        for v, flip in zip((x, y), flips, strict=True)
    )

    def f(a, c):
        a, c = (v.swapaxes(1, 2) if flip else v for v, flip in zip((a, c), flips, strict=True))
        return a @ c

    np.testing.assert_allclose(jax.jit(f)(a, c), x @ y, rtol=1e-4, atol=1e-4)


def test_each_batch_packs_for_itself():
    x = np.ones((8, 256, 256), np.float32)
    memory = jax.jit(jnp.matmul).lower(x, x).compile().memory_analysis()
    assert memory.temp_size_in_bytes < x.nbytes


def test_what_lies_by_rows_is_not_copied():
    for n, m, k in ((64, 64, 64), (500, 32, 300), (12, 1024, 512), (3, 640, 200)):
        x, y = np.ones((n, k), np.float32), np.ones((k, m), np.float32)
        compiled = jax.jit(jnp.matmul).lower(x, y).compile()
        assert compiled.memory_analysis().temp_size_in_bytes == 0
        assert "panels:" in text_of(jnp.matmul, x, y)
        np.testing.assert_array_equal(compiled(x, y), np.full((n, m), k, np.float32))


def test_axes_that_are_copied_keep_their_own_loops():
    x = np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32)
    got = jax.jit(lambda x, y: jnp.einsum("ij,ji->", x, y))(x, x + 1)
    np.testing.assert_allclose(got, (x * (x + 1).T).sum(), rtol=1e-3)
    assert "/ 300" not in text_of(lambda x, y: jnp.einsum("ij,ji->", x, y), x, x)


def test_infinities_and_nan_stay_in_their_rows_and_columns():
    x, y = np.ones((70, 600), np.float32), np.ones((600, 45), np.float32)
    x[3, 555], y[599, 44] = np.inf, np.nan
    got = np.asarray(jax.jit(jnp.matmul)(x, y))
    wanted = np.full((70, 45), 600, np.float32)
    wanted[3], wanted[:, 44] = np.inf, np.nan
    np.testing.assert_array_equal(got, wanted)


def test_panels_are_temporaries_that_the_analysis_reports():
    x, y = np.ones((520, 128), np.float32), np.ones((128, 256), np.float32)
    compiled = jax.jit(jnp.matmul).lower(x, y).compile()
    assert compiled.memory_analysis().temp_size_in_bytes == y.nbytes
    assert compiled.cost_analysis()["flops"] == 2 * 520 * 128 * 256


def test_columns_are_cut_into_panels():
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    assert [(c.first, c.count, c.width, c.used) for c in panels.columns_of(WIDE, 100, single)] == [
        (0, 3, 32, 32),
        (96, 1, 4, 4),
    ]
    (edge,) = panels.columns_of(WIDE, 11, single)
    assert (edge.width, edge.used, edge.is_padded) == (16, 11, True)
    assert [c.width for c in panels.columns_of(WIDE, 24, double)] == [16, 8]
    assert [c.width for c in panels.columns_of(WIDE, 33, PAIRS)] == [32, 4]


def test_columns_in_place_overlap_and_are_not_padded():
    single = np.dtype(np.float32)
    for m in range(8, 130):
        columns = panels.columns_in_place(WIDE, m, single)
        covered = {
            c.first + i for c in columns for i in range(c.count * c.width) if not c.is_padded
        }
        assert covered == set(range(m))
    assert [(c.first, c.count, c.width) for c in panels.columns_in_place(WIDE, 72, single)] == [
        (0, 2, 32),
        (64, 1, 8),
    ]
    assert [(c.first, c.count, c.width) for c in panels.columns_in_place(WIDE, 45, single)] == [
        (0, 1, 32),
        (29, 1, 16),
    ]


def test_what_panels_are_no_good_at_is_left_to_blas():
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    assert panels.pays_in_panels(WIDE, (1, 256, 256, 256), single)
    assert panels.pays_in_panels(WIDE, (1, 256, 256, 256), double)
    assert not panels.pays_in_panels(None, (1, 256, 256, 256), single)
    assert not panels.pays_in_panels(WIDE, (1, 256, 256, 256), np.dtype(np.complex64))
    assert not panels.pays_in_panels(WIDE, (1, 4, 512, 512), single)
    assert not panels.pays_in_panels(WIDE, (1, 2048, 2048, 2048), double)
    assert not panels.pays_in_panels(WIDE, (9, 32, 32, 32), single)
    assert panels.pays_in_panels(WIDE, (9, 32, 32, 32), single, is_packed_once=True)
    assert panels.pays_in_place(WIDE, (9, 32, 32, 32), single)
    assert not panels.pays_in_place(WIDE, (9, 8, 8, 8), single)
    assert not panels.pays_in_place(WIDE, (1, 64, 512, 512), single)
    assert not panels.pays_in_place(None, (9, 32, 32, 32), single)
    assert panels.pays_in_place(WIDE, (1, 16, 512, 4000), single)
    assert not panels.pays_in_place(WIDE, (1, 100, 24, 4000), single)
    assert panels.pays_apart(WIDE, (1, 256, 256, 256), single)
    assert panels.pays_apart(WIDE, (9, 600, 256, 256), single)
    assert not panels.pays_apart(WIDE, (1, 600, 256, 256), single)
    assert panels.pays_apart(WIDE, (1, 256, 256, 256), single, is_flipped=True)
    assert not panels.pays_apart(WIDE, (1, 512, 512, 512), single, is_flipped=True)
    assert panels.pays_apart(WIDE, (1, 512, 512, 500), double)
    assert not panels.pays_apart(WIDE, (1, 512, 512, 512), double)
    assert panels.pays_apart(WIDE, (1, 32, 2048, 2048), double)


@pytest.mark.parametrize(
    ("n", "most_lost"), [(512, 0.01), (1000, 0.01), (1021, 0.02), (1024, 0.01)]
)
def test_blocks_of_rows_go_to_pairs_of_cores(n, most_lost):
    rows = panels._block_rows(n, panels.MOST_ROWS)
    pairs, rest = -(-(n // rows) // 2), n % rows
    least = panels._cost(n, panels.MOST_ROWS) / 2
    taken = sum(
        times * panels._cost(size, panels._height(size, panels.MOST_ROWS))
        for times, size in ((pairs, rows), (1, rest))
        if size
    )
    assert least * 0.99 <= taken <= least * (1 + most_lost)


def test_rows_are_copied_once_for_all_columns():
    def copies(n, k):
        """Tell whether a product of columns has copies of rows."""
        x, y = np.ones((n, k), np.float32), np.ones((k, 96), np.float32)
        compiled = jax.jit(jnp.matmul).lower(x, y).compile()
        return compiled.memory_analysis().temp_size_in_bytes > y.nbytes

    assert copies(600, 1024)
    assert not copies(600, 1040)


PROGRAM = """
import hashlib, numpy as np, tapeless as jax
draw = np.random.default_rng(0)
x, y = draw.normal(size=(2, 600, 600)).astype(np.float32)
whole = jax.jit(lambda x, y: x @ y)
batches = x.reshape(100, 60, 60), y.reshape(100, 60, 60)
wide = x.reshape(10, 180, 200), y.reshape(10, 200, 180)
pairs = [(x, y), (x[:450], y), (x[:20], y), batches, wide]
pairs.append((x.reshape(-1)[:307200].reshape(300, 1024), y.reshape(-1)[:307200].reshape(1024, 300)))
z = [whole(*pair) for pair in pairs]
z.append(jax.jit(lambda x, y: x.T @ y)(x, y))
z = b"".join(np.asarray(part).tobytes() for part in z)
print(hashlib.sha256(z).hexdigest())
"""


def test_results_do_not_depend_on_the_number_of_threads():
    found = set()
    for threads in ("1", "2", "5"):
        environment = {**os.environ, "TAPELESS_NUM_THREADS": threads}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1
