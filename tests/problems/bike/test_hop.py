"""The vertical hop: no drift, the landing's impact by another model, a final equilibrium held by
the torques.
"""

import casadi
import numpy as np
import pytest

from problems import bike
from problems.bike.jump import TORQUES
from trajopt import solve

JOINTS = ("beta", "ankle", "knee", "waist")


@pytest.fixture(scope="module")
def hop():
    return solve(bike.daniel_hop(), tolerance=1e-4).check()


def _at(phase, t, tail=""):
    return np.array([float(phase[name + tail](t)) for name in JOINTS])


@pytest.mark.slow
def test_the_hop_lands_at_its_take_off_position(hop):
    stance, flight = hop.phases["stance"], hop.phases["flight"]
    assert flight.tf - flight.t0 == pytest.approx(0.25, abs=1e-9)
    assert float(np.squeeze(hop.variables["throw"])) == pytest.approx(0.0, abs=1e-9)
    x = flight["centre_x"](np.linspace(flight.t0, flight.tf, 20))
    assert np.ptp(x) < 1e-9
    # Without an impulse of the ground the mass centre is a thrown body.
    fall = float(flight["centre_y_rate"](flight.t0)) - float(flight["centre_y_rate"](flight.tf))
    assert fall == pytest.approx(bike.SEVEN_LINK.gravity * 0.25, rel=1e-8)
    assert stance.tf <= bike.Jump().longest_push + 1e-9


@pytest.mark.slow
def test_the_impact_is_that_of_links_and_closures(hop):
    """Least change in the kinetic metric onto velocities that roll, by the tree whose loop is a
    constraint.
    """
    flight, landing = hop.phases["flight"], hop.phases["landing"]
    data, machine = bike.SEVEN_LINK, bike.seven_link(stance=False)
    q, before, after = (
        _at(flight, flight.tf),
        _at(flight, flight.tf, "_rate"),
        _at(landing, landing.t0, "_rate"),
    )
    assert _at(landing, landing.t0) == pytest.approx(q, abs=1e-7)
    place = machine.mechanism.q
    slopes = casadi.Function(
        "slopes", [place], [casadi.jacobian(machine.point("mass centre", place), place)]
    )
    slope = np.array(slopes([0, 0, *q]))
    centre_rate = np.array(
        [float(np.squeeze(hop.variables["throw"])), float(flight["centre_y_rate"](flight.tf))]
    )
    axle_rate = centre_rate - slope[:, 2:] @ before
    tree = bike.seven_link_tree(stance=True)
    names = [c.name for c in tree.coordinates]
    start = dict(zip(JOINTS, q, strict=True)) | {
        "x": -data.wheel_radius * q[0],
        "y": data.wheel_radius,
    }
    places = tree.starting_at(start).consistent(hold=("x", "y", *JOINTS)).start[0]
    A = np.array(tree.evaluate(tree.equations.matrix, places, np.zeros(len(names))))
    M = np.array(tree.evaluate(tree.equations.mass, places, np.zeros(len(names))))
    loop = bike.seven_link_tree(stance=False)
    B = np.array(
        loop.evaluate(loop.equations.matrix, places, np.zeros(len(names)))
    )  # the loop alone
    known = dict(zip(JOINTS, before, strict=True)) | {"x": axle_rate[0], "y": axle_rate[1]}
    free = [k for k, name in enumerate(names) if name not in known]
    v = np.array([known.get(name, 0.0) for name in names])
    v[free] = np.linalg.lstsq(B[:, free], -B @ v, rcond=None)[0]
    response = np.linalg.solve(M, A.T)
    hit = v - response @ np.linalg.lstsq(A @ response, A @ v, rcond=None)[0]
    assert [hit[names.index(name)] for name in JOINTS] == pytest.approx(after, abs=1e-5)
    impulse = (M @ (hit - v))[[names.index("x"), names.index("y")]]
    assert impulse[1] > 0
    assert abs(impulse[0]) <= 0.9 * impulse[1] + 1e-6


@pytest.mark.slow
def test_the_hop_ends_at_rest(hop):
    landing, machine = hop.phases["landing"], bike.seven_link()
    assert _at(landing, landing.tf, "_rate") == pytest.approx(0.0, abs=1e-7)
    torques = [float(landing[name](landing.tf)) for name in TORQUES]
    q = _at(landing, landing.tf)
    a = machine.mechanism.acceleration(q, np.zeros(4), torques)
    assert np.array(a).ravel() == pytest.approx(0.0, abs=1e-5)
    centre = casadi.evalf(machine.point("mass centre", casadi.SX(q)))
    assert float(centre[0]) == pytest.approx(
        -bike.SEVEN_LINK.wheel_radius * q[0], abs=1e-6
    )  # above the contact
