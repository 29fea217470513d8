"""Interval arithmetic, and short events between the points of an interval."""

import casadi
import numpy as np
import pytest

from tests.benchmarks.planted import CASES
from trajopt import certify
from trajopt.certificate.enclosures import Enclosure

X, Y = casadi.SX.sym("x"), casadi.SX.sym("y")
EXPRESSIONS = [
    casadi.sin(X) * casadi.cos(Y) + X / Y,
    casadi.if_else(casadi.logic_and(X > 0.3, Y < 1), X * Y, -X),
    casadi.fabs(X - Y) ** 3,
    casadi.sqrt(X**2 + Y**2) + casadi.atan(X),
    casadi.fmax(X, Y) - casadi.fmin(X, 2),
    X**2.5 + Y**-1,
    casadi.exp(X) * casadi.log(Y + 2),
    casadi.if_else(casadi.logic_not(X > 1), 1, Y),
    casadi.atan2(Y, X),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_no_value_is_outside_the_bounds(expression):
    rng = np.random.default_rng(2)
    bound, value = Enclosure(expression, [X, Y]), casadi.Function("value", [X, Y], [expression])
    corner, width = rng.uniform(-2, 2, (2, 40)), 10 ** rng.uniform(-3, 0.5, (2, 40))
    low, high = bound(list(corner[:, None]), list((corner + width)[:, None]))
    for k in range(40):
        x, y = corner[:, k, None] + width[:, k, None] * rng.uniform(0, 1, (2, 200))
        values = np.asarray(value.map(200)(x[None], y[None]).full())
        values = values[np.isfinite(values)]
        assert (values >= low[0, k] - 1e-12).all()
        assert (values <= high[0, k] + 1e-12).all()


@pytest.mark.parametrize("name", ["post", "gust", "toll"])
def test_a_short_event_between_the_points_is_found(name):
    for number in (0, 1, 2):  # a bell, a hat and a box
        problem, right, wrong, other = CASES[f"{name}-between-the-samples-{number}"].make()
        assert certify(wrong, other).claim == "none", number
        assert certify(right, problem).claim in ("extremal", "minimum"), number
