"""Plots of families: results over settings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from trajopt.errors import UsageError
from trajopt.show.figure_style import (
    COLOURS,
    STYLE,
    balanced,
    heading,
    legend_below,
    line_style,
    panels,
    settle,
    tidy,
    write_figure,
)
from trajopt.sweeping.family import Family, Member
from trajopt.sweeping.rows import word


def plot_family(
    family: Family, path: str | Path | None = None, columns: Sequence[str] = ("objective",)
) -> Figure:
    """Plot columns of a family's table over the setting with the most values, one line for each
    combination of the others.

    Failed members are crosses on the horizontal axis.

    >>> from problems.classical.moon_lander import build
    >>> from trajopt import sweep
    >>> figure = plot_family(sweep(build, {"g": [1.0, 1.6], "height": [5, 10, 20]}),
    ...     columns=["objective", "tf"])
    >>> [len(axes.lines) for axes in figure.axes]
    [2, 2]
    """
    if not family.members:
        raise UsageError("this family has no members")
    along = max(family.over, key=lambda name: len(family.over[name]))
    others = [name for name, values in family.over.items() if name != along and len(values) > 1]
    rows = balanced(list(columns))
    figure, grid = panels([len(row) for row in rows], (4.6, 3.0))
    lines = [
        dict(zip(others, values, strict=True))
        for values in itertools.product(*(family.over[name] for name in others))
    ]
    missing = False
    for axes, column in zip(itertools.chain(*grid), columns, strict=True):
        tidy(axes)
        values = family[column]
        for number, fixed in enumerate(lines):
            chosen = [
                i
                for i, m in enumerate(family.members)
                if all(m.settings[name] == value for name, value in fixed.items())
            ]
            x = _abscissas(axes, family, along, [family.members[i] for i in chosen])
            y = np.array(
                [values[i] if family.members[i].success else np.nan for i in chosen], dtype=float
            )
            axes.plot(x, y, marker="o", markersize=4, **(line_style(number) | STYLE))
            failed = x[np.isnan(y)]
            if failed.size:
                missing = True
                axes.plot(
                    failed,
                    np.zeros(failed.size),
                    "x",
                    color=COLOURS[1],
                    transform=axes.get_xaxis_transform(),
                    clip_on=False,
                )
        axes.set_xlabel(along)
        settle(axes, column, family.unit(column))
    handles = [
        Line2D([], [], label=_label(fixed), **(line_style(k) | STYLE))
        for k, fixed in enumerate(lines)
        if fixed
    ]
    if missing:
        handles.append(
            Line2D([], [], marker="x", linestyle="", color=COLOURS[1], label="not solved")
        )
    if handles:
        legend_below(figure, handles, most=5)
    solved = sum(member.success for member in family.members)
    heading(figure, f"{_name(family)}   {solved} of {len(family.members)} solved", family.success)
    write_figure(figure, path)
    return figure


def _abscissas(
    axes: Any, family: Family, along: str, members: Sequence[Member]
) -> np.ndarray[Any, Any]:
    """Return the abscissas of members: their values, or their indices if the values are not
    numbers.
    """
    values = family.over[along]
    if all(
        isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        for value in values
    ):
        return np.array([float(member.settings[along]) for member in members])
    axes.xaxis.set_major_locator(FixedLocator(list(range(len(values)))))
    axes.set_xticklabels([word(value) for value in values])
    return np.array([float(values.index(member.settings[along])) for member in members])


def _label(fixed: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {word(value)}" for name, value in fixed.items())


def _name(family: Family) -> str:
    return next(
        (member.solution.problem for member in family.members if member.solution is not None),
        "family",
    )
