"""Arrays and the memory that they own."""

import ctypes
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.runtime import array, memory
from tapeless.runtime.array import array_from_numpy


@pytest.mark.parametrize("value", [np.bool_(False), np.bool_(True), np.int8(65), np.uint8(0)])
def test_a_donated_byte_is_not_one_that_python_shares(value):
    change = jax.jit(lambda x: ~x, donate_argnums=0)
    x = jnp.asarray(value)
    assert change(x) == ~value
    assert x.is_deleted()
    assert list(bytes(range(256))) == [bytes([number])[0] for number in range(256)]
    assert bytes([value.view(np.uint8)])[0] == value.view(np.uint8)


def test_leading_rows_share_memory_unless_most_of_it_would_lie_idle():
    x = jnp.arange(100_000.0)
    most, few = x.leading(90_000), x.leading(10)
    assert most.block is x.block
    assert few.block is not x.block
    np.testing.assert_array_equal(most, np.arange(90_000))
    np.testing.assert_array_equal(few, np.arange(10))


def test_a_copy_is_made_of_what_comes_from_numpy():
    source = np.zeros(3, np.float32)
    x = array_from_numpy(source)
    source[0] = 1
    assert x.tolist() == [0, 0, 0]


def test_views_are_read_only_and_outlive_the_array():
    view = np.asarray(jnp.arange(5))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 7
    assert view.tolist() == [0, 1, 2, 3, 4]


def test_a_deleted_array_says_so():
    x = jnp.zeros(3)
    x.delete()
    assert x.is_deleted()
    wanted = (
        r"Array has been deleted with shape=float32\[3\]\. It was donated .* or its method delete"
    )
    with pytest.raises(RuntimeError, match=wanted):
        x.numpy_view()


@pytest.mark.parametrize("kind", [int, float, complex])
def test_scalars_of_subclasses_are_values(kind):
    """As what they are subclasses of; JAX takes them as well."""
    x = type("Special", (kind,), {})(3)
    f = jax.jit(lambda tree: tree[0])
    for _ in range(3):
        for out in (f([x]), jnp.positive(x)):
            assert out.aval == f([kind(3)]).aval
            assert out == 3


def test_what_a_handler_raises_while_numpy_asks_for_the_memory_arrives(monkeypatch):
    """NumPy drops what the buffer protocol raises."""

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the handler has raised")

    x, y = jnp.arange(3) + 1, jnp.arange(4) + 1
    monkeypatch.setattr(memory, "view", interrupted)
    protocol = (memoryview,) if sys.version_info >= (3, 12) else ()
    for convert in (np.asarray, lambda x: np.add(x, np.ones(3)), *protocol):
        with pytest.raises(KeyboardInterrupt):
            convert(x)
    monkeypatch.undo()
    np.testing.assert_array_equal(np.asarray(y), [1, 2, 3, 4])
    np.testing.assert_array_equal(np.asarray(x), [1, 2, 3])
    np.testing.assert_array_equal(x.__array__(), [1, 2, 3])


def test_what_a_handler_raises_before_the_first_instruction_of_the_protocol_arrives():
    """The signal is there when NumPy asks: nothing that looks for signals runs in between."""
    send = ctypes.pythonapi.PyErr_SetInterruptEx
    x = jnp.arange(3) + 1
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            next(map(np.add, [x], map(send, [signal.SIGINT])))
        np.testing.assert_array_equal(np.add(x, 0), [1, 2, 3])

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    try:
        with pytest.raises(TimeoutError):
            next(map(np.add, [x], map(send, [signal.SIGALRM])))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_arrays_are_made_of_masked_ones_only_where_the_mask_may_be_dropped() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for make in (jnp.asarray, jax.device_put, jnp.zeros(2).at[:].set):
        with pytest.raises(ValueError, match="masked arrays are not supported"):
            make(masked)
    np.testing.assert_array_equal(jnp.array(masked), [1, 2])


def test_a_leaked_tracer_is_named_where_it_is_an_argument() -> None:
    kept = []
    jax.jit(lambda x: kept.append(x))(1.0)
    for use in (jax.jit(lambda x: x + 1), jax.device_put):
        with pytest.raises(jax.errors.UnexpectedTracerError, match="to escape the scope"):
            use(kept[0])


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4"])
def test_numpy_gets_what_no_buffer_has(dtype: str) -> None:
    x = jnp.ones(3, dtype)
    assert np.asarray(x).dtype == x.dtype
    assert np.asarray(x).astype(float).tolist() == [1, 1, 1]


def rings_during(function: Callable[[], Any]) -> tuple[int, Any]:
    """Return how often a handler ran meanwhile, where there is a signal each millisecond."""
    rings: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        result = function()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return len(rings), result


EXPORTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tolist": (lambda x: x.tolist(), np.array),
    "array": (lambda x: x.__array__(copy=True), lambda x: x),
    "other dtype": (lambda x: x.__array__(np.float64), lambda x: x),
    "pickle": (lambda x: x.__reduce__()[1][0], lambda x: x),
}


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("rows", [(), (2,)])
def test_handlers_run_while_a_large_array_is_given_out(
    name: str, rows: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(array, "_PIECE", 1 << 20)
    monkeypatch.setattr(array, "_LISTED", 1 << 18)
    export, back = EXPORTS[name]
    shape = (*rows, 1_500_000 if name == "tolist" else 15_000_000)
    x = jnp.arange(np.prod(shape), dtype=jnp.float32).reshape(shape)
    x.block_until_ready()
    count, out = rings_during(lambda: export(x))
    assert count >= 4
    assert np.array_equal(back(out), np.asarray(x))


def test_handlers_run_while_a_large_array_is_copied() -> None:
    for number, shape in enumerate(((30_000_000,), (2, 15_000_000))):
        theirs = np.full(shape, number, np.float32)
        theirs[-1, ...] = 7
        count, ours = rings_during(lambda theirs=theirs: array_from_numpy(theirs))
        assert count >= 4
        assert np.array_equal(np.asarray(ours), theirs)
