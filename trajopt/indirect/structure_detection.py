"""The arcs that shooting starts from: those of an earlier answer, or read from its curves with the
switching functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.hamiltonian import PhaseHamiltonian, boundary_rows, involves
from trajopt.indirect.modes import Mode, mode_of_roles, touched_of
from trajopt.indirect.settings import READING
from trajopt.indirect.start import (
    Start,
    StartArc,
    merged_arcs,
    near_of,
    start_from,
    weights_at,
)
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.arcs import (
    AT_UPPER,
    FREE,
    SIDES,
    Arc,
    Cells,
    Run,
    absorbed,
    bridged,
    control_range,
    distinct,
    is_boundary_arc,
    role_at,
    runs_of,
    sides,
    switched,
    touch_times,
)
from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]
Touch = tuple[float, int, str]  # time, constraint, side


@dataclass(frozen=True, eq=False)
class Sampled:
    """A phase of a solution at points inside its mesh intervals."""

    ham: PhaseHamiltonian
    whole: StartArc  # the phase as one arc
    cells: Cells
    u: Array  # (points, controls)
    displacement: Array  # how far H would move each control if it had no bounds; positive: upwards
    constraint_values: Array  # (points, constraints)
    near: (
        float  # of the size of its values: how close to a limit a state constraint counts as active
    )
    constraint: Callable[[int, Array], Array]  # (number, times) -> values of a state constraint
    multipliers: Array  # (points, constraints), zero for bounds of states
    # (points, constraints, controls): slopes of their last derivatives by the controls
    normals: Callable[[], Array]


def start_of_solution(
    form: NormalForm,
    hams: tuple[PhaseHamiltonian, ...],
    solution: Solution,
    p: Array,
    plain: bool = False,
) -> Start:
    """A start for shooting from a solution of any method; ``plain`` takes every phase as one arc,
    for a given control law.
    """
    start = start_from(form, solution)
    if plain:
        return start
    weights = weights_at(form, start, p)
    arcs: list[StartArc] = []
    for ham, weight, whole in zip(hams, weights, start.arcs, strict=True):
        known = [a for a in solution.arcs if a.phase == ham.phase.name]
        if known and solution.method == "indirect":
            arcs += _of_shooting(ham, whole, known)
        else:
            arcs += detect(sample(ham, solution, whole, weight, start.s, p), known)
    return replace(start, arcs=tuple(arcs), sides=_decided_conditions(form, solution))


def _decided_conditions(form: NormalForm, solution: Solution) -> dict[str, str | None]:
    """On which side inequalities at endpoints hold with equality, where an earlier shooting has
    found that, with its arcs.
    """
    if solution.active_conditions is None or not solution.arcs:
        return {}
    return {
        row.name: solution.active_conditions.get(row.name)
        for row in boundary_rows(form)
        if not row.equality
    }


def sample(
    ham: PhaseHamiltonian, solution: Solution, whole: StartArc, weight: Array, s: Array, p: Array
) -> Sampled:
    """A phase of a solution at points inside its mesh intervals."""
    ph, given = ham.phase, solution.phase(ham.phase.name)
    breaks = np.asarray(given.breaks, dtype=float)
    breaks = breaks if breaks.size > 1 else np.linspace(given.t0, given.tf, 51)
    cells = Cells.even(breaks, READING.points)
    t = cells.middle
    x, costate, u, z = whole.x(t), whole.costate(t), whole.u(t), whole.z(t)
    mu = _known_multipliers(ham, solution, t)
    multipliers = ham.symbols.sym("mu", ph.c.numel())
    H = ham.H + casadi.dot(multipliers, ph.c)
    gradient = casadi.gradient(H, ph.u)
    curvature = casadi.diag(casadi.densify(casadi.jacobian(gradient, ph.u)))
    values = casadi.vertcat(ham.symbols(0, 1), *[c.expression for c in ham.constraints])
    symbols = [ph.t, ph.x, ham.costate, ph.u, ph.z, multipliers, ham.weight, ham.s, ham.p]
    function = casadi.Function(
        "sampled", symbols, [casadi.densify(e) for e in (gradient, curvature, values)]
    )
    slope, curve, constraints = (
        np.asarray(m.full()).T
        for m in function(t[None, :], x.T, costate.T, u.T, z.T, mu.T, weight, s, p)
    )
    displacement = -slope / np.where(curve > 1e-12, curve, 1e-12)

    def constraint(j: int, times: Array) -> Array:
        at = casadi.Function(
            "constraint", [ph.t, ph.x, ham.s, ham.p], [ham.constraints[j].expression]
        )
        return np.asarray(at(times[None, :], whole.x(times).T, s, p).full()).ravel()

    known = np.concatenate([mu, np.zeros((t.size, len(ham.constraints) - mu.shape[1]))], axis=1)
    normals = cache(lambda: _normals(ham, (t, x, u, z), s, p))
    values_of = constraints.reshape(t.size, -1)
    return Sampled(
        ham, whole, cells, u, displacement, values_of, near_of(solution), constraint, known, normals
    )


def _normals(ham: PhaseHamiltonian, at: tuple[Array, ...], s: Array, p: Array) -> Array:
    """(points, constraints, controls): slopes of the constraints' last derivatives."""
    ph, (t, x, u, z) = ham.phase, at
    last = casadi.vertcat(ham.symbols(0, 1), *[c.derivatives[-1] for c in ham.constraints])
    slopes = casadi.densify(casadi.jacobian(last, ph.u))
    function = casadi.Function("normals", [ph.t, ph.x, ph.u, ph.z, ham.s, ham.p], [slopes]).map(
        t.size
    )
    found = np.asarray(
        function(
            t[None, :], x.T, u.T, z.T, casadi.repmat(s, 1, t.size), casadi.repmat(p, 1, t.size)
        )
    )
    return found.reshape(len(ham.constraints), t.size, ph.u.numel()).transpose(1, 0, 2)


