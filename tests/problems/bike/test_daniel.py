"""The Daniel jump: by PD control, and onto a platform by optimal control, re-simulated in another
derivation.
"""

from dataclasses import replace

import casadi
import numpy as np
import pytest

from problems import bike
from problems.bike.jump import (
    HOP,
    PLATFORM_HOP,
    PLATFORM_PUSH,
    PUSH,
    ROLLING_HOP,
    ROLLING_PUSH,
    TORQUES,
    posture_acceleration,
)
from problems.bike.resimulation import JOINTS, flown
from problems.bike.support import FOLLOW, LIFT, REACH
from trajopt import solve
from trajopt.integrate import simulate


@pytest.fixture(scope="module")
def jump():
    return solve(bike.platform_jump(height=0.5)).check()


@pytest.mark.slow
def test_a_platform_is_reached_and_the_motion_satisfies_the_dynamics(jump):
    again = flown(jump)
    assert again.clearance == pytest.approx(0.5, abs=1e-5)
    assert again.gap < 1e-8


@pytest.mark.slow
def test_the_highest_hop_has_its_stated_clearance():
    """On a coarse mesh; the benchmark has the converged one."""
    hop = solve(bike.daniel_jump(), tolerance=1e-3).check()
    flight = hop.phases["flight"]
    machine = bike.seven_link(stance=False)
    place = [0.0, 0.0, *(float(flight[name](flight.tf)) for name in JOINTS)]
    arm = float(casadi.evalf(machine.point("mass centre", casadi.SX(place)))[1])
    clearance = float(flight["centre_y"](flight.tf)) - arm - bike.SEVEN_LINK.wheel_radius
    again = flown(hop)
    assert clearance > 0.7
    assert again.clearance == pytest.approx(clearance, abs=1e-3)
    assert again.gap < 1e-8
    longest = max(
        float(np.abs(ph[name](np.linspace(ph.t0, ph.tf, 201))).max() / limit)
        for ph in hop.phases.values()
        for name, limit in zip(TORQUES, bike.Jump().limits, strict=True)
    )
    assert longest < 1 + 1e-4


@pytest.mark.slow
def test_take_off_is_smooth_and_the_flight_is_free(jump):
    stance, flight = jump.phases["stance"], jump.phases["flight"]
    for name in TORQUES:
        assert stance[name](stance.tf) == pytest.approx(flight[name](flight.t0), abs=1e-5)
    machine = bike.seven_link()
    q, v = ([float(stance[n + tail](stance.tf)) for n in JOINTS] for tail in ("", "_rate"))
    torques = [float(stance[name](stance.tf)) for name in TORQUES]
    a = machine.mechanism.acceleration(q, v, torques)
    assert np.array(machine.ground_force(q, v, a)).ravel() == pytest.approx([0.0, 0.0], abs=1e-4)
    fall = [float(flight["centre_y_rate"](t)) for t in (flight.t0, flight.tf)]
    assert fall[1] - fall[0] == pytest.approx(
        -bike.SEVEN_LINK.gravity * (flight.tf - flight.t0), rel=1e-9
    )


@pytest.mark.slow
def test_limits_hold_between_the_nodes(jump):
    machine, data = bike.seven_link(), bike.SEVEN_LINK
    model = machine.mechanism
    joints = ("ankle", "knee", "waist", "shoulder", "elbow")
    angles = casadi.vertcat(*[machine.seen(machine.posture.angles[j], model.q) for j in joints])
    ground = machine.ground_force(model.q, model.v, model.acceleration(model.q, model.v, model.u))
    everything = model.function(
        angles,
        casadi.jtimes(angles, model.q, model.v),
        ground,
        machine.point("mass centre", model.q),
    )
    ranges = np.array(
        [data.ankle_deg, data.knee_deg, data.waist_deg, data.shoulder_deg, data.elbow_deg]
    )
    for ph in jump.phases.values():
        for t in np.linspace(ph.t0, ph.tf, 101):
            q, v = ([float(ph[n + tail](t)) for n in JOINTS] for tail in ("", "_rate"))
            place, rate, force, centre = everything(q, v, [float(ph[u](t)) for u in TORQUES], [], 0)
            place = np.degrees(np.array(place).ravel())
            assert np.all(place >= ranges[:, 0] - 1e-3)
            assert np.all(place <= ranges[:, 1] + 1e-3)
            assert np.abs(np.array(rate)).max() <= 15 * (1 + 1e-4)
            if ph.name == "flight":  # the tyre is not pressed in
                assert float(ph["centre_y"](t)) - float(centre[1]) >= -1e-6
            if ph.name == "stance":
                assert float(force[1]) >= -1e-2
                assert (
                    abs(float(force[0])) <= 0.9 * float(force[1]) + 1e-2
                )  # the newton of adhesion is never used


