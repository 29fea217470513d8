"""Wheelies by optimal control: answers, maximum principle, simulation by another derivation,
constraints between the nodes.
"""

from pathlib import Path

import casadi
import numpy as np
import pytest

from problems import bike
from problems.bike.resimulation import ridden
from problems.bike.wheelie import REFERENCE, EntryLimits
from trajopt import certify, solve
from trajopt.indirect.shooting import Shooting
from trajopt.parameters import load_parameters


@pytest.fixture(scope="module")
def entry():
    return solve(bike.wheelie_entry()).check()


def test_least_effort_is_found_from_a_plain_guess(entry):
    assert entry.objective == pytest.approx(REFERENCE.objective, rel=REFERENCE.tolerance)
    assert entry.error < 1e-6
    assert [record.error for record in entry.history][-1] < 1e-1 * entry.history[0].error


def test_simulated_again_by_links_and_closures_it_reaches_the_wheelie(entry):
    end = ridden(entry)
    assert np.degrees([end["beta"], end["torso"]]) == pytest.approx([30.0, -20.0], abs=1e-4)
    assert [end["beta_rate"], end["torso_rate"]] == pytest.approx([0.0, 0.0], abs=1e-5)


@pytest.mark.slow
def test_shooting_by_the_maximum_principle_finds_the_same_entry(entry):
    shot = solve(bike.wheelie_entry(), Shooting(), guess=entry).check()
    assert shot.objective == pytest.approx(entry.objective, rel=1e-8)
    for state in ("torso", "torso_rate", "x_rate"):
        first, second = (s.phases["front down"].costates[state](0.0) for s in (entry, shot))
        assert float(second) == pytest.approx(float(first), rel=1e-5)
    certificate = certify(entry, bike.wheelie_entry().finish(), REFERENCE, other=shot)
    assert certificate.ok, str(certificate)


def test_contact_friction_and_joint_bounds_hold_between_the_nodes(entry):
    limits = EntryLimits()
    for name, down in (("front down", True), ("front up", False)):
        machine, ph = bike.five_link(front_down=down), entry.phases[name]
        model = machine.mechanism
        a = model.acceleration(model.q, model.v, model.u)
        angles = casadi.vertcat(
            *[machine.seen(machine.posture.angles[j], model.q) for j in ("shoulder", "elbow")]
        )
        moment = model.reactions(model.q, model.v, model.u) if down else casadi.SX(0)
        everything = model.function(
            machine.ground_force(model.q, model.v, a), moment / bike.FIVE_LINK.wheelbase, angles
        )
        for t in np.linspace(ph.t0, ph.tf, 101):
            beta, beta_rate = (0.0, 0.0) if down else (ph["beta"](t), ph["beta_rate"](t))
            q, v = (
                [ph["x"](t), beta, ph["torso"](t)],
                [ph["x_rate"](t), beta_rate, ph["torso_rate"](t)],
            )
            ground, front, joints = everything(
                q, v, [ph["wheel_torque"](t), ph["waist_torque"](t)], [], 0
            )
            rear = float(ground[1] - front)
            assert float(front) >= -1e-3
            assert rear >= limits.least_rear_force
            assert abs(float(ground[0])) <= limits.friction * rear
            shoulder, elbow = np.degrees(np.array(joints).ravel())
            assert 90 <= shoulder <= 180
            assert -90 - 1e-6 <= elbow <= 0
            assert beta >= -1e-9


def test_minimum_time_torques_are_bang_bang(entry):
    quick = solve(bike.wheelie_entry_time()).check()
    end = quick.phases["front up"].tf
    assert end == quick.objective
    assert end < 0.5 * entry.phases["front up"].tf
    assert end == pytest.approx(0.347494576, rel=1e-7)
    grip = 0.0
    for arc in quick.arcs:
        middle = 0.5 * (arc.start + arc.end)
        ph = quick.phases[arc.phase]
        held = [
            abs(ph["wheel_torque"](middle)) > 80 - 1e-6,
            abs(ph["waist_torque"](middle)) > 150 - 1e-6,
        ]
        on_the_cone = "grip backwards" in arc.roles
        assert sum(held) == (
            1 if on_the_cone else 2
        )  # the other torque is what the friction cone leaves
        grip += (arc.end - arc.start) * on_the_cone
    assert 0.03 < grip < 0.08
    # At the entry onto the friction cone the certificate finds a gain of 6.5e-6 of the cost, above
    # its tolerance of 1e-6.
    assert {check.name for check in certify(quick).checks if not check.ok} <= {
        "minimum of H",
        "estimated suboptimality",
    }


@pytest.mark.slow
def test_a_held_wheelie_ends_at_rest():
    held = solve(
        bike.wheelie_hold(), tolerance=1e-8
    ).check()  # the balance is unstable: errors grow without feedback
    last = held.phases["hold"]
    rise = np.degrees(last["beta"](np.linspace(last.t0, last.tf, 301)))
    assert rise.min() >= 25 - 1e-3
    assert rise.max() <= 35 + 1e-3
    assert last.tf - last.t0 == pytest.approx(1.0, abs=1e-9)
    end = ridden(held)
    assert np.degrees([end["beta"], end["torso"]]) == pytest.approx([30.0, -20.0], abs=0.01)
    assert [end["x_rate"], end["beta_rate"], end["torso_rate"]] == pytest.approx(
        [0.0, 0.0, 0.0], abs=1e-3
    )
    # There it is in balance: the torque of the static analysis holds it, and nothing moves.
    balance = bike.balanced_wheelie(30.0)
    model = bike.five_link().mechanism
    torques = [0.0, balance.torques["waist_torque"]]
    rest = np.array(
        model.acceleration([0.0, end["beta"], end["torso"]], np.zeros(3), torques)
    ).ravel()
    assert np.abs(rest).max() < 1e-2


@pytest.mark.slow
def test_a_heavier_rider_comes_from_a_parameter_file():
    """On a wheel of 0.3 m; the mass as a parameter gives the same problem as the masses of all
    links by their names.
    """
    values = load_parameters(Path(bike.__file__).parent / "heavier-rider.toml")
    heavier = solve(bike.wheelie_entry(**values)).check()
    assert heavier.objective == pytest.approx(0.27080926, rel=1e-7)
    assert certify(heavier).claim == "minimum"
    scaled = solve(
        bike.wheelie_entry(wheel_radius=0.3), parameters={"rider_mass": 60.0}, tolerance=1e-5
    ).check()
    assert scaled.objective == pytest.approx(heavier.objective, rel=1e-6)


def test_the_range_of_the_elbow_limits_the_entry():
    """Not only the straightest elbow, which is a limit of the loop."""
    phases = bike.wheelie_entry(elbow_deg=(-80.0, -25.0)).phases.values()
    bounds = [next(c for c in ph.paths if c.name == "elbow").bound for ph in phases]
    assert [(float(b.lower[0]), float(b.upper[0])) for b in bounds] == [
        pytest.approx((np.radians(-80), np.radians(-25)))
    ] * 2
