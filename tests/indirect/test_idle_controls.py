"""Throttle and direction: on a coast H leaves the direction open, and shooting still finds where
the engine is lit.
"""

import casadi
import numpy as np
import pytest
from casadi import cos, sin

from trajopt import Problem, certify, solve
from trajopt.indirect.control_law import arc_law
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.modes import Mode
from trajopt.indirect.shooting import Shooting

THRUST, EXHAUST, RADIUS, DURATION = 0.2, 2.0, 1.3, 3.2


def transfer(direction="angle", first_guess=0.0):
    """From the circle 1 to the circle 1.3 with the least fuel, in one phase: burn, coast, burn."""
    ocp = Problem("least fuel")
    ph = ocp.phase()
    ph.time(start=0, end=DURATION)
    r = ph.state("r", start=1, end=RADIUS, guess=lambda s: 1 + (RADIUS - 1) * s)
    vr, vt = ph.state("vr", start=0, end=0), ph.state("vt", start=1, end=RADIUS**-0.5, guess=1)
    m = ph.state("m", start=1, guess=1)
    k = ph.control("throttle", lower=0, upper=1, guess=0.5)
    if direction == "angle":
        a = ph.control("angle", guess=first_guess)
        radial, transverse = sin(a), cos(a)
    else:
        e = ph.control("e", 2, guess=[0, 1])
        ph.path(e[0] ** 2 + e[1] ** 2, equals=1, name="unit direction")
        radial, transverse = e[0], e[1]
    push = THRUST * k / m
    ph.dynamics(
        {
            r: vr,
            vr: vt**2 / r - 1 / r**2 + push * radial,
            vt: -vr * vt / r + push * transverse,
            m: -THRUST * k / EXHAUST,
        }
    )
    ocp.maximize(ph.final(m))
    return ocp


@pytest.fixture(scope="module")
def answers():
    found = {}
    for direction in ("angle", "vector"):
        direct = solve(transfer(direction)).check()
        found[direction] = direct, Shooting().solve(direct.form, direct)
    return found


@pytest.mark.parametrize("direction", ["angle", "vector"])
def test_a_transfer_with_coasts_is_shot(answers, direction):
    direct, shot = answers[direction]
    assert shot.success, shot.explanation
    assert [arc.roles["throttle"] for arc in shot.arcs] == ["upper", "lower", "upper"]
    assert shot.objective == pytest.approx(direct.objective, rel=1e-9)
    for one, other in ((direct, shot), (shot, direct)):
        certificate = certify(one, other=other)
        assert certificate.ok, str(certificate)


def test_angle_and_vector_are_one_problem(answers):
    angle, vector = (answers[direction][1] for direction in ("angle", "vector"))
    assert angle.objective == pytest.approx(vector.objective, rel=1e-12)
    np.testing.assert_allclose(
        [a.end for a in angle.arcs], [a.end for a in vector.arcs], rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("direction", ["angle", "vector"])
def test_on_the_coast_the_direction_is_the_limit_of_its_law(answers, direction):
    """Against the primer vector, as on the burns, and continuous where the engine goes out."""
    _, shot = answers[direction]
    t = np.linspace(0, DURATION, 200)
    primer = np.array([shot.costate("vr")(t), shot.costate("vt")(t)])
    against = -primer / np.linalg.norm(primer, axis=0)
    found = (
        np.array([np.sin(shot["angle"](t)), np.cos(shot["angle"](t))])
        if direction == "angle"
        else shot["e"](t).T
    )
    np.testing.assert_allclose(found, against, atol=1e-9)


def test_the_constraint_of_an_idle_direction_does_not_push(answers):
    _, shot = answers["vector"]
    burn, coast, _ = shot.arcs
    multiplier = shot.phases["main"].path_multipliers["unit direction"]
    assert np.abs(multiplier(np.linspace(coast.start, coast.end, 20)[1:-1])).max() == 0.0
    assert np.abs(multiplier(np.linspace(burn.start, burn.end, 20)[1:-1])).min() > 1e-3


def test_idle_is_only_what_H_really_leaves_open():
    ham = phase_hamiltonians(transfer().finish())[0]
    assert arc_law(ham, Mode(("lower", "interior"))).idle == (1,)
    assert arc_law(ham, Mode(("upper", "interior"))).idle == ()
    # Bounded away from zero the throttle never leaves the direction open.
    ocp = Problem("always on")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, k, a = ph.state("x", start=0), ph.control("k", lower=0.1, upper=1), ph.control("a")
    ph.dynamics({x: k * casadi.cos(a)})
    ocp.minimize(ph.final(x))
    assert arc_law(phase_hamiltonians(ocp.finish())[0], Mode(("lower", "interior"))).idle == ()


def test_shooting_by_hand_passes_through_a_coast(answers):
    """The rollout lights the engine where the switching function says so, though the direction is
    open before.
    """
    _, shot = answers["angle"]
    guess = {
        name: float(curve(0.0)) * (1 + 1e-4) for name, curve in shot.phases["main"].costates.items()
    }
    again = Shooting().solve(shot.form, guess)
    assert again.success, again.explanation
    assert again.objective == pytest.approx(shot.objective, rel=1e-10)
