"""The examples about derivatives run, and what they print is true."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_per_example_gradients_find_the_wrong_labels(capsys):
    module = example("per_example_gradients")
    suspects, apart = module.main()
    assert suspects == list(module.WRONG)
    assert apart < 1e-6
    assert "(200, 2)" in capsys.readouterr().out


def test_clipped_and_noisy_gradients_resist_outliers():
    module = example("dp_sgd")
    errors, largest = module.main()
    assert largest == pytest.approx(module.CLIP, abs=1e-5)
    assert errors["private"] < 0.1 < 1 < errors["plain"]


def test_clipping_leaves_short_gradients_alone():
    module = example("dp_sgd")
    gradients = {"a": np.array([[0.3, 0.4], [3.0, 4.0]]), "b": np.array([0.0, 0.0])}
    total, norms = module.clipped_sum(gradients)
    np.testing.assert_allclose(np.asarray(norms), [0.5, 1.0], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(total["a"]), [0.9, 1.2], rtol=1e-6)


def test_a_fixed_point_has_first_and_second_derivatives():
    assert example("fixed_point").main() < 1e-9


def test_the_adjoint_gradient_is_true_and_needs_no_memory_per_step():
    module = example("neural_ode")
    apart, losses, memory = module.main()
    assert apart < 1e-4
    assert losses[-1] < 1e-3 < 1 < losses[0]
    (few, through_few), (many, through_many) = memory[100], memory[10_000]
    assert many == few
    assert through_many > 50 * through_few > 50 * few


def test_gauss_newton_steps_converge_quadratically():
    module = example("gauss_newton")
    weights, errors, left = module.main()
    np.testing.assert_allclose(weights, module.TRUE, atol=1e-9)
    assert errors[4] < errors[2] ** 2 < errors[0]
    assert left > 1e-3


def test_the_meta_gradient_is_true_and_teaches():
    apart, errors = example("meta_gradient").main()
    assert apart < 1e-7
    assert errors[-1] < 0.05 * errors[0]
