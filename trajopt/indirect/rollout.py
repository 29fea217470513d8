"""A start from initial costates alone: the Hamiltonian system is integrated forward, from arc to
arc as the law says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from trajopt.errors import GuessError, suggest
from trajopt.indirect.control_law import ArcLaw, UserLaw, arc_law, user_law
from trajopt.indirect.hamiltonian import PhaseHamiltonian
from trajopt.indirect.minimize import Minimizer, idle_minimizer
from trajopt.indirect.modes import Mode, mode_of_roles, touched_of
from trajopt.indirect.settings import CHECK, START
from trajopt.indirect.start import Start, StartArc
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.curve import Curve, in_sequence
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]
NODES = np.linspace(0.0, 1.0, 8)  # of the polynomial of degree 7 that interpolates a step of DOP853


@dataclass(frozen=True)
class _Guess:
    """What a hand-given guess says about a phase."""

    t0: float
    tf: float
    x0: Array
    costate0: Array | None
    arcs: tuple[Arc, ...]


def rollout(
    form: NormalForm,
    hams: tuple[PhaseHamiltonian, ...],
    guess: Mapping[Any, Any],
    p: Array,
    law_of: Callable[[str], UserLaw | None],
) -> Start:
    """Integrate forward from initial costates, phase after phase."""
    _check_names(form, guess)
    s = np.concatenate([np.zeros(0), *[_static(q, guess) for q in form.statics]])
    arcs: list[StartArc] = []
    end: tuple[float, Array, Array] | None = None
    for i, ham in enumerate(hams):
        told = _read_guess(ham.phase, guess, end, form)
        weight = _weights(form, i, p, s, guess.get("multipliers", {}))
        walker = _PhaseIntegrator(i, ham, weight, s, p, law_of(ham.phase.name))
        arcs += _on_one_trajectory(walker.walk(told))
        last = arcs[-1]
        at_end = np.array([last.end])
        end = (last.end, last.x(at_end)[0], last.costate(at_end)[0])
    return Start(tuple(arcs), s, own_costates=True, multipliers=dict(guess.get("multipliers", {})))


def _on_one_trajectory(arcs: list[StartArc]) -> list[StartArc]:
    """The arcs of a phase, each with the trajectory of the whole phase instead of its own."""
    own = [arc.trajectory for arc in arcs]
    x, z, u, costate = (
        in_sequence([getattr(one, name) for one in own]) for name in ("x", "z", "u", "costate")
    )
    whole = Trajectory(x, z, u, costate, breaks=x.breaks)
    return [replace(arc, trajectory=whole) for arc in arcs]


class _PhaseIntegrator:
    """Integrates one phase forward, arc by arc."""

    def __init__(
        self,
        phase: int,
        ham: PhaseHamiltonian,
        weight: Array,
        s: Array,
        p: Array,
        law: UserLaw | None,
    ) -> None:
        self.phase, self.ham, self.fixed, self.law = phase, ham, (weight, s, p), law
        self.laws: dict[Mode, ArcLaw] = {}
        self.minimizer = Minimizer(ham)

    def walk(self, told: _Guess) -> list[StartArc]:
        assert told.costate0 is not None
        t, x, costate = told.t0, told.x0, told.costate0
        arcs: list[StartArc] = []
        if told.arcs:
            for arc in told.arcs:
                found, _ = self.integrate(
                    mode_of_roles(self.ham, arc.roles), t, arc.end, x, costate, events=False
                )
                arcs.append(replace(found, touched=touched_of(self.ham, arc)))
                t = found.end
                x = found.x(np.array([found.end]))[0]
                costate = found.costate(np.array([found.end]))[0]
            return arcs
        mode = self.first_mode(t, x, costate)
        while len(arcs) < START.most_arcs:
            found, switched = self.integrate(mode, t, told.tf, x, costate, events=self.law is None)
            if found.end - found.start > CHECK.vanished * (told.tf - told.t0) or switched is None:
                arcs.append(found)
            t = found.end
            x = found.x(np.array([found.end]))[0]
            costate = found.costate(np.array([found.end]))[0]
            if switched is None:
                return arcs
            mode = switched
        raise GuessError(
            f"from these initial costates the controls of phase '{self.ham.phase.name}' switch "
            f"more than {START.most_arcs} times",
            hint="give the arcs too, or another guess",
        )

    def first_mode(self, t: float, x: Array, costate: Array) -> Mode:
        ham = self.ham
        active = tuple((i, "upper") for i, c in enumerate(ham.constraints) if c.equality)
        if self.law is not None:
            return Mode(("interior",) * ham.phase.u.numel())
        u = self.minimizer(t, x, costate, self.fixed).u
        bound = ham.phase.u_bound
        roles = [
            "lower" if a >= v else "upper" if b <= v else "interior"
            for v, a, b in zip(u, bound.lower, bound.upper, strict=True)
        ]
        return Mode(tuple(roles), active)

    def integrate(
        self, mode: Mode, t: float, end: float, x: Array, costate: Array, events: bool
    ) -> tuple[StartArc, Mode | None]:
        """One arc, to its end time or to where a control component changes its role."""
        ham = self.ham
        if mode not in self.laws:
            self.laws[mode] = arc_law(ham, mode) if self.law is None else user_law(ham, self.law)
        law = self.laws[mode]
        n = law.node_size
        y0 = np.concatenate([x, costate])
        if law.v.numel():
            minimizer = idle_minimizer(law) if law.idle else self.minimizer
            y0 = np.concatenate([y0, minimizer(t, x, costate, self.fixed).unknowns(law)])
        rate, controls, algebraics = (self.function(law, e) for e in (law.rate[:n], law.u, law.z))
        watches = self.watches(law) if events else []

        def slope(t: float, y: Array) -> Array:
            return rate(np.array([t]), y[:, None])[:, 0]

        found = solve_ivp(
            slope, (t, end), y0, method="DOP853",
            rtol=START.tolerance, atol=1e-12 * (1 + np.abs(y0)),
            dense_output=True, events=[event for event, _, _ in watches] or None,
        )  # fmt: skip
        if not found.success:
            raise GuessError(
                f"from these initial costates the motion of phase '{ham.phase.name}' cannot be "
                "followed",
                got=found.message,
            )
        stop, nx = float(found.t[-1]), x.size

        knots = np.append(found.t[:-1], stop)
        times = knots[:-1, None] + np.diff(knots)[:, None] * NODES
        y = np.asarray(found.sol(times.ravel()))
        x_curve, costate_curve, u_curve, z_curve = (
            Curve.through(knots, NODES, values.T.reshape(*times.shape, -1))
            for values in (
                y[:nx],
                y[nx : 2 * nx],
                controls(times.ravel(), y),
                algebraics(times.ravel(), y),
            )
        )
        trajectory = Trajectory(x_curve, z_curve, u_curve, costate_curve, breaks=knots)
        arc = StartArc(self.phase, mode, t, stop, trajectory)
        changes = zip(watches, found.t_events or [], strict=False)
        fired = [(i, role) for (_, i, role), hits in changes if len(hits)]
        return arc, mode.with_role(*fired[0]) if fired and stop < end else None

    def function(self, law: ArcLaw, expression: Any) -> Callable[[Array, Array], Array]:
        """An expression of a law as a function of times (N,) and node values (node size, N)."""
        f = law.function(expression)
        return lambda t, y: np.asarray(f(t[None, :], y, *self.fixed).full())

    def watches(self, law: ArcLaw) -> list[tuple[Any, int, str]]:
        """Events whose zeros end an arc, with the component and the role that it has from there."""
        ham, bound, found = self.ham, self.ham.phase.u_bound, []
        for i, role in enumerate(law.mode.roles):
            if role in ("lower", "upper"):
                other = "upper" if role == "lower" else "lower"
                direction = -1 if role == "lower" else 1
                event = _event(law.function(law.stationarity[i]), self.fixed, direction)
                found.append((event, i, other if ham.affine[i] else "interior"))
            elif role == "interior":
                for side, limit, direction in (
                    ("lower", bound.lower[i], -1),
                    ("upper", bound.upper[i], 1),
                ):
                    if np.isfinite(limit):
                        distance = law.function(law.u[i] - limit)
                        found.append((_event(distance, self.fixed, direction), i, side))
        return found


def _event(function: Any, fixed: tuple[Array, ...], direction: int) -> Any:
    """A function of time and node values whose zero ends an integration by SciPy."""

    def event(t: float, y: Array) -> float:
        return float(function(t, y, *fixed))

    event.terminal = True  # type: ignore[attr-defined]  # how scipy marks events
    event.direction = direction  # type: ignore[attr-defined]
    return event


def _check_names(form: NormalForm, guess: Mapping[Any, Any]) -> None:
    known: list[str] = ["tf", "arcs", "multipliers", *[q.name for q in form.statics]]
    for ph in form.phases:
        known += [q.name for q in ph.states]
    for key in guess:
        name = key[1] if isinstance(key, tuple) else key
        if name not in known:
            raise GuessError(
                f"the guess has '{name}'",
                expected="costates by the names of states, tf, arcs",
                hint=suggest(str(name), known),
            )


def _static(q: Any, guess: Mapping[Any, Any]) -> Array:
    value = guess.get(q.name, q.guess if q.guess is not None else np.zeros(q.size))
    return np.broadcast_to(np.asarray(value, dtype=float).ravel(), (q.size,)).astype(float)


def _read_guess(
    ph: PhaseForm,
    guess: Mapping[Any, Any],
    end: tuple[float, Array, Array] | None,
    form: NormalForm,
) -> _Guess:
    t0 = (
        float(ph.start_time.lower[0])
        if ph.start_time.fixed[0]
        else (end[0] if end is not None else 0.0)
    )
    tf = float(guess.get((ph.name, "tf"), guess.get("tf", np.nan)))
    if ph.end_time.fixed[0]:
        tf = float(ph.end_time.lower[0])
    arcs: Sequence[Arc] = tuple(arc for arc in guess.get("arcs", ()) if arc.phase == ph.name)
    if arcs:
        tf = float(arcs[-1].end)
    if not np.isfinite(tf):
        raise GuessError(
            f"the end of phase '{ph.name}' is free", hint='give it in the guess: {"tf": ...}'
        )
    x0, costate = [], []
    for q in ph.states:
        key = (ph.name, q.name) if (ph.name, q.name) in guess else q.name
        if key not in guess and end is None:
            raise GuessError(
                f"the guess has no initial costate of '{q.name}'",
                expected="one for each state: " + ", ".join(s.name for s in ph.states),
            )
        fixed = q.start.fixed
        before = (
            end[1][q.rows] if end is not None and end[1].size >= q.rows.stop else np.zeros(q.size)
        )
        x0.append(np.where(fixed, q.start.lower, before))
        carried = end[2][q.rows] if end is not None and key not in guess else guess.get(key)
        try:
            given = np.asarray(carried, dtype=float).ravel()
            costate.append(np.broadcast_to(given, (q.size,)))
        except (TypeError, ValueError) as error:
            raise GuessError(
                f"the initial costate of '{q.name}' in the guess",
                got=repr(carried),
                expected="a number" if q.size == 1 else f"{q.size} numbers",
            ) from error
    return _Guess(t0, tf, np.concatenate(x0), np.concatenate(costate), tuple(arcs))


def _weights(
    form: NormalForm, i: int, p: Array, s: Array, multipliers: Mapping[str, float]
) -> Array:
    """The derivatives of the cost by the integrals, where it is linear in them."""
    q = form.phases[i].ends.q
    if not q.numel():
        return np.zeros(0)
    known = [float(multipliers.get(name, 0.0)) for name in form.b_names]
    gradient = casadi.gradient(form.phi + (casadi.dot(form.b, casadi.DM(known)) if known else 0), q)
    column = form.endpoint_column
    return np.asarray(
        casadi.Function("w", [column, form.s, form.p], [gradient])(
            np.zeros(column.numel()), s, p
        ).full()
    ).ravel()
