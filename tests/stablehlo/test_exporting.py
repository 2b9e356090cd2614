"""Exported functions: what they say of themselves, files, calls, derivatives, errors."""

import collections
import json
import struct
import subprocess
import sys

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import export, lax
from tapeless.stablehlo.blobs import read_blob, write_blob

X = np.array([0.5, 1.5, 2.5], np.float32)
Point = collections.namedtuple("Point", "x y")
export.register_namedtuple_serialization(Point, serialized_name="tests.Point")


def model(x, options):
    """Return a tree of results."""
    return {"a": jnp.sin(x) + options["k"]}, (x * options["i"], None)


ARGS = (X, {"k": np.float32(2), "i": np.int32(3)})
EXPORTED = export.export(jax.jit(model))(*ARGS)
AGAIN = export.deserialize(EXPORTED.serialize(vjp_order=2))


@pytest.mark.parametrize("exported", [EXPORTED, AGAIN], ids=["fresh", "read"])
def test_a_function_says_what_it_takes_and_returns(exported):
    assert exported.fun_name == "model"
    assert exported.in_tree == jax.tree.structure((ARGS, {}))
    assert [(aval.shape, aval.dtype) for aval in exported.in_avals] == [
        ((3,), np.float32), ((), np.int32), ((), np.float32),
    ]  # fmt: skip
    assert exported.out_tree == jax.tree.structure(model(*ARGS))
    assert exported.platforms == ("cpu",) and exported.nr_devices == 1
    assert exported.module_kept_var_idx == (0, 1, 2)
    assert str(exported) == "Exported(fun_name=model, ...)"
    assert exported.mlir_module().startswith("module @jit_model")
    assert "stablehlo.sine" in exported.mlir_module()


@pytest.mark.parametrize("exported", [EXPORTED, AGAIN], ids=["fresh", "read"])
def test_calls_have_the_values_of_the_function(exported):
    expected = model(*ARGS)
    for found in (exported.call(*ARGS), jax.jit(exported.call)(*ARGS)):
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        np.testing.assert_allclose(found[0]["a"], expected[0]["a"], rtol=1e-6)
        np.testing.assert_array_equal(found[1][0], expected[1][0])
    rows = jax.vmap(lambda x: exported.call(x, ARGS[1])[0]["a"])(np.stack([X, X + 1]))
    np.testing.assert_allclose(np.sin(np.stack([X, X + 1])) + 2, rows, rtol=1e-6)


@pytest.mark.parametrize("exported", [EXPORTED, AGAIN], ids=["fresh", "read"])
def test_calls_are_differentiated_twice(exported):
    first = jax.grad(lambda x: exported.call(x, ARGS[1])[0]["a"].sum())
    np.testing.assert_allclose(np.cos(X), first(X), rtol=1e-5)
    second = jax.grad(lambda x: first(x).sum())
    np.testing.assert_allclose(-np.sin(X), second(X), rtol=1e-5)


def test_a_python_number_takes_the_type_of_the_export():
    found = EXPORTED.call(X, {"k": 1.0, "i": 3})
    np.testing.assert_allclose(np.sin(X) + 1, found[0]["a"], rtol=1e-6)


def test_the_derivative_is_that_of_the_function_and_not_of_its_text():
    @jax.custom_vjp
    def clipped(x):
        """Be the identity, with a gradient of seven."""
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, ct: (7 * ct,))
    exported = export.export(jax.jit(clipped))(np.float32(1))
    again = export.deserialize(exported.serialize(vjp_order=1))
    assert jax.grad(exported.call)(np.float32(1)) == 7
    assert jax.grad(again.call)(np.float32(1)) == 7


def test_a_file_without_a_derivative_says_so():
    again = export.deserialize(EXPORTED.serialize())
    assert EXPORTED.has_vjp() and not again.has_vjp()
    for fails in (again.vjp, lambda: jax.grad(lambda x: again.call(x, ARGS[1])[0]["a"].sum())(X)):
        with pytest.raises(ValueError, match="No VJP is available for model.*vjp_order=1"):
            fails()


def test_types_may_stand_for_arguments():
    found = export.export(jax.jit(lambda x, *, y: x + y))(
        jax.ShapeDtypeStruct((2,), np.float32), y=jax.ShapeDtypeStruct((), np.float32)
    )
    np.testing.assert_array_equal([2, 2], found.call(np.ones(2, np.float32), y=np.float32(1)))