def test_posture_in_the_air_moves_as_the_whole_machine_does():
    machine = bike.seven_link(stance=False)
    q, v, torques = (
        np.radians([25, 58, 60, -80]),
        np.array([1.0, 2.0, -9.0, 8.0]),
        [20.0, -90.0, 5.0],
    )
    whole = np.array(
        machine.mechanism.acceleration([0.3, 0.8, *q], [0.5, -1.0, *v], torques)
    ).ravel()
    assert np.array(
        casadi.DM(
            casadi.evalf(
                posture_acceleration(machine, casadi.SX(q), casadi.SX(v), casadi.SX(torques))
            )
        )
    ).ravel() == pytest.approx(whole[2:], abs=1e-9)


@pytest.mark.parametrize(
    "sketch",
    [PUSH, HOP, PLATFORM_PUSH, PLATFORM_HOP, ROLLING_PUSH, ROLLING_HOP, LIFT, REACH, FOLLOW],
)
@pytest.mark.parametrize("longer", [0.9, 1.0, 1.1], ids=["short arms", "thesis", "long arms"])
def test_sketched_postures_stay_within_reach_of_the_handlebar(sketch, longer):
    """Also with other links: arms shorter and limbs longer, or the other way round."""
    links = {
        name: getattr(bike.SEVEN_LINK, name) for name in ("upper_arm", "forearm", "thigh", "torso")
    }
    factors = {"upper_arm": longer, "forearm": longer, "thigh": 2 - longer, "torso": 2 - longer}
    data = replace(
        bike.SEVEN_LINK,
        **{name: replace(link, length=factors[name] * link.length) for name, link in links.items()},
    )
    elbows = []
    for machine in (bike.seven_link(), bike.seven_link(data)):
        q = machine.mechanism.q
        elbows.append(
            casadi.Function("elbow", [q], [machine.seen(machine.posture.angles["elbow"], q)])
        )
    curves = sketch.angles(bike.SEVEN_LINK), sketch.angles(data)
    for s in np.linspace(0, 1, 41):
        place, moved = ([float(curve(s)) for curve, _ in angles] for angles in curves)
        assert float(elbows[0](place)) > 0.02
        assert float(elbows[1](moved)) == pytest.approx(float(elbows[0](place)), abs=1e-9)


@pytest.fixture(scope="module")
def hop():
    return simulate(bike.daniel_pd())


@pytest.mark.slow
def test_pd_control_hops_and_lands(hop):
    names = list(dict.fromkeys(event.name for event in hop.events[-6:]))
    assert names == ["tuck", "top", "rear touch-down", "rear slip", "rider on the ground"]
    assert hop["clearance"].max() == pytest.approx(0.1672, abs=2e-4)
    assert hop["elbow"].min() > 0  # the stop holds the arm from straightening
    assert np.abs(hop["wheel_rate"]).max() < 50.0  # in the air the brake holds the wheel


@pytest.mark.slow
def test_contact_forces_of_the_pd_hop_are_compressive(hop):
    assert hop["rear_force"].min() > -1e-4
    assert np.all(np.abs(hop["traction"]) <= 0.9 * hop["rear_force"] + 1e-4)
    assert min(hop["rear_gap"].min(), hop["front_gap"].min(), hop["lowest_point"].min()) > -1e-6


@pytest.mark.slow
def test_the_mass_centre_of_the_pd_hop_moves_on_a_parabola(hop):
    """In the air no torque moves the mass centre off its parabola."""
    begin = [event.time for event in hop.events if event.name == "rear lift-off"][-1]
    end = [event.time for event in hop.events if event.name == "rear touch-down"][-1]
    chosen = (hop.t > begin) & (hop.t < end)
    t, y = hop.t[chosen] - begin, hop["mass_centre_y"][chosen]
    parabola = np.polyfit(t, y, 2)
    assert -2 * parabola[0] == pytest.approx(bike.SEVEN_LINK.gravity, rel=1e-6)
    assert np.abs(np.polyval(parabola, t) - y).max() < 1e-8
