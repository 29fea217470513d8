"""netCDF-4 files by plain HDF5: groups of named arrays over dimensions, with attributes and a checksum of each part.

``encode`` makes the bytes of a file, ``Reader`` takes them apart. Files are data: a reader follows no link out of the file,
opens nothing that the file does not declare, and reads no more than the file can hold. An attribute of the root group has the
checksum of every array and of the attributes of every group; each is compared when that part is read.
Files of format 1 have none.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import FileError

Array = NDArray[Any]

LARGEST = 256 * 2**20  # bytes of a file: ten times the largest answer of the catalogue on its finest mesh
COMPACT = 512  # bytes of an array that is kept beside its description
BATCH = 2**26  # bytes of text that are read at once, at most
CHECKSUMS, CHECKSUM = "checksums", "checksum"  # attributes of the root group
# What HDF5 and netCDF keep for themselves beside a person's attributes.
INTERNAL = {
    "CLASS",
    "NAME",
    "REFERENCE_LIST",
    "DIMENSION_LIST",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_NCProperties",
    "_FillValue",
}
DIMENSION = "This is a netCDF dimension but not a netCDF variable.{:10d}"  # netCDF-4's name of a dimension without a variable
ESCAPED = "\\json:"  # before text that HDF5 cannot hold as it is: NUL, lone surrogates


_numbers = itertools.count()


def _unused_name() -> bytes:
    """Of a file in memory: HDF5 takes two open ones of the same name for the same file."""
    return b"in memory %d" % next(_numbers)


@dataclass(frozen=True)
class NetcdfVariable:
    """An array over named dimensions, or a list of texts."""

    dimensions: tuple[str, ...]
    values: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    attributes: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, NetcdfVariable] = field(default_factory=dict)


# ---- writing


def encode(groups: Mapping[str, Group]) -> bytes:
    """The bytes of a netCDF-4 file; the group of the empty name is the root."""
    from h5py import h5f, h5g, h5p

    creation, access = _small(h5p.create(h5p.FILE_CREATE)), h5p.create(h5p.FILE_ACCESS)
    access.set_fapl_core(block_size=2**16, backing_store=False)  # in memory: HDF5 itself never meets a full disk
    access.set_meta_block_size(512)
    access.set_libver_bounds(h5f.LIBVER_V18, h5f.LIBVER_V110)  # HDF5 keeps checksums of its own structures from 1.8 on
    file = h5f.create(_unused_name(), h5f.ACC_TRUNC, creation, access)
    try:
        root = h5g.open(file, b"/")
        sums: dict[str, str] = {}
        for name, group in groups.items():
            if name:
                place = h5g.create(root, name.encode(), None, _small(h5p.create(h5p.GROUP_CREATE)))
                _write_attributes(place, group.attributes)
                sums[name] = _sum_of_attributes(group.attributes)
                _write_variables(place, name, group.variables, sums)
        _write_variables(root, "", groups[""].variables, sums)
        attributes = {**groups[""].attributes, CHECKSUMS: json.dumps(sums)}
        _write_attributes(root, {**attributes, CHECKSUM: _sum_of_attributes(attributes)})
        h5f.flush(file)
        return bytes(file.get_file_image())
    finally:
        file.close()


def _small(creation: Any, array: bool = False) -> Any:
    """Creation properties without times, and with attributes, and data where it is little, kept beside each object's head."""
    from h5py import h5d

    creation.set_obj_track_times(False)  # the same answer gives the same bytes
    creation.set_attr_phase_change(64, 0)
    if array:
        creation.set_layout(h5d.COMPACT)
    return creation


def _write_variables(place: Any, group: str, variables: Mapping[str, NetcdfVariable], sums: dict[str, str]) -> None:
    from h5py import h5d, h5ds, h5p, h5s

    little, large = (_small(h5p.create(h5p.DATASET_CREATE), array) for array in (True, False))
    scales: dict[str, Any] = {}
    datasets = {}
    for name, variable in variables.items():
        values, kind = _storable(variable.values)
        creation = little if values.nbytes <= COMPACT else large
        dataset = h5d.create(place, name.encode(), kind, h5s.create_simple(values.shape), creation)
        if values.size:
            dataset.write(h5s.ALL, h5s.ALL, values)
        _write_attributes(dataset, variable.attributes)
        sums[_path(group, name)] = _sum_of(variable.values, variable.attributes)
        datasets[name] = dataset
        if variable.dimensions == (name,):  # a coordinate: the variable is the dimension too
            h5ds.set_scale(dataset, name.encode())
            scales[name] = dataset
    for name, variable in variables.items():
        for axis, dimension in enumerate(variable.dimensions):
            if dimension not in scales:
                size = datasets[name].shape[axis]
                scales[dimension] = _dimension(place, dimension, size, large)
                sums[_path(group, dimension)] = ""  # declared, and without data
            if scales[dimension] is not datasets[name]:
                h5ds.attach_scale(datasets[name], scales[dimension], axis)