def departure_ratio(order: int) -> float:
    """What tells a boundary arc from a touch: how far from a limit, half a contact's length beyond
    it, relative to its distance.

    An arc of a constraint of order q is left, with a continuous control, as t^(q + 1). When it
    shrinks to a point, t^(q + 1) on both sides is the flattest touch; where end conditions hold it,
    as at the tip of a cone, t^(q + 2). That comes to 2^(q + 2) there; a boundary arc comes to more,
    a parabola to 4.
    """
    return 2.0 ** (order + 2)


def _known_multipliers(ham: PhaseHamiltonian, solution: Solution, t: Array) -> Array:
    """Multipliers of path constraints where the solution has them, else zero."""
    given = solution.phase(ham.phase.name).path_multipliers
    columns = [
        given[name].evaluate(t)[:, :1] if name in given else np.zeros((t.size, 1))
        for name in ham.phase.c_names
    ]
    return np.concatenate([np.zeros((t.size, 0)), *columns], axis=1)


def detect(sampled: Sampled, known: list[Arc]) -> list[StartArc]:
    """The arcs of a phase; the roles of controls are those of ``known``, if any."""
    ham, whole = sampled.ham, sampled.whole
    if known:
        number = {side: role for role, side in SIDES.items()}
        controls = [
            [Run(number.get(arc.roles[name], FREE), arc.start, arc.end, np.inf) for arc in known]
            for name in ham.phase.u_names
        ]
    else:
        controls = [_control_runs(sampled, i, affine) for i, affine in enumerate(ham.affine)]
    followed, touches = _contacts(sampled, controls)
    ends = [
        time for runs in (*controls, *followed) for run in runs for time in (run.start, run.end)
    ]
    shortest = READING.least_arc * (whole.end - whole.start)
    times = distinct(np.array(ends), whole.start, whole.end, shortest)
    times = np.union1d(times, _alternations(sampled, controls, followed, times))
    arcs: list[StartArc] = []
    for a, b in pairwise(np.unique([*times, *[time for time, _, _ in touches]]).tolist()):
        mode = _mode_at(sampled, controls, followed, 0.5 * (a + b))
        touched = tuple((j, side) for time, j, side in touches if time == a)
        arcs.append(replace(whole, mode=mode, start=a, end=b, touched=touched))
    return merged_arcs(arcs)


