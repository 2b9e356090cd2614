"""Ratios, their intervals, the means of groups, and how they are printed.

The column `C` is the subject's median over that of the workload's form in C, where it has one. The
column `limit` is the share of the machine's limit that the subject reaches (`limits.py`): "70% m"
is 70 % of the bandwidth of a copy, "85% b" of the speed of BLAS; the letter says which limit is
nearer. It is of use for programs that do little else than move memory or multiply matrices.

With n rounds, paired ratios r[1] <= ... <= r[n] and k = k(n), the interval is [r[k], r[n+1-k]]: the
confidence interval of the median at 90 % or more, whatever the distribution is. With fewer rounds
than that takes, it is the whole range. A group's mean is the geometric mean over its families, a
family's ratio the geometric mean over its rows.
"""

import math
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.bench.limits import Limits
from dev.bench.registry import GROUPS, Workload
from dev.bench.rivals import Runs

__all__ = [
    "HEADER",
    "Result",
    "format_row",
    "format_summary",
    "machine",
    "record",
    "result_of",
    "summary",
]

CONFIDENCE = 0.9
HEADER = (
    f"{'workload':42}{'subject':>12}{'peer':>12}{'ratio':>9}  {'interval':18}"
    f"{'C':>6}{'limit':>8}  note"
)


@dataclass(frozen=True, slots=True)
class Result:
    """A row of the table."""

    row: Workload
    subject: Runs
    peer: Runs
    ratio: float
    low: float
    high: float
    note: str
    native: float = math.nan
    limit: tuple[float, str] | None = None


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the confidence interval of the median of some values."""
    ordered, n = sorted(values), len(values)
    rank, tail = 0, 0.0
    while rank < (n - 1) // 2:
        tail += math.comb(n, rank) / 2**n
        if 1 - 2 * tail < CONFIDENCE:
            break
        rank += 1
    # At rank 0 even the extremes do not reach the confidence; they are the best there is.
    rank = max(rank, 1)
    return ordered[rank - 1], ordered[n - rank]


def note_on(subject: Runs, peer: Runs, low: float, high: float) -> str:
    """Return what a reader should know about a row."""
    if differ(subject, peer):
        return f"results differ: {subject.sum:.6g} and {peer.sum:.6g}"
    if low <= 1 <= high:
        return "draw"
    return "" if low > 1 else "behind"


def note_on_native(subject: Runs, native: Runs) -> str:
    """Return what a reader should know about the form in C."""
    if native.error:
        return f"C: {native.error}"
    return f"C gives {native.sum:.6g}" if differ(subject, native) else ""


def differ(one: Runs, other: Runs) -> bool:
    """Tell whether the results of two rivals differ by more than their rounding."""
    sums = (one.sum, other.sum)
    return None not in sums and not math.isclose(*sums, rel_tol=1e-3, abs_tol=1e-6)


def share_of_limit(runs: Runs, limits: Limits | None) -> tuple[float, str] | None:
    """Return the share of the nearer limit that a rival reaches, and the limit's letter."""
    if limits is None or not runs.demand:
        return None
    memory = limits.memory_seconds(runs.demand["bytes"])
    operations, itemsize = runs.demand["operations"], int(runs.demand["itemsize"])
    products = limits.product_seconds(operations, itemsize)
    seconds = statistics.median(runs.values)
    return (products / seconds, "b") if products > memory else (memory / seconds, "m")


def result_of(
    row: Workload,
    subject: Runs,
    peer: Runs,
    native: Runs | None = None,
    limits: Limits | None = None,
) -> Result:
    """Compare what the two rivals, and the form in C if there is one, did on a workload."""
    for name, runs in (("subject", subject), ("peer", peer)):
        if runs.error:
            return Result(row, subject, peer, math.nan, math.nan, math.nan, f"{name}: {runs.error}")
    ratio = statistics.median(peer.values) / statistics.median(subject.values)
    paired = [other / own for own, other in zip(subject.values, peer.values, strict=True)]
    low, high = median_interval(paired)
    note = note_on(subject, peer, low, high)
    share = math.nan
    if native is not None:
        note = note or note_on_native(subject, native)
        if native.values:
            share = statistics.median(subject.values) / statistics.median(native.values)
    limit = share_of_limit(subject, limits)
    return Result(row, subject, peer, ratio, low, high, note, share, limit)


def quantity(value: float, unit: str) -> str:
    """Return a number of seconds or bytes with three digits and a unit that suits."""
    units = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
    if unit == "bytes":
        units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
    size, name = next((pair for pair in units if value >= pair[0]), units[-1])
    return f"{value / size:.3g} {name}"


def format_row(result: Result) -> str:
    """Return a row of the table as text."""
    if math.isnan(result.ratio):
        return f"{result.row.title:42}{'-':>12}{'-':>12}{'-':>9}  {'':34}{result.note[:80]}"
    times = [
        quantity(statistics.median(runs.values), result.row.unit)
        for runs in (result.subject, result.peer)
    ]
    share = "" if math.isnan(result.native) else f"{result.native:.2f}"
    limit = "" if result.limit is None else f"{result.limit[0]:.0%} {result.limit[1]}"
    interval = f"{result.low:.2f} .. {result.high:.2f}"
    return (
        f"{result.row.title:42}{times[0]:>12}{times[1]:>12}{result.ratio:9.2f}  "
        f"{interval:18}{share:>6}{limit:>8}  {result.note}"
    )


def family_ratios(results: Sequence[Result]) -> list[float]:
    """Return one ratio for each family among some rows, failed rows left out."""
    families: dict[str, list[float]] = {}
    for result in results:
        if not math.isnan(result.ratio):
            families.setdefault(result.row.family, []).append(result.ratio)
    return [statistics.geometric_mean(ratios) for ratios in families.values()]


def summary(results: Sequence[Result]) -> list[dict]:
    """Return the figures of each group: mean, least, tenth percentile, rows, failures."""
    groups = []
    for name in GROUPS:
        rows = [result for result in results if result.row.group == name]
        ratios = sorted(result.ratio for result in rows if not math.isnan(result.ratio))
        if not rows:
            continue
        figures = {"group": name, "rows": len(rows), "failed": len(rows) - len(ratios)}
        if ratios:
            figures["mean"] = statistics.geometric_mean(family_ratios(rows))
            figures["least"] = ratios[0]
            figures["tenth percentile"] = ratios[len(ratios) // 10]
        groups.append(figures)
    return groups


def format_summary(groups: Sequence[dict]) -> str:
    """Return the figures of the groups as a table."""
    lines = [f"{'group':12}{'rows':>6}{'failed':>8}{'mean':>9}{'least':>9}{'10th %':>9}"]
    for group in groups:
        numbers = [group.get(key, math.nan) for key in ("mean", "least", "tenth percentile")]
        figures = "".join(f"{number:9.2f}" for number in numbers)
        lines.append(f"{group['group']:12}{group['rows']:6}{group['failed']:8}{figures}")
    return "\n".join(lines)


def record(result: Result) -> dict:
    """Return a row as plain data."""
    return {
        "title": result.row.title,
        "family": result.row.family,
        "kind": result.row.kind,
        "unit": result.row.unit,
        "ratio": result.ratio,
        "interval": [result.low, result.high],
        "note": result.note,
        "limit": result.limit,
        "C": result.native,
        "subject": result.subject.values,
        "peer": result.peer.values,
    }


def machine() -> dict:
    """Return what the numbers depend on."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": cpu,
        "cores": cores,
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }
