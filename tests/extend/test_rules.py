"""Primitives of libraries: evaluated, compiled, differentiated and mapped by rules in tables."""

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.extend import core
from tapeless.extend.linear_util import StoreException, transformation, wrap_init
from tapeless.interpreters import ad, batching, mlir, partial_eval, xla

X = np.array([0.5, 1.0, 2.0], np.float32)
TABLE = np.array([1.0, 10.0, 100.0], np.float32)


def scaled_sine():
    """Return a primitive that multiplies a sine by a table, with all rules."""
    prim = core.Primitive("scaled_sine")
    table = jnp.asarray(TABLE)
    prim.def_impl(lambda x: jnp.sin(x) * table)
    prim.def_abstract_eval(lambda x: x)
    mlir.register_lowering(prim, mlir.lower_fun(prim.impl, multiple_results=False))
    ad.defjvp(prim, lambda tangent, x: tangent * jnp.cos(x) * table)
    batching.defvectorized(prim)
    return prim


def test_all_transformations_compose():
    prim = scaled_sine()
    expected = np.sin(X) * TABLE
    np.testing.assert_allclose(prim.bind(X), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(prim.bind)(X), expected, rtol=1e-6)
    gradient = jax.jit(jax.grad(lambda x: prim.bind(x).sum()))(X)
    np.testing.assert_allclose(gradient, np.cos(X) * TABLE, rtol=1e-6)
    rows = np.stack([X, 2 * X])
    mapped = jax.jit(jax.vmap(prim.bind))(rows)
    np.testing.assert_allclose(mapped, np.sin(rows) * TABLE, rtol=1e-6)


def test_a_lowering_may_return_its_operand_twice_and_a_constant():
    prim = core.Primitive("copies")
    prim.multiple_results = True
    prim.def_abstract_eval(lambda x: [x, x, x, x])
    mlir.register_lowering(prim, mlir.lower_fun(lambda x: [x, x + 1, x, jnp.asarray(TABLE)]))
    same, more, again, table = jax.jit(lambda x: prim.bind(x))(X)
    np.testing.assert_array_equal([same, more, again, table], [X, X + 1, X, TABLE])


def test_linear_primitives_are_transposed_by_their_rule():
    prim = core.Primitive("thrice")
    prim.def_impl(lambda x: 3 * x)
    prim.def_abstract_eval(lambda x: x)
    seen = []

    def transpose(ct, x):
        """Note the argument."""
        seen.append((ad.is_undefined_primal(x), x.aval.shape))
        return [3 * ct]

    ad.deflinear2(prim, transpose)
    np.testing.assert_array_equal(jax.grad(lambda x: prim.bind(x).sum())(X), [3, 3, 3])
    assert seen == [(True, (3,))]


def test_a_bilinear_primitive_broadcasts_its_rows():
    prim = core.Primitive("product")
    prim.def_impl(lambda x, y: x * y)
    prim.def_abstract_eval(lambda x, y: x)
    ad.defbilinear(prim, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
    batching.defbroadcasting(prim)
    x, y = jax.grad(lambda x, y: prim.bind(x, y).sum(), (0, 1))(X, TABLE)
    np.testing.assert_array_equal([x, y], [TABLE, X])
    found = jax.vmap(prim.bind, in_axes=(1, None))(np.stack([X, X], 1), TABLE)
    np.testing.assert_array_equal(found, [X * TABLE, X * TABLE])


def test_axis_batchers_learn_the_size_and_the_name():
    prim = core.Primitive("size")
    prim.def_abstract_eval(lambda x: x)
    prim.def_impl(lambda x: x)
    batching.axis_primitive_batchers[prim] = lambda size, name, _, args, dims: (
        args[0] * (size if name == "rows" else 0),
        dims[0],
    )
    found = jax.vmap(prim.bind, axis_name="rows")(X)
    np.testing.assert_array_equal(found, 3 * X)


def test_what_is_missing_is_said_in_words_of_jax():
    prim = core.Primitive("bare")
    with pytest.raises(NotImplementedError, match="Evaluation rule for 'bare' not implemented"):
        prim.bind(X)
    with pytest.raises(NotImplementedError, match="Abstract evaluation for 'bare' not"):
        jax.jit(prim.bind)(X)
    prim.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="MLIR translation rule for primitive 'bare' not"):
        jax.jit(prim.bind)(X)
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'bare' not"):
        jax.jvp(prim.bind, (X,), (X,))
    with pytest.raises(NotImplementedError, match="Batching rule for 'bare' not"):
        jax.vmap(prim.bind)(X)
    mlir.register_lowering(prim, lambda ctx, x: [x])
    with pytest.raises(NotImplementedError, match="writes MLIR"):
        jax.jit(prim.bind)(X)
    with pytest.raises(TypeError, match="made by jax.extend.core.Primitive"):
        ad.primitive_jvps["sin"] = prim.bind


def test_an_implementation_may_be_the_lowering():
    prim = core.Primitive("compiled")
    prim.def_impl(lambda *args: xla.apply_primitive(prim, *args))
    prim.def_abstract_eval(lambda x: x)
    mlir.register_lowering(prim, mlir.lower_fun(jnp.exp, multiple_results=False))
    np.testing.assert_allclose(prim.bind(X), np.exp(X), rtol=1e-6)


