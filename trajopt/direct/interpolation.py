"""The polynomials of a mesh solution between the collocation points: curves, and values at other places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import Curve
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.schemes import Places, integration_matrix

Array = NDArray[np.float64]


def node_values(view: PhaseView, here: NDArray[np.int_], count: int) -> Array:
    """(intervals, nodes, nx): of the state polynomials."""
    return np.asarray(view.values.X[view.layout.grid.first[here][:, None] + np.arange(count)])


def sampled(view: PhaseView, where: Sequence[tuple[NDArray[np.int_], Places]]) -> tuple[Array, Array, Array]:
    """The polynomials at other places than the collocation points, for groups of intervals of one degree each.

    Gives the states (places, nx), and the kernel's inputs and data, group by group and interval by interval.
    """
    ph, values = view.layout, view.values
    x, z, u = [], [], []
    for here, to in where:
        count, points = here.size * to.at.size, ph.grid.first_point[here][:, None] + np.arange(to.from_points.shape[1])
        nodes = node_values(view, here, to.from_nodes.shape[1])
        x.append(np.einsum("mn,kni->kmi", to.from_nodes, nodes).reshape(count, ph.nx))
        z.append((to.from_points @ values.Z[points]).reshape(count, ph.nz))
        u.append((to.from_points @ values.U[points]).reshape(count, ph.nu))
    states, bound, within = np.concatenate(x), ph.form.u_bound, ph.form.x_bound
    interval = np.concatenate([np.repeat(here, to.at.size) for here, to in where])
    at = np.concatenate([np.tile(to.at, here.size) for here, to in where])
    normalised = ph.mesh.breaks[interval] + np.diff(ph.mesh.breaks)[interval] * at
    knots, span = ph.mesh.spans[0], ph.mesh.spans[1][interval]
    theta = (normalised - knots[span]) / (knots[span + 1] - knots[span])
    spans = values.spans[span[:, None] + np.arange(2)]
    # What is beyond a bound may have no value: a table ends there, a root. That it is beyond counts by itview.
    inside = np.clip(states, within.lower, within.upper), np.clip(np.concatenate(u), bound.lower, bound.upper)
    W = ph.inputs(inside[0], np.concatenate(z), inside[1], view.statics, spans)
    return states, W.T, ph.data(theta, spans)


def repeated_parameters(view: PhaseView, places: int) -> Array:
    return np.repeat(view.parameters[:, None], places, axis=1)


def state_curve(view: PhaseView) -> Curve:
    """The state polynomials; collocation at both ends has a degree more than the values at its points show."""
    ph, values = view.layout, view.values
    if ph.grid.shares_nodes:
        return _integrated(view)
    nodes = tuple(r.nodes for r in ph.grid.rules)
    return Curve(values.breaks, nodes, tuple(values.X[f : f + n.size] for f, n in zip(ph.grid.first[:-1], nodes, strict=True)))


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
        pieces.append(values.X[ph.grid.first[k]] + width * integration_matrix(rule.points, at) @ rates[ph.grid.points_of(k)])
    return Curve(values.breaks, tuple(nodes), tuple(pieces))


def point_curve(view: PhaseView, of: Array) -> Curve:
    """The polynomials through values at the collocation points."""
    ph = view.layout
    pieces = tuple(of[ph.grid.points_of(k)] for k in range(ph.mesh.intervals))
    return Curve(view.values.breaks, tuple(r.points for r in ph.grid.rules), pieces)


def control_curve(view: PhaseView) -> Curve:
    """The control polynomials, kept within their bounds; of full degree even where fewer unknowns describe them."""
    bound, curve = view.layout.form.u_bound, point_curve(view, view.values.U)
    return Curve(curve.breaks, curve.nodes, curve.values, bound.lower, bound.upper)
