"""Contact laws, friction and impacts."""

import math

import casadi
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from trajopt.errors import ModelError
from trajopt.mechanics import (
    Arctangent,
    Body,
    Contact,
    Coulomb,
    Hertz,
    Hooke,
    HuntCrossley,
    KelvinVoigt,
    Line,
    NewtonImpact,
    PoissonImpact,
    Revolute,
    Sigmoid,
    assemble,
    check_model,
    impact,
)
from trajopt.mechanics.contact_laws import DAMPING_FACTORS

LAWS = [
    Hooke(1e4),
    KelvinVoigt(1e4, 40.0),
    KelvinVoigt(1e4, 40.0, adhesive=True),
    Hertz(1e5),
    HuntCrossley(1e5, 0.3),
]


def rebound(law, mass=2.0, speed=1.5):
    """Restitution of a mass without other forces, integrated to round-off until the
    end of contact.
    """
    d, rate = casadi.SX.sym("d"), casadi.SX.sym("rate")
    force = casadi.Function("f", [d, rate], [law.force(d, rate)])

    def leaves(t, x):
        return x[0] + (1.0 if t == 0 else 0.0)

    leaves.terminal, leaves.direction = True, -1
    run = solve_ivp(
        lambda t, x: [x[1], -float(force(x[0], x[1])) / mass],
        (0.0, 1.0),
        [0.0, speed],
        method="DOP853",
        rtol=1e-12,
        atol=1e-14,
        events=leaves,
        max_step=1e-4,
    )
    return -run.y[1, -1] / speed


@pytest.mark.parametrize("law", LAWS, ids=lambda law: repr(law))
def test_force_is_zero_outside_and_elastic_part_is_the_derivative_of_the_stored_energy(law):
    d, rate = casadi.SX.sym("d"), casadi.SX.sym("rate")
    force, energy = casadi.Function("f", [d, rate], [law.force(d, rate)]), law.stored(d)
    slope = casadi.Function("g", [d], [casadi.gradient(energy, d)])
    assert float(force(-0.01, 5.0)) == 0.0
    assert float(slope(-0.01)) == 0.0
    assert float(slope(0.02)) == pytest.approx(float(force(0.02, 0.0)), rel=1e-14)
    assert float(force(0.02, 1.0)) >= float(force(0.02, 0.0))
    pulls = float(force(1e-4, -3.0)) < 0
    assert pulls == (law == KelvinVoigt(1e4, 40.0, adhesive=True))


@pytest.mark.parametrize("e", [0.3, 0.6, 0.9])
@pytest.mark.parametrize(
    "law",
    [
        lambda e: KelvinVoigt.from_restitution(1e4, 2.0, e, adhesive=True),
        lambda e: KelvinVoigt.from_restitution(1e4, 2.0, e),
        lambda e: HuntCrossley.from_restitution(1e5, 1.5, e),
        lambda e: HuntCrossley.from_restitution(1e5, 1.5, e, exponent=1.0),
    ],
    ids=["Kelvin-Voigt, adhesive", "Kelvin-Voigt", "Hunt-Crossley", "Hunt-Crossley, linear"],
)
def test_damping_from_restitution_reproduces_the_restitution(law, e):
    assert rebound(law(e)) == pytest.approx(e, abs=2e-6)


def test_hunt_crossley_damping_tends_to_their_formula():
    e = 0.999
    assert HuntCrossley.from_restitution(1.0, 2.0, e).damping == pytest.approx(
        1.5 * (1 - e) / 2.0, rel=2e-3
    )


@pytest.mark.parametrize("smoothing", [Arctangent(1e-3), Sigmoid(1e-3)])
def test_friction_is_odd_and_saturates(smoothing):
    law = Coulomb(0.4, smoothing)
    assert float(casadi.DM(law.force(10.0, 5.0))) == pytest.approx(-4.0, rel=2e-4)
    assert float(casadi.DM(law.force(10.0, -5.0))) == pytest.approx(4.0, rel=2e-4)
    assert float(casadi.DM(law.force(10.0, 0.0))) == 0.0


def disc(law, friction=None, surface=None, **start):
    body = Body("disc", 1.0, 0.005, **start)
    return assemble(
        "disc",
        [body],
        [Contact("touch", "disc", law, friction, radius=0.1, surface=surface or Line())],
    )


