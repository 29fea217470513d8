"""Dynamics of a tree of bodies in their own axes: recursive Newton-Euler, composite bodies and
articulated bodies (Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, chapters 5 to 7).

Spatial quantities are kept as pairs of three. A ``level`` joint, which resets the orientation to
the ground's axes, transmits a force but no moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi

from trajopt.mechanics.formulations import solve_symmetric
from trajopt.mechanics.tree_bodies import (
    GROUND,
    Inertials,
    JointedBody,
    Mount,
    point_inertia,
    symmetric,
)

Bodies = Sequence[JointedBody]
cross = casadi.cross


@dataclass(frozen=True, eq=False)
class Load:
    """A force from outside (3,), in the ground's axes, at the origin of a frame."""

    mount: Mount
    force: casadi.SX


@dataclass(frozen=True, eq=False)
class Pose:
    """Rotation and origin of a body: r in its axes is R r + o in its parent's, or the ground's."""

    R: casadi.SX
    o: casadi.SX

    def of(self, mount: Mount) -> Pose:
        """Return where a frame on the body is."""
        return Pose(self.R @ mount.R, self.o + self.R @ mount.o)


GROUND_POSE = Pose(casadi.SX.eye(3), casadi.SX.zeros(3, 1))


def ground_poses(bodies: Bodies) -> list[Pose]:
    """Return where each body is in the ground's axes."""
    found: list[Pose] = []
    for body in bodies:
        above = GROUND_POSE if body.parent == GROUND else found[body.parent]
        if body.kind == "level":
            found.append(Pose(casadi.SX.eye(3), above.o + above.R @ body.o))
        else:
            own = _joint_pose(body)
            found.append(Pose(above.R @ own.R, above.o + above.R @ own.o))
    return found


def parent_poses(bodies: Bodies) -> list[Pose]:
    """Return where each body is in its parent's axes."""
    levels = any(body.kind == "level" for body in bodies)
    ground = ground_poses(bodies) if levels else []
    found = []
    for body in bodies:
        if body.kind == "level":
            above = GROUND_POSE if body.parent == GROUND else ground[body.parent]
            found.append(Pose(above.R.T, body.o))
        else:
            found.append(_joint_pose(body))
    return found


def _joint_pose(body: JointedBody) -> Pose:
    x = body.motion.x
    if body.kind == "slide":
        return Pose(body.R, body.o + body.R[:, body.axis] * x)
    if body.kind == "ball":
        return Pose(body.R @ body.motion.rotation, body.o)
    c, s = casadi.cos(x), casadi.sin(x)
    i, j = (body.axis + 1) % 3, (body.axis + 2) % 3
    turn = casadi.SX.eye(3)
    turn[i, i], turn[j, j], turn[i, j], turn[j, i] = c, c, -s, s
    return Pose(body.R @ turn, body.o)


def joint_directions(body: JointedBody) -> list[tuple[casadi.SX, casadi.SX]]:
    """Return angular velocity and velocity of the origin, in the body's axes, for a unit of each of
    the joint's velocities.
    """
    zero, eye = casadi.SX.zeros(3, 1), casadi.densify(casadi.SX.eye(3))
    if body.motion.place < 0:
        return []
    if body.kind == "ball":
        return [(eye[:, i], zero) for i in range(3)]
    unit = body.motion.ratio * eye[:, body.axis]
    return [(unit, zero)] if body.kind == "turn" else [(zero, unit)]


def inverse_dynamics(
    bodies: Bodies, n: int, gravity: casadi.SX, loads: Sequence[Load] = ()
) -> casadi.SX:
    """Return the generalized forces (n,) of the motion of the joints: recursive Newton-Euler."""
    poses = parent_poses(bodies)
    force, moment = _inertial_forces(bodies, poses, gravity)
    for place, F, N in _on_bodies(bodies, loads):
        force[place], moment[place] = force[place] - F, moment[place] - N
    tau = [casadi.SX(0)] * n
    for k in reversed(range(len(bodies))):
        body, k0 = bodies[k], bodies[k].motion.place
        if body.kind == "ball":
            for i in range(3):
                tau[k0 + i] += moment[k][i]
        elif k0 >= 0:
            along = moment[k] if body.kind == "turn" else force[k]
            tau[k0] += body.motion.ratio * along[body.axis]
        if body.parent != GROUND:
            F = poses[k].R @ force[k]
            N = cross(poses[k].o, F)
            if body.kind != "level":
                N += poses[k].R @ moment[k]
            force[body.parent], moment[body.parent] = (
                force[body.parent] + F,
                moment[body.parent] + N,
            )
    return casadi.vertcat(*tau)


