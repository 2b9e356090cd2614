"""jit: signatures, static and donated arguments, trees; on the native and the Python way."""

from __future__ import annotations

import dataclasses
import functools
import gc
import importlib
import warnings

import numpy as np
import pytest

import tapeless as jax
from tapeless.runtime import fastcall
from tests.api.situations import SITUATIONS, compilations

jnp = jax.numpy
CALLS = 40  # enough for the call stub to be linked and every route to be taken


@pytest.fixture(params=["native", "python"], autouse=True)
def way(request):
    """Run each test with the call stub, and with the Python code it stands in for."""
    if request.param == "native":
        fastcall.install()
        yield
    else:
        with fastcall.switched_off():
            yield


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_more_traces_than_jax(name):
    """A function is traced as often as JAX traces it, or less."""
    situation, by_jax, _ = SITUATIONS[name]
    assert situation(jax) <= by_jax


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_more_compilations_than_jax(name):
    """No more programs are compiled than JAX compiles, eager operations included."""
    situation, _, compiled_by_jax = SITUATIONS[name]
    assert 1 <= compilations(jax, situation) <= compiled_by_jax


@pytest.mark.oracle
@pytest.mark.parametrize("name", SITUATIONS)
def test_the_counts_are_those_of_jax(name):
    """The numbers beside the situations are what JAX gives."""
    oracle = importlib.import_module("jax")
    situation, by_jax, compiled_by_jax = SITUATIONS[name]
    assert compilations(oracle, situation) == compiled_by_jax
    assert situation(oracle) == by_jax


def test_repeated_calls_agree():
    """The first call and all later ones return the same."""
    f = jax.jit(lambda x, y: (x + y, x))
    x, y = jnp.arange(3.0), 2.5
    for _ in range(CALLS):
        total, same = f(x, y)
        np.testing.assert_array_equal(total, [2.5, 3.5, 4.5])
        np.testing.assert_array_equal(same, x)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (3, ("int32", True)),
        (2.5, ("float32", True)),
        (True, ("bool", False)),
        (np.float32(1.5), ("float32", False)),
        (np.int64(7), ("int32", False)),
        (np.float64(0.5), ("float32", False)),
        (1 + 2j, ("complex64", True)),
        (np.float16(1.5), ("float16", False)),
    ],
)
def test_scalars_pass_through(value, wanted):
    """A scalar comes out as an array of its value, dtype and weakness."""
    f = jax.jit(lambda x: x)
    for _ in range(3):
        out = f(value)
        assert (out.dtype.name, out.weak_type) == wanted
        assert out == value


def test_large_int_is_refused_each_time():
    """An int that does not fit int32 raises OverflowError, after calls that were right, too."""
    f = jax.jit(lambda x: x + 1)
    assert f(1) == 2
    assert f(2) == 3
    for _ in range(2):
        with pytest.raises(OverflowError):
            f(2**40)
    assert f(2**31 - 2) == 2**31 - 1


def test_static_values_choose_the_program():
    """Each static value has its own program; the right one is found again."""
    f = jax.jit(lambda x, n, y: x * n + y, static_argnums=1)
    for _ in range(3):
        for n in (2, 3, -1):
            np.testing.assert_array_equal(f(jnp.ones(2), n, 1.0), [n + 1.0] * 2)


def test_static_values_that_are_equal_have_types():
    """1, 1.0 and True choose three programs, by place and by name, as often as they come."""
    by_place = jax.jit(lambda x, n: x * n, static_argnums=1)
    by_name = jax.jit(lambda x, *, n: x * n, static_argnames="n")
    x = jnp.ones(2, jnp.int8)
    wanted = {int: "int8", float: "float32", bool: "int8"}
    for _ in range(CALLS):
        for kind, name in wanted.items():
            assert by_place(1, kind(1)).dtype == ("float32" if kind is float else "int32")
            assert by_place(x, kind(1)).dtype == by_name(x, n=kind(1)).dtype == name
    assert (by_place._cache_size(), by_name._cache_size()) == (6, 3)


def test_static_argument_must_be_hashable():
    """A list as a static argument is refused, also after valid calls."""
    f = jax.jit(lambda x, n: x, static_argnums=1)
    f(1.0, 2)
    f(1.0, 2)
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        f(1.0, [2])


