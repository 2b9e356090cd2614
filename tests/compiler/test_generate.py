"""Modules are compiled by several threads, and long ones in pieces, to the same results."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.compiler import engine, generate, linker
from tapeless.compiler.emit import emit_program
from tapeless.compiler.generate import generate_object, generate_objects
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.objects import ObjectCache, images_of, joined
from tapeless.compiler.target import host_target, named_target
from tapeless.util.weak import WeakValues
from tests.compiler.programs import run, staged

OPERATIONS = (jnp.tanh, jnp.arctan, jnp.sin, jnp.abs, jnp.square)
ROUNDS = 100


def steps(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A program of many nests and recipes that does not repeat itself."""
    first = y
    for place, axis in zip(
        np.random.default_rng(5).integers(5, size=ROUNDS),
        np.random.default_rng(6).integers(2, size=ROUNDS),
        strict=True,
    ):
        x = 1 + jnp.sin(OPERATIONS[place](x)) * jnp.mean(y, axis=axis, keepdims=True)
        y = first + jnp.cos(y) - jnp.flip(x, axis) / 4
    return x, y


def arguments() -> tuple[np.ndarray, np.ndarray]:
    """Numbers for `steps`."""
    random = np.random.default_rng(3)
    return tuple(random.normal(size=(2, 40, 40)).astype(np.float32))


@pytest.mark.parametrize("count", [2, 4])
def test_results_do_not_depend_on_the_cut(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    found, images = [], []
    save = ObjectCache.save

    def saved(cache: ObjectCache, key: str, code: bytes) -> None:
        images.append(len(images_of(code)))
        save(cache, key, code)

    monkeypatch.setattr(ObjectCache, "save", saved)
    for most in (1, count):
        cache = ObjectCache()
        cache._directory = None
        monkeypatch.setattr(engine, "objects", lambda cache=cache: cache)
        monkeypatch.setattr(engine, "_linked", WeakValues())
        monkeypatch.setattr(engine, "_known_extras", {})
        monkeypatch.setattr(engine, "most_threads", lambda most=most: most)
        monkeypatch.setattr(generate, "most_threads", lambda most=most: most)
        found.append(run(steps, *arguments()))
    assert max(images) == count
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.isfinite(one).all() and one.std() > 0


def test_short_programs_are_not_cut() -> None:
    jaxpr = staged(lambda x: (jnp.tanh(x) @ x,), arguments()[0])
    emitted = emit_program(lower_jaxpr(jaxpr), host_target())
    assert emitted.cut(4) == [emitted.text]


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_pieces_are_whole_modules_of_about_one_length(level: str) -> None:
    jaxpr = staged(steps, *arguments())
    target = named_target(level)
    emitted = emit_program(lower_jaxpr(jaxpr), target)
    texts = emitted.cut(4)
    lengths = [len(text) for text in texts]
    assert len(texts) == 4
    assert max(lengths) < 2 * min(lengths)
    assert all(code.startswith(b"\x7fELF") for code in compiled(texts, 1, target))


def compiled(texts: list[str], effort: int, target: object) -> list[bytes]:
    """Compile modules together."""
    return generate_objects([(text, effort) for text in texts], target)


def test_objects_come_in_the_order_of_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"define i64 @f{n}() {{\n  ret i64 {n}\n}}\n" + ";" * (n % 5) for n in range(20)]
    alone = [generate_object(text, host_target()) for text in texts]
    monkeypatch.setattr(generate, "most_threads", lambda: 4)
    assert compiled(texts, 1, host_target()) == alone


def test_an_error_of_any_thread_is_raised_when_all_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(generate, "most_threads", lambda: 4)
    before = threading.active_count()
    texts = ["define i64 @f() {\n  ret i64 1\n}\n"] * 9
    for place in range(9):
        wrong = texts[:place] + ["define nonsense"] + texts[place:]
        with pytest.raises(RuntimeError, match="expected"):
            compiled(wrong, 1, host_target())
    assert threading.active_count() == before
    assert linker.LLVM_LOCK.acquire(blocking=False)
    linker.LLVM_LOCK.release()


def test_without_more_threads_one_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(generate, "most_threads", lambda: 4)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    texts = [f"define i64 @f{n}() {{\n  ret i64 {n}\n}}\n" for n in range(3)]
    assert len(compiled(texts, 0, host_target())) == 3


def test_images_are_one_object() -> None:
    for images in ([b"one"], [b"one", b""], [b"", b"two", b"three" * 100]):
        assert images_of(joined(images)) == images
