"""The machine that code is emitted for: what the emitter may ask of it.

The emitter needs few facts: how wide a vector register is and which operations are cheap. They
come from LLVM's feature names, so that a lower level (`x86-64-v2`) or another architecture is a
`Target` like the host's and every decision follows from the same fields.

AMX is left out of the features of the host, since it is used where it is called for
(`matrixtiles.py`), with a permission that a process asks the kernel for. Where there are
instructions for float16, LLVM uses them for sums, products and quotients that are computed in
float32 and rounded at once (`formats.py`), which have the same bits.
`TAPELESS_CPU` names a lower level for the whole process.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

import llvmlite.binding as llvm

from tapeless.kernel.strips import Registers
from tapeless.util.records import record

__all__ = ["Target", "host_target", "named_target"]


@record
class Target:
    """A processor as LLVM names it, and what the emitter asks about it.

    vector_bytes: the width of a vector register; masks: masked loads and stores are instructions;
    gathers: gathers are instructions; half: conversions of float16 are instructions; matrices: this
    process may use matrix registers (`matrixtiles.py`).
    """

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    masks: bool
    gathers: bool
    half: bool
    matrices: bool = False

    @property
    def registers(self) -> Registers | None:
        """The vector registers, if an instruction multiplies and adds."""
        is_arm = self.triple.startswith("aarch64")
        if self.vector_bytes < 32 and not is_arm:
            return None
        brains = self.vector_bytes == 64 and "+avx512bf16" in self.features.split(",")
        count = 32 if self.vector_bytes == 64 or is_arm else 16
        return Registers(count, self.vector_bytes, brains, shorts=not is_arm)


_ARCH_PRCTL, _REQUEST_STATE, _TILE_DATA = 158, 0x1023, 18  # of Linux on x86-64
_LEVELS = {
    "x86-64-v2": ("x86_64-unknown-linux-gnu", "x86-64-v2", 16, False, False, False),
    "x86-64-v3": ("x86_64-unknown-linux-gnu", "x86-64-v3", 32, True, True, True),
    "x86-64-v4": ("x86_64-unknown-linux-gnu", "x86-64-v4", 64, True, True, True),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic", 16, False, False, True),
}


@cache
def named_target(name: str) -> Target:
    """Return the target of a level: x86-64-v2, x86-64-v3, x86-64-v4 or aarch64."""
    level = _LEVELS.get(name)
    if level is None:
        known = ", ".join(sorted(_LEVELS))
        raise ValueError(f"TAPELESS_CPU must be one of {known}, or unset; got {name!r}")
    triple, cpu, vector_bytes, masks, gathers, half = level
    features = "+prefer-256-bit" if vector_bytes == 32 else ""
    if cpu == "x86-64-v4":
        features = "-prefer-256-bit"
    return Target(triple, cpu, features, vector_bytes, masks, gathers, half)


def _may_use_tiles() -> bool:
    """Ask Linux for the state that matrix registers need, in all threads of this process."""
    if sys.platform != "linux":
        return False
    call = ctypes.CDLL(None).syscall
    call.argtypes, call.restype = [ctypes.c_long] * 3, ctypes.c_long
    return call(_ARCH_PRCTL, _REQUEST_STATE, _TILE_DATA) == 0


@cache
def host_target() -> Target:
    """Return the target of this machine, or the one that `TAPELESS_CPU` names."""
    wanted = os.environ.get("TAPELESS_CPU")
    if wanted:
        return named_target(wanted)
    found = llvm.get_host_cpu_features()
    triple = llvm.get_process_triple()
    wide = found.get("avx512f") and found.get("avx512vl") and found.get("avx512bw")
    wide = wide and found.get("avx512dq")
    middle = found.get("avx2") and found.get("fma")
    vector_bytes = 64 if wide else 32 if middle else 16
    has_tiles = found.get("amx-tile") and found.get("amx-bf16")
    dropped = [name for name in found if name.startswith("amx")]
    for name in dropped:
        found[name] = False
    flags = [found.flatten()]
    if wide:
        flags.append("-prefer-256-bit")
    return Target(
        triple=triple,
        cpu=llvm.get_host_cpu_name(),
        features=",".join(flag for flag in flags if flag),
        vector_bytes=vector_bytes,
        masks=bool(wide or middle),
        gathers=bool(wide or middle),
        half=bool(found.get("f16c")) or triple.startswith("aarch64"),
        matrices=bool(wide and has_tiles and _may_use_tiles()),
    )
