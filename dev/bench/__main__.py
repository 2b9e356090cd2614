"""The command line: `python -m dev.bench --help`."""

import argparse
import importlib.util
import json
import os
import re
import sys
from pathlib import Path

from dev.bench import ablation, limits
from dev.bench.native import compiler
from dev.bench.registry import Workload, all_workloads
from dev.bench.report import (
    HEADER,
    format_row,
    format_summary,
    machine,
    record,
    result_of,
    summary,
)
from dev.bench.rivals import Rival, compete

__all__ = ["main"]


def peer_python(peer: str) -> str:
    """Return a Python that has the module `peer`: BENCH_JAX_PYTHON, or this one."""
    chosen = os.environ.get("BENCH_JAX_PYTHON")
    if chosen is None and importlib.util.find_spec(peer) is None:
        sys.exit(f"{peer} is not installed here; BENCH_JAX_PYTHON names a Python that has it")
    return chosen or sys.executable


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m dev.bench", description="tapeless beside JAX")
    parser.add_argument("--only", default="", metavar="REGEX", help="workloads, by group/name")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.1, help="a measurement's length")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything to this file")
    parser.add_argument("--list", action="store_true", help="print the workloads and stop")
    parser.add_argument("--ablation", action="store_true", help="what each mechanism buys")
    parser.add_argument("--subject", default="tapeless", help="module under test")
    parser.add_argument("--peer", default="jax", help="module to compare with")
    return parser.parse_args(arguments)


def listing(rows: list[Workload]) -> str:
    """Return a line for each workload: title, kind, and the first line of its docstring."""
    return "\n".join(
        f"{row.title:42}{row.kind:9}{(row.build.__doc__ or '').splitlines()[0]}" for row in rows
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen workloads, print the table, and write the JSON file."""
    options = parse(arguments)
    rows = [row for row in all_workloads() if re.search(options.only, row.title)]
    if options.list:
        print(listing(rows))
        return 0
    if options.ablation:
        ablation.run(all_workloads(), options)
        return 0
    rivals = (Rival(options.subject), Rival(options.peer, peer_python(options.peer)))
    loops_in_c = (Rival(options.subject, native=True),) if compiler() else ()
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']:.2f}")
    reached = limits.measure()
    print(f"limits: {reached}")
    print(
        f"ratio = {options.peer} / {options.subject}; above 1 {options.subject} is better; "
        f"C = {options.subject} / C\n"
    )
    print(HEADER, flush=True)
    results = []
    for row in rows:
        entrants = rivals + (loops_in_c if row.native else ())
        runs = compete(entrants, row, options.rounds, options.seconds)
        result = result_of(row, *runs, limits=reached)
        results.append(result)
        print(format_row(result), flush=True)
    groups = summary(results)
    print("\n" + format_summary(groups))
    if options.json:
        versions = {rival.module: about_run(results, turn) for turn, rival in enumerate(rivals)}
        about["limits"] = {"bandwidth": reached.bandwidth, "peak": reached.peak}
        report = {"machine": about, "systems": versions, "groups": groups}
        report["rows"] = [record(result) for result in results]
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


def about_run(results: list, turn: int) -> dict:
    """Return what the processes of one rival said about themselves."""
    runs = [(result.subject, result.peer)[turn] for result in results]
    return next((run.about for run in runs if run.about), {})


if __name__ == "__main__":
    sys.exit(main())
