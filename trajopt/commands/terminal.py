"""Text on a terminal: consoles, tables, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.labels import printable

if TYPE_CHECKING:
    from rich.console import Console


def console(error: bool = False, quiet: bool = False, lines: bool = False) -> Console:
    """A console that prints names as they are: '[m/s]' is a unit, not a style.

    Names may come from a file: none of their characters steers the terminal, and none begins a line, unless ``lines``.
    """
    from rich.console import Console

    class Screen(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(printable(o, lines) if isinstance(o, str) else o for o in objects), **options)

    return Screen(stderr=error, quiet=quiet, markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Table:
    """Rows of text under a head; columns named in ``right`` are aligned to the right."""

    head: tuple[str, ...]
    right: frozenset[str] = frozenset()
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        self.rows.append(tuple(printable(cell) for cell in cells))

    def print(self, screen: Console, indent: str = "  ") -> None:
        """Never shortened to a terminal's width: a figure cut in two is worse than a line that wraps."""
        widths = [max(len(row[i]) for row in (self.head, *self.rows)) for i in range(len(self.head))]
        screen.print(indent + self._line(self.head, widths), style="bold")
        for row in self.rows:
            screen.print(indent + self._line(row, widths))

    def _line(self, cells: tuple[str, ...], widths: list[int]) -> str:
        aligned = zip(self.head, cells, widths, strict=True)
        return "   ".join(cell.rjust(w) if column in self.right else cell.ljust(w) for column, cell, w in aligned).rstrip()


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table."""
    return Table(columns, frozenset(right))


@contextmanager
def progress_lines(what: str, quiet: bool, still: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner with the elapsed time on a terminal, and a function that prints one line above it; no spinner where ``still``."""
    screen = console(error=True, quiet=quiet)
    if quiet or still or not screen.is_terminal:
        yield lambda line: screen.print("  " + printable(line), style="dim")
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn(), console=screen, transient=True
    ) as live:
        live.add_task(what)
        yield lambda line: live.console.print("  " + printable(line), style="dim")


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


def say_written(files: Iterable[Path], quiet: bool, remarks: Iterable[str] = ()) -> None:
    """Which files are there now, and what they lack."""
    screen = console(error=True, quiet=quiet)
    for remark in remarks:
        screen.print(f"  {remark}", style="yellow")
    names = ", ".join(str(file) for file in files)
    if names:
        screen.print(f"wrote {names}")


def number(value: float, digits: int = 7, size: float = 0.0) -> str:
    """A number as text; 0 where it is rounding beside values of a certain size.

    >>> number(0.25), number(-3e-18, size=2.0)
    ('0.25', '0')
    """
    return "0" if abs(value) <= 1e-11 * size else f"{value:.{digits}g}"
