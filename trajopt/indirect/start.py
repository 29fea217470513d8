"""A start for shooting: trajectories of states, costates and controls on a sequence of arcs, from
whatever guess there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.control_law import ArcLaw, GuessPoints
from trajopt.indirect.minimize import idle_minimizer
from trajopt.indirect.modes import Mode
from trajopt.indirect.settings import READING, START
from trajopt.statement.normal_form import NamedVector, NormalForm
from trajopt.trajectory.arcs import together
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.naming import trajectory_of
from trajopt.trajectory.solution import Solution
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]
Along = Callable[[Array], Array]  # times (N,) -> values (N, n)


@dataclass(frozen=True, eq=False)
class StartArc:
    """One arc of a start: what holds on it, and the trajectory of its phase, which is good enough
    to begin with.

    The values at the ends of the arc are the limits from inside, since controls and costates may
    jump there.
    """

    phase: int
    mode: Mode
    start: float
    end: float
    trajectory: Trajectory
    # state constraints that are only touched where the arc begins
    touched: tuple[tuple[int, str], ...] = ()
    continuous: bool | None = (
        None  # whether controls are where the arc begins; None: as the laws on both sides show
    )

    def times(self, tau: Array) -> Array:
        return np.asarray(np.where(tau < 1.0, self.start + (self.end - self.start) * tau, self.end))

    def x(self, t: Array) -> Array:
        return self._at(self.trajectory.x, t)

    def costate(self, t: Array) -> Array:
        assert self.trajectory.costate is not None
        return self._at(self.trajectory.costate, t)

    def u(self, t: Array) -> Array:
        return self._at(self.trajectory.u, t)

    def z(self, t: Array) -> Array:
        return self._at(self.trajectory.z, t)

    def _at(self, curve: Curve, t: Array) -> Array:
        return curve.evaluate(np.clip(t, curve.breaks[0], curve.breaks[-1]), left=t == self.end)


def merged_arcs(arcs: Iterable[StartArc]) -> list[StartArc]:
    """Arcs in which neighbours are one if nothing happens between them."""
    return together(
        arcs,
        lambda one, two: one.phase == two.phase and one.mode == two.mode and not two.touched,
        lambda one, two: replace(one, end=two.end),
    )


@dataclass(frozen=True, eq=False)
class Start:
    """All arcs in order of phases and time, and static variables.

    ``own_costates``: on state-constrained arcs the costates are already those of the flow, which
    adjoins the last derivative of the constraint.
    """

    arcs: tuple[StartArc, ...]
    s: Array
    own_costates: bool = False
    # of conditions by name, where the guess has them
    multipliers: Mapping[str, float] = field(default_factory=dict)
    integrals: tuple[Array, ...] | None = None  # of each phase, where they are known
    # on which endpoint conditions are held, by name, where known
    sides: Mapping[str, str | None] = field(default_factory=dict)
    near: float = READING.near_constraint  # as ``near_of`` gives it

    @property
    def structure(self) -> tuple[object, ...]:
        """Phase, mode, touched constraints and beginning of each arc, and the endpoint conditions
        that were decided about.
        """
        return (
            *[(arc.phase, arc.mode, arc.touched, arc.continuous) for arc in self.arcs],
            *sorted(self.sides.items(), key=str),
        )

    def of_phase(self, i: int) -> list[StartArc]:
        return [arc for arc in self.arcs if arc.phase == i]


def endpoint_values(form: NormalForm, start: Start, p: Array) -> Array:
    """The column of endpoint values and integrals of all phases; integrals that the start does not
    have come by quadrature.
    """
    values = list[Array]()
    for i, ph in enumerate(form.phases):
        arcs = start.of_phase(i)
        times = np.array([arcs[0].start, arcs[-1].end])
        x0, xf = arcs[0].x(times[:1])[0], arcs[-1].x(times[1:])[0]
        q = start.integrals[i] if start.integrals is not None else _integrals(form, i, start, p)
        others = np.zeros(ph.ends.column.numel() - 2 - 2 * x0.size - q.size)
        values += [times, x0, xf, others, q]
    return np.concatenate(values)


def _integrals(form: NormalForm, i: int, start: Start, p: Array) -> Array:
    ph, total = form.phases[i], np.zeros(form.phases[i].l.numel())
    if not total.size:
        return total
    integrands = casadi.Function(
        "integrands", [ph.t, ph.x, ph.z, ph.u, form.s, form.p], [casadi.densify(ph.l)]
    )
    points, weights = np.polynomial.legendre.leggauss(START.samples)
    for arc in start.of_phase(i):
        t = arc.times(0.5 + 0.5 * points)
        values = np.asarray(
            integrands(t[None, :], arc.x(t).T, arc.z(t).T, arc.u(t).T, start.s, p).full()
        )
        total = total + 0.5 * (arc.end - arc.start) * values @ weights
    return np.nan_to_num(total)


@dataclass(frozen=True, eq=False)
class Scales:
    """Typical sizes in a phase."""

    x: Array
    costate: Array
    u: Array
    duration: float


def shooting_scales(form: NormalForm, start: Start) -> list[Scales]:
    """What was declared by ``scale=``, else the largest values along the start; costates near zero
    by their part in the cost.
    """
    result = []
    tau = np.linspace(0.0, 1.0, START.samples)
    for i, ph in enumerate(form.phases):
        arcs = start.of_phase(i)
        x, costate, u = (
            np.max(
                [
                    np.abs(along(arc.times(tau))).max(axis=0)
                    for arc, along in ((a, getattr(a, name)) for a in arcs)
                ],
                axis=0,
            )
            for name in ("x", "costate", "u")
        )
        x = declared_sizes(ph.states, np.where(x > 1e-12 * max(1.0, float(x.max())), x, 1.0))
        part = float(np.max(costate * x))
        costate = np.maximum(costate, (1e-3 * part if part > 0 else 1.0) / x)
        bound = ph.u_bound
        span = np.where(
            np.isfinite(bound.lower) & np.isfinite(bound.upper), bound.upper - bound.lower, 0.0
        )
        u = declared_sizes(ph.controls, np.maximum(np.where(u > 0, u, 1.0), span))
        result.append(Scales(x, costate, u, arcs[-1].end - arcs[0].start))
    return result


def declared_sizes(quantities: tuple[NamedVector, ...], found: Array) -> Array:
    """The sizes that were declared, and those that were found for the others."""
    sizes = found.copy()
    for q in quantities:
        if q.scale is not None:
            sizes[q.rows] = np.broadcast_to(np.asarray(q.scale, dtype=float).ravel(), (q.size,))
    return sizes


def weights_at(form: NormalForm, start: Start, p: Array) -> list[Array]:
    """The derivatives of the cost by the integrals, and of conditions on integrals as far as their
    multipliers are known.
    """
    symbols = [form.endpoint_column, form.s, form.p]
    known = [start.multipliers.get(name, 0.0) for name in form.b_names]
    G = form.phi + (casadi.dot(form.b, casadi.DM(known)) if known else 0)
    gradients = [
        casadi.gradient(G, ph.ends.q) if ph.ends.q.numel() else form.symbols(0, 1)
        for ph in form.phases
    ]
    found: Any = casadi.Function("weights", symbols, gradients)(
        endpoint_values(form, start, p), start.s, p
    )
    found = [found] if len(form.phases) == 1 else found
    return [np.asarray(w.full()).ravel() for w in found]


def samples_of(arc: StartArc, weight: Array, s: Array, p: Array) -> GuessPoints:
    """Points of an arc at which its singular order is judged."""
    times = arc.times(np.linspace(0.05, 0.95, 9))
    columns = [times[None, :], arc.x(times).T, arc.costate(times).T]
    fixed = [np.repeat(c[:, None], times.size, axis=1) for c in (weight, s, p)]
    return GuessPoints((*columns, *fixed), arc.u(times).T, arc.z(times).T)


def node_variables(arc: StartArc, law: ArcLaw, weight: Array, s: Array, p: Array) -> Along:
    """(x, costate, v) at normalised times of the arc; v solves the equations of the law."""
    ham = law.hamiltonian
    if not law.v.numel():
        return lambda tau: np.concatenate(
            [arc.x(arc.times(tau)), arc.costate(arc.times(tau))], axis=1
        )
    by_v = casadi.densify(casadi.jacobian(law.residual, law.v))
    equations = casadi.Function("equations", [law.v, *ham.arguments], [law.residual, by_v])

    decided = _decided(arc, law, (weight, s, p)) if law.idle else None

    def values(tau: Array) -> Array:
        t = arc.times(tau)
        x, costate, u, z = arc.x(t), arc.costate(t), arc.u(t), arc.z(t)
        if decided is not None:
            u[:, list(law.idle)] = decided(t)
        v = law.v_start(u.T, z.T, np.zeros((0, t.size)))
        v = _multipliers_first(
            equations,
            v,
            len(law.mode.active) + ham.phase.g.numel(),
            (t, x, costate),
            (weight, s, p),
        )
        v = _polished(equations, v, (t, x, costate), (weight, s, p))
        return np.concatenate([x, costate, v.T], axis=1)

    return values


def _decided(arc: StartArc, law: ArcLaw, fixed: tuple[Array, ...]) -> Along:
    """Controls that H leaves open, near what they should be: a guess may have any values there."""
    minimizer = idle_minimizer(law)
    times = arc.times(np.linspace(0.0, 1.0, START.decisions))
    x, costate, u = arc.x(times), arc.costate(times), arc.u(times)
    found: list[Array] = []
    for k, t in enumerate(times):
        near = u[k].copy()
        if found:
            near[list(law.idle)] = found[-1]
        found.append(
            minimizer(t, x[k], costate[k], fixed, near if found else None).u[list(law.idle)]
        )
    known = np.array(found)
    return lambda t: known[np.abs(t[:, None] - times[None, :]).argmin(axis=1)]


def _evaluate(
    equations: casadi.Function, v: Array, at: tuple[Array, ...], fixed: tuple[Array, ...]
) -> tuple[Array, Array]:
    residual, jacobian = equations(v, at[0][None, :], at[1].T, at[2].T, *fixed)
    n, count = v.shape
    return np.asarray(residual.full()).T, np.asarray(jacobian.full()).reshape(
        n, count, n
    ).transpose(1, 0, 2)


def _multipliers_first(
    equations: casadi.Function,
    v: Array,
    count: int,
    at: tuple[Array, ...],
    fixed: tuple[Array, ...],
) -> Array:
    """Multipliers enter linearly: with them in place first, the full system does not leave the
    branch of the controls.
    """
    if not count:
        return v
    residual, jacobian = _evaluate(equations, v, at, fixed)
    v[-count:] -= np.einsum("nij,nj->in", np.linalg.pinv(jacobian[:, :, -count:]), residual)
    return v


def _polished(
    equations: casadi.Function, v: Array, at: tuple[Array, ...], fixed: tuple[Array, ...]
) -> Array:
    """A few Newton steps; where they lead far away the start is kept, and shooting corrects it."""
    first = v.copy()
    with np.errstate(all="ignore"):
        for _ in range(8):
            residual, jacobian = _evaluate(equations, v, at, fixed)
            step = np.linalg.solve(jacobian + 1e-14 * np.eye(v.shape[0]), residual[:, :, None])[
                :, :, 0
            ]
            v = v - step.T
            if np.all(np.abs(step) < 1e-12 * (1 + np.abs(v.T))):
                break
    far = ~np.all(np.isfinite(v), axis=0) | (
        np.abs(v - first).max(axis=0) > 1.0 + np.abs(first).max(axis=0)
    )
    v[:, far] = first[:, far]
    return v


def start_from(form: NormalForm, solution: Solution) -> Start:
    """Trajectories of a solution; every phase is one arc, on which all controls are interior."""
    arcs, trajectories = [], []
    for i, ph in enumerate(form.phases):
        given = solution.phase(ph.name)
        trajectory = trajectory_of(ph, given)
        mode = Mode(("interior",) * ph.u.numel())
        arcs.append(StartArc(i, mode, given.t0, given.tf, trajectory))
        trajectories.append(trajectory)
    s = [np.asarray(solution.variables[q.name], dtype=float).ravel() for q in form.statics]
    known = all(
        trajectory.integrals.size == ph.ends.q.numel()
        for trajectory, ph in zip(trajectories, form.phases, strict=True)
    )
    return Start(
        tuple(arcs),
        np.concatenate([np.zeros(0), *s]),
        multipliers=dict(solution.multipliers),
        integrals=tuple(trajectory.integrals for trajectory in trajectories) if known else None,
        near=near_of(solution),
    )


def near_of(solution: Solution) -> float:
    """How close to a limit a state constraint counts as active, of the size of its values: by the
    error of the solution.
    """
    error = float(solution.error) if np.isfinite(solution.error) else READING.near_constraint
    return float(np.clip(READING.margin * error, READING.least_near, READING.near_constraint))
