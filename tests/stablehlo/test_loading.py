"""`stablehlo.load`: the modules that this package prints, calls, and errors of evaluation."""

import re

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax, stablehlo
from tests.golden.programs import HLO_PROGRAMS, PROGRAMS

X = np.array([0.5, 1.5, 2.5], np.float32)
ADD = """
module @m {
  func.func public @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %x, %y : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
"""


def function(body, arguments="%x: tensor<3xf32>", result="tensor<3xf32>", value="%r"):
    """Return a module with one function."""
    return f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn {value} : {result}\n}}"


@pytest.mark.parametrize("name", HLO_PROGRAMS)
@pytest.mark.parametrize("debug_info", [False, True])
def test_modules_of_this_package_have_the_same_values(name, debug_info):
    made, args = PROGRAMS[name](jax)
    compiled = jax.jit(made, keep_unused=True)
    loaded = stablehlo.load(compiled.lower(*args).as_text(debug_info=debug_info))
    expected = jax.tree_util.tree_leaves(compiled(*args))
    found = jax.tree_util.tree_leaves(loaded(*args))
    for x, y in zip(expected, found, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-6, atol=1e-6)


def test_a_loaded_module_is_a_function_like_any_other():
    f = stablehlo.load(ADD)
    np.testing.assert_array_equal(X + X, f(X, X))
    np.testing.assert_array_equal(X + X, jax.jit(f)(X, X))
    np.testing.assert_array_equal(np.stack([X + X] * 2), jax.vmap(f)(*[np.stack([X, X])] * 2))
    np.testing.assert_array_equal(np.ones(3), jax.grad(lambda x: f(x, X).sum())(X))
    assert "stablehlo.add" in jax.jit(f).lower(X, X).as_text()
    assert repr(f) == "<StableHLO module m: (f32[3], f32[3]) -> (f32[3])>"
    assert (f.name, f.in_avals[0].shape, f.out_avals[0].dtype) == ("main", (3,), np.float32)


def test_wide_modules_are_transformed_outside_their_mode():
    """Elements of 64 bits keep their type under vmap and grad where the mode has 32."""
    with jax.enable_x64(True):
        text = jax.jit(lambda x: lax.sin(x) * 2.5).lower(1.0).as_text()
        rows = jax.numpy.arange(3.0)
    loaded = stablehlo.load(text)
    for f, expected in ((loaded, np.sin), (jax.grad(loaded), np.cos)):
        for g in (jax.vmap(f), jax.jit(jax.vmap(f)), jax.vmap(jax.jit(f))):
            assert g(rows).dtype == np.float64
            np.testing.assert_allclose(g(rows), expected(np.arange(3.0)) * 2.5, rtol=1e-14)


def test_loops_that_count_become_scans_and_others_stay_loops():
    def counted(x):
        return lax.fori_loop(0, 3, lambda i, c: c * x, x)

    def open_ended(x, n):
        return lax.fori_loop(0, n, lambda i, c: c * x, x)

    loaded = stablehlo.load(jax.jit(counted).lower(np.float32(2)).as_text())
    assert loaded(2.0) == 16
    assert jax.grad(loaded)(2.0) == 32
    text = jax.jit(open_ended).lower(np.float32(2), np.int32(1)).as_text()
    loaded = stablehlo.load(text)
    assert loaded(np.float32(2), np.int32(3)) == 16
    assert jax.jvp(lambda x: loaded(x, np.int32(3)), (2.0,), (1.0,))[1] == 32


@pytest.mark.parametrize("index, expected", [(0, 1), (1, 2), (5, 2), (-1, 2)])
def test_a_case_without_a_branch_takes_the_last_one(index, expected):
    body = """%a = stablehlo.constant dense<1.0> : tensor<f32>
    %b = stablehlo.constant dense<2.0> : tensor<f32>
    %r = "stablehlo.case"(%i) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return %b : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>"""
    f = stablehlo.load(function(body, "%i: tensor<i32>", "tensor<f32>"))
    assert f(np.int32(index)) == expected


