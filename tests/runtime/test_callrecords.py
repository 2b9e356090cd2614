"""Records on disk: the second process neither lowers nor emits, and gets the same results."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import tapeless as jax
import tapeless.extend as extend
from tapeless.core.primitive import Primitive
from tapeless.runtime.callrecords import CallRecord, load, record_key, save
from tests.safety.children import ROOT, run_program

jnp = jax.numpy
X = np.ones(3, "float32")
PROGRAM = """
import sys
SCALE = np.arange(3, dtype=np.float32)
held = jnp.arange(3.0) + 1
def loss(w, x):
    def step(c, x):
        return jnp.tanh(w * c + x * SCALE), c @ held
    c, ys = jax.lax.scan(step, w, x)
    return c.sum() + ys.sum()
f = jax.jit(jax.value_and_grad(loss))
step = jax.jit(lambda w, g: w - 0.1 * g, donate_argnums=0)
w, x = jnp.ones(3), jnp.ones((4, 3))
value, slope = f(w, x)
key = jax.random.normal(jax.random.key(0), (3,))
print(value.tolist(), step(w, slope).tolist(), w.is_deleted(), key.tolist(), end=" ")
print("tapeless.compiler.lower" in sys.modules, "tapeless.compiler.emit" in sys.modules)
"""
SHORT = """
jax.jit(lambda x: x * 2)(np.ones(3, "float32"))
print(jax.__file__, "tapeless.compiler.emit" in sys.modules)
"""
ASKED = """
compiled = jax.jit(lambda x: (jnp.sin(x) @ held, x), donate_argnums=0).lower(held).compile()
print(compiled.memory_analysis(), compiled.cost_analysis(), compiled.as_text())
"""


def run(directory: Path, program: str = PROGRAM, **variables: str) -> list[str]:
    """Return the words that a process prints with its cache in a directory."""
    directory.mkdir(mode=0o700, exist_ok=True)
    return run_program(program, TAPELESS_CACHE_DIR=str(directory), **variables).split()


def key_of(function, *args, effort=None):
    """Return the key of a traced function's record."""
    found = record_key(jax.jit(function).trace(*args).jaxpr, (), effort)
    return found and found[0]


def test_the_second_process_does_not_load_what_lowers_and_emits(tmp_path: Path) -> None:
    *first, lowered, emitted = run(tmp_path / "cache")
    assert (lowered, emitted) == ("True", "True")
    assert run(tmp_path / "cache") == [*first, "False", "False"]


def test_the_figures_and_the_loops_are_those_of_the_first_process(tmp_path: Path) -> None:
    """They are lowered for when they are asked for."""
    program = "held = jnp.arange(3.0)\n" + ASKED
    assert run(tmp_path / "cache", program) == run(tmp_path / "cache", program)


def test_stages_are_shown_although_there_are_records(tmp_path: Path) -> None:
    program = "print(jax.jit(lambda x: x + 1)(1.0))"
    run(tmp_path / "cache", program)
    assert "kernels" in run(tmp_path / "cache", program, TAPELESS_SHOW="kernels")


def test_lost_objects_are_made_again(tmp_path: Path) -> None:
    """A record whose objects were removed is a miss."""
    *first, _, _ = run(tmp_path / "cache")
    for path in (tmp_path / "cache").glob("*.o"):
        if not path.name.endswith(".call.o"):
            path.unlink()
    assert run(tmp_path / "cache")[:-2] == first


def test_records_of_other_sources_are_not_used(tmp_path: Path) -> None:
    """An upgrade of the package, or an edit of its compiler, makes all records misses."""
    package, source = tmp_path / "tapeless", ROOT / "tapeless"
    for folder in ("", "compiler"):
        (package / folder).mkdir()
        for entry in (source / folder).iterdir():
            if entry.name not in ("compiler", "lanes.py"):
                (package / folder / entry.name).symlink_to(entry)
    edited = package / "compiler" / "lanes.py"
    shutil.copy2(source / "compiler" / "lanes.py", edited)

    def hits() -> bool:
        """Whether a process with this package emits nothing."""
        paths = f"{tmp_path}:{ROOT}"
        words = run(tmp_path / "cache", SHORT, PYTHONPATH=paths, PYTHONSAFEPATH="1")
        assert words[0] == str(package / "__init__.py")
        return words[1] == "False"

    assert [hits(), hits()] == [False, True]
    edited.write_text(edited.read_text() + "# edited\n")
    assert not hits()


def test_keys_depend_on_what_decides_the_code() -> None:
    plain = key_of(lambda x: x * 2, X)
    assert plain is not None
    assert key_of(lambda x: x * 2, X) == plain
    assert key_of(lambda x: x * 3, X) != plain
    assert key_of(lambda x: x * 2, X[:2]) != plain
    assert key_of(lambda x: x * 2, X, effort=2) != plain
    with jax.default_matmul_precision("float32"):
        assert key_of(lambda x: x * 2, X) != plain


def test_the_values_of_captured_arrays_are_not_in_the_key() -> None:
    one, two = jnp.arange(3.0), jnp.ones(3)
    assert key_of(lambda x: x + one, X) == key_of(lambda x: x + two, X)


def test_operations_of_others_have_no_key() -> None:
    """Their rules may be others tomorrow."""
    doubled = extend.core.Primitive("doubled_for_records")
    doubled.def_abstract_eval(lambda x: x)
    assert isinstance(doubled, Primitive)
    assert key_of(lambda x: doubled.bind(x) + 1, X) is None


@pytest.mark.parametrize("made", [(), (np.arange(6, dtype="int16").reshape(2, 3),)])
def test_a_record_comes_back_as_it_was(made: tuple) -> None:
    given = CallRecord(
        parts=("key", ("sinf",), (("extra", "other"),)),
        places=(0, None),
        made=made,
        n_inputs=3,
        output_bytes=(8, 0),
        arena_size=64,
        results=(-1, 2),
        effort=1,
        is_long=False,
        is_apart=True,
    )
    save("a record", given)
    found = load("a record")
    assert found is not None
    for name in CallRecord.__match_args__[1:]:
        if name != "made":
            assert getattr(found, name) == getattr(given, name)
    assert [x.tolist() for x in found.made] == [x.tolist() for x in made]
    assert [x.dtype for x in found.made] == [x.dtype for x in made]


def test_large_arrays_of_the_compiler_are_not_written() -> None:
    given = CallRecord(("k", (), ()), (None,), (np.zeros(100_000),), 1, (), 0, (), 1, False, False)
    save("a large record", given)
    assert load("a large record") is None
