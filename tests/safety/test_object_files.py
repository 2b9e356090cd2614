"""The cache on disk when things go wrong: nothing is lost but time.

A program of two compiled functions runs in a process of its own over a directory that was killed
at, filled up, damaged, or shared; it must print the right numbers, and end well.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tapeless.compiler.objects import ObjectCache
from tests.safety.children import PRELUDE, ROOT, Child, run_program

PROGRAM = """
from tapeless.compiler import engine
compiled = []
generate = engine.generate_objects
engine.generate_objects = lambda jobs, *rest: (compiled.extend(jobs), generate(jobs, *rest))[1]
f = jax.jit(lambda x: jnp.sin(x) @ jnp.ones(3) + 1)
g = jax.jit(jax.grad(lambda x: jnp.cumsum(x * x)[-1]))
x = np.arange(3, dtype=np.float32)
assert abs(float(f(x)) - (np.sin(x).sum() + 1)) < 1e-6
assert np.array_equal(g(x), 2 * x), g(x)
print(len(compiled))
"""
WRITER = """
from tapeless.compiler.objects import ObjectCache
cache = ObjectCache()
print("ready")
for number in range(10**9):
    cache.save(f"key{number % 50}", bytes([number % 50]) * 200_000)
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A directory with the objects of the program, and how many modules were compiled for them."""
    directory = tmp_path_factory.mktemp("objects")
    directory.chmod(0o700)
    count = run(directory)
    assert count > 1
    return directory, count


@pytest.fixture
def copied(filled: tuple[Path, int], tmp_path: Path) -> tuple[Path, int]:
    """A copy of it, to be damaged."""
    directory = tmp_path / "copy"
    shutil.copytree(filled[0], directory)
    directory.chmod(0o700)
    return directory, filled[1]


def run(directory: Path) -> int:
    """Run the program; return how many objects it had to compile."""
    return int(run_program(PROGRAM, TAPELESS_CACHE_DIR=str(directory)))


def entries(directory: Path) -> list[Path]:
    """Return the files of objects."""
    return sorted(directory.glob("*.o"))


def test_the_second_process_compiles_nothing(filled: tuple[Path, int]) -> None:
    assert run(filled[0]) == 0


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 1
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def make_unreadable(path: Path) -> None:
    """Put a directory in its place: nobody can read that as a file, not even root."""
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [cut_off, flip_a_bit, empty, make_unreadable])
def test_damaged_entries_are_compiled_again(copied: tuple, damage: object) -> None:
    directory, count = copied
    for path in entries(directory):
        damage(path)
    assert run(directory) == count


def test_an_entry_under_another_key_is_a_miss(copied: tuple) -> None:
    """A whole file, but of another program."""
    directory, count = copied
    paths = entries(directory)
    contents = [path.read_bytes() for path in paths]
    for path, data in zip(paths, contents[1:] + contents[:1], strict=True):
        path.write_bytes(data)
    assert run(directory) == count
    assert run(directory) == 0


def test_kill_9_while_writing_leaves_whole_entries(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    for number in range(5):
        with Child(WRITER, TAPELESS_CACHE_DIR=str(directory)) as child:
            child.expect("ready")
            while len(entries(directory)) < 10 * (number + 1):
                pass
            child.send(signal.SIGKILL)
            assert child.end()[0] == -signal.SIGKILL
    os.environ["TAPELESS_CACHE_DIR"], before = str(directory), os.environ["TAPELESS_CACHE_DIR"]
    try:
        cache = ObjectCache()
    finally:
        os.environ["TAPELESS_CACHE_DIR"] = before
    assert len(entries(directory)) == 50
    for number in range(50):
        assert cache.load(f"key{number}") == bytes([number]) * 200_000
    assert run(directory) > 0
    assert run(directory) == 0


MOUNTED = """
mount -t tmpfs -o size="$1" tmpfs "$TAPELESS_CACHE_DIR" || exit 77
chmod 700 "$TAPELESS_CACHE_DIR"
"$2" -c "$3" && "$2" -c "$3" && df --output=used "$TAPELESS_CACHE_DIR" | tail -1
ls -A "$TAPELESS_CACHE_DIR"
"""


@pytest.mark.parametrize("pages", [1, 2])
def test_a_full_file_system_costs_only_the_cache(tmp_path: Path, pages: int) -> None:
    """The directory is a file system of its own, in which some of the objects find a place."""
    size = f"{4 * pages}k"
    directory = tmp_path / "cache"
    directory.mkdir()
    command = ["unshare", "-rm", "sh", "-c", MOUNTED, "sh", size, sys.executable, PRELUDE + PROGRAM]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "TAPELESS_CACHE_DIR": str(directory)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=120)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip("nothing may be mounted here")
    assert done.returncode == 0, done.stderr
    first, second, used, *names = done.stdout.split()
    assert int(first) > 1
    assert int(used) == 4 * pages
    assert 0 < int(second) < int(first)
    assert names
    assert all(name.endswith(".o") for name in names), names


def test_a_full_disk_costs_only_the_cache(tmp_path: Path) -> None:
    """No file may have more than 100 bytes: every write fails half way."""
    directory = tmp_path / "cache"
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    assert int(run_program(limit + PROGRAM, TAPELESS_CACHE_DIR=str(directory))) > 0
    assert list(directory.iterdir()) == []


def test_a_directory_that_cannot_be_made_costs_only_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert run(tmp_path / "file" / "cache") > 0


def test_eight_processes_at_once(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    children = [Child(PROGRAM, TAPELESS_CACHE_DIR=str(directory)) for _ in range(8)]
    for child in children:
        with child:
            code, out, errors = child.end()
            assert code == 0, errors
            assert int(out) >= 0
    assert [path.suffix for path in directory.iterdir()] == [".o"] * len(entries(directory))
    assert run(directory) == 0
