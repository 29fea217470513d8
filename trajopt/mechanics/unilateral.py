"""Unilateral contacts with Coulomb friction: rigid points with lift-off, touch-down, slip and
stick.

Each contact is open, or closed and sticking, or closed and sliding. For every contact either the
force is zero and the point does not approach the ground, or the point stays on the ground and the
force does not pull (Signorini); the friction force is inside its cone, or on its boundary against
the slip (Coulomb). At an event the modes are chosen that satisfy these complementarity conditions;
a touch-down is an impact without rebound, under the same conditions on impulses (Brogliato,
Nonsmooth Mechanics, chapters 5 and 6). Where impacts alternate between contacts and accumulate, the
contacts close. Events fire when the condition of the current mode is violated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import casadi
import numpy as np

from trajopt.errors import SimulationError
from trajopt.mechanics.formulations import solve_symmetric
from trajopt.mechanics.lagrange import Mechanism
from trajopt.system import Event, Variable

OPEN, STICK, FORWARD, BACKWARD = (
    0,
    1,
    2,
    3,
)  # the values of a contact's mode; the last two slide, with positive or negative slip
SENSE = {FORWARD: 1.0, BACKWARD: -1.0}

# An event fires at a violation of this size, and a mode is accepted up to a tenth of it, well above
# round-off.
DEPTH = 1e-9  # m
FORCE = 1e-6  # N
SPEED = 1e-7  # m/s, below which a point on the ground is at rest
# Impacts that alternate between contacts accumulate, with ever lower flights. A touch-down is found
# at DEPTH: the speed of that fall keeps flights from becoming lower than r^2 / (1 - r) DEPTH, r the
# ratio of successive speeds. A flight lower than RISE therefore ends the accumulation (for r <
# 0.99), and the contact stays closed.
RISE = 100 * DEPTH  # m
DRIFT = (
    1e-6  # m and m/s, allowed deviation of a closed contact, from a change of mode or a long run
)


@dataclass(frozen=True, eq=False)
class PointContact:
    """A point of a mechanism above the ground.

    Parameters
    ----------
    name : of the contact, for events and states.
    gap : distance from the ground (m), an expression of the coordinates.
    slip : velocity along the ground (m/s), linear in the velocities; None without friction.
    friction : coefficient of friction, for sticking and sliding.
    """

    name: str
    gap: casadi.SX
    slip: casadi.SX | None = None
    friction: float = 0.0


@dataclass(frozen=True, eq=False)
class ContactMotion:
    """Accelerations (n,), and normal and tangential force of each contact, for the modes in the
    state.
    """

    acceleration: casadi.SX
    normal: tuple[casadi.SX, ...]
    tangential: tuple[casadi.SX, ...]


@dataclass(frozen=True, eq=False)
class Unilateral:
    """The contacts of a mechanism that has no other constraints.

    The state of a system with these contacts is (q, v, modes, others): the modes are states of rate
    zero.
    """

    mechanism: Mechanism
    contacts: tuple[PointContact, ...]

    @cached_property
    def modes(self) -> casadi.SX:
        """Symbols of the modes, one per contact."""
        return casadi.vertcat(*[casadi.SX.sym(f"{c.name}_contact") for c in self.contacts])

    def variables(self, q: Any) -> tuple[Variable, ...]:
        """Return the modes as states, closed if the gap is zero at coordinates q; initial events
        correct inconsistent modes.
        """
        gaps = np.array(
            casadi.Function(
                "gaps", [self.mechanism.q], [casadi.vertcat(*[c.gap for c in self.contacts])]
            )(q)
        ).ravel()
        modes = [float(OPEN if gap > DRIFT else STICK) for gap in gaps]
        return tuple(
            Variable(f"{c.name}_contact", mode)
            for c, mode in zip(self.contacts, modes, strict=True)
        )

    def motion(self, force: casadi.SX) -> ContactMotion:
        """Return the equations of motion with generalized forces (n,), which may depend on the
        modes.
        """
        free, response = self._free(force), self._response
        forces = self._solved(self._jacobian @ free + self._drift)
        rows = self._rows
        normal = tuple(forces[k] for k, (_, tangential) in enumerate(rows) if not tangential)
        of = {i: forces[k] for k, (i, tangential) in enumerate(rows) if tangential}
        tangential = tuple(of.get(i, casadi.SX(0)) for i in range(len(self.contacts)))
        return ContactMotion(free + response @ forces, normal, tangential)

    def events(
        self, motion: ContactMotion, force: casadi.SX, time: casadi.SX, x: casadi.SX, p: casadi.SX
    ) -> tuple[Event, ...]:
        """Return lift-off, touch-down, slip and stick events of each contact, for a system of state
        x = (q, v, modes, others).
        """
        settle = partial(self._settled, self._functions(force, time, x, p))
        events = []
        for i, c in enumerate(self.contacts):
            mode, normal = self.modes[i], motion.normal[i]
            closed = mode > OPEN + 0.5

            def event(what: str, when: Any, margin: Any, c: PointContact = c) -> Event:
                return Event(
                    f"{c.name} {what}", casadi.if_else(when, margin, 1), -1, settle, level=True
                )

            fall = casadi.jtimes(c.gap, self.mechanism.q, self.mechanism.v)
            still = DRIFT - casadi.fmax(casadi.fabs(c.gap), casadi.fabs(fall))
            events.append(event("lift-off", closed, casadi.fmin(normal + FORCE, still)))
            events.append(event("touch-down", casadi.logic_not(closed), c.gap + DEPTH))
            if c.slip is not None:
                sticks = casadi.logic_and(closed, mode < STICK + 0.5)
                cone = c.friction * normal - casadi.fabs(motion.tangential[i]) + FORCE
                sense = casadi.if_else(mode < FORWARD + 0.5, 1, -1)
                events.append(event("slip", sticks, casadi.fmin(cone, DRIFT - casadi.fabs(c.slip))))
                events.append(event("grip", mode > STICK + 0.5, sense * c.slip + 1e-2 * SPEED))
        return tuple(events)

    @cached_property
    def _rows(self) -> tuple[tuple[int, bool], ...]:
        """(contact, True if tangential) of each row of contact forces and velocities."""
        return tuple(
            (i, t)
            for i, c in enumerate(self.contacts)
            for t in ((False,) if c.slip is None else (False, True))
        )

    @cached_property
    def _velocity(self) -> casadi.SX:
        """Normal and tangential velocities of the contact points, row by row."""
        m = self.mechanism
        along: list[Any] = [
            c.slip if t else casadi.jtimes(c.gap, m.q, m.v) for c, t in self._with_contact
        ]
        velocity: casadi.SX = casadi.vertcat(*along)
        return velocity

    @property
    def _with_contact(self) -> Iterator[tuple[PointContact, bool]]:
        return ((self.contacts[i], t) for i, t in self._rows)

    @cached_property
    def _jacobian(self) -> casadi.SX:
        return casadi.jacobian(self._velocity, self.mechanism.v)

    @cached_property
    def _drift(self) -> casadi.SX:
        return casadi.jtimes(self._velocity, self.mechanism.q, self.mechanism.v)

    @cached_property
    def _response(self) -> casadi.SX:
        """Velocity changes of unit impulses, M^-1 J^T."""
        return solve_symmetric(self.mechanism.equations.mass, casadi.densify(self._jacobian).T)

    def _free(self, force: casadi.SX) -> casadi.SX:
        return solve_symmetric(self.mechanism.equations.mass, force - self.mechanism.equations.bias)

    def _solved(self, b: casadi.SX) -> casadi.SX:
        """Return the forces that satisfy the equations of the modes: W f + b = 0 in the constrained
        directions.

        Open: no force. Sticking: no acceleration (or velocity, for impulses). Sliding: friction on
        the edge of its cone.
        """
        W = self._jacobian @ self._response
        size = len(self._rows)
        system, right = casadi.SX.zeros(size, size), casadi.SX.zeros(size)
        for k, (i, tangential) in enumerate(self._rows):
            mode = self.modes[i]
            unit = casadi.SX.zeros(1, size)
            unit[k] = 1
            held = mode > OPEN + 0.5
            if tangential:
                slides, held = mode > STICK + 0.5, casadi.logic_and(held, mode < STICK + 0.5)
                unit[k - 1] = casadi.if_else(
                    slides,
                    casadi.if_else(mode < FORWARD + 0.5, 1, -1) * self.contacts[i].friction,
                    0,
                )
            system[k, :] = casadi.if_else(held, W[k, :], unit)
            right[k] = casadi.if_else(held, -b[k], 0)
        return casadi.solve(system, right)

    def _functions(
        self, force: casadi.SX, time: casadi.SX, x: casadi.SX, p: casadi.SX
    ) -> dict[str, casadi.Function]:
        """Return functions of (t, x, p): gaps and velocities; contact forces and accelerations;
        impulses; corrections.
        """
        J, response = self._jacobian, self._response
        b = J @ self._free(force) + self._drift
        forces, impulses = self._solved(b), self._solved(self._velocity)
        W = J @ response
        normal = [k for k, (_, t) in enumerate(self._rows) if not t]
        gaps = casadi.vertcat(*[c.gap for c in self.contacts])
        shut = casadi.diag(casadi.if_else(self.modes > OPEN + 0.5, 1, 0))
        lifted = casadi.solve(
            shut @ W[normal, normal] @ shut + casadi.SX.eye(len(normal)) - shut, -shut @ gaps
        )
        return {
            name: casadi.Function(name, [time, x, p], [casadi.densify(e) for e in expressions])
            for name, expressions in {
                "at": (gaps, self._velocity),
                "forces": (forces, b + W @ forces),
                "impulses": (impulses, self._velocity + W @ impulses),
                "hit": (self.mechanism.v + response @ impulses,),
                "placed": (self.mechanism.q + response[:, normal] @ shut @ lifted,),
            }.items()
        }

    def _settled(
        self, functions: dict[str, casadi.Function], t: float, x: np.ndarray, p: np.ndarray
    ) -> np.ndarray:
        """Return the state with consistent modes, after an impact at touch-down, projected onto the
        closed contacts.
        """
        n, x = len(self.mechanism.coordinates), np.array(x, dtype=float)
        gap, velocity = (np.array(a).ravel() for a in functions["at"](t, x, p))
        closed = np.array([round(mode) != OPEN for mode in x[2 * n : 2 * n + len(self.contacts)]])
        touching = gap <= np.where(closed, 2 * DRIFT, 2 * DEPTH)
        normal = np.array(
            [velocity[k] for k, (_, tangential) in enumerate(self._rows) if not tangential]
        )
        if np.any(touching & (normal < -SPEED)):
            x = self._search(functions, "impulses", t, x, p, self._choices(touching))
            x[n : 2 * n] = np.array(functions["hit"](t, x, p)).ravel()
            _, velocity = (np.array(a).ravel() for a in functions["at"](t, x, p))
        x = self._search(functions, "forces", t, x, p, self._choices(touching, velocity))
        low = self._low_flights(functions, t, x, p, touching, velocity)
        if np.any(low):
            velocity[
                [k for k, (i, tangential) in enumerate(self._rows) if low[i] and not tangential]
            ] = 0
            x = self._search(functions, "forces", t, x, p, self._choices(touching, velocity))
        # A contact that opens after an impact is at DEPTH below the ground; unless it is placed on
        # it, it touches down again.
        on_ground = x.copy()
        modes = on_ground[2 * n : 2 * n + len(self.contacts)]
        modes[touching & (gap < -DEPTH / 2)] = STICK
        x[:n] = np.array(functions["placed"](t, on_ground, p)).ravel()
        x[n : 2 * n] = np.array(
            functions["hit"](t, x, p)
        ).ravel()  # no velocity in the constrained directions
        return x

    def _low_flights(
        self,
        functions: dict[str, casadi.Function],
        t: float,
        x: np.ndarray,
        p: np.ndarray,
        touching: np.ndarray,
        velocity: np.ndarray,
    ) -> np.ndarray:
        """True for each contact that leaves the ground and falls back from a height below RISE, in
        the modes of x.
        """
        acceleration = np.array(functions["forces"](t, x, p)[1]).ravel()
        normal = [k for k, (_, tangential) in enumerate(self._rows) if not tangential]
        speed, fall = velocity[normal], -acceleration[normal]
        low: np.ndarray = touching & (speed > SPEED) & (fall > 0) & (speed**2 <= 2 * fall * RISE)
        return low

    def _choices(
        self, touching: np.ndarray, velocity: np.ndarray | None = None
    ) -> list[tuple[int, ...]]:
        """Return the modes that are possible for these gaps and velocities; without velocities,
        those of an impact.

        What sticks comes before what slides, and that before what lets go.
        """
        at = {row: k for k, row in enumerate(self._rows)}
        choices: list[tuple[int, ...]] = []
        for i, c in enumerate(self.contacts):
            leaves = velocity is not None and velocity[at[i, False]] > SPEED
            slip = 0.0 if velocity is None or c.slip is None else velocity[at[i, True]]
            if not touching[i] or leaves:
                choices.append((OPEN,))
            elif c.slip is None:
                choices.append((STICK, OPEN))
            elif abs(slip) <= SPEED:
                choices.append((STICK, FORWARD, BACKWARD, OPEN))
            else:
                choices.append((FORWARD if slip > 0 else BACKWARD, OPEN))
        return list(itertools.product(*choices))

    def _search(
        self,
        functions: dict[str, casadi.Function],
        what: str,
        t: float,
        x: np.ndarray,
        p: np.ndarray,
        choices: list[tuple[int, ...]],
    ) -> np.ndarray:
        """Return the state with the first consistent modes: forces within their cones, open
        contacts not approaching.
        """
        n = 2 * len(self.mechanism.coordinates)
        offered = [{choice[i] for choice in choices} for i in range(len(self.contacts))]
        for modes in choices:
            tried = x.copy()
            tried[n : n + len(modes)] = modes
            force, change = (np.array(a).ravel() for a in functions[what](t, tried, p))
            if np.all(np.isfinite(force)) and self._consistent(modes, offered, force, change):
                return tried
        names = ", ".join(c.name for c in self.contacts)
        raise SimulationError(
            f"the motion of '{self.mechanism.name}' cannot continue at t = {t:.6g}",
            got=f"no {what} at the contacts ({names}) that are compressive and within the "
            "friction cones",
            hint="rigid contacts with high friction may have none (Painleve); reduce friction, or "
            "use a compliant Contact",
        )

    def _consistent(
        self, modes: tuple[int, ...], offered: list[set[int]], force: np.ndarray, change: np.ndarray
    ) -> bool:
        """True if the complementarity conditions hold; contacts that are open or already slip may
        change.
        """
        size = FORCE / 10
        for k, (i, tangential) in enumerate(self._rows):
            mode = modes[i]
            if tangential:
                if (
                    mode == STICK
                    and abs(force[k]) > self.contacts[i].friction * force[k - 1] + size
                ):
                    return False
                if mode in SENSE and STICK in offered[i] and SENSE[mode] * change[k] < -size:
                    return False
            elif (mode != OPEN and force[k] < -size) or (
                mode == OPEN and len(offered[i]) > 1 and change[k] < -size
            ):
                return False
        return True
