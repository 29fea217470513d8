"""Bodies of a tree in their own axes: what the recursions of ``recursions.py`` run over.

Each step that moves makes a body whose origin lies on the joint and one of whose axes is the axis
of the joint, so that a rotation costs four products a vector. Constant steps become the placement
of the next body on its parent. Inertial constants are regrouped towards the ground.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import casadi
import numpy as np

from trajopt.mechanics.joints import (
    Ball,
    Level,
    Mimic,
    Placement,
    Quaternion,
    Slide,
    Turn,
    axis_rotation,
    plain_steps,
    skew,
    unit_axis,
)
from trajopt.mechanics.lagrange import Coordinate

if TYPE_CHECKING:
    from trajopt.mechanics.chains import Link, Tree

GROUND = -1
ROUND_OFF = 1e-12  # entries of constant rotations so near to 0, 1 or -1 are those


@dataclass(frozen=True, eq=False)
class JointMotion:
    """Position, rate and acceleration of one joint step.

    ``place`` is the first of its velocities, -1 where it is a constant or a function of time, and
    ``ratio`` its motion for a unit of that velocity.
    """

    x: casadi.SX  # (1,), or the quaternion (4,)
    dx: casadi.SX  # (1,), or the angular velocity (3,)
    ddx: casadi.SX
    place: int = -1
    ratio: float = 1.0
    rotation: Any = None  # (3, 3) of a ball


@dataclass(frozen=True, eq=False)
class Inertials:
    """Mass, first moment m c (3,) and inertia about the origin (3, 3), in the axes of a body."""

    mass: casadi.SX
    first: casadi.SX
    tensor: casadi.SX

    def __add__(self, other: Inertials) -> Inertials:
        return Inertials(
            self.mass + other.mass, self.first + other.first, self.tensor + other.tensor
        )

    def seen_from(self, R: casadi.SX, o: casadi.SX) -> Inertials:
        """Return the same about another origin, in other axes: r -> R r + o."""
        h, m = R @ self.first, self.mass
        # Steiner's theorem: I + 2 (h.o) E - h o^T - o h^T + m ((o.o) E - o o^T).
        crossed = 2.0 * casadi.dot(h, o) * casadi.SX.eye(3) - h @ o.T - o @ h.T
        turned = R @ self.tensor @ R.T
        return Inertials(m, h + m * o, symmetric(turned + crossed + m * point_inertia(o)))


@dataclass(frozen=True, eq=False)
class JointedBody:
    """A body with the joint that it hangs by on its parent."""

    parent: int  # GROUND, or the place of an earlier body
    kind: Literal["turn", "slide", "ball", "level"]
    axis: int  # the axis of a turn or slide: 0, 1 or 2, of the body
    R: casadi.SX  # (3, 3) rotation from the body's axes to the parent's where the joint is at zero
    o: casadi.SX  # (3,) the joint's place on the parent
    motion: JointMotion
    inertials: Inertials


@dataclass(frozen=True, eq=False)
class Mount:
    """A frame that is fixed to a body: r in its axes is R r + o in the body's."""

    body: int
    R: casadi.SX
    o: casadi.SX

    def placed(self, R: casadi.SX, o: casadi.SX) -> Mount:
        """Return a frame that is fixed to this one."""
        return Mount(self.body, rounded(self.R @ R), self.o + self.R @ o)


@dataclass(frozen=True, eq=False)
class TreeBodies:
    """The bodies, parents first, and the frames of the links on them."""

    bodies: tuple[JointedBody, ...]
    mounts: Mapping[str, Mount]


def nothing() -> Inertials:
    """Return the inertials of a body without mass."""
    return Inertials(casadi.SX(0), casadi.SX.zeros(3, 1), casadi.SX.zeros(3, 3))


def compile_bodies(tree: Tree) -> TreeBodies:
    """Compile the links of a tree to bodies with regrouped inertial constants."""
    bodies: list[JointedBody] = []
    mounts = {"ground": Mount(GROUND, casadi.SX.eye(3), casadi.SX.zeros(3, 1))}
    carried: list[Inertials] = []
    for link in tree.links:
        here = mounts[link.parent]
        for step in plain_steps(link.joint):
            here = _after(step, here, tree, bodies)
        carried.extend(nothing() for _ in range(len(bodies) - len(carried)))
        mounts[link.name] = here
        if here.body != GROUND:
            carried[here.body] += _inertials(link).seen_from(here.R, here.o)
    loaded = [replace(b, inertials=i) for b, i in zip(bodies, carried, strict=True)]
    return TreeBodies(tuple(_regrouped(loaded)), mounts)


def _inertials(link: Link) -> Inertials:
    """Return the inertials of a link about the origin of its frame."""
    m, c = casadi.SX(link.mass), casadi.vertcat(*[casadi.SX(x) for x in link.centre])
    return Inertials(m, m * c, link.tensor + m * point_inertia(c))


def _after(
    step: Turn | Slide | Level | Placement | Ball,
    here: Mount,
    tree: Tree,
    bodies: list[JointedBody],
) -> Mount:
    """Return the frame after a step, adding a body where the step moves."""
    zero, eye = casadi.SX.zeros(3, 1), casadi.SX.eye(3)
    if isinstance(step, Placement):
        return here.placed(casadi.SX(casadi.DM(step.rotation)), _column(step.shift))
    if isinstance(step, Level):
        none = JointMotion(zero, zero, zero)
        bodies.append(JointedBody(here.body, "level", 0, eye, here.o, none, nothing()))
        return Mount(len(bodies) - 1, eye, zero)
    motion = tree.joint_motion(step.by)
    if isinstance(step, Ball):
        bodies.append(JointedBody(here.body, "ball", 0, here.R, here.o, motion, nothing()))
        return Mount(len(bodies) - 1, eye, zero)
    axis = unit_axis(step.axis, tree.name)
    if motion.place < 0 and motion.dx.is_zero() and motion.ddx.is_zero():
        along = casadi.SX(casadi.DM(axis)) * motion.x
        if isinstance(step, Slide):
            return here.placed(eye, along)
        return here.placed(axis_rotation(axis, motion.x), zero)
    at, Q = _aligned(axis)
    kind: Literal["turn", "slide"] = "turn" if isinstance(step, Turn) else "slide"
    R = rounded(here.R @ casadi.SX(casadi.DM(Q.T)))
    bodies.append(JointedBody(here.body, kind, at, R, here.o, motion, nothing()))
    return Mount(len(bodies) - 1, casadi.SX(casadi.DM(Q)), zero)


