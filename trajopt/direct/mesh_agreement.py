"""Agreement of solutions on different meshes: evidence for a solution whose estimated error stalls.

The estimate is taken at the worst place of a solution, often at a switch inside an interval or at
the end of a boundary arc. It may fall slowly there although cost and states no longer change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.schemes import can_raise_degree, gauss_quadrature

POINTS = 4  # of the quadrature over each interval


def difference(one: MeshSolution, other: MeshSolution) -> float:
    """The largest relative difference of two solutions: of the cost, of the times, of a state as
    root mean square over time.

    Near a switch inside an interval a state may differ by more, for a time too short to matter.
    """
    return max(cost_difference(one, other), state_difference(one, other))


def cost_difference(one: MeshSolution, other: MeshSolution) -> float:
    size = max(one.cost_size, other.cost_size)
    return abs(one.result.f - other.result.f) / size if size > 0 else 0.0


def state_difference(one: MeshSolution, other: MeshSolution) -> float:
    """Of the times and the states."""
    largest = 0.0
    for view, a, b in zip(
        one.phases, one.trajectories.phases, other.trajectories.phases, strict=True
    ):
        tau, weights = _quadrature(view)
        states = np.sqrt(
            weights @ ((a.x.evaluate(a.times(tau)) - b.x.evaluate(b.times(tau))) / view.x_size) ** 2
        )
        times = max(abs(a.t0 - b.t0), abs(a.tf - b.tf)) / abs(a.tf - a.t0)
        largest = max(largest, times, float(states.max(initial=0.0)))
    return largest


def control_difference(one: MeshSolution, other: MeshSolution) -> float:
    """The largest mean difference of a control over time, relative to its size.

    Where several controls are as good, they may jump between the points: cost and states agree at
    the points, but no polynomial follows them in between.
    """
    largest = 0.0
    for view, a, b in zip(
        one.phases, one.trajectories.phases, other.trajectories.phases, strict=True
    ):
        tau, weights = _quadrature(view)
        moved = np.abs(a.u.evaluate(a.times(tau)) - b.u.evaluate(b.times(tau)))
        means = weights @ (moved / view.u_size)
        largest = max(largest, float(means.max(initial=0.0)))
    return largest


def _quadrature(view: PhaseView) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points in all intervals of a phase, in [0, 1] of its duration, and their weights."""
    at, weights, _ = gauss_quadrature(POINTS)
    breaks = (view.values.breaks - view.values.breaks[0]) / (
        view.values.breaks[-1] - view.values.breaks[0]
    )
    widths = np.diff(breaks)[:, None]
    return (breaks[:-1, None] + widths * at).ravel(), (widths * weights).ravel()


def confirms(solution: MeshSolution, on_arcs: MeshSolution) -> bool:
    """True if a solution without arcs has the cost of one on arcs, within the tolerance, and its
    states, within its own error.
    """
    tolerance = solution.phases[0].method.tolerance
    same_cost = cost_difference(solution, on_arcs) <= tolerance
    return (
        solution.solved
        and same_cost
        and state_difference(solution, on_arcs) <= max(tolerance, solution.error)
    )


def judged_by(solution: MeshSolution, error: float, evidence: str) -> MeshSolution:
    """The solution with another estimate of its error, and the evidence for the history."""
    estimates = tuple(replace(e, errors=np.minimum(e.errors, error)) for e in solution.estimates)
    return solution.judged(estimates, evidence=f"{evidence} to {error:.1e}")


def halved(view: PhaseView, where: NDArray[np.bool_]) -> Mesh:
    """The mesh with some intervals cut into halves."""
    mesh = view.layout.mesh
    source = np.repeat(np.arange(mesh.intervals), np.where(where, 2, 1))
    middles = 0.5 * (mesh.breaks[:-1] + mesh.breaks[1:])[where]
    return _of_intervals(
        mesh, source, np.sort(np.concatenate([mesh.breaks, middles])), mesh.degrees[source]
    )


def raised(view: PhaseView, where: NDArray[np.bool_]) -> Mesh | None:
    """The mesh with a higher degree on some intervals, constant controls linear there; None if the
    scheme has one degree only.
    """
    mesh = view.layout.mesh
    if not can_raise_degree(view.method.scheme):
        return None
    higher = _of_intervals(
        mesh,
        np.arange(mesh.intervals),
        mesh.breaks,
        np.where(where, mesh.degrees + 2, mesh.degrees),
    )
    if higher.control_points is None:
        return higher
    linear = where[:, None] & (higher.control_points == 1)
    return replace(higher, control_points=np.where(linear, 2, higher.control_points))


def _of_intervals(
    mesh: Mesh, source: NDArray[np.int_], breaks: NDArray[np.float64], degrees: NDArray[np.int_]
) -> Mesh:
    points = None if mesh.control_points is None else mesh.control_points[source]
    return replace(mesh, breaks=breaks, degrees=degrees, control_points=points)
