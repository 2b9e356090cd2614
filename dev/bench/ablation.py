"""What each mechanism of the compiler buys: the workloads that show it, with and without it.

The two rivals are the subject as it is, and the subject with the mechanism switched off in its
process (`mechanisms.py`); they take turns as always. A ratio of 3 says that the mechanism makes the
workload three times as fast.
"""

import argparse
import re
from collections.abc import Sequence

from dev.bench.mechanisms import MECHANISMS
from dev.bench.registry import Workload
from dev.bench.report import HEADER, format_row, result_of
from dev.bench.rivals import Rival, compete

__all__ = ["run"]


def run(rows: Sequence[Workload], options: argparse.Namespace) -> None:
    """Print a table for each mechanism; `options.only` chooses mechanisms by name."""
    print("ratio = without / with\n\n" + HEADER)
    for name, mechanism in MECHANISMS.items():
        if not re.search(options.only, name):
            continue
        print(f"{name}: {mechanism.does}", flush=True)
        rivals = (Rival(options.subject), Rival(options.subject, without=name))
        for row in rows:
            if re.search(mechanism.rows, row.title) and row.kind != "memory":
                runs = compete(rivals, row, options.rounds, options.seconds)
                print("  " + format_row(result_of(row, *runs)), flush=True)