def _aligned(axis: np.ndarray) -> tuple[int, np.ndarray]:
    """Return a coordinate axis and a rotation that takes a unit vector to it."""
    at = int(np.argmax(np.abs(axis)))
    target = np.eye(3)[at]
    # The smallest rotation to the nearer one of both directions of the coordinate axis.
    near = target if axis @ target > 0 else -target
    K = skew(np.cross(axis, near))
    Q = np.eye(3) + K + K @ K / (1.0 + float(axis @ near))
    if axis @ target < 0:
        other = np.roll(target, 1)
        Q = (2.0 * np.outer(other, other) - np.eye(3)) @ Q  # and half a turn
    return at, np.where(np.abs(Q - np.round(Q)) < ROUND_OFF, np.round(Q), Q)


def _regrouped(bodies: list[JointedBody]) -> list[JointedBody]:
    """Move to the parent what its joint does not move: fewer constants for the same equations
    (base parameters: Gautier and Khalil 1990).
    """
    kept = [body.inertials for body in bodies]
    for k in reversed(range(len(bodies))):
        body = bodies[k]
        passed = _unmoved(body, kept[k])
        kept[k] = kept[k] + Inertials(-passed.mass, -passed.first, -passed.tensor)
        kept[k] = replace(kept[k], tensor=_without_round_off(kept[k].tensor, body.inertials.tensor))
        if body.kind == "level":
            kept[k] = nothing()
        if body.parent != GROUND:
            kept[body.parent] += passed.seen_from(body.R, body.o)
    return [replace(body, inertials=own) for body, own in zip(bodies, kept, strict=True)]


def _unmoved(body: JointedBody, own: Inertials) -> Inertials:
    """Return the part of a body that its joint leaves where it is on the parent, for a slide the
    inertia of an orientation.
    """
    if body.kind == "slide":
        return Inertials(casadi.SX(0), casadi.SX.zeros(3, 1), own.tensor)
    if body.kind in ("ball", "level"):
        # A point mass at the joint.
        return Inertials(own.mass, casadi.SX.zeros(3, 1), casadi.SX.zeros(3, 3))
    # Turns: masses on the axis, with a moment of inertia across it that is the same all around.
    across = (body.axis + 1) % 3, (body.axis + 2) % 3
    first, tensor = casadi.SX.zeros(3, 1), casadi.SX.zeros(3, 3)
    first[body.axis] = own.first[body.axis]
    for i in across:
        tensor[i, i] = own.tensor[across[0], across[0]]
    return Inertials(own.mass, first, tensor)


def joint_motion(by: Any, places: Mapping[int, int], a: casadi.SX, t: casadi.SX) -> JointMotion:
    """Return the motion of a step by a coordinate, a mimic, a quaternion, a constant or a function
    of time; ``places`` has the first velocity of each coordinate by its id.
    """
    if isinstance(by, Quaternion):
        k = places[id(by)]
        return JointMotion(by.q, by.v, a[k : k + 3], k, rotation=by.rotation)
    if isinstance(by, Mimic):
        k, c = places[id(by.coordinate)], by.coordinate
        x = by.ratio * c.q + by.offset
        return JointMotion(x, by.ratio * c.v, by.ratio * a[k], k, by.ratio)
    if isinstance(by, Coordinate):
        k = places[id(by)]
        return JointMotion(by.q, by.v, a[k], k)
    x = casadi.SX(by)
    rate = casadi.jacobian(x, t)
    return JointMotion(x, rate, casadi.jacobian(rate, t))


def point_inertia(c: casadi.SX) -> casadi.SX:
    """Return the inertia about the origin of a unit mass at a point, (3, 3)."""
    return casadi.dot(c, c) * casadi.SX.eye(3) - c @ c.T


def symmetric(matrix: casadi.SX) -> casadi.SX:
    """Return a symmetric matrix with one expression for both of its triangles."""
    return casadi.triu2symm(casadi.triu(matrix))


def rounded(matrix: casadi.SX) -> casadi.SX:
    """Return a matrix without round-off of constant entries near 0, 1 or -1."""
    if not matrix.is_constant():
        return matrix
    values = np.array(casadi.DM(matrix), dtype=float)
    size = max(1.0, float(np.abs(values).max()))
    near = np.abs(values - np.round(values)) < ROUND_OFF * size
    return casadi.SX(casadi.DM(np.where(near & (np.abs(values) < 1.5), np.round(values), values)))


def _without_round_off(tensor: casadi.SX, before: casadi.SX) -> casadi.SX:
    """Return a tensor without what round-off left of the entries that were passed on."""
    if not (tensor.is_constant() and before.is_constant()):
        return tensor
    values, size = np.array(casadi.DM(tensor)), np.abs(np.array(casadi.DM(before))).max()
    return casadi.SX(casadi.DM(np.where(np.abs(values) < 1e-15 * size, 0.0, values)))


def _column(entries: Any) -> casadi.SX:
    return casadi.vertcat(*[casadi.SX(e) for e in entries])
