"""Jumps whose joints touch their limits again and again: costates jump there, and Pontryagin's
conditions hold all the same.
"""

import pytest

from trajopt import certify, solve
from trajopt.catalogue import builder


@pytest.mark.parametrize(
    "name", ["platform-jump", pytest.param("platform-highest", marks=pytest.mark.slow)]
)
def test_jumps_are_certified(name):
    solution = solve(builder(name)()).check()
    certificate = certify(solution)
    assert certificate.ok, str(certificate)
    assert certificate["costate equation"].value < 1e-5
    # The costates do jump: in the air, at joints that are at their limits for an instant.
    costates = solution.phases["flight"].costates
    breaks = solution.phases["flight"].breaks[1:-1]
    jumps = [
        abs(costates[rate].evaluate(breaks) - costates[rate].evaluate(breaks, left=True)).max()
        / abs(costates[rate].points).max()
        for rate in ("knee_rate", "waist_rate")
    ]
    assert max(jumps) > 0.1
