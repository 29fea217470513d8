"""Trees of links: planar and spatial, branching, with links of constant or variable length, in
relative or absolute angles.

A link hangs on its parent by a joint: a sequence of turns and slides, each by a coordinate, a
constant or a function of time. A loop is a tree with ``closure`` constraints. Positions and
energies are found step by step in the ground's axes. Mass matrix and bias come from composite
bodies and recursive Newton-Euler in the axes of the joints (``recursions.py``), in O(n^2) and O(n)
operations; the energies give the same by differentiation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import casadi
import numpy as np

from trajopt.errors import ModelError, suggest
from trajopt.mechanics.constraints import Constraint, Holonomic
from trajopt.mechanics.joints import (
    Ball,
    Level,
    Mimic,
    Placement,
    Quaternion,
    Slide,
    Step,
    Turn,
    axis_rotation,
    plain_steps,
    unit_axis,
)
from trajopt.mechanics.lagrange import (
    Coordinate,
    Inertia,
    Mechanism,
    Quantity,
    symbolic,
    with_symbols,
)
from trajopt.mechanics.lagrange_equations import column
from trajopt.mechanics.recursions import inverse_dynamics, mass_matrix
from trajopt.mechanics.tree_bodies import JointMotion, TreeBodies, compile_bodies, joint_motion

GROUND = "ground"


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body with its joint.

    Parameters
    ----------
    parent : the name of the link that carries it, or ``"ground"``.
    joint : the steps from the parent's frame to this link's frame.
    mass, centre : kg, and the mass centre in the link's frame (m).
    inertia : about the mass centre in the link's axes: a number (about z), three principal values,
    or a 3 x 3 matrix (kg m^2).

    Each may be a symbol: a parameter of a problem (``ocp.parameter``), or of a mechanism
    (``Quantity(...).symbol``).
    """

    name: str
    parent: str
    joint: tuple[Step, ...]
    mass: Any = 0.0
    centre: tuple[Any, Any, Any] = (0.0, 0.0, 0.0)
    inertia: Any = 0.0
    check_inertia: bool = True  # False takes a tensor that no body has as it is

    def __post_init__(self) -> None:
        if not symbolic(self.mass) and not self.mass >= 0:
            raise ModelError(
                f"link '{self.name}' has a negative mass", got=self.mass, expected="a mass >= 0"
            )
        if symbolic(self.inertia) or not self.check_inertia:
            return
        values = np.array(casadi.DM(self.tensor))
        if np.linalg.eigvalsh(values)[0] < -1e-12 * max(1.0, float(np.abs(values).max())):
            raise ModelError(
                f"link '{self.name}' has a negative moment of inertia",
                got=self.inertia,
                expected="values >= 0",
            )

    @property
    def tensor(self) -> casadi.SX:
        """The inertia tensor, (3, 3)."""
        if (
            isinstance(self.inertia, (tuple, list))
            and len(self.inertia) == 3
            and not isinstance(self.inertia[0], (tuple, list))
        ):
            return casadi.diag(column(self.inertia))
        given = casadi.SX(self.inertia if symbolic(self.inertia) else casadi.DM(self.inertia))
        if given.numel() == 1:
            return casadi.diag(casadi.vertcat(0.0, 0.0, given))
        return casadi.diag(given) if given.numel() == 3 else given

    @property
    def data(self) -> casadi.SX:
        """All values that may be symbols, as a column: mass, mass centre, inertia, constant steps
        of the joint.
        """
        moved = [
            step.by
            for step in self.joint
            if isinstance(step, (Turn, Slide)) and not isinstance(step.by, (Coordinate, Mimic))
        ]
        return casadi.vertcat(
            self.mass, column(self.centre), casadi.vec(self.tensor), column(moved)
        )


def rod(name: str, parent: str, joint: tuple[Step, ...], mass: Any, length: Any) -> Link:
    """Return a thin uniform rod along the x axis of its frame; mass and length may be symbols."""
    across = mass * length**2 / 12
    return Link(name, parent, joint, mass, (length / 2, 0.0, 0.0), (0.0, across, across))


