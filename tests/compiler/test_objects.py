"""The object cache: hits, damage, permissions and size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tapeless.compiler import objects
from tapeless.compiler.objects import ObjectCache, object_key
from tapeless.compiler.target import named_target


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that the environment names."""
    monkeypatch.setenv("TAPELESS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_saved_is_found_by_another_process(directory: Path) -> None:
    ObjectCache().save("key", b"code")
    assert ObjectCache().load("key") == b"code"
    assert ObjectCache().load("other") is None
    assert directory.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in directory.iterdir()] == ["key.o"]


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_file_is_a_miss(directory: Path, damage: bytes | None) -> None:
    ObjectCache().save("key", b"code" * 100)
    path = directory / "key.o"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"?" if damage is None else damage)
    assert ObjectCache().load("key") is None


def test_a_directory_that_others_can_write_is_not_used(directory: Path) -> None:
    directory.mkdir()
    directory.chmod(0o777)
    cache = ObjectCache()
    cache.save("key", b"code")
    assert not list(directory.iterdir())
    assert cache.load("key") == b"code"


def test_an_empty_name_means_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAPELESS_CACHE_DIR", "")
    monkeypatch.chdir(tmp_path)
    ObjectCache().save("key", b"code")
    assert not list(tmp_path.iterdir())
    assert ObjectCache().load("key") is None


def test_the_oldest_files_go_first(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_MOST_BYTES", 800)
    cache = ObjectCache()
    for number in range(10):
        cache.save(f"key{number}", bytes(200))
        os.utime(directory / f"key{number}.o", (number, number))
    left = sorted(path.name for path in directory.iterdir())
    assert sum(path.stat().st_size for path in directory.iterdir()) <= 800
    assert "key9.o" in left
    assert "key0.o" not in left


def test_a_key_depends_on_text_processor_and_effort() -> None:
    one, other = named_target("x86-64-v2"), named_target("x86-64-v3")
    keys = {
        object_key("text", one, 1),
        object_key("text2", one, 1),
        object_key("text", other, 1),
        object_key("text", one, 0),
    }
    assert len(keys) == 4
    assert object_key("text", one, 1) in keys
