"""Hostile and damaged result files: each is refused with a message or read with the same numbers.

``python tests/benchmarks/hostile_files.py [FLIPS] [SEED]`` writes the corpus into a temporary
folder, reads every file, then reads one file again and again with one bit changed (2,000 times). It
prints a table and ends with exit code 1 if any file was read with other numbers, raised something
else than a ``FileError``, took longer than ``SECONDS`` of processor time, or took this process or
one of its children over ``MEMORY``.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from trajopt.errors import FileError
from trajopt.files.netcdf import FOOTER, Group, NetcdfVariable, encode
from trajopt.files.solution_files import groups_of
from trajopt.files.storage import load, summary
from trajopt.trajectory.solution import Solution

SECONDS, MEMORY = 5.0, 500 * 2**20
SAVED = Path(__file__).parents[1] / "data" / "moon-lander.nc"
SECRET = "root:x:0:0"  # what an external dataset would bring in


def everything(solution: Solution) -> str:
    """All that a file says, as text: numbers to the last bit."""
    groups = groups_of(solution)
    return repr(
        [
            (
                name,
                sorted(group.attributes.items(), key=str),
                [(key, np.asarray(v.values).tolist()) for key, v in group.variables.items()],
            )
            for name, group in groups.items()
        ]
    ) + json.dumps(summary(solution))


# ---- the corpus: name -> what writes the file; those in SAME are whole files


def corpus(good: bytes, solution: Solution) -> dict[str, Callable[[Path], object]]:
    """All cases."""
    return {
        **_not_hdf5(good),
        **_values(solution),
        **_shapes(solution),
        **_indices(good),
        **_undeclared(good),
    }


def _not_hdf5(good: bytes) -> dict[str, Callable[[Path], object]]:
    cases: dict[str, Callable[[Path], object]] = {
        "empty": lambda p: p.write_bytes(b""),
        "text": lambda p: p.write_text("hello"),
        "pickle": lambda p: p.write_bytes(pickle.dumps({"format": "trajopt solution"})),
        "zeros": lambda p: p.write_bytes(bytes(10000)),
        "noise": lambda p: p.write_bytes(random.Random(1).randbytes(10000)),
        "signature and noise": lambda p: p.write_bytes(
            good[:8] + random.Random(2).randbytes(10000)
        ),
        "folder": lambda p: p.mkdir(),
        "pipe": os.mkfifo,
        "endless device": lambda p: p.symlink_to("/dev/zero"),
        "link to itself": lambda p: p.symlink_to(p),
        "link to nowhere": lambda p: p.symlink_to("nowhere"),
        "sparse, ten gigabytes": lambda p: (p.write_bytes(good), os.truncate(p, 10 * 2**30)),
        "bytes after the end": lambda p: p.write_bytes(good + b"more"),
        "bytes before the start": lambda p: p.write_bytes(b"more" + good),
        "middle cut out": lambda p: p.write_bytes(good[: len(good) // 3] + good[len(good) // 2 :]),
        "halves swapped": lambda p: p.write_bytes(good[len(good) // 2 :] + good[: len(good) // 2]),
        "a page of zeros": lambda p: p.write_bytes(good[:4096] + bytes(4096) + good[8192:]),
        "page written twice": lambda p: p.write_bytes(good[:4096] + good[:4096] + good[8192:]),
    }
    for tenths in range(1, 10):
        cases[f"cut at {tenths}0 %"] = lambda p, share=tenths: p.write_bytes(
            good[: len(good) * share // 10]
        )
    return cases


def _values(solution: Solution) -> dict[str, Callable[[Path], object]]:
    """Attributes of another kind or size, by somebody who can compute checksums."""
    deep = "[" * 100000 + "]" * 100000
    wrong = {
        "format_version": [float("inf"), float("nan"), -1.0, "two", 99, np.arange(3)],
        "versions": ["null", "[]", '{"a": 1}', "{"],
        "options": ["[]", "null", deep],
        "seconds": ['{"total": "long"}', "3"],
        "settings": ["[]", deep, '{"a": ' + "9" * 100000 + "}"],
        "explanation": ["{}", "[1, 2]"],
        "log": ["null"],
        "phases": [10**9, -1, 1.5, "one", 0.0],
        "status": ["WRONG", "__class__", 3],
        "objective": ["none", np.zeros(2)],
        "iterations": [-1, 1e300],
        "problem": [3],
        "tolerance": ["small"],
    }
    cases = {}
    for name, values in wrong.items():
        for number, value in enumerate(values):
            cases[f"{name} {number}"] = lambda p, change={name: value}: _changed(
                solution, p, root=change
            )
    return cases


def _changed(
    solution: Solution, path: Path, root=None, phase=None, variables=None, groups=None
) -> None:
    """The file with attributes of the root, attributes and variables of the first phase, or whole
    groups replaced.
    """
    content = groups_of(solution)
    content[""] = Group({**content[""].attributes, **(root or {})})
    first = content["phase_0"]
    merged = {k: v for k, v in {**first.variables, **(variables or {})}.items() if v is not None}
    content["phase_0"] = Group({**first.attributes, **(phase or {})}, merged)
    path.write_bytes(
        encode({k: v for k, v in {**content, **(groups or {})}.items() if v is not None})
    )


def _shapes(solution: Solution) -> dict[str, Callable[[Path], object]]:
    content = groups_of(solution)
    variables = content["phase_0"].variables
    key = next(name for name in variables if name.startswith("state."))
    curve, counts, breaks = variables[key], variables["grid0.nodes"], variables["grid0.breaks"]
    history = content["history"].variables

    def of_curve(**change):
        return {
            "variables": {
                key: NetcdfVariable(("a", "b"), curve.values, {**curve.attributes, **change})
            }
        }

    def of_counts(values):
        return {"variables": {"grid0.nodes": NetcdfVariable(("c",), values)}}

    names = json.loads(content["phase_0"].attributes["curves"])
    changes = {
        "grid that is not there": of_curve(grid=99),
        "grid below zero": of_curve(grid=-1),
        "grid that is text": of_curve(grid="0"),
        "limits of another size": of_curve(lower=np.zeros(7)),
        "limits that are text": of_curve(lower="low"),
        "unit that is a number": of_curve(units=3),
        "curve that is missing": {"variables": {key: None}},
        "curve with fewer values": {
            "variables": {key: NetcdfVariable(("a", "b"), curve.values[:-1], curve.attributes)}
        },
        "curve as a line": {
            "variables": {key: NetcdfVariable(("a",), curve.values.ravel(), curve.attributes)}
        },
        "curve as a cube": {
            "variables": {
                key: NetcdfVariable(("a", "b", "c"), curve.values[None], curve.attributes)
            }
        },
        "curve of text": {"variables": {key: NetcdfVariable(("a",), ["x"] * 3, curve.attributes)}},
        "no nodes in an interval": of_counts(counts.values * 0),
        "nodes below zero": of_counts(-counts.values),
        "nodes without end": of_counts(counts.values + 2**62),
        "nodes that are not whole": of_counts(counts.values.astype(float)),
        "one break": {
            "variables": {
                "grid0.breaks": NetcdfVariable(("d",), breaks.values[:1], breaks.attributes)
            }
        },
        "times that are text": {"phase": {"t0": "early"}},
        "phase without a name": {"phase": {"name": 3}},
        "curves that are a list": {"phase": {"curves": "[]"}},
        "curves named twice": {"phase": {"curves": json.dumps({"state": names["state"] * 2})}},
        "curves that are not there": {
            "phase": {"curves": json.dumps({"state": [["x", "../../history/error"]]})}
        },
        "two phases of one name": {
            "root": {"phases": 2},
            "groups": {"phase_1": content["phase_0"]},
        },
        "no history": {"groups": {"history": None}},
        "history without a column": {
            "groups": {"history": Group({}, {k: v for k, v in history.items() if k != "error"})}
        },
        "history of two lengths": {
            "groups": {
                "history": Group({}, {**history, "error": NetcdfVariable(("e",), np.zeros(99))})
            }
        },
        "remarks that are numbers": {
            "groups": {"history": Group({}, {**history, "remark": history["error"]})}
        },
        "names of variables too many": {"groups": {"variables": Group({"names": '["a", "b"]'})}},
    }
    return {
        name: lambda p, change=change: _changed(solution, p, **change)
        for name, change in changes.items()
    }


def _indices(good: bytes) -> dict[str, Callable[[Path], object]]:
    """Another index, other numbers of bytes or other HDF5, by somebody who computes the digest."""
    _, length, size, _ = FOOTER.unpack(good[-FOOTER.size :])
    hdf5, index = good[:length], good[length : length + size]
    name = next(key for key in json.loads(index)["phase_0"][1] if key.startswith("state."))

    def sealed(hdf5: bytes, index: bytes, lengths: tuple[int, int] | None = None) -> bytes:
        head = (
            hdf5
            + index
            + FOOTER.pack(good[-FOOTER.size :][:16], *(lengths or (len(hdf5), len(index))), b"")[
                :-32
            ]
        )
        return head + hashlib.sha256(head).digest()

    def with_entry(entry: object) -> bytes:
        content = json.loads(index)
        content["phase_0"][1][name] = entry
        return sealed(hdf5, json.dumps(content).encode())

    about = json.loads(index)["phase_0"][1][name]
    rows = about[3]
    entries = {
        "place below zero": [about[0], "f", -8, rows, 1],
        "place behind the end": [about[0], "f", len(good) - 8, rows, 1],
        "place without end": [about[0], "f", 2**63, rows, 1],
        "place that is not whole": [about[0], "f", 0.5, rows, 1],
        "place that is true": [about[0], "f", True, rows, 1],
        "rows below zero": [about[0], "f", 0, -rows, -1],
        "rows without end": [about[0], "f", 0, 2**47, 2**47],
        "rows without columns": [about[0], "f", 0, 2**40, 0],
        "four hundred dimensions": [about[0], "f", 0, *[1] * 400],
        "numbers that are objects": [about[0], "O", 0, rows, 1],
        "numbers of another type": [about[0], "<f2", 0, rows, 1],
        "texts that are lists": [about[0], [[], []]],
        "attributes that are a list": [[], *about[1:]],
        "attribute that is a table": [{**about[0], "units": {}}, *about[1:]],
        "attribute with lists in lists": [{**about[0], "lower": [[[0]]] * 9}, *about[1:]],
        "attribute of texts": [{**about[0], "lower": ["a"]}, *about[1:]],
        "entry that is nothing": None,
        "entry without a place": about[:2],
    }
    million = b'{"":[{},{"a":[{},[' + b'"",' * 2**20 + b'""]]}]}'
    contents = {
        "index of lists, a million": sealed(hdf5, b"[" + b"[]," * 10**6 + b"[]]"),
        "index of texts, a million": sealed(hdf5, million),
        "index nested deeply": sealed(hdf5, b"[" * 10**5 + b"]" * 10**5),
        "index that is text": sealed(hdf5, b'"index"'),
        "index that is empty": sealed(hdf5, b"{}"),
        "index that is not text": sealed(hdf5, b"\xff\xfe"),
        "index longer than the file": sealed(hdf5, index, (0, 2**60)),
        "lengths that overflow": sealed(hdf5, index, (2**64 - size, 2 * size)),
        "lengths of other parts": sealed(hdf5, index, (length - 8, size + 8)),
        "forty megabytes of index": sealed(b"", index + b" " * (40 * 2**20)),
        "array read a thousand times": sealed(hdf5, _often(json.loads(index), name)),
        "digest of zeros": good[:-32] + bytes(32),
        "only a footer": good[-FOOTER.size :],
        "HDF5 of zeros but for the numbers": sealed(_without_heads(hdf5, json.loads(index)), index),
    }
    cases = {
        name: lambda p, entry=entry: p.write_bytes(with_entry(entry))
        for name, entry in entries.items()
    }
    return {
        **cases,
        **{
            name: lambda p, content=content: p.write_bytes(content)
            for name, content in contents.items()
        },
    }


def _often(index: dict, name: str) -> bytes:
    """An index in which many arrays are the same bytes of the file."""
    variables = index["phase_0"][1]
    variables |= {f"again {i}": variables[name] for i in range(1000)}
    return json.dumps(index).encode()


def _without_heads(hdf5: bytes, index: dict) -> bytes:
    """Only the numbers are left."""
    left = bytearray(len(hdf5))
    for _, variables in index.values():
        for _, _, *about in variables.values():
            if about:
                place, count = about[0], 8 * int(np.prod(about[1:]))
                left[place : place + count] = hdf5[place : place + count]
    return bytes(left)


def _undeclared(good: bytes) -> dict[str, Callable[[Path], object]]:
    """Additions to a file with checksums."""

    def added(change: Callable[[h5py.File], object]) -> Callable[[Path], object]:
        def write(path: Path) -> None:
            path.write_bytes(good)
            with h5py.File(path, "a") as file:
                change(file)

        return write

    def other_number(file: h5py.File) -> None:
        name = next(name for name in file["phase_0"] if name.startswith("state."))
        file["phase_0"][name][0, 0] += 1e-12

    return {
        "undeclared array": added(lambda f: f["phase_0"].create_dataset("more", (3,), "f8")),
        "undeclared group": added(lambda f: f.create_group("more")),
        "group in itself": added(lambda f: f["phase_0"].__setitem__("more", f["phase_0"])),
        "undeclared attribute": added(lambda f: f.attrs.__setitem__("more", 3)),
        "undeclared attribute of a "
        "phase": added(lambda f: f["phase_0"].attrs.__setitem__("more", 3)),
        "other objective": added(lambda f: f.attrs.__setitem__("objective", 0.0)),
        "other number": added(other_number),
        "digest removed": lambda p: p.write_bytes(good[: -FOOTER.size]),
        "flipped bit in the "
        "mark": lambda p: p.write_bytes(changed_bit(good, 8 * (len(good) - FOOTER.size))),
    }  # fmt: skip


SAME = {"HDF5 of zeros but for the numbers"}  # nobody reads the rest


# ---- reading


def outcome(path: Path, expected: str) -> str:
    """ "refused", "same", or what went wrong."""

    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 20 * SECONDS)
    began = _processor_time()
    try:
        solution = load(path)
        found = everything(solution)
    except FileError as error:
        if SECRET in str(error):
            return "tells a secret"
        return (
            "refused" if _processor_time() - began < SECONDS else f"takes longer than {SECONDS:g} s"
        )
    except TimeoutError:
        return "hangs"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return "same" if found == expected else "read with other numbers"


def _processor_time() -> float:
    return sum(
        use.ru_utime + use.ru_stime
        for use in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def changed_bit(good: bytes, place: int) -> bytes:
    """The file with one bit changed."""
    content = bytearray(good)
    content[place // 8] ^= 1 << place % 8
    return bytes(content)


def read_corpus(folder: Path) -> dict[str, str]:
    """Case -> outcome."""
    solution = load(SAVED)
    good = encode(groups_of(solution))
    expected = everything(solution)
    found = {}
    for number, (name, write) in enumerate(corpus(good, solution).items()):
        path = folder / f"{number}.nc"
        write(path)
        found[name] = outcome(path, expected)
    return found


def read_flips(folder: Path, count: int, seed: int) -> Counter[str]:
    """Outcome -> how many of the flipped files."""
    solution = load(SAVED)
    content, expected, rng = encode(groups_of(solution)), everything(solution), random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(count):
        (folder / "flipped.nc").write_bytes(changed_bit(content, rng.randrange(8 * len(content))))
        found[outcome(folder / "flipped.nc", expected)] += 1
    return found


def bad(found: dict[str, str]) -> dict[str, str]:
    """The cases that ended otherwise than they should."""
    return {
        name: end for name, end in found.items() if end != ("same" if name in SAME else "refused")
    }


def main() -> int:
    flips, seed = (int(a) for a in (*sys.argv[1:], *("2000", "0")[len(sys.argv) - 1 :]))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = read_corpus(Path(folder))
        for name, end in found.items():
            print(f"{name:<40} {end}")
        of_flips = read_flips(Path(folder), flips, seed)
    memory = 1024 * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(f"{len(found)} files, {len(bad(found))} wrong; {flips} flips: {dict(of_flips)}")
    print(f"{memory / 2**20:.0f} MiB at most, {time.perf_counter() - began:.0f} s")
    wrong = bool(bad(found)) or set(of_flips) - {"refused", "same"}
    return 1 if wrong or memory > MEMORY else 0


if __name__ == "__main__":
    sys.exit(main())
