"""Tables: smooth interpolation of tabular data for expressions of a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np
from numpy.typing import ArrayLike

from trajopt.errors import ProblemError

REACH = 1e6  # widths of a grid up to which its table is continued


def table(*grids: ArrayLike, values: ArrayLike, name: str = "table") -> Callable[..., Any]:
    """Return a twice differentiable interpolant of tabular data, continued linearly along each argument outside its grid.

    CasADi's splines (``casadi.interpolant``) are zero outside their grid, a discontinuity at its edge.
    A problem with tables is stated with ``Problem(name, symbols=casadi.MX)``.

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
    >>> round(float(f(2.5)), 12), round(float(f(5)), 12)  # inside, and extrapolated from 16 with slope 8
    (6.25, 24.0)
    """
    axes, data = [np.asarray(grid, dtype=float) for grid in grids], np.asarray(values, dtype=float)
    _check(name, axes, data)
    spline = _spline(name, axes, data)

    def function(*arguments: Any) -> Any:
        if len(arguments) != len(axes):
            raise ProblemError(f"table '{name}'", got=f"{len(arguments)} arguments", expected=f"{len(axes)}, one for each grid")
        if any(isinstance(argument, casadi.SX) for argument in arguments):
            raise ProblemError(f"table '{name}' is given an SX", expected="an MX", hint="Problem(..., symbols=casadi.MX)")
        return spline(casadi.vertcat(*arguments))

    return function


def _spline(name: str, axes: Sequence[np.ndarray], data: np.ndarray) -> casadi.Function:
    """The cubic spline (not-a-knot) through the values, continued linearly along each axis.

    It is that of ``casadi.interpolant``, which solves for its coefficients with a general sparse factorization: minutes for a
    million values, where banded systems along one axis after the other take a second.
    """
    from scipy.interpolate import make_interp_spline

    knots, coefficients = [], data
    for i, axis in enumerate(axes):
        along = make_interp_spline(axis, coefficients, k=3, axis=i)
        extended, coefficients = _continued(along.t, along.c)
        coefficients = np.moveaxis(coefficients, 0, i)
        knots.append(extended.tolist())
    return casadi.Function.bspline(name, knots, coefficients.ravel(order="F").tolist(), [3] * len(axes), 1)


def _continued(knots: np.ndarray, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return knots and coefficients (first axis) of a cubic spline with an interval at each end on which it is linear.

    A coefficient is the blossom at three consecutive knots (Farin, Curves and Surfaces for CAGD, 1997, section 10.3); the blossom
    of a line is its value at the mean of the three. The edges of the grid become double knots, where the slope is continuous.

    The continuation is part of the spline. A correction with its slope would need third derivatives for exact second ones:
    splines of degree zero, for which CasADi writes outside its memory if the argument is a knot.
    """
    reach = REACH * (knots[-1] - knots[0])
    parts = []
    for edge, inner, outer, first, second in (
        (knots[0], knots[4], knots[0] - reach, coefficients[0], coefficients[1]),
        (knots[-1], knots[-5], knots[-1] + reach, coefficients[-1], coefficients[-2]),
    ):
        rise = (second - first) * ((outer - edge) / (inner - edge))  # a third of the slope, times the length of the interval
        parts.append((np.full(4, outer), np.full(2, edge), np.stack([first + 3 * rise, first + 2 * rise, first + rise])))
    (far, double, below), (end, double_end, above) = parts
    return (
        np.concatenate([far, double, knots[4:-4], double_end, end]),
        np.concatenate([below, coefficients[1:-1], above[::-1]]),
    )


def _check(name: str, axes: Sequence[np.ndarray], data: np.ndarray) -> None:
    sizes = tuple(axis.size for axis in axes)
    if data.shape != sizes or not axes:
        raise ProblemError(f"table '{name}'", got=f"values of shape {data.shape}", expected=f"{sizes}, the sizes of the grids")
    for i, axis in enumerate(axes):
        if axis.ndim != 1 or axis.size < 4 or not np.all(np.diff(axis) > 0):
            raise ProblemError(f"grid {i + 1} of table '{name}'", got=axis, expected="at least four ascending numbers")
    if not (np.all(np.isfinite(data)) and all(np.all(np.isfinite(axis)) for axis in axes)):
        raise ProblemError(f"table '{name}' contains a number that is not finite")