def test_interpreters_walk_programs_with_them():
    prim = scaled_sine()
    jaxpr = jax.make_jaxpr(lambda x: prim.bind(x) + 1)(X)
    env = dict(zip(jaxpr.invars, [X], strict=True))
    for eqn in jaxpr.eqns:
        values = [a.val if isinstance(a, core.Literal) else env[a] for a in eqn.invars]
        outs = eqn.primitive.bind(*values, **eqn.primitive.get_bind_params(eqn.params))
        env.update(
            zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs], strict=True)
        )
    assert jaxpr.eqns[0].primitive is prim
    np.testing.assert_allclose(env[jaxpr.outvars[0]], np.sin(X) * TABLE + 1, rtol=1e-6)
    np.testing.assert_allclose(core.jaxpr_as_fun(jaxpr)(X)[0], np.sin(X) * TABLE + 1, rtol=1e-6)


def test_programs_have_the_names_that_interpreters_of_jax_read():
    constant = jax.numpy.arange(3.0)

    def f(x):
        """Add a constant in a scope."""
        with jax.named_scope("scope"):
            return x + constant

    jaxpr = jax.make_jaxpr(f)(X)
    assert jaxpr.eqns[0].source_info.name_stack == "scope"
    assert (jaxpr.debug_info.func_name, jaxpr.debug_info.arg_names) == ("f", ("x",))
    assert jaxpr.num_consts == 1
    doubled = jaxpr.with_consts([2 * constant])
    np.testing.assert_allclose(core.jaxpr_as_fun(doubled)(X)[0], X + 2 * np.arange(3), rtol=1e-6)
    with pytest.raises(ValueError, match="1 constants are wanted, got 0"):
        jaxpr.with_consts([])
    weak = jax.typeof(2.0)
    assert weak.strip_weak_type().update_weak_type(True) is weak
    assert weak.strip_weak_type().weak_type is False


def test_partial_evaluation_keeps_what_is_known():
    pvals = [
        partial_eval.PartialVal.known(2.0),
        partial_eval.PartialVal.unknown(core.mapped_aval(1, None, jax.typeof(X))),
    ]
    fun = wrap_init(lambda x, y: [x * 3, x * y])
    jaxpr, outs, consts = partial_eval.trace_to_jaxpr_nounits(fun, pvals)
    assert outs[0].is_known() and float(outs[0][1]) == 6.0
    assert outs[1].get_aval().shape == (3,)
    np.testing.assert_array_equal(jax.core.eval_jaxpr(jaxpr, consts, X)[0], 2 * X)


def test_layers_of_functions_run_outside_in():
    @transformation
    def doubled(*args):
        """Double the arguments and the result."""
        result = yield tuple(2 * x for x in args), {}
        yield 2 * result

    assert doubled(wrap_init(lambda x: x + 1)).call_wrapped(3) == 14
    flat, out_tree = jax.api_util.flatten_fun_nokwargs(
        wrap_init(lambda x: {"a": x}), jax.tree.structure((0,))
    )
    with pytest.raises(StoreException):
        out_tree()
    assert flat.call_wrapped(1) == [1]


def test_values_known_while_tracing_are_computed_at_once():
    def function(x):
        """Look at a known value."""
        with jax.ensure_compile_time_eval():
            count = int((jnp.arange(3) + 1).max())
            y = x * count
        return y + 1

    np.testing.assert_array_equal(jax.jit(function)(X), 3 * X + 1)
    np.testing.assert_array_equal(jax.vmap(function)(X), 3 * X + 1)
    np.testing.assert_array_equal(jax.grad(lambda x: function(x).sum())(X), [3, 3, 3])


def test_a_backward_rule_under_vmap_sees_scalars_and_integer_results():
    @jax.custom_vjp
    def function(x, n):
        """Return a product and a count."""
        return x * n, n

    def forward(x, n):
        """Keep a Python bool."""
        return function(x, n), (True, n)

    def backward(kept, cts):
        """Branch on it."""
        flag, n = kept
        return (cts[0] * n if flag else None), np.zeros(np.shape(n), jax.float0)

    function.defvjp(forward, backward)
    gradient = jax.grad(lambda x: jax.vmap(lambda x: function(x, 3)[0])(x).sum())(X)
    np.testing.assert_array_equal(gradient, [3, 3, 3])
    moved = jax.jvp(lambda n: n + 1, (np.int32(1),), (np.zeros((), jax.float0),))[1]
    assert moved.dtype == jax.float0


def test_rules_run_each_time_and_may_be_replaced() -> None:
    prim = core.Primitive("tripled")
    prim.def_impl(lambda x: 3.0 * x)
    prim.def_abstract_eval(lambda x: x)
    mlir.register_lowering(prim, mlir.lower_fun(prim.impl, multiple_results=False))
    ad.primitive_jvps[prim] = lambda primals, tangents: (
        prim.bind(*primals),
        prim.bind(*tangents) * factor,
    )
    ad.primitive_transposes[prim] = lambda ct, _: [ct * factor]
    for factor in (5.0, 7.0):
        assert jax.grad(jax.jit(lambda x: prim.bind(x)))(np.float32(1)) == factor**2
    ad.primitive_jvps[prim] = lambda primals, tangents: (prim.bind(*primals), tangents[0])
    assert jax.grad(jax.jit(lambda x: prim.bind(x)))(np.float32(1)) == 1.0


def test_a_rule_for_an_operation_of_the_house_runs_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (eqn,) = jax.make_jaxpr(jnp.real)(np.complex64(1)).eqns
    for name in ("transpose", "rules_vary"):  # to be restored
        monkeypatch.setitem(vars(eqn.primitive), name, getattr(eqn.primitive, name))
    assert jax.grad(jax.jit(lambda x: 2.0 * jnp.real(x)))(np.complex64(1)) == 2.0
    for factor in (5.0, 7.0):
        ad.primitive_transposes[eqn.primitive] = lambda ct, _: [(ct * factor).astype("c8")]  # noqa: B023
        assert jax.grad(jax.jit(lambda x: 2.0 * jnp.real(x)))(np.complex64(1)) == 2.0 * factor
