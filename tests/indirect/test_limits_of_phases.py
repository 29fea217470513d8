"""A phase that begins on its limit: the costate jumps there by any amount, as the place of the
limit is given.
"""

import pytest

from trajopt import Problem, free, solve
from trajopt.indirect.shooting import Shooting


def sections():
    """A vehicle brakes from the speed two to a limit of one that begins at x = 1; at that limit it
    needs all the time left.
    """
    ocp = Problem("sections")
    first, second = ocp.phase("fast"), ocp.phase("slow")
    first.time(start=0, end=free(0.1, 3))
    second.time(start=free(0.1, 3), end=1.6)
    cost = 0
    for ph, place, speed, limit in ((first, 0.0, 2.0, 3.0), (second, 1.0, None, 1.0)):
        x = ph.state("x", start=place, end=place + 1)
        v = ph.state("v", start=speed, upper=limit)
        u = ph.control("u")
        ph.dynamics({x: v, v: u})
        cost += ph.integral(u**2 / 2)
    ocp.connect(first, second)
    ocp.minimize(cost)
    return ocp


def test_a_limit_that_begins_with_a_phase():
    """The effort from (x, v) = (0, 2) to (1, 1) in 0.6, by the cubic; the brake is released at once
    where the limit begins.
    """
    ocp = sections()
    solution = Shooting().solve(ocp.finish(), solve(ocp)).check()
    lack, change, duration = 1 - 2 * 0.6, -1.0, 0.6
    effort = 6 * lack**2 / duration**3 - 6 * lack * change / duration**2 + 2 * change**2 / duration
    assert solution.objective == pytest.approx(effort, rel=1e-9)
    assert solution.phases["fast"].tf == pytest.approx(0.6, rel=1e-9)
    assert dict(solution.arcs[1].roles) == {"u": "interior", "v": "upper"}