def _inertial_forces(
    bodies: Bodies, poses: list[Pose], gravity: casadi.SX
) -> tuple[list[casadi.SX], list[casadi.SX]]:
    """Return the force on each body, and the moment about its origin, that its motion takes; the
    ground is accelerated against gravity instead of weights.
    """
    zero = casadi.SX.zeros(3, 1)
    spins: list[casadi.SX] = []
    angular: list[casadi.SX] = []
    accelerations: list[casadi.SX] = []
    shears: list[casadi.SX] = []
    force: list[casadi.SX] = []
    moment: list[casadi.SX] = []
    for body, pose in zip(bodies, poses, strict=True):
        p = body.parent
        w0, dw0 = (zero, zero) if p == GROUND else (spins[p], angular[p])
        dv0, U0 = (
            (-gravity, casadi.SX.zeros(3, 3)) if p == GROUND else (accelerations[p], shears[p])
        )
        dv = pose.R.T @ (dv0 + U0 @ pose.o)
        w, dw = (zero, zero) if body.kind == "level" else (pose.R.T @ w0, pose.R.T @ dw0)
        w, dw, dv = _with_joint(body, w, dw, dv)
        # A point r of the body has the acceleration dv + U r.
        U = _shear(w, dw)
        m, h, J = body.inertials.mass, body.inertials.first, body.inertials.tensor
        force.append(m * dv + U @ h)
        moment.append(J @ dw + cross(w, J @ w) + cross(h, dv))
        spins.append(w)
        angular.append(dw)
        accelerations.append(dv)
        shears.append(U)
    return force, moment


def _shear(w: casadi.SX, dw: casadi.SX) -> casadi.SX:
    """Return U = [dw] + [w][w], (3, 3)."""
    x, y, z = w[0], w[1], w[2]
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    rows = (
        (-yy - zz, xy - dw[2], xz + dw[1]),
        (xy + dw[2], -xx - zz, yz - dw[0]),
        (xz - dw[1], yz + dw[0], -xx - yy),
    )
    return casadi.vertcat(*[casadi.horzcat(*row) for row in rows])


def _with_joint(
    body: JointedBody, w: casadi.SX, dw: casadi.SX, dv: casadi.SX
) -> tuple[casadi.SX, casadi.SX, casadi.SX]:
    """Return angular velocity, angular acceleration and acceleration of the origin after a joint,
    from those that the parent has there, in the body's axes.
    """
    dx, ddx = body.motion.dx, body.motion.ddx
    if body.kind == "level":
        return w, dw, dv
    if body.kind == "ball":
        return w + dx, dw + ddx + cross(w, dx), dv
    s = casadi.densify(casadi.SX.eye(3))[:, body.axis]
    if body.kind == "turn":
        return w + s * dx, dw + s * ddx + cross(w, s * dx), dv
    return w, dw, dv + 2 * cross(w, s * dx) + s * ddx


def _on_bodies(bodies: Bodies, loads: Sequence[Load]) -> list[tuple[int, casadi.SX, casadi.SX]]:
    """Return body, force and moment about its origin of each load, in the body's axes."""
    poses = ground_poses(bodies) if loads else []
    found = []
    for load in loads:
        if load.mount.body != GROUND:
            F = poses[load.mount.body].R.T @ load.force
            found.append((load.mount.body, F, cross(load.mount.o, F)))
    return found


def mass_matrix(bodies: Bodies, n: int) -> casadi.SX:
    """Return the mass matrix (n, n) by composite bodies."""
    poses = parent_poses(bodies)
    composite = _composites(bodies, poses)
    M = casadi.SX.zeros(n, n)
    for k in range(len(bodies)):
        whole = composite[k]
        for i, (w, v) in enumerate(joint_directions(bodies[k])):
            row = bodies[k].motion.place + i
            # Momentum of everything outboard, for a unit rate of this joint.
            p = whole.mass * v + cross(w, whole.first)
            h = whole.tensor @ w + cross(whole.first, v)
            for j, (w2, v2) in enumerate(joint_directions(bodies[k])[i:]):
                entry = casadi.dot(w2, h) + casadi.dot(v2, p)
                M[row, row + j] += entry
                if j > 0:
                    M[row + j, row] += entry
            _add_above(M, bodies, poses, k, row, (p, h))
    return M


def _add_above(
    M: casadi.SX,
    bodies: Bodies,
    poses: list[Pose],
    k: int,
    row: int,
    momentum: tuple[casadi.SX, casadi.SX],
) -> None:
    """Add the entries of one velocity of body k and of those of the bodies that carry it."""
    p, h = momentum
    while bodies[k].parent != GROUND:
        p = poses[k].R @ p
        h = casadi.SX.zeros(3, 1) if bodies[k].kind == "level" else poses[k].R @ h
        h += cross(poses[k].o, p)
        k = bodies[k].parent
        for j, (w, v) in enumerate(joint_directions(bodies[k])):
            column = bodies[k].motion.place + j
            entry = casadi.dot(w, h) + casadi.dot(v, p)
            M[row, column] += entry
            M[column, row] += entry