def _mode_at(
    sampled: Sampled, controls: list[list[Run]], followed: list[list[Run]], t: float
) -> Mode:
    ham = sampled.ham
    at = [
        AT_UPPER if c.equality else role_at(followed[j], t) for j, c in enumerate(ham.constraints)
    ]
    active = [(j, SIDES[role]) for j, role in enumerate(at) if role != FREE]
    free = [i for i, runs in enumerate(controls) if role_at(runs, t) == FREE]
    if sum(1 for j, _ in active if not ham.constraints[j].equality) > 1:
        active = _independent(sampled, active, free, t)
    roles = []
    for i, runs in enumerate(controls):
        # Held by a constraint, a control in which H is affine is as good as interior; without one
        # it is singular.
        singular = ham.affine[i] and not _determined(ham, i, [j for j, _ in active])
        roles.append(SIDES.get(role_at(runs, t), "singular" if singular else "interior"))
    holding = sum(1 for j, _ in active if not ham.constraints[j].equality)
    if holding > len(free):
        active = [(j, side) for j, side in active if ham.constraints[j].equality]
    return Mode(tuple(roles), tuple(active))


def _independent(
    sampled: Sampled, active: list[tuple[int, str]], free: list[int], t: float
) -> list[tuple[int, str]]:
    """Active constraints without mixed ones that others, with larger multipliers, imply for the
    free controls.

    Both sides of a friction cone meet at its tip: one of them holds the force there, the one
    towards which H decreases.
    """
    ham, k = sampled.ham, int(np.argmin(np.abs(sampled.cells.middle - t)))
    normals, sizes = sampled.normals()[k][:, free], np.abs(sampled.multipliers[k])
    kept: list[int] = []
    for j, _ in sorted(
        active,
        key=lambda a: (
            ham.constraints[a[0]].order == 0 and not ham.constraints[a[0]].equality,
            -sizes[a[0]],
        ),
    ):
        mixed = ham.constraints[j].order == 0 and not ham.constraints[j].equality
        rows = normals[[*kept, j]] / np.maximum(
            np.linalg.norm(normals[[*kept, j]], axis=1, keepdims=True), 1e-300
        )
        if not mixed or np.linalg.matrix_rank(rows, tol=READING.dependent) > len(kept):
            kept.append(j)
    return [a for a in active if a[0] in kept]


def _alternations(
    sampled: Sampled, controls: list[list[Run]], followed: list[list[Run]], times: Array
) -> list[float]:
    """Times between arcs at which another one of several dependent constraints holds a control."""
    found = []
    mixed = [j for j, c in enumerate(sampled.ham.constraints) if c.order == 0 and not c.equality]
    for a, b in pairwise(times.tolist()):
        if sum(1 for j in mixed if role_at(followed[j], 0.5 * (a + b)) != FREE) < 2:
            continue
        inside = sampled.cells.middle[(sampled.cells.middle > a) & (sampled.cells.middle < b)]
        modes = [_mode_at(sampled, controls, followed, t) for t in inside.tolist()]
        found += [
            0.5 * (s + t)
            for (s, t), (one, two) in zip(pairwise(inside.tolist()), pairwise(modes), strict=True)
            if one != two
        ]
    return found


def _determined(ham: PhaseHamiltonian, component: int, active: list[int]) -> bool:
    """Whether an active constraint involves a control component."""
    return any(involves(ham.constraints[j].derivatives[-1], ham.phase.u, component) for j in active)


def _control_runs(sampled: Sampled, i: int, affine: bool) -> list[Run]:
    bound, u = sampled.ham.phase.u_bound, sampled.u[:, i]
    lower, upper = bound.lower[i], bound.upper[i]
    margin = READING.near_control * control_range(u, lower, upper)
    roles = sides(u, lower, upper, margin)
    if affine:
        return absorbed(*switched(roles, sampled.cells, u, lower, upper))
    # A control that H would not move beyond its bound only touches it.
    moved = np.abs(sampled.displacement[:, i]) > margin
    return runs_of(np.where(moved, roles, FREE), sampled.cells)


def _contacts(sampled: Sampled, controls: list[list[Run]]) -> tuple[list[list[Run]], list[Touch]]:
    """By constraint, the runs on which an inequality is followed; and where one is touched."""
    followed: list[list[Run]] = []
    touches: list[Touch] = []
    t = sampled.cells.middle
    for j, constraint in enumerate(sampled.ham.constraints):
        followed.append([])
        if constraint.equality or constraint.order is None:
            continue
        values = sampled.constraint_values[:, j]
        limits = [limit for limit in (constraint.lower, constraint.upper) if np.isfinite(limit)]
        if not limits:
            continue
        size = max(float(np.ptp(values)), *[abs(limit) for limit in limits])
        near = (sampled.near if constraint.order else READING.near_control) * size
        far = (
            READING.margin
            * (READING.near_constraint if constraint.order else READING.near_control)
            * size
        )
        contacts = _boundary_contacts(sampled, j, (near, far))
        followed[j] = _followed(sampled, j, contacts, near, controls)
        if constraint.order < 2:
            touches += _held_by_bounds(sampled, j, contacts, controls) if constraint.order else []
            continue
        for side, sign in (("lower", 1.0), ("upper", -1.0)):
            if np.isfinite(constraint.limit(side)):

                def gap(
                    times: Array,
                    j: int = j,
                    sign: float = sign,
                    limit: float = constraint.limit(side),
                ) -> Array:
                    return sign * (sampled.constraint(j, times) - limit)

                distances = near, departure_ratio(constraint.order) * near
                touches += [(time, j, side) for time in touch_times(t, gap, distances, followed[j])]
    return followed, touches


