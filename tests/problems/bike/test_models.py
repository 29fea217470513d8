"""The bike robot's machines by two derivations, its mass-centre regions, and
postures in balance.
"""

from dataclasses import replace
from math import radians

import casadi
import numpy as np
import pytest

from problems import bike
from trajopt.errors import UsageError
from trajopt.integrate import simulate

RNG = np.random.default_rng(7)


def _numbers(value):
    return np.array(value).ravel()


def _five_tree(front_down, beta):
    tree = bike.five_link_tree(front_down=front_down).starting_at(
        {"beta": beta, "torso": 0.05}, {"x": 1.0, "beta": 0.0 if front_down else 0.7, "torso": -0.9}
    )
    return tree.consistent(hold=("x", "beta", "torso"))


@pytest.mark.parametrize(("front_down", "beta"), [(False, 0.3), (True, 0.0)])
def test_five_link_models_by_reduction_and_by_closures_agree(front_down, beta):
    tree, machine = _five_tree(front_down, beta), bike.five_link(front_down=front_down)
    q, v = tree.start
    torques = [60.0, -100.0]
    expected = _numbers(tree.acceleration(q, v, torques))[[0, 3, 4]]
    place, rates = [q[0], q[3], q[4]], [v[0], v[3], v[4]]
    found = _numbers(machine.mechanism.acceleration(place, rates, torques))
    assert found == pytest.approx(expected, abs=1e-9)
    reactions = dict(
        zip([row.name for row in tree.rows], _numbers(tree.reactions(q, v, torques)), strict=True)
    )
    ground = _numbers(machine.ground_force(place, rates, found))
    front = reactions.get("front", 0.0)
    assert ground == pytest.approx([reactions["rolling"], reactions["rear"] + front], abs=1e-8)
    if front_down:
        moment = float(machine.mechanism.reactions(place, rates, torques))
        assert moment / bike.FIVE_LINK.wheelbase == pytest.approx(front, abs=1e-8)


@pytest.mark.parametrize("stance", [True, False])
def test_seven_link_models_by_reduction_and_by_closures_agree(stance):
    tree = bike.seven_link_tree(stance=stance).starting_at(
        {"beta": 0.4, "y": 0.254 if stance else 0.5},
        {"beta": 0.5, "ankle": 0.4, "knee": -1.0, "waist": 2.0},
    )
    held = (
        ("beta", "ankle", "knee", "waist")
        if stance
        else ("x", "y", "beta", "ankle", "knee", "waist")
    )
    tree = tree.consistent(hold=held)
    machine = bike.seven_link(stance=stance)
    (q, v), torques = tree.start, [60.0, -100.0, 20.0]
    keep = slice(2, 6) if stance else slice(0, 6)
    found = _numbers(machine.mechanism.acceleration(q[keep], v[keep], torques))
    assert found == pytest.approx(_numbers(tree.acceleration(q, v, torques))[keep], abs=1e-9)
    ground = _numbers(machine.ground_force(q[keep], v[keep], found))
    rows = dict(
        zip([row.name for row in tree.rows], _numbers(tree.reactions(q, v, torques)), strict=True)
    )
    assert ground == pytest.approx([rows.get("rolling", 0.0), rows.get("rear", 0.0)], abs=1e-8)


@pytest.mark.parametrize(
    "machine", [bike.five_link(), bike.seven_link(), bike.seven_link(stance=False)]
)
def test_mass_matrix_and_bias_are_those_of_the_energies(machine):
    model, by_energies = machine.mechanism, replace(machine.mechanism, inertia=None)
    q = model.start[0] + 0.05 * RNG.standard_normal(model.q.numel())
    v = RNG.standard_normal(model.q.numel())
    for expression in ("mass", "bias"):
        one, other = (
            np.array(m.evaluate(getattr(m.equations, expression), q, v))
            for m in (model, by_energies)
        )
        assert one == pytest.approx(other, abs=1e-10 * np.abs(other).max())


def test_the_free_machine_conserves_energy():
    model = bike.five_link().mechanism.starting_at(
        {"beta": 0.5, "torso": -0.3}, {"x": 0.5, "beta": -0.3, "torso": 0.4}
    )
    run = simulate(model.system(), until=0.3)
    first, last = (
        float(model.evaluate(model.equations.energy, x[:3], x[3:])) for x in (run.x[0], run.x[-1])
    )
    assert last == pytest.approx(first, abs=1e-8)
    assert np.abs(run.x[-1] - run.x[0]).max() > 0.1


