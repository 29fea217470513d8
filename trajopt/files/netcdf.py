"""Result files: netCDF-4, followed by an index with which ``Reader`` finds all data without
libhdf5.

A file is, in this order: an HDF5 file in netCDF-4 layout (``trajopt.files.hdf5_writer``), which
other programs read and which ends where its superblock says; the index, JSON text with every
attribute and text and the place of every array of numbers; and 64 bytes: a mark, the lengths of
both parts and the SHA-256 digest of all that is before it.

Files are data. The digest is compared before anything is parsed, so damage is found whatever it
hits. Somebody who means harm can compute a digest, but libhdf5, which such a file can make hang or
crash, never sees the file: JSON and ``numpy.frombuffer`` do, with limits on sizes and numbers of
values. A file without an index, such as one that another program has changed, is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import FileError

Array = NDArray[Any]

# bytes of a file: five times the largest solution of the catalogue on its finest mesh
LARGEST = 128 * 2**20
INDEX = 32 * 2**20  # bytes of its index
VALUES = 10**6  # of an index; each takes up to 100 bytes of memory
# mark, bytes of HDF5, bytes of the index, digest of all before the digest
FOOTER = struct.Struct("<16sQQ32s")
MARK = b"\x89trajopt index\r\n"
TYPES = {"f": "<f8", "i": "<i8"}
NETCDF = "a netCDF file from 'save'"


@dataclass(frozen=True)
class NetcdfVariable:
    """An array over named dimensions, or a list of strings."""

    dimensions: tuple[str, ...]
    values: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    attributes: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, NetcdfVariable] = field(default_factory=dict)


# ---- writing


def encode(groups: Mapping[str, Group]) -> bytes:
    """Return the bytes of a file; the empty name is the root group.

    Equal content gives equal bytes.
    """
    from trajopt.files.hdf5_writer import image_of

    return _sealed(*image_of(groups), groups)


def _sealed(
    content: bytes, places: Mapping[tuple[str, ...], int], groups: Mapping[str, Group]
) -> bytes:
    """Append index and digest to the content."""
    about = {
        name: [
            group.attributes,
            {key: _entry(v, places.get((name, key), 0)) for key, v in group.variables.items()},
        ]
        for name, group in groups.items()
    }
    index = json.dumps(about, default=_plain, separators=(",", ":")).encode()
    if len(index) > INDEX or len(content) + len(index) > LARGEST:
        raise FileError(
            "the result is too large for a file",
            got=f"{(len(content) + len(index)) / 2**20:.0f} MiB",
        )
    head = content + index + FOOTER.pack(MARK, len(content), len(index), b"")[:-32]
    return head + hashlib.sha256(head).digest()


def _entry(variable: NetcdfVariable, place: int) -> list[Any]:
    if isinstance(variable.values, list):
        return [variable.attributes, variable.values]
    return [variable.attributes, _kind(variable.values), place, *np.shape(variable.values)]


def _kind(values: Any) -> str:
    return "i" if np.asarray(values).dtype.kind in "iub" else "f"


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value.tolist()


# ---- reading


class Reader:
    """Reads the parts of a file. Raises ``FileError`` for content that ``encode`` does not write.

    Attributes
    ----------
    attributes : mapping
        Of the file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path
        content = _bytes_of(path)
        if not content[-FOOTER.size :].startswith(MARK):
            raise _without_index(path, content)
        with self.guarded():
            self._open(content)

    def _open(self, content: bytes) -> None:
        _, length, index, digest = FOOTER.unpack(content[-FOOTER.size :])
        if hashlib.sha256(memoryview(content)[:-32]).digest() != digest:
            raise FileError(
                f"'{self.path}' is damaged or was changed",
                got="its digest does not match its content",
                hint="save it again; other programs change a copy",
            )
        if length + index + FOOTER.size != len(content) or index > INDEX:
            raise ValueError("the lengths of its parts are inconsistent")
        text = content[length : length + index]
        if sum(text.count(mark) for mark in (b",", b"[", b"{")) > VALUES:
            raise ValueError("it declares too many values")
        self._content = content
        self._left = length  # bytes: limits the declared data to the size of the file
        self._groups = {name: self._group(*about) for name, about in _parsed(text).items()}
        self.attributes: Mapping[str, Any] = self._groups[""].attributes

    def _group(self, attributes: Any, variables: Any) -> Group:
        return Group(
            _attributes(attributes),
            {name: self._variable(*about) for name, about in variables.items()},
        )

    def _variable(self, attributes: Any, values: Any, *about: Any) -> NetcdfVariable:
        if isinstance(values, list):
            if about or not all(isinstance(text, str) for text in values):
                raise ValueError("it has lists that are not text")
            return NetcdfVariable((), values, _attributes(attributes))
        place, *shape = about
        if (
            not all(type(number) is int and 0 <= number < 2**48 for number in (place, *shape))
            or len(shape) > 32
        ):
            raise ValueError("an array has an invalid position or shape")
        count = math.prod(shape)
        self._left -= 8 * max(count, *shape) if shape else 8  # empty rows are counted too
        if self._left < 0:
            raise ValueError("it declares more data than its size allows")
        found = np.frombuffer(self._content, TYPES[values], count, place if count else 0).reshape(
            shape
        )
        return NetcdfVariable((), found, _attributes(attributes))

    def group(self, name: str) -> Mapping[str, Any]:
        """Return the attributes of a group."""
        with self.guarded():
            if name not in self._groups:
                raise ValueError(f"group '{name}' is missing")
            return self._groups[name].attributes

    def names(self, group: str) -> list[str]:
        """Return the names in a group."""
        return list(self._groups[group].variables)

    def variable(self, group: str, name: str) -> NetcdfVariable:
        """Return an array with its attributes."""
        with self.guarded():
            if name not in self._groups[group].variables:
                raise ValueError(f"'{name}' is missing in '{group}'")
            found = self._groups[group].variables[name]
            return (
                found
                if isinstance(found.values, list)
                else replace(found, values=found.values.copy())
            )

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Convert all exceptions caused by a file to ``FileError``."""
        try:
            yield
        except FileError:
            raise
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            IndexError,
            OverflowError,
            struct.error,
        ) as error:
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            raise refused(self.path, reason) from error


def refused(path: str | Path, reason: str) -> FileError:
    return FileError(f"cannot read '{path}'", got=reason, expected=f"{NETCDF}, whole")


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("text nested too deeply") from error


def _attributes(stored: Any) -> dict[str, Any]:
    """Check attributes: strings, numbers, and lists of numbers as arrays."""
    found = {}
    for name, value in stored.items():
        if isinstance(value, list):
            value = np.array(value)
            if value.dtype.kind not in "if":
                raise TypeError(f"'{name}' is not a list of numbers")
        elif not isinstance(value, (str, int, float)):
            raise TypeError(f"'{name}' is neither text nor a number")
        found[name] = value
    return found


def _bytes_of(path: str | Path) -> bytes:
    """Return the content of a regular file; devices and pipes, which may not end, are rejected."""
    if not os.path.lexists(path):
        raise FileError(f"file '{path}' does not exist", expected=NETCDF)
    if Path(path).is_dir():
        raise FileError(f"cannot read '{path}'", got="it is a directory", expected=NETCDF)
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            raise FileError(
                f"cannot read '{path}'", got="it is not an ordinary file", expected=NETCDF
            )
        if about.st_size > LARGEST:
            raise FileError(
                f"cannot read '{path}'",
                got=f"{about.st_size / 2**20:.0f} MiB",
                expected=f"at most {LARGEST >> 20} MiB",
            )
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(f"cannot read '{path}'", got=reason, expected=NETCDF) from error


def _without_index(path: str | Path, content: bytes) -> FileError:
    """Say why a file has no index."""
    if not content:
        return FileError(f"cannot read '{path}'", got="the file is empty", expected=NETCDF)
    if not content.startswith(b"\x89HDF\r\n\x1a\n"):
        begins = ascii(content[:20].decode()) if content[:20].isascii() else repr(content[:20])
        return FileError(
            f"cannot read '{path}'",
            got=f"it is not a netCDF file, it begins with {begins}",
            expected=NETCDF,
        )
    # position of the end address, by version
    place = {0: 40, 1: 44, 2: 28, 3: 28}.get(content[8] if len(content) > 8 else 0, 0)
    end = (
        int.from_bytes(content[place : place + 8], "little") if len(content) >= place + 8 else 2**63
    )
    if place and len(content) < end:
        return refused(
            path,
            f"it is cut off: {len(content)} bytes are left"
            + (f" of {end} or more" if end < 2**40 else ""),
        )
    return refused(path, "its index is missing: it is truncated, or another program has changed it")