def test_trees_of_all_kinds_come_back():
    tree = ([X, None], (X,), {"b": {1: X}}, Point(X, [X]))
    exported = export.export(jax.jit(lambda t: t))(tree)
    again = export.deserialize(exported.serialize())
    assert again.in_tree == jax.tree.structure(((tree,), {}))
    assert type(again.call(tree)[3]) is Point


def test_containers_without_a_name_are_refused():
    Other = collections.namedtuple("Other", "x")  # noqa: PYI024
    exported = export.export(jax.jit(lambda t: t.x))(Other(X))
    with pytest.raises(ValueError, match="Cannot serialize PyTreeDef with node type.*Other"):
        exported.serialize()
    with pytest.raises(ValueError, match="Duplicate serialization registration for type"):
        export.register_namedtuple_serialization(Point, serialized_name="tests.Point2")
    with pytest.raises(ValueError, match="Duplicate serialization.*serialized_name `tests.Point`"):
        export.register_namedtuple_serialization(Other, serialized_name="tests.Point")
    with pytest.raises(ValueError, match="for types other than `collections.namedtuple`"):
        export.register_namedtuple_serialization(int, serialized_name="int")
    with pytest.raises(ValueError, match="must call first`jax.tree_util.register_pytree_node`"):
        export.register_pytree_node_serialization(
            set, serialized_name="s", serialize_auxdata=bytes, deserialize_auxdata=bytes
        )


def test_custom_containers_keep_their_data():
    class Box:
        """A container with a label."""

        def __init__(self, x, label):
            self.x, self.label = x, label

    jax.tree_util.register_pytree_node(
        Box, lambda box: ((box.x,), box.label), lambda label, xs: Box(*xs, label)
    )
    export.register_pytree_node_serialization(
        Box, serialized_name="tests.Box", serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode,
    )  # fmt: skip
    exported = export.export(jax.jit(lambda box: box))(Box(X, "left"))
    assert export.deserialize(exported.serialize()).call(Box(X, "left")).label == "left"


