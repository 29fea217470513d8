"""How far the costates of an answer are from the costate equation between the nodes.

States can be right where costates are not yet: near the end of an arc on a limit, or where the cost is steep. The polynomials
of the costates are put into the equation at points where no derivative was zeroed; integrated, they should give the change of
the costates back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import lagrange_basis
from trajopt.direct.contacts import COSTATES, Along, Contact, contacts, next_places
from trajopt.direct.costates import costate_curve
from trajopt.direct.mesh import Mesh
from trajopt.direct.refine import Bend, sampled
from trajopt.direct.schemes import gauss_quadrature

Array = NDArray[np.float64]

MET = 1e-4  # of its range: so close to its limit a constraint may push


@dataclass(frozen=True, eq=False)
class CostateErrors:
    """What is left to do for the costates of an answer."""

    contacts: list[Contact]  # of all phases
    defects: list[Array]  # by phase, (intervals,), in the size of errors of states

    @property
    def error(self) -> float:
        return max([contact.error for contact in self.contacts] + [float(d.max()) for d in self.defects])


def costate_errors(smooth: Sequence[Along], intervals: Sequence[int], tolerance: float, rough: bool) -> CostateErrors:
    """``smooth``: the phases that are looked at; ``intervals``: how many each phase has; ``rough``: only contacts are.

    Without contacts costates are mostly as right as the states: there they count only where they miss what is asked of them.
    """
    least = tolerance / COSTATES
    found = [contact for of in smooth for contact in contacts(of, least)]
    defects = [np.zeros(count) for count in intervals]
    for of in smooth if not rough else ():
        defects[of.index] = (2 if found else 1) * COSTATES * _defects(of, least)
    return CostateErrors(found, defects)


def next_bends(seen: Sequence[CostateErrors]) -> Callable[[int, Mesh, NDArray[np.bool_]], list[Bend]]:
    """Where the next meshes are to have breaks: a function of the phase, its mesh and its intervals with large errors.

    The end of an arc at which no costate jumps is worth one only for the sake of the states.
    """
    now = seen[-1].contacts
    places = next_places([one.contacts for one in seen[:-1]], now)

    def of_phase(phase: int, mesh: Mesh, large: NDArray[np.bool_]) -> list[Bend]:
        found = []
        for contact, place in zip(now, places, strict=True):
            interval = int(np.clip(np.searchsorted(mesh.breaks, place) - 1, 0, mesh.intervals - 1))
            if contact.phase == phase and 0 < place < 1 and (contact.jump > 0 or large[interval]):
                found.append(Bend(place, contact.node))
        return found

    return of_phase


def _defects(of: Along, least: float) -> Array:
    """(intervals,): relative to the costates' sizes; zero where the limit of a state is met inside an interval, and may push.

    ``least``: from what relative jump on it counts as pushing.
    """
    ph, found = of.ph, np.zeros(of.ph.mesh.intervals)
    pushed = of.jumps.max(axis=1) > least
    for column in np.flatnonzero((of.jumps > least).any(axis=0)):
        for side in np.unique(np.sign(of.pushes[of.jumps[:, column] > least, column])):
            pushed |= of.held(int(column), int(side), MET)
    met = np.concatenate([[0], np.cumsum(pushed)])  # at how many nodes before each
    inside = met[ph.first[1:]] > met[ph.first[:-1] + 1]
    alike = [(rule, here[~inside[here]]) for rule, here in ph.groups]
    groups = [(rule, here) for rule, here in alike if here.size]
    if not groups:
        return found
    curve = costate_curve(ph, of.values, of.multipliers)
    lengths = np.diff(of.values.spans)[ph.mesh.spans[1]]
    densities = np.concatenate([of.multipliers.algebraic, np.where(of.on_states, 0.0, of.multipliers.path)], axis=1)
    _, W, D = sampled(ph, of.layout, of.program, of.index, of.values, [(here, rule.between) for rule, here in groups])
    rows = []
    for rule, here in groups:
        between, points = rule.between, ph.first_point[here][:, None] + np.arange(rule.points.size)
        costates = lagrange_basis(curve.nodes[here[0]], between.at) @ np.stack([curve.values[k] for k in here])
        weighted = (between.from_points @ densities[points]) * lengths[here][:, None, None]
        rest = np.broadcast_to(-of.integral_rows, (*costates.shape[:2], of.integral_rows.size))
        rows.append(np.concatenate([costates, weighted, rest], axis=2).reshape(here.size * between.at.size, -1))
    rates = _derivatives(of, W, D, np.concatenate(rows))
    place = 0
    for rule, here in groups:
        weights = gauss_quadrature(rule.between.at.size)[1]
        last = place + here.size * weights.size
        change = ph.widths[here][:, None] * (weights @ rates[place:last].reshape(here.size, -1, ph.nx))
        ends = np.stack([curve.values[k][-1] - curve.values[k][0] for k in here])
        found[here] = np.nan_to_num(np.abs((ends + change) / of.sizes).max(axis=1), nan=np.inf)
        place = last
    return found


def _derivatives(of: Along, W: Array, D: Array, rows: Array) -> Array:
    """(places, nx): the derivative by the states of what is evaluated at a place, constraint rows weighted, cost added."""
    kernel, nx = of.program.blocks[of.index].kernel, of.ph.nx
    arguments = W, D, np.repeat(of.program.parameters[:, None], W.shape[1], axis=1)
    result = np.zeros((W.shape[1], nx))
    parts = [(kernel.constraint_pattern, kernel.constraint_jacobian, rows)]
    if kernel.objective_rows:
        parts.append((kernel.objective_pattern, kernel.objective_jacobian, np.ones((W.shape[1], kernel.objective_rows))))
    for (row, column), jacobian, weight in parts:
        values = np.asarray(jacobian(*arguments)) if row.size else np.zeros((0, W.shape[1]))
        for entry in np.flatnonzero(column < nx):
            result[:, column[entry]] += weight[:, row[entry]] * values[entry]
    return result
