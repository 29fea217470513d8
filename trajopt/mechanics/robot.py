"""Robots: a tree of links with limits of its joints, from a file or written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi
import numpy as np

from trajopt.arguments import named_arguments, named_methods
from trajopt.errors import ModelError, UsageError, suggest
from trajopt.mechanics.chains import GROUND, Link, Tree
from trajopt.mechanics.formulations import solve_symmetric
from trajopt.mechanics.joints import Quaternion
from trajopt.mechanics.lagrange import Coordinate
from trajopt.mechanics.recursions import (
    GROUND_POSE,
    Load,
    Pose,
    forward_dynamics,
    ground_poses,
    inverse_dynamics,
    mass_matrix,
    shares_coordinates,
)

INF = float("inf")


@dataclass(frozen=True)
class JointLimits:
    """Limits and losses of a joint, in m, rad, N, N m and s.

    ``rotor`` is the inertia of the motor's rotor times the square of the gear ratio; ``stiffness``
    and ``rest`` belong to a spring. ``friction`` is dry friction, which the equations leave out.
    """

    lower: float = -INF
    upper: float = INF
    speed: float = INF
    effort: float = INF  # 0: no motor
    acceleration: float = INF
    rotor: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0


@dataclass(frozen=True, eq=False)
class Visual:
    """A shape to draw on a link: "box", "cylinder" (along z), "sphere", or the file of a mesh.

    ``size`` is three lengths of a box, radius and length of a cylinder, the radius of a sphere, or
    three scales of a mesh.
    """

    link: str
    shape: str
    size: tuple[float, ...]
    shift: Any = (0.0, 0.0, 0.0)
    rotation: Any = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@named_methods
@dataclass(frozen=True, eq=False)
class Robot:
    """A tree of links, the limits of its joints by name, and shapes to draw.

    Examples
    --------
    >>> from trajopt.mechanics import Coordinate, Turn, rod
    >>> swing = Coordinate("swing", unit="rad")
    >>> tree = Tree("pendulum", (rod("bar", "ground", (Turn("y", swing),), 2.0, 1.0),))
    >>> robot = Robot("pendulum", tree, {"swing": JointLimits(effort=10.0)})
    >>> robot.torques([0.0], [0.0], [0.0])
    DM(-9.80665)
    >>> robot.place("bar", [0.0])[1]
    DM([0, 0, 0])
    """

    name: str
    tree: Tree
    limits: Mapping[str, JointLimits] = field(default_factory=dict)
    visuals: tuple[Visual, ...] = ()

    def __post_init__(self) -> None:
        for name, limits in self.limits.items():
            _require_joint(self, name)
            _check_limits(self.name, name, limits)
        complete = {c.name: self.limits.get(c.name, JointLimits()) for c in self.coordinates}
        object.__setattr__(self, "limits", complete)

    def __repr__(self) -> str:
        return f"<Robot '{self.name}': {', '.join(self.joints)}>"

    @property
    def coordinates(self) -> tuple[Coordinate | Quaternion, ...]:
        return self.tree.coordinates

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints, in the order of the positions."""
        return tuple(c.name for c in self.coordinates)

    @property
    def links(self) -> tuple[str, ...]:
        """The names of links and other frames."""
        return tuple(link.name for link in self.tree.links)

    @cached_property
    def positions(self) -> int:
        """The number of positions: four for a quaternion."""
        return int(self.tree.q.numel())

    @cached_property
    def velocities(self) -> int:
        """The number of velocities: three for a quaternion."""
        return int(self.tree.v.numel())

    @property
    def start(self) -> np.ndarray:
        """The positions that the file gives, (positions,)."""
        return np.concatenate([np.atleast_1d(c.start) for c in self.coordinates])

    def column(self, key: str, of: str = "velocities") -> np.ndarray:
        """Return a limit of all joints, as often as a joint has velocities or positions.

        Quaternions have no limits of position.
        """
        parts = []
        for c in self.coordinates:
            size = c.q.numel() if of == "positions" else c.v.numel()
            value = getattr(self.limits[c.name], key)
            if isinstance(c, Quaternion) and key in ("lower", "upper"):
                value = getattr(JointLimits(), key)
            parts.append(np.full(size, value))
        return np.concatenate(parts)

    def with_limits(
        self, table: str | Path | Mapping[str, Any] | None = None, **everywhere: float
    ) -> Robot:
        """Return the robot with other limits.

        ``table`` is a TOML file, a ``joint_limits.yaml``, or a dictionary by joint; entries beside
        the joints, and keywords, hold for all joints with motors.

        >>> from trajopt.mechanics import Coordinate, Turn, rod
        >>> tree = Tree("arm", (rod("bar", "ground", (Turn("y", Coordinate("a")),), 2.0, 1.0),))
        >>> robot = Robot("arm", tree).with_limits({"a": {"effort": 5.0}}, acceleration=15.0)
        >>> robot.limits["a"].effort, robot.limits["a"].acceleration
        (5.0, 15.0)
        """
        from trajopt.mechanics.joint_limits import read_limits

        units = {c.name: getattr(c, "unit", "rad") or "rad" for c in self.coordinates}
        given = read_limits(table or {}, units, everywhere)
        limits = dict(self.limits)
        for name, entries in given.items():
            if name is None:
                for joint in self.joints:
                    if limits[joint].effort > 0:
                        limits[joint] = replace(limits[joint], **entries)
        for name, entries in given.items():
            if name is not None:
                _require_joint(self, name)
                limits[name] = replace(limits[name], **entries)
        return replace(self, limits=limits)

    # Geometry
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def _poses(self) -> list[Pose]:
        return ground_poses(self.tree.compiled.bodies)

    def pose(self, link: str) -> Pose:
        """Return rotation and origin of a link's frame, as expressions in ``tree.q``."""
        mounts = self.tree.compiled.mounts
        if link not in mounts:
            raise ModelError(
                f"'{self.name}' has no link '{link}'",
                expected=", ".join((GROUND, *self.links)),
                hint=suggest(link, self.links),
            )
        mount = mounts[link]
        body = GROUND_POSE if mount.body < 0 else self._poses[mount.body]
        return body.of(mount)

    def place(self, link: str, q: Any) -> tuple[Any, Any]:
        """Return rotation (3, 3) and origin (3,) of a link's frame at positions."""
        pose = self.pose(link)
        function = casadi.Function("place", [self.tree.q], [casadi.cse(pose.R), casadi.cse(pose.o)])
        R, o = function(q)
        return R, o

    def velocity(self, link: str, q: Any, v: Any) -> Any:
        """Return the velocity of the origin of a link's frame, (3,)."""
        tree = self.tree
        rate = casadi.jtimes(self.pose(link).o, tree.q, tree.rate)
        return casadi.Function("velocity", [tree.q, tree.v], [casadi.cse(rate)])(q, v)

    @property
    def weight(self) -> float:
        """The weight of all links (N)."""
        mass = sum(float(link.mass) for link in self.tree.links)
        return mass * float(np.linalg.norm(np.array(self.tree.gravity, float)))

    # Dynamics
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def _gravity(self) -> casadi.SX:
        return casadi.vertcat(*[casadi.SX(x) for x in self.tree.gravity])

    def inverse(self, contacts: Sequence[str] = ()) -> casadi.Function:
        """Return the function (q, v, a, forces) -> torques of a motion.

        ``forces`` are three for each contact, in the ground's axes, at the origin of the link.
        """
        tree, n = self.tree, self.velocities
        forces = casadi.SX.sym("forces", 3 * len(contacts))
        loads = _loads(self, contacts, forces)
        tau = inverse_dynamics(tree.compiled.bodies, n, self._gravity, loads)
        tau += casadi.DM(self.column("rotor")) * tree.accelerations + _losses(self)
        return casadi.Function(
            "torques", [tree.q, tree.v, tree.accelerations, forces], [casadi.cse(tau)]
        )

    def forward(self, contacts: Sequence[str] = ()) -> casadi.Function:
        """Return the function (q, v, torques, forces) -> accelerations."""
        tree, bodies, n = self.tree, self.tree.compiled.bodies, self.velocities
        torque, forces = casadi.SX.sym("torque", n), casadi.SX.sym("forces", 3 * len(contacts))
        loads, rotors = _loads(self, contacts, forces), casadi.SX(self.column("rotor"))
        missing = torque - _losses(self)
        if shares_coordinates(bodies):
            still = casadi.SX.zeros(n, 1)
            bias = inverse_dynamics(bodies, n, self._gravity, loads)
            bias = casadi.substitute(bias, tree.accelerations, still)
            mass = mass_matrix(bodies, n) + casadi.diag(rotors)
            a = solve_symmetric(mass, missing - bias)
        else:
            a = forward_dynamics(bodies, missing, self._gravity, loads, rotors)
        return casadi.Function("accelerations", [tree.q, tree.v, torque, forces], [casadi.cse(a)])

    def torques(self, q: Any, v: Any, a: Any) -> Any:
        """Return the torques of a motion without contacts, (velocities,)."""
        return self.inverse()(q, v, a, casadi.DM(0, 1))

    @cached_property
    def mass_matrix(self) -> casadi.Function:
        """The function q -> mass matrix, with the rotors."""
        M = mass_matrix(self.tree.compiled.bodies, self.velocities)
        M += casadi.diag(casadi.DM(self.column("rotor")))
        return casadi.Function("mass", [self.tree.q], [casadi.cse(M)])


