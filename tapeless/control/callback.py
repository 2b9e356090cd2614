"""Callbacks: calling Python while a compiled program runs.

    debug_callback    no results; runs whenever control reaches it, once per row of a batch
    pure_callback     results, no effects; may be left out or run again
    io_callback       results and effects; is never left out

`debug_print` is a debug callback that formats its operands and writes to `sys.stdout`.

The user's function gets Arrays that it may keep, and runs under the base trace with no named axis
in scope, whatever was going on around the program that calls it; so it may use this package itself.
What it raises ends the program and is raised from the call of the program.

In forward mode the primals are passed and there are no tangents; under `vmap` a callback runs once
per row, as a native loop, unless its `vmap_method` says that the function takes whole batches.
"""

from __future__ import annotations

import string
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from tapeless import dtypes, errors
from tapeless.control.bodies import flatten_values
from tapeless.control.loops import map as map_rows
from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, is_value, typeof
from tapeless.core.effects import (
    CALLBACK,
    DEBUG,
    ORDERED_CALLBACK,
    ORDERED_DEBUG,
    Effects,
)
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Context, Value, eval_context
from tapeless.prims.common import batch_dim_to
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.treedef import PyTreeDef
from tapeless.util import lazy
from tapeless.util.apart import in_waiting_thread
from tapeless.util.records import record

__all__ = [
    "debug_callback",
    "debug_callback_p",
    "debug_log",
    "debug_print",
    "debug_print_p",
    "io_callback",
    "io_callback_p",
    "pure_callback",
    "pure_callback_p",
]

logging = lazy.load("logging")
_VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)