def test_negative_and_named_static():
    """Static arguments counted from the end, and given by name."""
    last = jax.jit(lambda x, n: x * n, static_argnums=-1)
    named = jax.jit(lambda x, n=2: x * n, static_argnames="n")
    for _ in range(3):
        assert last(2.0, 3) == 6.0
        assert named(2.0) == 4.0
        assert named(2.0, n=5) == 10.0
        assert named(2.0, 7) == 14.0


def test_keywords_in_any_order():
    """Keyword arguments reach their names, whatever their order."""
    f = jax.jit(lambda x, *, b, a: x + 10 * a + 100 * b)
    for _ in range(3):
        assert f(1.0, a=2.0, b=3.0) == 321.0
        assert f(1.0, b=3.0, a=2.0) == 321.0


def test_missing_argument_is_python_s_error():
    """A call without a needed argument raises TypeError, after valid calls, too."""
    f = jax.jit(lambda x, y: x + y)
    f(1.0, 2.0)
    f(1.0, 2.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        f(1.0)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Point:
    """A point, as a tree."""

    x: object
    y: object


def test_trees_in_and_out():
    """Tuples, dicts, None and dataclasses are taken apart and put together again."""
    f = jax.jit(lambda p, d: {"sum": Point(p.x + d["a"][0], d["b"]), "none": None})
    for k in range(CALLS + 30):
        out = f(Point(float(k), 2.0), {"a": (jnp.float32(1.0), None), "b": np.ones(2, "float32")})
        assert out["none"] is None
        assert out["sum"].x == k + 1
        np.testing.assert_array_equal(out["sum"].y, [1.0, 1.0])


def test_numpy_arguments_are_copied():
    """A result that is the argument does not share memory with a NumPy argument."""
    f = jax.jit(lambda x: x)
    value = np.zeros(3, "float32")
    for _ in range(3):
        out = f(value)
        value += 1
        np.testing.assert_array_equal(out, value - 1)


def test_shapes_alternate():
    """A function that is called with two shapes in turn has a route for each."""
    f = jax.jit(lambda x: x.sum())
    for _ in range(4):
        assert f(jnp.ones(3)) == 3.0
        assert f(jnp.ones((2, 2))) == 4.0
    assert f._cache_size() == 2


def test_wide_types_have_their_own_programs():
    """64-bit mode changes what a Python float is, from one call to the next."""
    f = jax.jit(lambda x: x)
    for _ in range(3):
        assert f(1.0).dtype == np.float32
        with jax.enable_x64(True):
            assert f(1.0).dtype == np.float64


def test_disable_jit_calls_the_function():
    """Without jit the Python function runs at each call, whatever routes there are."""
    seen = []
    f = jax.jit(lambda x: seen.append(x) or x)
    for _ in range(3):
        f(1.0)
    assert len(seen) == 1
    with jax.disable_jit():
        f(2.0)
        f(3.0)
    assert seen[1:] == [2.0, 3.0]


def test_under_a_transformation_it_is_an_equation():
    """A compiled function that has routes is staged, differentiated and mapped all the same."""
    f = jax.jit(lambda x: x * x)
    for _ in range(3):
        f(3.0)
    assert "jit" in str(jax.make_jaxpr(f)(3.0))
    assert jax.grad(f)(3.0) == 6.0
    np.testing.assert_array_equal(jax.vmap(f)(jnp.arange(3.0)), [0.0, 1.0, 4.0])


def test_methods_and_cleared_caches():
    """A compiled method binds its instance; after clear_caches functions are traced anew."""

    class Scale:
        """Something with a compiled method."""

        @jax.jit(static_argnums=0)
        def product(self, x, y):
            """Multiply."""
            return x * y

    scale = Scale()
    for _ in range(3):
        assert scale.product(2.0, 3.0) == 6.0
    f = jax.jit(lambda x: x + 1)
    for _ in range(3):
        assert f(1.0) == 2.0
    jax.clear_caches()
    assert f._cache_size() == 0
    assert f(1.0) == 2.0


def test_donation_deletes():
    """A donated argument is gone; its shape is not."""
    f = jax.jit(lambda x, y: x + y, donate_argnums=0)
    x = jnp.ones(3)
    np.testing.assert_array_equal(f(x, jnp.ones(3)), [2.0, 2.0, 2.0])
    assert x.is_deleted()
    assert x.shape == (3,)
    for use in (lambda: x + 1, lambda: np.asarray(x), lambda: jax.jit(jnp.sin)(x)):
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]\."):
            use()