def test_power_of_the_torques_is_the_rate_of_the_energy():
    model = bike.seven_link().mechanism
    q, v = model.start[0], RNG.standard_normal(4)
    torques = np.array([100.0, -50.0, 30.0])
    a = _numbers(model.acceleration(q, v, torques))
    rate = casadi.jtimes(model.equations.energy, model.q, model.v) + casadi.jtimes(
        model.equations.energy, model.v, casadi.DM(a)
    )
    power = float(casadi.dot(model.evaluate(model.equations.force, q, v, torques), v))
    assert float(model.evaluate(rate, q, v, torques)) == pytest.approx(power, rel=1e-10)


# x_g of the mass centre and the torso's range, deg, within the joint ranges, computed to whole
# degrees.
REGIONS = {
    0: ((-8, 20), (0.250, 0.335)),
    15: ((-23, 5), (0.096, 0.192)),
    30: ((-30, -10), (-0.034, 0.036)),
}


@pytest.mark.parametrize("rise", REGIONS)
def test_regions_of_the_mass_centre(rise):
    (first, last), (behind, ahead) = REGIONS[rise]
    region = bike.mass_centre_curve(rise)
    torso = np.degrees(region.angles[:, 0])
    assert first - 1 < torso.min() <= first + 0.2
    assert last - 0.2 <= torso.max() < last + 1
    whole = [region.centres[np.argmin(np.abs(torso - lean)), 0] for lean in (first, last)]
    assert whole == pytest.approx([behind, ahead], abs=1.5e-3)


def test_the_pointing_region_contains_the_rider_only_where_the_forearm_has_its_length():
    data = bike.FIVE_LINK
    region = bike.pointing_region(0.0, points=81)
    curve = bike.mass_centre_curve(0.0)
    inside = curve.centres[curve.angles[:, 0] >= 0]
    nearest = np.min(np.linalg.norm(region.centres[:, None, :] - inside[None], axis=2), axis=0)
    assert nearest.max() < 5e-3
    assert np.ptp(region.centres[:, 1]) > 2 * np.ptp(inside[:, 1])
    assert data.forearm.length == 0.45


def test_seven_link_region_reaches_the_contact_only_with_the_front_up():
    flat, up = bike.mass_centre_cloud(0.0, points=15), bike.mass_centre_cloud(30.0, points=15)
    assert np.mean(flat.centres[:, 0] > 0) > 0.95
    assert up.centres[:, 0].min() < -0.2 < 0.05 < up.centres[:, 0].max()


def test_a_wheelie_in_balance_does_not_move():
    balance = bike.balanced_wheelie(30.0)
    assert np.degrees(balance.angles["torso"]) == pytest.approx(
        -20.0, abs=1e-3
    )  # what the saddle was chosen for
    model = bike.five_link().mechanism
    place = [0.0, balance.angles["beta"], balance.angles["torso"]]
    torques = [balance.torques["wheel_torque"], balance.torques["waist_torque"]]
    assert _numbers(model.acceleration(place, np.zeros(3), torques)) == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(UsageError, match="no balanced wheelie"):
        bike.balanced_wheelie(0.0)


def test_take_off_posture_has_the_lowest_balanced_mass_centre():
    posture = bike.lowest_posture()
    machine = bike.seven_link()
    place = [posture.angles[name] for name in ("beta", "ankle", "knee", "waist")]
    torques = [posture.torques[f"{name}_torque"] for name in ("knee", "waist", "elbow")]
    assert _numbers(machine.mechanism.acceleration(place, np.zeros(4), torques)) == pytest.approx(
        0.0, abs=1e-8
    )
    assert posture.centre[0] == pytest.approx(0.0, abs=1e-9)
    region = bike.mass_centre_cloud(15.0, points=31)
    balanced = np.abs(region.centres[:, 0]) < 2e-3
    assert posture.centre[1] <= region.centres[balanced, 1].min() + 2e-3
    assert posture.angles["knee"] == pytest.approx(radians(120), abs=1e-6)
    with pytest.raises(UsageError, match="no balanced posture"):
        bike.lowest_posture((60.0, 70.0))
