"""Where exceptions end: one readable message on standard error and an exit code."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

import typer

from trajopt.errors import SimulationError, SolveError, SweepError, TrajoptError

SOLVED, NOT_SOLVED, BAD_INPUT = 0, 1, 2
P = ParamSpec("P")


def reported(command: Callable[P, int]) -> Callable[P, None]:
    """A command that ends with its exit code, whatever happens inside."""

    @functools.wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        verbose = bool(kwargs.get("verbose", False))
        try:
            code = command(*args, **kwargs)
        except TrajoptError as error:
            code = NOT_SOLVED if isinstance(error, (SolveError, SweepError, SimulationError)) else BAD_INPUT
            _say(f"error: {error}", verbose and error.__cause__ is not None)
        except KeyboardInterrupt:
            code = NOT_SOLVED
            _say("interrupted before there was anything to keep", False)
        except typer.Exit:
            raise
        except BrokenPipeError:
            sys.stderr.close()  # the reader has gone; Python would complain once more at exit
            code = NOT_SOLVED
        except Exception as error:  # the last line of defence: a message instead of a page of frames
            code = NOT_SOLVED
            hint = "\n  hint:     -v shows how it came there" if "verbose" in kwargs else ""
            _say(f"error: trajopt stumbled over itself: {describe(error)}\n  got:      {innermost(error)}{hint}", verbose)
        raise typer.Exit(code)

    return wrapper


def describe(error: BaseException) -> str:
    """The kind of an exception and the first line of what it says."""
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def place(error: BaseException, file: str) -> str | None:
    """The last line of a file that an exception came through, as ``mine.py, line 12: x = 1 / 0``."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == Path(file).resolve()
    ]
    if not frames:
        return None
    code = f": {frames[-1].line}" if frames[-1].line else ""
    return f"{Path(file).name}, line {frames[-1].lineno}{code}"


def innermost(error: BaseException) -> str | None:
    """The line that raised an exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace is None else place(error, trace.tb_frame.f_code.co_filename)


def _say(message: str, with_traceback: bool) -> None:
    if with_traceback:
        traceback.print_exc()
    print(message, file=sys.stderr)
