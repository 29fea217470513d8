"""Kinks of cost and dynamics as positive parts."""

import casadi
import numpy as np
import pytest

from tests.benchmarks.kinks.problems import PROBLEMS, least_fuel, smallest_peak
from trajopt import Problem, solve
from trajopt.direct.lifted_form import without_kinks

NONE = np.zeros(0)
OBJECTIVES = {
    "least_fuel": 3 - np.sqrt(5),
    "smallest_peak": 1.0,
    "fuel_and_time": 2 * np.sqrt(5),
    "slew": sum(6 - np.sqrt(36 - 4 * d / 0.5) for d in (1, 0.5, 0.7)) / 2,
}


@pytest.mark.parametrize("build", PROBLEMS, ids=lambda build: build.__name__)
def test_answers_on_kinks_are_solved(build):
    solution = solve(build()).check()
    expected = OBJECTIVES.get(build.__name__)
    if expected is not None:
        assert solution.objective == pytest.approx(expected, rel=1e-6)


def test_answers_have_the_names_of_the_statement():
    solution = solve(least_fuel())
    phase = solution.phase("main")
    assert list(phase.controls) == ["u"]
    assert not phase.path_multipliers
    burn = (3 - np.sqrt(5)) / 2
    t = np.array([burn / 2, 1.5, 3 - burn / 2])
    np.testing.assert_allclose(solution["u"](t), [1, 0, -1], atol=1e-6)
    assert [arc.roles["u"] for arc in solution.arcs] == ["upper", "interior", "lower"]
    assert solution.form is not None
    assert solution.form.phases[0].u_names == ("u",)


def test_an_earlier_answer_is_a_guess():
    earlier = solve(least_fuel())
    again = solve(least_fuel(), guess=earlier).check()
    assert again.objective == pytest.approx(earlier.objective, rel=1e-8)


@pytest.mark.parametrize("symbols", [casadi.SX, casadi.MX])
def test_kinks_are_found_in_both_kinds_of_expressions(symbols):
    ocp = Problem("fuel", symbols=symbols)
    ph = ocp.phase()
    ph.time(end=3)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(casadi.fabs(u)) + 0 * ph.final(v) ** 2)
    lifted = without_kinks(ocp.finish(), NONE)
    assert lifted is not None
    assert lifted.form.phases[0].u_names == ("u", "negative part of u")
    assert solve(ocp).check().objective == pytest.approx(3 - np.sqrt(5), rel=1e-7)


def test_a_term_that_pays_is_not_lifted():
    """The epigraph of a term that is maximized has no end."""
    ocp = Problem("far")
    ph = ocp.phase()
    ph.time(end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.maximize(ph.integral(casadi.fmax(x, 0.5 * u)))
    assert without_kinks(ocp.finish(), NONE) is None


def test_parts_that_overlap_are_refused():
    """Gains in the dynamics, where both parts of the control at once would help."""
    ocp = Problem("pump")
    ph = ocp.phase()
    ph.time(end=1)
    x = ph.state("x", start=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: 1.1 * casadi.fmax(u, 0) - 0.9 * casadi.fmax(-u, 0)})
    ocp.require(ph.integral(u), equals=0.2)
    ocp.maximize(ph.final(x))
    form = ocp.finish()
    assert without_kinks(form, NONE) is not None
    solution = solve(ocp)
    # Of the pump all that flows counts: 0.6 of the time forwards, 0.4 backwards.
    assert solution.objective <= 1.1 * 0.6 - 0.9 * 0.4 + 1e-6


def test_no_kinks_no_change():
    ocp = Problem("smooth")
    ph = ocp.phase()
    ph.time(end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2))
    assert without_kinks(ocp.finish(), NONE) is None


def test_path_constraints_keep_their_multipliers():
    solution = solve(smallest_peak()).check()
    phase = solution.phase("main")
    assert list(phase.path_multipliers) == ["peak"]
    assert list(phase.outputs) == ["peak"]


def test_differences_of_both_problems_count_by_their_time():
    """A store whose lifted answer differs from the statement at three points beside its knots."""
    ocp = Problem("storage")
    ph = ocp.phase()
    t = ph.time(end=24)
    x = ph.state("x", start=2.86482, end=2.86482, lower=0, upper=5.72964)
    u = ph.control("u", lower=-1.50209, upper=1.50209)
    ph.dynamics({x: u - 0.3 * (1 + casadi.sin(2 * np.pi * t / 8))})
    price = 2 + casadi.cos(2 * np.pi * (t - 4.83364) / 12) + 0.5 * casadi.sin(2 * np.pi * t / 24)
    ocp.minimize(ph.integral(price * u + 0.10194 * casadi.fabs(u)))
    lines = list[str]()
    solution = solve(ocp, progress=lines.append).check()
    assert solution.objective == pytest.approx(0.02305, abs=1e-5)
    assert not any("as it stands" in line for line in lines)
