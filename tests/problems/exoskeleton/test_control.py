"""Optimal control of the exoskeleton: gates, blade and ground between the nodes, two methods,
inverse dynamics of the motion.
"""

from math import cos, pi, sin

import casadi
import numpy as np
import pytest
from typer.testing import CliRunner

from problems.exoskeleton import assist as exoskeleton_assist
from problems.exoskeleton import lift as exoskeleton_lift
from problems.exoskeleton import slalom_effort, slalom_time
from problems.exoskeleton.assistance import HALF_WIDTH, LIMITS, VERTICAL, normal_force, standing
from problems.exoskeleton.model import links
from problems.exoskeleton.slalom import Course, rider
from trajopt import certify, solve
from trajopt.__main__ import app
from trajopt.errors import UsageError
from trajopt.indirect.shooting import Shooting
from trajopt.mechanics import Voronets, parallel

GATES = 2


@pytest.fixture(scope="module")
def run():
    """Two gates of the least-effort slalom, in the time that suits it best."""
    return solve(slalom_effort.build(gates=GATES, duration=None)).check()


def _along(ph, body, t):
    """Places, quasi-velocities and controls of a phase at a time."""
    q = [float(ph[n](t)) for n in body.names]
    nu = [float(ph["speed"](t)), *(float(ph[f"{n}_rate"](t)) for n in body.names[2:])]
    return q, nu, [float(ph[n](t)) for n in body.limits]


def _slope(curve, t, h=1e-5):
    return (float(curve(t + h)) - float(curve(t - h))) / (2 * h)


def _inside(ph):
    """Times that are no nodes."""
    return ph.t0 + (ph.tf - ph.t0) * np.linspace(0.013, 0.987, 37)


def test_quasi_velocities_give_the_motion_of_voronets_equations():
    """The reduced form against multiplier-free equations that the library derives
    in another way.
    """
    from problems.exoskeleton.model import blade, gliding

    tree = links({"q10": 0.0}, plane=0.0)
    free = tree.mechanism()
    model = tree.mechanism(constraints=(blade(tree),))
    motion = Voronets(("y0",)).motion(model, casadi.SX(1, 1))
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = rng.uniform(-0.4, 0.4, len(free.coordinates))
        q[[model.index("psi1"), model.index("psi2")]] += 1.3
        nu = rng.uniform(-1, 1, len(q) - 1)
        v, rate, _, force = (np.array(x).ravel() for x in gliding(free, tree)(q, nu, []))
        expected = np.array(casadi.DM(model.evaluate(motion.acceleration, q, v))).ravel()
        assert rate[1:] == pytest.approx(expected[2:], abs=1e-10)
        speed_up = expected[0] * cos(q[2]) + expected[1] * sin(q[2])
        assert rate[0] == pytest.approx(speed_up, abs=1e-10)
        reaction = float(model.evaluate(motion.reactions, q, v))
        assert force[0] == pytest.approx(reaction / cos(q[2]), abs=1e-9)


def test_blade_and_equations_hold_between_the_nodes(run):
    body = rider()
    for ph in run.phases.values():
        for t in _inside(ph):
            q, nu, u = _along(ph, body, t)
            sideways = _slope(ph["y0"], t) * cos(q[2]) - _slope(ph["x0"], t) * sin(q[2])
            assert sideways == pytest.approx(0, abs=1e-5)
            rate = np.array(body.motion(q, nu, u)[1]).ravel()
            assert _slope(ph["speed"], t) == pytest.approx(rate[0], abs=2e-3)


def test_gates_are_passed_and_the_posture_returns(run):
    course = Course(gates=GATES)
    for gate, ph in enumerate(run.phases.values(), start=1):
        assert float(ph["x0"](ph.tf)) == pytest.approx(course.spacing * gate, abs=1e-8)
        assert abs(float(ph["y0"](ph.tf)) - course.centre(gate)) <= course.width / 2 + 1e-8
    assert [float(ph[n](ph.tf)) for n in ("psi1", "psi2", "phi0")] == pytest.approx(
        [pi / 2, pi / 2, 0], abs=1e-8
    )


def test_foot_stays_flat_on_the_ground_and_muscles_within_their_limits(run):
    body = rider()
    for ph in run.phases.values():
        for t in _inside(ph):
            q, nu, u = _along(ph, body, t)
            normal = float(body.motion(q, nu, u)[2])
            assert normal > 0
            assert abs(u[1]) <= 0.25 * normal + 1e-6
            assert all(
                abs(x) <= limit * (1 + 1e-6)
                for x, limit in zip(u, body.limits.values(), strict=True)
            )


def test_parallel_inverse_dynamics_of_the_motion_gives_the_controls(run):
    """Accelerations from the found trajectory alone; torques by tau = L T P; what is left is the
    muscles and the blade.
    """
    body = rider()
    tree = body.tree
    for ph in run.phases.values():
        for t in _inside(ph)[::6]:
            q, nu, u = _along(ph, body, t)
            v = np.array(body.motion(q, nu, u)[0]).ravel()
            s_rate = _slope(ph["speed"], t)
            turning = nu[0] * nu[1]
            a = [s_rate * cos(q[2]) - turning * sin(q[2]), s_rate * sin(q[2]) + turning * cos(q[2])]
            a += [_slope(ph[f"{n}_rate"], t) for n in body.names[2:]]
            tau = dict(zip(body.names, parallel(tree, q, v, a).torques, strict=True))
            steer, ankle, hip, f8, f9 = u
            assert tau["phi0"] == pytest.approx(steer, abs=2e-3)
            assert (tau["psi1"], tau["psi2"]) == pytest.approx((ankle - hip, hip), abs=2e-2)
            assert tau["x0"] * cos(q[2]) + tau["y0"] * sin(q[2]) == pytest.approx(
                0, abs=2e-2
            )  # nothing pushes along the blade
            place, speed = (
                dict(zip(body.names, q, strict=True)),
                dict(zip(body.names[2:], nu[1:], strict=True)),
            )
            for name, f, mass in (("q8", f8, 15.0), ("q9", f9, 10.0)):
                spring = (
                    mass * 9.8 * cos(pi / 12)
                    - 1000 * (place[name] - 1 / np.sqrt(3))
                    - 100 * speed[name]
                )
                assert tau[name] == pytest.approx(f + spring, abs=2e-2)


