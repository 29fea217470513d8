"""Text on a terminal: consoles, tables, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def console(error: bool = False, quiet: bool = False) -> Console:
    """A console that prints names as they are: '[m/s]' is a unit, not a style."""
    from rich.console import Console

    return Console(stderr=error, quiet=quiet, markup=False, highlight=False, soft_wrap=True)


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A plain table with a rule under its head."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", no_wrap=column in right)
    return made


@contextmanager
def progress_lines(what: str, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A spinner with the elapsed time on a terminal, and a function that prints one line above it."""
    screen = console(error=True, quiet=quiet)
    if quiet or not screen.is_terminal:
        yield lambda line: screen.print("  " + line, style="dim")
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn(), console=screen, transient=True
    ) as live:
        task = live.add_task(what)

        def show(line: str) -> None:
            live.console.print("  " + line, style="dim")
            live.update(task, description=f"{what}: {line}")

        yield show


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal, and a function that takes the fraction done."""
    screen = console(error=True, quiet=quiet)
    if quiet or not screen.is_terminal:
        yield lambda fraction: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as live:
        task = live.add_task(what, total=1.0)
        yield lambda fraction: live.update(task, completed=fraction)


def number(value: Any, digits: int = 7) -> str:
    """A number, or a short column of them, as text.

    >>> number(0.25), number([1.0, 2.5])
    ('0.25', '(1, 2.5)')
    """
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)) or getattr(value, "shape", ()):
        return "(" + ", ".join(number(item, digits) for item in value) + ")"
    return f"{value:.{digits}g}"
