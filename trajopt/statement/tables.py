"""Tables: smooth interpolation of tabular data for expressions of a problem."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np
from numpy.typing import ArrayLike

from trajopt.arguments import named_arguments
from trajopt.errors import ProblemError

REACH = 1e6  # widths of a grid up to which its table is continued


@named_arguments
def table(*grids: ArrayLike, values: ArrayLike, name: str = "table") -> Callable[..., Any]:
    """Return a twice differentiable interpolant of tabular data, continued linearly along each
    argument outside its grid.

    CasADi's splines (``casadi.interpolant``) are zero outside their grid, a discontinuity at its
    edge. A problem with tables is stated with ``Problem(name, symbols=casadi.MX)``.

    Parameters
    ----------
    *grids : (n,), (m,), ...
        One ascending grid of at least four points for each argument.
    values : (n, m, ...)
        The values on the grids.
    name : str
        For messages.

    Examples
    --------
    >>> drag = table([0, 1, 2, 3, 4], values=[0, 1, 4, 9, 16], name="drag")
    >>> v = casadi.MX.sym("v")
    >>> f = casadi.Function("f", [v], [drag(v)])
    >>> round(float(f(2.5)), 12), round(float(f(5)),
    ...     12)  # inside, and extrapolated from 16 with slope 8
    (6.25, 24.0)
    """
    try:
        axes = [np.asarray(grid, dtype=float) for grid in grids]
        data = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ProblemError(
            f"table '{name}' contains what is not a number",
            got=str(error),
            expected="numbers only",
        ) from error
    _check(name, axes, data)
    spline = _spline(name, axes, data)

    def function(*arguments: Any) -> Any:
        if len(arguments) != len(axes):
            raise ProblemError(
                f"table '{name}'",
                got=f"{len(arguments)} arguments",
                expected=f"{len(axes)}, one for each grid",
            )
        sizes = [int(np.prod(getattr(argument, "shape", ()))) for argument in arguments]
        if any(size != 1 for size in sizes):
            raise ProblemError(
                f"table '{name}'",
                got=f"arguments of sizes {sizes}",
                expected="a number for each grid",
                hint="a table of a vector is evaluated for each component",
            )
        if any(isinstance(argument, casadi.SX) for argument in arguments):
            raise ProblemError(
                f"table '{name}' is given an SX",
                expected="an MX",
                hint="Problem(..., symbols=casadi.MX)",
            )
        return spline(casadi.vertcat(*arguments))

    return function


def function_name(name: str) -> str:
    """Return a name that CasADi accepts for a function.

    >>> function_name("drag at 2 m"), function_name("2__x"), function_name("jac")
    ('drag_at_2_m', 'table_2_x', 'table_jac')
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    starts = plain[:1].isalpha() and plain not in ("null", "jac", "hess")
    return plain if starts else f"table_{plain}".rstrip("_")


def _spline(name: str, axes: Sequence[np.ndarray], data: np.ndarray) -> casadi.Function:
    """The cubic spline (not-a-knot) through the values, continued linearly along each axis.

    It is that of ``casadi.interpolant``, which solves for its coefficients with a general sparse
    factorization: minutes for a million values, where banded systems along one axis after the other
    take a second.
    """
    from scipy.interpolate import make_interp_spline

    knots, coefficients = [], data
    for i, axis in enumerate(axes):
        along = make_interp_spline(axis, coefficients, k=3, axis=i)
        extended, coefficients = _continued(along.t, along.c)
        coefficients = np.moveaxis(coefficients, 0, i)
        knots.append(extended.tolist())
    return casadi.Function.bspline(
        function_name(name), knots, coefficients.ravel(order="F").tolist(), [3] * len(axes), 1
    )


def _continued(knots: np.ndarray, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return knots and coefficients (first axis) of a cubic spline with an interval at each end on
    which it is linear.

    A coefficient is the blossom at three consecutive knots (Farin, Curves and Surfaces for CAGD,
    1997, section 10.3); the blossom of a line is its value at the mean of the three. The edges of
    the grid become double knots, where the slope is continuous.

    The continuation is part of the spline. A correction with its slope would need third derivatives
    for exact second ones: splines of degree zero, for which CasADi writes outside its memory if the
    argument is a knot.
    """
    reach = REACH * (knots[-1] - knots[0])
    parts = []
    for edge, inner, outer, first, second in (
        (knots[0], knots[4], knots[0] - reach, coefficients[0], coefficients[1]),
        (knots[-1], knots[-5], knots[-1] + reach, coefficients[-1], coefficients[-2]),
    ):
        # a third of the slope, times the length of the interval
        rise = (second - first) * ((outer - edge) / (inner - edge))
        parts.append(
            (
                np.full(4, outer),
                np.full(2, edge),
                np.stack([first + 3 * rise, first + 2 * rise, first + rise]),
            )
        )
    (far, double, below), (end, double_end, above) = parts
    return (
        np.concatenate([far, double, knots[4:-4], double_end, end]),
        np.concatenate([below, coefficients[1:-1], above[::-1]]),
    )


def _check(name: str, axes: Sequence[np.ndarray], data: np.ndarray) -> None:
    sizes = tuple(axis.size for axis in axes)
    if data.shape != sizes or not axes:
        raise ProblemError(
            f"table '{name}'",
            got=f"values of shape {data.shape}",
            expected=f"{sizes}, the sizes of the grids",
        )
    if not (np.all(np.isfinite(data)) and all(np.all(np.isfinite(axis)) for axis in axes)):
        rows = np.argwhere(~np.isfinite(data)).tolist()
        place = (
            f"values[{', '.join(map(str, rows[0]))}] = {data[tuple(rows[0])]}"
            if rows
            else "a grid point"
        )
        raise ProblemError(
            f"table '{name}' contains a number that is not finite",
            got=place,
            expected="finite numbers",
            hint="leave the row out, or interpolate the missing measurement before",
        )
    for i, axis in enumerate(axes):
        if axis.ndim != 1 or axis.size < 4 or not np.all(np.diff(axis) > 0):
            raise ProblemError(
                f"grid {i + 1} of table '{name}'",
                got=axis,
                expected="at least four ascending numbers",
            )
