"""Result files of formats 1 and 2, which only libhdf5 can read: in another process, with limits of time and memory.

A damaged or hostile HDF5 file can make libhdf5 hang, crash or take all memory. That then happens to the other process, and is
a ``FileError`` here. The reader follows no link out of the file, opens no virtual or compressed data, and reads no more than the
file can hold. Its answer is what ``trajopt.netcdf.pack`` makes.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.errors import FileError
from trajopt.netcdf import LARGEST, Group, NetcdfVariable, pack, refused

SECONDS = 2  # of processor time, and one more for each PACE bytes
PACE = 2**24
PATIENCE = 60.0  # seconds to wait for the process
MEMORY = 400 * 2**20  # memory limit of the process in bytes
BATCH = 2**26  # maximum bytes of text read at once
REFUSED = 3  # exit code
ESCAPED = "\\json:"  # prefix of text that format 2 escapes: NUL, lone surrogates
# Attributes of HDF5, netCDF and format 2, which are not user attributes.
INTERNAL = {
    "CLASS",
    "NAME",
    "REFERENCE_LIST",
    "DIMENSION_LIST",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_NCProperties",
    "_FillValue",
    "checksum",
    "checksums",
}


def converted(path: str | Path, size: int) -> bytes:
    """Return the content of an HDF5 file, as ``pack`` writes it."""
    seconds = SECONDS + math.ceil(size / PACE)
    start = f"import sys; sys.path[:] = {[p for p in sys.path if p]!r}; from trajopt.hdf5_reader import main; main()"
    command = [sys.executable, "-I", "-c", start, str(Path(path).absolute()), f"{seconds}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HDF5_USE_FILE_LOCKING": "FALSE"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        try:
            ended = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=said, env=environment, timeout=seconds + PATIENCE
            )
        except subprocess.TimeoutExpired as error:
            raise refused(path, "reading it did not end") from error
        said.seek(0)
        words = said.read(2000).decode("utf-8", "replace").strip().splitlines() or [""]
        if ended.returncode == REFUSED:
            raise refused(path, words[0])
        if ended.returncode:
            raise refused(path, _ending(ended.returncode, seconds, words[-1]))
        out.seek(0)
        return out.read(LARGEST)


def _ending(code: int, seconds: int, words: str) -> str:
    """Return the reason why the process failed."""
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"reading it takes HDF5 more than {seconds} s"
    if "MemoryError" in words:
        return f"reading it takes HDF5 more than {MEMORY >> 20} MiB"
    return f"HDF5 fails on it ({signal.strsignal(-code) if code < 0 else words or f'exit code {code}'})"


def main() -> None:
    """Read a file and write its content."""
    path, seconds = sys.argv[1], int(sys.argv[2])
    _limit(seconds)
    try:
        content = pack(_Hdf5(path).groups())
    except (
        FileError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        RuntimeError,
        AttributeError,
        IndexError,
        OverflowError,
    ) as error:
        reason = error.got or error.what if isinstance(error, FileError) else str(error)
        print((str(reason).splitlines() or [""])[0] or type(error).__name__, file=sys.stderr)
        sys.exit(REFUSED)
    with os.fdopen(1, "wb") as out:
        out.write(content)
    os._exit(0)


def _limit(seconds: int) -> None:
    import resource

    for limit, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_DATA, MEMORY),
        (resource.RLIMIT_FSIZE, LARGEST),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value + (limit == resource.RLIMIT_CPU)))  # SIGXCPU identifies this limit


class _Hdf5:
    """Reads the groups of a file."""

    def __init__(self, path: str) -> None:
        from h5py import h5f, h5g

        self._size = self._left = os.stat(path).st_size  # limits the declared data to the size of the file
        self._root = h5g.open(h5f.open(os.fsencode(path), h5f.ACC_RDONLY), b"/")

    def groups(self) -> dict[str, Group]:
        """Yield the root group and its groups."""
        from h5py import h5g

        found = {"": Group(self._attributes(self._root))}
        for name in sorted(self._root):
            place = self._opened(self._root, name)
            if isinstance(place, h5g.GroupID):
                found[name.decode()] = self._group(place)
        return found

    def _group(self, place: Any) -> Group:
        from h5py import h5d, h5ds

        variables = {}
        for name in place:
            dataset = self._opened(place, name)
            if not isinstance(dataset, h5d.DatasetID):
                raise ValueError(f"'{name.decode()}' is not an array")
            storage = dataset.get_create_plist()
            if (
                storage.get_layout() not in (h5d.CONTIGUOUS, h5d.COMPACT)
                or storage.get_nfilters()
                or storage.get_external_count()
            ):
                raise ValueError(f"'{name.decode()}' is compressed, virtual or external")
            if h5ds.is_scale(dataset) and dataset.get_space_status() == h5d.SPACE_STATUS_NOT_ALLOCATED:
                continue  # a dimension without a variable
            variables[name.decode()] = NetcdfVariable((), self._values(dataset), self._attributes(dataset))
        return Group(self._attributes(place), variables)

    def _opened(self, place: Any, name: bytes) -> Any:
        from h5py import h5l, h5o

        if place.links.get_info(name).type != h5l.TYPE_HARD:
            raise ValueError(f"'{name.decode()}' is an external or soft link")
        return h5o.open(place, name)

    def _values(self, dataset: Any) -> Any:
        from h5py import h5s

        shape = tuple(int(n) for n in dataset.get_space().shape)
        if _is_text(dataset.get_type()):
            return self._texts(dataset, shape)
        self._spend(8 * math.prod(shape))
        values = np.empty(shape, dtype=_number_type(dataset.get_type()))
        if values.size:
            dataset.read(h5s.ALL, h5s.ALL, values)
        return values

    def _texts(self, dataset: Any, shape: tuple[int, ...]) -> list[str]:
        """Read in batches, since many rows may refer to the same long text."""
        from h5py import h5s, string_dtype

        if len(shape) != 1:
            raise ValueError("it has text that is not a list")
        (count,) = shape
        self._spend(16 * count)
        texts: list[str] = []
        rows = max(1, BATCH // self._size)
        for first in range(0, count, rows):
            part = np.empty(min(rows, count - first), dtype=string_dtype())
            space = dataset.get_space()
            space.select_hyperslab((first,), (part.size,))
            dataset.read(h5s.create_simple((part.size,)), space, part)
            self._spend(sum(map(len, part)))
            texts += [_unescaped(text.decode()) for text in part]
        return texts

    def _attributes(self, place: Any) -> dict[str, Any]:
        from h5py import h5a

        found = {}
        for index in range(h5a.get_num_attrs(place)):
            attribute = h5a.open(place, index=index)
            name = attribute.name.decode()
            if name not in INTERNAL:
                found[name] = self._attribute(attribute)
        return found

    def _attribute(self, attribute: Any) -> Any:
        from h5py import h5s, string_dtype

        space, kind = attribute.get_space(), attribute.get_type()
        if _is_text(kind):
            if space.get_simple_extent_type() == h5s.NULL:
                return ""
            if space.get_simple_extent_npoints() != 1:
                raise ValueError("an attribute has several strings")
            text = np.empty(space.shape, dtype=string_dtype())
            self._spend(16)
            attribute.read(text)
            self._spend(len(text.item()))
            return _unescaped(text.item().decode())
        self._spend(8 * int(space.get_simple_extent_npoints()))
        values = np.empty(space.shape, dtype=_number_type(kind))
        attribute.read(values)
        return values.item() if values.size == 1 else values

    def _spend(self, size: int) -> None:
        self._left -= size
        if size < 0 or self._left < 0:
            raise ValueError("it declares more data than its size allows")


def _unescaped(text: str) -> str:
    return str(json.loads(text.removeprefix(ESCAPED))) if text.startswith(ESCAPED) else text


def _is_text(kind: Any) -> bool:
    from h5py import h5t

    return bool(kind.get_class() == h5t.STRING)


def _number_type(kind: Any) -> str:
    from h5py import h5t

    found = {h5t.FLOAT: "<f8", h5t.INTEGER: "<i8"}.get(kind.get_class())
    if found is None or kind.get_size() > 8:
        raise ValueError("it has data that are neither numbers nor text")
    return found
