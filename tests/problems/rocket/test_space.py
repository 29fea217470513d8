"""Bounded thrust in space: three coordinates, one motion, one optimum, the same first integrals."""

import casadi
import numpy as np
import pytest
from casadi import SX
from scipy.integrate import solve_ivp

from problems.rocket import min_fuel_transfer, min_time_transfer
from problems.rocket.coordinates import Cartesian, Equinoctial, OrbitPoint, Polar, chosen
from trajopt import certify, solve
from trajopt.errors import ProblemError
from trajopt.indirect.shooting import Shooting

Q = SX.sym("q", 6)
RV = casadi.vertcat(Equinoctial().position(Q), Equinoctial().velocity(Q))


def radial_frame(r, v):
    """Unit vectors outwards, ahead and along the normal, as columns."""
    outwards, normal = r / casadi.norm_2(r), casadi.cross(r, v) / casadi.norm_2(casadi.cross(r, v))
    return casadi.horzcat(outwards, casadi.cross(normal, outwards), normal)


def elements(generator):
    return np.array(
        [generator.uniform(0.5, 2), *generator.uniform(-0.5, 0.5, 4), generator.uniform(-10, 10)]
    )


@pytest.mark.parametrize("what", ["drift", "steering", "turns", "similar"])
def test_elements_and_cartesian_coordinates_agree(what):
    """Pushed forward to position and velocity, every vector field of the elements is the Cartesian
    one, to round-off.
    """
    pushed = casadi.jacobian(RV, Q) @ getattr(Equinoctial(), what)(Q)
    expected = getattr(Cartesian(), what)(RV)
    if what == "steering":
        expected = expected @ radial_frame(RV[:3], RV[3:])
    gap = casadi.Function(
        "gap", [Q], [casadi.norm_fro(pushed - expected), casadi.norm_fro(expected)]
    )
    generator = np.random.default_rng(5)
    for _ in range(10):
        difference, size = gap(elements(generator))
        assert float(difference) < 1e-14 * (1 + float(size))


def test_a_flight_of_ten_turns_is_the_same_in_elements_and_cartesian_coordinates():
    """Thrust that turns in all directions, to the accuracy of the integrator."""
    thrust = np.array([0.01, 0.02, -0.015])
    e, steering = Equinoctial(), SX.sym("a", 3)
    x = SX.sym("x", 6)
    of_elements = casadi.Function("f", [Q, steering], [e.drift(Q) + e.steering(Q) @ steering])
    frame = radial_frame(x[:3], x[3:])
    cartesian = casadi.Function(
        "g", [x, steering], [Cartesian().drift(x) + Cartesian().steering(x) @ frame @ steering]
    )
    to_cartesian = casadi.Function("c", [Q], [RV])
    start = e.circle(OrbitPoint(1.0, 0.3, 0.4))
    ends = []
    for rate, first in ((of_elements, start), (cartesian, np.asarray(to_cartesian(start)).ravel())):
        run = solve_ivp(
            lambda t, y, rate=rate: np.asarray(
                rate(y, thrust * np.cos(0.1 * t * np.arange(3)))
            ).ravel(),
            (0, 60),
            first,
            method="DOP853",
            rtol=1e-12,
            atol=1e-13,
        )
        ends.append(run.y[:, -1])
    assert ends[0][5] > 20
    assert np.asarray(to_cartesian(ends[0])).ravel() == pytest.approx(ends[1], abs=2e-10)