def test_an_order_that_is_no_key_is_sorted_by_ranks():
    body = """%r = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.sine %a : tensor<f32>
      %q = stablehlo.sine %b : tensor<f32>
      %l = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    }) : (tensor<5xf32>) -> tensor<5xf32>"""
    f = stablehlo.load(function(body, "%x: tensor<5xf32>", "tensor<5xf32>"))
    x = np.array([3.0, 1.0, 5.0, 2.0, 0.5], np.float32)
    np.testing.assert_array_equal(x[np.argsort(np.sin(x), kind="stable")], f(x))
    np.testing.assert_array_equal(f(x), jax.vmap(f)(np.stack([x, -x]))[0])


@pytest.mark.parametrize("direction, sign", [("LT", 1), ("GT", -1)])
def test_a_total_order_tells_zeros_and_nans_apart(direction, sign):
    body = f"""%r = "stablehlo.sort"(%x) <{{dimension = 0 : i64}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %l = stablehlo.compare {direction}, %a, %b, TOTALORDER :
        (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    }}) : (tensor<6xf32>) -> tensor<6xf32>"""
    f = stablehlo.load(function(body, "%x: tensor<6xf32>", "tensor<6xf32>"))
    expected = np.array([-np.nan, -np.inf, -0.0, 0.0, 1, np.nan], np.float32)
    expected[0] = np.copysign(expected[0], -1)
    found = np.asarray(f(expected[[3, 0, 5, 2, 4, 1]]))
    np.testing.assert_array_equal(expected[::sign].view(np.int32), found.view(np.int32))


def test_batch_normalization_and_older_operations():
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    body = """%v = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %n:3 = "stablehlo.batch_norm_training"(%x, %v, %v) <{epsilon = 0.5 : f32, feature_index = 1 : i64}>
      : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    %t = "stablehlo.tuple"(%n#0, %n#1) : (tensor<4x3xf32>, tensor<3xf32>) -> tuple<tensor<4x3xf32>, tensor<3xf32>>
    %g = stablehlo.get_tuple_element %t[0] : (tuple<tensor<4x3xf32>, tensor<3xf32>>) -> tensor<4x3xf32>
    %r = stablehlo.dot %g, %v : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>"""  # noqa: E501
    f = stablehlo.load(function(body, "%x: tensor<4x3xf32>", "tensor<4xf32>"))
    v = np.array([1, 2, 3], np.float32)
    expected = ((x - x.mean(0)) / np.sqrt(x.var(0) + 0.5) * v + v) @ v
    np.testing.assert_allclose(expected, f(x), rtol=1e-5)


