"""Convert exceptions to one message on standard error and an exit code."""

from __future__ import annotations

import errno
import functools
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec

import typer

from trajopt.commands.signals import Stop, stoppable
from trajopt.errors import SimulationError, SolveError, SweepError, TrajoptError, TrajoptWarning
from trajopt.statement.labels import printable

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
SOLVED, NOT_SOLVED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
P = ParamSpec("P")


def reported(command: Callable[P, int]) -> Callable[P, None]:
    """Wrap a command so that it always ends with an exit code."""

    @functools.wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        verbose = bool(kwargs.get("verbose", False))
        with stoppable() as stop, _warnings_as_messages():
            code = run(stop, verbose, args, kwargs)
            stop.end_process()  # before a library raises KeyboardInterrupt again
        raise typer.Exit(code)

    def run(stop: Stop, verbose: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        try:
            code = command(*args, **kwargs)
            sys.stdout.flush()  # a full disk is noticed here, not when Python has ended
            return code
        except TrajoptError as error:
            _say(f"error: {error}", verbose and error.__cause__ is not None)
            return (
                NOT_SOLVED
                if isinstance(error, (SolveError, SweepError, SimulationError))
                else BAD_INPUT
            )
        except KeyboardInterrupt:
            _say(f"interrupted by {stop.name}; nothing more was written", False)
            return INTERRUPTED
        except typer.Exit:
            raise
        except BrokenPipeError:
            sys.stderr.close()  # the reader has closed the pipe; avoids a second message at exit
            return NOT_SOLVED
        except Exception as error:  # a message instead of a traceback
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                return _full(error)
            if isinstance(error, MemoryError):
                _say(
                    f"error: not enough memory\n  got:      {error or 'an allocation that failed'}"
                    "\n  hint:     a smaller mesh, problem or table",
                    verbose,
                )
                return NOT_SOLVED
            if stop.number:  # libraries turn an interruption into errors of their own
                _say(f"interrupted by {stop.name}; nothing more was written", False)
                return INTERRUPTED
            hint = "\n  hint:     -v prints the traceback" if "verbose" in kwargs else ""
            _say(
                f"error: internal error; please report it: {describe(error)}\n  got:      "
                f"{innermost(error)}{hint}",
                verbose,
            )
            return NOT_SOLVED

    return wrapper


def _full(error: OSError) -> int:
    """Say that there is no room for the output."""
    with suppress(OSError):
        sys.stdout.close()  # its buffer cannot be written either
    where = f" '{error.filename}'" if error.filename else " the output"
    _say(
        f"error: cannot write{where}\n  got:      {error.strerror}\n  hint:     free some space, "
        "then try again",
        False,
    )
    return NOT_SOLVED


@contextmanager
def _warnings_as_messages() -> Iterator[None]:
    """Print warnings of trajopt like errors, without the line of Python that raised them."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(text: Any, category: Any, *where: Any) -> None:
            if issubclass(category, TrajoptWarning):
                _say(f"warning: {text}", False)
            else:
                usual(text, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        if not sys.warnoptions and not any(one[0] == "error" for one in warnings.filters):
            warnings.simplefilter("always", TrajoptWarning)
        yield


def describe(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def place(error: BaseException, file: str) -> str | None:
    """Return the innermost line of a file in the traceback, as ``mine.py, line 12: x = 1 / 0``."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() == Path(file).resolve()
    ]
    if not frames:
        return None
    code = f": {frames[-1].line}" if frames[-1].line else ""
    return f"{Path(file).name}, line {frames[-1].lineno}{code}"


def innermost(error: BaseException) -> str | None:
    """Return the line that raised an exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace is None else place(error, trace.tb_frame.f_code.co_filename)


def _say(message: str, with_traceback: bool) -> None:
    if with_traceback:
        traceback.print_exc()
    print(printable(message, lines=True), file=sys.stderr)
