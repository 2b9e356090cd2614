"""`checkify`: errors as values.  That they are JAX's is tested in tests/parity/test_checkify.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.experimental import checkify

SCALAR = jnp.float32(-1)


def positive(x: Any) -> Any:
    """Check, and go on."""
    checkify.check(x > 0, "{x} is not positive", x=jnp.asarray(x))
    return x + 1


def test_an_error_is_a_tree_that_compiled_functions_take_and_give() -> None:
    error, out = jax.jit(checkify.checkify(positive))(SCALAR)
    assert float(out) == 0
    again = jax.jit(lambda e: e)(error)
    assert again.get() == error.get() == "-1.0 is not positive (`check` failed)"
    assert [leaf.dtype for leaf in jax.tree.leaves(error)] == [np.int32, np.float32]
    assert jax.tree.structure(error) == jax.tree.structure(again)
    good, _ = checkify.checkify(positive)(-SCALAR)
    assert good.get() is None and good.throw() is None
    assert jax.tree.structure(good) == jax.tree.structure(error)


def test_errors_are_chosen_by_programs() -> None:
    checked = checkify.checkify(positive)
    error = jax.jit(lambda p: lax.cond(p, lambda: checked(SCALAR)[0], lambda: checked(-SCALAR)[0]))
    assert error(True).get() is not None
    assert error(False).get() is None


def test_where_nothing_can_go_wrong_there_is_nothing() -> None:
    error, out = checkify.checkify(lambda x: x)(SCALAR)
    assert jax.tree.leaves(error) == [] and error.get() is None and float(out) == -1
    assert repr(error) == "Error(None)" == repr(checkify.init_error)
    text = str(jax.make_jaxpr(checkify.checkify(lambda x: x * 2))(SCALAR))
    assert "select_n" not in text


def test_kinds_of_errors_are_sets() -> None:
    assert checkify.float_checks == checkify.nan_checks | checkify.div_checks
    assert checkify.automatic_checks == checkify.float_checks | checkify.index_checks
    assert checkify.all_checks == checkify.automatic_checks | checkify.user_checks
    assert all(issubclass(kind, ValueError) for kind in checkify.all_checks)


def test_python_values_stay_python_values() -> None:
    def repeated(x: Any, n: int, how: str) -> Any:
        for _ in range(n):
            x = positive(x)
        return x if how == "plain" else -x

    error, out = checkify.checkify(repeated)(-SCALAR, 3, "plain")
    assert error.get() is None and float(out) == 4


def test_a_program_is_compiled_once_for_equal_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = jax.jit(checkify.checkify(positive, errors=checkify.all_checks))
    messages = [checked(jnp.float32(x))[0].get() for x in (-1, 2, -3)]
    assert checked._cache_size() == 1
    assert [m and m.split()[0] for m in messages] == ["-1.0", None, "-3.0"]


def test_a_check_may_run_natively_where_that_is_asked_for() -> None:
    with pytest.raises(ValueError, match="not functionalized"):
        jax.jit(positive)(SCALAR)
    before = jax.config.jax_experimental_unsafe_xla_runtime_errors
    jax.config.update("jax_experimental_unsafe_xla_runtime_errors", True)
    try:
        with pytest.raises(checkify.JaxRuntimeError, match="-1.0 is not positive"):
            jax.jit(positive)(SCALAR)
        assert float(jax.jit(positive)(-SCALAR)) == 2
    finally:
        jax.config.update("jax_experimental_unsafe_xla_runtime_errors", before)