def _path(group: str, name: str) -> str:
    return f"{group}/{name}" if group else name


def _dimension(place: Any, name: str, size: int, creation: Any) -> Any:
    from h5py import h5d, h5ds, h5s, h5t

    scale = h5d.create(place, name.encode(), h5t.IEEE_F32BE, h5s.create_simple((size,)), creation)
    h5ds.set_scale(scale, DIMENSION.format(size).encode())
    return scale


def _write_attributes(place: Any, attributes: Mapping[str, Any]) -> None:
    from h5py import h5a, h5s

    scalar = h5s.create(h5s.SCALAR)
    for name, value in attributes.items():
        values, kind = _storable([value] if isinstance(value, str) else value)
        space = scalar if values.size == 1 else h5s.create_simple(values.shape)
        h5a.create(place, name.encode(), kind, space).write(values.reshape(()) if values.size == 1 else values)


def _storable(value: Any) -> tuple[Array, Any]:
    """The value as an array, and its type in the file: 64-bit numbers, or UTF-8 text."""
    from h5py import h5t

    if isinstance(value, list):
        values = np.empty(len(value), dtype=_text_type())
        values[:] = [_escaped(text).encode() for text in value]
        return values, _text_kind()
    values = np.asarray(value)
    if values.dtype.kind in "iub":
        return np.ascontiguousarray(values, dtype="<i8"), h5t.STD_I64LE
    return np.ascontiguousarray(values, dtype="<f8"), h5t.IEEE_F64LE


@cache
def _text_type() -> Any:
    import h5py

    return h5py.string_dtype()


@cache
def _text_kind() -> Any:
    from h5py import h5t

    return h5t.py_create(_text_type(), logical=True)


