"""The cache of object files: in memory for this process, on disk for the next one.

A key is a hash of everything that decides the machine code: the text, the processor with its
features, the effort, and the versions of Python, of this package, of LLVM and of its binding. What
the configuration decides is in the text. A module that was cut has several *images*, object files
that are linked together; they are one object here, and into how many it was cut decides nothing.
A file is a checksum of its key and the object, followed by the object; a file that is unreadable,
cut off, altered or another key's is a miss and nothing worse. Writing is atomic (a temporary file
in the same directory, renamed), so any number of processes may share a directory.

Code that is loaded from a file is run, so the directory must be ours alone: it is made with mode
0700, and used only if it belongs to us and nobody else may write there. The directory is
TAPELESS_CACHE_DIR (empty: no files), else `tapeless` in the user's cache directory. When the files
outgrow `_MOST_BYTES`, those that were not used for longest are removed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from tapeless.compiler.target import Target
from tapeless.util.versions import __tapeless_version__

__all__ = ["ObjectCache", "images_of", "joined", "object_key", "objects"]

_LAYOUT = "tapeless object, checksum with key"
_MOST_BYTES = 256 << 20
_MOST_IN_MEMORY = 2048
_IMAGES = b"tapeless images\n"
_DIGEST = hashlib.sha256().digest_size


def object_key(text: str, target: Target, effort: int) -> str:
    """Hash what decides the machine code of a module."""
    parts = (
        _LAYOUT,
        sys.version,
        __tapeless_version__,
        llvmlite.__version__,
        str(llvm.llvm_version_info),
        target.triple,
        target.cpu,
        target.features,
        str(target.matrices),
        str(effort),
        text,
    )
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def joined(images: Sequence[bytes]) -> bytes:
    """Return the object of some images: a single one is itself, several have their lengths."""
    if len(images) == 1:
        return images[0]
    sized = (len(image).to_bytes(8, "little") + image for image in images)
    return _IMAGES + b"".join(sized)


def images_of(code: bytes) -> list[bytes]:
    """Return the images of an object."""
    if not code.startswith(_IMAGES):
        return [code]
    images, start = [], len(_IMAGES)
    while start < len(code):
        end = start + 8 + int.from_bytes(code[start : start + 8], "little")
        images.append(code[start + 8 : end])
        start = end
    return images


def _checksum(key: str, code: bytes) -> bytes:
    """Return what stands before an object in its file."""
    return hashlib.sha256(key.encode() + b"\0" + code).digest()


def _cache_directory() -> Path | None:
    """Return the directory that the environment asks for, or None."""
    asked = os.environ.get("TAPELESS_CACHE_DIR")
    if asked is not None:
        return Path(asked) if asked else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "tapeless"
    except RuntimeError:
        return None


def _is_private(directory: Path) -> bool:
    """Make the directory if need be; tell whether it is ours and nobody else may write there."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return mine and stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o022


class ObjectCache:
    """Object files by key."""

    def __init__(self) -> None:
        """Choose the directory; nothing is read yet."""
        directory = _cache_directory()
        self._directory = directory if directory and _is_private(directory) else None
        self._memory: OrderedDict[str, bytes] = OrderedDict()
        self._written = _MOST_BYTES

    @property
    def is_on_disk(self) -> bool:
        """Whether there are files, which other processes will find."""
        return self._directory is not None

    def load(self, key: str) -> bytes | None:
        """Return the object stored under `key`, or None."""
        found = self._memory.get(key)
        if found is not None:
            with contextlib.suppress(KeyError):  # another thread made room
                self._memory.move_to_end(key)
            return found
        if self._directory is None:
            return None
        path = self._directory / f"{key}.o"
        try:
            data = path.read_bytes()
        except OSError:
            return None
        digest, found = data[:_DIGEST], data[_DIGEST:]
        if _checksum(key, found) != digest:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        self._remember(key, found)
        return found

    def save(self, key: str, code: bytes) -> None:
        """Store an object; failing to write a file is not an error."""
        self._remember(key, code)
        if self._directory is None:
            return
        try:
            handle, temporary = tempfile.mkstemp(dir=self._directory, suffix=".tmp")
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_checksum(key, code) + code)
            os.replace(temporary, self._directory / f"{key}.o")
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        self._written += len(code)
        if self._written > _MOST_BYTES // 8:
            self._written = 0
            self._trim()

    def _remember(self, key: str, code: bytes) -> None:
        """Keep an object in memory, in place of the one that was not used for longest."""
        self._memory[key] = code
        if len(self._memory) > _MOST_IN_MEMORY:
            self._memory.popitem(last=False)

    def _trim(self) -> None:
        """Remove the oldest files until the rest is small enough."""
        found = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._directory):
                with contextlib.suppress(OSError):
                    if entry.name.endswith((".o", ".tmp")):
                        known = entry.stat()
                        found.append((known.st_mtime, known.st_size, entry.path))
        excess = sum(size for _, size, _ in found) - _MOST_BYTES
        for _, size, path in sorted(found):
            if excess <= 0:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
                excess -= size


@functools.cache
def objects() -> ObjectCache:
    """Return the cache of this process."""
    return ObjectCache()