def _composites(bodies: Bodies, poses: list[Pose]) -> list[Inertials]:
    """Return the inertials of each body with everything that it carries."""
    whole = [body.inertials for body in bodies]
    for k in reversed(range(len(bodies))):
        parent = bodies[k].parent
        if parent == GROUND:
            continue
        if bodies[k].kind == "level":
            # Only the translation of the origin is transmitted: a point mass.
            m, o = whole[k].mass, poses[k].o
            whole[parent] += Inertials(m, m * o, m * point_inertia(o))
        else:
            whole[parent] += whole[k].seen_from(poses[k].R, poses[k].o)
    return whole


def shares_coordinates(bodies: Bodies) -> bool:
    """Whether one coordinate moves several joints."""
    places = [body.motion.place for body in bodies if body.motion.place >= 0]
    return len(set(places)) < len(places)


def forward_dynamics(
    bodies: Bodies,
    tau: casadi.SX,
    gravity: casadi.SX,
    loads: Sequence[Load] = (),
    rotors: casadi.SX | None = None,
) -> casadi.SX:
    """Return the accelerations (n,) of generalized forces by articulated bodies, in O(n)
    operations; each coordinate moves one joint.
    """
    n = tau.numel()
    rotors = casadi.SX.zeros(n, 1) if rotors is None else rotors
    poses = parent_poses(bodies)
    velocity = _velocity_terms(bodies, poses)
    for place, F, N in _on_bodies(bodies, loads):
        term = velocity[place]
        term.force, term.moment = term.force - F, term.moment - N
    joints = [_ArticulatedJoint.nothing()] * len(bodies)
    whole = [_Articulated.of(body.inertials) for body in bodies]
    for k in reversed(range(len(bodies))):
        joints[k] = _articulated_joint(bodies[k], whole[k], velocity[k], tau, rotors)
        if bodies[k].parent != GROUND:
            _pass_up(bodies[k], poses[k], whole, velocity, joints[k], k)
    return _accelerations(bodies, poses, velocity, joints, gravity, n)


@dataclass(eq=False)
class _VelocityTerms:
    """Acceleration and forces of a body at zero acceleration of its parent and joint."""

    angular: casadi.SX
    linear: casadi.SX
    moment: casadi.SX
    force: casadi.SX


@dataclass(frozen=True, eq=False)
class _Articulated:
    """Inertia of a body with joints outboard: N = A dw + B dv, F = B^T dw + C dv."""

    A: casadi.SX
    B: casadi.SX
    C: casadi.SX

    @staticmethod
    def of(own: Inertials) -> _Articulated:
        return _Articulated(own.tensor, casadi.skew(own.first), own.mass * casadi.SX.eye(3))


@dataclass(frozen=True, eq=False)
class _ArticulatedJoint:
    """U = I S (angular and linear rows), D = S^T I S and u = tau - S^T p of a joint."""

    Sw: casadi.SX
    Sv: casadi.SX
    Uw: casadi.SX
    Uv: casadi.SX
    D: casadi.SX
    u: casadi.SX

    @staticmethod
    def nothing() -> _ArticulatedJoint:
        none = casadi.SX(3, 0)
        return _ArticulatedJoint(none, none, none, none, casadi.SX(0, 0), casadi.SX(0, 1))

    def solved(self, right: casadi.SX) -> casadi.SX:
        """Return D^-1 times a right-hand side."""
        if self.D.numel() == 0:
            return casadi.SX(0, right.shape[1])
        return right / self.D if self.D.numel() == 1 else solve_symmetric(self.D, right)


def _velocity_terms(bodies: Bodies, poses: list[Pose]) -> list[_VelocityTerms]:
    zero = casadi.SX.zeros(3, 1)
    spins: list[casadi.SX] = []
    speeds: list[casadi.SX] = []
    found = []
    for body, pose in zip(bodies, poses, strict=True):
        p = body.parent
        w0, v0 = (zero, zero) if p == GROUND else (spins[p], speeds[p])
        w = zero if body.kind == "level" else pose.R.T @ w0
        v = pose.R.T @ (v0 + cross(w0, pose.o))
        turning, sliding = _joint_vectors(body, body.motion.dx)
        # A coordinate adds its acceleration later; a function of time has it now.
        driven = body.motion.ddx if body.motion.place < 0 else casadi.SX.zeros(body.motion.dx.shape)
        spin, push = _joint_vectors(body, driven)
        w, v = w + turning, v + sliding
        m, h, J = body.inertials.mass, body.inertials.first, body.inertials.tensor
        angular_momentum, momentum = J @ w + cross(h, v), m * v + cross(w, h)
        if body.kind == "level":
            bias = zero, cross(pose.R.T @ w0, v)
        else:
            bias = cross(w, turning) + spin, cross(w, sliding) + cross(v, turning) + push
        moment = cross(w, angular_momentum) + cross(v, momentum)
        found.append(_VelocityTerms(*bias, moment, cross(w, momentum)))
        spins.append(w)
        speeds.append(v)
    return found


