"""The programs of the gallery run, and what they print is true."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tapeless as jax

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def example(name: str) -> ModuleType:
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def settings():
    """Leave the settings as they were; an example may turn 64-bit numbers on."""
    before = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", before)


def numbers(text: str) -> list[float]:
    """Return the numbers in a text."""
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", text)]


def test_the_gallery_lists_all_examples():
    listed = re.findall(r"^\| `(\w+\.py)` \|", (ROOT / "docs" / "gallery.md").read_text(), re.M)
    assert sorted(listed) == sorted(path.name for path in EXAMPLES.glob("*.py"))


def test_a_gru_learns_to_remember(capsys):
    module = example("gru")
    w, first, last = module.main()
    assert first > 0.2  # the variance of the number itself is a third
    assert last < 0.01
    assert numbers(capsys.readouterr().out)[-2:] == pytest.approx([first, last], abs=1e-3)


def test_the_gru_is_that_of_a_loop_in_numpy():
    module = example("gru")
    w = module.init(jax.random.key(2))
    xs = np.random.default_rng(0).normal(size=(5, module.INPUTS)).astype(np.float32)
    v = {name: np.asarray(x, np.float64) for name, x in w.items()}
    h = np.zeros(module.WIDTH)
    for number, x in enumerate(xs):
        z, r = (
            1 / (1 + np.exp(-(v[f"W{gate}"] @ x + v[f"U{gate}"] @ h + v[f"b{gate}"])))
            for gate in "zr"
        )
        h = (1 - z) * h + z * np.tanh(v["Wh"] @ x + v["Uh"] @ (r * h) + v["bh"])
        np.testing.assert_allclose(module.states(w, xs)[number], h, atol=1e-5)


def test_padding_changes_nothing():
    apart, leak, off, memory = example("masked_lstm").main()
    assert apart < 1e-6
    assert leak == 0.0
    assert off < 1e-5
    assert memory[1] < memory[0] / 2


def test_runge_kutta_is_of_fourth_order_and_keeps_areas():
    orders, apart, area = example("runge_kutta").main()
    assert orders == pytest.approx([4.0, 4.0], abs=0.1)
    assert apart < 1e-6
    assert area == pytest.approx(np.pi, abs=1e-3)


def test_returns_are_those_of_a_loop():
    module = example("returns")
    apart, weights = module.main()
    assert max(apart) < 1e-5
    # The third step is the last of its episode: what follows does not count.
    np.testing.assert_allclose(weights, [1, module.GAMMA, module.GAMMA**2, 0], rtol=1e-6)


def test_square_roots_have_their_slopes():
    x, (steps, by_scan), refusal, slopes = example("newton_square_root").main()
    a = np.array([2.0, 9.0, 1e4, 0.25])
    np.testing.assert_allclose(x, np.sqrt(a), rtol=1e-6)
    np.testing.assert_array_equal(steps, by_scan)
    assert "Reverse-mode differentiation does not work for lax" in refusal
    assert len(slopes) == 3
    for slope in slopes.values():
        np.testing.assert_allclose(slope, 0.5 / np.sqrt(a), rtol=1e-4)


def test_weights_of_a_segment_are_a_softmax():
    scores, ids, weights, heard, balance = example("segment_softmax").main()
    scores, ids = np.asarray(scores, np.float64), np.asarray(ids)
    for segment in np.unique(ids):
        found = scores[ids == segment]
        expected = np.exp(found - found.max())
        np.testing.assert_allclose(weights[ids == segment], expected / expected.sum(), atol=1e-5)
    silent = np.setdiff1d(np.arange(len(heard)), ids)
    assert silent.size
    assert not np.asarray(heard)[silent].any()
    assert balance < 1e-5


def test_pieces_have_the_values_and_slopes_of_their_branches():
    x, values, slopes, (single, mapped), (by_cond, by_where) = example("piecewise").main()
    x = np.asarray(x, np.float64)
    pieces = [x < 0, x < np.pi]
    for found in values:
        np.testing.assert_allclose(
            found, np.select(pieces, [x**2, np.sin(x)], x - np.pi), atol=1e-6
        )
    np.testing.assert_allclose(slopes, np.select(pieces, [2 * x, np.cos(x)], 1), atol=1e-6)
    assert "cond[" in single
    assert "select_n" in mapped
    assert "cond[" not in mapped
    np.testing.assert_array_equal(by_cond, [0, 0, 0.5])
    np.testing.assert_array_equal(by_where, [0, np.nan, 0.5])


def test_distances_need_no_memory_and_have_safe_slopes():
    distances, apart, memory, slopes = example("pairwise_distances").main()
    assert distances.shape == (400, 300)
    assert apart < 1e-6
    assert memory < distances.size * 4  # not even one table, far from one per coordinate
    assert np.isnan(slopes["plain"]).all()
    assert np.isfinite(slopes["safe"]).all()
    np.testing.assert_allclose(slopes["safe"].sum(0), 0, atol=1e-5)  # moving all moves none


def test_walks_spread_as_theory_says():
    module = example("random_walks")
    ends, again, money, ruined = module.main()
    assert again
    assert abs(ends.mean()) < 5 * np.sqrt(module.STEPS / module.WALKS)
    assert ends.var() == pytest.approx(module.STEPS, rel=0.07)
    assert set(money.tolist()) == {0, module.GOAL}
    assert ruined == pytest.approx(1 - module.START / module.GOAL, abs=0.025)


def test_jacobians_agree_and_products_need_no_matrix(capsys):
    forwards, backwards, determinants, apart, memory = example("jacobians").main()
    np.testing.assert_allclose(forwards, backwards, atol=1e-6)
    np.testing.assert_allclose(determinants, [1, 2, 3], rtol=1e-6)
    np.testing.assert_allclose(forwards[0], np.eye(2), atol=1e-6)
    assert apart < 1e-5
    assert memory < 4 * 1000 * 10
    assert "(3, 1, 2, 2)" in capsys.readouterr().out
