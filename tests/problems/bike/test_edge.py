"""A platform ahead: wheels stay outside of it, and its edge carries within the friction cone."""

import casadi
import numpy as np
import pytest

from problems.bike.edge import REFERENCE, platform_edge
from problems.bike.models import SEVEN_LINK as DATA
from problems.bike.models import seven_link
from trajopt import solve

HEIGHT, NAMES = 0.2, ("beta", "ankle", "knee", "waist")


@pytest.fixture(scope="module")
def jump():
    return solve(platform_edge())


def gap(axle, edge):
    """From a wheel to the platform, (k,): of its axle (k, 2) from x >= edge, y <= HEIGHT."""
    before = np.maximum(edge - axle[:, 0], 0)
    above = np.maximum(axle[:, 1] - HEIGHT, 0)
    return np.hypot(before, above) - DATA.wheel_radius


def axles(solution, name, points=200):
    """Rear and front axle along a phase, by its states."""
    phase = solution.phases[name]
    t = np.linspace(phase.t0, phase.tf, points)
    q = np.array([np.ravel(solution[name, n](t)) for n in NAMES])
    edge, contact = (float(np.ravel(solution.variables[n])[0]) for n in ("edge", "contact"))
    if name == "stance":
        rear = np.array([-DATA.wheel_radius * q[0], np.full(points, DATA.wheel_radius)]).T
    elif name == "edge":
        turn = contact + q[0]
        rear = (
            np.array([edge, HEIGHT]) + DATA.wheel_radius * np.array([np.cos(turn), np.sin(turn)]).T
        )
    else:
        machine = seven_link(stance=False)
        place = casadi.vertcat(0, 0, casadi.SX.sym("q", 4))
        centre = casadi.Function("c", [place[2:]], [machine.point("mass centre", place)])
        middle = np.array([np.ravel(solution[name, n](t)) for n in ("centre_x", "centre_y")])
        rear = (middle - np.array(centre(q))).T
    front = rear + DATA.wheelbase * np.array([np.cos(q[0]), np.sin(q[0])]).T
    return rear, front, edge


@pytest.mark.slow
def test_no_wheel_passes_through_the_platform(jump):
    assert jump.objective == pytest.approx(REFERENCE.objective, rel=1e-6)
    for name in ("stance", "flight", "edge"):
        rear, front, edge = axles(jump, name)
        assert gap(rear, edge).min() > -1.1e-3  # the statement allows 1 mm before the touch
        assert gap(front, edge).min() > 0.0
        # The line between the axles stays above the edge.
        along = front - rear
        side = along[:, 0] * (HEIGHT - rear[:, 1]) - along[:, 1] * (edge - rear[:, 0])
        assert side.max() < 0.0


@pytest.mark.slow
def test_the_wheel_turns_about_the_edge_to_a_standstill(jump):
    rear, _, edge = axles(jump, "edge")
    assert np.hypot(*(rear - [edge, HEIGHT]).T) == pytest.approx(
        np.full(len(rear), 0.254), abs=1e-9
    )
    touch = axles(jump, "flight")[0][-1]
    assert rear[0] == pytest.approx(touch, abs=1e-7)
    assert rear[0, 0] < edge - 0.05  # 18 deg before the edge
    assert rear[-1] == pytest.approx([edge, HEIGHT + 0.254], abs=1e-7)
    phase = jump.phases["edge"]
    for name in NAMES:
        assert float(jump["edge", f"{name}_rate"](phase.tf)) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.slow
def test_the_force_of_the_edge_is_that_of_the_momentum(jump):
    """Mass times acceleration of the mass centre less the weight, by differences of its path."""
    phase = jump.phases["edge"]
    machine = seven_link(stance=False)
    place = casadi.vertcat(0, 0, casadi.SX.sym("q", 4))
    centre = casadi.Function("c", [place[2:]], [machine.point("mass centre", place)])
    contact = float(np.ravel(jump.variables["contact"])[0])
    h, mass = 1e-3, float(machine.posture.mass + machine.wheel_mass)

    def path(t):
        q = np.array([float(jump["edge", n](t)) for n in NAMES])
        turn = contact + q[0]
        return 0.254 * np.array([np.cos(turn), np.sin(turn)]) + np.ravel(np.array(centre(q)))

    for t in np.linspace(phase.t0 + 2 * h, phase.tf - 2 * h, 30):
        a = (path(t + h) - 2 * path(t) + path(t - h)) / h**2
        force = mass * (a + np.array([0, DATA.gravity]))
        turn = contact + float(jump["edge", "beta"](t))
        normal = force @ [np.cos(turn), np.sin(turn)]
        along = force @ [-np.sin(turn), np.cos(turn)]
        assert normal > 100
        assert abs(along) < 0.9 * (normal + 1.0) + 1.0
