"""How far path constraints leave their bounds between the nodes, relative to their size."""

from types import SimpleNamespace

import numpy as np
import pytest

from trajopt.direct.collocation import Collocation
from trajopt.direct.error_estimate import _path_residuals
from trajopt.statement.bounds import Bound


def residuals(c, upper=np.inf, terms=1.0):
    """Of one path constraint 0 <= c <= upper with values (intervals, places), and the size of its
    terms.
    """
    bound = Bound(np.zeros(1), np.full(1, upper))
    layout = SimpleNamespace(outputs=(None, None, slice(0, 1)), form=SimpleNamespace(c_bound=bound))
    view = SimpleNamespace(layout=layout, method=Collocation(), term_sizes=np.array([terms]))
    return _path_residuals(view, np.asarray(c, dtype=float)[:, :, None])


def test_relative_to_the_largest_value_on_the_phase():
    assert residuals([[50, 20], [0, -1e-3], [10, 5]]) == pytest.approx([0, 1e-3 / 50 / 0.1, 0])


def test_values_out_of_proportion_hide_no_violation():
    """A slack w >= |F| of the cost w v, without upper bound, was 5e13 at rest: w = 0 for F = 2
    elsewhere counted as feasible.
    """
    at_rest = [5e13, 6e13]
    assert residuals([at_rest, [-2, -2], [0, 1], [1, 2]])[1] == pytest.approx(1 / 0.1)


def test_an_equation_is_relative_to_its_terms():
    """Its value is zero everywhere: forces of 1000 N that balance to 1 mN do so to six digits."""
    assert residuals([[0, 1e-3], [0, 0]], upper=0.0, terms=1e3) == pytest.approx([1e-6 / 0.1, 0])
