"""Trees of links: planar and spatial, branching, with links of constant or variable length, in relative or absolute angles.

A link hangs on its parent by a joint: a sequence of turns and slides, each by a coordinate, a constant or a function of time. A
loop is a tree with ``closure`` constraints. Mass matrix and bias come from composite bodies and recursive Newton-Euler, in
O(n^2) and O(n) operations, which is fast for chains of fifty links; the energies give the same by differentiation.
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
from trajopt.mechanics.lagrange import Coordinate, Inertia, Mechanism, Quantity, symbolic, with_symbols
from trajopt.mechanics.lagrange_equations import column

GROUND = "ground"
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class Turn:
    """A rotation about an axis of the moving frame, by a coordinate, a constant or an expression of time (rad)."""

    axis: str | tuple[float, float, float]
    by: Any


@dataclass(frozen=True, eq=False)
class Slide:
    """A shift along an axis of the moving frame, by a coordinate, a constant or an expression of time (m)."""

    axis: str | tuple[float, float, float]
    by: Any


@dataclass(frozen=True, eq=False)
class Level:
    """Reset the orientation to the axes of the ground: the following turns are absolute angles."""


Step = Turn | Slide | Level


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body with its joint.

    Parameters
    ----------
    parent : the name of the link that carries it, or ``"ground"``.
    joint : the steps from the parent's frame to this link's frame.
    mass, centre : kg, and the mass centre in the link's frame (m).
    inertia : about the mass centre in the link's axes: a number (about z), three principal values, or a 3 x 3 matrix (kg m^2).

    Each may be a symbol: a parameter of a problem (``ocp.parameter``), or of a mechanism (``Quantity(...).symbol``).
    """

    name: str
    parent: str
    joint: tuple[Step, ...]
    mass: Any = 0.0
    centre: tuple[Any, Any, Any] = (0.0, 0.0, 0.0)
    inertia: Any = 0.0

    def __post_init__(self) -> None:
        if not symbolic(self.mass) and not self.mass >= 0:
            raise ModelError(f"link '{self.name}' has a negative mass", got=self.mass, expected="a mass >= 0")
        if symbolic(self.inertia):
            return
        values = np.array(casadi.DM(self.tensor))
        if np.linalg.eigvalsh(values)[0] < -1e-12 * max(1.0, float(np.abs(values).max())):
            raise ModelError(f"link '{self.name}' has a negative moment of inertia", got=self.inertia, expected="values >= 0")

    @property
    def tensor(self) -> casadi.SX:
        """The inertia tensor, (3, 3)."""
        if isinstance(self.inertia, (tuple, list)) and len(self.inertia) == 3 and not isinstance(self.inertia[0], (tuple, list)):
            return casadi.diag(column(self.inertia))
        given = casadi.SX(self.inertia if symbolic(self.inertia) else casadi.DM(self.inertia))
        if given.numel() == 1:
            return casadi.diag(casadi.vertcat(0.0, 0.0, given))
        return casadi.diag(given) if given.numel() == 3 else given

    @property
    def data(self) -> casadi.SX:
        """All values that may be symbols, as a column: mass, mass centre, inertia, constant steps of the joint."""
        moved = [step.by for step in self.joint if not isinstance(step, Level) and not isinstance(step.by, Coordinate)]
        return casadi.vertcat(self.mass, column(self.centre), casadi.vec(self.tensor), column(moved))


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
        return self.dv + casadi.cross(self.dw, arm) + casadi.cross(self.w, casadi.cross(self.w, arm))