@pytest.mark.parametrize(
    "args, message",
    [
        ((X[:2], ARGS[1]), r"Shape mismatch for args\[0\].shape\[0\] .*expected \(3,\) .*\(2,\)"),
        ((X.astype(np.int32), ARGS[1]), r"mismatch for args\[0\]: expected float32 .*int32"),
        ((X, {"k": X[0], "j": 1}), r"(?s)same pytree structure.*args\[1\] is .*'j'.*when exported"),
        ((X,), "(?s)same pytree structure.*args is a tuple of length 1 in the invocation"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused_in_the_words_of_jax(args, message):
    with pytest.raises(ValueError, match=message):
        EXPORTED.call(*args)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_keys_are_leaves(impl):
    """Typed keys go in and come out, fresh and read, in programs, under vmap and grad."""

    def draw(key, x):
        """Return two keys, and numbers."""
        return jax.random.split(key), jax.random.normal(key, (2,)) * x

    keys = jax.random.split(jax.random.key(3, impl=impl), 2)
    fresh = export.export(jax.jit(draw))(keys[0], 2.0)
    for exported in (fresh, export.deserialize(fresh.serialize(vjp_order=1))):
        assert str(exported.in_avals[0].dtype) == str(keys.dtype)
        expected, call = draw(keys[0], 2.0), exported.call
        for found in (call(keys[0], 2.0), jax.jit(call)(keys[0], 2.0)):
            assert found[0].dtype == keys.dtype
            np.testing.assert_array_equal(*map(jax.random.key_data, (expected[0], found[0])))
            np.testing.assert_array_equal(expected[1], found[1])
        assert jax.vmap(call, in_axes=(0, None))(keys, 2.0)[0].shape == (2, 2)
        slope = jax.grad(lambda x, call=call: call(keys[0], x)[1].sum())(2.0)
        np.testing.assert_allclose(expected[1].sum() / 2, slope, rtol=1e-6)


def test_what_cannot_be_exported_is_refused():
    with pytest.raises(ValueError, match="must be the result of `jit` but is"):
        export.export(model)
    with pytest.raises(NotImplementedError, match="'cpu', got platforms=.*tpu"):
        export.export(jax.jit(model), platforms=["tpu"])
    with pytest.raises(NotImplementedError, match="symbolic shapes are not supported: export"):
        export.symbolic_shape("a, b")
    with pytest.raises(NotImplementedError, match="symbolic shapes"):
        export.SymbolicScope()
    callback = jax.jit(lambda x: jax.pure_callback(np.sin, x, x))
    with pytest.raises(NotImplementedError, match="calls back into Python"):
        export.export(callback)(np.float32(1))
    with pytest.raises(ValueError, match="vjp_order must be 0 or more, got -1"):
        EXPORTED.serialize(vjp_order=-1)


def test_the_layout_of_a_file():
    data = bytes(EXPORTED.serialize())
    magic, version, length = struct.unpack_from("<8sII", data)
    assert (magic, version) == (b"tapeless", 1)
    header = json.loads(data[16 : 16 + length])
    assert header["fun_name"] == "model"
    assert header["in_tree"] == {"tuple": [
        {"tuple": ["*", {"dict": [["i", "*"], ["k", "*"]]}]}, {"dict": []},
    ]}  # fmt: skip
    assert header["in_avals"] == [[[3], "float32", False], [[], "int32", False], [[], "float32", False]]  # fmt: skip # noqa: E501
    (n_module,) = struct.unpack_from("<Q", data, 16 + length)
    assert data[24 + length : 24 + length + n_module].decode() == EXPORTED.mlir_module()
    assert len(data) == 16 + length + 8 + n_module + 8 + 32


def test_other_bytes_are_refused():
    for data in (b"", b"tapeless", b"\x80\x04pickle" * 20):
        with pytest.raises(ValueError, match=f"these {len(data)} bytes are no exported function"):
            export.deserialize(data)
    newer = bytearray(EXPORTED.serialize())
    newer[8] = 2
    with pytest.raises(ValueError, match="has version 2 of the format, and this is a reader of"):
        export.deserialize(newer)
    with pytest.raises(TypeError, match="is bytes, got str"):
        export.deserialize("tapeless")
    blob = read_blob(EXPORTED.serialize())
    for header in ({}, {**blob.header, "in_avals": []}, {**blob.header, "in_tree": "x"}):
        with pytest.raises(ValueError, match="header|as many types|no structure"):
            export.deserialize(write_blob(blob._replace(header=header)))
    no_call = {"tuple": [{"tuple": ["*"]}, None]}
    header = {**blob.header, "in_tree": no_call, "in_avals": blob.header["in_avals"][:1]}
    with pytest.raises(ValueError, match="says how no function is called"):
        export.deserialize(write_blob(blob._replace(header=header)))
    header = {**blob.header, "in_tree": {"dict": [[{}, "*"]]}}
    with pytest.raises(ValueError, match="keys of a dictionary are plain"):
        export.deserialize(write_blob(blob._replace(header=header)))


@hypothesis.given(
    strategies.integers(0, len(EXPORTED.serialize()) - 1), strategies.integers(1, 255)
)
def test_a_changed_byte_is_noticed(position, change):
    data = EXPORTED.serialize()
    data[position] ^= change
    with pytest.raises(ValueError, match="checksum|no exported function|has version"):
        export.deserialize(data)
    with pytest.raises(ValueError):
        export.deserialize(data[:position])


def test_another_process_reads_the_file(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(export.export(jax.jit(lambda x: lax.mul(x, x)))(X).serialize())
    code = (
        "import sys, numpy, tapeless.export as export\n"
        "f = export.deserialize(open(sys.argv[1], 'rb').read())\n"
        "print(f.call(numpy.arange(3, dtype=numpy.float32)))\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('jax', 'jaxlib', 'pickle')))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert out.stdout.splitlines()[0] == "[0. 1. 4.]"
    assert "jax" not in out.stdout


@pytest.mark.oracle
def test_names_and_types_are_those_of_jax():
    import jax as oracle

    def f(x, y):
        return x * y, y

    args = (X, np.float32(2))
    theirs, ours = oracle.export.export(oracle.jit(f))(*args), export.export(jax.jit(f))(*args)
    for name in ("fun_name", "nr_devices", "platforms", "module_kept_var_idx", "ordered_effects"):
        assert getattr(theirs, name) == getattr(ours, name), name
    for one, other in ((theirs, ours), (theirs.vjp(), ours.vjp())):
        assert str(one.in_avals) == str(other.in_avals)
        assert str(one.out_avals) == str(other.out_avals)
        assert str(one.in_tree) == str(other.in_tree)
        assert str(one.out_tree) == str(other.out_tree)
        assert one.fun_name == other.fun_name
    assert theirs.in_shardings_hlo == ours.in_shardings_hlo
    assert theirs.out_shardings_jax(None) == ours.out_shardings_jax(None)
    assert not {name for name in dir(theirs) if not name.startswith("_")} - set(dir(ours))
