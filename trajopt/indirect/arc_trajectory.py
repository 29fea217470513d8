"""The trajectory of an arc as piecewise polynomials, one for each step of the flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.pointwise import Pointwise
from trajopt.indirect.assembly import ShootingSystem
from trajopt.indirect.control_law import ArcLaw
from trajopt.indirect.settings import GRID
from trajopt.trajectory.curve import Curve, in_sequence
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]


def lobatto(count: int) -> Array:
    """Gauss-Lobatto nodes on [0, 1], with both ends; polynomials through them do not oscillate."""
    inner = np.polynomial.legendre.Legendre.basis(count - 1).deriv().roots()
    return np.concatenate([[0.0], 0.5 * (1.0 + np.sort(np.real(inner))), [1.0]])


NODES = lobatto(GRID.degree + 1)


@dataclass(frozen=True, eq=False)
class ArcTrace:
    """Flow values of an arc at the nodes of every step."""

    law: ArcLaw
    numbers: Array  # start and end time, weights, static variables
    p: Array
    steps: Array  # (pieces + 1,) normalised times
    values: Array  # (pieces, nodes, flow size)
    errors: Array  # (pieces,) estimated error of each step, relative to the scale of its component

    @property
    def error(self) -> float:
        """The largest error of a step."""
        return float(np.max(self.errors))

    @property
    def breaks(self) -> Array:
        breaks = self.numbers[0] + (self.numbers[1] - self.numbers[0]) * self.steps
        breaks[-1] = self.numbers[1]
        return np.asarray(breaks)

    @cached_property
    def times(self) -> Array:
        """(pieces, nodes)"""
        return self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * NODES[None, :]

    def curve(self, values: Array) -> Curve:
        """Values (pieces, nodes, n) as a curve."""
        return Curve.through(self.breaks, NODES, values)

    def of(self, expression: Any) -> Array:
        """An expression of the law at all nodes: (pieces, nodes, n)."""
        law = self.law
        function = Pointwise(law.function(expression))
        nodes = self.values[:, :, : law.node_size].reshape(self.times.size, -1)
        weight, s = np.split(self.numbers[2:], [law.hamiltonian.weight.numel()])
        found = np.asarray(function(self.times.reshape(1, -1), nodes.T, weight, s, self.p))
        return np.broadcast_to(found.T, (self.times.size, expression.numel())).reshape(
            *self.times.shape, expression.numel()
        )


def trace_arc(system: ShootingSystem, k: int, unknowns: Array, scale: Array) -> ArcTrace:
    """The trajectory of arc number k; ``scale`` is a typical size of each component of its flow."""
    arc = system.arcs[k]
    numbers, _ = system.numbers(k, unknowns)
    steps = arc.grid.steps
    with np.errstate(all="ignore"):
        values, errors = arc.flow.trace(unknowns[system.layout.nodes[k]], steps, numbers, system.p)
        relative = np.max(errors / (scale + np.abs(values[:, 1:])), axis=2).ravel()
        begin, h = steps[:, :-1].ravel(), np.diff(steps, axis=1).ravel()
        first = values[:, :-1].reshape(begin.size, -1)
        last = values[:, 1:].reshape(begin.size, -1)
        inner = NODES[1:-1]
        lanes = [np.repeat(a, inner.size, axis=0) for a in (begin, h, first)]
        between, _ = arc.flow.step(
            lanes[0], lanes[1] * np.tile(inner, begin.size), lanes[2], numbers, system.p
        )
    pieces = np.concatenate(
        [first[:, None], between.reshape(begin.size, inner.size, -1), last[:, None]], axis=1
    )
    return ArcTrace(arc.law, numbers, system.p, np.concatenate([begin, [1.0]]), pieces, relative)


def phase_trajectory(traces: Sequence[ArcTrace]) -> Trajectory:
    """The trajectory of a phase from its arcs, in the costates of the flow, with the errors of its
    steps.
    """
    nx, bound = traces[0].law.hamiltonian.phase.x.numel(), traces[0].law.hamiltonian.phase.u_bound
    x = in_sequence([t.curve(t.values[:, :, :nx]) for t in traces])
    return Trajectory(
        x=x,
        z=in_sequence([t.curve(t.of(t.law.z)) for t in traces]),
        u=replace(
            in_sequence([t.curve(t.of(t.law.u)) for t in traces]),
            lower=bound.lower,
            upper=bound.upper,
        ),
        costate=in_sequence([t.curve(t.values[:, :, nx : 2 * nx]) for t in traces]),
        breaks=x.breaks,
        degrees=(GRID.degree,) * (x.breaks.size - 1),
        errors=np.concatenate([t.errors for t in traces]),
    )
