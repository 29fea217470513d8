"""A hop that follows a table of angles, and a front wheel held by the arms."""

import numpy as np
import pytest

from problems.bike.analyses import balanced_wheelie
from problems.bike.arms import regulator, wheelie_arms
from problems.bike.models import FIVE_LINK
from problems.bike.track import TABLE, Measured, daniel_track, following_error, measured_centre
from trajopt.errors import FileError
from trajopt.integrate import Dop853, simulate


@pytest.fixture(scope="module")
def hop():
    return simulate(daniel_track(), Dop853(1e-6)).refined()


def test_the_hop_is_vertical_within_the_torque_limits(hop):
    """The thesis' figure 6-15: the mass centre rises and does not drift; it lands and stands."""
    assert hop.t[-1] == pytest.approx(1.44)
    assert hop["clearance"].max() == pytest.approx(0.134, abs=2e-3)
    assert np.ptp(hop["mass_centre_x"]) < 0.03
    for joint, limit in (("knee", 250), ("waist", 300), ("elbow", 100)):
        assert abs(hop[f"{joint}_torque"]).max() <= limit
    assert [e.name for e in hop.events][-2:] == ["rear lift-off", "rear touch-down"]
    speed = np.hypot(hop["mass_centre_x_rate"][-1], hop["mass_centre_y_rate"][-1])
    assert speed < 0.1


def test_contact_forces_of_the_hop_are_consistent(hop):
    down = hop["rear_contact"] > 0.5
    assert hop["rear_force"].min() > -1e-5
    assert (abs(hop["traction"]) <= 0.9 * hop["rear_force"] + 1e-5)[down].all()
    assert hop["rear_gap"].min() > -1e-8


def test_the_mass_centre_of_the_table_is_that_of_the_run(hop):
    """On the ground the contact stays; (6-1) and (6-2) by the smoothed angles."""
    centre = measured_centre(Measured(str(TABLE), 5))
    t = Measured(str(TABLE), 5).curves[0]
    early = t < 0.3
    run = np.array([np.interp(t, hop.t, hop[f"mass_centre_{axis}"]) for axis in "xy"]).T
    assert abs(run[:, 1] - centre[:, 1])[early].max() < 0.02


def test_tables_of_other_columns_are_refused(tmp_path):
    path = tmp_path / "angles.csv"
    path.write_text("t,knee\n0,1\n1,2\n")
    with pytest.raises(FileError, match="front, ankle, knee, waist, elbow"):
        daniel_track(file=str(path))


@pytest.mark.slow
def test_fitted_gains_follow_the_table_better():
    assert following_error(daniel_track(trials=30)) < following_error(daniel_track())


def test_arms_bring_the_front_back():
    run = simulate(wheelie_arms(), Dop853(1e-8)).refined()
    assert run["rise"][-1] == pytest.approx(30.0, abs=0.1)
    assert abs(run["arm_force"]).max() < 110
    assert run["rear_force"].min() > 500
    steady, gains = regulator(FIVE_LINK, balanced_wheelie(30.0).angles, 1e-3)
    assert steady == pytest.approx(17.311, abs=1e-3)  # 8.6554 N m by a lever of 0.49998 m
    assert gains[0] == pytest.approx(-3793, rel=1e-3)
