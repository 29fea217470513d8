"""Writing files so that nothing is lost: outputs are checked before the work, and replace what was there in one step."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trajopt.errors import FileError

LEFTOVER = ".trajopt-"  # begins the name of a file that is being written: then the machine, the process, a number
HOST = hashlib.blake2b(platform.node().encode("utf-8", "replace"), digest_size=4).hexdigest()
_looked_at: set[Path] = set()
_parts: set[Path] = set()  # that are being written


def check_writable(path: str | Path, endings: tuple[str, ...] = ()) -> None:
    """Raise a ``FileError`` unless a file of this name can be written.

    >>> check_writable("no-such-folder/answer.nc")
    Traceback (most recent call last):
    trajopt.errors.FileError: cannot write 'no-such-folder/answer.nc'
      got:      there is no folder 'no-such-folder'
    """
    target = Path(path)
    if target.is_dir():
        raise FileError(f"cannot write '{path}'", got="it is a directory", expected="the name of a file")
    if not target.parent.is_dir():
        raise FileError(f"cannot write '{path}'", got=f"there is no folder '{target.parent}'")
    if not os.access(target.parent, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise FileError(f"cannot write '{path}'", got="no permission")
    if endings and target.suffix.lower() not in endings:
        raise FileError(f"cannot write '{path}'", got=f"ending '{target.suffix}'", expected=" or ".join(endings))


def make_folder(folder: Path) -> Path:
    """The folder, made if it is missing; a ``FileError`` where that cannot be."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"cannot write into '{folder}'", got="it is a file", expected="a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder '{folder}'", got=error.strerror) from error
    return folder


@contextmanager
def replacing(path: str | Path, synced: bool = True) -> Iterator[Path]:
    """A file to write beside ``path`` that takes its place when all went well; otherwise the old one stays whole.

    Unless ``synced``, it survives the end of this process but not a loss of power: ``sync_files`` makes up for it.
    """
    check_writable(path)
    target = Path(path).resolve()  # through a link, so that the link stays
    remove_leftovers(target.parent)
    part = target.parent / f"{LEFTOVER}{HOST}-{os.getpid()}-{uuid.uuid4().hex[:8]}.part"
    _parts.add(part)
    try:
        yield part
        if synced:
            _sync(part)  # the bytes are on the disk before the name is
        os.replace(part, target)
        if synced:
            _sync(target.parent)
    except OSError as error:
        raise FileError(f"cannot write '{path}'", got=error.strerror or str(error)) from error
    finally:
        part.unlink(missing_ok=True)
        _parts.discard(part)


def write_bytes(path: str | Path, content: bytes, synced: bool = True) -> None:
    """Write a file in one step."""
    with replacing(path, synced) as part:
        part.write_bytes(content)


def sync_files(folder: Path, names: Iterable[str]) -> None:
    """Have the disk keep these files of a folder, and their names."""
    try:
        for name in names:
            _sync(folder / name)
        _sync(folder)
    except OSError as error:
        raise FileError(f"cannot write '{folder}'", got=error.strerror or str(error)) from error


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in one step."""
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        Path(path).write_text(text, encoding="utf-8")  # a pipe or a terminal cannot be replaced
        return
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def abandon_parts() -> None:
    """Remove what this process has half written; for one that ends at once."""
    for part in list(_parts):
        part.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes of this machine left half written in a folder; looked for once a process."""
    if folder in _looked_at:
        return
    _looked_at.add(folder)
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            owner = entry.name.removeprefix(f"{LEFTOVER}{HOST}-").partition("-")[0]
            if entry.name.startswith(LEFTOVER) and owner.isdigit() and not _alive(int(owner)):
                os.unlink(entry.path)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def _sync(path: Path) -> None:
    """Have the disk keep what was written; a folder too, or a new name may be lost with the power."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot sync a folder
            raise
    finally:
        os.close(place)
