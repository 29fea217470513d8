"""Terminal output: consoles, tables, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.statement.labels import printable

if TYPE_CHECKING:
    from rich.console import Console


def console(error: bool = False, quiet: bool = False, lines: bool = False) -> Console:
    """Return a console without markup: '[m/s]' is a unit, not a style.

    Control characters are escaped, since names may come from a file. Line breaks are escaped unless
    ``lines``.
    """
    from rich.console import Console

    class Screen(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            super().print(
                *(printable(o, lines) if isinstance(o, str) else o for o in objects), **options
            )

    return Screen(stderr=error, quiet=quiet, markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Table:
    """A table of text. Columns named in ``right`` are right-aligned."""

    head: tuple[str, ...]
    right: frozenset[str] = frozenset()
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        self.rows.append(tuple(printable(cell) for cell in cells))

    def print(self, screen: Console, indent: str = "  ") -> None:
        """Print the table.

        Lines are not truncated to the width of the terminal, so that no number is cut.
        """
        widths = [
            max(len(row[i]) for row in (self.head, *self.rows)) for i in range(len(self.head))
        ]
        screen.print(indent + self._line(self.head, widths), style="bold")
        for row in self.rows:
            screen.print(indent + self._line(row, widths))

    def _line(self, cells: tuple[str, ...], widths: list[int]) -> str:
        aligned = zip(self.head, cells, widths, strict=True)
        return "   ".join(
            cell.rjust(w) if column in self.right else cell.ljust(w) for column, cell, w in aligned
        ).rstrip()


def text_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """Return an empty table."""
    return Table(columns, frozenset(right))


@contextmanager
def progress_lines(what: str, quiet: bool, still: bool = False) -> Iterator[Callable[[str], None]]:
    """Yield a function that prints a line.

    A terminal shows a spinner with the elapsed time below it, unless ``still``.
    """
    if quiet:
        yield lambda line: None
        return
    screen = console(error=True)
    if still or not screen.is_terminal:
        yield lambda line: screen.print("  " + printable(line), style="dim")
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
    ) as live:
        live.add_task(what)
        yield lambda line: live.console.print("  " + printable(line), style="dim")


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Yield a function that sets the completed fraction of a progress bar."""
    screen = console(error=True, quiet=quiet)
    if quiet or not screen.is_terminal:
        yield lambda fraction: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as live:
        task = live.add_task(what, total=1.0)
        yield lambda fraction: live.update(task, completed=fraction)


def say_written(files: Iterable[Path], quiet: bool, remarks: Iterable[str] = ()) -> None:
    """Print the names of written files, and remarks on missing contents."""
    screen = console(error=True, quiet=quiet)
    for remark in remarks:
        screen.print(f"  {remark}", style="yellow")
    names = ", ".join(str(file) for file in files)
    if names:
        screen.print(f"wrote {names}")


def number(value: float, digits: int = 7, size: float = 0.0) -> str:
    """Format a number; one below round-off relative to ``size`` is written as 0.

    >>> number(0.25), number(-3e-18, size=2.0)
    ('0.25', '0')
    """
    return "0" if abs(value) <= 1e-11 * size else f"{value:.{digits}g}"
