"""Reading StableHLO text: both forms of operations, and texts that are wrong."""

import re

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from tapeless import stablehlo
from tapeless.stablehlo.parser import parse
from tapeless.stablehlo.syntax import Dense, ModuleError, Symbol, TensorType, TupleType
from tapeless.stablehlo.types import dense_array

HEAD = "func.func @f(%p: tensor<i1>, %x: tensor<f32>, %m: tensor<3x3xf32>) {\n"


def read(line):
    """Return the first operation of a function that contains this line."""
    return parse(f"{HEAD}{line}\nreturn }}").functions["f"].body.operations[0]


# The pretty form, then the generic form, of one operation.
PAIRS = [
    (
        "%0 = stablehlo.add %x, %x : tensor<f32>",
        '%0 = "stablehlo.add"(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>',
    ),
    (
        "%0 = stablehlo.compare LT, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
        '%0 = "stablehlo.compare"(%x, %x) <{compare_type = #stablehlo<comparison_type FLOAT>, '
        "comparison_direction = #stablehlo<comparison_direction LT>}> : "
        "(tensor<f32>, tensor<f32>) -> tensor<i1>",
    ),
    (
        "%0 = stablehlo.slice %m [0:3:2, 1:2] : (tensor<3x3xf32>) -> tensor<2x1xf32>",
        '%0 = "stablehlo.slice"(%m) <{limit_indices = array<i64: 3, 2>, start_indices = '
        "array<i64: 0, 1>, strides = array<i64: 2, 1>}> : (tensor<3x3xf32>) -> tensor<2x1xf32>",
    ),
    (
        "%0 = stablehlo.dot_general %m, %m, batching_dims = [0] x [0], contracting_dims = [1] x "
        "[1], precision = [HIGH, DEFAULT] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3xf32>",
        '%0 = "stablehlo.dot_general"(%m, %m) <{dot_dimension_numbers = #stablehlo.dot<'
        "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions "
        "= [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGH>, "
        "#stablehlo<precision DEFAULT>]}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3xf32>",
    ),
    (
        "%0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<f32>",
        '%0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 5 : i32, mantissa_bits = 10 : '
        "i32}> : (tensor<f32>) -> tensor<f32>",
    ),
    (
        "%0 = stablehlo.pad %m, %x, low = [1, 0], high = [0, -1], interior = [0, 0] : "
        "(tensor<3x3xf32>, tensor<f32>) -> tensor<4x2xf32>",
        '%0 = "stablehlo.pad"(%m, %x) <{edge_padding_high = array<i64: 0, -1>, edge_padding_low = '
        "array<i64: 1, 0>, interior_padding = array<i64: 0, 0>}> : "
        "(tensor<3x3xf32>, tensor<f32>) -> tensor<4x2xf32>",
    ),
    (
        "%0:2 = stablehlo.optimization_barrier %x, %x : tensor<f32>, tensor<f32>",
        '%0:2 = "stablehlo.optimization_barrier"(%x, %x) : (tensor<f32>, tensor<f32>) -> '
        "(tensor<f32>, tensor<f32>)",
    ),
]


@pytest.mark.parametrize("pretty, generic", PAIRS)
def test_both_forms_of_an_operation_are_the_same(pretty, generic):
    one, other = read(pretty), read(generic)
    for part in ("name", "operands", "results", "operand_types", "result_types", "attributes"):
        assert getattr(one, part) == getattr(other, part), part


def test_a_convolution_names_its_window_and_axes():
    found = read(
        "%0 = stablehlo.convolution(%m, %m) dim_numbers = [b, f, 0]x[o, i, 0]->[b, 0, f], window = "
        "{stride = [2], pad = [[0, 1]], reverse = [true]} {batch_group_count = 1 : i64} : "
        "(tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>"
    )
    assert found.attributes["dimension_numbers"] == (["b", "f", 0], ["o", "i", 0], ["b", 0, "f"])
    assert found.attributes["padding"] == [[0, 1]]
    assert found.attributes["window_reversal"] == [True]
    assert found.attributes["batch_group_count"] == 1