@pytest.mark.parametrize("coordinates", [Polar(), Equinoctial(), Cartesian()])
def test_circles_stay_circles(coordinates):
    place = OrbitPoint(1.3, 0.7, 0.2)
    q = SX.sym("q", coordinates.circle(place).size)
    outputs = [
        coordinates.position(q),
        casadi.jtimes(casadi.norm_2(coordinates.position(q)), q, coordinates.drift(q)),
    ]
    position, rate = casadi.Function("p", [q], outputs)(coordinates.circle(place))
    assert float(casadi.norm_2(position)) == pytest.approx(1.3, rel=1e-15)
    assert float(rate) == pytest.approx(0, abs=1e-15)
    arrival = coordinates.arrival(place)
    assert all(a is None or a == b for a, b in zip(arrival, coordinates.circle(place), strict=True))
    for condition in coordinates.conditions(q, place).values():
        assert np.asarray(
            casadi.Function("c", [q], [condition])(coordinates.circle(place))
        ) == pytest.approx(0, abs=1e-15)


def spread_of_integrals(form, solution):
    """How far each declared integral moves along a solution, over all of its phases together."""
    values, p = {}, form.parameter_values(None)
    for phase in form.phases:
        found = solution.phases[phase.name]
        t = np.linspace(found.t0, found.tf, 101)
        x, costate = (
            np.vstack([np.reshape(curves[q.name](t), (t.size, q.size)).T for q in phase.states])
            for curves in (found.states, found.costates)
        )
        for i in phase.invariants:
            function = casadi.Function(
                "g", [phase.t, phase.x, phase.costate, form.p], [i.expression]
            )
            values.setdefault(i.name, []).append(
                np.asarray(function(t[None, :], x, costate, p)).ravel()
            )
    return {name: float(np.ptp(np.concatenate(parts))) for name, parts in values.items()}


@pytest.mark.parametrize(
    "turned",
    [
        {"inclination": 0.2},
        pytest.param({"plane_change": 0.2}, marks=pytest.mark.slow),
        pytest.param(
            {"inclination": 0.3, "plane_change": 0.1, "radius": 0.7}, marks=pytest.mark.slow
        ),
    ],
)
def test_the_minimum_time_transfer_in_space_in_two_coordinates_by_both_methods(turned):
    times = []
    for coordinates in ("equinoctial", "cartesian"):
        problem = min_time_transfer.build(coordinates=coordinates, **turned)
        direct = solve(problem).check()
        exact = solve(problem, Shooting(), guess=direct).check()
        assert direct.objective == pytest.approx(exact.objective, rel=1e-8)
        spread = spread_of_integrals(problem.finish(), exact)
        assert set(spread) == {"hamiltonian", "rotation x", "rotation y", "rotation z", "scaling"}
        assert max(spread.values()) < 1e-10
        times.append(exact.objective)
    assert times[0] == pytest.approx(times[1], rel=1e-11)
    if "plane_change" not in turned:
        assert times[0] == pytest.approx(min_time_transfer.REFERENCE.objective, rel=1e-11)


@pytest.mark.slow
def test_minimum_fuel_in_space_with_eight_switches_by_both_methods():
    """Five burns that turn the plane as well; the vector integral holds across all switches."""
    problem = min_fuel_transfer.build(plane_change=0.05)
    direct = solve(problem).check()
    exact = solve(problem, Shooting(), guess=direct).check()
    assert direct.objective == pytest.approx(exact.objective, rel=1e-8)
    assert all(ph.tf - ph.t0 > 1 for ph in exact.phases.values())
    assert exact.objective < min_fuel_transfer.REFERENCE.objective, "the turn costs fuel"
    spread = spread_of_integrals(problem.finish(), exact)
    assert {"rotation x", "rotation y", "rotation z"} < set(spread)
    assert max(spread.values()) < 1e-10


@pytest.mark.slow
def test_default_solutions_in_space_are_certified():
    for turned in ({"inclination": 0.2}, {"plane_change": 0.2}):
        problem = min_time_transfer.build(**turned)
        direct = solve(problem).check()
        assert certify(direct, other=solve(problem, Shooting(), guess=direct)).ok


def test_invalid_coordinates_are_named():
    with pytest.raises(ProblemError, match="coordinates"):
        chosen("min-time-transfer", "polar", 0.2, 0.0)
