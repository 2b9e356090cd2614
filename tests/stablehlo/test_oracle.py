"""Modules that JAX prints, evaluated by the loader: values, gradients, batches, coverage."""

import re

import jax as oracle
import numpy as np
import pytest

import tapeless as jax
from tapeless import stablehlo
from tests.stablehlo.corpus import DIFFERENTIABLE, PRINTED, cases

pytestmark = pytest.mark.oracle

CASES = cases(oracle)
LAPACK = re.compile(r"lapack_[sdcz](\w+)_ffi")


def printed(name):
    """Return the module of a case."""
    function, args = CASES[name]
    return oracle.jit(function, keep_unused=True).lower(*args).as_text()


def operations(text):
    """Return the operations of a module by short names, and the targets of custom calls."""
    found = set(re.findall(r'(?:= |")(?:stablehlo|chlo)\.([a-z_0-9]+)', text))
    found |= {"call"} if " call @" in text else set()
    return found | {LAPACK.sub(r"\1", x) for x in re.findall(r"custom_call @(\w+)", text)}


def assert_same(expected, found):
    """Compare a result, leaf by leaf: floats to about the accuracy of float32 algorithms."""
    expected = [np.asarray(x) for x in oracle.tree.leaves(expected)]
    found = [np.asarray(x) for x in jax.tree.leaves(found)]
    assert [(x.dtype, x.shape) for x in expected] == [(x.dtype, x.shape) for x in found]
    for x, y in zip(expected, found, strict=True):
        if x.dtype.kind in "biu":
            np.testing.assert_array_equal(x, y)
        else:
            wide = np.complex128 if x.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(x.astype(wide), y.astype(wide), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", CASES)
def test_a_module_that_jax_printed_has_the_same_values(name):
    function, args = CASES[name]
    assert_same(oracle.jit(function)(*args), stablehlo.load(printed(name))(*args))


def test_nine_tenths_of_the_operations_that_jax_prints_are_loaded():
    loaded = set()
    for name in CASES:
        text = printed(name)
        stablehlo.load(text)
        loaded |= operations(text)
    wanted = set(PRINTED.split())
    assert not loaded - wanted, "the list of what is printed lacks some"
    missing = wanted - loaded
    assert missing == {"rng"}
    assert len(missing) <= 0.1 * len(wanted)


def total(module, outs):
    """Return one number that depends on all floats of a result."""
    leaves = [x for x in module.tree.leaves(outs) if np.dtype(x.dtype).kind == "f"]
    return sum(module.numpy.sum(module.numpy.sin(x)) for x in leaves)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_agree(name):
    function, args = CASES[name]
    loaded = stablehlo.load(printed(name))
    expected = oracle.grad(lambda x, *rest: total(oracle, function(x, *rest)))(*args)
    found = jax.grad(lambda x, *rest: total(jax, loaded(x, *rest)))(*args)
    assert_same(expected, found)


@pytest.mark.parametrize("name", ["softmax", "scan", "cholesky", "sort", "counted_loop", "while"])
def test_batches_agree(name):
    function, args = CASES[name]
    loaded = stablehlo.load(printed(name))
    rows = [np.stack([x, x + np.asarray(1, x.dtype)]) for x in args]
    assert_same(oracle.vmap(function)(*rows), jax.jit(jax.vmap(loaded))(*rows))


GENERIC = (
    "softmax", "counted_loop", "scan", "branch", "batched_switch", "sort_two_keys", "argmax",
    "max_pool", "scattered", "batched_gather", "convolution_dilated", "dot_precise", "fft", "pad",
    "solve", "eigvalsh", "rbg", "reduce_precision", "constants", "composite", "top_k", "nothing",
)  # fmt: skip


@pytest.mark.parametrize("name", GENERIC)
def test_the_generic_form_of_a_module_is_the_same_program(name):
    function, args = CASES[name]
    lowered = oracle.jit(function, keep_unused=True).lower(*args)
    text = lowered.compiler_ir().operation.get_asm(print_generic_op_form=True)
    assert text.startswith('"builtin.module"()')
    generic, pretty = stablehlo.load(text), stablehlo.load(lowered.as_text())
    assert str(generic.jaxpr) == str(pretty.jaxpr)


def test_source_positions_are_read_over():
    text = oracle.jit(lambda x: x * 2).lower(np.float32(1)).as_text(debug_info=True)
    assert "loc(" in text
    assert stablehlo.load(text)(3.0) == 6


def test_64_bits_are_kept_without_the_switch():
    with oracle.enable_x64(True):
        text = oracle.jit(lambda x: x / 3).lower(np.float64(1)).as_text()
    with jax.enable_x64(True):
        assert stablehlo.load(text)(np.float64(1)).dtype == np.float64
    bits = oracle.jit(lambda k: oracle.lax.rng_bit_generator(k, (2,))[1])
    state = np.arange(4, dtype=np.uint32)
    assert_same(bits(state), stablehlo.load(bits.lower(state).as_text())(state))


def test_callbacks_are_refused_by_name():
    def f(x):
        return oracle.pure_callback(np.sin, oracle.ShapeDtypeStruct((), np.float32), x)

    text = oracle.jit(f).lower(np.float32(1)).as_text()
    with pytest.raises(NotImplementedError, match="line 4.*callback.*calls back into the Python"):
        stablehlo.load(text)


def test_exchanges_among_several_devices_are_refused():
    text = printed("exchanges").replace(
        "dense<0> : tensor<1x1xi64>", "dense<[[0, 1]]> : tensor<1x2xi64>"
    )
    with pytest.raises(NotImplementedError, match="it exchanges with others"):
        stablehlo.load(text)


def test_hidden_random_states_are_refused():
    text = oracle.jit(lambda: oracle.lax.rng_uniform(0.0, 1.0, (3,))).lower().as_text()
    with pytest.raises(NotImplementedError, match="stablehlo.rng: numbers from a hidden state"):
        stablehlo.load(text)