def test_a_loop_has_arguments_and_two_regions():
    found = read(
        "%0:2 = stablehlo.while(%a = %x, %b = %x) : tensor<f32>, tensor<f32>\n"
        "cond { stablehlo.return %p : tensor<i1> } do { stablehlo.return %b, %a : tensor<f32>, "
        "tensor<f32> }"
    )
    assert found.operands == ("%x", "%x")
    assert found.results == ("%0", "%0#1")
    assert [name for name, _ in found.regions[1].arguments] == ["%a", "%b"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("dense<1.5> : tensor<2xf32>", np.full(2, 1.5, np.float32)),
        ("dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>", np.array([[1, -2], [3, 4]], np.int8)),
        ('dense<"0x0000803F00000040"> : tensor<2xf32>', np.array([1, 2], np.float32)),
        ('dense<"0x0000803F"> : tensor<3xf32>', np.ones(3, np.float32)),
        ("dense<0x7F800000> : tensor<2x1xf32>", np.full((2, 1), np.inf, np.float32)),
        ("dense<[0x7F800000, 1.0]> : tensor<2xf32>", np.array([np.inf, 1], np.float32)),
        ("dense<[(1.0,2.0)]> : tensor<1xcomplex<f32>>", np.array([1 + 2j], np.complex64)),
        ("dense<[true, false]> : tensor<2xi1>", np.array([True, False])),
        ("dense<> : tensor<0x2xi32>", np.zeros((0, 2), np.int32)),
        ("dense<0x3E00> : tensor<f16>", np.array(1.5, np.float16)),
    ],
)
def test_constants(text, expected):
    value = read(f"%0 = stablehlo.constant {text}").attributes["value"]
    found = dense_array(value)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(expected, found)


def test_attributes_of_all_kinds():
    found = read(
        '%0 = "x.y"(%x) {a = 1 : i64, b = "q\\22\\n", c = [1, [2]], d = {e}, f = @g, h = unit, '
        "i = tensor<2xf32>, j = array<i1: true>, k = #other<anything [goes] -> here>, l = -1.5 : "
        "f32, m = dense<1> : tensor<i8>, n = tuple<tensor<f32>>} : (tensor<f32>) -> tensor<f32>"
    ).attributes
    assert found["a"] == 1 and found["b"] == 'q"\n' and found["c"] == [1, [2]]
    assert found["d"] == {"e": True} and found["f"] == Symbol("g") and found["h"] is True
    assert found["i"] == TensorType((2,), "f32") and found["j"] == [True]
    assert "anything" in found["k"] and found["l"] == -1.5
    assert isinstance(found["m"], Dense)
    assert found["n"] == TupleType((TensorType((), "f32"),))


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "line 1, column 1: the module has no function"),
        ("module {", "line 1, column 9: expected 'func.func', found the end of the text"),
        ("module @m { } }", "expected the end of the module, found '}'"),
        ("func.func @f(", "expected an argument"),
        ("func.func @f() { return } extra", "expected 'func.func', found 'extra'"),
        ("func.func @f() { }", "a region must end with"),
        ("func.func @f() { %0 = stablehlo.x : () -> () return }", "has 0 results, but 1 names"),
        ("func.func @f() {\n  oops\n}", "line 2, column 3: expected an operation, found 'oops'"),
        ("func.func @f() { \x00 }", "unexpected character"),
        ('func.func @f() { "a', "unexpected character '\"'"),
        ("func.func @f() { return }\nfunc.func @f() { return }", "line 2.*defined twice"),
        ("func.func @f(%x: tensor<3*f32>) { return }", "expected a ranked tensor type"),
        ("func.func @f(%x: tensor<*xf32>) { return }", "expected a ranked tensor type"),
        (HEAD + '"a.b"() {k = ' + "[" * 500, "nested more than 200 deep"),
        (HEAD + '"a.b"() {k = dense_resource<x>} : () -> () return }', "not in the text"),
        (HEAD + "%0 = stablehlo.compare LT, %x", "has 0 results, but 1 names"),
        (HEAD + "%0:99999999999 = stablehlo.x", "between 1 and 9999 results"),
    ],
)
def test_wrong_texts_say_where_and_what(text, message):
    with pytest.raises(ValueError, match=f"(?s){message}") as caught:
        parse(text)
    assert re.match(r"StableHLO text, line \d+, column \d+: ", str(caught.value))