def _joint_vectors(body: JointedBody, rate: casadi.SX) -> tuple[casadi.SX, casadi.SX]:
    """Return the angular and the linear vector of a rate of a joint, in the body's axes."""
    zero = casadi.SX.zeros(3, 1)
    if body.kind == "level":
        return zero, zero
    if body.kind == "ball":
        return rate, zero
    along = casadi.densify(casadi.SX.eye(3))[:, body.axis] * rate
    return (along, zero) if body.kind == "turn" else (zero, along)


def _articulated_joint(
    body: JointedBody,
    whole: _Articulated,
    terms: _VelocityTerms,
    tau: casadi.SX,
    rotors: casadi.SX,
) -> _ArticulatedJoint:
    directions, place = joint_directions(body), body.motion.place
    if not directions:
        return _ArticulatedJoint.nothing()
    Sw, Sv = (casadi.horzcat(*columns) for columns in zip(*directions, strict=True))
    Uw, Uv = whole.A @ Sw + whole.B @ Sv, whole.B.T @ Sw + whole.C @ Sv
    own = slice(place, place + len(directions))
    D = Sw.T @ Uw + Sv.T @ Uv + casadi.diag(rotors[own])
    return _ArticulatedJoint(Sw, Sv, Uw, Uv, D, tau[own] - Sw.T @ terms.moment - Sv.T @ terms.force)


def _pass_up(
    body: JointedBody,
    pose: Pose,
    whole: list[_Articulated],
    velocity: list[_VelocityTerms],
    joint: _ArticulatedJoint,
    k: int,
) -> None:
    """Add what a body leaves to its parent when its joint is free to move."""
    own, terms, above = whole[k], velocity[k], velocity[body.parent]
    Yw, Yv = joint.solved(joint.Uw.T), joint.solved(joint.Uv.T)
    A, B, C = own.A - joint.Uw @ Yw, own.B - joint.Uw @ Yv, own.C - joint.Uv @ Yv
    u = joint.solved(joint.u)
    moment = terms.moment + A @ terms.angular + B @ terms.linear + joint.Uw @ u
    force = terms.force + B.T @ terms.angular + C @ terms.linear + joint.Uv @ u
    if body.kind == "level":
        # The orientation stays, so that no moment is transmitted.
        A, B, moment = casadi.SX.zeros(3, 3), casadi.SX.zeros(3, 3), casadi.SX.zeros(3, 1)
    R, O = pose.R, casadi.skew(pose.o)
    A, B, C = symmetric(R @ A @ R.T), R @ B @ R.T, symmetric(R @ C @ R.T)
    OB = O @ B.T
    parent = whole[body.parent]
    whole[body.parent] = _Articulated(
        parent.A + symmetric(A + OB + OB.T - O @ C @ O), parent.B + B + O @ C, parent.C + C
    )
    force = R @ force
    above.force, above.moment = (
        above.force + force,
        above.moment + R @ moment + cross(pose.o, force),
    )


def _accelerations(
    bodies: Bodies,
    poses: list[Pose],
    velocity: list[_VelocityTerms],
    joints: list[_ArticulatedJoint],
    gravity: casadi.SX,
    n: int,
) -> casadi.SX:
    angular: list[casadi.SX] = []
    linear: list[casadi.SX] = []
    found: list[casadi.SX] = [casadi.SX(0)] * n
    for body, pose, terms, joint in zip(bodies, poses, velocity, joints, strict=True):
        p, zero = body.parent, casadi.SX.zeros(3, 1)
        dw0, dv0 = (zero, -gravity) if p == GROUND else (angular[p], linear[p])
        dw = zero if body.kind == "level" else pose.R.T @ dw0
        dw = dw + terms.angular
        dv = pose.R.T @ (dv0 + cross(dw0, pose.o)) + terms.linear
        a = joint.solved(joint.u - joint.Uw.T @ dw - joint.Uv.T @ dv)
        for i in range(a.numel()):
            found[body.motion.place + i] = a[i]
        angular.append(dw + joint.Sw @ a)
        linear.append(dv + joint.Sv @ a)
    return casadi.vertcat(*found)
