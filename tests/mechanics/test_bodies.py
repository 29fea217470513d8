"""Planar bodies, joints, springs and forces."""

import math

import casadi
import numpy as np
import pytest

from trajopt.errors import ModelError
from trajopt.mechanics import (
    Body,
    Drive,
    Eliminated,
    Fixed,
    Force,
    Prismatic,
    Quantity,
    Revolute,
    Spring,
    Torque,
    TorsionSpring,
    assemble,
    check_model,
)


def pendulum(**changes):
    bob = Body("bob", 2.0, 0.3, (0.6, -0.8), math.atan2(-0.8, 0.6), **changes)
    return assemble("pendulum", [bob], [Revolute("pin", "ground", "bob", (0.0, 0.0), (-1.0, 0.0))])


def test_physical_pendulum_follows_its_own_equation():
    """(J + m l^2) theta'' = -m g l cos(theta)."""
    model = pendulum()
    assert check_model(model).check().ok
    q, v = model.start
    theta_acceleration = float(model.acceleration(q, v)[2])
    assert theta_acceleration == pytest.approx(-2.0 * 9.81 * 0.6 / 2.3, rel=1e-14)


def test_reference_point_off_the_mass_centre_changes_nothing(motion):
    """The same bar by its middle, and by its end."""
    middle = Body("bar", 1.0, 1 / 12, (0.5, 0.0), 0.0, names=("x", "y", "theta"))
    end = Body("bar", 1.0, 1 / 12, (0.0, 0.0), 0.0, centre=(0.5, 0.0), names=("x", "y", "theta"))
    one = assemble("a", [middle], [Revolute("pin", "ground", "bar", (0, 0), (-0.5, 0))])
    two = assemble("b", [end], [Revolute("pin", "ground", "bar", (0, 0), (0, 0))])
    assert check_model(two).check().ok
    found = [motion(model.system(), 1.0) for model in (one, two)]
    assert found[0].final["theta"] == pytest.approx(found[1].final["theta"], abs=1e-9)
    assert found[1].drift["energy"] < 1e-9


def test_free_bar_off_centre_turns_about_its_mass_centre(motion):
    end = Body(
        "bar",
        1.0,
        1 / 12,
        (0.0, 0.0),
        0.0,
        (0.0, -1.0),
        2.0,
        centre=(0.5, 0.0),
        names=("x", "y", "theta"),
    )
    found = motion(assemble("free", [end], gravity=(0.0, 0.0)).system(), 1.0).final
    centre = (
        found["x"] + 0.5 * math.cos(found["theta"]),
        found["y"] + 0.5 * math.sin(found["theta"]),
    )
    assert found["theta"] == pytest.approx(2.0, abs=1e-10)
    assert centre == pytest.approx((0.5, 0.0), abs=1e-10)  # its centre was at rest


def test_rigidly_joined_bodies_move_as_one(motion):
    first, second = (
        Body("first", 1.0, 0.1, (0.5, 0.0)),
        Body("second", 2.0, 0.2, (1.0, 0.5), math.pi / 2),
    )
    joints = [
        Revolute("pin", "ground", "first", (0, 0), (-0.5, 0)),
        Fixed("weld", "first", "second", (0.5, 0.0), (-0.5, 0.0), math.pi / 2),
    ]
    two = assemble("welded", [first, second], joints)
    centre = (2.5 / 3, 1.0 / 3)
    about = (
        0.1
        + 0.2
        + sum(
            m * ((x - centre[0]) ** 2 + (y - centre[1]) ** 2)
            for m, x, y in ((1, 0.5, 0), (2, 1.0, 0.5))
        )
    )
    one = assemble(
        "one", [Body("first", 3.0, about, centre=centre)], [Revolute("pin", "ground", "first")]
    )
    assert check_model(two, spread=0.1).check().ok
    found = [motion(model.system(), 1.0).final["first_theta"] for model in (two, one)]
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_prismatic_joint_has_one_degree_of_freedom_with_the_weight_along_its_axis():
    angle = -math.pi / 6
    block = Body("block", 3.0, 0.1, (0.0, 0.0), angle)
    rail = Prismatic("rail", "ground", "block", (math.cos(angle), math.sin(angle)), angle=angle)
    model = assemble("slide", [block], [rail])
    a = np.array(model.acceleration(*model.start)).ravel()
    assert a == pytest.approx(
        [9.81 * 0.5 * math.cos(angle), 9.81 * 0.5 * math.sin(angle), 0.0], abs=1e-13
    )
    push = np.array(model.reaction_forces(*model.start)).ravel()
    normal = (-math.sin(angle), math.cos(angle))
    assert push @ [*normal, 0.0] == pytest.approx(3.0 * 9.81 * math.cos(angle), rel=1e-14)