@pytest.mark.parametrize("law", LAWS, ids=lambda law: repr(law))
def test_energy_balance_holds_in_a_bounce(motion, law):
    model = disc(law, Coulomb(0.3), position=(0.0, 0.15), velocity=(1.0, -1.0), spin=3.0)
    assert check_model(model, spread=0.05).check().ok
    found = motion(model.system(), 0.1, 1e-10, 1e-11)
    assert found.final["disc_y_rate"] > 0  # it came back
    assert abs(found.imbalance) < 1e-7


def test_a_disc_on_a_slope_rolls_at_two_thirds_of_the_free_acceleration(motion):
    slope = math.radians(20)
    law = KelvinVoigt(2e4, math.sqrt(2e4))
    n = np.array([-math.sin(slope), math.cos(slope)])
    start = (0.1 - 9.81 * math.cos(slope) / 2e4) * n
    model = disc(law, Coulomb(0.5, Sigmoid(1e-3)), Line.slope(slope), position=tuple(start))
    found = motion(model.system(), 0.5, 1e-6, 1e-8)
    along = found.final["disc_x_rate"] * math.cos(slope) + found.final["disc_y_rate"] * math.sin(
        slope
    )
    assert along == pytest.approx(-2 / 3 * 9.81 * math.sin(slope) * 0.5, rel=1e-3)
    assert found.final["disc_theta_rate"] == pytest.approx(-along / 0.1, rel=1e-3)


def jump(law, velocity, spin=0.0, at=(0.0, 0.0), radius=0.1):
    body = Body("disc", 2.0, 0.01, (0.0, 0.1), 0.0, velocity, spin)
    model = assemble("disc", [body])
    event = impact(model, body, law, at=at, radius=radius)
    reset = casadi.Function("r", [model.q, model.v], [event.reset])
    return np.array(reset(*model.start)).ravel()[3:]


@pytest.mark.parametrize("law", [NewtonImpact, PoissonImpact])
def test_frictionless_impacts_turn_the_normal_velocity_only(law):
    assert jump(law(0.7), (1.5, -2.0), 4.0) == pytest.approx([1.5, 1.4, 4.0], abs=1e-15)


@pytest.mark.parametrize("law", [NewtonImpact, PoissonImpact])
def test_friction_slides_within_its_cone_or_sticks(law):
    sliding = jump(law(0.5, 0.1), (3.0, -1.0))
    assert 2.0 * (3.0 - sliding[0]) == pytest.approx(0.1 * 2.0 * 1.5, rel=1e-14)  # |p_t| = mu p_n
    sticking = jump(law(0.5, 0.9), (0.3, -1.0))
    assert sticking[0] + 0.1 * sticking[2] == pytest.approx(0.0, abs=1e-15)
    assert sticking[1] == pytest.approx(0.5, rel=1e-14)


def test_newton_and_poisson_differ_where_normal_and_tangential_motion_are_coupled():
    """A point off the centre that stops sliding: Newton's law fixes the velocity, Poisson's the
    impulse; no energy is gained.
    """
    velocity, at = (-0.6, -1.0), (0.08, -0.06)
    after = {
        law: jump(law(0.5, 0.7), velocity, 0.0, at, 0.0) for law in (NewtonImpact, PoissonImpact)
    }
    sliding = [
        jump(law(0.5, 0.3), (2.0, -1.0), 0.0, at, 0.0) for law in (NewtonImpact, PoissonImpact)
    ]
    assert sliding[0] == pytest.approx(
        sliding[1], rel=1e-13
    )  # one sense of sliding throughout: the laws are the same

    def normal_speed(v):
        return v[1] + 0.08 * v[2]

    assert normal_speed(after[NewtonImpact]) == pytest.approx(0.5, rel=1e-13)
    assert abs(normal_speed(after[PoissonImpact]) - 0.5) > 1e-3
    for v in after.values():
        assert 2.0 * (v[0] ** 2 + v[1] ** 2) + 0.01 * v[2] ** 2 < 2.0 * 1.36


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_sliding_impact_off_the_centre_obeys_its_laws(sense):
    """The normal velocity of the contact point is multiplied by -e, and its impulse is on the
    boundary of the friction cone.
    """
    before, at, e, mu = np.array([2.0 * sense, -1.0, 0.0]), (0.08, -0.06), 0.5, 0.3
    after = jump(NewtonImpact(e, mu), tuple(before[:2]), 0.0, at, 0.0)
    tangential, normal = 2.0 * (after - before)[:2]  # impulses on the mass of 2 kg
    assert after[1] + at[0] * after[2] == pytest.approx(-e * before[1], rel=1e-14)
    assert tangential == pytest.approx(-sense * mu * normal, rel=1e-14)
    assert sense * (after[0] - at[1] * after[2]) > 0  # it still slides the same way
    assert 0.01 * after[2] == pytest.approx(at[0] * normal - at[1] * tangential, rel=1e-13)