@pytest.mark.slow
def test_reduced_slalom_by_pontryagin_has_the_same_effort():
    """Chaplygin's sleigh with a steering torque through six gates: collocation against shooting."""
    direct = solve(slalom_effort.build(posture="rigid")).check()
    shot = solve(slalom_effort.build(posture="rigid"), Shooting(), guess=direct).check()
    assert shot.objective == pytest.approx(direct.objective, rel=1e-7)
    for name, ph in shot.phases.items():
        t = 0.5 * (ph.t0 + ph.tf)
        for state in ("phi0", "speed"):
            assert float(direct.costate(state, name)(t)) == pytest.approx(
                float(ph.costates[state](t)), abs=1e-4
            )


@pytest.mark.slow
def test_the_command_solves_the_reduced_slalom_by_both_methods():
    result = CliRunner().invoke(
        app, ["solve", "slalom-effort", "--set", "posture=rigid", "--method", "both"]
    )
    assert result.exit_code == 0
    assert "relative difference" in result.output


def test_more_time_than_best_takes_more_effort_and_the_fastest_run_is_faster(run):
    best = list(run.phases.values())[-1].tf
    longer = solve(slalom_effort.build(gates=GATES, duration=best + 0.02), tolerance=1e-4).check()
    assert longer.objective > 1.01 * run.objective
    fastest = solve(slalom_time.build(gates=GATES), tolerance=1e-4).check()
    end = list(fastest.phases.values())[-1].tf
    assert end < best
    price = 0.0
    for ph in fastest.phases.values():
        t = np.linspace(ph.t0, ph.tf, 4001)
        price += 0.2 * np.trapezoid(
            sum((ph[n](t).ravel() / limit) ** 2 for n, limit in rider().limits.items()), t
        )
    assert fastest.objective - end == pytest.approx(price, rel=1e-3)


def test_unknown_posture_is_rejected():
    with pytest.raises(UsageError, match="moving, rigid"):
        slalom_effort.build(posture="crouched")


@pytest.fixture(scope="module")
def standing_movements():
    return {
        m: solve(m.build(), tolerance=1e-5).check() for m in (exoskeleton_lift, exoskeleton_assist)
    }


def test_standing_movements_keep_the_foot_flat(standing_movements):
    tree, model = standing()
    names = [c.name for c in tree.coordinates]
    for answer in standing_movements.values():
        (ph,) = answer.phases.values()
        for t in _inside(ph):
            q, v = [float(ph[n](t)) for n in names], [float(ph[f"{n}_rate"](t)) for n in names]
            a = [_slope(ph[f"{n}_rate"], t) for n in names]
            normal = float(normal_force(tree, model, q, v, a))
            needed = np.array(model.inverse(q, v, a, np.zeros(4))).ravel()
            ankle = (
                needed[names.index("psi1")] + needed[names.index("psi2")]
            )  # exoskeleton and wearer together
            assert abs(ankle) <= HALF_WIDTH * normal + 0.1
            assert all(abs(float(ph[n](t))) <= limit * (1 + 1e-6) for n, limit in LIMITS.items())


def test_standing_movements_have_their_known_effort(standing_movements):
    for module, answer in standing_movements.items():
        assert answer.objective == pytest.approx(
            module.REFERENCE.objective, rel=module.REFERENCE.tolerance
        )


@pytest.mark.slow
@pytest.mark.parametrize("module", [exoskeleton_lift, exoskeleton_assist])
def test_standing_movements_are_certified(module):
    certificate = certify(solve(module.build()).check())
    assert certificate.ok, str(certificate)


def test_lift_ends_plumb_and_costs_more_than_standing(standing_movements):
    lift = standing_movements[exoskeleton_lift]
    assert float(lift["psi1"](1.0)) == pytest.approx(VERTICAL, abs=1e-9)
    hold = (15 * 9.8 / LIMITS["f8"]) ** 2 + (10 * 9.8 / LIMITS["f9"]) ** 2
    assert lift.objective > hold  # each second of standing plumb


def test_assistance_tracks_the_wearer_to_its_tolerance(standing_movements):
    efforts = {}
    looser = solve(exoskeleton_assist.build(deviation=0.06), tolerance=1e-4).check()
    for deviation, answer in ((0.03, standing_movements[exoskeleton_assist]), (0.06, looser)):
        t = np.linspace(0, 2, 2001)
        bend = 0.25 * (1 - np.cos(pi * t))
        missed = (answer["psi1"](t).ravel() - VERTICAL + bend) ** 2 + (
            answer["psi2"](t).ravel() - VERTICAL - bend
        ) ** 2
        assert np.sqrt(np.trapezoid(missed, t) / 2) == pytest.approx(
            deviation, rel=1e-3
        )  # all of the freedom is used
        efforts[deviation] = answer.objective
    assert efforts[0.06] < efforts[0.03]
