"""The named systems of the branched arm, the rider and the multibody book, against their figures
and balances.
"""

import inspect
from dataclasses import replace

import casadi
import numpy as np
import pytest

from problems.bike import rider_loop
from problems.multibody import exercises as multibody
from problems.multibody import machines, rolling
from problems.multibody.branched_arm import START, arm, profile
from problems.multibody.branched_arm import build as branched_arm
from trajopt.catalogue import builder, named_problems
from trajopt.errors import ModelError, UsageError
from trajopt.files.simulation_files import simulation_summary
from trajopt.integrate import Baumgarte, Dop853, Projection, simulate
from trajopt.mechanics import Beam, check_model, kinematics, newton_euler
from trajopt.system import Variable

NAMES = [name for name, entry in named_problems().items() if entry.kind == "system"]
JOINTED = {
    "offset-body": 2.0,
    "double-pendulum": 1.0,
    "triple-pendulum": 0.7,
    "disc-pendulum": 1.0,
    "inverted-pendulum": 0.3,
    "mounted-pendulum": 2.0,
    "welded-pendulum": 2.0,
    "two-link-robot": 1.0,
    "ground-slider": 2.0,
    "body-slider": 0.7,
    "slider-crank": 1.0,
    "pinned-pair": 0.5,
    "gear-pair": 1.0,
    "rack-pinion": 1.0,
}