@dataclass(frozen=True, eq=False)
class Node:
    """One step of a joint, the unit of the recursions. ``link`` is set for the last step, which carries the link's body."""

    parent: int  # -1: the ground
    kind: Literal["turn", "slide", "level"]
    axis: Any  # in the ground's axes; none where the step levels
    coordinate: int  # -1: nothing free
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
                    f"'{self.name}': link '{link.name}' is joined to '{link.parent}', which does not exist"
                    + (" before it" if link.parent in names else ""),
                    expected=", ".join(sorted(seen)),
                    hint=suggest(link.parent, seen),
                )
            seen.add(link.name)

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Coordinates in the order of the joints."""
        found: list[Coordinate] = []
        for link in self.links:
            for step in link.joint:
                by = getattr(step, "by", None)
                if isinstance(by, Coordinate) and by not in found:
                    found.append(by)
        return tuple(found)

    @cached_property
    def accelerations(self) -> casadi.SX:
        """Symbols of the accelerations, (n,)."""
        return casadi.SX.sym("a", len(self.coordinates))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All joint steps, parents first, with frame and motion (forward recursion of Newton-Euler)."""
        zero = casadi.SX.zeros(3, 1)
        ground = Frame(casadi.SX.eye(3), zero, zero, zero, zero, zero)
        last: dict[str, int] = {GROUND: -1}
        nodes: list[Node] = []
        for number, link in enumerate(self.links):
            here = last[link.parent]
            steps: tuple[Step, ...] = link.joint or (Slide("x", 0.0),)
            for place, step in enumerate(steps):
                before = nodes[here].frame if here >= 0 else ground
                nodes.append(self._advance(step, before, here, number if place == len(steps) - 1 else -1))
                here = len(nodes) - 1
            last[link.name] = here
        return tuple(nodes)

    def _advance(self, step: Step, f: Frame, parent: int, link: int) -> Node:
        if isinstance(step, Level):
            zero = casadi.SX.zeros(3, 1)
            return Node(parent, "level", None, -1, Frame(casadi.SX.eye(3), f.o, zero, f.v, zero, f.dv), link)
        local = _unit(step.axis, self.name)
        x, dx, ddx, coordinate = self._moved_by(step.by)
        s = f.R @ casadi.SX(local)
        cross = casadi.cross
        if isinstance(step, Turn):
            turned = Frame(f.R @ _rotation(local, x), f.o, f.w + s * dx, f.v, f.dw + s * ddx + cross(f.w, s * dx), f.dv)
            return Node(parent, "turn", s, coordinate, turned, link)
        arm = s * x
        v = f.v + cross(f.w, arm) + s * dx
        dv = f.dv + cross(f.dw, arm) + cross(f.w, cross(f.w, arm)) + 2 * cross(f.w, s * dx) + s * ddx
        return Node(parent, "slide", s, coordinate, Frame(f.R, f.o + arm, f.w, v, f.dw, dv), link)

    def _moved_by(self, by: Any) -> tuple[casadi.SX, casadi.SX, casadi.SX, int]:
        if isinstance(by, Coordinate):
            k = self.coordinates.index(by)
            return by.q, by.v, self.accelerations[k], k
        x = casadi.SX(by)
        rate = casadi.jacobian(x, self.time)
        return x, rate, casadi.jacobian(rate, self.time), -1

    # Geometry ---------------------------------------------------------------------------------------------------------------

    def frame(self, link: str) -> Frame:
        """Return the frame of a link or of the ground."""
        if link == GROUND:
            zero = casadi.SX.zeros(3, 1)
            return Frame(casadi.SX.eye(3), zero, zero, zero, zero, zero)
        for node in self.nodes:
            if node.link >= 0 and self.links[node.link].name == link:
                return node.frame
        names = [x.name for x in self.links]
        raise ModelError(f"'{self.name}' has no link '{link}'", expected=", ".join((GROUND, *names)), hint=suggest(link, names))

    def point(self, link: str, local: Any = (0.0, 0.0, 0.0)) -> casadi.SX:
        """Return the position of a point of a link, (3,), in the ground's axes."""
        return self.frame(link).point(local)

    def closure(
        self, name: str, first: str, second: str, points: tuple[Any, Any] = ((0, 0, 0), (0, 0, 0)), axes: str = "xyz"
    ) -> tuple[Holonomic, ...]:
        """Return loop-closure constraints: a point of one link coincides with a point of another, along the given axes."""
        gap = self.point(first, points[0]) - self.point(second, points[1])
        return tuple(Holonomic(f"{name}.{axis}", gap["xyz".index(axis)], "m") for axis in axes)

    def force_at(self, link: str, force: Any, local: Any = (0.0, 0.0, 0.0)) -> dict[str, casadi.SX]:
        """Return the generalized forces of a force (3,), in the ground's axes, at a point of a link."""
        Q = casadi.jtimes(self.point(link, local), casadi.vertcat(*[c.q for c in self.coordinates]), casadi.SX(force), True)
        return {c.name: Q[k] for k, c in enumerate(self.coordinates)}

    # Energies and equations -------------------------------------------------------------------------------------------------

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
        return -sum((link.mass * casadi.dot(g, frame.point(link.centre)) for link, frame in self._bodies()), casadi.SX(0))

    @cached_property
    def torques(self) -> casadi.SX:
        """Generalized forces of the motion (q, v, a) by recursive Newton-Euler, (n,)."""
        g = casadi.vertcat(*[casadi.SX(x) for x in self.gravity])
        cross, zero = casadi.cross, casadi.SX.zeros(3, 1)
        moment, force = [zero] * len(self.nodes), [zero] * len(self.nodes)  # about the ground's origin
        tau = [casadi.SX(0)] * len(self.coordinates)
        for k in reversed(range(len(self.nodes))):
            node = self.nodes[k]
            f = node.frame
            if node.link >= 0:
                link = self.links[node.link]
                inertia = f.R @ link.tensor @ f.R.T
                F = link.mass * (f.acceleration(link.centre) - g)
                force[k] = force[k] + F
                moment[k] = moment[k] + cross(f.point(link.centre), F) + inertia @ f.dw + cross(f.w, inertia @ f.w)
            if node.coordinate >= 0:
                along = force[k] if node.kind == "slide" else moment[k] - cross(f.o, force[k])
                tau[node.coordinate] = tau[node.coordinate] + casadi.dot(node.axis, along)
            if node.parent >= 0:
                # With absolute angles the force is passed to the parent, the moment to the ground.
                passed = cross(f.o, force[k]) if node.kind == "level" else moment[k]
                moment[node.parent], force[node.parent] = moment[node.parent] + passed, force[node.parent] + force[k]
        return casadi.vertcat(*tau)

    @cached_property
    def mass(self) -> casadi.SX:
        """The mass matrix by composite bodies, all about the ground's origin, so that no transformations are needed."""
        n, cross = len(self.coordinates), casadi.cross
        entries: list[list[Any]] = [[0.0] * n for _ in range(n)]
        bodies = self._composites()
        for k, node in enumerate(self.nodes):
            if node.coordinate < 0:
                continue
            m, mc, inertia = bodies[k]
            w, v = _twist(node)
            p, h = m * v + cross(w, mc), inertia @ w + cross(mc, v)  # momentum of everything outboard, for a unit rate
            j = k
            while j >= 0:
                above = self.nodes[j]
                if above.kind == "level":
                    h = cross(above.frame.o, p)
                elif above.coordinate >= 0:
                    w, v = _twist(above)
                    entry = casadi.dot(w, h) + casadi.dot(v, p)
                    entries[above.coordinate][node.coordinate] += entry
                    if j != k:
                        entries[node.coordinate][above.coordinate] += entry
                j = above.parent
        return casadi.SX(casadi.vertcat(*[casadi.horzcat(*row) for row in entries]))

    @cached_property
    def bias(self) -> casadi.SX:
        return casadi.substitute(self.torques, self.accelerations, casadi.SX.zeros(self.accelerations.shape))

    def mechanism(
        self,
        forces: Mapping[str, Any] | None = None,
        constraints: Sequence[Constraint] = (),
        controls: Sequence[Quantity] = (),
        parameters: Sequence[Quantity] = (),
    ) -> Mechanism:
        """Return the tree as a mechanism, with generalized forces, closures and other constraints."""
        if not self.coordinates:
            raise ModelError(
                f"'{self.name}' has no coordinates", hint='give a joint a coordinate: Turn("z", Coordinate("theta"))'
            )
        return Mechanism(
            self.name,
            self.coordinates,
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

    def _composites(self) -> list[tuple[casadi.SX, casadi.SX, casadi.SX]]:
        """Return mass, first moment and inertia about the ground's origin of the composite body of each node."""
        bodies = [(casadi.SX(0), casadi.SX.zeros(3, 1), casadi.SX.zeros(3, 3)) for _ in self.nodes]

        def add(k: int, m: casadi.SX, c: casadi.SX, central: casadi.SX) -> None:
            bodies[k] = (bodies[k][0] + m, bodies[k][1] + c, bodies[k][2] + central)

        for k in reversed(range(len(self.nodes))):
            node = self.nodes[k]
            if node.link >= 0:
                link = self.links[node.link]
                c, m = node.frame.point(link.centre), casadi.SX(link.mass)
                add(k, m, m * c, node.frame.R @ link.tensor @ node.frame.R.T + m * _spread(c))
            if node.parent >= 0:
                m, mc, inertia = bodies[k]
                if node.kind == "level":  # absolute angles transmit only the translation of the origin: a point mass
                    mc, inertia = m * node.frame.o, m * _spread(node.frame.o)
                add(node.parent, m, mc, inertia)
        return bodies


def _twist(node: Node) -> tuple[casadi.SX, casadi.SX]:
    """Return angular velocity and velocity at the ground's origin for a unit rate of the node's coordinate."""
    if node.kind == "slide":
        return casadi.SX.zeros(3, 1), node.axis
    return node.axis, casadi.cross(node.frame.o, node.axis)


def _spread(c: casadi.SX) -> casadi.SX:
    return casadi.dot(c, c) * casadi.SX.eye(3) - c @ c.T


def _unit(axis: str | tuple[float, float, float], owner: str) -> casadi.DM:
    vector = np.asarray(AXES.get(axis, (0.0, 0.0, 0.0)) if isinstance(axis, str) else axis, dtype=float)
    length = float(np.linalg.norm(vector))
    if vector.shape != (3,) or length == 0.0:
        raise ModelError(f"'{owner}': invalid axis", got=axis, expected="'x', 'y', 'z' or three numbers")
    return casadi.DM(vector / length)


def _rotation(axis: casadi.DM, angle: casadi.SX) -> casadi.SX:
    """Rodrigues' rotation c E + s [a] + (1 - c) a a^T, without the round-off of c + (1 - c) about the axes of the frame."""
    a, c, s = np.array(axis).ravel(), casadi.cos(angle), casadi.sin(angle)
    K = np.array(casadi.DM(casadi.skew(axis)))
    R = casadi.SX(3, 3)
    for i in range(3):
        for j in range(3):
            along, kept = a[i] * a[j], float(i == j)
            R[i, j] = s * K[i, j] + (1.0 if along == kept == 1.0 else c * kept + (1 - c) * along)
    return R
