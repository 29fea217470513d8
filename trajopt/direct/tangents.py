"""Derivatives of the answer on a mesh by what its program is given: parameters, boundary values,
limits.

At an answer the conditions of Karush, Kuhn and Tucker hold. Their linearization by a number p is
a system with the matrix of Newton's method,

    H dy + J' dlambda = -d(grad L)/dp,    J dy = d(limit)/dp - dg/dp  for active rows,

where held unknowns follow their bounds (Fiacco, Introduction to sensitivity and stability analysis,
1983, theorem 3.2.2). The derivative of the cost is that of the Lagrangian: no system is solved for
it, for as many numbers as there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import TANGENTS
from trajopt.direct.mesh_session import MeshSession
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.solve_mesh import read
from trajopt.direct.transcription import place_data
from trajopt.errors import SolveError, UsageError
from trajopt.nlp.program import Program
from trajopt.nlp.session import SessionSettings, SessionStatus
from trajopt.nlp.shifts import Shift, changes, slopes
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.arcs import AT_LOWER, AT_UPPER, FREE
from trajopt.trajectory.curve import Curve, inverse_legendre
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Roles = tuple[NDArray[np.int8], NDArray[np.int8]]

EXACT = SessionSettings(tolerance=TANGENTS.exact)  # of the point at which derivatives are taken
MOST_CHANGES = 20  # of the weakly active limits, for a derivative to one side


@dataclass(frozen=True, eq=False)
class Tangent:
    """Derivatives of unknowns and multipliers, in the units of the scaled program."""

    y: Array
    rows: Array  # of the multipliers of rows
    bounds: Array  # of the multipliers of bounds

    def __neg__(self) -> Tangent:
        return Tangent(-self.y, -self.rows, -self.bounds)


class Tangents:
    """The derivatives of the last answer of a mesh session.

    Raises ``SolveError`` where the conditions do not have one solution nearby.
    """

    def __init__(self, kept: MeshSession) -> None:
        if kept.session is None:
            raise UsageError(
                "derivatives of a solution need the compiled core",
                got="a problem with tables or external functions, or no compiler",
                hint="difference two solutions of prepare(problem).solve(...)",
            )
        self.kept, self.session = kept, kept.session
        self.session.begin(kept.last)
        report = self.session.solve(EXACT)
        if report.status is not SessionStatus.SOLVED:  # as the last solver left it
            self.session.begin(kept.last)
            report = self.session.factor()
        if report.status is not SessionStatus.SOLVED:
            raise SolveError(
                f"the solution has no derivatives: {report.status.value}",
                hint="solve with a smaller tolerance, or difference two solutions",
            )
        self.dependent = report.dependent  # active limits: their multipliers are not unique
        self.point = self.session.result(report.iterations, 0.0)
        self.roles = self.session.roles

    @property
    def program(self) -> Program:
        """In the units of the session."""
        return self.session.program

    def shift(self, before: NormalForm, after: NormalForm, p: Array, step: float) -> Shift:
        """What the program is given at two forms that are as stated, and its parameters, as a
        derivative by the number that is ``step`` larger in the second; ``p`` (parameters,) is the
        derivative of these.
        """
        base, program = self.kept.base, self.program
        if before is after:
            zero, rows = np.zeros(program.unknowns), np.zeros(program.constraints)
            data = tuple(np.zeros_like(block.data) for block in program.blocks)
            return Shift(p, data, zero, zero, rows, rows)
        first, second = (self.kept.laid_out(form) for form in (before, after))
        (low, high), (g_low, g_high) = (
            tuple(_slope(a, b, step) for a, b in zip(one, other, strict=True))
            for one, other in zip(self.kept.limits(first), self.kept.limits(second), strict=True)
        )
        places = [
            (place_data(b) - place_data(a)) / step
            for a, b in zip(first.phases, second.phases, strict=True)
        ]
        ends = program.blocks[-1].data
        return Shift(
            p,
            (*places, np.zeros_like(ends)),
            low / base.sizes,
            high / base.sizes,
            g_low * base.row_scales,
            g_high * base.row_scales,
        )

    # The cost.

    @cached_property
    def _slopes(self) -> tuple[Array, tuple[Array, ...]]:
        return slopes(self.program, self.point.y, self.point.constraint_multipliers)

    def cost(self, shift: Shift) -> float:
        """The derivative of the minimized cost, that of the Lagrangian."""
        by_parameters, by_data = self._slopes
        result = float(by_parameters @ shift.parameters)
        result += sum(float((a * b).sum()) for a, b in zip(by_data, shift.data, strict=True))
        multipliers = self.point.bound_multipliers, self.point.constraint_multipliers
        for values, held in zip(multipliers, _followed(self.roles, shift), strict=True):
            result -= float(values @ held)
        return result

    # The answer.

    def weak(self, tangent: Tangent, shift: Shift, reach: float) -> tuple[Bools, Bools]:
        """Unknowns and rows whose limit becomes active or inactive, to first order, if the number
        changes by no more than ``reach``.
        """
        point, program = self.point, self.program
        most = max(
            float(np.abs(m).max(initial=0.0))
            for m in (point.bound_multipliers, point.constraint_multipliers)
        )
        rows = self._row_changes(tangent, shift)
        of = (
            (self.roles[0], tangent.y, tangent.bounds, point.bound_multipliers, shift.lower,
             shift.upper, point.y, program.lower, program.upper),
            (self.roles[1], rows, tangent.rows, point.constraint_multipliers, shift.g_lower,
             shift.g_upper, point.g, program.g_lower, program.g_upper),
        )  # fmt: skip
        found = []
        for role, moves, rates, multiplier, low, high, value, lower, upper in of:
            near_upper = upper - value < value - lower
            distance = np.where(near_upper, upper - value, value - lower)
            approach = np.abs(moves - np.where(near_upper, high, low))
            reached = (role == FREE) & (distance <= TANGENTS.zero + reach * approach)
            held = (role == AT_LOWER) | (role == AT_UPPER)
            left = held & (np.abs(multiplier) <= TANGENTS.zero * most + reach * np.abs(rates))
            found.append(reached | left)
        return found[0], found[1]

    def _row_changes(self, tangent: Tangent, shift: Shift) -> Array:
        point = self.point
        own = changes(self.program, point.y, point.constraint_multipliers, shift)[1]
        return np.asarray(own + self.session.product(tangent.y)[1])

    def tangent(self, shift: Shift) -> Tangent:
        """The derivative with the active limits of the answer."""
        self._factor(self.roles)
        return self._solved(self.roles, shift)

    def at(self, roles: Roles, shift: Shift) -> Tangent:
        """The derivative with other active limits."""
        self._factor(roles)
        return self._solved(roles, shift)

    def one_sided(self, shift: Shift, weak: tuple[Bools, Bools]) -> tuple[Tangent, Tangent]:
        """The derivatives towards smaller and towards larger values: weakly active limits become
        active or inactive as it is best (Jittorntrum, Math. Programming Study 21, 1984).
        """
        return -self._towards(-shift, weak), self._towards(shift, weak)

    def _towards(self, shift: Shift, weak: tuple[Bools, Bools]) -> Tangent:
        roles = self.roles[0].copy(), self.roles[1].copy()
        for _ in range(MOST_CHANGES):
            self._factor(roles)
            tangent = self._solved(roles, shift)
            if not self._changed(roles, weak, tangent, shift):
                break
        return tangent

    def _changed(
        self, roles: Roles, weak: tuple[Bools, Bools], tangent: Tangent, shift: Shift
    ) -> bool:
        """Change the roles of weakly active limits whose multiplier or whose distance would get the
        wrong sign; whether there were any.
        """
        program, point, changed = self.program, self.point, False
        rows = self._row_changes(tangent, shift)
        of = (
            (roles[0], weak[0], tangent.y, tangent.bounds, shift.lower, shift.upper,
             point.y, program.lower, program.upper),
            (roles[1], weak[1], rows, tangent.rows, shift.g_lower, shift.g_upper,
             point.g, program.g_lower, program.g_upper),
        )  # fmt: skip
        for role, weakly, moves, multiplier, low, high, value, lower, upper in of:
            least = TANGENTS.zero * max(float(np.abs(moves).max(initial=0.0)), np.finfo(float).tiny)
            before = role.copy()
            near_upper = upper - value < value - lower
            released = (role == AT_UPPER) & (multiplier < 0) | (role == AT_LOWER) & (multiplier > 0)
            over = (before == FREE) & near_upper & (moves - high > least)
            under = (before == FREE) & ~near_upper & (low - moves > least)
            role[weakly & released] = FREE
            role[weakly & over] = AT_UPPER
            role[weakly & under] = AT_LOWER
            changed |= not np.array_equal(before, role)
        return changed

    def _factor(self, roles: Roles) -> None:
        if all(np.array_equal(a, b) for a, b in zip(self.session.roles, roles, strict=True)):
            return
        self.session.roles = roles
        status = self.session.factor().status
        if status is not SessionStatus.SOLVED:
            raise SolveError(f"the solution has no derivatives to this side: {status.value}")

    def _solved(self, roles: Roles, shift: Shift) -> Tangent:
        session, point = self.session, self.point
        dual, rows = changes(self.program, point.y, point.constraint_multipliers, shift)
        known, limits = _followed(roles, shift)
        by_known = session.product(known)
        step, multipliers = session.tangent(-dual - by_known[0], limits - rows - by_known[1])
        y = np.where(roles[0] == FREE, step, known)
        gradient = dual + session.product(y)[0] + session.transposed(multipliers)
        return Tangent(y, multipliers, np.where(roles[0] == FREE, 0.0, -gradient))

    # What is read off it.

    def states_follow(self) -> bool:
        """False where limits of states or paths are active on arcs that begin and end at points
        of the mesh: these do not move.
        """
        for ph, kernels in zip(
            self.kept.layout.phases, self.kept.context.kernels.phases, strict=True
        ):
            inner = ph.states(self.roles[0])[1:-1]
            rows = ph.path_rows(self.roles[1])[:, kernels.state_paths]
            active = any(np.isin(part, (AT_LOWER, AT_UPPER)).any() for part in (inner, rows))
            if active and not ph.mesh.knots:
                return False
        return True

    def controls_follow(self) -> bool:
        """False where controls come to a bound between points of the mesh, which do not move."""
        for ph in self.kept.layout.phases:
            if ph.mesh.roles is not None or ph.grid.shares_nodes:
                continue
            for control in range(ph.nu):
                own = [ph.control_on(self.roles[0], k, control) for k in range(ph.mesh.intervals)]
                held = np.isin(np.concatenate(own), (AT_LOWER, AT_UPPER))
                if held.any() and not held.all():
                    return False
        return True

    def trajectories(self, tangent: Tangent, shift: Shift) -> tuple[Trajectory, ...]:
        """States, controls and costates of each phase, differentiated at fixed times."""
        size = float(np.abs(tangent.y).max(initial=0.0))
        step = TANGENTS.step / max(size, TANGENTS.step)
        here, before, after = (self._moved(tangent, shift, by).phases for by in (0.0, -step, step))
        return tuple(
            _differentiated(*views, 2 * step) for views in zip(here, before, after, strict=True)
        )

    def distance(self, one: Tangent, other: Tangent) -> float:
        """The largest difference of times, states and static variables, relative to the largest
        of their changes in their sizes.
        """
        where = np.zeros(self.program.unknowns, dtype=bool)
        for ph in self.kept.layout.phases:
            ph.states(where)[:] = ph.span_times(where)[:] = True
        self.kept.layout.statics(where)[:] = True
        a, b = one.y[where], other.y[where]
        size = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
        return float(np.abs(a - b).max(initial=0.0)) / size if size else 0.0

    def times(self, tangent: Tangent) -> tuple[Array, ...]:
        """Of each phase: the derivatives of start, moving knots and end."""
        y = tangent.y * self.kept.base.sizes
        return tuple(ph.span_times(y) for ph in self.kept.layout.phases)

    def statics(self, tangent: Tangent) -> Array:
        return self.kept.layout.statics(tangent.y * self.kept.base.sizes)

    def _moved(self, tangent: Tangent, shift: Shift, by: float) -> MeshSolution:
        base, point = self.kept.base, self.point
        result = replace(
            point,
            y=point.y + by * tangent.y,
            bound_multipliers=point.bound_multipliers + by * tangent.bounds,
            constraint_multipliers=point.constraint_multipliers + by * tangent.rows,
        )
        program = self.kept.program
        blocks = tuple(
            replace(block, data=block.data + by * data)
            for block, data in zip(program.blocks, shift.data, strict=True)
        )
        p = program.parameters + by * shift.parameters
        context = replace(self.kept.context, form=self.kept.layout.form, parameters=p)
        return read(
            context,
            self.kept.layout,
            replace(program, blocks=blocks, parameters=p),
            base.sizes,
            base.row_scales,
            result,
            base.kind,
        )


def _differentiated(
    here: PhaseView, before: PhaseView, after: PhaseView, width: float
) -> Trajectory:
    views = here, before, after
    x, z, u = (
        differentiated([getattr(view.trajectory, name) for view in views], width)
        for name in ("x", "z", "u")
    )
    costate = differentiated([view.costate_curve for view in views], width)
    return Trajectory(x, z, u, costate)


def differentiated(curves: Sequence[Curve], width: float) -> Curve:
    """The derivative at fixed times, from a curve, and those before and after it, whose number
    differs by ``width``.

    Values at the nodes of a piece change with the number, and with the times of the nodes:
    dx/dp at a time = dx/dp at a node - x' dt/dp.
    """
    here, before, after = curves
    slopes = (after.breaks - before.breaks) / width
    pieces = []
    for k, nodes in enumerate(here.nodes):
        change = (after.values[k] - before.values[k]) / width
        moves = slopes[k] + nodes * (slopes[k + 1] - slopes[k])
        if moves.any():
            duration = here.breaks[k + 1] - here.breaks[k]
            rates = _rates(nodes, here.values[k]) / (duration if duration > 0 else 1.0)
            change = change - rates * moves[:, None]
        pieces.append(change)
    return Curve(here.breaks, here.nodes, tuple(pieces), unit=here.unit)


def _rates(nodes: Array, values: Array) -> Array:
    """Derivatives of the polynomial through the values, at its nodes."""
    coefficients = inverse_legendre(tuple(nodes.tolist())) @ values
    slopes = np.polynomial.legendre.legder(coefficients, axis=0)
    points = 2 * nodes - 1  # of Legendre polynomials, which have their arguments in [-1, 1]
    rates = np.polynomial.legendre.legval(points, slopes)
    return np.asarray(2 * rates.T.reshape(values.shape), dtype=float)


def _slope(before: Array, after: Array, step: float) -> Array:
    """A difference quotient; of limits without a value, zero."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num((after - before) / step, nan=0.0, posinf=0.0, neginf=0.0)


def _followed(roles: Roles, shift: Shift) -> tuple[Array, Array]:
    """What held unknowns and active rows follow; zero for the others."""
    sides = (shift.lower, shift.upper), (shift.g_lower, shift.g_upper)
    unknowns, rows = (
        np.where(role == FREE, 0.0, np.where(role == AT_UPPER, upper, lower))
        for role, (lower, upper) in zip(roles, sides, strict=True)
    )
    return unknowns, rows
