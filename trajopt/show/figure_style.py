"""The common style of all plots: colours, axes, titles.

Figures need no display and have no global state.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from trajopt.errors import FileError
from trajopt.files.atomic import replacing

T = TypeVar("T")

# Okabe and Ito's palette for colour-blind readers; lines also differ in their dashes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("-", "--", "-.", ":")
ROLES = {"lower": "#56B4E9", "upper": "#E69F00", "singular": "#CC79A7"}  # interior arcs are white
ROLE_WORDS = {"lower": "at lower bound", "upper": "at upper bound", "singular": "singular arc"}
INK, FAINT, MESH = "#333333", "#999999", "#009E73"
STYLE: dict[str, Any] = {"linewidth": 1.7, "solid_capstyle": "round"}
BOUND: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0, (5, 3))}
STEPS = [1, 2, 2.5, 5, 10]
PANEL = (3.7, 2.1)  # inches


class NotebookFigure(Figure):
    """A figure that notebooks show as an image; it needs no pyplot and leaves no global state."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def new_figure(columns: int, rows: int, panel: tuple[float, float] = PANEL) -> Figure:
    """Return a figure sized for a grid of panels."""
    figure = NotebookFigure(
        figsize=(max(panel[0] * columns, 6.0), panel[1] * rows + 0.8), layout="constrained", dpi=140
    )
    FigureCanvasAgg(figure)
    return figure


def panels(
    counts: Sequence[int],
    panel: tuple[float, float] = PANEL,
    whole: bool = False,
    size: tuple[float, float] | None = None,
) -> tuple[Figure, list[list[Any]]]:
    """Return a figure and its axes by rows; row k has ``counts[k]`` axes, aligned in columns.

    ``whole`` stretches the only panel of the last row over all columns; ``size`` is that of the
    figure in inches.

    >>> _, rows = panels([2, 1])
    >>> [len(row) for row in rows]
    [2, 1]
    """
    columns = max(counts)
    figure = new_figure(columns, len(counts), panel)
    if size is not None:
        figure.set_size_inches(*size)
    grid = figure.add_gridspec(len(counts), columns)
    rows = [[figure.add_subplot(grid[k, i]) for i in range(n)] for k, n in enumerate(counts)]
    if whole:
        rows[-1][0].set_subplotspec(grid[len(counts) - 1, :])
    return figure, rows


def label_columns(grid: Sequence[Sequence[Any]], text: str) -> None:
    """Label the horizontal axis of the lowest panel of each column."""
    lowest = {k: axes for row in grid for k, axes in enumerate(row)}
    for axes in lowest.values():
        axes.set_xlabel(text)


def legend_below(figure: Figure, handles: Sequence[Any], most: int = 6) -> None:
    """Add a legend below all panels, with at most ``most`` entries per row."""
    figure.legend(
        handles=handles,
        loc="outside lower right",
        ncols=min(len(handles), most),
        frameon=False,
        fontsize=8,
    )


def line_style(number: int) -> dict[str, Any]:
    """Return colour and dashes of one of several lines, distinct in colour and in
    black and white.
    """
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)]}


@dataclass(frozen=True)
class Pen:
    """Line style of one of several solutions or simulations."""

    number: int
    several: bool

    def style(self, component: int) -> dict[str, Any]:
        """Return a style: one colour per component for a single source, else one per source, the
        first wide and pale.
        """
        if not self.several:
            return line_style(component) | STYLE
        first = self.number == 0
        colour = {
            "color": COLOURS[self.number % len(COLOURS)],
            "linestyle": DASHES[component % len(DASHES)],
        }
        return colour | STYLE | ({"linewidth": 3.6, "alpha": 0.45} if first else {"linewidth": 1.3})