def _check_limits(robot: str, joint: str, limits: JointLimits) -> None:
    """Raise where no motion is within the limits of a joint."""
    if limits.lower > limits.upper:
        raise ModelError(
            f"robot '{robot}': the lower limit of joint '{joint}' exceeds the upper limit",
            got=f"{limits.lower:g} to {limits.upper:g}",
            expected="lower <= upper",
        )
    for name in ("speed", "effort", "acceleration", "rotor", "damping", "friction", "stiffness"):
        if not getattr(limits, name) >= 0:
            raise ModelError(
                f"robot '{robot}': {name} of joint '{joint}'",
                got=getattr(limits, name),
                expected="a number of at least 0",
            )


def _require_joint(robot: Robot, joint: str) -> None:
    if joint not in robot.joints:
        raise ModelError(
            f"'{robot.name}' has no joint '{joint}'",
            expected=", ".join(robot.joints),
            hint=suggest(joint, robot.joints),
        )


def _losses(robot: Robot) -> casadi.SX:
    """Return the forces of damping and springs, which motors have to overcome, (n,)."""
    damping = casadi.DM(robot.column("damping")) * robot.tree.v
    springs = []
    for c in robot.coordinates:
        limit = robot.limits[c.name]
        stretch = casadi.SX.zeros(3) if isinstance(c, Quaternion) else c.q - limit.rest
        springs.append(limit.stiffness * stretch)
    return damping + casadi.vertcat(*springs)


