"""Memory: blocks are aligned, pooled, and alive as long as anything looks at them."""

from __future__ import annotations

import gc
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tapeless as jax
from tapeless.runtime import memory

jnp = jax.numpy


@pytest.mark.parametrize("n_bytes", [0, 1, 63, 64, 65, 1000, 4097, 1 << 20])
def test_blocks_are_large_enough_and_aligned(n_bytes):
    """A block has its bytes, wastes at most a fifth of large ones, and starts at a cache line."""
    block = memory.allocate(n_bytes)
    assert block.size >= n_bytes
    assert block.address % memory.ALIGNMENT == 0
    assert block.size <= max(256, n_bytes * 1.25)


def test_a_dead_block_is_used_again():
    """The memory of a block that died is the next block of its size."""
    block = memory.allocate(1 << 20)
    address = block.address
    del block
    assert memory.allocate(1 << 20).address == address


def test_trim_gives_everything_back():
    """After `trim` the pool holds nothing."""
    block = memory.allocate(1 << 20)
    del block
    assert memory.pooled_bytes() > 0
    memory.trim()
    assert memory.pooled_bytes() == 0


def test_views_outlive_their_array():
    """A NumPy view keeps its elements when the Array is gone and others were made."""
    for size in (8, 1 << 16):
        x = jnp.arange(size) + 1
        view = np.asarray(x)
        del x
        gc.collect()
        others = [jnp.zeros(size, int) + k for k in range(4)]
        np.testing.assert_array_equal(view, np.arange(size) + 1)
        assert len(others) == 4


def test_views_are_read_only():
    """What NumPy gets cannot be written."""
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(jnp.ones(3))[0] = 2.0


def test_calls_do_not_keep_memory():
    """A hundred large results that are dropped leave at most a few blocks in the pool."""
    memory.trim()
    f = jax.jit(lambda x: x + 1)
    x = jnp.ones(1 << 18)
    for _ in range(100):
        f(x)
    assert memory.pooled_bytes() < 8 * x.nbytes


def test_a_block_that_dies_runs_no_python_code() -> None:
    address = memory.allocate(1 << 17).address
    assert memory.allocate(1 << 17).address == address  # its memory was found again
    block, frames = memory.allocate(1 << 17), []
    sys.setprofile(lambda frame, event, _: frames.append((frame.f_code.co_name, event)))
    del block
    sys.setprofile(None)
    assert [name for name, event in frames if event == "call"] == []


@pytest.mark.parametrize("n_bytes", [1 << 17, memory._LARGEST_POOLED + 1])
def test_memory_of_blocks_that_die_in_a_cycle_is_found_again(n_bytes: int) -> None:
    gc.disable()
    try:
        holder = [memory.allocate(n_bytes)]
        address = holder[0].address
        holder.append(holder)
        del holder
        assert memory.allocate(n_bytes).address != address
        gc.collect()
    finally:
        gc.enable()
    graves = len(memory._references)
    memory.allocate(n_bytes)
    assert len(memory._references) <= graves
    if n_bytes <= memory._LARGEST_POOLED:
        addresses = {block.address for block in [memory.allocate(n_bytes) for _ in range(3)]}
        assert address in addresses


def test_memory_of_the_largest_blocks_is_given_back_at_once() -> None:
    block = memory.allocate(memory._LARGEST_POOLED + 1)
    address, frames = block.address, []
    sys.setprofile(lambda frame, event, _: frames.append((frame.f_code.co_name, event)))
    del block
    sys.setprofile(None)
    assert [name for name, event in frames if event == "call"] == []
    ranges = Path("/proc/self/maps").read_text().split("\n")[:-1]
    starts = [[int(end, 16) for end in line.split()[0].split("-")] for line in ranges]
    assert not any(start <= address < end for start, end in starts)


def test_large_blocks_begin_with_a_page_and_go_back_to_the_system():
    size = memory.size_class(5 << 20)
    block = memory.allocate(5 << 20)
    assert block.size == size
    assert block.address % memory.ALIGNMENT == 0
    if sys.platform == "linux":
        assert block.address % (2 << 20) == 0
    whole = memory.view(block, block.address, (size,), np.dtype(np.int8), writable=True)
    whole[:] = 1
    assert whole[-1] == 1
    del whole, block
    before = memory.pooled_bytes()
    assert before >= size
    memory.trim()
    assert memory.pooled_bytes() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what is mapped where")
@pytest.mark.parametrize("n_bytes", [1 << 17, 1 << 20])
def test_blocks_are_not_in_the_heap_whose_pages_numpy_made_huge(n_bytes):
    """The first byte of a block takes a page, and not 2 MiB where NumPy has asked for such."""
    memory.trim()
    for _ in range(3):  # the first ones are mapped by themselves, then the heap has them
        np.ones(1 << 20)
    block = memory.allocate(n_bytes)
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = [int(part, 16) for part in line.split()[0].split("-")]
        if start <= block.address < end:
            assert not line.endswith("[heap]")
            return
    raise AssertionError("a block lies in some mapping")


def test_what_no_memory_is_left_for_is_an_error():
    with pytest.raises(MemoryError, match="could not be allocated"):
        memory.allocate(1 << 61)


def wait_until(condition):
    """Wait some seconds for what takes one or two."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


@pytest.mark.parametrize("n_bytes", [1 << 20, 5 << 20])
def test_what_is_not_used_goes_back_to_the_system(n_bytes):
    """After a burst the pool is empty within seconds, and no thread is left."""
    memory.trim()
    wait_until(lambda: memory._watcher.thread is None)  # that of an earlier test
    n_threads = threading.active_count()
    blocks = [memory.allocate(n_bytes) for _ in range((200 << 20) // n_bytes)]
    assert threading.active_count() == n_threads + 1
    del blocks
    assert memory.pooled_bytes() >= 200 << 20
    wait_until(lambda: memory.pooled_bytes() < 32 << 20)
    wait_until(lambda: threading.active_count() == n_threads)


def test_what_is_used_again_stays():
    """Blocks of a loop of calls remain those of the first call, while others go."""
    memory.trim()
    others = [memory.allocate(5 << 20) for _ in range(20)]
    used = memory.allocate(7 << 20)
    del others, used
    seen = {memory.allocate(7 << 20).address}

    def others_are_gone():
        seen.add(memory.allocate(7 << 20).address)
        return memory.pooled_bytes() < 100 << 20

    wait_until(others_are_gone)
    assert len(seen) == 1