def test_the_gradient_of_a_batch_normalization_is_its_derivative():
    kinds = "tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>"
    settings = "<{epsilon = 0.5 : f32, feature_index = 1 : i64}>"
    training = stablehlo.load(
        function(
            f"""%n:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {settings} :
            ({kinds}) -> ({kinds})
            %r = stablehlo.add %n#0, %n#0 : tensor<4x3xf32>""",
            "%x: tensor<4x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>",
            "tensor<4x3xf32>",
        )
    )
    x = np.sin(np.arange(12, dtype=np.float32)).reshape(4, 3)
    scale, ct = np.array([1, 2, 3], np.float32), x.T.reshape(4, 3).copy()
    expected = jax.vjp(training, x, scale, scale)[1](ct)
    gradient = stablehlo.load(
        f"""func.func @main(%x: tensor<4x3xf32>, %s: tensor<3xf32>, %m: tensor<3xf32>,
          %v: tensor<3xf32>, %g: tensor<4x3xf32>) -> ({kinds}) {{
        %r:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {settings} :
          ({kinds}, tensor<3xf32>, tensor<4x3xf32>) -> ({kinds})
        return %r#0, %r#1, %r#2 : {kinds}
        }}"""
    )
    for one, other in zip(expected, gradient(x, scale, x.mean(0), x.var(0), 2 * ct), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_sums_of_products_by_letters():
    body = """%t = stablehlo.unary_einsum %m, config = "ij->ji" :
      (tensor<2x3xf32>) -> tensor<3x2xf32>
    %r = stablehlo.einsum %m, %t, config = "ij,jk->ik" :
      (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>"""
    m = np.arange(6, dtype=np.float32).reshape(2, 3)
    f = stablehlo.load(function(body, "%m: tensor<2x3xf32>", "tensor<2x2xf32>"))
    np.testing.assert_array_equal(m @ m.T, f(m))


@pytest.mark.parametrize("element", ["1.0", "0x3F800000", '"0x0000803F"'])
def test_equal_elements_take_no_memory(element):
    n = 10**10
    body = f"""%c = stablehlo.constant dense<{element}> : tensor<{n}xf32>
    %r = stablehlo.slice %c [5:8] : (tensor<{n}xf32>) -> tensor<3xf32>"""
    np.testing.assert_array_equal(np.ones(3), stablehlo.load(function(body))(X))


def test_huge_attributes_and_arrays_are_refused():
    body = """%r = "stablehlo.reverse"(%x) <{dimensions = dense<0> : tensor<9999999999xi64>}> :
      (tensor<3xf32>) -> tensor<3xf32>"""
    with pytest.raises(ValueError, match="line 2.*an attribute of 9999999999 elements"):
        stablehlo.load(function(body))
    body = "%r = stablehlo.constant dense<0.0> : tensor<999999999999999x9999xf32>"
    with pytest.raises(ValueError, match="line 2.*larger than any memory"):
        stablehlo.load(function(body))


def test_arguments_of_other_types_are_refused():
    f = stablehlo.load(ADD)
    with pytest.raises(TypeError, match="m takes 2 arrays, got 1"):
        f(X)
    with pytest.raises(TypeError, match=r"argument 1 of m must be f32\[3\], got f32\[2\]"):
        f(X, X[:2])
    with pytest.raises(TypeError, match=r"argument 0 of m must be f32\[3\], got i32\[3\]"):
        f(X.astype(np.int32), X)
    with pytest.raises(TypeError, match="argument 1 of m is no array"):
        f(X, "x")
    wide = stablehlo.load(ADD.replace("f32", "f64"))
    with pytest.raises(TypeError, match=r"must be f64\[3\], got f32\[3\].*enable_x64\(True\)"):
        wide(X.astype(float), X.astype(float))


WRONG = {
    "%r = stablehlo.add %x, %y : tensor<3xf32>": "line 2.*the value %y is not defined here",
    "%r = stablehlo.sine %x : tensor<4xf32>": r"line 2.*f32\[4\] is declared, but .* f32\[3\]",
    "%r = stablehlo.transpose %x, dims = [1] : (tensor<3xf32>) -> tensor<3xf32>": "2.*transpose",
    "%r = stablehlo.slice %x [0:9] : (tensor<3xf32>) -> tensor<9xf32>": "line 2.*slice",
    '%r = "stablehlo.reverse"(%x) : (tensor<3xf32>) -> tensor<3xf32>': "dimensions is missing",
    "%r = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>": "no function @f",
    "%r = call @main(%x) : (tensor<3xf32>) -> tensor<3xf32>": "@main calls itself",
    "%r = stablehlo.constant dense<[1.0]> : tensor<3xf32>": "3 elements, but 1 are written",
    "%r = stablehlo.constant dense<1> : tensor<3xi1>": r"bool\[3\]|f32\[3\]",
    '%r = stablehlo.constant dense<"0x12"> : tensor<3xf32>': "1 bytes for 3 elements",
    "%r = stablehlo.sine %x : tensor<3xf32>\n" * 2: "line 3.*the value %r is defined twice",
    "%x = stablehlo.sine %x : tensor<3xf32>": "line 2.*the value %x is defined twice",
    f"%r = stablehlo.constant dense<{'9' * 5000}> : tensor<3xi32>": "line 2.*fewer digits",
    f"%r = stablehlo.iota dim = {'9' * 30} : tensor<3xf32>": "line 2.*there is no axis",
    '%r = "stablehlo.while"(%x) ({}) : (tensor<3xf32>) -> tensor<3xf32>': "line 2.*must end with",
    "\ud800": r"line 2, column \d+: unexpected character",
}


@pytest.mark.parametrize("line", WRONG)
def test_modules_that_do_not_fit_together_say_where(line):
    with pytest.raises(ValueError, match=f"(?s)StableHLO text, .*{WRONG[line]}"):
        stablehlo.load(function(line))


def nested(levels):
    """Return a module of branches within branches."""
    end = "{ stablehlo.return %x : tensor<3xf32> }) : (tensor<i1>) -> tensor<3xf32>\n"
    return "\n".join((
        "%true = stablehlo.constant dense<true> : tensor<i1>",
        *(f'%r{i or ""} = "stablehlo.if"(%true) ({{' for i in range(levels)),
        "stablehlo.return %x : tensor<3xf32>",
        *(f"}}, {end}stablehlo.return %r{i} : tensor<3xf32>" for i in range(levels - 1, 0, -1)),
        f"}}, {end}",
    ))  # fmt: skip


def calls(levels):
    """Return a module of functions that call one another."""
    kind = "(tensor<3xf32>) -> tensor<3xf32>"
    bodies = [f"%r = func.call @f{i}(%x) : {kind}" for i in range(levels)]
    bodies.append("%r = stablehlo.sine %x : tensor<3xf32>")
    texts = [function(body).replace("@main", f"@f{i - 1}") for i, body in enumerate(bodies)]
    return "\n".join((function(bodies[0]), *texts[1:]))


@pytest.mark.parametrize("text", [function(nested(120)), calls(3000)], ids=["regions", "calls"])
def test_too_many_levels_are_an_error_with_a_line(text):
    with pytest.raises(ValueError, match=r"StableHLO text, line \d+, .*(recursion|nested)"):
        stablehlo.load(text)


def test_some_levels_are_no_error():
    for text in (function(nested(40)), calls(40)):
        assert stablehlo.load(text)(X).shape == (3,)


REFUSED = {
    "%r = other.loop %x { %a = other.b : i1 }": "line 2, column 6.*other.loop is not supported",
    "%r = stablehlo.fancy %x : tensor<3xf32>": "line 2, column 6.*stablehlo.fancy is not supported",
    '%r = "other.op"(%x) : (tensor<3xf32>) -> tensor<3xf32>': "other.op is not supported",
    "%r = stablehlo.custom_call @mine(%x) : (tensor<3xf32>) -> tensor<3xf32>": "call @mine is no",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_not_known_is_refused_by_name(line):
    with pytest.raises(NotImplementedError, match=REFUSED[line]):
        stablehlo.load(function(line))


def test_a_function_that_reads_what_is_outside_cannot_fold():
    body = """%r = stablehlo.reduce(%x init: %y) across dimensions = [0] :
      (tensor<3xf32>, tensor<f32>) -> tensor<f32>
     reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %c = stablehlo.add %a, %b : tensor<f32>
      %d = stablehlo.multiply %c, %y : tensor<f32>
      stablehlo.return %d : tensor<f32>
    }"""
    with pytest.raises(
        NotImplementedError, match="line 2, column 6: stablehlo.reduce: .*close over"
    ):
        stablehlo.load(function(body, "%x: tensor<3xf32>, %y: tensor<f32>", "tensor<f32>"))


def test_open_shapes_are_refused():
    text = "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    with pytest.raises(ValueError, match=re.escape("tensor<?xf32>: the extents must be known")):
        stablehlo.load(text)


def test_quantized_elements_are_refused():
    kind = "tensor<3x!quant.uniform<i8:f32, 2.0:15>>"
    with pytest.raises(ValueError, match="quantized elements are not supported; run the pass"):
        stablehlo.load(f"func.func @f(%x: {kind}) -> {kind} {{ return %x : {kind} }}")


def test_a_module_in_generic_form_is_the_same():
    text = """"builtin.module"() ({
      "func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "main"}> ({
      ^bb0(%x: tensor<3xf32>):
        %0 = "stablehlo.add"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        %1 = "func.call"(%0) <{callee = @g}> : (tensor<3xf32>) -> tensor<3xf32>
        "func.return"(%1) : (tensor<3xf32>) -> ()
      }) : () -> ()
      "func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "g",
                      sym_visibility = "private"}> ({
      ^bb0(%x: tensor<3xf32>):
        %0 = "chlo.sinh"(%x) : (tensor<3xf32>) -> tensor<3xf32>
        "func.return"(%0) : (tensor<3xf32>) -> ()
      }) : () -> ()
    }) : () -> ()"""
    np.testing.assert_allclose(stablehlo.load(text)(X), np.sinh(2 * X), rtol=1e-6)


def test_a_module_needs_one_function_to_call():
    two = "func.func @f() { return }\nfunc.func @g() { return }"
    with pytest.raises(ValueError, match="no function @main, and not one public function: @f, @g"):
        stablehlo.load(two)
