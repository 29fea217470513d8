"""How far path constraints leave their bounds between the nodes, relative to their size."""

from types import SimpleNamespace

import numpy as np
import pytest

from trajopt.bounds import Bound
from trajopt.direct.collocation import Collocation
from trajopt.direct.error_estimate import _path_residuals


def residuals(c):
    """Of one path constraint c >= 0 with values (intervals, places)."""
    bound = Bound(np.zeros(1), np.full(1, np.inf))
    layout = SimpleNamespace(outputs=(None, None, slice(0, 1)), form=SimpleNamespace(c_bound=bound))
    return _path_residuals(SimpleNamespace(layout=layout, method=Collocation()), np.asarray(c, dtype=float)[:, :, None])


def test_relative_to_the_largest_value_on_the_phase():
    assert residuals([[50, 20], [0, -1e-3], [10, 5]]) == pytest.approx([0, 1e-3 / 50 / 0.1, 0])


def test_values_out_of_proportion_hide_no_violation():
    """A slack w >= |F| of the cost w v, without upper bound, was 5e13 at rest: w = 0 for F = 2 elsewhere counted as feasible."""
    at_rest = [5e13, 6e13]
    assert residuals([at_rest, [-2, -2], [0, 1], [1, 2]])[1] == pytest.approx(1 / 0.1)
