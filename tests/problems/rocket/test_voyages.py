"""Earth to Mars in astronomical units and days, Lawden's spiral, and the
effect of stabilization.
"""

from math import cos, radians, sqrt

import casadi
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from problems.rocket import ascent, impulsive_transfer, lawden_transfer
from problems.rocket.earth_mars import EARTH, MARS, MU, WATTS, build
from problems.rocket.impulsive_transfer import MU as EARTHS_MU
from problems.rocket.lawden_cauchy import study
from problems.rocket.lawden_spiral import build as spiral_arc
from problems.rocket.lawden_spiral import lawden_spiral, mass_left
from problems.rocket.thrust import switching
from trajopt import solve
from trajopt.errors import ModelError, ProblemError, UsageError
from trajopt.indirect.shooting import Shooting
from trajopt.integrate import Dop853, Heun, MinimumNorm, Projection, Rk4, simulate


def test_the_planets_are_where_they_were_at_j2000():
    """Against JPL's ephemeris, to the accuracy of mean elements."""
    for planet, place in ((EARTH, (-0.1771, 0.9672, 0.0)), (MARS, (1.3907, -0.0134, -0.0345))):
        r, v = (np.asarray(a).ravel() for a in planet.at(planet.anomaly(0.0)))
        assert r == pytest.approx(place, abs=2e-4)
        assert v @ v / 2 - MU / np.linalg.norm(r) == pytest.approx(-MU / (2 * planet.a), rel=1e-12)


def test_velocities_of_a_planet_are_derivatives_of_its_positions():
    day, step = 7500.0, 1e-2
    before, after = (np.asarray(MARS.at(MARS.anomaly(day + s))[0]).ravel() for s in (-step, step))
    assert (after - before) / (2 * step) == pytest.approx(
        np.asarray(MARS.at(MARS.anomaly(day))[1]).ravel(), rel=1e-7
    )


@pytest.mark.parametrize("orbits", ["elements", "circles"])
def test_both_methods_agree_and_a_free_arrival_point_reduces_the_cost(orbits):
    costs = {}
    for arrival in ("rendezvous", "orbit"):
        problem = build(orbits=orbits, arrival=arrival)
        direct = solve(problem, tolerance=1e-8).check()
        costs[arrival] = solve(problem, Shooting(), guess=direct).check().objective
        assert direct.objective == pytest.approx(costs[arrival], rel=1e-9)
    assert costs["orbit"] < costs["rendezvous"]


def test_the_solution_is_invariant_to_units():
    """Circle to circle in days and astronomical units is the transfer
    of lawden-transfer, scaled.
    """
    duration, a = 350.0, EARTH.a
    scaled = solve(
        lawden_transfer.build(duration=duration * sqrt(MU / a**3), radius=MARS.a / a),
        tolerance=1e-8,
    ).check()
    voyage = solve(
        build(orbits="circles", arrival="orbit", duration=duration), tolerance=1e-8
    ).check()
    assert voyage.objective == pytest.approx(scaled.objective * MU**1.5 / a**2.5 / WATTS, rel=1e-8)
    assert voyage["m"](duration) == pytest.approx(1 / (1 + voyage.objective / 10), rel=1e-9)


def test_thrust_in_millimetres_is_thrust_in_metres_and_seconds():
    """Beside gravity u = 0.2 mm/s^2 changes the velocity, and takes mass by m' = -m^2 a^2 / (2 P),
    in SI units.
    """
    au, day, power = 1.495978707e11, 86400.0, 10.0
    form = build(power=power).finish()
    ph = form.phases[0]
    rates = casadi.Function("f", [ph.t, ph.x, ph.u, form.s, form.p], [ph.f])
    x, direction = np.array([1.0, 0.2, 0.0, -0.003, 0.017, 0.0, 0.8]), np.array([0.6, 0.0, 0.8])
    coasting, pushed = (
        np.asarray(rates(0.0, x, u * direction, [], [])).ravel() for u in (0.0, 0.2)
    )
    assert (pushed - coasting)[3:6] * au / day**2 == pytest.approx(0.2e-3 * direction, rel=1e-12)
    assert pushed[6] / day == pytest.approx(-(0.8**2) * 0.2e-3**2 / (2 * power), rel=1e-12)


def test_invalid_choices_are_named():
    with pytest.raises(UsageError, match="invalid choice"):
        build(arrival="moon")


@pytest.mark.parametrize(("low", "high", "turn"), [(6678.0, 42164.0, 28.5), (42164.0, 6678.0, 5.0)])
def test_two_impulses_divide_the_plane_change_optimally(low, high, turn):
    a, angle = (low + high) / 2, radians(turn)
    circles = sqrt(EARTHS_MU / low), sqrt(EARTHS_MU / high)
    apsides = sqrt(EARTHS_MU * (2 / low - 1 / a)), sqrt(EARTHS_MU * (2 / high - 1 / a))

    def total(first):
        turns = first, angle - first
        return sum(
            sqrt(c**2 + p**2 - 2 * c * p * cos(s))
            for c, p, s in zip(circles, apsides, turns, strict=True)
        )

    best = minimize_scalar(total, bounds=(0, angle), method="bounded", options={"xatol": 1e-12})
    problem = impulsive_transfer.build(low, high, turn)
    direct = solve(problem, tolerance=1e-8).check()
    solution = solve(problem, Shooting(), guess=direct).check()
    assert direct.objective == pytest.approx(best.fun, rel=1e-9)
    assert solution.objective == pytest.approx(best.fun, rel=1e-11)
    t = np.linspace(0, solution.phases["main"].tf, 101)
    primer = np.linalg.norm(solution.costate("v")(t), axis=1)
    assert primer[[0, -1]] == pytest.approx(1, abs=1e-9)
    assert np.all(primer[1:-1] < 1)  # Lawden's condition: no further impulse helps