def balanced(names: list[T], most: int = 3) -> list[list[T]]:
    """Split into rows of nearly equal length: four panels are two and two, not three and one.

    >>> balanced([1, 2, 3, 4])
    [[1, 2], [3, 4]]
    """
    rows = -(-len(names) // most)
    size = -(-len(names) // max(rows, 1))
    return [names[i : i + size] for i in range(0, len(names), size)]


def columns_for(panels: int) -> int:
    """Return the number of panels per row.

    >>> [columns_for(n) for n in (3, 8, 15)]
    [3, 4, 5]
    """
    return 3 if panels <= 3 else 4 if panels <= 12 else 5


def tidy(axes: Any) -> None:
    """Set a grid, no frame and few ticks."""
    axes.grid(True, color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(
        labelsize=8, length=0, labelcolor=INK
    )  # no tick marks: marks on the axis show the mesh
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_size(8.5)
        axis.label.set_color(INK)
    axes.margins(y=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS))


def settle(axes: Any, name: str, unit: str) -> None:
    """Set the vertical axis and the title: round-off is not magnified, a power of ten is written
    before the unit.
    """
    low, high = axes.get_ylim()
    size = max(abs(low), abs(high))
    if high - low < 1e-6 * size:
        low, high = (low + high) / 2 - 0.1 * size, (low + high) / 2 + 0.1 * size
        axes.set_ylim(low, high)
    exponent = scientific(axes.yaxis, size)
    title(axes, labelled(name, f"{power(exponent)}{unit}".strip()))


ROUNDING = 1e-9  # a costate that is smaller, relative to the largest, is round-off


def hide_round_off(axes: Any, size: float, rounding: float = ROUNDING) -> None:
    """Widen the vertical axis if all values are round-off relative to ``size``."""
    low, high = axes.get_ylim()
    if max(abs(low), abs(high)) < rounding * size:
        axes.set_ylim(-0.1 * size, 0.1 * size)


def scientific(axis: Any, size: float) -> int:
    """Factor a power of ten out of the tick labels if they would be long; return the exponent."""
    exponent = 0 if size == 0 or 1e-2 <= size < 1e5 else 3 * int(np.floor(np.log10(size) / 3))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 10.0**exponent:.6g}"))
    return exponent


def logarithmic(axes: Any) -> None:
    """Set a logarithmic vertical axis with readable labels, for many decades or a part of one."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < 100 * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    else:
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_formatter(NullFormatter())


def power(exponent: int) -> str:
    """Return a power of ten as prefix of a unit.

    >>> power(6) + "m", power(0) + "m"
    ('10^6 m', 'm')
    """
    return f"10^{exponent} " if exponent else ""


def title(axes: Any, text: str) -> None:
    """Set the title above the left end of an axis."""
    axes.set_title(text, loc="left", fontsize=9.5, color=INK)


def heading(figure: Figure, text: str, good: bool = True) -> None:
    """Set the heading of a figure, in a warning colour unless ``good``; small if it is long."""
    widest = 72 * figure.get_figwidth() / (0.54 * max(len(text), 1))  # points, of its letters
    shown, colour = text.replace("$", r"\$"), INK if good else COLOURS[1]
    figure.suptitle(shown, x=0.01, ha="left", fontsize=min(11.0, widest), color=colour)


def labelled(name: str, unit: str) -> str:
    """Return a name with its unit; dollar signs are escaped, since matplotlib reads them as
    mathematics.
    """
    return f"{name} [{unit}]".replace("$", r"\$") if unit else name.replace("$", r"\$")


def write_figure(figure: Figure, path: str | Path | None) -> None:
    """Write a figure atomically (png, pdf, svg), if a path is given."""
    if path is None:
        return
    ending = Path(path).suffix.lstrip(".").lower()
    if ending not in figure.canvas.get_supported_filetypes():
        raise FileError(
            f"cannot draw '{path}'", got=f"ending '{ending}'", expected=".png, .pdf or .svg"
        )
    with replacing(path) as part:
        figure.savefig(part, format=ending)
