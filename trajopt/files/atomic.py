"""Atomic writes: outputs are checked before solving, and replace existing files in one step."""

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

LEFTOVER = ".trajopt-"  # prefix of partial files; followed by host, process and a random number
HOST = hashlib.blake2b(platform.node().encode("utf-8", "replace"), digest_size=4).hexdigest()
LONGEST = 200  # characters of a name in a message
_looked_at: set[Path] = set()
_parts: set[Path] = set()  # partial files of this process


def check_writable(path: str | Path, endings: tuple[str, ...] = (), text: bool = False) -> None:
    """Raise ``FileError`` if this file cannot be written; ``text`` may also go to a terminal or a
    pipe.

    >>> check_writable("no-such-folder/answer.nc")
    Traceback (most recent call last):
    trajopt.errors.FileError: cannot write 'no-such-folder/answer.nc'
      got:      folder 'no-such-folder' does not exist
      hint:     create it first
    """
    try:
        _check(path, endings, text)
    except (OSError, ValueError) as error:  # names that are too long, or have a null character
        raise _cannot_write(path, error) from error


def _check(path: str | Path, endings: tuple[str, ...], text: bool) -> None:
    target = Path(path)
    if "\0" in str(path):
        raise ValueError("a null character in the name")
    if target.is_dir():
        raise FileError(
            f"cannot write '{path}'", got="it is a directory", expected="the name of a file"
        )
    if target.exists() and not target.is_file() and not (text and _is_stream(target)):
        raise FileError(
            f"cannot write '{path}'",
            got="it is a device or a pipe, which a file would replace",
            expected="the name of an ordinary file, new or existing",
        )
    if not target.parent.is_dir():
        raise FileError(
            f"cannot write '{path}'",
            got=f"folder '{target.parent}' does not exist",
            hint="create it first",
        )
    if not os.access(target.parent, os.W_OK) or (
        target.exists() and not os.access(target, os.W_OK)
    ):
        raise FileError(
            f"cannot write '{path}'", got="no permission", hint="choose another folder or name"
        )
    if endings and target.suffix.lower() not in endings:
        raise FileError(
            f"cannot write '{path}'", got=f"ending '{target.suffix}'", expected=" or ".join(endings)
        )


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _cannot_write(path: str | Path, error: Exception) -> FileError:
    """The message for an error of the operating system."""
    full = getattr(error, "errno", None) in NO_ROOM
    text = str(path)
    return FileError(
        f"cannot write '{text if len(text) <= LONGEST else text[:LONGEST] + '...'}'",
        got=getattr(error, "strerror", None) or str(error),
        hint="free some space, then try again" if full else "choose another folder or name",
    )


def _is_stream(path: Path) -> bool:
    """True for terminals, pipes and other character devices, which take text but cannot be
    replaced.
    """
    return path.is_char_device() or path.is_fifo()


def make_folder(folder: Path) -> Path:
    """Create a folder if it is missing; raise ``FileError`` if that fails."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"cannot write into '{folder}'", got="it is a file", expected="a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return folder


@contextmanager
def replacing(path: str | Path, synced: bool = True) -> Iterator[Path]:
    """Yield a partial file that replaces ``path`` on success; otherwise the existing file is
    unchanged.

    Unless ``synced``, it survives the end of this process but not a loss of power: ``sync_files``
    makes up for it.
    """
    check_writable(path)
    target = Path(path).resolve()  # resolve links, so that a link is preserved
    remove_leftovers(target.parent)
    part = target.parent / f"{LEFTOVER}{HOST}-{os.getpid()}-{uuid.uuid4().hex[:8]}.part"
    _parts.add(part)
    try:
        yield part
        if synced:
            _sync(part)  # sync the contents before the rename
        os.replace(part, target)
        if synced:
            _sync(target.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        part.unlink(missing_ok=True)
        _parts.discard(part)


def write_bytes(path: str | Path, content: bytes, synced: bool = True) -> None:
    """Write a file atomically."""
    with replacing(path, synced) as part:
        part.write_bytes(content)


def sync_files(folder: Path, names: Iterable[str]) -> None:
    """Flush these files of a folder, and their names, to the disk."""
    try:
        for name in names:
            _sync(folder / name)
        _sync(folder)
    except OSError as error:
        raise _cannot_write(folder, error) from error


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically."""
    if _is_stream(Path(path)):  # pipes and terminals cannot be replaced
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise _cannot_write(path, error) from error
        return
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def abandon_parts() -> None:
    """Remove the partial files of this process, before an immediate exit."""
    for part in list(_parts):
        part.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove partial files of killed processes of this host from a folder, once per process."""
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
    """Flush a file or a folder to the disk, so that a power failure cannot lose it."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    except OSError as error:
        # file systems that cannot sync a folder
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(place)
