"""Run the seed chapters' cells and compare with what passed before: `python dev/conformance.py`.

The chapters (`run_seed.py` with its cells) live beside the repository, in the folder that is given
or in `../shared/conformance`; where it is missing there is nothing to run. The number of passed
cells of each chapter is recorded in `tests/conformance_floor.json`. Fewer is a failure, and so is a
fault of the runner itself; more is a reason to raise the floor with `--record`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["run_cells", "verdicts"]

ROOT = Path(__file__).resolve().parents[1]
FLOOR = ROOT / "tests/conformance_floor.json"


def run_cells(folder: Path) -> dict[str, dict]:
    """Run every chapter on tapeless and return the runner's report, a record for each chapter."""
    with tempfile.TemporaryDirectory(prefix="tapeless-seed-") as scratch:
        report = Path(scratch, "report.json")
        command = [sys.executable, str(folder / "run_seed.py"), "--impl", "tapeless"]
        command += ["--chapter", "all", "--compare-output", "--replay-selfchecks", "--resume"]
        command += ["--json", str(report)]
        folders = {"MPLCONFIGDIR": scratch, "TAPELESS_CACHE_DIR": f"{scratch}/cache"}
        # The exit status only says whether every cell passed; the report says which.
        subprocess.run(command, env=os.environ | folders, check=False, cwd=scratch)
        return json.loads(report.read_text())["chapters"] if report.exists() else {}


def verdicts(chapters: dict[str, dict], floor: dict[str, int]) -> tuple[list[str], bool]:
    """Return a line for each chapter of the floor, and whether none fell below it."""
    lines, fine = [], True
    for name, least in floor.items():
        chapter = chapters.get(name)
        if chapter is None:
            lines.append(f"{name}: the runner gave no report")
            fine = False
            continue
        passed, total = chapter["passed"], chapter["total"]
        word = "BELOW the floor" if passed < least else "floor"
        fine = fine and passed >= least
        lines.append(f"{name}: {passed} of {total} cells pass; {word} of {least}")
        if chapter["jaxlib_loaded"]:
            lines.append(f"{name}: the real jaxlib was loaded")
            fine = False
    return lines, fine


def main() -> int:
    """Run, print, and return the process's exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "../shared/conformance")
    parser.add_argument("--record", action="store_true", help="raise the floor to what passes now")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    if not (folder / "run_seed.py").exists():
        print("conformance: no chapters beside this repository; nothing to run")
        return 0
    floor = json.loads(FLOOR.read_text())
    chapters = run_cells(folder)
    if arguments.record:
        floor = {name: max(floor.get(name, 0), run["passed"]) for name, run in chapters.items()}
        FLOOR.write_text(json.dumps(floor, indent=2) + "\n")
    lines, fine = verdicts(chapters, floor)
    print("\n".join(["", "conformance", *lines]))
    return not fine


if __name__ == "__main__":
    sys.exit(main())
