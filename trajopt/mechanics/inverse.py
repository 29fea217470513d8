"""Inverse dynamics: the forces of a given motion, by three independent methods.

``newton_euler`` is the recursion; ``parallel`` the scheme tau = L T P, in which absolute
accelerations, directions and lengths stay apart; ``ClosedLoop`` the method of cut joints for
mechanisms with loops. All agree with Lagrange's equations to round-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from scipy.linalg import block_diag

from trajopt.errors import ModelError
from trajopt.mechanics.chains import Tree
from trajopt.mechanics.constraints import Vector
from trajopt.mechanics.joints import skew
from trajopt.mechanics.lagrange import Mechanism


def newton_euler(tree: Tree) -> casadi.Function:
    """Return recursive Newton-Euler as a function (q, v, a, t) -> tau, in O(n) operations.

    >>> from trajopt.mechanics.chains import Turn, rod
    >>> from trajopt.mechanics.lagrange import Coordinate
    >>> arm = Tree("arm", (rod("arm", "ground", (Turn("z", Coordinate("q")),), mass=3.0,
    ...     length=1.0),), gravity=(0, -10, 0))
    >>> newton_euler(arm)(0, 0, 2, 0)
    DM(17)
    """
    inputs = [tree.q, tree.v, tree.accelerations, tree.time]
    return casadi.Function("newton_euler", inputs, [tree.torques])


@dataclass(frozen=True, eq=False)
class ParallelTorques:
    """The factors of tau = L T P, and the resulting moments and torques.

    A member is a joint step that moves, carries a body or levels. ``moments`` are three for each
    member, about its origin in its own axes; ``torques`` are their parts along the joint axes, and
    the forces along sliding ones.
    """

    lengths: (
        Vector  # L (3 k, p): member lengths; in the plane its z rows do not depend on the posture
    )
    transform: Vector  # T (p, p): from the ground's axes to each member's
    # P (p,): outboard resultants at the attachment points, force at the mass centre, inertia moment
    forces: Vector
    moments: Vector  # L T P, (3 k,)
    torques: Vector  # (n,)


@dataclass(frozen=True, eq=False)
class _Member:
    node: int
    children: list[int]
    R: Vector
    o: Vector
    arm: Vector  # to the mass centre, in the member's axes
    force: Vector  # at the mass centre
    moment: Vector
    axis: Vector  # in the ground's axes


def parallel(tree: Tree, q: Any, v: Any, a: Any, t: float = 0.0) -> ParallelTorques:
    """Compute inverse dynamics of a tree by the parallel scheme.

    P is found from absolute accelerations, member by member and in any order; L T then turns it
    into joint moments. A branch is one more block in L and changes nothing else.

    >>> from trajopt.mechanics.chains import Turn, rod
    >>> from trajopt.mechanics.lagrange import Coordinate
    >>> arm = Tree("arm", (rod("arm", "ground", (Turn("z", Coordinate("q")),), mass=3.0,
    ...     length=1.0),), gravity=(0, -10, 0))
    >>> parallel(arm, [0.0], [0.0], [2.0]).torques
    array([17.])
    """
    members = _members(tree, q, v, a, t)
    resultant = _resultants(members)
    own, axes, loads = [], [], []
    for m in members:
        arms = [m.R.T @ (members[c].o - m.o) for c in m.children]
        own.append(np.hstack([*(skew(arm) for arm in arms), skew(m.arm), np.eye(3)]))
        axes.append(np.kron(np.eye(len(arms) + 2), m.R.T))
        loads.append(np.concatenate([*(resultant[c] for c in m.children), m.force, m.moment]))
    starts = np.concatenate([[0], np.cumsum([len(p) for p in loads])])
    L = np.zeros((3 * len(members), starts[-1]))
    for k in range(len(members)):
        for j in _moment_subtree(tree, members, k):
            # The rows of the outboard members, rotated into the axes of member k; unchanged in the
            # plane.
            L[3 * k : 3 * k + 3, starts[j] : starts[j + 1]] = members[k].R.T @ members[j].R @ own[j]
    T, P = block_diag(*axes), np.concatenate(loads)
    moments = L @ (T @ P)
    tau = np.zeros(tree.v.numel())
    for k, m in enumerate(members):
        node = tree.nodes[m.node]
        if node.coordinate >= 0:
            own = moments[3 * k : 3 * k + 3]
            if node.kind == "ball":
                tau[node.coordinate : node.coordinate + 3] += own
            else:
                tau[node.coordinate] += m.axis @ (
                    resultant[k] if node.kind == "slide" else m.R @ own
                )
    return ParallelTorques(L, T, P, moments, tau)


def _members(tree: Tree, q: Any, v: Any, a: Any, t: float) -> list[_Member]:
    g = casadi.vertcat(*[casadi.SX(x) for x in tree.gravity])
    chosen = [
        k
        for k, node in enumerate(tree.nodes)
        if node.coordinate >= 0 or node.link >= 0 or node.kind == "level"
    ]
    columns = []
    for k in chosen:
        node, f = tree.nodes[k], tree.nodes[k].frame
        force = moment = casadi.SX.zeros(3, 1)
        if node.link >= 0:
            link = tree.links[node.link]
            inertia = f.R @ link.tensor @ f.R.T
            force = link.mass * (f.acceleration(link.centre) - g)
            moment = inertia @ f.dw + casadi.cross(f.w, inertia @ f.w)
        axis = casadi.SX.zeros(3, 1) if node.axis is None else node.axis
        columns.append(casadi.vertcat(casadi.vec(f.R), f.o, force, moment, axis))
    inputs = [tree.q, tree.v, tree.accelerations, tree.time]
    values = np.array(casadi.Function("members", inputs, [casadi.horzcat(*columns)])(q, v, a, t))
    members = []
    for place, k in enumerate(chosen):
        column, node = values[:, place], tree.nodes[k]
        arm = np.asarray(tree.links[node.link].centre, float) if node.link >= 0 else np.zeros(3)
        R = column[:9].reshape(3, 3, order="F")
        members.append(
            _Member(k, [], R, column[9:12], arm, column[12:15], column[15:18], column[18:21])
        )
    place_of = {k: place for place, k in enumerate(chosen)}
    for place, k in enumerate(chosen):
        above = tree.nodes[k].parent
        while above >= 0 and above not in place_of:
            above = tree.nodes[above].parent
        if above >= 0:
            members[place_of[above]].children.append(place)
    return members


def _resultants(members: list[_Member]) -> list[Vector]:
    """Return the force that each member transmits to its parent: its own and all outboard ones."""
    total = [m.force.copy() for m in members]
    for k in reversed(range(len(members))):
        for child in members[k].children:
            total[k] += total[child]
    return total


def _moment_subtree(tree: Tree, members: list[_Member], k: int) -> list[int]:
    """Return the members whose moments are transmitted to member k; with absolute angles moments go
    to the ground.
    """
    found, stack = [], [k]
    while stack:
        j = stack.pop()
        found.append(j)
        stack += [c for c in members[j].children if tree.nodes[members[c].node].kind != "level"]
    return found


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """Closed-loop dynamics by cutting: open-tree torques, loop Jacobian, torque transform W, unit
    vectors.

    ``mechanism`` is the tree with its loop constraints, ``generalized`` the coordinates taken as
    independent. The rows of W are unit rows for these and H = -J_S^-1 J_G for the others, so that
    the rates are W times the generalized ones and the generalized forces are W^T times the
    open-tree torques.

    >>> from trajopt.mechanics import Coordinate, Holonomic
    >>> x, y = Coordinate("x", 1.0), Coordinate("y", 1.0)
    >>> bead = Mechanism("bead", (x, y), (x.v**2 + y.v**2) / 2, constraints=(Holonomic("wire", y.q
    ...     - x.q**2),))
    >>> ClosedLoop(bead, ("x",)).transform([1.0, 1.0])
    array([[1.],
           [2.]])
    """

    mechanism: Mechanism
    generalized: Sequence[str]

    def transform(self, q: Any, t: float = 0.0) -> Vector:
        """Return W, (n, n - m)."""
        return self._kinematics(q, np.zeros(len(self.mechanism.coordinates)), t)[0]

    def rates(self, q: Any, generalized_rates: Any, t: float = 0.0) -> Vector:
        """Return all rates from the generalized ones."""
        free = np.zeros(len(self.mechanism.coordinates))
        W, _, offset = self._kinematics(q, free, t)
        return np.asarray(W @ np.asarray(generalized_rates, float) + offset)

    def generalized_force(
        self, q: Any, v: Any, generalized_acceleration: Any, t: float = 0.0
    ) -> Vector:
        """Inverse dynamics of the loop: tau_G = W^T tau_O, with tau_O the open-tree torques of the
        same motion.
        """
        W, extra, _ = self._kinematics(q, v, t)
        a = W @ np.asarray(generalized_acceleration, float) + extra
        return np.asarray(W.T @ self._open_torques(q, v, a, t))

    def acceleration(self, q: Any, v: Any, torques: Any, t: float = 0.0) -> Vector:
        """Forward dynamics by unit vectors: A's columns are inverse dynamics at unit accelerations.

        ``torques`` is (n,).
        """
        W, extra, _ = self._kinematics(q, v, t)
        size = W.shape[1]
        b = self.generalized_force(q, v, np.zeros(size), t)
        A = np.column_stack([self.generalized_force(q, v, e, t) - b for e in np.eye(size)])
        return np.asarray(W @ np.linalg.solve(A, W.T @ np.asarray(torques, float) - b) + extra)

    def actuator_torques(
        self, q: Any, v: Any, a: Any, actuators: Sequence[str], t: float = 0.0
    ) -> Vector:
        """Return the torques of the named joints for the motion, the others being passive;
        minimum-norm if redundant.
        """
        W, _, _ = self._kinematics(q, v, t)
        needed = W.T @ self._open_torques(q, v, a, t)
        driven = W[[self.mechanism.index(name) for name in actuators]].T
        tau, _, rank, _ = np.linalg.lstsq(driven, needed, rcond=None)
        if rank < driven.shape[0]:
            raise ModelError(
                f"'{self.mechanism.name}': these joints cannot actuate it here",
                got=", ".join(actuators),
                expected=f"joints that actuate all {driven.shape[0]} degrees of freedom",
            )
        return np.asarray(tau)

    def _open_torques(self, q: Any, v: Any, a: Any, t: float) -> Vector:
        """Return tau_O, the torques of the open tree beyond its passive forces."""
        return np.array(
            self.mechanism.inverse(q, v, a, np.zeros(len(self.mechanism.controls)), t=t)
        ).ravel()

    def _kinematics(self, q: Any, v: Any, t: float) -> tuple[Vector, Vector, Vector]:
        """Return W, the acceleration at zero generalized acceleration (H' theta_G'), and the rates
        at zero generalized rates.
        """
        model = self.mechanism
        g = [model.index(name) for name in self.generalized]
        s = [k for k in range(len(model.coordinates)) if k not in g]
        if len(s) != len(model.rows):
            raise ModelError(
                f"'{model.name}': invalid choice of independent coordinates",
                got=", ".join(self.generalized),
                expected=f"{len(model.coordinates) - len(model.rows)} of them",
            )
        terms = model.equations
        found = model.function(terms.matrix, terms.drift, terms.offset)(*model.arguments(q, v, t=t))
        J, drift, offset = (np.array(e) for e in found)
        if np.linalg.cond(J[:, s]) > 1e12:
            names = ", ".join(model.coordinates[k].name for k in s)
            raise ModelError(
                f"'{model.name}': the dependent coordinates are not determined here",
                got=names,
                hint="use other generalized coordinates, or Augmented(), which is regular if the "
                "loop is",
            )
        W = np.zeros((len(model.coordinates), len(g)))
        W[g, range(len(g))] = 1.0
        W[s] = -np.linalg.solve(J[:, s], J[:, g])
        extra, still = np.zeros(len(W)), np.zeros(len(W))
        extra[s] = -np.linalg.solve(J[:, s], drift).ravel()
        still[s] = -np.linalg.solve(J[:, s], offset).ravel()
        return W, extra, still
