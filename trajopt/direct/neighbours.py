"""Neighbouring extremals: how controls, switches and ends follow the state at a time.

An extremal through a neighbouring state (t_k, x) is found to first order in a family of them. Two
kinds of families are linear systems with factors of the KKT matrix:

- initial values, and values at the links of phases, are shifted: all times of the phases move;
- in a phase of given times, the states are shifted at a node, by the equations of the interval
  before it, or given there, with factors of its own. What comes after that node solves the
  conditions of Karush, Kuhn and Tucker of the remaining motion, whatever comes before. These
  families stay well conditioned on unstable motions, and near a given end.

If dx is the derivative of the state at t_k by the numbers of a family, and dy that of all later
unknowns, these follow the state by dy dx^-1 (Bryson and Ho, Applied optimal control, 1975, section
6.4). Gains that hold over an interval, from the state at its start, exist up to the last interval
before a given end, where those of continuous time grow without bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import TANGENTS
from trajopt.direct.mesh_session import MeshSession
from trajopt.direct.packing import Layout, PhaseLayout, unpack
from trajopt.direct.tangents import Roles, Tangents
from trajopt.errors import SolveError, UsageError
from trajopt.nlp.shifts import Shift
from trajopt.trajectory.arcs import FREE
from trajopt.trajectory.curve import Curve, lagrange_basis

Array = NDArray[np.float64]

FIXED = 2  # the role of an unknown that is given


@dataclass(frozen=True, eq=False)
class Measurement:
    """Where a state is measured, and how all unknowns follow it."""

    phase: int
    interval: int
    time: float
    state: Array  # (nx,) of the solution
    follow: Array  # (unknowns, nx), physical


@dataclass(frozen=True, eq=False)
class PhaseControls:
    """Controls and times of a phase, as functions of all unknowns."""

    layout: PhaseLayout
    lower: Array
    upper: Array

    def times(self, y: Array) -> Array:
        """Start, moving knots and end."""
        return np.asarray(self.layout.span_times(y))

    def control(self, y: Array, t: float) -> Array:
        """The controls at a time, which the times in ``y`` place in an interval."""
        ph = self.layout
        tau = float(np.interp(t, self._increasing(y), ph.mesh.spans[0]))
        k = int(np.clip(np.searchsorted(ph.mesh.breaks, tau, side="right") - 1, 0, None))
        k = min(k, ph.mesh.intervals - 1)
        a, b = ph.mesh.breaks[k : k + 2]
        place = np.array([(tau - a) / (b - a)])
        u = np.array(
            [
                float(
                    lagrange_basis(ph.control_grid.nodes(k, j), place)[0] @ ph.control_on(y, k, j)
                )
                for j in range(ph.nu)
            ]
        )
        return np.asarray(np.clip(u, self.lower, self.upper))

    def _increasing(self, y: Array) -> Array:
        """Times in order, also where a correction makes an arc vanish."""
        return np.maximum.accumulate(self.times(y))


def phase_controls(layout: Layout) -> tuple[PhaseControls, ...]:
    """The controls of all phases as functions of the unknowns."""
    return tuple(
        PhaseControls(ph, ph.form.u_bound.lower, ph.form.u_bound.upper) for ph in layout.phases
    )


class Neighbours:
    """Neighbouring extremals of the last answer of a mesh session."""

    def __init__(self, kept: MeshSession) -> None:
        self.kept, self.tangents = kept, Tangents(kept)
        layout = kept.layout
        if layout.scheme.shares_nodes:
            raise UsageError(
                "feedback: neighbouring intervals share controls in this scheme",
                got=layout.scheme.name,
                expected="Radau() or Gauss()",
            )
        self.roles = self._with_given_statics(self.tangents.roles)
        self.y = self.tangents.point.y * kept.base.sizes
        self.phases = phase_controls(layout)
        form = kept.stated
        self._zero = self.tangents.shift(form, form, np.zeros(form.p.numel()), 1.0)

    def _with_given_statics(self, roles: Roles) -> Roles:
        """Static variables are decided before the motion begins."""
        unknowns = roles[0].copy()
        self.kept.layout.statics(unknowns)[:] = FIXED
        return unknowns, roles[1]

    def samples(self) -> tuple[Measurement, ...]:
        """At the starts of all intervals from which the states can still be corrected."""
        found: list[Measurement] = []
        families = self._moving_families()
        for i, ph in enumerate(self.kept.layout.phases):
            if ph.nu == 0:
                continue
            values = unpack(ph, self.y)
            for k in range(ph.mesh.intervals):
                follow = self._follow(i, k, families[i])
                if follow is not None:
                    state = values.X[ph.grid.first[k]].copy()
                    found.append(Measurement(i, k, float(values.breaks[k]), state, follow))
        return tuple(found)

    def _follow(self, phase: int, interval: int, moving: Array) -> Array | None:
        """(unknowns, nx): the derivatives by the state at the start of an interval; None where the
        rest of the motion cannot begin at other states.
        """
        ph = self.kept.layout.phases[phase]
        if ph.free_time or not interval:
            return self._through(ph, interval, moving, TANGENTS.worst)
        shifted = self._shifted_at_node(phase, interval)
        follow = self._through(ph, interval, shifted, TANGENTS.good)
        return self._held_at_node(phase, interval) if follow is None else follow

    def _through(self, ph: PhaseLayout, interval: int, family: Array, worst: float) -> Array | None:
        """The derivatives by the states in a family; None if its states depend on each other."""
        slopes = self._state_slopes(
            ph, self.states(self.kept.layout.phases.index(ph)), family, interval
        )
        sizes = np.linalg.svd(slopes / self._sizes(ph)[:, None], compute_uv=False)
        if sizes.size < ph.nx or sizes[-1] * worst < sizes[0]:
            return None
        return np.asarray(family @ np.linalg.pinv(slopes))

    def _held_at_node(self, phase: int, interval: int) -> Array | None:
        """The derivatives by the states at a node, which are given there."""
        ph, sizes = self.kept.layout.phases[phase], self.kept.base.sizes
        places = ph.states(np.arange(self.y.size))[ph.grid.first[interval]]
        unknowns = self.roles[0].copy()
        unknowns[places] = FIXED
        columns = []
        for place in places:
            low = np.zeros(self.y.size)
            low[place] = 1 / sizes[place]
            try:
                tangent = self.tangents.at(
                    (unknowns, self.roles[1]), self._with(lower=low, upper=low)
                )
            except SolveError:
                return None
            columns.append(tangent.y * sizes)
        return np.array(columns).T

    def _sizes(self, ph: PhaseLayout) -> Array:
        return np.asarray(ph.states(self.kept.base.sizes)[0])

    def states(self, phase: int) -> Curve:
        """The states of a phase of the answer."""
        return self.kept.base.phases[phase].state_curve

    def gain(self, sample: Measurement) -> Array:
        """(nu, nx): derivatives of the controls just after a sample, in its interval."""
        ph = self.phases[sample.phase].layout
        rows = []
        for j in range(ph.nu):
            basis = lagrange_basis(ph.control_grid.nodes(sample.interval, j), np.zeros(1))[0]
            places = ph.control_on(np.arange(self.y.size), sample.interval, j)
            rows.append(basis @ sample.follow[places])
        return np.array(rows)

    def _state_slopes(self, ph: PhaseLayout, curve: Curve, family: Array, interval: int) -> Array:
        """(nx, family): the derivatives of the state at the time of a node."""
        node = ph.grid.first[interval]
        number = np.arange(self.y.size)
        moved = family[ph.states(number)[node]]
        if ph.free_time:
            spans = family[ph.span_times(number)]
            knots = ph.mesh.spans[0]
            at = np.array([np.interp(ph.mesh.breaks[interval], knots, one) for one in spans.T])
            time = curve.breaks[interval : interval + 1]
            rate = curve.evaluate(time, order=1)[0]
            moved = moved - np.outer(rate, at)
        return np.asarray(moved)

    def _moving_families(self) -> list[Array]:
        """For each phase: derivatives of all unknowns by its initial values, or by its links and
        those of the phases before it.
        """
        families, columns = [], list[Array]()
        for i, ph in enumerate(self.kept.layout.phases):
            columns += [self._solved(shift) for shift in self._start_shifts(i, ph)]
            families.append(np.array(columns).reshape(-1, self.y.size).T)
        return families

    def _start_shifts(self, phase: int, ph: PhaseLayout) -> list[Shift]:
        """Given initial values; and conditions that link the phase to those before it."""
        shifts = []
        number, sizes = np.arange(self.y.size), self.kept.base.sizes
        first = ph.states(number)[0]
        for place in first[self.roles[0][first] == FIXED]:
            low = np.zeros(self.y.size)
            low[place] = 1 / sizes[place]
            shifts.append(self._with(lower=low, upper=low))
        form = self.kept.stated
        rows = self.kept.layout.condition_rows(np.arange(self.kept.layout.constraints))
        for row, origin in enumerate(form.b_origins):
            if origin.phase == form.phases[phase].name and self.roles[1][rows[row]] != FREE:
                high = np.zeros(self.kept.layout.constraints)
                high[rows[row]] = self.kept.base.row_scales[rows[row]]
                shifts.append(self._with(g_lower=high, g_upper=high))
        return shifts

    def _shifted_at_node(self, phase: int, interval: int) -> Array:
        """Derivatives of all unknowns by shifts of the states at the start of an interval."""
        ph = self.kept.layout.phases[phase]
        rule = ph.grid.rules[interval - 1]
        rows = ph.defect_rows(np.arange(self.kept.layout.constraints))
        first = ph.defect_first[interval - 1]
        columns = []
        for i in range(ph.nx):
            own = rows[first : first + rule.defects, i]
            moved = np.zeros(self.kept.layout.constraints)
            moved[own] = rule.P[:, -1] * self.kept.base.row_scales[own]
            columns.append(self._solved(self._with(g_lower=moved, g_upper=moved)))
        return np.array(columns).T

    def _with(self, **changes: Array) -> Shift:
        z = self._zero
        given = {"lower": z.lower, "upper": z.upper, "g_lower": z.g_lower, "g_upper": z.g_upper}
        return Shift(z.parameters, z.data, **{**given, **changes})

    def _solved(self, shift: Shift) -> Array:
        return self.tangents.at(self.roles, shift).y * self.kept.base.sizes