def _boundary_contacts(sampled: Sampled, j: int, distances: tuple[float, float]) -> list[Run]:
    """The runs on which a constraint is at its limit.

    ``distances``: how close to its limit it counts as active, and how far from it it may be between
    mesh points.
    """
    constraint = sampled.ham.constraints[j]
    values = sampled.constraint_values[:, j]
    cells = sampled.cells
    near, far = distances
    roles = sides(values, constraint.lower, constraint.upper, near)
    close = {role: np.abs(values - constraint.limit(side)) < far for role, side in SIDES.items()}
    # Within an interval and its neighbour only: one without any contact has points of its own, at
    # which the limit would hold.
    roles = bridged(roles, close, cells.interval, 0)
    shortest = READING.least_arc * (sampled.whole.end - sampled.whole.start)
    return [
        run for run in runs_of(roles, cells) if run.role != FREE and run.end - run.start > shortest
    ]


def _held_by_bounds(
    sampled: Sampled, j: int, contacts: list[Run], controls: list[list[Run]]
) -> list[Touch]:
    """Where a constraint is met that bounds then hold: all controls that enter its rate are at
    their bounds.

    A store is empty, and nothing flows in or out.
    """
    ham, found = sampled.ham, []
    holding = [runs for i, runs in enumerate(controls) if _determined(ham, i, [j])]
    for contact in contacts:
        at_bounds = [
            run
            for runs in holding
            for run in runs
            if run.role != FREE and run.start < contact.middle < run.end
        ]
        begins = max((run.start for run in at_bounds), default=0.0)
        if len(at_bounds) == len(holding) and begins > sampled.whole.start:
            found.append((begins, j, SIDES[contact.role]))
    return found


def _followed(
    sampled: Sampled, j: int, contacts: list[Run], near: float, controls: list[list[Run]]
) -> list[Run]:
    """The boundary arcs of a constraint: longer than an interval, or than a touch explains, with a
    free control.
    """
    constraint, cells = sampled.ham.constraints[j], sampled.cells
    order = constraint.order or 0
    found = []
    for run in contacts:
        if not any(role_at(runs, run.middle) == FREE for runs in controls):
            continue
        limit = constraint.limit(SIDES[run.role])

        def gap(times: Array, limit: float = limit) -> Array:
            return np.abs(sampled.constraint(j, times) - limit)

        if (
            is_boundary_arc(run, cells.middle, gap, near, departure_ratio(order))
            if order > 1
            else run.intervals > 1
        ):
            found.append(_extended(run, j, sampled.ham, controls))
    return found


def _extended(run: Run, j: int, ham: PhaseHamiltonian, controls: list[list[Run]]) -> Run:
    """A boundary arc extended over the time in which controls with an affine H are free: only it
    can determine them there.

    Several controls may hold one constraint in turn.
    """
    covered = []
    for i, (runs, affine) in enumerate(zip(controls, ham.affine, strict=True)):
        for other in runs:
            shared = min(run.end, other.end) - max(run.start, other.start)
            if (
                affine
                and other.role == FREE
                and _determined(ham, i, [j])
                and shared > 0.5 * (other.end - other.start)
            ):
                covered.append(other)
    if not covered:
        return run
    return replace(run, start=min(r.start for r in covered), end=max(r.end for r in covered))


def _of_shooting(ham: PhaseHamiltonian, whole: StartArc, known: list[Arc]) -> list[StartArc]:
    """The arcs of an earlier shooting, or as a user gives them."""
    return merged_arcs(
        replace(
            whole,
            mode=mode_of_roles(ham, arc.roles),
            start=arc.start,
            end=arc.end,
            touched=touched_of(ham, arc),
        )
        for arc in known
    )
