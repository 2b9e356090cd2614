"""Calls from native code into Python: what ends one arrives where the program was called."""

from __future__ import annotations

import ctypes
import signal
import sys

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.compiler.host import HostCall, native_callbacks, take_exception
from tapeless.kernel.ir import Buffer


class Alarm(Exception):
    """What a signal's handler raises."""


@pytest.fixture
def alarms() -> object:
    """Let SIGALRM raise an Alarm; return the C function that sends a signal to this process."""

    def ring(*_: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    yield ctypes.pythonapi.PyErr_SetInterruptEx
    signal.signal(signal.SIGALRM, before)


def test_what_a_handler_raises_before_a_callback_begins_is_kept(
    alarms: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal is there when the callback is called: nothing looks for signals in between."""
    reported, seen = [], []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    call = HostCall(seen.append, [Buffer((0,), np.dtype("f"), "input")], [])
    addresses, kept = native_callbacks({"probe": call})
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(addresses["probe"])
    assert native(0) == 0 and take_exception() is None
    next(map(native, map(alarms, [signal.SIGALRM])))
    assert isinstance(take_exception(), Alarm)
    assert (len(seen), len(reported), len(kept)) == (1, 1, 1)


def test_an_exception_inside_is_the_callers(alarms: object) -> None:
    def rings(x: np.ndarray) -> np.ndarray:
        signal.raise_signal(signal.SIGALRM)
        return x

    @jax.jit
    def f(x: jax.Array) -> jax.Array:
        return jax.pure_callback(rings, jax.ShapeDtypeStruct((3,), "f"), x)

    with pytest.raises(Alarm):
        f(jnp.ones(3))
    assert take_exception() is None