def _escaped(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return ESCAPED + json.dumps(text)
    return ESCAPED + json.dumps(text) if "\0" in text or text.startswith(ESCAPED) else text


def _unescaped(text: str) -> str:
    return str(json.loads(text.removeprefix(ESCAPED))) if text.startswith(ESCAPED) else text


# ---- checksums


def _sum_of(values: Any, attributes: Mapping[str, Any]) -> str:
    """Of an array with its attributes."""
    digest = hashlib.blake2b(_canonical(values), digest_size=16)
    digest.update(_sum_of_attributes(attributes).encode())
    return digest.hexdigest()


def _sum_of_attributes(attributes: Mapping[str, Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(attributes.items()):
        digest.update(_canonical(name) + _canonical(value))
    return digest.hexdigest()


def _canonical(value: Any) -> bytes:
    """The same bytes for the same value, whatever it is kept in; its length first, so that no two values run together."""
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        return b"s%d:" % len(text) + text
    if isinstance(value, list):
        return b"l%d:" % len(value) + b"".join(_canonical(item) for item in value)
    values = np.asarray(value)
    values = values.astype("<i8") if values.dtype.kind in "iub" else values.astype("<f8")
    shape = values.shape if values.size != 1 or values.ndim > 1 else ()  # one number is the same in and out of an array
    return f"{values.dtype.kind}{shape}:".encode() + values.tobytes()


# ---- reading


class Reader:
    """The parts of a file, each checked when it is read. Raises ``FileError`` for whatever is not as ``encode`` writes it."""

    def __init__(self, path: str | Path) -> None:
        from h5py import h5f, h5g, h5p

        self.path = path
        image = _bytes_of(path)
        self._left = len(image)  # a file holds no more than its own size: nothing larger is read from it
        self._size = len(image)
        with self.guarded():
            access = h5p.create(h5p.FILE_ACCESS)
            access.set_fapl_core(block_size=2**16, backing_store=False)
            access.set_file_image(image)
            self._file = h5f.open(_unused_name(), h5f.ACC_RDONLY, fapl=access)
            self._root = h5g.open(self._file, b"/")
            self._groups: dict[str, Any] = {"": self._root}
            attributes = self._attributes(self._root)
            self.sums: dict[str, str] | None = None
            if CHECKSUM in attributes or CHECKSUMS in attributes:
                stored = attributes.pop(CHECKSUM)
                if stored != _sum_of_attributes(attributes):
                    raise self._damaged("its attributes")
                self.sums = json.loads(attributes.pop(CHECKSUMS))
                self._check_declared("", self._root)
            self.attributes: Mapping[str, Any] = attributes

    @property
    def checked(self) -> bool:
        """Whether the file has checksums."""
        return self.sums is not None

    def group(self, name: str) -> dict[str, Any]:
        """The attributes of a group."""
        from h5py import h5g

        with self.guarded():
            place = self._opened(self._root, name, name)
            if not isinstance(place, h5g.GroupID):
                raise self._refused(f"'{name}' is not a group")
            self._groups[name] = place
            attributes = self._attributes(place)
            if self.sums is not None:
                if self.sums[name] != _sum_of_attributes(attributes):
                    raise self._damaged(f"the attributes of '{name}'")
                self._check_declared(name, place)
            return attributes

    def names(self, group: str) -> list[str]:
        """What a group, read before, has in it."""
        with self.guarded():
            return [name.decode() for name in self._groups[group]]

    def attributes_of(self, group: str, name: str) -> dict[str, Any]:
        """The attributes of an array alone; of a file with checksums they count only together with the array."""
        with self.guarded():
            return self._attributes(self._dataset(group, name))

    def variable(self, group: str, name: str) -> NetcdfVariable:
        """An array with its attributes."""
        with self.guarded():
            dataset = self._dataset(group, name)
            attributes, values = self._attributes(dataset), self._values(dataset, name)
            if self.sums is not None and self.sums[f"{group}/{name}"] != _sum_of(values, attributes):
                raise self._damaged(f"'{name}' of '{group}'")
            return NetcdfVariable((), values, attributes)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Whatever a file can make fail is a ``FileError``."""
        try:
            yield
        except FileError:
            raise
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, IndexError, OverflowError) as error:
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            raise self._refused(reason) from error

    def _dataset(self, group: str, name: str) -> Any:
        from h5py import h5d

        dataset = self._opened(self._groups[group], name, f"{group}/{name}")
        if not isinstance(dataset, h5d.DatasetID):
            raise self._refused(f"'{group}/{name}' is not an array")
        storage = dataset.get_create_plist()
        if storage.get_layout() not in (h5d.CONTIGUOUS, h5d.COMPACT) or storage.get_nfilters() or storage.get_external_count():
            raise self._refused(f"'{group}/{name}' is compressed, virtual or kept in another file")
        return dataset

    def _opened(self, place: Any, name: str, path: str) -> Any:
        from h5py import h5l, h5o

        if place.links.get_info(name.encode()).type != h5l.TYPE_HARD:
            raise self._refused(f"'{path}' is a link to another place")
        return h5o.open(place, name.encode())

    def _check_declared(self, group: str, place: Any) -> None:
        known = self.sums or {}
        for name in place:
            path = _path(group, name.decode())
            if path not in known:
                raise self._refused(f"'{path}' is not declared")

    def _values(self, dataset: Any, name: str) -> Any:
        from h5py import h5s

        space = dataset.get_space()
        shape = tuple(int(n) for n in space.shape)
        if _is_text(dataset.get_type()):
            return self._texts(dataset, name, shape)
        self._spend(8 * math.prod(shape))
        values = np.empty(shape, dtype=_number_type(dataset.get_type()))
        if values.size:
            dataset.read(h5s.ALL, h5s.ALL, values)
        return values

    def _texts(self, dataset: Any, name: str, shape: tuple[int, ...]) -> list[str]:
        """Few at a time: many rows may name the same long text."""
        from h5py import h5s

        if len(shape) != 1:
            raise self._refused(f"'{name}' is not a list of texts")
        (count,) = shape
        self._spend(16 * count)
        texts: list[str] = []
        rows = max(1, BATCH // self._size)
        for first in range(0, count, rows):
            part = np.empty(min(rows, count - first), dtype=_text_type())
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
        from h5py import h5s

        space, kind = attribute.get_space(), attribute.get_type()
        if _is_text(kind):
            if space.get_simple_extent_type() == h5s.NULL:
                return ""
            if space.get_simple_extent_npoints() != 1:
                raise self._refused("an attribute has several texts")
            text = np.empty(space.shape, dtype=_text_type())
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
            raise self._refused("it declares more data than it can hold")

    def _refused(self, reason: str) -> FileError:
        return FileError(f"cannot read '{self.path}'", got=reason, expected="a whole netCDF file from 'save'")

    def _damaged(self, what: str) -> FileError:
        return FileError(f"'{self.path}' is damaged or was changed", got=f"the checksum of {what} does not match")


def _bytes_of(path: str | Path) -> bytes:
    """What is in a file; a device or a pipe never ends, and is none."""
    if not os.path.lexists(path):
        raise FileError(f"there is no file '{path}'")
    if Path(path).is_dir():
        raise FileError(f"cannot read '{path}'", got="it is a directory", expected="a netCDF file from 'save'")
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            raise FileError(f"cannot read '{path}'", got="it is not an ordinary file", expected="a netCDF file from 'save'")
        if about.st_size > LARGEST:
            raise FileError(
                f"cannot read '{path}'", got=f"{about.st_size / 2**20:.0f} MiB", expected=f"at most {LARGEST >> 20} MiB"
            )
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(f"cannot read '{path}'", got=reason, expected="a netCDF file from 'save'") from error


def _is_text(kind: Any) -> bool:
    from h5py import h5t

    return bool(kind.get_class() == h5t.STRING)


def _number_type(kind: Any) -> str:
    from h5py import h5t

    found = {h5t.FLOAT: "<f8", h5t.INTEGER: "<i8"}.get(kind.get_class())
    if found is None or kind.get_size() > 8:
        raise ValueError("it has data of another kind than numbers and text")
    return found
