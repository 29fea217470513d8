"""Several minima of the Hamiltonian: the best one, controls that jump between two of them, and
chattering.
"""

import numpy as np
import pytest
from casadi import exp, sin
from scipy.integrate import quad

from trajopt import Problem, Status, free, solve
from trajopt.direct.collocation import Collocation
from trajopt.direct.first_solution import first_meshes
from trajopt.direct.hamiltonian_minimum import excess, other_minima, with_excess
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.guess.plain import plain_guess


def wells(tilt=0.3):
    """Speed is cheap near two values, the slower one a little cheaper; the middle of the bounds
    lies on the dearer side.
    """
    ocp = Problem("wells")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1.5, upper=2.5)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(1 + (u**2 - 1) ** 2 + tilt * u))
    return ocp


def price(u, tilt=0.3):
    return 1 + (u**2 - 1) ** 2 + tilt * u


def stationary(tilt=0.3):
    return np.sort(np.roots([4, 0, -4, tilt]).real)


def test_the_better_of_two_minima_of_the_hamiltonian_is_found():
    best, _, highest = stationary()
    solution = solve(wells()).check()
    assert solution.history[0].objective == pytest.approx(2 * price(highest), rel=1e-9)
    assert solution.objective == pytest.approx(2 * price(best), rel=1e-9)
    assert solution["u"](1.0) == pytest.approx(best, rel=1e-6)
    assert "mixture" in solution.log[-1]


def to_and_fro():
    """Bolza's example, the deviation as a state: standing still is stationary and the worst, to and
    fro costs hardly anything.
    """
    ocp = Problem("to and fro")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=0)
    w = ph.state("w", start=0)
    u = ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: u, w: x**2})
    ocp.minimize(ph.final(w) + ph.integral((u**2 - 1) ** 2))
    return ocp


def test_chattering_is_reported_with_the_value_of_the_relaxed_problem():
    solution = solve(to_and_fro())
    assert solution.history[0].objective == pytest.approx(1.0)
    assert solution.status is Status.CHATTERING
    assert solution.objective == pytest.approx(0.0, abs=1e-9)
    assert solution["share"](0.4) == pytest.approx(0.5)
    assert "between u = -1 and u = 1" in solution.explanation[1]


def first_mesh(problem):
    form = problem.finish()
    context = Context.start(form, Collocation(), np.zeros(0), lambda _: None)
    return solve_mesh(context, first_meshes(context), plain_guess(form))


def test_excess_is_what_the_cost_falls_by_where_the_state_has_no_say():
    """The integral of H - min H is the difference of the prices of the two minima."""
    best, _, highest = stationary()
    solution = first_mesh(wells())
    gain = (price(highest) - price(best)) / price(highest)
    assert excess(solution) == pytest.approx(gain, rel=1e-5)
    assert other_minima(solution)[0].controls == pytest.approx(np.full((40, 1), best), abs=1e-3)
    assert with_excess(solution).error == pytest.approx(gain, rel=1e-5)


def test_a_bounded_state_without_influence_on_the_cost_does_not_hide_the_excess():
    """Its costate and the multipliers of its bound are round-off, and say nothing about active
    limits.
    """
    ocp = Problem("with an amount")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x = ph.state("x", start=0)
    amount = ph.state("amount", start=0, lower=0)
    u = ph.control("u", lower=-1.5, upper=2.5)
    ph.dynamics({x: u, amount: 1e-3 * (1 + u**2)})
    ocp.minimize(ph.integral(price(u)))
    best, _, highest = stationary()
    assert excess(first_mesh(ocp)) == pytest.approx(
        (price(highest) - price(best)) / price(highest), rel=1e-5
    )


def test_the_best_control_has_no_excess():
    assert excess(first_mesh(wells(tilt=-0.3))) == 0


def joint():
    """H falls only if both controls change at once: alone, each change is a loss."""
    ocp = Problem("joint")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0)
    u = ph.control("u", lower=-1, upper=1, guess=0.9)
    v = ph.control("v", lower=-1, upper=1, guess=0.9)
    ph.dynamics({x: u})
    ocp.minimize(
        ph.integral(1 + 2 * (u - v) ** 2 + (u**2 - 0.25) ** 2 + (v**2 - 0.25) ** 2 + 0.3 * (u + v))
    )
    return ocp


def test_two_controls_that_jump_together():
    """On the diagonal u = v = a it costs 1 + 2 (a^2 - 1/4)^2 + 0.6 a."""
    a = np.roots([8, 0, -2, 0.6])
    least = min(1 + 2 * (b**2 - 0.25) ** 2 + 0.6 * b for b in a[np.abs(a.imag) < 1e-12].real)
    assert solve(joint()).check().objective == pytest.approx(least, rel=1e-8)


def test_path_constraints_bind_the_other_controls():
    """The better minimum is forbidden: nothing is lost beside what is allowed."""
    ocp = Problem("allowed")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1.5, upper=2.5)
    ph.dynamics({x: u})
    ph.path(u + x / 10, lower=0, name="forward")
    ocp.minimize(ph.integral(1 + (u**2 - 1) ** 2 + 0.3 * u))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(2 * price(stationary()[2]), rel=1e-8)


