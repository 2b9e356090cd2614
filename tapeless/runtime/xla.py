"""The optional back end: programs compiled by XLA, through the client that jaxlib has.

    jit(f, backend="xla")                        this function
    config.update("tapeless_backend", "xla")     every program under jit

A program is written as StableHLO text and compiled for XLA's CPU.  Arguments are handed over
without a copy, results are copied into Arrays.  Operations outside of jit, and what a
transformation evaluates on the way, stay with the compiler of this house.  So do donated arguments:
they are not consumed.

jaxlib is imported when the first program is compiled.  jax is not needed; where it is installed,
jaxlib imports it with the first result.  The names that are used here are jaxlib's own, which may
change with any release: `pip install tapeless[xla]` installs the one that is tested.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Jaxpr
from tapeless.errors import JaxRuntimeError
from tapeless.prims.common import float0_zeros
from tapeless.runtime.array import Array, array_of, as_array
from tapeless.util import lazy
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record

__all__ = ["XlaExecutable", "compiled", "hlo_text"]

stablehlo = lazy.load("tapeless.compiler.stablehlo")

_HOW = 'Install it: pip install "tapeless[xla]". Or leave the back end at "native".'


@record
class _Client:
    """XLA's CPU client, the device that it runs on, and jaxlib's modules."""

    extension: Any
    client: Any
    device: Any
    place: Any


@functools.cache
def _client() -> _Client:
    """Import jaxlib and start its client; raise RuntimeError where that cannot be done."""
    if not lazy.exists("jaxlib.xla_client"):
        raise RuntimeError(
            f'the back end "xla", of which the text "hlo" is part, needs jaxlib, which is not '
            f"installed. {_HOW}"
        )
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # no notes on the standard error stream
    try:
        xla_client = lazy.now("jaxlib.xla_client")
        lapack = lazy.now("jaxlib.lapack")
        extension = xla_client._xla
        client = xla_client.make_cpu_client()
        device = client.local_devices()[0]
        lapack._lapack.initialize()  # finds SciPy's routines; without it, calls of them crash
        for name, target, version in lapack.registrations()["cpu"]:
            xla_client.register_custom_call_target(name, target, "cpu", version)
        return _Client(extension, client, device, extension.SingleDeviceSharding(device))
    except (AttributeError, ImportError, KeyError, TypeError) as error:
        raise RuntimeError(
            f'the back end "xla" cannot use the jaxlib that is installed: {error}. {_HOW}'
        ) from error


@record
class _Leaf:
    """The type of an argument, as jaxlib wants it described."""

    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool = False


class XlaExecutable:
    """A program that XLA has compiled; it is called as `Executable` is.

    donated: nothing is.
    """

    donated: tuple[int, ...] = ()

    def __init__(self, jaxpr: Jaxpr) -> None:
        """Write the program and compile it."""
        parts = _client()
        text = stablehlo.module_text(jaxpr, jaxpr.debug.function or "program")
        devices = parts.extension.DeviceList((parts.device,))
        options = parts.extension.CompileOptions()
        try:
            self._loaded = parts.client.compile_and_load(text, devices, options)
        except parts.extension.JaxRuntimeError as error:
            raise JaxRuntimeError(str(error)) from error
        self.in_avals = jaxpr.in_avals
        self.out_avals = jaxpr.out_avals

    def __call__(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Run on Arrays, or scalars and NumPy arrays of the right types; return the results."""
        parts = _client()
        arrays = [_memory_of(x) for x in args]
        given = [_handed_over(parts, x) for x in arrays]
        try:
            outs = self._loaded.execute(given)
        except parts.extension.JaxRuntimeError as error:
            raise JaxRuntimeError(str(error)) from error
        results = [out._to_np_array_did_copy()[0] for out in outs]
        return tuple(_result(x, aval) for x, aval in zip(results, self.out_avals, strict=True))

    @property
    def _memory(self) -> Any:
        """What XLA says of the memory that the program uses."""
        return self._loaded.get_compiled_memory_stats()

    @property
    def code_bytes(self) -> int:
        """The bytes of machine code."""
        return self._memory.generated_code_size_in_bytes

    @property
    def alias_bytes(self) -> int:
        """The bytes of results that live in arguments."""
        return self._memory.alias_size_in_bytes

    @property
    def temp_bytes(self) -> int:
        """The bytes of temporaries."""
        return self._memory.temp_size_in_bytes

    def costs(self) -> dict[str, float]:
        """Return XLA's own figures."""
        return dict(self._loaded.cost_analysis())

    def listing(self) -> str:
        """Return the program as XLA has optimised it."""
        return self._loaded.get_hlo_text()


def hlo_text(module: str, debug_info: bool) -> str:
    """Return a StableHLO module as XLA's own text, before it optimises.

    debug_info: whether operations carry what the module says of where they come from.
    """
    extension = _client().extension
    computation = extension.mlir.mlir_module_to_xla_computation(module, return_tuple=True)
    options = lazy.now("jaxlib._hlo").HloPrintOptions()
    options.print_metadata = debug_info
    return computation.get_hlo_module().to_string(options)


@weak_identity_cache
def compiled(jaxpr: Jaxpr) -> XlaExecutable:
    """Return the form of a program that XLA has compiled."""
    return XlaExecutable(jaxpr)


def _memory_of(x: Any) -> np.ndarray:
    """Return the array of numbers that carries an argument."""
    if getattr(x, "dtype", None) == dtypes.float0:
        return np.zeros(x.shape, np.bool_)
    return as_array(x).numpy_view()


def _handed_over(parts: _Client, x: np.ndarray) -> Any:
    """Return an argument as XLA takes it, over the same memory where it is aligned."""
    leaf = _Leaf(x.shape, x.dtype)
    put = parts.extension.batched_device_put
    return put(leaf, parts.place, [x], [parts.device], True, enable_x64=True)


def _result(x: np.ndarray, aval: ShapedArray) -> Any:
    """Return a result as an Array; one of dtype float0 as NumPy's."""
    if aval.dtype == dtypes.float0:
        return float0_zeros(aval.shape)
    found: Array = array_of(x, aval)
    return found