class Callback(Primitive):
    """What all callbacks share.

    callback: a flat Python function of Arrays, (*args) -> sequence of results.
    result_avals: their types.  title: the word for messages.
    """

    title = "Callbacks"

    def abstract(self, *avals: ShapedArray, result_avals: tuple = (), **params: Any) -> tuple:
        """Return the types of the results."""
        return result_avals

    def printed(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters; no callback is placed on devices."""
        return {**super().printed(params), "sharding": None}

    def transpose(self, cotangents: Sequence, args: Sequence, **params: Any) -> tuple:
        """Leave out a call by which no cotangent depends on another; refuse others."""
        if any(type(cotangent) is not Zero for cotangent in cotangents):
            raise ValueError(
                f"{self.title} do not support transpose. Please use `jax.custom_vjp` to use "
                "callbacks while taking gradients."
            )
        return tuple(Zero(arg.aval) if type(arg) is Linear else None for arg in args)

    def batch(self, axis: Axis, args: Values, dims: Sequence, **params: Any) -> tuple:
        """Run once per row, in order."""
        pairs = zip(args, dims, strict=True)
        fronted = [batch_dim_to(x, dim, 0, axis.size) for x, dim in pairs if dim is not None]

        def one(given: list[Value]) -> tuple[Value, ...]:
            """Bind the callback on one row."""
            rest = iter(given)
            full = [x if dim is None else next(rest) for x, dim in zip(args, dims, strict=True)]
            return self.bind(*full, **params)

        outs = map_rows(one, fronted)
        return outs, (0,) * len(outs)

    def lower(
        self, b: Any, args: Sequence, outs: tuple, *, callback: Callable, **params: Any
    ) -> tuple:
        """Write a call of the Python function."""
        avals = [arg.aval for arg in args]

        def call(*arrays: np.ndarray) -> list[np.ndarray]:
            """Wrap the memory of the program, which is copied, call, and check what comes back."""
            base = Context.base
            numbers = map(_numbers, arrays, avals)
            with eval_context():
                results = callback(*map(base.array, numbers, avals))
                return list(map(_parts, _checked(results, outs)))

        def ask(*arrays: np.ndarray) -> None:
            """Call where the user's program runs, and write what comes back."""
            given, targets = arrays[: len(avals)], arrays[len(avals) :]
            results = in_waiting_thread(lambda: call(*given))
            for target, result in zip(targets, results, strict=True):
                target[...] = np.asarray(result).reshape(target.shape)

        return b.host_call(ask, args, outs)

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> NoReturn:
        """Refuse: a text cannot call a function of this process."""
        raise NotImplementedError(
            f"{self.name} cannot be written as StableHLO, because it calls back into Python. Take "
            "the callback out of the function, or compile it without asking for its text."
        )


class DebugCallback(Callback):
    """Call a Python function for its effect; it returns nothing."""

    name = "debug_callback"

    def printed(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the effect; the function is behind one that takes flat arguments."""
        flat = "debug_callback.<locals>._debug_callback.<locals>._flat_callback"
        (effect,) = self.effects(**params)
        return {
            "callback": f"<function {flat} at 0xXXXXXXXXXXXX>",
            "effect": effect,
            "partitioned": params["partitioned"],
        }

    def effects(self, *, ordered: bool, **params: Any) -> Effects:
        """Return the debug effect."""
        return frozenset((ORDERED_DEBUG if ordered else DEBUG,))

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> tuple:
        """Pass the primals."""
        self.bind(*primals, **params)
        return (), ()


class DebugPrint(DebugCallback):
    """A debug callback that prints; a primitive of its own for its printed form."""

    name = "debug_print"
    hidden = {"callback": ...}

    def printed(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the format and what it is filled in with."""
        return Primitive.printed(self, params)


class PureCallback(Callback):
    """Call a Python function for its results."""

    name = "pure_callback"
    title = "Pure callbacks"

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> NoReturn:
        """Refuse: Python functions have no derivative."""
        raise ValueError(
            "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while "
            "taking gradients."
        )

    def batch(self, axis: Axis, args: Values, dims: Sequence, **params: Any) -> tuple:
        """Do what `vmap_method` says."""
        method = params["vmap_method"]
        if method is None:
            words = ", ".join(map(repr, _VMAP_METHODS[:-1]))
            raise NotImplementedError(
                f"vmap is only supported for the pure_callback primitive when vmap_method is one "
                f"of {words}, or {_VMAP_METHODS[-1]!r}. Got vmap_method=None."
            )
        if method.startswith("sequential"):
            return super().batch(axis, args, dims, **params)
        size = axis.size if method == "broadcast_all" else 1
        spread = method != "legacy_vectorized"
        whole = [
            batch_dim_to(x, dim, 0, size) if spread or dim is not None else x
            for x, dim in zip(args, dims, strict=True)
        ]
        avals = tuple(a.update(shape=(axis.size, *a.shape)) for a in params["result_avals"])
        outs = self.bind(*whole, **{**params, "result_avals": avals})
        return outs, (0,) * len(outs)


class IOCallback(Callback):
    """Call a Python function for its results and its effects."""

    name = "io_callback"
    title = "IO callbacks"

    def effects(self, *, ordered: bool, **params: Any) -> Effects:
        """Return the effect."""
        return frozenset((ORDERED_CALLBACK if ordered else CALLBACK,))

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> NoReturn:
        """Refuse: Python functions have no derivative."""
        raise ValueError(
            "IO callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while "
            "taking gradients."
        )

    def batch(self, axis: Axis, args: Values, dims: Sequence, **params: Any) -> tuple:
        """Run once per row; an ordered callback cannot be mapped."""
        if params["ordered"]:
            raise ValueError("Cannot `vmap` ordered IO callback.")
        return super().batch(axis, args, dims, **params)


debug_callback_p = DebugCallback()
debug_print_p = DebugPrint()
pure_callback_p = PureCallback()
io_callback_p = IOCallback()


@record
class FlatCallback:
    """The function of flat Arrays behind a callback: `function`, of trees."""

    function: Callable
    tree: PyTreeDef
    has_results: bool = True

    def __call__(self, *arrays: Value) -> list[Any]:
        """Call the user's function."""
        args, kwargs = tree_unflatten(self.tree, arrays)
        result = self.function(*args, **kwargs)
        return tree_flatten(result)[0] if self.has_results else []

    def __repr__(self) -> str:
        """Return what programs print."""
        return f"_FlatCallback(callback_func={self.function}, in_tree={self.tree})"


def _numbers(memory: np.ndarray, aval: ShapedArray) -> np.ndarray:
    """Return an array over memory in which complex numbers are a last axis of two."""
    return memory.view(aval.dtype)[..., 0] if aval.dtype.kind == "c" else memory


def _parts(numbers: np.ndarray) -> np.ndarray:
    """Return complex numbers as a last axis of two, and others as they are."""
    return np.stack([numbers.real, numbers.imag], -1) if numbers.dtype.kind == "c" else numbers


def _as_numpy(result: Any) -> np.ndarray:
    """Return what a callback gave as a NumPy array.

    An Array is asked itself: what a signal's handler raises while NumPy uses the buffer protocol is
    lost, since NumPy drops all errors of that.
    """
    is_foreign = hasattr(result, "__array__") and not isinstance(result, (np.ndarray, np.generic))
    return np.asarray(result.__array__() if is_foreign else result)


def _checked(results: Sequence[Any], avals: Sequence[ShapedArray]) -> list[np.ndarray]:
    """Return the results of a callback, or raise if they are not what was announced."""
    if len(results) != len(avals):
        raise errors.JaxRuntimeError(
            f"Mismatched number of outputs from callback. Expected: {len(avals)}, Actual: "
            f"{len(results)}"
        )
    values = [_as_numpy(result) for result in results]
    for number, (value, aval) in enumerate(zip(values, avals, strict=True)):
        name = f"for return value #{number}"
        if value.shape != aval.shape:
            raise errors.JaxRuntimeError(
                f"Incorrect output shape {name}: Expected: {aval.shape}, Actual: {value.shape}"
            )
        dtype = dtypes.canonicalize_dtype(value.dtype) if value.dtype.kind in "biufc" else None
        if dtype != aval.dtype and value.dtype != aval.dtype:
            raise errors.JaxRuntimeError(
                f"Incorrect output dtype {name}: Expected: {aval.dtype}, Actual: {value.dtype}"
            )
    return [value.astype(a.dtype, copy=False) for value, a in zip(values, avals, strict=True)]


def debug_callback(
    callback: Callable | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Callable | None:
    """Call `callback(*args, **kwargs)` whenever the program gets here.

    ordered: keep the order among ordered callbacks (it is program order in any case).  Without a
    callback, return this function with the keywords set.

    >>> x = jax.jit(lambda x: jax.debug.callback(lambda v: print(float(v)), x))(3.0)
    3.0
    """
    if callback is None:
        return partial(debug_callback, ordered=ordered, partitioned=partitioned)
    if not callable(callback):
        raise TypeError(
            f"first argument to jax.debug.callback must be callable, but got an object of type "
            f"{type(callback)}"
        )
    leaves, tree = flatten_values((args, kwargs))
    function = FlatCallback(callback, tree, has_results=False)
    debug_callback_p.bind(*leaves, callback=function, ordered=ordered, partitioned=partitioned)
    return None


class _Shown:
    """An object that is printed, whether or not it can be hashed: compared by identity."""

    def __init__(self, value: Any) -> None:
        """value: the object."""
        self.value = value

    def __repr__(self) -> str:
        """Return the object's form."""
        return repr(self.value)

    def __eq__(self, other: object) -> bool:
        """Tell whether the other one shows the same object."""
        return isinstance(other, _Shown) and self.value is other.value

    def __hash__(self) -> int:
        """Hash the identity of the object."""
        return id(self.value)


def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: Any,
) -> Callable | None:
    """Print `fmt.format(*args, **kwargs)` with the values that the program has when it gets here.

    skip_format_check: accept arguments that the format does not mention.  Without a format, return
    this function with the keywords set.  _use_logging: write to the log (as `jax.debug.log` does),
    not to standard output.

    >>> debug_print("x = {x}", x=3)
    x = 3
    """
    if fmt is None:
        flags = {"ordered": ordered, "partitioned": partitioned, "_use_logging": _use_logging}
        return partial(debug_print, skip_format_check=skip_format_check, **flags)
    if not isinstance(fmt, str):
        raise TypeError(f"expected str, got {type(fmt).__name__}")
    if not skip_format_check:
        _FormatCheck().format(fmt, *args, **kwargs)
    leaves, tree = tree_flatten((args, kwargs))
    dynamic = [is_value(leaf) for leaf in leaves]
    fixed = [None if flag else leaf for leaf, flag in zip(leaves, dynamic, strict=True)]
    options = np.get_printoptions()

    def write(*arrays: Value) -> list[Any]:
        """Format and print."""
        rest = iter(arrays)
        full = [next(rest) if flag else leaf for leaf, flag in zip(fixed, dynamic, strict=True)]
        given, named = tree_unflatten(tree, full)
        with np.printoptions(**options):
            text = fmt.format(*given, **named)
        if _use_logging:
            logging.getLogger(__name__).info(text)
        else:
            sys.stdout.write(text + "\n")
        return []

    values = [leaf for leaf, flag in zip(leaves, dynamic, strict=True) if flag]
    shown = {
        "fmt": fmt,
        "has_placeholders": any(name is not None for _, name, _, _ in _FormatCheck().parse(fmt)),
        "in_tree": tree,
        "logging_record": None,
        "np_printoptions": tuple(options.items()),
        "static_args": tuple((i, _Shown(x)) for i, x in enumerate(fixed) if not dynamic[i]),
    }
    flags = {"ordered": ordered, "partitioned": partitioned}
    debug_print_p.bind(*values, callback=write, **flags, **shown)
    return None


debug_log = partial(debug_print, _use_logging=True)


class _FormatCheck(string.Formatter):
    """Looks up all arguments of a format without formatting them, since they may be tracers."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format nothing."""
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Convert nothing."""
        return value

    def check_unused_args(self, used_args: Any, args: Sequence, kwargs: Mapping) -> None:
        """Refuse arguments that the format does not mention."""
        unused = [arg for number, arg in enumerate(args) if number not in used_args]
        named = [name for name in kwargs if name not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}")
        if named:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {named}. You may be passing an "
                f'f-string (i.e, `f"{{x}}"`) into `jax.debug.print` and instead should pass in a '
                f"regular string."
            )


def result_types(tree: Any) -> tuple[list[ShapedArray], PyTreeDef]:
    """Return the avals of a tree of ShapeDtypeStructs or arrays."""
    leaves, treedef = tree_flatten(tree)
    if any(_is_too_wide(x) for x in leaves):
        raise ValueError(
            "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled"
        )
    avals = [
        ShapedArray(tuple(x.shape), x.dtype)
        if isinstance(x, ShapeDtypeStruct) or hasattr(x, "dtype")
        else typeof(x)
        for x in leaves
    ]
    return avals, treedef


def _is_too_wide(x: Any) -> bool:
    """Tell whether the dtype of `x` needs the 64-bit switch, which is off."""
    dtype = getattr(x, "dtype", None)
    return isinstance(dtype, np.dtype) and dtypes.canonicalize_dtype(dtype) != dtype


def pure_callback(
    callback: Callable,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return `callback(*args, **kwargs)`, a function without side effects of NumPy arrays.

    result_shape_dtypes: a tree of ShapeDtypeStructs.  vmap_method: None, "sequential",
    "expand_dims" or "broadcast_all": how to map it.

    >>> scalar = jax.ShapeDtypeStruct((), np.float32)
    >>> jax.jit(lambda x: jax.pure_callback(lambda v: v + v, scalar, x))(np.float32(3))
    Array(6., dtype=float32)
    """
    if vmap_method is not None and vmap_method not in _VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be on of the allowed methods {[*_VMAP_METHODS, None]}, but got: "
            f"{vmap_method}"
        )
    leaves, tree = flatten_values((args, kwargs))
    avals, out_tree = result_types(result_shape_dtypes)
    function = FlatCallback(callback, tree)
    outs = pure_callback_p.bind(
        *leaves, callback=function, result_avals=tuple(avals), vmap_method=vmap_method
    )
    return tree_unflatten(out_tree, outs)


def io_callback(
    callback: Callable,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Return `callback(*args, **kwargs)`, a function with side effects of NumPy arrays."""
    leaves, tree = flatten_values((args, kwargs))
    avals, out_tree = result_types(result_shape_dtypes)
    function = FlatCallback(callback, tree)
    outs = io_callback_p.bind(
        *leaves, callback=function, result_avals=tuple(avals), ordered=ordered
    )
    return tree_unflatten(out_tree, outs)