@dataclass(frozen=True, eq=False)
class Frame:
    """Position, velocity and acceleration of a frame, in the ground's axes."""

    R: casadi.SX  # (3, 3) columns are the frame's axes
    o: casadi.SX  # (3,)
    w: casadi.SX  # angular velocity
    v: casadi.SX  # velocity of the origin
    dw: casadi.SX  # angular acceleration
    dv: casadi.SX  # acceleration of the origin

    def point(self, local: Any) -> casadi.SX:
        return self.o + self.R @ column(local)

    def velocity(self, local: Any) -> casadi.SX:
        return self.v + casadi.cross(self.w, self.R @ column(local))

    def acceleration(self, local: Any) -> casadi.SX:
        arm = self.R @ column(local)
        return (
            self.dv + casadi.cross(self.dw, arm) + casadi.cross(self.w, casadi.cross(self.w, arm))
        )


@dataclass(frozen=True, eq=False)
class Node:
    """One step of a joint, the unit of the recursions.

    ``link`` is set for the last step, which carries the link's body.
    """

    parent: int  # -1: the ground
    kind: Literal["turn", "slide", "ball", "level", "placement"]
    axis: Any  # of a turn or slide for a unit of its velocity, in the ground's axes; otherwise none
    coordinate: int  # the first of its velocities; -1: nothing free
    frame: Frame  # after the step
    link: int = -1