def test_donated_memory_with_a_view_is_left_alone():
    """NumPy arrays over a donated argument keep their elements, and the argument stays valid."""
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3)
    view = np.asarray(x)[1:]
    np.testing.assert_array_equal(f(x), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(view, [1.0, 1.0])
    assert not x.is_deleted()


def test_donated_memory_of_two_arrays_is_left_alone():
    """An array that shares its memory with a donated one keeps its elements."""
    x = jnp.ones(3)
    same = jax.jit(lambda x: x)(x)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(same, [1.0, 1.0, 1.0])


def test_donating_twice_is_refused():
    """One array cannot be donated and be another argument."""
    f = jax.jit(lambda x, y: x + y, donate_argnums=0)
    x = jnp.ones(3)
    with pytest.raises(
        jax.errors.JaxRuntimeError, match=r"previously donated in the same call .*argument 1"
    ):
        f(x, x)


def test_donation_in_repeated_calls():
    """A step that hands on its state gives up each state, and only what nobody else looks at."""
    step = jax.jit(
        lambda state, x: {"n": state["n"] + 1, "sum": state["sum"] + x}, donate_argnums=0
    )
    state, total = {"n": jnp.zeros((), int), "sum": jnp.zeros(50)}, 0.0
    views = []
    for number in range(CALLS):
        before = state
        view = np.asarray(state["sum"]) if number % 5 == 4 else None
        state = step(state, float(number))
        assert before["n"].is_deleted()
        assert before["sum"].is_deleted() == (view is None)
        if view is not None:
            views.append((view, total))
        total += number
    np.testing.assert_array_equal(state["sum"], np.full(50, total))
    assert int(state["n"]) == CALLS
    assert all(np.all(view == value) for view, value in views)


def test_a_donated_array_is_given_once_however_often_it_was_called():
    """After many calls, an array given twice or deleted is refused, and no other one is lost."""
    f = jax.jit(lambda x, y: x + y, donate_argnums=0)
    y = jnp.ones(3)
    for _ in range(CALLS):
        f(jnp.ones(3), y)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"previously donated in the same call"):
        f(y, y)
    gone, kept = jnp.ones(3), jnp.ones(3)
    f(gone, y)
    for args in ((gone, y), (kept, gone)):
        with pytest.raises(RuntimeError, match="Array has been deleted"):
            f(*args)
    assert not kept.is_deleted() and not y.is_deleted()


def test_a_donated_array_is_gone_if_the_program_fails():
    """What a failing program may have written to is given up, as in the first call."""

    def fail(x):
        if x[0] > 1:
            raise ValueError("too large")
        return x

    kind = jax.ShapeDtypeStruct((3,), "float32")
    f = jax.jit(lambda x: jax.pure_callback(fail, kind, x) + x, donate_argnums=0)
    for _ in range(CALLS):
        f(jnp.ones(3))
    x = jnp.full(3, 2.0)
    with pytest.raises(Exception, match="too large"):
        f(x)
    assert x.is_deleted()


def test_static_values_by_name_take_their_own_way():
    """Static and other arguments by name, in any order, with positions that are static as well."""
    f = jax.jit(lambda x, n=1, *, y=0.0, k=0: x * n + y * 10 + k, static_argnames=("n", "k"))
    x = jnp.ones(2)
    for number in range(CALLS):
        n, k, y = number % 3, number % 2, jnp.full(2, float(number))
        expected = np.asarray(n + 10.0 * number + k) * np.ones(2)
        np.testing.assert_array_equal(f(x, n=n, y=y, k=k), expected)
        np.testing.assert_array_equal(f(x, n, k=k, y=y), expected)
        np.testing.assert_array_equal(f(y=y, k=k, n=n, x=x), expected)
        np.testing.assert_array_equal(f(x, y=y), 1 + 10.0 * number)
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        f(x, n=[2])


def test_comparing_static_values_may_fail():
    """An error of a static value's `__eq__` is told as JAX tells it, in early and late calls."""

    class Setting:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise RuntimeError("no idea")

    f = jax.jit(lambda x, *, how: x + 1, static_argnames="how")
    how = Setting()
    for _ in range(CALLS):
        assert f(1.0, how=how) == 2.0
        with pytest.raises(ValueError, match=r"(?s)comparable using __eq__.*no idea"):
            f(1.0, how=Setting())


