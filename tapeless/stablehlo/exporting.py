"""`export`: a function with the types of its arguments, as something that can be kept in a file.

    export(jit(f))(*args)  -> Exported      traced, written as StableHLO text
        .serialize()       -> bytes         the format of `blobs`
    deserialize(bytes)     -> Exported
        .call(*args)                        the text, loaded; in any program, by `vmap` as well
        .vjp()             -> Exported      of the pullback

The text knows nothing of the custom derivatives of what was exported.  So the derivative of `call`
is never that of the text: it is the exported pullback, which is made from the function itself, and
which a file contains if `vjp_order` asked for it.

Shapes are numbers: a function is exported once for each shape it is to be called with.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from tapeless import dtypes
from tapeless.api.autodiff import vjp
from tapeless.api.custom import custom_vjp
from tapeless.api.jit import JitFunction, jit
from tapeless.control.jit import jit_p
from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, typeof
from tapeless.core.trace import Value
from tapeless.prims.bits import prng_impls, random_unwrap, random_wrap
from tapeless.prims.common import float0_zeros
from tapeless.prims.convert import convert_element_type
from tapeless.stablehlo.blobs import FORMAT_VERSION, Blob, read_blob, write_blob
from tapeless.stablehlo.loading import load
from tapeless.stablehlo.trees import tree_from_json, tree_to_json
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.keys import keystr
from tapeless.tree.paths import tree_flatten_with_path
from tapeless.tree.prefix import equality_errors
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.seqs import few

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "symbolic_args_specs",
    "symbolic_dim_bounds",
    "symbolic_shape",
]

Avals = tuple[ShapedArray, ...]


@dataclass(frozen=True)
class Exported:
    """An exported function.

    fun_name: its name.  in_tree: the structure of (args, kwargs).  in_avals, out_avals: the types
    of the leaves.  mlir_module_serialized: the StableHLO text, UTF-8.

    >>> exported = jax.export.export(jax.jit(lambda x: x * 2))(np.float32(1))
    >>> exported.out_avals, exported.call(np.float32(3))
    ((ShapedArray(float32[]),), Array(6., dtype=float32))
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: Avals
    out_tree: PyTreeDef
    out_avals: Avals
    mlir_module_serialized: bytes = field(repr=False)
    _get_vjp: Callable[[], Exported] | None = field(default=None, repr=False, compare=False)
    platforms: tuple[str, ...] = ("cpu",)
    nr_devices: int = 1
    ordered_effects: tuple = ()
    unordered_effects: tuple = ()
    disabled_safety_checks: tuple = ()
    calling_convention_version: int = FORMAT_VERSION

    def __str__(self) -> str:
        """Print the name."""
        return f"Exported(fun_name={self.fun_name}, ...)"

    @property
    def module_kept_var_idx(self) -> tuple[int, ...]:
        """The numbers of the leaves that the module takes: all."""
        return tuple(range(len(self.in_avals)))

    @property
    def in_shardings_hlo(self) -> tuple[None, ...]:
        """How the arguments are divided among devices: not at all."""
        return (None,) * len(self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[None, ...]:
        """How the results are divided among devices: not at all."""
        return (None,) * len(self.out_avals)

    def in_shardings_jax(self, mesh: Any) -> tuple[None, ...]:
        """Do as `in_shardings_hlo`, for a mesh."""
        return self.in_shardings_hlo

    def out_shardings_jax(self, mesh: Any) -> tuple[None, ...]:
        """Do as `out_shardings_hlo`, for a mesh."""
        return self.out_shardings_hlo

    @property
    def uses_global_constants(self) -> bool:
        """Whether the module has symbolic extents: never."""
        return False

    def mlir_module(self) -> str:
        """Return the StableHLO text."""
        return self.mlir_module_serialized.decode()

    def has_vjp(self) -> bool:
        """Tell whether there is a pullback."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """Return the pullback, exported: leaves and cotangents of results to those of arguments.

        Raises ValueError if the function was read from a file that has none.
        """
        if self._get_vjp is None:
            raise ValueError(
                f"No VJP is available for {self.fun_name}. Serialize it with vjp_order=1, or more "
                "for derivatives of derivatives."
            )
        return self._get_vjp()

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Return the bytes of a file; vjp_order: how often it can be differentiated.

        >>> import numpy as np
        >>> import tapeless as jax
        >>> exported = jax.export.export(jax.jit(lambda x: x * x))(np.float32(1))
        >>> again = jax.export.deserialize(exported.serialize(vjp_order=1))
        >>> again.call(np.float32(3)), jax.grad(again.call)(np.float32(3))
        (Array(9., dtype=float32), Array(6., dtype=float32))
        """
        if vjp_order < 0:
            raise ValueError(f"vjp_order must be 0 or more, got {vjp_order}")
        derivative = bytes(self.vjp().serialize(vjp_order - 1)) if vjp_order else b""
        header = {
            "fun_name": self.fun_name,
            "in_tree": tree_to_json(self.in_tree),
            "out_tree": tree_to_json(self.out_tree),
            "in_avals": list(map(_aval_to_json, self.in_avals)),
            "out_avals": list(map(_aval_to_json, self.out_avals)),
            "platforms": list(self.platforms),
            "nr_devices": self.nr_devices,
        }
        return write_blob(Blob(header, self.mlir_module_serialized, derivative))

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, with arguments of the structure and types it was exported for."""
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            self._refuse_tree(args, kwargs)
        paths = [path for path, _ in tree_flatten_with_path((args, kwargs))[0]]
        checked = [
            _checked(leaf, aval, path)
            for leaf, aval, path in zip(leaves, self.in_avals, paths, strict=True)
        ]
        return tree_unflatten(self.out_tree, self._flat(*checked))

    def _refuse_tree(self, args: tuple, kwargs: dict) -> NoReturn:
        """Raise ValueError for arguments of another structure."""
        example = tree_unflatten(self.in_tree, self.in_avals)
        lines = [
            f"   - {_place(path)} is a {given} in the invocation and a {known} when exported, so "
            f"{why}."
            for path, given, known, why in equality_errors((args, kwargs), example)
        ]
        raise ValueError(
            "The invocation args and kwargs must have the same pytree structure as when the "
            f"function '{self.fun_name}' was exported, but they have the following structural "
            f"differences:\n" + "\n".join([*few(lines, mark="   - "), ""])
        )

    @functools.cached_property
    def _flat(self) -> Callable[..., tuple[Value, ...]]:
        """The function of leaves, whose derivative is the exported pullback."""
        program = load(self.mlir_module()).jaxpr

        def run(*leaves: Value) -> tuple[Value, ...]:
            """Run the module; leaves without tangents are booleans in it."""
            given = [_carried(x, aval) for x, aval in zip(leaves, self.in_avals, strict=True)]
            outs = jit_p.bind(*given, name=self.fun_name, jaxpr=program, inline=False)
            return tuple(_restored(x, aval) for x, aval in zip(outs, self.out_avals, strict=True))

        def forward(*leaves: Value) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
            """Return the results, and what the pullback needs; fail if there is none."""
            self.vjp()
            return run(*leaves), leaves

        def backward(leaves: tuple[Value, ...], cotangents: tuple[Value, ...]) -> Any:
            """Run the exported pullback."""
            return self.vjp().call(*leaves, *cotangents)

        differentiable = custom_vjp(run)
        differentiable.defvjp(forward, backward)
        return differentiable


def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[Any] = (),
) -> Callable[..., Exported]:
    """Return a function that takes arguments, or their types, and exports `fun_jit` for them.

    fun_jit: what `jit` returned.  platforms: None or ["cpu"].  disabled_checks: accepted.

    Raises NotImplementedError for functions that call back into Python, whose text could not do so.

    >>> import numpy as np
    >>> import tapeless as jax
    >>> exported = jax.export.export(jax.jit(jax.numpy.sin))(jax.ShapeDtypeStruct((2,), np.float32))
    >>> exported.in_avals, exported.call(np.zeros(2, np.float32))
    ((ShapedArray(float32[2]),), Array([0., 0.], dtype=float32))
    """
    if not isinstance(fun_jit, JitFunction):
        raise ValueError(f"Function to be exported must be the result of `jit` but is: {fun_jit}")
    if platforms is not None and tuple(platforms) != ("cpu",):
        raise NotImplementedError(
            f"programs are exported for the platform 'cpu', got platforms={list(platforms)}"
        )

    def do_export(*args: Any, **kwargs: Any) -> Exported:
        """Trace, and write the text."""
        traced = fun_jit.trace(*args, **kwargs)
        text = traced.lower().as_text()
        jaxpr = traced.jaxpr
        if len(jaxpr.in_avals) != traced.in_tree.num_leaves:
            raise ValueError(
                f"{traced.fun_name} captures values of a transformation around it, so that it "
                "cannot be exported. Pass them as arguments."
            )
        ins, outs = tuple(jaxpr.in_avals), tuple(jaxpr.out_avals)

        def flat(*leaves: Value) -> tuple[Value, ...]:
            """Run the function itself, with its custom derivatives, on leaves."""
            return jit_p.bind(*leaves, name=traced.fun_name, jaxpr=jaxpr, inline=False)

        return Exported(
            traced.fun_name,
            traced.in_tree,
            ins,
            traced.out_tree,
            tuple(aval.strong() for aval in outs),
            text.encode(),
            functools.cache(lambda: _exported_vjp(flat, ins, outs)),
            disabled_safety_checks=tuple(disabled_checks),
        )

    return do_export


def _exported_vjp(flat: Callable[..., Any], ins: Avals, outs: Avals) -> Exported:
    """Export the pullback of a function of leaves."""

    def fun_vjp_jax(*args: Value) -> tuple[Value, ...]:
        """Return the cotangents of the first arguments, given those of the results."""
        _, pullback = vjp(flat, *args[: len(ins)])
        return pullback(tuple(args[len(ins) :]))

    cotangents = [aval.tangent() for aval in outs]
    types = [ShapeDtypeStruct(aval.shape, aval.dtype) for aval in (*ins, *cotangents)]
    return export(jit(fun_vjp_jax))(*types)


def deserialize(blob: bytes | bytearray) -> Exported:
    """Return the exported function of a file.  Nothing in the file is executed by reading it.

    Raises ValueError for bytes that are no such file, are damaged, or of another version.

    >>> exported = jax.export.export(jax.jit(lambda x: x * 2))(np.float32(1))
    >>> deserialize(exported.serialize()).call(np.float32(3))
    Array(6., dtype=float32)
    """
    found = read_blob(blob)
    header = found.header
    try:
        in_tree, out_tree = (tree_from_json(header[name]) for name in ("in_tree", "out_tree"))
        ins, outs = (
            tuple(map(_aval_from_json, header[name])) for name in ("in_avals", "out_avals")
        )
        name, platforms = str(header["fun_name"]), tuple(map(str, header["platforms"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"the header of the exported function lacks {error}") from error
    called = tree_unflatten(in_tree, ins) if in_tree.num_leaves == len(ins) else ((), {})
    if not _is_call(called):
        raise ValueError("the header of the exported function says how no function is called")
    if in_tree.num_leaves != len(ins) or out_tree.num_leaves != len(outs):
        raise ValueError("the exported function has as many types as leaves; this one has not")
    get_vjp = functools.cache(lambda: deserialize(found.derivative)) if found.derivative else None
    return Exported(name, in_tree, ins, out_tree, outs, found.module, get_vjp, platforms)


def _is_call(called: Any) -> bool:
    """Tell whether a structure is that of positional and named arguments."""
    if not isinstance(called, tuple) or len(called) != 2:
        return False
    given, named = called
    return isinstance(given, tuple) and isinstance(named, dict) and all(map(_is_name, named))


def _is_name(key: Any) -> bool:
    """Tell whether a key names an argument."""
    return isinstance(key, str)


# Leaves


def _checked(leaf: Any, aval: ShapedArray, path: tuple) -> Value:
    """Return an argument of the type that is wanted, or raise ValueError."""
    found = typeof(leaf)
    if found.shape != aval.shape:
        axis = next((i for i, n in enumerate(aval.shape) if found.shape[i : i + 1] != (n,)), 0)
        place = f"{_place(path)}.shape" + (f"[{axis}]" if found.ndim == aval.ndim else "")
        raise ValueError(
            f"Shape mismatch for {place} (expected same constant): expected {aval.shape} and "
            f"called with {found.shape}"
        )
    if found.dtype != aval.dtype:
        raise ValueError(
            f"Dtype mismatch for {_place(path)}: expected {aval.dtype} and called with "
            f"{found.dtype}"
        )
    if found.dtype == dtypes.float0 or not found.weak_type:
        return leaf
    return convert_element_type(leaf, aval.dtype)


def _place(path: tuple) -> str:
    """Return where a leaf of (args, kwargs) stands, such as `args[0]['a']`."""
    if not path:
        return "(args, kwargs)"
    return ("args", "kwargs")[path[0].idx] + keystr(path[1:])


def _carried(x: Value, aval: ShapedArray) -> Value:
    """Return the array of the module that stands for a leaf."""
    if isinstance(aval.dtype, dtypes.KeyDtype):
        return random_unwrap(x)
    return np.zeros(aval.shape, np.bool_) if aval.dtype == dtypes.float0 else x


def _restored(x: Value, aval: ShapedArray) -> Value:
    """Return the leaf that an array of the module stands for."""
    if isinstance(aval.dtype, dtypes.KeyDtype):
        return random_wrap(x, impl=aval.dtype.prng_impl)
    return float0_zeros(aval.shape) if aval.dtype == dtypes.float0 else x


def _aval_to_json(aval: ShapedArray) -> list:
    """Return a type as values of JSON."""
    is_zero = aval.dtype == dtypes.float0
    name = "float0" if is_zero else dtypes.dtype_name(aval.dtype)
    return [list(aval.shape), name, aval.weak_type]


def _aval_from_json(value: Any) -> ShapedArray:
    """Return the type that JSON describes."""
    shape, name, weak = value
    return ShapedArray(tuple(map(int, shape)), _dtype_named(name), bool(weak))


def _dtype_named(name: str) -> dtypes.Dtype:
    """Return the dtype of a name: NumPy's, `float0`, or a generator's `key<fry>`."""
    if name == "float0":
        return dtypes.float0
    keys = {impl.dtype.name: impl.dtype for impl in prng_impls.values()}
    return keys[name] if name in keys else np.dtype(name)


# Names that are there to be refused, or that have one value


def default_export_platform() -> str:
    """Return the platform that functions are exported for: "cpu".

    >>> default_export_platform()
    'cpu'
    """
    return "cpu"


def is_symbolic_dim(p: Any) -> bool:
    """Tell whether an extent is symbolic: never.

    >>> is_symbolic_dim(3)
    False
    """
    return False


def _refuse_symbolic(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: extents are numbers here.

    >>> jax.export.symbolic_args_specs((np.ones(3),), "n")
    Traceback (most recent call last):
        ...
    NotImplementedError: symbolic shapes are not supported: ...
    """
    raise NotImplementedError(
        "symbolic shapes are not supported: export the function once for each shape that it is to "
        "be called with."
    )


symbolic_shape = _refuse_symbolic
symbolic_args_specs = _refuse_symbolic
symbolic_dim_bounds = _refuse_symbolic


class SymbolicScope:
    """What symbolic extents would belong to; making one raises NotImplementedError.

    >>> SymbolicScope()
    Traceback (most recent call last):
        ...
    NotImplementedError: symbolic shapes are not supported: ...
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        """Refuse."""
        _refuse_symbolic()


class DisabledSafetyCheck:
    """A check that an export is told to leave out; there are none here that could be.

    >>> DisabledSafetyCheck.platform()
    DisabledSafetyCheck(platform)
    """

    def __init__(self, name: str) -> None:
        """name: what is not checked."""
        self.name = name

    @staticmethod
    def platform() -> DisabledSafetyCheck:
        """Name the check that a program runs where it was exported for."""
        return DisabledSafetyCheck("platform")

    @staticmethod
    def custom_call(target_name: str) -> DisabledSafetyCheck:
        """Name the check that a custom call is known to be stable."""
        return DisabledSafetyCheck(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the target of a custom call, if the check is about one."""
        kind, _, target = self.name.partition(":")
        return target if kind == "custom_call" else None

    def __repr__(self) -> str:
        """Print the name."""
        return f"DisabledSafetyCheck({self.name})"
