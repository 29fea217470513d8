"""A robot's motion in a phase of a problem: states, controls, dynamics, limits and contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import casadi
import numpy as np

from trajopt.arguments import named_arguments
from trajopt.errors import ModelError, UsageError
from trajopt.mechanics import Robot
from trajopt.robots.contacts import add_contacts, contact_forces
from trajopt.robots.postures import posture_values
from trajopt.statement.problem import Phase

Values = Any  # numbers by joint name, a sequence, or None: open


@dataclass(frozen=True, eq=False)
class Motion:
    """The variables of a robot in a phase, and what follows from them.

    ``q`` positions, ``v`` velocities, ``a`` accelerations, ``torque`` generalized forces of the
    motors and ``forces`` three for each contact, in the ground's axes.
    """

    robot: Robot
    phase: Phase
    q: Any
    v: Any
    a: Any
    torque: Any
    forces: Any
    contacts: tuple[str, ...] = field(default=())

    def point(self, link: str) -> Any:
        """Return the origin of a link's frame in the ground's axes, (3,)."""
        return self.robot.place(link, self.q)[1]

    def rotation(self, link: str) -> Any:
        """Return the axes of a link in the ground's axes, as columns (3, 3)."""
        return self.robot.place(link, self.q)[0]

    def velocity(self, link: str) -> Any:
        """Return the velocity of the origin of a link's frame, (3,)."""
        return self.robot.velocity(link, self.q, self.v)

    def force(self, contact: str) -> Any:
        """Return the force of the ground at a contact, (3,)."""
        if contact not in self.contacts:
            raise UsageError(
                f"'{contact}' is no contact of this motion",
                expected=", ".join(self.contacts) or "contacts=[...] of the motion",
            )
        k = 3 * self.contacts.index(contact)
        return self.forces[k : k + 3]

    @property
    def effort(self) -> Any:
        """The sum of the squares of the torques of all motors, each relative to its limit."""
        limit = self.robot.column("effort")
        motors = np.flatnonzero(limit > 0)
        sizes = np.where(np.isfinite(limit), limit, 1.0)[motors]
        return casadi.sumsqr(self.torque[motors.tolist()] / casadi.DM(sizes))


@named_arguments
def motion(
    phase: Phase,
    robot: Robot,
    by: Literal["inverse", "forward"] = "inverse",
    contacts: Sequence[str] = (),
    friction: float = 0.6,
    start: Values = None,
    end: Values = None,
    at_rest: bool = True,
    guess: Values = None,
) -> Motion:
    """State the motion of a robot in a phase, within the limits of its joints.

    Parameters
    ----------
    by : "inverse" has accelerations as controls and torques as path constraints; "forward" has
        torques as controls. Inverse dynamics are cheaper and take acceleration limits.
    contacts : links whose origins stay where they are, on ground that can only push up.
    friction : the coefficient of friction; each force stays in a pyramid inside the friction cone.
    start, end : positions, by joint or in order; at rest there unless ``at_rest`` is False.
    guess : positions to begin with, if not those between start and end.

    Examples
    --------
    >>> from trajopt import Problem, solve
    >>> from trajopt.mechanics import read_robot
    >>> from problems.robots import ARM
    >>> ocp = Problem("swing")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=1.0)
    >>> m = motion(ph, read_robot(ARM), start=(0, 0, 0, 0), end=(1, 0.5, 0, 0))
    >>> ocp.minimize(ph.integral(m.effort))
    >>> solve(ocp).success
    True
    """
    if by not in ("inverse", "forward"):
        raise UsageError("'by' of a motion", got=by, expected="inverse or forward")
    contacts = tuple(contacts)
    start, end, guess = (posture_values(robot, values) for values in (start, end, guess))
    q, v = _states(phase, robot, start, end, at_rest, guess)
    forces = contact_forces(phase, robot, contacts)
    motors = np.flatnonzero(robot.column("effort") > 0).tolist()
    if not motors:
        raise ModelError(
            f"no joint of '{robot.name}' has a motor",
            hint='robot.with_limits({"elbow": {"effort": 10}})',
        )
    if by == "inverse":
        limit = robot.column("acceleration")
        names = () if robot.positions > robot.velocities else robot.joints
        a = phase.control("a", robot.velocities, components=names, **_between(-limit, limit))
        torque = robot.inverse(contacts)(q, v, a, forces)
        _limit_torques(phase, robot, torque, motors)
    else:
        a, torque = _forward(phase, robot, (q, v, forces), contacts, motors)
    rate = casadi.Function("rate", [robot.tree.q, robot.tree.v], [robot.tree.rate])
    phase.dynamics({q: rate(q, v) if robot.positions > robot.velocities else v, v: a})
    found = Motion(robot, phase, q, v, a, torque, forces, contacts)
    known = start is not None and at_rest
    add_contacts(phase, robot, contacts, (q, v, a, forces), friction, known)
    return found


def _states(
    phase: Phase, robot: Robot, start: Any, end: Any, at_rest: bool, guess: Any
) -> tuple[Any, Any]:
    lower, upper = robot.column("lower", "positions"), robot.column("upper", "positions")
    components = () if robot.positions > robot.velocities else robot.joints
    units = {getattr(c, "unit", "") for c in robot.coordinates}
    unit = units.pop() if len(units) == 1 else ""
    if guess is None and end is None and start is not None:
        guess = start
    q = phase.state(
        "q",
        robot.positions,
        start=start,
        end=end,
        guess=None if guess is None else list(guess),
        unit=unit,
        components=components,
        **_between(lower, upper),
    )
    speed, rest = robot.column("speed"), [0.0] * robot.velocities
    v = phase.state(
        "v",
        robot.velocities,
        start=rest if start is not None and at_rest else None,
        end=rest if end is not None and at_rest else None,
        unit=f"{unit}/s" if unit else "",
        components=components,
        **_between(-speed, speed),
    )
    return q, v


def _between(lower: np.ndarray, upper: np.ndarray) -> dict[str, Any]:
    """Return the bounds of a variable, as far as there are any."""
    found = {}
    for key, values in (("lower", lower), ("upper", upper)):
        if np.isfinite(values).any():
            found[key] = values
    return found


def _limit_torques(phase: Phase, robot: Robot, torque: Any, motors: list[int]) -> None:
    limit = robot.column("effort")
    limited = [i for i in motors if np.isfinite(limit[i])]
    if limited:
        share = torque[limited] / casadi.DM(limit[limited])
        phase.path(share, lower=-1.0, upper=1.0, name="torque")
    idle = np.flatnonzero(limit == 0).tolist()
    if idle:
        phase.path(torque[idle], equals=0.0, name="joints without motors")


def _forward(
    phase: Phase, robot: Robot, state: tuple[Any, Any, Any], contacts: Any, motors: list[int]
) -> tuple[Any, Any]:
    """Return accelerations and torques with the torques of the motors as controls."""
    (q, v, forces), limit = state, robot.column("effort")
    u = phase.control("torque", len(motors), **_between(-limit[motors], limit[motors]))
    all_torques = [casadi.SX(0)] * robot.velocities
    for k, i in enumerate(motors):
        all_torques[i] = u[k]
    torque = casadi.vertcat(*all_torques)
    a = robot.forward(contacts)(q, v, torque, forces)
    acceleration = robot.column("acceleration")
    limited = np.flatnonzero(np.isfinite(acceleration)).tolist()
    if limited:
        share = a[limited] / casadi.DM(acceleration[limited])
        phase.path(share, lower=-1.0, upper=1.0, name="acceleration")
    return a, torque