@pytest.mark.parametrize("inwards", [False, True])
@pytest.mark.parametrize("angle", [0.1, 0.3, 0.5])
def test_the_spiral_is_lawdens_with_constant_integrals(angle, inwards):
    run = simulate(lawden_spiral(angle, inwards=inwards), Dop853(1e-12))
    assert max(drift.max for drift in run.drift.values()) < 1e-11
    assert run["formula"] == pytest.approx(
        run["formula"][0], rel=1e-8
    )  # r = a sin^6 / (1 - 3 sin^2)
    assert (run["r"][-1] < 0.95) if inwards else (run["r"][-1] > 1.05)


@pytest.mark.parametrize("angle", [0.1, 0.3, 0.5])
def test_an_arc_of_the_spiral_is_the_flow_and_has_lawdens_mass(angle):
    """The boundary value problem in polar coordinates, the Pontryagin flow in Cartesian, and the
    closed form.
    """
    flow = simulate(lawden_spiral(angle, until=1.0), Dop853(1e-12))
    radius, exhaust = float(flow["r"][-1]), 1.0
    problem = spiral_arc(angle, radius, exhaust)
    direct = solve(problem, tolerance=1e-9).check()
    arc = solve(problem, Shooting(), guess=direct).check()
    assert arc.objective == pytest.approx(mass_left(angle, radius, exhaust), rel=1e-11)
    assert direct.objective == pytest.approx(arc.objective, rel=1e-9)
    assert arc.objective == pytest.approx(flow["m"][-1], rel=1e-10)
    assert arc.phases["main"].tf == pytest.approx(1.0, abs=1e-9)
    assert np.sin(arc["psi"](arc.phases["main"].tf)) == pytest.approx(
        flow["steepness"][-1], rel=1e-9
    )


def test_the_spiral_fails_the_condition_of_kelley_and_contensou_where_its_thrust_is_positive():
    run = simulate(lawden_spiral(0.3))
    assert np.all(run["thrust"] > 0)
    assert np.all(run["kelley"] > 0)


def test_a_spiral_too_steep_is_rejected():
    with pytest.raises(ModelError, match="angle"):
        lawden_spiral(0.7)


def test_projection_removes_the_drift_but_little_of_the_error():
    """The level set is restored to round-off, the motion is not: half the step does far more for
    the end point.
    """
    ways = (None, Projection(), MinimumNorm(1.0, only=("g1", "g2")))
    coarse = study((Rk4(0.2), Heun(0.05)), ways)
    plain, projected, _ = coarse[:3]
    assert projected.drift < 1e-15
    assert 0.3 * plain.error < projected.error < plain.error
    (finer,) = study((Rk4(0.1),), (None,))
    assert finer.evaluations == 2 * plain.evaluations
    assert finer.error < 0.1 * projected.error
    for unstabilized, _, pulled in (coarse[:3], coarse[3:]):
        assert pulled.drift < 0.5 * unstabilized.drift


def test_the_ascent_by_both_methods_burns_according_to_the_switching_function():
    """The perilune is prescribed where the first burn ends: there the primer vector jumps."""
    problem = ascent.build()
    direct = solve(problem, tolerance=1e-8).check()
    exact = solve(problem, Shooting(), guess=direct).check()
    assert direct.objective == pytest.approx(exact.objective, rel=1e-10)
    assert exact.objective == pytest.approx(ascent.REFERENCE.objective, rel=1e-10)
    values = {}
    for name in ("burn", "coast", "insertion"):
        ph = exact.phases[name]
        t = np.linspace(ph.t0, ph.tf, 200)
        primer, lam_m = (-ph.costates["vr"](t), -ph.costates["vt"](t)), -ph.costates["m"](t)
        values[name] = switching(primer, lam_m, ph.states["m"](t), ph.states["c"](t)) * ph.states[
            "m"
        ](t)
        if name != "coast":
            assert ph.controls["e"](t) == pytest.approx(
                np.column_stack(primer) / np.hypot(*primer)[:, None], abs=1e-9
            )
        assert np.all(ph.states["r"](t) >= ascent.SURFACE + (0 if name == "burn" else 5 - 1e-9))
    assert np.all(values["burn"][:-1] > 0)
    assert values["burn"][-1] == pytest.approx(0, abs=1e-7)
    assert np.all(values["coast"][1:-1] < 0)
    assert np.all(values["insertion"][1:-1] > 0)
    assert values["coast"][-1] == pytest.approx(0, abs=1e-7)


def test_with_a_high_perilune_an_interrupted_first_burn_would_be_better():
    ph = solve(ascent.build(perilune=10.0)).check().phases["burn"]
    t = np.linspace(ph.t0, ph.tf, 400)
    primer = -ph.costates["vr"](t), -ph.costates["vt"](t)
    assert (
        np.min(switching(primer, -ph.costates["m"](t), ph.states["m"](t), ph.states["c"](t)))
        * ph.states["m"](ph.tf)
        < -0.1
    )


def test_an_infeasible_ascent_is_named():
    with pytest.raises(ProblemError, match="thrust"):
        ascent.build(thrust=5.0)
    with pytest.raises(ProblemError, match="perilune"):
        ascent.build(perilune=200.0)
