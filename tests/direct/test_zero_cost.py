"""Problems whose best cost, and best control, are zero: errors have a floor from the problem's own
sizes.
"""

import pytest
from casadi import cos

from trajopt import Problem, solve


def effort(rate, limit):
    """x' = rate(x) u from 0.73, the least effort: nothing has to be done."""
    ocp = Problem("rest")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0.73), ph.control("u", lower=-limit, upper=limit)
    ph.dynamics({x: rate(x) * u})
    ocp.minimize(ph.integral(u**2))
    return ocp


@pytest.mark.parametrize(
    ("rate", "limit"), [(lambda x: -0.65 * cos(x), 1.03), (lambda x: 1.0, 1.0)]
)
def test_a_control_of_zero_is_found_on_few_intervals(rate, limit):
    solution = solve(effort(rate, limit)).check()
    assert solution.objective < 1e-12
    assert abs(solution["u"](0.4)) < 1e-6
    assert max(record.intervals for record in solution.history) <= 30