def test_prismatic_joint_between_moving_bodies():
    """A collar on a turning bar: Coriolis and centrifugal accelerations come from
    the joint alone.
    """
    bar = Body("bar", 1.0, 1.0, (0.0, 0.0), 0.0, spin=2.0)
    collar = Body("collar", 0.5, 0.1, (0.7, 0.0), 0.0, (0.3, 1.4), 2.0)
    joints = [Revolute("pin", "ground", "bar"), Prismatic("rail", "bar", "collar")]
    model = assemble("turning", [bar, collar], joints, gravity=(0.0, 0.0))
    assert check_model(model).check().ok
    a = np.array(model.acceleration(*model.start)).ravel()
    assert a[3] == pytest.approx(
        0.0, abs=1e-14
    )  # in the ground's axes nothing pushes along the bar
    spin_up = -2 * 0.5 * 0.7 * 0.3 * 2.0 / (1.0 + 0.1 + 0.5 * 0.49)
    assert a[2] == pytest.approx(spin_up, rel=1e-13)


def test_moving_pivot_does_work_and_the_power_balance_holds(motion):
    bar = Body("bar", 1.0, 0.02, (0.0, 0.25), math.pi / 2 - 0.1)
    pivot = Revolute(
        "pivot",
        "ground",
        "bar",
        lambda t: (0.1 * casadi.sin(5 * t), 0.02 * casadi.cos(7 * t)),
        (-0.25, 0.0),
    )
    model = assemble("shaken", [bar], [pivot]).consistent(hold=("bar_theta",))
    assert check_model(model).check().ok
    for way in (None, Eliminated(("bar_x", "bar_y"))):
        found = motion(model.system(way), 2.0)
        assert abs(found.imbalance) < 1e-9
    energy = model.system().function(model.equations.energy)
    assert (
        abs(
            float(energy(2.0, motion(model.system(), 2.0).x, []))
            - float(energy(0.0, model.system().start, []))
        )
        > 0.1
    )


def test_springs_store_energy_and_dampers_dissipate_it(motion):
    a, b = Body("a", 1.0, 0.1, (0.0, -1.0)), Body("b", 2.0, 0.1, (0.5, -2.0), 0.3)

    def pair(damping):
        return assemble(
            "pair",
            [a, b],
            [
                Spring("hanger", "ground", "a", 50.0, damping, 0.5, on_second=(0.1, 0.2)),
                Spring(
                    "link",
                    "a",
                    "b",
                    30.0,
                    damping,
                    0.7,
                    on_first=(0.0, -0.2),
                    on_second=(-0.1, 0.2),
                ),
                Spring("centre", "ground", "b", 3.0),
                TorsionSpring("twist", "a", "b", 2.0, damping, 0.1),
            ],
        )

    assert check_model(pair(0.2)).check().ok
    elastic, damped = motion(pair(0.0).system(), 2.0), motion(pair(0.2).system(), 2.0)
    assert elastic.drift["energy"] < 1e-8
    assert abs(damped.imbalance) < 1e-8
    assert damped.run.y[-1, -1] < -0.1  # the work of the dampers


