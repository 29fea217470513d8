"""The bytes of an HDF5 file in netCDF-4 layout: groups of named arrays over dimensions, with
attributes.

Only what such a file needs is written, in the oldest form of each structure that holds it:
superblock 0, object headers 1, links in the headers, arrays in one piece, texts in global heaps.
See "HDF5 File Format Specification 3.0", sections II to IV. xarray, netCDF4 and h5py read it. It is
written without libhdf5, which takes ten times as long for small arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from trajopt.files.netcdf import Group, NetcdfVariable

SIGNATURE = b"\x89HDF\r\n\x1a\n"
NOWHERE = 2**64 - 1  # undefined address of HDF5
LONGEST = 2**16 - 64  # bytes of a message in an object header
HEAP = 4096  # minimum bytes of a heap
IN_HEAP = 2**15  # maximum strings of one heap
# netCDF-4's name of a dimension without a variable
DIMENSION = "This is a netCDF dimension but not a netCDF variable.{:10d}"

# Types of messages in an object header.
SPACE = 0x1
LINK_INFO = 0x2
TYPE = 0x3
FILL = 0x5
LINK = 0x6
LAYOUT = 0x8
GROUP_INFO = 0xA
ATTRIBUTE = 0xC

# Encoded types of data: class and version, bits, size, properties.
INTEGER = struct.pack("<B3BIHH", 0x10, 0x08, 0, 0, 8, 0, 64)
FLOAT = struct.pack("<B3BIHHBBBBI", 0x11, 0x20, 63, 0, 8, 0, 64, 52, 11, 0, 52, 1023)
# of dimensions without a variable
SHORT_FLOAT = struct.pack("<B3BIHHBBBBI", 0x11, 0x21, 31, 0, 4, 0, 32, 23, 8, 0, 23, 127)
REFERENCE = struct.pack("<B3BI", 0x17, 0, 0, 0, 8)  # to an object
# of any length, UTF-8
TEXT = struct.pack("<B3BI", 0x19, 0x01, 0x01, 0, 16) + struct.pack(
    "<B3BIHH", 0x10, 0, 0, 0, 1, 0, 8
)
REFERENCES = struct.pack("<B3BI", 0x19, 0, 0, 0, 16) + REFERENCE  # a list of any length
USE = (  # of a dimension: by which array, as which axis
    struct.pack("<BHBI", 0x16, 2, 0, 16)
    + struct.pack("<8sI28x", b"dataset", 0) + REFERENCE
    + struct.pack("<16sI28x", b"dimension", 8) + struct.pack("<B3BIHH", 0x10, 0, 0, 0, 4, 0, 32)
)  # fmt: skip
FILLED = struct.pack("<BBBBI", 2, 1, 0, 1, 0)  # an array with data
BARE = struct.pack("<BBBBI", 2, 2, 0, 1, 0)  # an array without data

Key = tuple[str, ...]  # of an object: its group, its group and name, or the number of a heap
# type, content, and positions of object addresses in it
Message = tuple[int, bytes, list[tuple[int, Key]]]


def image_of(groups: Mapping[str, Group]) -> tuple[bytes, dict[Key, int]]:
    """Return the bytes of a file and the offset of each array (group, name); the empty name is the
    root group.
    """
    image = _Image()
    for name, group in groups.items():
        image.add_group(name, group, [other for other in groups if other and not name])
    return image.finished(), image.numbers


class _Image:
    """Builds a file. Unknown addresses are filled in at the end."""

    def __init__(self) -> None:
        self.content = bytearray(96)  # the superblock is written last
        self.numbers: dict[Key, int] = {}
        self._addresses: dict[Key, int] = {}
        self._open: list[tuple[int, Key]] = []  # positions of unknown addresses
        self._heap: list[tuple[bytes, Key | None]] = []

    def add_group(self, name: str, group: Group, below: Iterable[str]) -> None:
        names: list[Key] = [(other,) for other in below]
        for key, variable, uses, attached in _objects(name, group.variables):
            names.append(key)
            self._add_array(key, variable, uses, attached)
        about: Message = (LINK_INFO, struct.pack("<BBQQQ", 0, 1, len(names), NOWHERE, NOWHERE), [])
        links = [_link(number, key) for number, key in enumerate(names)]
        self._add_object(
            (name,),
            [about, (GROUP_INFO, bytes(2), []), *links, *self._attributes(group.attributes)],
        )

    def _add_array(
        self,
        key: Key,
        variable: NetcdfVariable | int,
        uses: list[tuple[Key, int]],
        scales: list[Key],
    ) -> None:
        """``variable`` is an array, or the size of a bare dimension."""
        name = key[1]
        own: list[Message] = []
        shape: tuple[int, ...]
        if isinstance(variable, int):
            address, size, shape, kind, fill = NOWHERE, 4 * variable, (variable,), SHORT_FLOAT, BARE
        else:
            content, shape, kind, references = self._stored(variable.values)
            size, fill = len(content), FILLED
            address = self._append(content) if content else NOWHERE
            self._open += [(address + place, heap) for place, heap in references]
            self.numbers[key] = address if content else 0
            own = list(self._attributes(variable.attributes))
        if uses or isinstance(variable, int) or variable.dimensions == (name,):
            own += self._scale_attributes(
                DIMENSION.format(variable) if isinstance(variable, int) else name, uses
            )
        if scales:
            lists: list[tuple[bytes, Key | None]] = [
                self._in_heap(bytes(8), 1, scale) for scale in scales
            ]
            own.append(self._attribute("DIMENSION_LIST", REFERENCES, (len(scales),), lists))
        layout = struct.pack("<BBQQ", 3, 1, address, size)
        self._add_object(
            key,
            [
                (SPACE, _space(shape), []),
                (TYPE, kind, []),
                (FILL, fill, []),
                (LAYOUT, layout, []),
                *own,
            ],
        )

    def _scale_attributes(self, name: str, uses: list[tuple[Key, int]]) -> Iterator[Message]:
        """Return the attributes of a dimension scale."""
        for key, word in (("CLASS", "DIMENSION_SCALE"), ("NAME", name)):
            text = _utf8(word) + b"\0"
            yield self._attribute(
                key, struct.pack("<B3BI", 0x13, 0x10, 0, 0, len(text)), (), [(text, None)]
            )
        if uses:
            lines: list[tuple[bytes, Key | None]] = [
                (struct.pack("<QI4x", 0, axis), key) for key, axis in uses
            ]
            yield self._attribute("REFERENCE_LIST", USE, (len(uses),), lines, at=0)

    def _attributes(self, attributes: Mapping[str, Any]) -> Iterator[Message]:
        for name, value in attributes.items():
            content, shape, kind, references = self._stored(
                [value] if isinstance(value, str) else value
            )
            parts: list[tuple[bytes, Key | None]] = [(content, None)]
            if references:  # one text
                parts = [(content, references[0][1])]
            # larger ones exceed a header
            if len(content) < LONGEST - 2 * len(name.encode("utf-8", "replace")):
                yield self._attribute(
                    name, kind, () if len(content) == 8 or references else shape, parts
                )

    def _attribute(
        self,
        name: str,
        kind: bytes,
        shape: tuple[int, ...],
        parts: list[tuple[bytes, Key | None]],
        at: int = 4,
    ) -> Message:
        """Add an array whose data are the parts; ``at`` is the position of an object address in a
        part.
        """
        title, space = _utf8(name) + b"\0", _space(shape)
        content = (
            struct.pack("<BBHHHB", 3, 0, len(title), len(kind), len(space), 1)
            + title
            + kind
            + space
        )
        references = []
        for part, key in parts:
            if key is not None:
                references.append((len(content) + at, key))
            content += part
        return ATTRIBUTE, content, references

    def _stored(self, values: Any) -> tuple[bytes, tuple[int, ...], bytes, list[tuple[int, Key]]]:
        """Return bytes, shape and type of an array, and the positions of the addresses of its
        strings.
        """
        if isinstance(values, list):
            content, references = b"", []
            for text in values:
                plain = _utf8(text)
                entry, heap = self._in_heap(plain, len(plain)) if plain else (bytes(16), None)
                references += [(len(content) + 4, heap)] if heap is not None else []
                content += entry
            return content, (len(values),), TEXT, references
        array = np.asarray(values)
        kind, code = (INTEGER, "<i8") if array.dtype.kind in "iub" else (FLOAT, "<f8")
        return array.astype(code).tobytes(), array.shape, kind, []

    def _in_heap(self, content: bytes, length: int, key: Key | None = None) -> tuple[bytes, Key]:
        """Add an entry to a heap; return the reference to it and the key of the heap."""
        heap, place = divmod(len(self._heap), IN_HEAP)
        self._heap.append((content, key))
        return struct.pack("<IQI", length, 0, place + 1), ("heap", f"{heap}", "")

    def _add_object(self, key: Key, messages: list[Message]) -> None:
        """Return an object header, version 1."""
        body = bytearray()
        references = []
        for kind, content, inner in messages:
            body += struct.pack("<HHB3x", kind, len(content) + -len(content) % 8, 0)
            references += [(len(body) + place, other) for place, other in inner]
            body += content + bytes(-len(content) % 8)
        address = self._append(struct.pack("<BxHII4x", 1, len(messages), 1, len(body)) + body)
        self._addresses[key] = address
        self._open += [(address + 16 + place, other) for place, other in references]

    def _append(self, block: bytes | bytearray) -> int:
        address = len(self.content)
        self.content += block + bytes(-len(block) % 8)
        return address

    def finished(self) -> bytes:
        """Write heaps, addresses and the superblock."""
        for number in range(0, len(self._heap), IN_HEAP):
            self._add_heap(
                ("heap", f"{number // IN_HEAP}", ""), self._heap[number : number + IN_HEAP]
            )
        for position, key in self._open:
            struct.pack_into("<Q", self.content, position, self._addresses[key])
        versions = struct.pack("<8s5B2Bx2HI", SIGNATURE, 0, 0, 0, 0, 0, 8, 8, 4, 16, 0)
        ends = struct.pack("<4Q", 0, NOWHERE, len(self.content), NOWHERE)
        self.content[:96] = versions + ends + struct.pack("<QQI20x", 0, self._addresses["",], 0)
        return bytes(self.content)

    def _add_heap(self, key: Key, entries: list[tuple[bytes, Key | None]]) -> None:
        start, body = len(self.content), bytearray(16)
        for number, (content, target) in enumerate(entries, start=1):
            body += struct.pack("<HH4xQ", number, 0, len(content))
            self._open += [(start + len(body), target)] if target is not None else []
            body += content + bytes(-len(content) % 8)
        free = max(HEAP - len(body), 16)
        body += struct.pack("<HH4xQ", 0, 0, free) + bytes(free - 16)
        body[:16] = struct.pack("<4sB3xQ", b"GCOL", 1, len(body))
        self._addresses[key] = self._append(body)


def _objects(
    group: str, variables: Mapping[str, NetcdfVariable]
) -> Iterator[tuple[Key, NetcdfVariable | int, list[tuple[Key, int]], list[Key]]]:
    """Return arrays and dimensions of a group, each with its users (array, axis) and its own
    dimensions.
    """
    uses: dict[str, list[tuple[Key, int]]] = {}
    sizes: dict[str, int] = {}
    for name, variable in variables.items():
        shape = (
            (len(variable.values),)
            if isinstance(variable.values, list)
            else np.shape(variable.values)
        )
        for axis, dimension in enumerate(variable.dimensions):
            sizes.setdefault(dimension, shape[axis])
            if dimension != name:
                uses.setdefault(dimension, []).append(((group, name), axis))
    for name, variable in variables.items():
        scales: list[Key] = (
            [(group, d) for d in variable.dimensions] if variable.dimensions != (name,) else []
        )
        yield (
            (group, name),
            variable,
            uses.get(name, []) if variable.dimensions == (name,) else [],
            scales,
        )
    for name, size in sizes.items():
        if name not in variables:
            yield (group, name), size, uses.get(name, []), []


def _link(number: int, key: Key) -> Message:
    """Return a hard link with its index in the group."""
    name = _utf8(key[-1])
    content = struct.pack("<BBQBH", 1, 0x15, number, 1, len(name)) + name
    return LINK, content + bytes(8), [(len(content), key)]


def _space(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<BB6x{len(shape)}Q", 1, len(shape), *shape)


def _utf8(text: str) -> bytes:
    """Escape NUL, which ends a string in HDF5, and lone surrogates, which UTF-8 lacks."""
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")
