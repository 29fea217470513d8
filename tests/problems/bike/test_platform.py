"""Onto a platform with a run-up and with the front wheel first: two derivations, effect of the
speed, bounds, plots.
"""

import casadi
import numpy as np
import pytest

from problems import bike
from problems.bike.jump import TORQUES
from problems.bike.pictures import BESIDE, platform_drawing
from problems.bike.resimulation import JOINTS, flown
from problems.bike.support import axle_above, carried
from problems.bike.trees import Footing
from trajopt import solve
from trajopt.show.scene import scene
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import PhaseSolution, Solution, Status

POSTURE = {"beta": 0.35, "ankle": 0.9, "knee": 1.3, "waist": -1.9}
RATES = {"beta": -1.5, "ankle": 0.4, "knee": -1.0, "waist": 2.0}


def _numbers(value):
    return np.array(casadi.DM(value)).ravel()


def _values(tree, column, names):
    where = [c.name for c in tree.coordinates]
    return [column[where.index(name)] for name in names]


def _rows(tree, q, v, torques):
    return dict(
        zip([row.name for row in tree.rows], _numbers(tree.reactions(q, v, torques)), strict=True)
    )


def test_rolling_models_by_reduction_and_by_closures_agree():
    speed, torques = 1.7, [60.0, -100.0, 20.0, -35.0]
    tree = bike.seven_link_tree(rolling=True).starting_at(POSTURE, {**RATES, "x": speed})
    tree = tree.consistent(hold=("x", *JOINTS))
    machine, (q, v) = bike.seven_link(rolling=True), tree.start
    names = ("x", *JOINTS)
    place, rates = _values(tree, q, names), _values(tree, v, names)
    found = _numbers(machine.mechanism.acceleration(place, rates, torques))
    assert found == pytest.approx(
        _values(tree, _numbers(tree.acceleration(q, v, torques)), names), abs=1e-9
    )
    rows = _rows(tree, q, v, torques)
    assert _numbers(machine.ground_force(place, rates, found)) == pytest.approx(
        [rows["rolling"], rows["rear"]], abs=1e-8
    )


def test_a_run_up_does_not_enter_the_equations_of_a_rolling_machine():
    """It can affect a solution only if a brake needs a wheel that rotates forwards."""
    machine, torques = bike.seven_link(rolling=True), [60.0, -100.0, 20.0, -35.0]
    place = [0.0, *POSTURE.values()]
    slow, fast = ([speed, *RATES.values()] for speed in (0.0, 5.0))
    one, other = (
        _numbers(machine.mechanism.acceleration(place, rates, torques)) for rates in (slow, fast)
    )
    assert other == pytest.approx(one, abs=1e-10)
    forces = [_numbers(machine.ground_force(place, rates, one)) for rates in (slow, fast)]
    assert forces[1] == pytest.approx(forces[0], abs=1e-9)


@pytest.mark.parametrize("brake", [True, False])
def test_front_wheel_models_by_reduction_and_by_closures_agree(brake):
    data, height, torques = bike.SEVEN_LINK, 1.0, [60.0, -100.0, -80.0]
    q, v = casadi.DM(list(POSTURE.values())), casadi.DM(list(RATES.values()))
    s, w = casadi.SX.sym("q", 4), casadi.SX.sym("v", 4)
    axle = axle_above(height, s, brake)
    machine = bike.seven_link(stance=False)
    here = casadi.Function(
        "here", [s, w], [axle, *carried(machine, axle, s, w, casadi.DM(torques), brake)]
    )
    place, found, push = (_numbers(value) for value in here(q, v))
    along = (
        float(place[0])
        + data.wheelbase * np.cos(POSTURE["beta"])
        + data.wheel_radius * POSTURE["beta"]
    )
    tree = bike.seven_link_tree(stance=False, front=Footing(height, along if brake else None))
    tree = tree.starting_at({**POSTURE, "x": place[0], "y": place[1]}, {**RATES, "x": 0.8})
    tree = tree.consistent(hold=JOINTS if brake else ("x", *JOINTS))
    Q, V = tree.start
    assert found == pytest.approx(
        _values(tree, _numbers(tree.acceleration(Q, V, torques)), JOINTS), abs=1e-9
    )
    rows = _rows(tree, Q, V, torques)
    assert push == pytest.approx([rows.get("front rolling", 0.0), rows["front"]], abs=1e-8)


@pytest.fixture(scope="module")
def first():
    """Front wheel first, on a coarse mesh; the benchmark has the converged one."""
    return solve(bike.platform_support(), tolerance=2e-4).check()


@pytest.mark.slow
def test_with_the_front_wheel_first_one_metre_needs_less_torque(first):
    assert (
        first.variables["strength"] < 1.467 - 0.25
    )  # what it takes without, at the same joint rates
    again = flown(first)
    assert again.clearance == pytest.approx(1.0, abs=1e-4)
    assert again.gap < 1e-8


@pytest.mark.slow
def test_the_contact_force_at_the_platform_is_within_the_friction_cone(first):
    ph = first.phases["support"]
    s, w, u = casadi.SX.sym("q", 4), casadi.SX.sym("v", 4), casadi.SX.sym("u", 3)
    axle = axle_above(1.0, s, True)
    force = casadi.Function(
        "force", [s, w, u], [carried(bike.seven_link(stance=False), axle, s, w, u, True)[1]]
    )
    for t in np.linspace(ph.t0, ph.tf, 101):
        q, v = ([float(ph[n + tail](t)) for n in JOINTS] for tail in ("", "_rate"))
        along, up = _numbers(force(q, v, [float(ph[name](t)) for name in TORQUES]))
        assert up > 0
        assert abs(along) <= 0.9 * up + 1.0 + 1.0  # the newton of adhesion, and one for the mesh
    strength = float(first.variables["strength"][0])
    for name, limit in zip(TORQUES, bike.Jump().limits, strict=True):
        assert np.abs(ph[name](np.linspace(ph.t0, ph.tf, 201))).max() <= strength * limit * (
            1 + 2e-3
        )


@pytest.mark.slow
def test_the_speed_of_a_run_up_has_no_effect_without_a_drive():
    slow, fast = (
        solve(bike.platform_runup(speed=speed, drive=0.0), tolerance=2e-3).check()
        for speed in (1.0, 2.0)
    )
    assert fast.objective == pytest.approx(slow.objective, rel=1e-5)
    assert slow.variables["strength"] < 1.179 - 0.05
    assert flown(slow).clearance == pytest.approx(1.0, abs=1e-4)


def test_picture_shows_a_platform_of_the_height_that_was_found():
    """Also if the height is an unknown and not a setting."""
    still = {
        **POSTURE,
        "centre_x": 0.0,
        "centre_y": 1.5,
        **{f"{name}_rate": 0.0 for name in JOINTS},
        **dict.fromkeys(TORQUES, 0.0),
    }
    span, ends = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    curves = {
        name: Curve(span, (ends,), (np.full((2, 1), value),)) for name, value in still.items()
    }
    answer = Solution(
        "platform-highest",
        "direct",
        Status.SOLVED,
        0.6,
        {"flight": PhaseSolution("flight", 0.0, 1.0, curves, {})},
        variables={"height": np.array([0.6564])},
    )
    seen = scene(answer, platform_drawing())
    assert any(
        stroke.points[0].tolist()[1:3] == [[BESIDE[0], 0.6564], [BESIDE[1], 0.6564]]
        for stroke in seen.strokes
    )