def test_force_at_a_point_turns_the_body_and_torque_has_its_opposite():
    body, carrier = (
        Body("body", 2.0, 0.5, (1.0, 2.0), math.pi / 2),
        Body("carrier", 1.0, 0.25, (5.0, 5.0)),
    )
    thrust = Quantity("thrust", 3.0, "N")
    elements = [
        Force("jet", "body", (thrust, lambda t: 2 * t), (0.4, 0.0)),
        Torque("motor", "body", 1.5, carrier="carrier"),
    ]
    model = assemble("pushed", [body, carrier], elements, gravity=(0, 0), controls=(thrust,))
    a = np.array(model.acceleration(*model.start, t=1.0)).ravel()
    # The point is 0.4 above the centre, the force (3, 2): moment -0.4 * 3.
    assert a == pytest.approx([1.5, 1.0, (-1.2 + 1.5) / 0.5, 0.0, 0.0, -6.0], abs=1e-14)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Body("b", -1.0, 1.0), "body 'b' has no positive mass"),
        (lambda: Body("b", 1.0, 0.0), "no positive moment of inertia"),
        (
            lambda: assemble("m", [Body("b", 1, 1)], [Revolute("pin", "ground", "c")]),
            "'pin' is joined to body 'c', which does not exist",
        ),
        (
            lambda: assemble("m", [Body("b", 1, 1)], [Spring("s", "d", "b")]),
            "'s' is joined to body 'd'",
        ),
        (lambda: assemble("m", [Body("b", 1, 1), Body("b", 1, 1)]), "duplicate body 'b'"),
        (
            lambda: assemble("m", [Body("b", 1, 1)], [Prismatic("p", "ground", "b", (0.0, 0.0))]),
            "'p' has no axis",
        ),
        (
            lambda: assemble("m", [Body("b", 1, 1)], [Drive("d", "ground", lambda t: t)]),
            "cannot move the ground",
        ),
        (
            lambda: assemble(
                "m", [Body("b", 1, 1)], [Revolute("p", "b", "ground", lambda t: (t, 0))]
            ),
            "only points of the ground",
        ),
    ],
)
def test_invalid_assemblies_are_rejected_in_the_users_names(build, words):
    with pytest.raises(ModelError, match=words):
        build()


def test_loop_that_cannot_close_names_its_joint():
    a, b = Body("a", 1, 0.1, (0.5, 0.0)), Body("b", 1, 0.1, (1.5, 0.1))
    joints = [
        Revolute("left", "ground", "a", (0, 0), (-0.5, 0)),
        Revolute("middle", "a", "b", (0.5, 0), (-0.5, 0)),
        Revolute("right", "ground", "b", (3.0, 0), (0.5, 0)),
    ]
    with pytest.raises(ModelError, match=r"cannot be satisfied together:.*'right\.x'"):
        assemble("gap", [a, b], joints).consistent()


def test_two_welds_of_the_same_bodies_are_redundant():
    a = Body("a", 1, 0.1)
    model = assemble(
        "twice", [a], [Fixed("one", "ground", "a"), Fixed("two", "ground", "a", (0.5, 0), (0.5, 0))]
    )
    with pytest.raises(ModelError, match="redundant") as caught:
        model.system()
    assert "two.x" in caught.value.got


def test_springs_and_dampers_act_equally_on_both_bodies():
    """Without gravity, momentum and angular momentum are conserved, and dampers dissipate the
    energy of the relative motion.
    """
    one = Body("one", 1.0, 0.2, (0.1, -0.3), 0.4, (0.5, 0.2), 1.5)
    two = Body("two", 3.0, 0.7, (0.9, 0.6), -0.2, (-0.3, 0.8), -0.6)
    bow = Spring(
        "bow",
        "one",
        "two",
        stiffness=40.0,
        damping=3.0,
        length=0.5,
        on_first=(0.1, 0.05),
        on_second=(-0.2, 0.1),
    )
    coil = TorsionSpring("coil", "one", "two", stiffness=7.0, damping=0.9, angle=0.3)
    model = assemble("pair", [one, two], [bow, coil], gravity=(0.0, 0.0))
    q, v = model.start
    a = np.array(model.acceleration(q, v)).ravel().reshape(2, 3)
    places, masses, inertias = q.reshape(2, 3)[:, :2], np.array([1.0, 3.0]), np.array([0.2, 0.7])
    forces, moments = masses[:, None] * a[:, :2], inertias * a[:, 2]
    assert forces.sum(axis=0) == pytest.approx([0.0, 0.0], abs=1e-12)
    turning = places[:, 0] * forces[:, 1] - places[:, 1] * forces[:, 0] + moments
    assert turning.sum() == pytest.approx(0.0, abs=1e-12)
    # The coil alone: stiffness by the angle between the bodies, damping by its rate.
    alone = assemble("coil", [one, two], [coil], gravity=(0.0, 0.0))
    spun = np.array(alone.acceleration(q, v)).ravel()[[2, 5]] * inertias
    torque = 7.0 * (-0.2 - 0.4 - 0.3) + 0.9 * (-0.6 - 1.5)
    assert spun == pytest.approx([torque, -torque], rel=1e-13)
