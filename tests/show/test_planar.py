"""The drawing of a planar motion: its path and its obstacles, found from the statement."""

import casadi
import numpy as np
import pytest

from trajopt import Problem, solve, table
from trajopt.errors import UsageError
from trajopt.show.drawing import Ground, Trail
from trajopt.show.planar import planar_drawing


def around(symbols=casadi.SX, first="x"):
    """The shortest way around a disc, below a ceiling that a table gives."""
    ocp = Problem("around", symbols=symbols)
    radius = ocp.parameter("radius", 0.5)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state(first, start=-2, end=2, unit="m")
    y = ph.state("y", start=0.1, end=0.1, unit="m")
    u, w = ph.control("u", lower=-9, upper=9), ph.control("w", lower=-9, upper=9)
    ph.dynamics({x: u, y: w})
    ph.path(x**2 + y**2 - radius**2, lower=0)
    ph.path(u**2 + w**2, upper=100)
    if symbols is casadi.MX:
        ceiling = table([-3, -1, 1, 3], values=[1, 1, 1, 1], name="ceiling")
        ph.path(y - ceiling(x), upper=0)
    ocp.minimize(ph.integral(u**2 + w**2))
    return ocp


@pytest.mark.parametrize(("symbols", "walls"), [(casadi.SX, 1), (casadi.MX, 2)])
def test_limits_of_the_position_are_drawn_with_the_values_of_parameters(symbols, walls):
    answer = solve(around(symbols), parameters={"radius": 0.6}).check()
    shapes = planar_drawing(answer).shapes
    drawn = [np.array(shape.points) for shape in shapes if isinstance(shape, Ground)]
    disc = [points for points in drawn if np.hypot(*points.T).max() < 0.7]
    np.testing.assert_allclose(np.hypot(*np.vstack(disc).T), 0.6, atol=2e-3)
    ceiling = [points for points in drawn if np.hypot(*points.T).max() >= 0.7]
    assert len(ceiling) == walls - 1
    assert all(np.allclose(points[:, 1], 1.0) for points in ceiling)
    assert sum(isinstance(shape, Trail) for shape in shapes) == 1


def test_stills_need_no_drawing_in_a_plane(tmp_path):
    solve(around()).plot("stills", tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_states_of_other_names_are_no_plane():
    answer = solve(around(first="range"))
    assert planar_drawing(answer) is None
    with pytest.raises(UsageError, match="no drawing"):
        answer.plot("stills")
