"""The regions of the mass centre by name: their ends against an independent computation, their
curve against the analyses.
"""

import numpy as np
import pytest

from problems.bike import mass_centre_five, mass_centre_seven
from problems.bike.analyses import five_link_centre, mass_centre_cloud
from problems.bike.models import FIVE_LINK
from trajopt.errors import UsageError
from trajopt.integrate import simulate


@pytest.mark.parametrize(
    ("rise", "lean", "x"),
    [
        (0, (-8, 20), (0.250, 0.335)),
        (15, (-23, 5), (0.096, 0.192)),
        (30, (-30, -10), (-0.034, 0.036)),
    ],
)
def test_the_curves_end_where_an_independent_computation_has_them(rise, lean, x):
    """It went through the leans in whole degrees."""
    run = simulate(mass_centre_five(rise=rise))
    first, last = np.degrees(run["torso"][[0, -1]])
    assert (np.ceil(first - 1e-6), np.floor(last + 1e-6)) == lean

    def places(leans):
        return np.array(
            [
                np.array(five_link_centre(FIVE_LINK)([np.radians(rise), lean])[0]).ravel()
                for lean in leans
            ]
        )

    along = places(np.radians(np.arange(lean[0], lean[1] + 1)))[:, 0]
    assert (along.min(), along.max()) == pytest.approx(x, abs=5e-4)
    np.testing.assert_allclose(
        np.stack([run["mass_centre_x"], run["mass_centre_y"]], axis=1),
        places(run["torso"]),
        atol=1e-12,
    )


def test_the_run_goes_to_the_stops_of_the_elbow():
    run = simulate(mass_centre_five())
    assert run["elbow"][-1] == pytest.approx(-90, abs=1e-6)
    assert run["elbow"][0] == pytest.approx(
        0, abs=0.01
    )  # the straight arm, where the angle is a square root of the lean


def test_a_run_over_the_knee_stays_in_the_region():
    run, cloud = simulate(mass_centre_seven()), mass_centre_cloud(points=25).centres
    for x, y in zip(run["mass_centre_x"], run["mass_centre_y"], strict=True):
        assert np.hypot(*(cloud - (x, y)).T).min() < 0.03
    assert run["elbow"].min() > -1e-6


def test_a_posture_out_of_reach_is_rejected():
    with pytest.raises(UsageError, match="no range of postures"):
        mass_centre_seven(ankle=135, waist=-165)
