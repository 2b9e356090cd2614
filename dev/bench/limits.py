"""The machine's limits, measured: how fast memory is copied, and how fast BLAS multiplies.

A program has to read its arguments and write its results, and its products take multiplications.
Its *limit* is the larger of the two times that this machine needs for as much of either:

    bytes of arguments and results / bandwidth of a copy that touches as many bytes
    operations                     / operations a second of a large product by NumPy's BLAS

The bandwidth is that of all cores together and counts both sides of a copy. It depends on the size,
by way of the caches, so it is measured at powers of four and interpolated. What a program reads
that is neither argument nor result, such as temporaries, is not needed and not counted.
"""

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

__all__ = ["Limits", "measure"]

SIZES = tuple(1 << power for power in range(12, 29, 2))  # bytes touched
SECONDS = 0.05
ORDER = 1536


class Limits:
    """Measured limits.  bandwidth: size -> bytes/s; peak: itemsize -> operations/s."""

    def __init__(self, bandwidth: dict[int, float], peak: dict[int, float]) -> None:
        """Keep the measurements."""
        self.bandwidth = bandwidth
        self.peak = peak

    def memory_seconds(self, n_bytes: float) -> float:
        """Return the seconds of a copy that touches so many bytes."""
        places = np.log2(list(self.bandwidth))
        speeds = list(self.bandwidth.values())
        return n_bytes / float(np.interp(math.log2(max(n_bytes, 1)), places, speeds))

    def product_seconds(self, operations: float, itemsize: int) -> float:
        """Return the seconds of so many operations on numbers of 4 or 8 bytes."""
        return operations / self.peak[8 if itemsize == 8 else 4]

    def __str__(self) -> str:
        """Return both limits as a line of text."""
        largest = max(self.bandwidth)
        copies = f"copy {self.bandwidth[largest] / 1e9:.0f} GB/s ({largest >> 20} MiB)"
        names = {4: "sgemm", 8: "dgemm"}
        products = [f"{names[size]} {speed / 1e9:.0f} GFLOP/s" for size, speed in self.peak.items()]
        return ", ".join([copies, *products])


def fastest(function: Callable[[], object]) -> float:
    """Return the seconds of the fastest of some calls."""
    function()
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < SECONDS:
        begun = time.perf_counter()
        function()
        times.append(time.perf_counter() - begun)
    return min(times)


def copy_speed(n_bytes: int, pool: ThreadPoolExecutor, n_threads: int) -> float:
    """Return the bytes a second that copies touch, with one thread or with all, as is faster."""
    source = np.ones(n_bytes // 8, np.float32)
    target = np.zeros_like(source)
    # Short copies are repeated, so that the clock and the call do not count.
    times = max(1, (1 << 18) // n_bytes)
    halves = (np.array_split(source, n_threads), np.array_split(target, n_threads))
    parts = list(zip(*halves, strict=True))

    def repeated(pair: tuple[np.ndarray, np.ndarray]) -> None:
        """Copy one part."""
        for _ in range(times):
            np.copyto(pair[1], pair[0])

    alone = fastest(lambda: repeated((source, target)))
    shared = fastest(lambda: list(pool.map(repeated, parts)))
    return times * n_bytes / min(alone, shared)


def product_speed(dtype: type) -> float:
    """Return the operations a second of a product of two large matrices."""
    x = np.ones((ORDER, ORDER), dtype)
    return 2 * ORDER**3 / fastest(lambda: x @ x)


def measure() -> Limits:
    """Measure the limits of this machine, which takes about two seconds."""
    n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    with ThreadPoolExecutor(n_threads) as pool:
        bandwidth = {size: copy_speed(size, pool, n_threads) for size in SIZES}
    return Limits(bandwidth, {4: product_speed(np.float32), 8: product_speed(np.float64)})
