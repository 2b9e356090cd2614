"""The optional back end: programs that XLA compiles, and what is said where it cannot."""

import subprocess
import sys

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import config, lax
from tapeless.errors import JaxRuntimeError
from tapeless.runtime import xla
from tapeless.runtime.eager import executable_of

X = np.linspace(-1, 1, 12).astype(np.float32).reshape(3, 4)


@pytest.fixture
def setting():
    """Make "xla" the setting for one test."""
    config.update("tapeless_backend", "xla")
    yield
    config.update("tapeless_backend", "native")


def both(function, *args):
    """Return the results of a function by both back ends, as NumPy arrays."""
    outs = [jax.jit(function, backend=name)(*args) for name in ("native", "xla")]
    return [[np.asarray(x) for x in jax.tree.leaves(out)] for out in outs]


FUNCTIONS = {
    "elementwise": lambda x: (jnp.sin(x) * 2, x > 0, x.astype(jnp.bfloat16), x[:0]),
    "tree": lambda x: {"a": x.sum(0), "b": [x.max(), None]},
    "loop": lambda x: lax.scan(lambda c, row: (c + row, c * row), x[0], x),
    "branch": lambda x: lax.cond(x[0, 0] > 0, jnp.cos, jnp.sin, x),
    "gather": lambda x: x[jnp.array([2, 0])],
    "sort": lambda x: jnp.sort(x, axis=0),
    "product": lambda x: x @ x.T,
    "cholesky": lambda x: jnp.linalg.cholesky(x @ x.T + 4 * jnp.eye(3)),
    "eigenvalues": lambda x: jnp.linalg.eigh(x @ x.T)[0],
    "random": lambda x: jax.random.uniform(jax.random.key(0), (3,)) + x[0, :3],
    "gradient": jax.grad(lambda x: jnp.tanh(x).sum()),
    "nothing": lambda x: (),
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_back_ends_agree(name):
    ours, theirs = both(FUNCTIONS[name], X)
    assert [(x.dtype, x.shape) for x in ours] == [(x.dtype, x.shape) for x in theirs]
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x.astype(float), y.astype(float), rtol=1e-5, atol=1e-5)


@pytest.mark.oracle
def test_wide_types_and_keys_are_handed_over():
    with jax.enable_x64(True):
        ours, theirs = both(lambda x: (x / 3, x.astype(np.int64)), np.float64(7))
        assert theirs[0].dtype == np.float64
        assert theirs[1].dtype == np.int64 and theirs[1] == 7
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-15)
    key = jax.random.key(3)
    found = jax.jit(lambda k: jax.random.split(k), backend="xla")(key)
    assert found.dtype == key.dtype
    np.testing.assert_array_equal(
        jax.random.key_data(jax.random.split(key)), jax.random.key_data(found)
    )


@pytest.mark.oracle
def test_the_setting_is_for_every_program(setting):
    f = jax.jit(lambda x: x * 2)
    assert isinstance(executable_of(f.trace(X).jaxpr), xla.XlaExecutable)
    np.testing.assert_array_equal(2 * X, f(X))
    np.testing.assert_array_equal(2 * X, jax.vmap(f)(X))
    np.testing.assert_array_equal(2 * np.ones_like(X), jax.grad(lambda x: f(x).sum())(X))
    native = jax.jit(lambda x: x * 3, backend="native")
    assert not isinstance(native.lower(X).compile()._executable, xla.XlaExecutable)
    config.update("tapeless_backend", "native")
    assert not isinstance(executable_of(f.trace(X).jaxpr), xla.XlaExecutable)
    np.testing.assert_array_equal(2 * X, f(X))


@pytest.mark.oracle
def test_compiled_programs_show_what_xla_says():
    compiled = jax.jit(lambda x: jnp.sin(x) @ x.T, backend="xla").lower(X).compile()
    assert compiled.as_text().startswith("HloModule jit__lambda")
    assert compiled.cost_analysis()["flops"] > 0
    assert compiled.memory_analysis().argument_size_in_bytes == X.nbytes
    np.testing.assert_allclose(np.sin(X) @ X.T, compiled(X), rtol=1e-5, atol=1e-6)


@pytest.mark.oracle
def test_donated_arguments_are_kept():
    x = jnp.asarray(X)
    jax.jit(lambda x: x + 1, backend="xla", donate_argnums=0)(x)
    np.testing.assert_array_equal(X, x)


@pytest.mark.oracle
def test_what_xla_refuses_is_an_error_of_jax(monkeypatch):
    monkeypatch.setattr(xla.stablehlo, "module_text", lambda jaxpr, name: "module { nonsense }")
    with pytest.raises(JaxRuntimeError, match="nonsense"):
        jax.jit(lambda x: x - 5, backend="xla")(X)


@pytest.mark.oracle
def test_callbacks_are_refused():
    f = jax.jit(lambda x: jax.pure_callback(np.sin, x, x), backend="xla")
    with pytest.raises(NotImplementedError, match="calls back into Python"):
        f(np.float32(1))


def test_other_back_ends_are_refused():
    with pytest.raises(RuntimeError, match="Unknown backend 'gpu': the back ends are 'native'"):
        jax.jit(lambda x: x, backend="gpu")
    with pytest.raises(ValueError, match=r"new enum value must be in \['native', 'xla'\]"):
        config.update("tapeless_backend", "gpu")


WITHOUT = """
import sys
import numpy as np
sys.modules["jaxlib"] = None
import tapeless as jax
print(jax.jit(lambda x: x + 1)(1.0))
for _ in range(2):
    try:
        jax.jit(lambda x: x + 1, backend="xla")(1.0)
    except RuntimeError as error:
        print(error)
"""


def test_without_jaxlib_one_error_says_what_to_do():
    out = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True
    )
    lines = out.stdout.splitlines()
    assert lines[0] == "2.0"
    message = 'the back end "xla", of which the text "hlo" is part, needs jaxlib, which is not'
    assert [line.startswith(message) for line in lines[1:]] == [True, True]


def test_nothing_of_jax_is_imported_before_it_is_asked_for():
    code = (
        "import sys, tapeless as jax\n"
        "jax.jit(lambda x: x + 1)(1.0)\n"
        "jax.jit(lambda x: x, backend='xla')\n"
        "jax.stablehlo.load; jax.export.export\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('jax', 'jaxlib')])\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"
