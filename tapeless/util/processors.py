"""How many processors a process may use.

A process may be bound to some processors, and its control group may grant it less time than they
have.  `TAPELESS_NUM_THREADS` overrides both.  The number never changes a result, only the time.
"""

from __future__ import annotations

import os

from tapeless.util import lazy

__all__ = ["thread_count"]

pathlib = lazy.load("pathlib")


def thread_count() -> int:
    """Return how many threads to use: TAPELESS_NUM_THREADS, or the processors we may use."""
    wanted = os.environ.get("TAPELESS_NUM_THREADS")
    if wanted:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise ValueError(f"TAPELESS_NUM_THREADS must be a positive integer, got {wanted!r}")
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, min(allowed, quota) if quota else allowed)


def _cgroup_quota() -> int | None:
    """Return the processors that the control group grants, rounded up; None without a limit."""
    root = pathlib.Path("/sys/fs/cgroup")
    try:
        found = (root / "cpu.max").read_text().split()
    except OSError:
        try:
            quota = (root / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (root / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
        found = [quota, period]
    if len(found) != 2 or not found[0].isdecimal() or not found[1].isdecimal():
        return None
    return -(-int(found[0]) // int(found[1])) or None