def test_a_module_in_the_generic_form():
    text = """"builtin.module"() <{sym_name = "m"}> ({
      "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "main"}> ({
      ^bb0(%x: tensor<f32>):
        "func.return"(%x) : (tensor<f32>) -> ()
      }) : () -> ()
    }) {a.b = 1 : i32} : () -> ()"""
    module = parse(text)
    assert module.name == "m" and module.attributes == {"a.b": 1}
    assert module.functions["main"].result_types == (TensorType((), "f32"),)
    with pytest.raises(ValueError, match="a function needs its function_type"):
        parse(text.replace("function_type", "other"))
    with pytest.raises(ValueError, match="line 1, column 1: expected '?\"builtin.module"):
        parse('"builtin.other"() ({}) : () -> ()')


def test_only_text_is_parsed():
    with pytest.raises(TypeError, match="must be a str, got bytes"):
        stablehlo.load(b"module {}")


SEED = """#loc = loc("x")
module @m attributes {a.b = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xf32> {a.b = "c"}, %arg1: tensor<i32>) -> (tensor<4xf32>) {
    %cst = stablehlo.constant dense<[1.5, 2.0, -1.0, 0x7F800000]> : tensor<4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
    %2:2 = stablehlo.while(%a = %c, %b = %1) : tensor<i32>, tensor<4xf32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %l = stablehlo.compare LT, %a, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    } do {
      %i = stablehlo.constant dense<1> : tensor<i32>
      %s = stablehlo.add %a, %i : tensor<i32>
      %t = func.call @f(%b, %cst) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %s, %t : tensor<i32>, tensor<4xf32>
    }
    %3 = "stablehlo.sort"(%2#1) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %l = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %4 = stablehlo.reduce(%arg0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = stablehlo.maximum %3, %4 : tensor<4xf32> loc(#loc)
    return %5 : tensor<4xf32>
  }
  func.func private @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.multiply %a, %b : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""  # noqa: E501
WORDS = re.findall(r"%\w+|@\w+|[\w.]+|->|\s+|[^\w\s]", SEED)


@strategies.composite
def mutations(draw):
    """Draw the seed with a few words dropped, doubled, exchanged, or cut off."""
    words = list(WORDS)
    for _ in range(draw(strategies.integers(1, 4))):
        place = draw(strategies.integers(0, len(words) - 1))
        kind = draw(strategies.sampled_from(("drop", "double", "exchange", "other", "cut", "text")))
        if kind == "drop":
            del words[place]
        elif kind == "double":
            words.insert(place, words[place])
        elif kind == "exchange":
            other = draw(strategies.integers(0, len(words) - 1))
            words[place], words[other] = words[other], words[place]
        elif kind == "other":
            words[place] = draw(strategies.sampled_from(WORDS))
        elif kind == "cut":
            del words[place + 1 :]
        else:
            words[place] = draw(strategies.text(max_size=5))
        if not words:
            break
    return "".join(words)


def test_the_seed_of_the_mutations_is_right():
    x = np.arange(12, dtype=np.float32).reshape(3, 4) / 8
    factors = np.array([1.5, 2, -1, np.inf], np.float32)
    expected = np.maximum(np.sort(x[1] * factors**5), x.sum(0))
    np.testing.assert_allclose(expected, stablehlo.load(SEED)(x, np.int32(1)), rtol=1e-6)


@hypothesis.settings(max_examples=300)
@hypothesis.given(mutations())
def test_a_mutated_module_is_loaded_or_refused(text):
    try:
        loaded = stablehlo.load(text)
    except ModuleError as error:
        assert "StableHLO text" in str(error) or "the module has no function @main" in str(error)
    except NotImplementedError as error:
        assert "StableHLO text" in str(error)
    else:
        assert loaded.jaxpr is not None