def crossing():
    """Two minima of H that exchange roles once: the control jumps."""
    ocp = Problem("crossing")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(1 + (u**2 - 1) ** 2 + 2 * (t - 0.3) * u))
    return ocp


def test_a_jump_is_a_moving_knot():
    """The cost does not depend on the state: at each time the price (u^2 - 1)^2 + 2 (t - 0.3) u is
    least.
    """
    solution = solve(crossing()).check()
    assert len(solution.arcs) == 2
    assert solution["u"](0.3 - 1e-6) == pytest.approx(1, abs=1e-5)
    assert solution["u"](0.3 + 1e-6) == pytest.approx(-1, abs=1e-5)

    def least(t):
        roots = np.roots([4, 0, -4, 2 * (t - 0.3)]).real
        return min(1 + (u**2 - 1) ** 2 + 2 * (t - 0.3) * u for u in roots)

    exact = quad(least, 0, 0.3, epsabs=1e-13)[0] + quad(least, 0.3, 1, epsabs=1e-13)[0]
    assert solution.objective == pytest.approx(exact, rel=1e-7)


def test_a_motion_that_needs_controls_away_from_the_middle_is_found():
    """In the middle of its range the control has no effect, to first order: from there no motion
    comes nearer than any other.
    """
    ocp = Problem("square")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=0.5), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u**2})
    ocp.minimize(ph.integral(u**4))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(0.25, rel=1e-7)
    assert len(solution.history) == 1  # either sign does, and the guess has one
    assert solution["u"](0.37) ** 2 == pytest.approx(0.5, rel=1e-6)


NEWTON = (
    0.37481598763  # parametric solution; the curved part begins at r = 0.35094 with a slope of one
)


def newton_nose(**limit):
    """Newton's body of least resistance, as long as its radius: the slope jumps from zero to one
    where the curved part begins.
    """
    ocp = Problem("nose")
    ph = ocp.phase()
    r = ph.time(start=0, end=1)
    y, u = ph.state("y", start=1, end=0), ph.control("slope", lower=0, **limit)
    ph.dynamics({y: -u})
    ocp.minimize(ph.integral(2 * r / (1 + u**2)))
    return ocp


def test_two_minima_closer_than_samples_of_wide_bounds_are_told_apart():
    """Slopes of zero and one between bounds of 0 and 20: the loss of smooth slopes, 3e-3, was
    overlooked (estimate 3e-6).
    """
    solution = solve(newton_nose(upper=20))
    loss = solution.objective / NEWTON - 1
    assert loss < 1e-6 or solution.error > 0.9 * loss


def test_a_jump_from_a_bound_is_exact():
    """The slope is held at zero before the jump: its time is exact, and both sides are smooth."""
    assert solve(newton_nose()).check().objective == pytest.approx(NEWTON, rel=1e-9)


def oil_shale():
    """Pyrolysis of oil shale (Wen & Yen 1977): the most bitumen.

    The temperature jumps from its lower to its upper bound.
    """
    ocp = Problem("oil-shale")
    ph = ocp.phase()
    ph.time(start=0, end=free(0, 50))
    kerogen, bitumen = ph.state("kerogen", start=1, lower=0), ph.state("bitumen", start=0, lower=0)
    oil, coke = ph.state("oil", start=0, lower=0), ph.state("coke", start=0, lower=0)
    T = ph.control("T", lower=698.15, upper=748.15, unit="K")
    factors, energies = (8.86, 24.25, 23.67, 18.75, 20.70), (20300, 37400, 33800, 28200, 31000)
    k = [exp(a - b / (1.9872 * T)) for a, b in zip(factors, energies, strict=True)]
    both = kerogen * bitumen
    ph.dynamics(
        {
            kerogen: -k[0] * kerogen - (k[2] + k[3] + k[4]) * both,
            bitumen: k[0] * kerogen - k[1] * bitumen + k[2] * both,
            oil: k[1] * bitumen + k[3] * both,
            coke: k[4] * both,
        }
    )
    ocp.maximize(ph.final(bitumen))
    return ocp


@pytest.mark.slow  # 4 s of processor time
def test_a_jump_of_a_temperature_and_kinks_beside_it():
    """Single shooting with free switching times and 60 constant temperatures on the other arcs
    gives 0.35382112.

    Jumps smaller than a tenth of the temperature itself were overlooked: 0.3538189, with an
    estimated error of 2e-6.
    """
    solution = solve(oil_shale())
    assert solution.objective == pytest.approx(0.35382116, rel=1e-6)
    assert solution.error < 1e-5


def test_a_mixture_after_settled_controls():
    """The controls of the mixture are others than those that were settled."""
    ocp = Problem("settled and mixed")
    ph = ocp.phase()
    ph.time(end=1)
    x, y = ph.state("x", start=0.3), ph.state("y", start=0)
    u, w = ph.control("u", lower=-2, upper=2), ph.control("w", lower=-3, upper=3)
    ph.dynamics({x: u, y: sin(w)})
    ocp.minimize(ph.integral(x**2 + (u**2 - 1) ** 2))
    solution = solve(ocp, Collocation(max_passes=8))
    assert any(line.startswith("settled controls") for line in solution.log)
    assert any(line.startswith("a mixture of two controls") for line in solution.log)
