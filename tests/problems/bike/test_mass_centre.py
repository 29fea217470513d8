"""The regions of the mass centre by name: their ends against an independent computation, their curve against the analyses."""

import numpy as np
import pytest

from problems.bike import mass_centre_five, mass_centre_seven
from problems.bike.analyses import mass_centre_cloud, mass_centre_curve
from trajopt.errors import UsageError
from trajopt.integrate import simulate


@pytest.mark.parametrize(
    ("rise", "lean", "x"), [(0, (-8, 20), (0.250, 0.335)), (15, (-23, 5), (0.096, 0.192)), (30, (-30, -10), (-0.034, 0.036))]
)
def test_the_curves_end_where_an_independent_computation_has_them(rise, lean, x):
    run = simulate(mass_centre_five(rise=rise))
    assert np.degrees(run["torso"][[0, -1]]) == pytest.approx(lean, abs=0.6)
    assert (run["mass_centre_x"].min(), run["mass_centre_x"].max()) == pytest.approx(x, abs=3e-3)  # on a grid of 1 deg
    curve = mass_centre_curve(rise)
    heights = np.interp(run["torso"], curve.angles[:, 0], curve.centres[:, 1])
    np.testing.assert_allclose(run["mass_centre_y"], heights, atol=1e-5)


def test_a_run_over_the_knee_stays_in_the_region():
    run, cloud = simulate(mass_centre_seven()), mass_centre_cloud(points=25).centres
    for x, y in zip(run["mass_centre_x"], run["mass_centre_y"], strict=True):
        assert np.hypot(*(cloud - (x, y)).T).min() < 0.03
    assert run["elbow"].min() > -1e-6


def test_a_posture_out_of_reach_is_rejected():
    with pytest.raises(UsageError, match="no range of postures"):
        mass_centre_seven(ankle=135, waist=-165)