def test_every_system_of_the_book_has_a_name():
    asked = {
        "branched-arm",
        "free-body",
        "bouncing-body",
        "double-pendulum",
        "triple-pendulum",
        "disc-pendulum",
        "inverted-pendulum",
    }
    assert asked | {"slider-crank", "vehicle-flat", "vehicle-slope", "rider-loop"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_has_a_default_and_every_mechanism_passes_its_checks(name):
    build = builder(name, "system")
    assert all(
        p.default is not inspect.Parameter.empty
        for p in inspect.signature(build).parameters.values()
    )
    system = build()
    assert system.name == name
    if system.mechanism is not None:
        assert check_model(system, samples=5, spread=0.05).check().ok


def test_free_body_falls_on_the_parabola(motion):
    found = motion(builder("free-body")(), 1.0)
    assert found.final["x"] == pytest.approx(3.0, abs=1e-12)
    assert found.final["y"] == pytest.approx(1.0 + 1.0 - 9.81 / 2, abs=1e-12)
    assert found.drift["energy"] < 1e-11


@pytest.mark.parametrize("name", list(JOINTED))
def test_formulations_agree_and_energy_balances(motion, name):
    until = JOINTED[name]
    augmented = motion(builder(name)(), until)
    assert max(augmented.drift.values()) < 1e-8
    assert abs(augmented.imbalance) < 1e-8
    for formulation in ("eliminated", "voronets", "appell"):
        found = motion(builder(name)(formulation=formulation), until)
        names = [n for n in found.final if n in augmented.final]
        assert len(names) > 3
        assert [found.final[n] for n in names] == pytest.approx(
            [augmented.final[n] for n in names], abs=1e-7
        )
        assert abs(found.imbalance) < 1e-8


@pytest.mark.parametrize("name", ["double-pendulum", "slider-crank"])
def test_projected_and_stabilized_motions_agree_with_the_augmented_one(motion, name):
    reference = motion(builder(name)(), 1.0).x
    for way in (Projection(), Baumgarte(20.0)):
        found = simulate(builder(name)(), Dop853(1e-11), 1.0, way)
        assert found.x[-1] == pytest.approx(reference, abs=1e-7)


def test_rigid_bounces_follow_the_geometric_series_and_end_at_rest():
    found = simulate(rolling.bouncing_body(restitution=0.5, friction=0.0), until=2.0)
    times = np.array([e.time for e in found.events])
    assert times[0] == pytest.approx(np.sqrt(2 * 0.9 / 9.81), abs=1e-12)
    assert np.diff(times)[1:6] / np.diff(times)[:5] == pytest.approx(np.full(5, 0.5), rel=1e-9)
    assert (found.final["y"], found.final["y_rate"]) == pytest.approx((0.1, 0.0), abs=1e-12)
    assert found.final["x"] == pytest.approx(2.0, abs=1e-9)  # without friction nothing slows it


def test_penalty_converges_to_the_constrained_motion(motion):
    exact = motion(builder("offset-body")(), 0.2).final
    found = motion(builder("offset-body")(formulation="penalty"), 0.2, 1e-7, 1e-9).final
    assert found["theta"] == pytest.approx(exact["theta"], abs=1e-4)


@pytest.mark.parametrize("name", ["sprung-body", "sprung-pair"])
def test_energy_balance_holds_for_bodies_with_springs(motion, name):
    assert abs(motion(builder(name)(), 2.0).imbalance) < 1e-8


def test_inverted_pendulum_is_stable_only_on_a_fast_pivot(motion):
    still = motion(multibody.inverted_pendulum(frequency=1.0), 1.0, 1e-8, 1e-10).final["bar_theta"]
    shaken = motion(multibody.inverted_pendulum(), 1.0, 1e-8, 1e-10).final["bar_theta"]
    assert abs(still - np.pi / 2) > 1.0
    assert abs(shaken - np.pi / 2) < 0.25


def test_driven_slider_crank_gets_the_work_of_its_torque(motion):
    system = multibody.slider_crank(torque=2.0)
    found = motion(system, 0.5)
    turned = found.final["crank_theta"] - system.start[2]
    energy = system.function(system.outputs["energy"][0])
    gained = float(energy(0.5, found.x, [])) - float(energy(0.0, system.start, []))
    assert gained == pytest.approx(2.0 * turned, rel=1e-9)


def test_rolling_disc_ends_at_two_thirds_of_its_speed(motion):
    found = motion(rolling.rolling_body(smoothing=1e-2), 1.0, 1e-8, 1e-10).final
    assert found["x_rate"] == pytest.approx(2.0 * 2 / 3, rel=1e-3)
    assert found["theta_rate"] * 0.1 == pytest.approx(-found["x_rate"], rel=1e-3)


def imbalance(system, until, tolerance):
    """The run, and the largest energy along it (J) that the work of forces does not account for,
    the work being a state.
    """
    work = casadi.SX.sym("work")
    events = (
        replace(e, reset=None if e.reset is None else casadi.vertcat(e.reset, work))
        for e in system.events
    )
    whole = replace(
        system,
        x=casadi.vertcat(system.x, work),
        states=(*system.states, Variable("work", 0.0, "J")),
        rate=casadi.vertcat(system.rate, system.outputs["power"][0]),
        events=tuple(events),
        through_reactions=None,
    )
    run = simulate(whole, Dop853(tolerance), until)
    rest = run["energy"] - run["work"]
    return run, np.abs(rest - rest[0]).max()


BALANCED = [
    "mass-spring-damper",
    "lcr-circuit",
    "pendulum-cartesian",
    "two-link-arm",
    "closed-four-link",
    "sleigh",
    "cart-slalom",
    "turntable-ball",
    "rider-loop",
    "torso-loop",
    "free-body",
    "sprung-body",
    "sprung-pair",
    "snowboarder",
    "rolling-body",
    "flexible-arm",
    *JOINTED,
]


@pytest.mark.parametrize("name", BALANCED)
def test_energy_balances_to_the_tolerance(name):
    """What forces, motors, moving pivots and friction do is all that the energy changes by."""
    system = builder(name)()
    run, missing = imbalance(system, min(system.until, 1.0), 1e-11)
    assert missing < 1e-9 * (1 + np.abs(run["energy"]).max())


def test_every_system_with_energy_and_power_has_a_balance_test():
    elsewhere = {"bouncing-body", "vehicle-flat", "vehicle-slope", "hung-cuboid"}
    systems = {name: builder(name)() for name in NAMES}
    assert {n for n, s in systems.items() if {"energy", "power"} <= set(s.outputs)} <= {
        *BALANCED,
        *elsewhere,
    }


@pytest.mark.parametrize("law", list(rolling.COMPLIANT))
def test_energy_balance_of_a_compliant_bounce_holds_to_the_tolerance(law):
    for tolerance in (1e-10, 1e-12):
        run, missing = imbalance(rolling.bouncing_body(law), 1.6, tolerance)
        assert missing < 200 * tolerance  # of 10 J
    assert len([e for e in run.events if e.name == "disc touches the ground"]) >= 2
    lost = np.abs(run["energy"][-1] - run["energy"][0])
    assert lost > 0.1  # friction, and damping where the law has some


@pytest.mark.parametrize("law", list(rolling.COMPLIANT))
def test_touch_down_and_lift_off_are_located_to_round_off(law):
    run = simulate(rolling.bouncing_body(law, friction=0.0), until=0.6)
    touches, leaves = (
        next(e for e in run.events if e.name == f"disc {does} the ground")
        for does in ("touches", "leaves")
    )
    assert touches.time == pytest.approx(np.sqrt(2 * 0.9 / 9.81), abs=1e-12)
    assert (touches.before[1], leaves.before[1]) == pytest.approx((0.1, 0.1), abs=1e-14)
    assert touches.before[4] < 0 < leaves.before[4]
    if (
        law == "kelvin-voigt"
    ):  # lets go before it leaves, at the depth where its damping would begin to pull
        (free,) = (e for e in run.events if e.name == "ground contact lets go")
        made = rolling.COMPLIANT[law](0.8)
        assert touches.time < free.time < leaves.time
        assert made.stiffness * (0.1 - free.before[1]) == pytest.approx(
            made.damping * free.before[4], rel=1e-9
        )


@pytest.mark.parametrize("law", list(rolling.RIGID))
def test_rigid_bounces_have_an_event_with_a_reset(law):
    system = rolling.bouncing_body(law, restitution=0.8, friction=0.0)
    (event,) = system.events
    fallen = np.array([0.3, 0.1, 0.0, 1.0, -4.0, 0.0])
    after = np.array(system.function(event.reset)(0.4, fallen, [])).ravel()
    assert after == pytest.approx([0.3, 0.1, 0.0, 1.0, 3.2, 0.0], abs=1e-14)
    assert float(system.function(event.expression)(0.4, fallen, [])) == pytest.approx(
        0.0, abs=1e-16
    )


@pytest.mark.parametrize(
    ("name", "slope"), [("vehicle-flat", 0.0), ("vehicle-slope", np.radians(10))]
)
def test_vehicle_accelerates_by_its_torque_and_balances_its_energy(motion, name, slope):
    """Once the tyres have settled: (M + 2 J / r^2) a = tau / r - M g sin(slope), up to the creep of
    the smoothed friction.
    """
    system = builder(name)()
    found = motion(system, 1.0, 1e-8, 1e-10)
    assert imbalance(system, 1.0, 1e-10)[1] < 1e-10  # of several kJ
    torque = {"vehicle-flat": 400.0, "vehicle-slope": 700.0}[name]
    acceleration = (torque / 0.3 - 1060 * 9.81 * np.sin(slope)) / (1060 + 30)
    speed = found.final["chassis_x_rate"] * np.cos(slope) + found.final["chassis_y_rate"] * np.sin(
        slope
    )
    assert speed == pytest.approx(acceleration * 1.0, rel=0.05)


def test_increasing_torque_causes_slip_of_the_rear_wheel():
    system = rolling.vehicle_flat(torque=0.0, growth=2000.0)
    rate = system.function(system.rate)
    early, late = (np.array(rate(t, system.start, [])).ravel() for t in (0.1, 5.0))
    assert late[14] < 10 * early[14] < 0  # rear wheel, clockwise


def test_invalid_choices_have_suggestions():
    with pytest.raises(UsageError, match="did you mean 'eliminated'"):
        multibody.double_pendulum(formulation="eliminate")
    with pytest.raises(UsageError, match="did you mean 'hertz'"):
        rolling.bouncing_body("herz")
    with pytest.raises(UsageError, match="absolute, appendix"):
        rider_loop.build("relative")


def test_extreme_torques_of_the_branched_arm_are_not_those_at_the_steps():
    """The integrator takes five steps; table, JSON and plots use its dense output."""
    run = simulate(builder("branched-arm")())
    t = np.linspace(0, 1, 5001).reshape(1, -1)
    symbol = casadi.SX.sym("t")
    curves = casadi.Function("curves", [symbol], list(profile(symbol, np.pi / 2, 1.0)))
    moved, rate, acceleration = (np.repeat(np.array(row), 3, axis=0) for row in curves(t))
    torques = np.array(newton_euler(arm())(np.array(START)[:, None] + moved, rate, acceleration, t))
    shown = simulation_summary(run)["outputs"]
    for k in range(3):
        assert shown[f"torque{k + 1}"]["max"] == pytest.approx(torques[k].max(), rel=1e-5)
        assert shown[f"torque{k + 1}"]["min"] == pytest.approx(torques[k].min(), rel=1e-5)
    assert len(run.t) < 10


def test_a_force_on_the_tips_of_the_branched_arm_is_balanced_by_the_joints():
    """Virtual work: the torques change by minus the force times the derivative of the tips'
    position.
    """
    force = np.array([1.0, 2.0])
    change = [
        simulate(builder("branched-arm")(tip_force=tuple(force)), until=0.3)[f"torque{k}"][-1]
        - simulate(builder("branched-arm")(), until=0.3)[f"torque{k}"][-1]
        for k in (1, 2, 3)
    ]
    a, b, c = np.array(START) + float(profile(casadi.SX(0.3), np.pi / 2, 1.0)[0])

    def tips(a, b, c):
        elbow = np.array([np.cos(a), np.sin(a)])
        return 0.4 * (2 * elbow + [np.cos(a + b) + np.cos(a + c), np.sin(a + b) + np.sin(a + c)])

    h = 1e-6
    work = [
        force @ (tips(*(q + h * e)) - tips(*(q - h * e))) / (2 * h)
        for q in [np.array([a, b, c])]
        for e in np.eye(3)
    ]
    assert change == pytest.approx([-w for w in work], abs=1e-8)


# Gears, cuboid, elastic arm
# --------------------------------------------------------------------------------------------------


def test_gears_turn_as_their_reduced_inertia_says(motion):
    J1, J2 = (np.pi * 100 * r**4 / 2 for r in (0.1, 0.2))
    rate = (0.5 + 0.5 * 0.2) / (J1 + J2 / 4)
    run = simulate(machines.gear_pair(), until=1.0)
    assert run["gear1_theta_rate"][-1] == pytest.approx(rate, rel=1e-12)
    assert run["gear2_theta_rate"][-1] == pytest.approx(-rate / 2, rel=1e-12)
    assert run["reaction_mesh"][-1] == pytest.approx((rate * J1 - 0.5) / 0.1, rel=1e-9)


def test_the_rack_swings_about_its_equilibrium():
    mass = np.pi * 100 * 0.1**2 / 2 + 2.0
    t = np.linspace(0, 2, 5)
    run = simulate(machines.rack_pinion(), until=2.0)
    exact = 2.0 / 0.1 / 100 * (1 - np.cos(np.sqrt(100 / mass) * t))
    assert run.at(t, "rack_x") == pytest.approx(exact, abs=1e-9)
    assert run.at(t, "pinion_theta") == pytest.approx(exact / 0.1, abs=1e-8)


def test_the_cuboid_is_a_compound_pendulum():
    """The energy of J theta'^2/2 - m g d cos(theta), from rest at the tilt."""
    run = simulate(machines.hung_cuboid(formulation="augmented"), until=1.0)
    d = np.hypot(0.6, 0.3) / 2
    angle = np.arctan2(run["cuboid_x"], -run["cuboid_y"])
    J = 0.6**2 / 3 + 0.3**2 / 3
    gained = 9.81 * d * (np.cos(angle) - np.cos(0.5))
    assert J * run["cuboid_theta_rate"] ** 2 / 2 == pytest.approx(gained, abs=1e-9)
    soft = simulate(machines.hung_cuboid(), Dop853(1e-8), until=0.5)
    assert soft["cuboid_theta"][-1] == pytest.approx(float(run.at(0.5, "cuboid_theta")), abs=1e-4)


def test_a_clamped_beam_swings_and_sags_as_known():
    """Its first frequency is 1.8751^2 sqrt(EI/(m l^3)), its deflection by weight m g l^3/(8 EI)."""
    period = 2 * np.pi / (1.875104068711961**2 * np.sqrt(10.0))
    run = simulate(machines.flexible_arm(clamped=True, deflection=0.01), until=period)
    assert run["deflection"][-1] == pytest.approx(0.02, abs=1e-10)
    system = machines.flexible_arm(clamped=True, gravity=1.0, modes=6)
    rates = system.function(system.rate)
    x = casadi.SX.sym("eta", 6)
    still = casadi.vertcat(0, x, casadi.SX.zeros(7, 1))
    forces = casadi.Function("f", [x], [rates(0.0, still, [])[8:]])
    eta = np.linalg.solve(np.array(forces.jacobian()(np.zeros(6), 0)), -np.array(forces(0.0)))
    tip = Beam(1.0, 1.0, 10.0, 6).shapes(1.0) @ eta
    assert float(tip[0, 0]) == pytest.approx(-1 / 80, rel=2e-4)


def test_a_free_beam_swings_at_the_frequency_of_a_hinged_one():
    """3.9266^2 sqrt(EI/(m l^3)) for a hub without inertia; assumed modes approach it from above."""
    exact = 3.926602312047919**2 * np.sqrt(10.0)
    found = []
    for modes in (1, 2, 4):
        system = machines.flexible_arm(hub=0.0, torque=0.0, modes=modes)
        slope = casadi.jacobian(system.rate, system.x)
        A = np.array(system.function(slope)(0.0, system.start, []))
        found.append(sorted(abs(np.linalg.eigvals(A).imag))[2])
    assert found[0] > found[1] > found[2] > exact
    assert found[2] == pytest.approx(exact, rel=2e-5)


@pytest.mark.parametrize("name", ["offset-body", "triple-pendulum", "body-slider", "gear-pair"])
def test_driven_mechanisms_follow_newton_raphson(name):
    """Positions, velocities, accelerations of the run are those of the kinematic analysis."""
    count = {"triple-pendulum": 3, "body-slider": 2}.get(name, 1)
    system = builder(name)(drive=tuple(0.5 * (k + 1) for k in range(count)))
    run = simulate(system, until=0.5)
    found = kinematics(system.mechanism, np.linspace(0, 0.5, 11))
    n = len(system.mechanism.coordinates)
    assert run.x[-1, :n] == pytest.approx(found.q[-1], abs=1e-8)
    assert run.x[-1, n:] == pytest.approx(found.v[-1], abs=1e-8)
    rates = np.array(system.function(system.rate)(0.5, run.x[-1], [])).ravel()
    assert rates[n:] == pytest.approx(found.a[-1], abs=1e-6)
    with pytest.raises(ModelError, match="a rate for each"):
        builder(name)(drive=(1.0, 2.0, 3.0, 4.0))
    with pytest.raises(ModelError, match="no independent velocity"):
        builder(name)(drive=(1.0,) * count, formulation="voronets")


@pytest.mark.parametrize("law", ["kelvin-voigt", "hunt-crossley"])
def test_a_compliant_bounce_has_the_restitution_asked_for(law):
    assert rolling.obtained_restitution(law, 0.3) == pytest.approx(0.3, abs=4e-3)
    assert rolling.obtained_restitution(law, 0.8, stiffness=1e8) == pytest.approx(0.8, abs=1e-3)


TREE = """
gravity = [0, -9.81, 0]
[[link]]
name = "upper"
parent = "ground"
joint = [{turn = "z", by = "shoulder", start = "0.3 rad"}]
mass = 2.0
length = 0.4
[[link]]
name = "fore"
parent = "upper"
joint = [{slide = "x", by = 0.4}, {turn = "z", by = "elbow"}]
mass = 1.5
centre = [0.2, 0.02, 0]
inertia = [0, 0, 0.02]
[[link]]
name = "thumb"
parent = "upper"
joint = [{slide = "x", by = 0.3}, {turn = "z", by = "thumb", start = 0.4}]
mass = 0.5
length = 0.1
"""


def test_the_parallel_scheme_agrees_with_newton_euler_for_any_planar_tree(tmp_path):
    (tmp_path / "tree.toml").write_text(TREE)
    data = {"lengths": (0.3, 0.5, 0.2), "masses": (0.4, 0.1, 0.3), "loads": (0.2, 0.9)}
    for settings in ({"links": str(tmp_path / "tree.toml")}, data, {"tip_force": (1.0, 2.0)}):
        torques = []
        for method in ("newton-euler", "parallel"):
            system = branched_arm(method=method, **settings)
            names = [name for name in system.outputs if name.startswith("torque")]
            expressions = casadi.vertcat(*(system.outputs[name][0] for name in names))
            torques.append(np.array(system.function(expressions)(0.3, system.start, [])).ravel())
        assert torques[1] == pytest.approx(torques[0], abs=1e-13)
        assert abs(torques[0]).max() > 0.1
