"""Host calls are a short list: everything else runs as compiled code."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "tapeless"

# File -> why compiled code calls Python there.
PINNED = {
    "control/callback.py": "callbacks of the user's",
    "control/progress.py": "progress bars, which are drawn in Python",
    "prims/fft.py": "Fourier transforms of lengths with large primes: SciPy's have no C entry",
}


def files_with_host_calls():
    """Return the files in which a rule calls `b.host_call`."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "host_call":
                found.add(str(path.relative_to(PACKAGE)))
    return found


def test_host_calls_are_pinned():
    """Only the listed files call back into Python from compiled code."""
    assert files_with_host_calls() == set(PINNED)


def test_reference_rules_serve_the_tests_alone():
    """No file of the package calls a `reference` rule, outside the rules themselves."""
    callers = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "reference":
                callers.add(str(path.relative_to(PACKAGE)))
    assert all(caller.startswith("prims/") for caller in callers), callers
