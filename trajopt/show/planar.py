"""The drawing of a planar motion that has none of its own: the path in the plane of two states,
with its obstacles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.show.drawing import Drawing, Ground, Mark, Shape, Trail

if TYPE_CHECKING:
    from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm
    from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]

PLANES = (("x", "y"), ("px", "py"), ("x", "z"), ("x", "h"))  # names of positions
POINTS = 201  # of the grid on which a limit is drawn, along each side
MARGIN = 0.25  # of the window about the path, relative to its larger side


def planar_drawing(solution: Solution) -> Drawing | None:
    """Return the path in the plane and the limits that depend on the position alone; None where no
    two states are the coordinates of a plane.

    >>> from casadi import SX
    >>> from trajopt import Problem, solve
    >>> ocp = Problem("around")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=1)
    >>> x, y = ph.state("x", start=-2, end=2, unit="m"), ph.state("y", start=1, end=1, unit="m")
    >>> u, w = ph.control("u"), ph.control("w")
    >>> ph.dynamics({x: u, y: w})
    >>> ph.path(x**2 + y**2 >= 1.5)
    >>> ocp.minimize(ph.integral(u**2 + w**2))
    >>> [type(shape).__name__ for shape in planar_drawing(solve(ocp)).shapes][-2:]
    ['Trail', 'Mark']
    """
    form: NormalForm | None = solution.form
    if form is None or not form.phases:
        return None
    pair = next((names for names in PLANES if _is_plane(form, names)), None)
    if pair is None:
        return None
    window = _window(solution, pair)
    walls: dict[Any, Shape] = {}
    for ph in form.phases:
        for wall in _limits(form, ph, solution, pair, window):
            walls.setdefault(wall.points, wall)
    place = tuple(casadi.SX.sym(name) for name in pair)
    unit = next(q.unit for q in form.phases[0].states if q.name == pair[0])
    return Drawing((*walls.values(), Trail(place), Mark(place)), unit=unit)


def _is_plane(form: NormalForm, names: Sequence[str]) -> bool:
    """Whether all phases have two scalar states of these names with the same unit of length."""
    for ph in form.phases:
        found = [q for q in ph.states if q.name in names and q.size == 1]
        if len(found) != 2 or found[0].unit != found[1].unit or not found[0].unit:
            return False
    return True


def _window(solution: Solution, names: Sequence[str]) -> tuple[Array, Array]:
    """The grid of each coordinate, about the path."""
    paths = [np.concatenate([ph[name](ph.t) for ph in solution.phases.values()]) for name in names]
    margin = MARGIN * max(float(np.ptp(path)) for path in paths)
    first, second = (
        np.linspace(path.min() - margin, path.max() + margin, POINTS) for path in paths
    )
    return first, second


def _limits(
    form: NormalForm,
    ph: PhaseForm,
    solution: Solution,
    names: Sequence[str],
    window: tuple[Array, Array],
) -> list[Ground]:
    """The curves c(x, y) = limit of path constraints whose only variables are the coordinates."""
    own = [_row(ph, name) for name in names]
    values = form.parameter_values(solution.parameters)
    found = []
    for i in range(ph.c.numel()):
        function = casadi.Function("c", [ph.x, form.p, ph.t, ph.z, ph.u, form.s], [ph.c[i]])
        _, used = function.jac_sparsity(0, 0).get_triplet()
        others = sum(function.jac_sparsity(0, k).nnz() for k in range(2, 6))
        if others or not used or not set(used) <= set(own):
            continue
        grid = np.zeros((ph.x.numel(), POINTS**2))
        grid[own[0]], grid[own[1]] = (side.ravel() for side in np.meshgrid(*window))
        zeros = [np.zeros((symbol.numel(), 1)) for symbol in (ph.t, ph.z, ph.u, form.s)]
        level = function(grid, values, *zeros)
        surface = np.asarray(casadi.DM(level).full()).reshape(POINTS, POINTS)
        for limit in {float(ph.c_bound.lower[i]), float(ph.c_bound.upper[i])}:
            if np.isfinite(limit):
                found += [Ground(curve) for curve in _contours(window, surface - limit)]
    return found


def _row(ph: PhaseForm, name: str) -> int:
    quantity: NamedVector = next(q for q in ph.states if q.name == name)
    return int(np.arange(ph.x.numel())[quantity.rows][0])


def _contours(window: tuple[Array, Array], surface: Array) -> list[tuple[tuple[float, ...], ...]]:
    """The curves on which a function on a grid is zero."""
    from contourpy import contour_generator  # of matplotlib

    lines: Any = contour_generator(*window, surface).lines(0.0)
    return [tuple(map(tuple, np.round(line, 9).tolist())) for line in lines if len(line) > 1]