@dataclass(frozen=True, eq=False)
class Tree:
    """Links in a tree. ``gravity`` is the acceleration of free fall in the ground's axes.

    Examples
    --------
    A double pendulum, x down:

    >>> a, b = Coordinate("a", 0.1, unit="rad"), Coordinate("b", 0.0, unit="rad")
    >>> tree = Tree("double", (
    ...     rod("upper", "ground", (Turn("z", a),), mass=1.0, length=1.0),
    ...     rod("lower", "upper", (Slide("x", 1.0), Turn("z", b)), mass=1.0, length=1.0),
    ... ), gravity=(9.81, 0, 0))
    >>> model = tree.mechanism()
    >>> casadi.det(model.evaluate(model.equations.mass, [0, 0], [0, 0]))
    DM(0.194444)
    """

    name: str
    links: tuple[Link, ...]
    gravity: Any = (0.0, 0.0, -9.80665)
    time: casadi.SX = field(default_factory=lambda: casadi.SX.sym("t"))

    def __post_init__(self) -> None:
        seen = {GROUND}
        names = [link.name for link in self.links]
        for link in self.links:
            if link.name in seen:
                raise ModelError(f"'{self.name}': duplicate link '{link.name}'")
            if link.parent not in seen:
                raise ModelError(
                    f"'{self.name}': link '{link.name}' is joined to '{link.parent}', which does "
                    "not exist" + (" before it" if link.parent in names else ""),
                    expected=", ".join(sorted(seen)),
                    hint=suggest(link.parent, seen),
                )
            seen.add(link.name)

    @cached_property
    def coordinates(self) -> tuple[Coordinate | Quaternion, ...]:
        """Coordinates in the order of the joints."""
        found: list[Coordinate | Quaternion] = []
        for step in (s for link in self.links for s in plain_steps(link.joint)):
            by = getattr(step, "by", None)
            by = by.coordinate if isinstance(by, Mimic) else by
            if isinstance(by, (Coordinate, Quaternion)) and by not in found:
                found.append(by)
        return tuple(found)

    @cached_property
    def q(self) -> casadi.SX:
        """Symbols of the positions; a quaternion has four."""
        return column([c.q for c in self.coordinates])

    @cached_property
    def v(self) -> casadi.SX:
        """Symbols of the velocities; a quaternion has three."""
        return column([c.v for c in self.coordinates])

    @cached_property
    def rate(self) -> casadi.SX:
        """The rates of the positions: the velocities, where there is no quaternion."""
        return column([c.rate if isinstance(c, Quaternion) else c.v for c in self.coordinates])

    @cached_property
    def accelerations(self) -> casadi.SX:
        """Symbols of the accelerations, (n,)."""
        return casadi.SX.sym("a", self.v.numel())

    @cached_property
    def _places(self) -> dict[int, int]:
        """The first velocity of each coordinate, by its id."""
        sizes = [c.v.numel() for c in self.coordinates]
        starts = np.cumsum([0, *sizes])
        return {id(c): int(k) for c, k in zip(self.coordinates, starts[:-1], strict=True)}

    def joint_motion(self, by: Any) -> JointMotion:
        """Return position, rate and acceleration of a step ``by``."""
        return joint_motion(by, self._places, self.accelerations, self.time)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All joint steps, parents first, with frame and motion (forward recursion of
        Newton-Euler).
        """
        zero = casadi.SX.zeros(3, 1)
        ground = Frame(casadi.SX.eye(3), zero, zero, zero, zero, zero)
        last: dict[str, int] = {GROUND: -1}
        nodes: list[Node] = []
        for number, link in enumerate(self.links):
            here = last[link.parent]
            steps = plain_steps(link.joint) or (Placement(),)
            for place, step in enumerate(steps):
                before = nodes[here].frame if here >= 0 else ground
                nodes.append(
                    self._advance(step, before, here, number if place == len(steps) - 1 else -1)
                )
                here = len(nodes) - 1
            last[link.name] = here
        return tuple(nodes)

    def _advance(
        self,
        step: Turn | Slide | Level | Placement | Ball,
        f: Frame,
        parent: int,
        link: int,
    ) -> Node:
        cross, zero = casadi.cross, casadi.SX.zeros(3, 1)
        if isinstance(step, Level):
            level = Frame(casadi.SX.eye(3), f.o, zero, f.v, zero, f.dv)
            return Node(parent, "level", None, -1, level, link)
        if isinstance(step, Placement):
            shift, rotation = step.shift, casadi.SX(casadi.DM(step.rotation))
            v, dv = f.velocity(shift), f.acceleration(shift)
            placed = Frame(f.R @ rotation, f.point(shift), f.w, v, f.dw, dv)
            return Node(parent, "placement", None, -1, placed, link)
        motion = self.joint_motion(step.by)
        if isinstance(step, Ball):
            R = f.R @ motion.rotation
            spin, push = R @ motion.dx, R @ motion.ddx
            turned = Frame(R, f.o, f.w + spin, f.v, f.dw + push + cross(f.w, spin), f.dv)
            return Node(parent, "ball", None, motion.place, turned, link)
        local = unit_axis(step.axis, self.name)
        x, dx, ddx = motion.x, motion.dx, motion.ddx
        s = f.R @ casadi.SX(casadi.DM(local))
        axis = s if motion.ratio == 1.0 else motion.ratio * s
        if isinstance(step, Turn):
            w, dw = f.w + s * dx, f.dw + s * ddx + cross(f.w, s * dx)
            turned = Frame(f.R @ axis_rotation(local, x), f.o, w, f.v, dw, f.dv)
            return Node(parent, "turn", axis, motion.place, turned, link)
        arm = s * x
        v = f.v + cross(f.w, arm) + s * dx
        dv = (
            f.dv + cross(f.dw, arm) + cross(f.w, cross(f.w, arm)) + 2 * cross(f.w, s * dx) + s * ddx
        )
        moved = Frame(f.R, f.o + arm, f.w, v, f.dw, dv)
        return Node(parent, "slide", axis, motion.place, moved, link)

    # Geometry
    # ----------------------------------------------------------------------------------------------

    def frame(self, link: str) -> Frame:
        """Return the frame of a link or of the ground."""
        if link == GROUND:
            zero = casadi.SX.zeros(3, 1)
            return Frame(casadi.SX.eye(3), zero, zero, zero, zero, zero)
        for node in self.nodes:
            if node.link >= 0 and self.links[node.link].name == link:
                return node.frame
        names = [x.name for x in self.links]
        raise ModelError(
            f"'{self.name}' has no link '{link}'",
            expected=", ".join((GROUND, *names)),
            hint=suggest(link, names),
        )

    def point(self, link: str, local: Any = (0.0, 0.0, 0.0)) -> casadi.SX:
        """Return the position of a point of a link, (3,), in the ground's axes."""
        return self.frame(link).point(local)

    def closure(
        self,
        name: str,
        first: str,
        second: str,
        points: tuple[Any, Any] = ((0, 0, 0), (0, 0, 0)),
        axes: str = "xyz",
    ) -> tuple[Holonomic, ...]:
        """Return loop-closure constraints: a point of one link coincides with a point of another,
        along the given axes.
        """
        gap = self.point(first, points[0]) - self.point(second, points[1])
        return tuple(Holonomic(f"{name}.{axis}", gap["xyz".index(axis)], "m") for axis in axes)

    def force_at(self, link: str, force: Any, local: Any = (0.0, 0.0, 0.0)) -> dict[str, casadi.SX]:
        """Return the generalized forces of a force (3,), in the ground's axes, at a point of a
        link.
        """
        Q = casadi.jtimes(
            self.point(link, local),
            casadi.vertcat(*[c.q for c in self.coordinates]),
            casadi.SX(force),
            True,
        )
        return {c.name: Q[k] for k, c in enumerate(self.coordinates)}

    # Energies and equations
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def kinetic(self) -> casadi.SX:
        total = casadi.SX(0)
        for link, frame in self._bodies():
            spin = frame.R.T @ frame.w
            v = frame.velocity(link.centre)
            total += 0.5 * link.mass * casadi.dot(v, v) + 0.5 * casadi.dot(spin, link.tensor @ spin)
        return total

    @cached_property
    def potential(self) -> casadi.SX:
        g = casadi.vertcat(*[casadi.SX(x) for x in self.gravity])
        return -sum(
            (link.mass * casadi.dot(g, frame.point(link.centre)) for link, frame in self._bodies()),
            casadi.SX(0),
        )

    @cached_property
    def compiled(self) -> TreeBodies:
        """The links as bodies in the axes of their joints, for the recursions."""
        return compile_bodies(self)

    @cached_property
    def _gravity(self) -> casadi.SX:
        return column(list(self.gravity))

    @cached_property
    def torques(self) -> casadi.SX:
        """Generalized forces of the motion (q, v, a) by recursive Newton-Euler, (n,)."""
        return inverse_dynamics(self.compiled.bodies, self.v.numel(), self._gravity)

    @cached_property
    def mass(self) -> casadi.SX:
        """The mass matrix by composite bodies, (n, n)."""
        return mass_matrix(self.compiled.bodies, self.v.numel())

    @cached_property
    def bias(self) -> casadi.SX:
        return casadi.substitute(
            self.torques, self.accelerations, casadi.SX.zeros(self.accelerations.shape)
        )

    def mechanism(
        self,
        forces: Mapping[str, Any] | None = None,
        constraints: Sequence[Constraint] = (),
        controls: Sequence[Quantity] = (),
        parameters: Sequence[Quantity] = (),
    ) -> Mechanism:
        """Return the tree as a mechanism, with generalized forces, closures
        and other constraints.
        """
        if not self.coordinates:
            raise ModelError(
                f"'{self.name}' has no coordinates",
                hint='give a joint a coordinate: Turn("z", Coordinate("theta"))',
            )
        coordinates = tuple(c for c in self.coordinates if isinstance(c, Coordinate))
        if len(coordinates) < len(self.coordinates):
            raise ModelError(
                f"'{self.name}' has quaternions, whose rates are not velocities",
                expected="coordinates whose rates are the velocities",
                hint="state its motion by trajopt.robots.motion, or use three turns for a ball",
            )
        return Mechanism(
            self.name,
            coordinates,
            self.kinetic,
            self.potential,
            forces=dict(forces or {}),
            constraints=tuple(constraints),
            controls=tuple(controls),
            parameters=with_symbols(parameters, (link.data for link in self.links), self.time),
            time=self.time,
            inertia=Inertia(self.mass, self.bias),
        )

    def _bodies(self) -> list[tuple[Link, Frame]]:
        return [(self.links[node.link], node.frame) for node in self.nodes if node.link >= 0]
