"""The row "normality": whether variations change all conditions, so that multipliers are unique."""

import numpy as np
import pytest

from trajopt import Problem, certify, solve
from trajopt.second_order import Accessory, dependent_conditions


def block(repeated=False):
    """Rest to rest with least effort."""
    ocp = Problem("block")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    if repeated:
        ocp.require(ph.final(x) + 2 * ph.final(v) == 1)
    ocp.minimize(ph.integral(u**2))
    return ocp


def pinned():
    """The end value of y can only be reached at rest, where no variation changes it: an abnormal extremal."""
    ocp = Problem("pinned")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y, u = ph.state("x", start=0), ph.state("y", start=0, end=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u, y: u**2 + x**2})
    ocp.minimize(ph.integral((x - 1) ** 2))
    return ocp


def remark(problem):
    return next(check.remark for check in certify(solve(problem)).checks if check.name == "normality")


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (block(), "multipliers are unique"),
        (block(repeated=True), "only 6 of 7 conditions"),
        (pinned(), "only 4 of 5 conditions"),
    ],
)
def test_dependent_conditions_are_reported(problem, expected):
    assert expected in remark(problem)


def test_combinations_of_conditions_that_no_variation_changes():
    rng = np.random.default_rng(3)
    C = rng.normal(size=(4, 9))
    C[3] = 2 * C[0] - C[2]
    accessory = Accessory(np.eye(9), C, np.diag(10.0 ** rng.uniform(-3, 3, 9)), np.ones(9, dtype=bool), np.zeros(9))
    found = dependent_conditions(accessory)
    units = np.abs(C / np.sqrt(np.diag(accessory.M))).max(axis=1)
    assert found.shape == (1, 4)
    multipliers = found[0] / units
    assert multipliers / multipliers[3] == pytest.approx(np.array([-2.0, 0.0, 1.0, 1.0]), abs=1e-12)
    assert dependent_conditions(Accessory(np.eye(9), C[:3], np.eye(9), np.ones(9, dtype=bool), np.zeros(9))).shape == (0, 3)