def test_poisson_impact_off_the_centre_sticks_in_restitution():
    """With sufficient friction the point sticks throughout, and the normal impulse is 1 + e times
    that of compression.
    """
    at, e = (0.08, -0.06), 0.5
    compressed, after = (
        jump(PoissonImpact(given, 5.0), (-0.6, -1.0), 0.0, at, 0.0) for given in (0.0, e)
    )
    for v in (compressed, after):
        assert v[0] - at[1] * v[2] == pytest.approx(0.0, abs=1e-15)
    assert compressed[1] + at[0] * compressed[2] == pytest.approx(0.0, abs=1e-15)
    assert after[1] + 1.0 == pytest.approx((1 + e) * (compressed[1] + 1.0), rel=1e-14)


def test_impact_respects_joints():
    """A hinged bar that hits the ground with its tip: the hinge is fixed, the angular velocity is
    reversed.
    """
    bar = Body("bar", 1.0, 1 / 12, (0.5, 0.0), 0.0, (0.0, -1.0), -2.0)
    model = assemble("hinged", [bar], [Revolute("pin", "ground", "bar", (0, 0), (-0.5, 0))])
    event = impact(model, bar, NewtonImpact(0.4), at=(0.5, 0.0))
    after = np.array(casadi.Function("r", [model.q, model.v], [event.reset])(*model.start)).ravel()[
        3:
    ]
    assert after == pytest.approx([0.0, 0.4, 0.8], abs=1e-14)


def test_slow_impacts_have_no_rebound():
    assert jump(NewtonImpact(0.7, rest_speed=0.1), (1.0, -0.05))[1] == pytest.approx(0.0, abs=1e-17)
    assert jump(PoissonImpact(0.7, rest_speed=0.1), (1.0, -0.05))[1] == pytest.approx(
        0.0, abs=1e-17
    )


@pytest.mark.parametrize(
    "build",
    [
        lambda: Hooke(0.0),
        lambda: KelvinVoigt(1.0, -1.0),
        lambda: Coulomb(-0.1),
        lambda: NewtonImpact(1.2),
        lambda: PoissonImpact(-0.1),
        lambda: KelvinVoigt.from_restitution(1.0, 1.0, 0.01),
        lambda: HuntCrossley.from_restitution(1.0, 0.0, 0.5),
    ],
)
def test_invalid_laws_are_rejected(build):
    with pytest.raises(ModelError):
        build()


@pytest.mark.parametrize("author", DAMPING_FACTORS)
def test_damping_formulas_tend_to_the_exact_one_for_weak_damping(author):
    """All but Lee and Wang's, which is half of it, have s = 3 (1 - e) / 2 for e near 1; far from
    there they differ.
    """
    e = 1 - 1e-6
    factor = 1.0 if author != "lee-wang" else 0.5
    slope = {"gonthier": 2.0, "flores": 1.6}.get(author, 1.5) * factor
    assert HuntCrossley.after(author, 1e4, 2.0, e).damping * 2.0 / (1 - e) == pytest.approx(
        slope, rel=1e-4
    )


def test_the_restitution_of_a_nonlinear_law_is_that_of_its_rebound():
    exact = HuntCrossley.from_restitution(1e4, 2.0, 0.4)
    assert exact.restitution(2.0) == pytest.approx(0.4, rel=1e-12)
    # At e = 0.4 only three of the formulas come near it.
    found = {
        author: HuntCrossley.after(author, 1e4, 2.0, 0.4).restitution(2.0)
        for author in DAMPING_FACTORS
    }
    assert {author for author in found if abs(found[author] - 0.4) < 0.1} == {
        "flores",
        "gonthier",
        "zhiying-qishao",
    }
    assert found["lankarani-nikravesh"] > 0.6


def test_prismatic_joints_by_vectors_and_by_angle_agree():
    from problems.multibody import body_slider, ground_slider
    from trajopt.integrate import Dop853, simulate

    for system in (ground_slider, body_slider):
        ends = [
            simulate(system(rotation=way), Dop853(1e-11), 1.0).final for way in ("angle", "vectors")
        ]
        assert ends[0] == pytest.approx(ends[1], abs=1e-8)
