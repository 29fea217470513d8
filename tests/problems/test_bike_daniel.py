"""The Daniel jump: by PD control, and onto a platform by optimal control, re-simulated in another derivation."""

import casadi
import numpy as np
import pytest
import scipy.integrate

from problems import bike
from problems.bike_jump import HOP, PLATFORM_HOP, PLATFORM_PUSH, PUSH, TORQUES, posture_acceleration
from trajopt import solve
from trajopt.integrate import simulate
from trajopt.mechanics import Augmented

JOINTS = ("beta", "ankle", "knee", "waist")


def _rate_of(tree, gain):
    """Accelerations of a tree of links whose loop is stabilized by Baumgarte's law."""
    wanted = -2 * gain * tree.velocity_residual - gain**2 * tree.position_residual
    motion = Augmented().motion(tree, wanted)
    return tree.function(motion.acceleration)


def _flown(solution, gain=50.0):
    """Final height of the rear axle and largest gap of the loop (m), re-simulated by links and closures."""
    stance, flight = (bike.seven_link_tree(stance=on_ground) for on_ground in (True, False))
    ph = solution.phases["stance"]
    start = {name: float(ph[name](0.0)) for name in JOINTS}
    start["x"] = -bike.SEVEN_LINK.radius * start["beta"]
    # The other branch of the elbow would be a consistent start, too: begin near the right one.
    machine = bike.seven_link()
    place = [start[name] for name in JOINTS]
    for joint in ("shoulder", "elbow"):
        angle = casadi.Function(
            "angle", [machine.mechanism.q], [machine.seen(machine.posture.angles[joint], machine.mechanism.q)]
        )
        start[joint] = float(angle(place))
    q, v = stance.starting_at(start).consistent(hold=("x", "y", *JOINTS)).start
    state, gap = np.concatenate([q, v]), 0.0
    for name, tree in (("stance", stance), ("flight", flight)):
        ph, function = solution.phases[name], _rate_of(tree, gain)
        loop = tree.function(tree.position_residual[:2])

        def rate(t, y, ph=ph, function=function):
            return np.concatenate([y[8:], np.array(function(y[:8], y[8:], [float(ph[u](t)) for u in TORQUES], [], 0)).ravel()])

        run = scipy.integrate.solve_ivp(rate, (ph.t0, ph.tf), state, method="DOP853", rtol=1e-8, atol=1e-10, max_step=0.02)
        gap = max(gap, *(float(casadi.norm_2(loop(y[:8], y[8:], [0, 0, 0], [], 0))) for y in run.y.T))
        state = run.y[:, -1]
    return state[1], gap


@pytest.fixture(scope="module")
def jump():
    return solve(bike.platform_jump(height=0.5)).check()


@pytest.mark.slow
def test_a_platform_is_reached_and_the_motion_is_real(jump):
    height, gap = _flown(jump)
    assert height - bike.SEVEN_LINK.radius == pytest.approx(0.5, abs=1e-3)
    assert gap < 1e-8


@pytest.mark.slow
def test_take_off_is_smooth_and_the_flight_is_free(jump):
    stance, flight = jump.phases["stance"], jump.phases["flight"]
    for name in TORQUES:
        assert stance[name](stance.tf) == pytest.approx(flight[name](flight.t0), abs=1e-5)
    machine = bike.seven_link()
    q, v = ([float(stance[n + tail](stance.tf)) for n in JOINTS] for tail in ("", "_rate"))
    torques = [float(stance[name](stance.tf)) for name in TORQUES]
    a = machine.mechanism.acceleration(q, v, torques)
    assert float(machine.ground_force(q, v, a)[1]) == pytest.approx(0.0, abs=1e-2)
    fall = [float(flight["centre_y_rate"](t)) for t in (flight.t0, flight.tf)]
    assert fall[1] - fall[0] == pytest.approx(-bike.SEVEN_LINK.gravity * (flight.tf - flight.t0), rel=1e-9)


