"""The polynomials of a mesh solution between the collocation points: curves, and values at other
places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.schemes import Places, integration_matrix
from trajopt.trajectory.curve import Curve

if TYPE_CHECKING:
    from trajopt.direct.phase_view import PhaseView

Array = NDArray[np.float64]


def node_values(view: PhaseView, here: NDArray[np.int_], count: int) -> Array:
    """(intervals, nodes, nx): of the state polynomials."""
    return np.asarray(view.values.X[view.layout.grid.first[here][:, None] + np.arange(count)])


def sampled_between(
    view: PhaseView, where: Sequence[tuple[NDArray[np.int_], Places]]
) -> tuple[Array, Array, Array]:
    """The polynomials at other places than the collocation points, for groups of intervals of one
    degree each.

    Gives the states (places, nx), and the kernel's inputs and data, group by group and interval by
    interval.
    """
    ph, values, mesh = view.layout, view.values, view.layout.mesh
    x, z, u, times, intervals = [], [], [], [], []
    for here, to in where:
        count = here.size * to.at.size
        points = ph.grid.points_in(here)
        nodes = node_values(view, here, to.from_nodes.shape[1])
        x.append(np.einsum("mn,kni->kmi", to.from_nodes, nodes).reshape(count, ph.nx))
        z.append(
            (to.from_points @ values.Z[points]).reshape(count, ph.nz)
            if ph.nz
            else np.zeros((count, 0))
        )
        u.append((to.from_points @ values.U[points]).reshape(count, ph.nu))
        starts = mesh.breaks[here][:, None]
        times.append((starts + (mesh.breaks[here + 1][:, None] - starts) * to.at).ravel())
        intervals.append(here.repeat(to.at.size))
    states, bound, within = np.concatenate(x), ph.form.u_bound, ph.form.x_bound
    knots, span = mesh.spans[0], mesh.spans[1][np.concatenate(intervals)]
    theta = (np.concatenate(times) - knots[span]) / (knots[span + 1] - knots[span])
    spans = values.spans[span[:, None] + np.arange(2)]
    # What is beyond a bound may have no value: a table ends there, a root. That it is beyond counts
    # by itself.
    x_inside = np.minimum(np.maximum(states, within.lower), within.upper)
    u_inside = np.minimum(np.maximum(np.concatenate(u), bound.lower), bound.upper)
    W = ph.inputs(x_inside, np.concatenate(z), u_inside, view.statics, spans)
    return states, W.T, ph.data(theta, spans)


def interpolated_states(view: PhaseView) -> Curve:
    """The state polynomials; with collocation at both ends, one degree higher than the points."""
    ph, values = view.layout, view.values
    if ph.grid.shares_nodes:
        return _integrated(view)
    return Curve.grouped(
        values.breaks,
        [
            (rule.nodes, here, node_values(view, here, rule.nodes.size))
            for rule, here in ph.grid.groups
        ],
    )


def _integrated(view: PhaseView) -> Curve:
    """x_k + h times the integral of the polynomial through the rates.

    A parabola for trapezoids, a cubic for Hermite-Simpson.
    """
    ph, values = view.layout, view.values
    rates = view.outputs[:, : ph.nx] / (values.tf - values.t0)
    nodes, pieces = [], []
    for k, rule in enumerate(ph.grid.rules):
        at = np.linspace(0.0, 1.0, rule.points.size + 1)
        width = values.breaks[k + 1] - values.breaks[k]
        nodes.append(at)
        pieces.append(
            values.X[ph.grid.first[k]]
            + width * integration_matrix(rule.points, at) @ rates[ph.grid.points_of(k)]
        )
    return Curve(values.breaks, tuple(nodes), tuple(pieces))


def point_curve(view: PhaseView, of: Array) -> Curve:
    """The polynomials through values at the collocation points."""
    return Curve.grouped(view.values.breaks, _pieces(view, of))


def interpolated_controls(view: PhaseView) -> Curve:
    """The control polynomials within their bounds, of full degree also for fewer unknowns."""
    bound = view.layout.form.u_bound
    return Curve.grouped(view.values.breaks, _pieces(view, view.values.U), bound.lower, bound.upper)


def _pieces(view: PhaseView, of: Array) -> list[tuple[Array, NDArray[np.int_], Array]]:
    """Of each degree: points, intervals, and the values (intervals, points, size) from those at all
    collocation points.
    """
    grid = view.layout.grid
    return [(rule.points, here, of[grid.points_in(here)]) for rule, here in grid.groups]
