"""What docs/differences.md says of JAX and of this package is so: each case runs on both.

A case is a function of the module `jax`, with what it gives there and here. The table in the
document has a row for each case, and no other rows.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import re
from pathlib import Path

import jax as oracle
import numpy as np
import pytest

import tapeless

pytestmark = pytest.mark.oracle

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "differences.md"
X = np.arange(3, dtype=np.float32)
CASES = {}


def case(there, here):
    """Register a case with what it gives under JAX, and here; a string may be part of more."""

    def register(function):
        """Name the case as the function, with hyphens."""
        CASES[function.__name__.replace("_", "-")] = (function, there, here)
        return function

    return register


def module(jax, name):
    """Return a submodule."""
    return importlib.import_module(f"{jax.__name__}.{name}")


@case(True, "NotImplementedError: <lambda> cannot be written as StableHLO")
def text_of_callbacks(jax):
    f = jax.jit(lambda x: (jax.debug.print("{}", x), x)[1])
    return "custom_call" in f.lower(1.0).as_text()


@case("ragged_dot_general", "dot_general")
def programs_of_some_functions(jax):
    args = (np.ones((4, 2), np.float32), np.ones((2, 2, 3), np.float32), np.array([1, 3], np.int32))
    return jax.make_jaxpr(jax.lax.ragged_dot)(*args).eqns[-1].primitive.name


@case("[transpose(jvp(s))/jvp(s)]", "[transpose(jvp(s))]")
def name_stacks_of_checkpoints(jax):
    f = jax.named_scope("s")(jax.checkpoint(lambda x: jax.numpy.sin(jax.numpy.sin(x))))
    text = jax.make_jaxpr(jax.grad(f))(1.0).pretty_print(name_stack=True, use_color=False)
    return next(line for line in text.splitlines() if "remat2" in line)


@case("HloModule", "sin(")
def text_of_compiled_programs(jax):
    return jax.jit(jax.numpy.sin).lower(X).compile().as_text()


@case(0.0, float(np.float32(1e-40)))
def subnormal_numbers(jax):
    return float(jax.numpy.float32(1e-30) * jax.numpy.float32(1e-10))


@case("Array([-0., -0.], dtype=float32", "Array([0., 0.], dtype=float32")
def signs_of_quotients(jax):
    divide, rest = jax.numpy.floor_divide, jax.numpy.remainder
    return repr(jax.numpy.stack([divide(-1.0, -2.0), rest(-4.0, 2.0)]))


@case(False, True)
def divisors_of_the_least_integer(jax):
    return "u32[]" in str(jax.make_jaxpr(jax.numpy.gcd)(4, 6))


@case("Array(nan+nanj", "Array(0.+nanj")
def complex_infinities(jax):
    return repr(jax.numpy.tanh(jax.numpy.array(complex(0.0, np.inf))))


@case("jaxlib._jax.ArrayImpl", "tapeless.runtime.array.Array")
def class_of_arrays(jax):
    return repr(type(jax.numpy.ones(3)))


@case("NotImplementedError: Cannot call abstract method repeat", "key<fry>[4]")
def methods_of_keys(jax):
    return str(jax.typeof(jax.random.split(jax.random.key(0)).repeat(2)))


@case("(1,)", "TypeError: minval and maxval of uniform have at most the 0 axes")
def bounds_wider_than_the_shape(jax):
    return str(jax.random.uniform(jax.random.key(0), (), minval=jax.numpy.zeros(1)).shape)


@case("jax._src.core", "ModuleNotFoundError: No module named 'tapeless._src'")
def private_modules(jax):
    return repr(module(jax, "_src.core"))


@case("RuntimeError: jax_num_cpu_devices", 4)
def several_devices(jax):
    jax.devices()
    jax.config.update("jax_num_cpu_devices", 4)
    try:
        return jax.device_count()
    finally:
        jax.config.update("jax_num_cpu_devices", -1)


def on_a_mesh(jax):
    """Return an array that is divided along an explicit axis."""
    mesh = jax.make_mesh((1,), ("x",))
    return jax.device_put(X, jax.NamedSharding(mesh, jax.P("x")))


@case("NamedSharding", "SingleDeviceSharding")
def shardings_of_results(jax):
    return type((on_a_mesh(jax) + 1).sharding).__name__


@case("float32[3@x]", "float32[3]")
def shardings_in_types(jax):
    return str(jax.typeof(on_a_mesh(jax)))


@case("JaxRuntimeError: INVALID_ARGUMENT: No such compile option: 'xla_unknown'", True)
def options_of_xla(jax):
    return bool(jax.jit(jax.numpy.sin).lower(X).compile({"xla_unknown": 1}))


@case("device_put[", "{ lambda ; a:f32[]. let  in (a,) }")
def device_put(jax):
    return str(jax.make_jaxpr(jax.device_put)(1.0))


@case("(n,)", "NotImplementedError: symbolic shapes are not supported")
def symbolic_shapes(jax):
    return str(module(jax, "export").symbolic_shape("n"))


@case("ValueError: Checkify does not support batched while-loops", "too many")
def checkify_of_mapped_loops(jax):
    checkify = module(jax, "experimental.checkify")

    def f(n):
        def body(i):
            checkify.check(i < 5, "too many")
            return i + 1

        return jax.lax.while_loop(lambda i: i < n, body, 0)

    return checkify.checkify(jax.vmap(f))(np.arange(8))[0].get()


@case(None, "too large")
def checkify_of_gradients(jax):
    checkify = module(jax, "experimental.checkify")

    def f(x):
        def body(c, y):
            checkify.check(y < 5, "too large")
            return c * y, None

        return jax.lax.scan(body, x, np.arange(8, dtype=np.float32))[0]

    return checkify.checkify(jax.grad(f))(2.0)[0].get()


@case(12.0, 6.0)
def derivatives_of_reductions(jax):
    def half_of_product(x):
        return jax.lax.reduce(x, np.float32(0.5), jax.lax.mul, (0,))

    return float(jax.grad(half_of_product)(np.array([1, 2, 3, 4], np.float32))[1])


@case("complex64", "ValueError: Custom VJP bwd rule attached to")
def cotangents_of_custom_rules(jax):
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (jax.numpy.complex64(1j),))
    return str(jax.grad(f)(1.0).dtype)


@case("Encountered an unexpected tracer", 4.0)
def constants_of_captured_values(jax):
    def f(x):
        @jax.custom_jvp
        def g(y):
            return y * jax.lax.stop_gradient(x)

        g.defjvp(lambda p, t: (g(*p), p[0] * t[0]))
        return g(x) * x

    return float(jax.jvp(f, (1.0,), (1.0,))[1]) + float(jax.grad(f)(1.0))


@case(["list", "set"], ["tuple", "frozenset"])
def programs_as_data(jax):
    jaxpr = jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0)
    return [type(jaxpr.eqns).__name__, type(jaxpr.effects).__name__]


@case(False, True)
def long_associative_scans(jax):
    x = jax.numpy.zeros(10**4, np.float32)
    scanned = lambda x: jax.lax.associative_scan(jax.numpy.add, x)  # noqa: E731
    return "scan[" in str(jax.make_jaxpr(scanned)(x))


@case("ft_in=", "num_carry=")
def scan_in_print(jax):
    return str(jax.make_jaxpr(lambda x: jax.lax.map(jax.numpy.sin, x))(X))


@case(True, False)
def memories_of_devices(jax):
    return hasattr(jax.devices()[0], "default_memory")


@case([False] * 5, [True] * 5)
def names_of_our_own(jax):
    names = ("checks", "inspect", "profile", "progress", "stablehlo")
    return [hasattr(jax, name) for name in names]


@case((False, False), (True, True))
def results_of_primitives(jax):
    prim = jax.lax.neg_p
    return isinstance(prim.bind(X), tuple), prim.multiple_results


@case("JaxRuntimeError: ", "KeyError: 'lost'")
def errors_of_callbacks(jax):
    def fail(x):
        """Raise."""
        raise KeyError("lost")

    return jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(fail, x, x))(X))


@case("NotImplementedError: IO effect not supported in vmap-of-cond", "[0.0, 1.0, 2.0]")
def effects_of_common_branches(jax):
    call = functools.partial(module(jax, "experimental").io_callback, lambda x: x)
    branch = lambda flag, x: jax.lax.cond(flag, lambda x: call(x, x), lambda x: x, x)  # noqa: E731
    return str(jax.vmap(branch, (None, 0))(True, X).tolist())


@case("Exception: Ordered IO effects not supported in vmap", "[2.0, 3.0, 4.0] [0, 1]")
def ordered_calls_in_common_loops(jax):
    seen = []
    call = functools.partial(module(jax, "experimental").io_callback, seen.append, None)

    def step(count):
        """Call, and count."""
        call(count, ordered=True)
        return count + 1

    out = jax.vmap(lambda x: x + jax.lax.while_loop(lambda n: n < 2, step, 0))(X)
    jax.effects_barrier()
    return f"{out.tolist()} {[int(n) for n in seen]}"


@case("uint32", "key<fry>")
def keys_in_callbacks(jax):
    found = []
    f = jax.jit(lambda key: jax.debug.callback(lambda x: found.append(str(x.dtype)), key))
    f(jax.random.key(0))
    jax.effects_barrier()
    return found[0]


@case("1 0 3 2 4", "0 1 2 3 4")
def prints_of_batches(jax):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        jax.lax.map(lambda x: jax.debug.print("{}", x), jax.numpy.arange(5), batch_size=2)
        jax.effects_barrier()
    return " ".join(out.getvalue().split())


@case("{{}} {} 1\n", "{} 1\n")
def braces_before_fields(jax):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        jax.debug.print("{{}} {}", 1)
        jax.effects_barrier()
    return out.getvalue()


@case((12, 0), "ValueError: shapes must have non-negative extents, got (12, -1)")
def sizes_below_zero(jax):
    return jax.random.choice(jax.random.key(0), X, (12, -1), replace=False).shape


@case((), "TypeError: slice limit_indices must have length equal to the number of dimensions")
def limits_beyond_the_axes(jax):
    return jax.lax.slice(True, (), (-2,)).shape


@case((3,), "ValueError: axis -4 is out of bounds for array of dimension 1")
def axes_of_repeated_numbers(jax):
    return jax.numpy.repeat(1.5, 3, axis=-4).shape


@case("TypeError: rev dimensions must have every element be nonnegative, got (-1,).", "[[6, 5, 3]]")
def prefixes_backwards_along_the_last(jax):
    x = jax.numpy.arange(1, 4)[None]
    return str(jax.lax.associative_scan(jax.numpy.add, x, reverse=True, axis=-1).tolist())


@case("int32", "float32")
def transforms_of_numbers(jax):
    return str(module(jax, "scipy.fft").dctn(4).dtype)


@case((1, 1, 1, 3), (1, 1, 2, 3))
def indices_that_are_true(jax):
    return jax.numpy.ones((2, 3))[None, True].shape


@case("(inf-2j)", "(inf+nanj)")
def means_of_one_number(jax):
    return str(complex(jax.numpy.mean(np.array([complex(np.inf, -2)], np.complex64))))


@case((), "NameError: Found an unbound axis name: 3")
def axis_names_of_nothing(jax):
    return jax.lax.pswapaxes((), 3, 1)


@case(True, False)
def stages_of_functions(jax):
    assert jax.jit(jax.numpy.sin).lower(X).as_text()
    return hasattr(jax.numpy.sin, "lower")


@case("[nan, nan, -inf, -inf]", "[1.0, 0.0, inf, -138.155")
def limits_of_special_functions(jax):
    special, t = module(jax, "scipy.special"), module(jax, "scipy.stats.t")
    zetas = special.zeta(np.float32([np.inf, 1e30]), np.float32([1, 2])).tolist()
    return repr([*zetas, float(special.digamma(-0.0)), float(t.logpdf(1e20, 2.0))])


@case("6.0", "ValueError: numpy masked arrays are not supported")
def masks_of_arrays(jax):
    return str(jax.numpy.einsum("i->", np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False])))


@case("ValueError: max() ", ())
def gradients_by_nothing(jax):
    return jax.grad(lambda x: x, argnums=())(1.0)


@case("IndexError TypeError AssertionError", "ValueError ValueError ValueError")
def classes_of_errors(jax):
    x, scatter = np.ones((3, 3), np.float32), functools.partial(jax.lax.psum_scatter, tiled=True)
    calls = (
        lambda: jax.lax.reduce(x, np.float32(0), lambda a, b: a * b + 1, (2,)),
        lambda: jax.numpy.diagonal(x, axis1=0, axis2=0),
        lambda: jax.vmap(lambda row: scatter(row, "i"), axis_name="i")(x[:2]),
    )
    return " ".join(type(error_of(call)).__name__ for call in calls)


def error_of(call):
    """Return what a call raises."""
    try:
        return call()
    except Exception as error:
        return error


@case("ValueError: Triggering __jax_array__()", "[0.0, 2.0, 4.0]")
def objects_that_convert(jax):
    class Convertible:
        def __jax_array__(self):
            return jax.numpy.arange(3.0)

    return str(jax.numpy.add(X, Convertible()).tolist())


@case(6, 0)
def products_with_infinities(jax):
    return int(
        jax.numpy.isnan(module(jax, "scipy.linalg").toeplitz(np.array([np.inf, 1, 2]))).sum()
    )


@case(4, 2)
def partitions_of_products(jax):
    x = np.float32([3, np.nan, 1, -1, np.nan, 5])
    partition = jax.jit(lambda x: jax.numpy.partition(x * 2, 2))
    return int(jax.numpy.isnan(partition(x)).sum())


def outcome(function, jax):
    """Return what a case gives, or its error as text."""
    try:
        return function(jax)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def agrees(found, expected):
    """Tell whether an outcome is the one expected, or has the text expected in it."""
    if isinstance(expected, str) and isinstance(found, str):
        return expected in found
    return found == expected


@pytest.mark.parametrize("name", CASES)
def test_both_sides_are_as_written(name):
    function, there, here = CASES[name]
    found = outcome(function, oracle), outcome(function, tapeless)
    assert agrees(found[0], there), found[0]
    assert agrees(found[1], here), found[1]
    assert not agrees(found[0], here) or not agrees(found[1], there), "no difference"


def test_the_document_has_a_row_for_each_case():
    cases, _ = DOCUMENT.read_text("utf-8").split("## What the fuzzer does not compare")
    rows = re.findall(r"^\| `([a-z-]+)` \|", cases, re.MULTILINE)
    assert rows == list(CASES)


def test_sums_differ_in_their_last_places_only():
    x = np.random.default_rng(0).random(1_000_003, dtype=np.float32)
    exact = x.sum(dtype=np.float64)
    for jax in (oracle, tapeless):
        assert abs(float(jax.numpy.sum(jax.numpy.asarray(x))) - exact) < 1e-6 * exact


def test_the_document_lists_the_absent_names_and_the_reasons():
    absent = json.loads((ROOT / "tests" / "meta" / "names_absent.json").read_text())
    text = DOCUMENT.read_text("utf-8")
    assert not [name for name in absent if f"`{name}`" not in text]
    assert not [reason for reason in absent.values() if reason not in text]


# `jax2tf` and `source_mapper` need packages that JAX does not bring.
ABSENT_MODULES = [
    "experimental.array_serialization",
    "experimental.colocated_python",
    "experimental.compute_on",
    "experimental.scheduling_groups",
    "experimental.topologies",
    "experimental.transfer",
    "experimental.buffer_callback",
    "experimental.custom_partitioning",
    "experimental.fused",
    "experimental.mosaic",
    "experimental.pallas",
    "experimental.profiler",
    "experimental.roofline",
    "experimental.serialize_executable",
    "experimental.xla_metadata",
    "experimental.rnn",
    "experimental.key_reuse",
    "interpreters.pxla",
    "tools",
]


@pytest.mark.parametrize("name", ABSENT_MODULES)
def test_whole_modules_are_absent(name):
    assert module(oracle, name)
    with pytest.raises(ModuleNotFoundError, match=f"No module named 'tapeless.{name}'"):
        module(tapeless, name)
    assert f"`jax.{name}`" in DOCUMENT.read_text("utf-8")
