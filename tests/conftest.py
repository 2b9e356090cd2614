"""What every test stands on.

- The compile cache on disk is a fresh directory for each run, shared by the workers of that run.
- Tests compare with jax in files marked `pytestmark = pytest.mark.oracle` (or in single tests with
  that mark). jax has no release for Python 3.11: there such files are not collected. On every later
  Python they run, and a missing jax is a failure, never a skip.
- Examples that hypothesis draws are the same in every run; HYPOTHESIS_PROFILE=long draws more.
- The type checker of jaxprs runs after every pass.
- Collections of garbage look at what a file's tests make, not at all that other files have left.
- After each test the current trace is the base trace again, and no named axis is in scope.
"""

import ast
import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

HAS_ORACLE_RELEASE = sys.version_info >= (3, 12)
ORACLE = "jax"

# Before anything imports tapeless or jax, since both read the environment then. Workers inherit it.
if "PYTEST_XDIST_WORKER" not in os.environ:
    CACHE = tempfile.TemporaryDirectory(prefix="tapeless-tests-")
    os.environ["TAPELESS_CACHE_DIR"] = CACHE.name
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("MPLBACKEND", "Agg")

hypothesis.settings.register_profile(
    "default", derandomize=True, deadline=None, database=None, max_examples=50
)
hypothesis.settings.register_profile(
    "long", parent=hypothesis.settings.get_profile("default"), max_examples=1000
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def marks_whole_file(path: Path) -> bool:
    """Tell whether a test file assigns a `pytestmark` with the oracle mark, unimported."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            return "mark.oracle" in ast.unparse(node.value)
    return False


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files that need the oracle, where it has no release."""
    is_test_file = collection_path.suffix == ".py" and collection_path.is_file()
    if not HAS_ORACLE_RELEASE and is_test_file and marks_whole_file(collection_path):
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect single tests that need the oracle, where it has no release."""
    if HAS_ORACLE_RELEASE:
        return
    out = [item for item in items if item.get_closest_marker("oracle")]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test that needs the oracle when it is missing, even if the test would not notice."""
    if item.get_closest_marker("oracle"):
        try:
            __import__(ORACLE)
        except ImportError as error:
            pytest.fail(f"this test compares with {ORACLE}: install tapeless[oracle] ({error})")


@pytest.fixture(scope="module", autouse=True)
def only_own_garbage() -> None:
    """Keep what there is out of later collections: a full one takes seconds at the end of a run."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def base_trace_after_test() -> Iterator[None]:
    """Assert that a test leaves the thread at the base trace with no named axis."""
    yield
    trace = sys.modules.get("tapeless.core.trace")
    if trace is None:
        return
    context = trace.context
    left, axes = context.trace, context.axes
    # Put things right first, so that one leak fails one test.
    context.trace, context.axes = trace.Context.base, ()
    assert left is trace.Context.base, f"the test left {left!r} as the current trace"
    assert not axes, f"the test left named axes in scope: {axes}"


@pytest.fixture(autouse=True)
def checks_after_passes() -> None:
    """Turn the checker of jaxprs on."""
    config = sys.modules.get("tapeless.config")
    if config is not None:
        config.update("jax_enable_checks", True)
