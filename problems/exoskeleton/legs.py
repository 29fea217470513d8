"""Seven links in the plane of walking, feet, shanks, thighs and trunk, on the ground: motion,
ground force and impact.

x is forward, y up. Every angle is the absolute lean of a link, forwards positive: from the vertical
for shanks, thighs and trunk, from the ground for feet (heel up). Both legs count alike, so that an
exchange of legs is a permutation. The tree is rooted at the toe of the standing foot with all three
freedoms: inverse dynamics gives the force and the moment of the ground there.

The document has no walking machine; masses, lengths and inertias are those of a person of 70 kg and
1.75 m (Winter, Biomechanics and Motor Control of Human Movement, 4th ed., table 4.1), the inertia
of the drives is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from casadi import DM, Function, cse, horzcat, jacobian, jtimes, solve, sumsqr, vertcat

from trajopt.mechanics import (
    Coordinate,
    Holonomic,
    Inertia,
    Level,
    Link,
    Mechanism,
    Quantity,
    Slide,
    Tree,
    Turn,
)
from trajopt.mechanics.formulations import solve_symmetric
from trajopt.parameters import setting_field

FORWARDS = (0.0, 0.0, -1.0)  # axis of a lean
ANGLES = ("foot", "shank", "thigh", "trunk", "swing_thigh", "swing_shank", "swing_foot")
JOINTS = (
    "ankle",
    "knee",
    "hip",
    "swing_hip",
    "swing_knee",
    "swing_ankle",
)  # between one angle and the next
JOINT_RATES = DM(
    [[0] * (k + 2) + [-1, 1] + [0] * (5 - k) for k in range(6)]
)  # (6, 9): from (x, y, angles) to joint angles
EXCHANGED = tuple(
    reversed(range(len(ANGLES)))
)  # the angle that takes the place of another when the legs change


@dataclass(frozen=True)
class Walker:
    """Masses (kg), lengths (m) and inertias about mass centres (kg m^2) of trunk with arms and
    head, and of each leg.
    """

    trunk_mass: float = setting_field(47.46, "kg", "mass of trunk, arms and head", 0.1, 1000)
    thigh_mass: float = setting_field(7.0, "kg", "mass of a thigh", 0.01, 100)
    shank_mass: float = setting_field(3.255, "kg", "mass of a shank", 0.01, 100)
    foot_mass: float = setting_field(1.015, "kg", "mass of a foot", 0.01, 100)
    thigh_length: float = setting_field(0.43, "m", "length of a thigh", 0.05, 2)
    shank_length: float = setting_field(0.43, "m", "length of a shank", 0.05, 2)
    foot_length: float = setting_field(0.25, "m", "from heel to toe", 0.05, 1)
    heel_length: float = setting_field(0.06, "m", "from heel to ankle, along the sole", 0, 0.5)
    ankle_height: float = setting_field(0.08, "m", "of the ankle above the sole", 0.01, 0.5)
    trunk_centre: float = setting_field(
        0.316, "m", "of the trunk's mass centre above the hip", 0, 2
    )
    trunk_inertia: float = setting_field(
        2.97, "kg m^2", "inertia of trunk, arms and head", 1e-3, 100
    )
    thigh_inertia: float = setting_field(0.135, "kg m^2", "inertia of a thigh", 1e-4, 10)
    shank_inertia: float = setting_field(0.055, "kg m^2", "inertia of a shank", 1e-4, 10)
    foot_inertia: float = setting_field(0.0143, "kg m^2", "inertia of a foot", 1e-5, 10)
    limb_centre: float = setting_field(
        0.433, "1", "mass centre of thigh and shank, from the upper joint, of the length", 0, 1
    )
    drive_inertia: float = setting_field(
        0.05, "kg m^2", "inertia of a joint's drive, seen at the joint", 0, 10
    )
    gravity: float = setting_field(9.81, "m/s^2", "acceleration of free fall", 0.1, 100)


WALKER = Walker()


@dataclass(frozen=True, eq=False)
class Legs:
    """The tree of a walker, and what moves it.

    Columns q and v hold the toe's place (x, y), then ``ANGLES``.
    """

    data: Walker

    @cached_property
    def tree(self) -> Tree:
        d = self.data
        q = [Coordinate(name, unit="m" if name in "xy" else "rad") for name in ("x", "y", *ANGLES)]
        up, low, sole = (
            1 - d.limb_centre,
            -d.limb_centre,
            (-d.foot_length / 2, d.ankle_height / 2, 0.0),
        )
        swung = (d.foot_length / 2 - d.heel_length, -d.ankle_height / 2, 0.0)

        def lean(k: int) -> tuple[Any, ...]:
            return (Level(), Turn(FORWARDS, q[2 + k]))

        root = (Slide("x", q[0]), Slide("y", q[1]), Turn(FORWARDS, q[2]))
        ankle = (Slide("x", d.heel_length - d.foot_length), Slide("y", d.ankle_height))
        hip = Slide("y", d.thigh_length)
        links = (
            Link("foot", "ground", root, d.foot_mass, sole, d.foot_inertia),
            Link(
                "shank",
                "foot",
                (*ankle, *lean(1)),
                d.shank_mass,
                (0.0, up * d.shank_length, 0.0),
                d.shank_inertia,
            ),
            Link(
                "thigh",
                "shank",
                (Slide("y", d.shank_length), *lean(2)),
                d.thigh_mass,
                (0.0, up * d.thigh_length, 0.0),
                d.thigh_inertia,
            ),
            Link(
                "trunk",
                "thigh",
                (hip, *lean(3)),
                d.trunk_mass,
                (0.0, d.trunk_centre, 0.0),
                d.trunk_inertia,
            ),
            Link(
                "swing_thigh",
                "thigh",
                (hip, *lean(4)),
                d.thigh_mass,
                (0.0, low * d.thigh_length, 0.0),
                d.thigh_inertia,
            ),
            Link(
                "swing_shank",
                "swing_thigh",
                (Slide("y", -d.thigh_length), *lean(5)),
                d.shank_mass,
                (0.0, low * d.shank_length, 0.0),
                d.shank_inertia,
            ),
            Link(
                "swing_foot",
                "swing_shank",
                (Slide("y", -d.shank_length), *lean(6)),
                d.foot_mass,
                swung,
                d.foot_inertia,
            ),
        )
        return Tree("two-legged", links, gravity=(0.0, -d.gravity, 0.0))

    @cached_property
    def symbols(self) -> tuple[Any, Any]:
        return vertcat(*[c.q for c in self.tree.coordinates]), vertcat(
            *[c.v for c in self.tree.coordinates]
        )

    @cached_property
    def inertia(self) -> Function:
        """(q, v) -> mass matrix (9, 9) and bias (9,): M a + bias are the generalized forces.

        The rotor of a drive turns with its joint. Its energy is ``drive_inertia`` / 2 times the
        square of the joint's rate.
        """
        drives = self.data.drive_inertia * JOINT_RATES.T @ JOINT_RATES
        return Function("inertia", [*self.symbols], [self.tree.mass + drives, self.tree.bias])

    def standing(self, flat: bool, hind: float | None = None) -> Mechanism:
        """All nine coordinates with drives in the joints; constraints hold the toe, the foot where
        it is ``flat``, and the other toe where it stands ``hind`` (m) behind.
        """
        drives = [Quantity(f"{joint}_torque", 0.0, "N m") for joint in JOINTS]
        forces = JOINT_RATES.T @ vertcat(*[drive.symbol for drive in drives])
        names = [c.name for c in self.tree.coordinates]
        held = [
            Holonomic(f"standing {c.name}", c.q) for c in self.tree.coordinates[: 3 if flat else 2]
        ]
        if hind is not None:
            toe = self.hind_toe(*self.symbols)[0]
            places = ("x", toe[0] + hind), ("y", toe[1])
            held += [Holonomic(f"hind toe {axis}", place, "m") for axis, place in places]
        mass, bias = self.inertia(*self.symbols)
        model = self.tree.mechanism({n: forces[k] for k, n in enumerate(names)}, held, drives)
        rotors = 0.5 * self.data.drive_inertia * sumsqr(JOINT_RATES @ self.symbols[1])
        return replace(model, kinetic=model.kinetic + rotors, inertia=Inertia(mass, bias))

    @cached_property
    def swing_foot(self) -> Function:
        """(q, v) -> toe and heel of the swinging foot (x, y, x, y), and their velocities."""
        d = self.data
        ends = [
            (d.foot_length - d.heel_length, -d.ankle_height, 0.0),
            (-d.heel_length, -d.ankle_height, 0.0),
        ]
        place = vertcat(*[self.tree.point("swing_foot", end)[:2] for end in ends])
        return Function("swing_foot", [*self.symbols], [place, jtimes(place, *self.symbols)])

    def motion(self, q: Any, v: Any, torques: Any, free: int) -> tuple[Any, Any]:
        """Accelerations of the last ``free`` angles, the others at rest, and the ground's force and
        moment at the toe.

        A joint's torque drives its second link forwards against the first. The moment is positive
        forwards: a force F at the distance c behind the toe has the moment c F.
        """
        M, bias = self.inertia(q, v)
        drive = JOINT_RATES.T @ torques
        n = len(ANGLES) + 2 - free
        a = solve_symmetric(M[n:, n:], (drive - bias)[n:])
        ground = M[:3, n:] @ a + bias[:3] - drive[:3]
        shared: list[Any] = cse([a, ground])
        return shared[0], shared[1]

    @cached_property
    def hind_toe(self) -> Function:
        """(q, v) -> place of the other foot's toe (2,), its Jacobian J (2, 9) and J' v."""
        q, v = self.symbols
        toe = self.swing_foot(q, v)[0][:2]
        J = jacobian(toe, q)
        return Function("hind_toe", [q, v], [toe, J, jtimes(J @ v, q, v)])

    def double_support(self, q: Any, v: Any, torques: Any) -> tuple[Any, Any, Any]:
        """Accelerations of all angles but the flat foot's, force and moment of the ground at its
        toe, and the force on the toe of the hind foot, which stands still.
        """
        M, bias = self.inertia(q, v)
        _, J, turning = self.hind_toe(q, v)
        drive, free = JOINT_RATES.T @ torques, slice(3, None)
        # M a - J^T f = drive - bias, J a = -J' v
        response = solve_symmetric(M[free, free], horzcat((drive - bias)[free], J[:, free].T))
        f = solve(J[:, free] @ response[:, 1:], -turning - J[:, free] @ response[:, 0])
        a = response[:, 0] + response[:, 1:] @ f
        ground = M[:3, free] @ a + bias[:3] - drive[:3] - J[:, :3].T @ f
        shared: list[Any] = cse([a, ground, f])
        return shared[0], shared[1], shared[2]

    def impact(self, q: Any, v: Any, after: Any) -> Any:
        """Momentum change (9,) when the swinging foot has landed flat and the other is free: q, v
        before, angular rates after.

        In the coordinates of the landed foot: the ground's impulse and its moment at the toe, then
        zero for each angle but the foot's, which is what the rates after the impact have to
        satisfy.
        """
        exchanged = [2 + k for k in EXCHANGED]
        place, velocity = self.swing_foot(q, v)
        before = vertcat(velocity[:2], *[v[k] for k in exchanged])
        M, _ = self.inertia(vertcat(place[:2], *[q[k] for k in exchanged]), 0 * before)
        return M @ (vertcat(0, 0, 0, after) - before)