def test_useless_donation_warns():
    """A donated argument without a result of its type is kept, with a warning."""
    f = jax.jit(lambda x: x.sum(), donate_argnums=0)
    x = jnp.ones(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(x)
    assert "Some donated buffers were not usable: float32[3]." in str(caught[0].message)
    assert not x.is_deleted()


def test_compiler_options():
    """Each effort gives the same bits; an unknown option raises."""
    x = jnp.linspace(0.1, 3.0, 50)
    results = [
        np.asarray(jax.jit(jnp.sin, compiler_options={"effort": effort})(x)) for effort in (0, 1, 2)
    ]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    with pytest.raises(jax.errors.JaxRuntimeError, match="No such compile option: 'speed'"):
        jax.jit(jnp.sin, compiler_options={"speed": 9})


def test_dead_functions_are_forgotten():
    """Programs go with their functions."""
    from_before = len(gc.get_objects())
    for k in range(200):
        jax.jit(lambda x, k=k: x * 2.0)(1.0)
    gc.collect()
    assert len(gc.get_objects()) - from_before < 200 * 20


@pytest.mark.parametrize("donated", [{"donate_argnums": 0}, {"donate_argnames": ("y", "x")}])
def test_static_arguments_are_not_donated(donated):
    with pytest.raises(ValueError, match="Argument names {'x'} appear in both"):
        jax.jit(lambda x, y: x + y, static_argnums=0, **donated)


def test_static_names_have_no_leaves():
    """Names of arguments are those of leaves, in messages and where unused ones are left out."""
    scaled = jax.jit(lambda a, b, *, n: a * n, static_argnames="n")
    with pytest.raises(TypeError, match="at path b"):
        jax.jit(lambda a, b: b, static_argnames="a")(b=object(), a=1)
    with pytest.raises(TypeError, match="at path b"):
        scaled(1.0, object(), n=2)

    def chosen(x, y):
        return jax.lax.cond(y > 0, lambda a: a * scaled(x, x, n=2), lambda a: a, x)

    assert jax.grad(chosen)(3.0, 1.0) == 12.0
    assert scaled.trace(1.0, 2.0, n=3).jaxpr.debug.arguments == ("a", "b")
    assert jax.grad(lambda x: jax.lax.cond(x > 0, _empty_sum, jax.numpy.sin, x))(1.0) == 0.0


def _empty_sum(x):
    """Return zero, in a way that needs an argument only for its dtype."""
    return x * jax.numpy.linspace(0.0, 1.0, 0).sum()


def test_results_are_committed_to_out_shardings():
    mesh = jax.make_mesh((1,), ("x",))
    place = jax.sharding.NamedSharding(mesh, jax.P("x"))

    @functools.partial(jax.jit, out_shardings=place, static_argnums=1)
    def f(x, n):
        return {"a": x * n}

    x = jax.numpy.ones(3)
    assert f(x, 2)["a"].sharding == place and f(x, 3)["a"].committed
    assert jax.jit(jax.grad(lambda x: f(x, 2)["a"].sum()))(x).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="non-empty mesh"):
        jax.jit(lambda x: x, out_shardings=jax.P("x"))(x)


def test_out_shardings_and_checks_go_together():
    place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    f = jax.jit(lambda x, i: x[i], out_shardings=place, compiler_options={"checks": "index"})
    assert f(jax.numpy.arange(3), 1) == 1
    with pytest.raises(IndexError):
        f(jax.numpy.arange(3), 5)


def test_numbers_of_arguments_may_be_numpy_integers():
    f = jax.jit(lambda x, n: x * n, static_argnums=np.int64(1))
    assert f(2.0, 3) == 6
    with pytest.raises(TypeError):
        jax.jit(lambda x, n: x * n, static_argnums=1.5)


@pytest.mark.parametrize(
    "call", [jax.jit(lambda x: x), jax.grad(lambda x: x.sum()), jax.vmap(jax.numpy.sin)]
)
def test_masked_arrays_are_no_arguments(call):
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for _ in range(3):
        with pytest.raises(ValueError, match="masked arrays are not supported"):
            call(masked)
    assert np.shape(call(masked.filled(0).astype(np.float32))) == (2,)


def test_static_numbers_may_be_an_array() -> None:
    function = jax.jit(lambda n, x: x * n, static_argnums=np.array([0]))
    assert function(3, 2.0) == 6