def _loads(robot: Robot, contacts: Sequence[str], forces: casadi.SX) -> list[Load]:
    for name in contacts:
        robot.pose(name)  # raises for an unknown link
    mounts = robot.tree.compiled.mounts
    return [Load(mounts[n], forces[3 * i : 3 * i + 3]) for i, n in enumerate(contacts)]


@named_arguments
def read_robot(
    path: str | Path,
    payload: tuple[str, float, Sequence[float]] | None = None,
    limits: str | Path | Mapping[str, Any] | None = None,
    fixed: Mapping[str, float] | None = None,
    floating: bool = False,
    gravity: Sequence[float] | None = None,
) -> Robot:
    """Read a robot from a URDF or an MJCF file.

    Parameters
    ----------
    payload : a link, a mass (kg) and its centre in the axes of the link (m).
    limits : other limits than those of the file, and those it lacks: see ``Robot.with_limits``.
    fixed : joints that stay at a position.
    floating : whether the base of a URDF moves freely.
    gravity : acceleration of free fall, (0, 0, -9.81) or what the file says.

    Examples
    --------
    >>> from problems.robots import ARM
    >>> robot = read_robot(ARM, payload=("tool", 1.0, (0, 0, 0)))
    >>> robot.joints
    ('base', 'shoulder', 'elbow', 'wrist')
    """
    from trajopt.mechanics.robot_files import is_mjcf

    path = Path(path)
    if is_mjcf(path):
        from trajopt.mechanics.mjcf import read_mjcf

        robot = read_mjcf(path, fixed or {})
    else:
        from trajopt.mechanics.urdf import read_urdf

        robot = read_urdf(path, fixed or {}, floating)
    tree = robot.tree
    if gravity is not None:
        tree = replace(tree, gravity=tuple(gravity))
    if payload is not None:
        try:
            link, mass, (x, y, z) = payload
            mass, x, y, z = float(mass), float(x), float(y), float(z)
        except (TypeError, ValueError) as error:
            raise UsageError(
                "read_robot: payload",
                got=repr(payload),
                expected="a link, a mass and its centre, as in ('tool', 1.0, (0, 0, 0))",
            ) from error
        robot.pose(link)
        tree = replace(tree, links=(*tree.links, Link("payload", link, (), mass, (x, y, z))))
    robot = replace(robot, tree=tree)
    return robot if limits is None else robot.with_limits(limits)
