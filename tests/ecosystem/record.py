"""Run the programs on the installed JAX and store their numbers (`-m tests.ecosystem.record`).

Each program in `programs/` imports `jax` and a library, and leaves what it computed in `NUMBERS`.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["EXPECTED", "PROGRAMS", "numbers_of", "plain"]

FOLDER = Path(__file__).parent
PROGRAMS = FOLDER / "programs"
EXPECTED = FOLDER / "expected.json"


def plain(value: Any) -> Any:
    """Return numbers as JSON has them; floats with nine digits."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, str)):
        return value
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return array.tolist()
    rounded = [float(f"{x:.9g}") for x in array.astype(float).ravel()]
    return np.reshape(np.array(rounded), array.shape).tolist()


def numbers_of(program: str) -> dict[str, Any]:
    """Return what a program computes, in this process."""
    return plain(runpy.run_path(str(PROGRAMS / f"{program}.py"))["NUMBERS"])


def main(names: list[str]) -> None:
    """Store the numbers of all programs, or of those that are named."""
    stored = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for path in sorted(PROGRAMS.glob("*.py")):
        if not names or path.stem in names:
            stored[path.stem] = numbers_of(path.stem)
            print(path.stem)
    EXPECTED.write_text(
        json.dumps(stored, indent=None, separators=(",", ":")).replace("},", "},\n") + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