@pytest.mark.slow
def test_limits_hold_between_the_nodes(jump):
    machine, data = bike.seven_link(), bike.SEVEN_LINK
    model = machine.mechanism
    joints = ("ankle", "knee", "waist", "shoulder", "elbow")
    angles = casadi.vertcat(*[machine.seen(machine.posture.angles[j], model.q) for j in joints])
    ground = machine.ground_force(model.q, model.v, model.acceleration(model.q, model.v, model.u))
    everything = model.function(angles, casadi.jtimes(angles, model.q, model.v), ground)
    ranges = np.array([data.ankle_deg, data.knee_deg, data.waist_deg, data.shoulder_deg, data.elbow_deg])
    for ph in jump.phases.values():
        for t in np.linspace(ph.t0, ph.tf, 101):
            q, v = ([float(ph[n + tail](t)) for n in JOINTS] for tail in ("", "_rate"))
            place, rate, force = everything(q, v, [float(ph[u](t)) for u in TORQUES], [], 0)
            place = np.degrees(np.array(place).ravel())
            assert np.all(place >= ranges[:, 0] - 1e-3)
            assert np.all(place <= ranges[:, 1] + 1e-3)
            assert np.abs(np.array(rate)).max() <= 15 * (1 + 1e-4)
            if ph.name == "stance":
                assert float(force[1]) >= -1e-2
                assert abs(float(force[0])) <= 0.9 * float(force[1]) + 1e-2


def test_posture_in_the_air_moves_as_the_whole_machine_does():
    machine = bike.seven_link(stance=False)
    q, v, torques = np.radians([25, 58, 60, -80]), np.array([1.0, 2.0, -9.0, 8.0]), [20.0, -90.0, 5.0]
    whole = np.array(machine.mechanism.acceleration([0.3, 0.8, *q], [0.5, -1.0, *v], torques)).ravel()
    assert np.array(
        casadi.DM(casadi.evalf(posture_acceleration(machine, casadi.SX(q), casadi.SX(v), casadi.SX(torques))))
    ).ravel() == pytest.approx(whole[2:], abs=1e-9)


@pytest.mark.parametrize("sketch", [PUSH, HOP, PLATFORM_PUSH, PLATFORM_HOP])
def test_sketched_postures_stay_within_reach_of_the_handlebar(sketch):
    machine = bike.seven_link()
    reach = casadi.Function("reach", [machine.mechanism.q], [machine.seen(machine.posture.reach, machine.mechanism.q)])
    for s in np.linspace(0, 1, 51):
        place = [float(sketch.angle(k)[0](s)) for k in range(4)]
        assert float(reach(place)) < bike.SEVEN_LINK.upper_arm[0] + bike.SEVEN_LINK.forearm[0] - 1e-4


@pytest.fixture(scope="module")
def hop():
    return simulate(bike.daniel_pd())


@pytest.mark.slow
def test_pd_control_hops_and_lands(hop):
    names = [event.name for event in hop.events]
    assert names[-4:] == ["take-off", "tuck", "top", "landing"]
    assert 0.1 < hop["clearance"].max() < 0.3
    assert hop["clearance"].min() > -1e-9
    assert hop["elbow"].min() > 0  # the stop holds the arm from straightening


@pytest.mark.slow
def test_the_mass_centre_of_the_pd_hop_is_thrown(hop):
    """In the air no torque moves the mass centre off its parabola."""
    begin = [event.time for event in hop.events if event.name == "take-off"][-1]
    chosen = (hop.t > begin) & (hop.t < hop.t[-1])
    t, y = hop.t[chosen] - begin, hop["mass_centre_y"][chosen]
    parabola = np.polyfit(t, y, 2)
    assert -2 * parabola[0] == pytest.approx(bike.SEVEN_LINK.gravity, rel=1e-6)
    assert np.abs(np.polyval(parabola, t) - y).max() < 1e-8
