"""The file format of exported functions: a header in JSON, StableHLO text, a checksum.

    offset       bytes   content
    0            8       b"tapeless"
    8            4       version of the format, now 1
    12           4       length of the header, h
    16           h       header: JSON, UTF-8
    16 + h       8       length of the module, m
    24 + h       m       module: StableHLO text, UTF-8
    24 + h + m   8       length of the derivative, d; 0 if there is none
    32 + h + m   d       derivative: a whole file of this format
    32 + h + m + d  32   SHA-256 of all bytes before

Integers are unsigned and little-endian.  The header has the keys

    fun_name             a string
    in_tree, out_tree    structures, see `trees`
    in_avals, out_avals  per leaf [shape, dtype name, weak type]
    platforms            ["cpu"]
    nr_devices           1

The module's function is `main`; it takes and returns the leaves in order.  A leaf of dtype float0
(the tangent of an integer) is an array of booleans there, keys (`key<fry>`) are their words.
Nothing in a file is executed when it is read.  A reader refuses versions that it does not know; a
change that old readers would misread gets a new version.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any, NamedTuple

__all__ = ["FORMAT_VERSION", "Blob", "read_blob", "write_blob"]

FORMAT_VERSION = 1
_MAGIC = b"tapeless"
_START = struct.Struct("<8sII")
_LENGTH = struct.Struct("<Q")
_DIGEST = 32


class Blob(NamedTuple):
    """The parts of a file."""

    header: dict[str, Any]
    module: bytes
    derivative: bytes


def write_blob(blob: Blob) -> bytearray:
    """Return the bytes of a file."""
    header = json.dumps(blob.header, separators=(",", ":"), sort_keys=True).encode()
    data = bytearray(_START.pack(_MAGIC, FORMAT_VERSION, len(header)))
    data += header
    for part in (blob.module, blob.derivative):
        data += _LENGTH.pack(len(part))
        data += part
    data += hashlib.sha256(data).digest()
    return data


def read_blob(data: bytes | bytearray) -> Blob:
    """Return the parts of a file, or raise ValueError."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"an exported function is bytes, got {type(data).__name__}")
    whole = bytes(data)
    if len(whole) < _START.size + _DIGEST or not whole.startswith(_MAGIC):
        raise ValueError(
            f"these {len(whole)} bytes are no exported function of tapeless. Pass what "
            "Exported.serialize() returned."
        )
    _, version, n_header = _START.unpack_from(whole)
    if version != FORMAT_VERSION:
        raise ValueError(
            f"the exported function has version {version} of the format, and this is a reader of "
            f"version {FORMAT_VERSION}. Export it again, or read it with the release that wrote it."
        )
    body, digest = whole[:-_DIGEST], whole[-_DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("the exported function is damaged: its checksum is wrong. Copy it again.")
    header = json.loads(body[_START.size : _START.size + n_header])
    module, offset = _part(body, _START.size + n_header)
    derivative, offset = _part(body, offset)
    if offset != len(body) or not isinstance(header, dict):
        raise ValueError("the exported function has parts that do not add up")
    return Blob(header, module, derivative)


def _part(body: bytes, offset: int) -> tuple[bytes, int]:
    """Return the bytes after their length, and the offset behind them."""
    if offset + _LENGTH.size > len(body):
        raise ValueError("the exported function ends too early")
    (length,) = _LENGTH.unpack_from(body, offset)
    start = offset + _LENGTH.size
    return body[start : start + length], start + length
