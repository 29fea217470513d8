"""The journal of a sweep: one SQLite database in its folder, written only by the process that
coordinates it.

A row that is in the journal stays there until it is solved again. SQLite's rollback journal keeps
the database whole when the process is killed or the disk is full; a lock beside it names the
process that works in the folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trajopt.errors import FileError

NAME, LOCK = "sweep.sqlite", "sweep.lock"
VERSION = 1
SOLVED, FAILED = "solved", "failed"
SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rows (
  file TEXT PRIMARY KEY, key TEXT NOT NULL, statement TEXT NOT NULL,
  settings TEXT NOT NULL, status TEXT NOT NULL,
  message TEXT NOT NULL, figures TEXT NOT NULL,
  units TEXT NOT NULL, began REAL NOT NULL, ended REAL NOT NULL,
  attempts INTEGER NOT NULL, host TEXT NOT NULL,
  process INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL
);
"""


@dataclass(frozen=True)
class Row:
    """The record of one row: settings, status, results, and size and time of its file."""

    file: str
    key: str
    statement: str
    settings: Mapping[str, Any]
    status: str  # of the solution; or error, exited, crashed, timeout, memory
    message: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)  # the other columns of the table
    units: Mapping[str, str] = field(default_factory=dict)
    began: float = 0.0
    ended: float = 0.0
    attempts: int = 1
    host: str = ""
    process: int = 0
    size: int = -1  # of the file in bytes; -1 without a file
    modified: int = 0  # nanoseconds

    @property
    def success(self) -> bool:
        return self.status == SOLVED

    def with_file(self, folder: Path) -> Row:
        """The row with the size and the time of its file."""
        size, modified = _size_and_time(folder, self.file)
        return replace(self, size=size, modified=modified)

    def file_is_untouched(self, folder: Path) -> bool:
        """Whether the file is as it was when the row was written."""
        return _size_and_time(folder, self.file) == (self.size, self.modified)


def _size_and_time(folder: Path, file: str) -> tuple[int, int]:
    """Size in bytes and modification time in nanoseconds; -1 and 0 without a file."""
    try:
        about = os.stat(os.path.join(folder, file))
    except OSError:
        return -1, 0
    return about.st_size, about.st_mtime_ns


class Journal:
    """The database of a folder, open for writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remarks: list[str] = []
        try:
            self._database = self._opened()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise _unwritable(folder, error) from error
            damaged = folder / f"{NAME}.damaged"
            os.replace(folder / NAME, damaged)
            self.remarks.append(
                f"the journal was damaged and is now '{damaged.name}'; finished files are taken "
                "into a new one"
            )
            self._database = self._opened()

    def _opened(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.folder / NAME, timeout=10.0)
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(SCHEMA)
        found = dict(database.execute("SELECT name, value FROM facts"))
        if int(found.get("version", VERSION)) > VERSION:
            raise FileError(
                f"'{self.folder / NAME}' was written by a newer trajopt", hint="upgrade trajopt"
            )
        with database:
            database.execute("INSERT OR REPLACE INTO facts VALUES ('version', ?)", (str(VERSION),))
        return database

    def rows(self) -> dict[str, Row]:
        """All rows by file name, in the order in which they were added."""
        return read_rows(self._database)

    def write(self, rows: Iterable[Row], facts: Mapping[str, Any] | None = None) -> None:
        """Add rows in one transaction."""
        content = [tuple(_stored(row).values()) for row in rows]
        marks = ", ".join("?" * len(Row.__dataclass_fields__))
        try:
            with self._database:
                self._database.executemany(f"INSERT OR REPLACE INTO rows VALUES ({marks})", content)
                texts = [(name, json.dumps(value)) for name, value in (facts or {}).items()]
                self._database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", texts)
        except sqlite3.Error as error:
            raise _unwritable(self.folder, error) from error

    def close(self) -> None:
        self._database.close()


def _unwritable(folder: Path, error: Exception) -> FileError:
    return FileError(f"cannot write '{folder / NAME}'", got=str(error))


def _stored(row: Row) -> dict[str, Any]:
    return {
        k: json.dumps(v, default=_plain) if k in ("settings", "figures", "units") else _clean(v)
        for k, v in vars(row).items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _clean(value: Any) -> Any:
    """Replace lone surrogates, which SQLite does not store."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def read_rows(database: sqlite3.Connection) -> dict[str, Row]:
    """All rows of a database by file name."""
    names = list(Row.__dataclass_fields__)
    found = {}
    units: dict[str, Any] = {}  # the same text in all rows of a sweep
    for file, key, statement, settings, status, message, figures, unit, *rest in database.execute(
        f"SELECT {', '.join(names)} FROM rows ORDER BY rowid"
    ):
        if unit not in units:
            units[unit] = json.loads(unit)
        own = {name: _tuples(value) for name, value in json.loads(settings).items()}
        found[file] = Row(
            file, key, statement, own, status, message, json.loads(figures), units[unit], *rest
        )
    return found


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Progress:
    """The state of a sweep, running or not, from its journal."""

    facts: Mapping[str, Any]
    rows: Mapping[str, Row]
    # host, process and start time of the sweep that runs in the folder; None without one
    worker: Mapping[str, Any] | None


def read_progress(folder: Path) -> Progress:
    """The state of the sweep in a folder."""
    if not (folder / NAME).is_file():
        raise FileError(
            f"there is no sweep in '{folder}'",
            expected=f"a folder with '{NAME}', from 'trajopt sweep --save {folder}'",
        )
    try:
        database = sqlite3.connect(folder / NAME, timeout=10.0)
        try:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'rows'").fetchone():
                return Progress({}, {}, lock_owner(folder))  # the sweep has just started
            facts = {
                name: json.loads(value)
                for name, value in database.execute("SELECT name, value FROM facts")
            }
            rows = read_rows(database)
        finally:
            database.close()
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise FileError(f"cannot read '{folder / NAME}'", got=str(error)) from error
    return Progress(facts, rows, lock_owner(folder))


# ---- the lock


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other sweeps; a ``FileError`` names the one that holds the lock.

    It ends with its process.
    """
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FileError(
                f"another sweep works in '{folder}'",
                got=_named(_owner(handle)),
                hint="wait for it, end it, or use another folder",
            ) from error
        except OSError:  # a file system without locks
            pass
        about = {
            "host": platform.node(),
            "process": os.getpid(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(about).encode(), 0)
        yield
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def lock_owner(folder: Path) -> Mapping[str, Any] | None:
    """The process that holds the lock of a folder."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _owner(handle)
    except OSError:
        return None
    finally:
        os.close(handle)
    return None


def _owner(handle: int) -> Mapping[str, Any]:
    try:
        found = json.loads(os.pread(handle, 1000, 0))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def _named(owner: Mapping[str, Any]) -> str:
    return (
        f"process {owner.get('process', '?')} on {owner.get('host', '?')} since "
        f"{owner.get('since', '?')}"
    )
