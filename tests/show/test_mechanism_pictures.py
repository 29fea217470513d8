"""Drawings of the bike robot, the exoskeleton and the rocket: lengths, contacts and forces are
those of the models.
"""

from itertools import pairwise
from math import atan2, cos, pi, sin

import numpy as np
import pytest
from casadi import SX, Function, vertcat

from problems.bike.models import FIVE_LINK, SEVEN_LINK, five_link
from problems.bike.pictures import FORCE, PLATFORM, five_link_drawing, platform_drawing
from problems.exoskeleton.legs import ANGLES
from problems.exoskeleton.model import GRAVITY, LENGTHS, MASSES, SLOPE
from problems.exoskeleton.pictures import FORCE as SNOW_FORCE
from problems.exoskeleton.pictures import (
    course_picture,
    slalom_drawing,
    standing_drawing,
    two_legged_drawing,
)
from problems.exoskeleton.slalom import REST, Course
from problems.rocket.drawings import ascent_drawing, spiral_drawing, transfer_drawing
from problems.rocket.pictures import transfer_picture
from trajopt.catalogue import builder, named_problems
from trajopt.errors import UsageError
from trajopt.integrate.simulation import simulate
from trajopt.show.drawing import (
    Arrow,
    Disc,
    Drawing,
    Either,
    Mark,
    Rod,
    Trail,
    Where,
    drawing_beside,
    pictures_beside,
)
from trajopt.show.scene import Role, arrow_line, scene, window_of
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import PhaseSolution, Solution, Status


def phase(name, span, states, controls=None, costates=None):
    """A phase from functions of time (or numbers) by name."""
    breaks, nodes = np.linspace(*span, 9), np.linspace(0, 1, 5)

    def curve(function):
        of = (
            function
            if callable(function)
            else (lambda t: np.asarray(function, dtype=float) + 0 * t)
        )
        times = [a + (b - a) * nodes for a, b in pairwise(breaks)]
        return Curve(
            breaks,
            (nodes,) * 8,
            tuple(np.stack([np.atleast_1d(of(t)) for t in at]) for at in times),
        )

    groups = (
        {key: curve(f) for key, f in (group or {}).items()}
        for group in (states, controls, {}, costates)
    )
    return PhaseSolution(name, *map(float, span), *groups, breaks=breaks)


def answer(*phases):
    return Solution("by hand", "direct", Status.SOLVED, 1.0, {ph.name: ph for ph in phases})


def strokes(seen, role):
    return [stroke.points for stroke in seen.strokes if stroke.role is role]


def lengths(rod):
    return np.linalg.norm(np.diff(rod, axis=1), axis=2)


# Places that depend on the phase, and arrows
# ----------------------------------------------------------------------------------


def test_either_uses_the_first_place_whose_variables_exist():
    both = answer(phase("a", (0, 1), {"x": 1.0}), phase("b", (1, 2), {"x": 1.0, "y": 5.0}))
    x, y = SX.sym("x"), SX.sym("y")
    place, told = Either((x, y), (x, 0.0)), Either(Where("y", (0.0, 7.0)), (0.0, 8.0))
    first, second, third = (
        stroke.points[:, 0, 1]
        for stroke in scene(
            both, Drawing((Mark(place), Mark(told), Mark(Where("y", (x, 3.0))))), 5
        ).strokes
    )
    np.testing.assert_allclose(first, [0, 0, 5, 5, 5], atol=1e-14)
    np.testing.assert_allclose(second, [8, 8, 7, 7, 7], atol=1e-14)
    np.testing.assert_array_equal(np.isnan(third), [True, True, False, False, False])


def test_an_arrow_has_its_length_and_a_head_at_its_tip():
    motion = answer(phase("a", (0, 1), {"x": lambda t: t}))
    drawing = Drawing(
        (Arrow((SX.sym("x"), 0.0), (0.0, 4.0), 0.5), Mark((SX.sym("x"), 0.0)), Mark((2.0, 2.0)))
    )
    seen = scene(motion, drawing, 3)
    (ends,) = strokes(seen, Role.ARROW)
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], np.tile([0.0, 2.0], (3, 1)), atol=1e-14)
    line = arrow_line(ends[0], window_of(seen))
    np.testing.assert_allclose(line[[1, 3]], np.tile(ends[0, 1], (2, 1)))
    assert np.all(line[[2, 4], 1] < ends[0, 1, 1])  # both sides of the head are behind the tip
    assert np.all(np.isnan(arrow_line(np.zeros((2, 2)), window_of(seen))))


def test_arrows_do_not_extend_the_window():
    motion = answer(phase("a", (0, 1), {"x": lambda t: t}))
    mark = Mark((SX.sym("x"), 0.0))
    plain, forced = (
        scene(motion, Drawing(shapes))
        for shapes in ((mark,), (mark, Arrow((0.0, 0.0), (0.0, 1e6))))
    )
    assert window_of(plain) == window_of(forced)


def test_a_circle_has_no_spoke():
    motion = answer(phase("a", (0, 1), {"x": 1.0}))
    (ring,) = strokes(
        scene(motion, Drawing((Disc((SX.sym("x"), 0.0), 0.5, spoke=False),)), 3), Role.WHEEL
    )
    np.testing.assert_allclose(np.linalg.norm(ring - [1.0, 0.0], axis=2), 0.5, atol=1e-15)


# The bike robot
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheelie():
    return simulate(builder("wheelie-pd")(), until=0.6)


def test_five_links_have_constant_lengths_and_wheels_stay_on_the_ground(wheelie):
    seen = scene(wheelie, wheelie.system.drawing, 13)
    rider = strokes(seen, Role.LINE)[1]
    expected = (FIVE_LINK.torso.length, FIVE_LINK.upper_arm.length, FIVE_LINK.forearm.length)
    np.testing.assert_allclose(lengths(rider), np.tile(expected, (13, 1)), atol=1e-12)
    rear, front = (wheel[:, :-1] for wheel in strokes(seen, Role.WHEEL)[:2])
    np.testing.assert_allclose(
        rear[..., 1].min(axis=1), 0.0, atol=FIVE_LINK.wheel_radius * (1 - cos(pi / 48))
    )
    beta = wheelie.at(seen.t, "beta")
    np.testing.assert_allclose(
        front[..., 1].mean(axis=1) - rear[..., 1].mean(axis=1),
        FIVE_LINK.wheelbase * np.sin(beta),
        atol=1e-9,
    )


def test_the_forces_of_a_simulation_are_its_outputs(wheelie):
    seen = scene(wheelie, wheelie.system.drawing, 4)
    rear, front = ((ends[:, 1] - ends[:, 0]) / FORCE for ends in strokes(seen, Role.ARROW))
    assert rear[0, 1] == pytest.approx(wheelie["rear_force"][0], rel=1e-9)
    assert rear[0, 0] == pytest.approx(wheelie["traction"][0], rel=1e-9)
    assert front[0, 1] == pytest.approx(wheelie["front_force"][0], rel=1e-9)
    assert front[-1, 1] == 0.0  # in the air


@pytest.mark.parametrize("front_down", [True, False])
def test_the_forces_of_a_solution_move_the_mass_centre(front_down):
    """All forces together are the mass times the acceleration of the mass centre, beyond its
    weight; derived another way.
    """
    states = {"x": 0.3, "torso": 0.1, "x_rate": 1.0, "torso_rate": -0.5}
    states |= {} if front_down else {"beta": 0.2, "beta_rate": 0.7}
    torques = {"wheel_torque": 30.0, "waist_torque": -40.0}
    seen = scene(answer(phase("only", (0, 1), states, torques)), five_link_drawing(), 2)
    total = sum((ends[0, 1] - ends[0, 0]) / FORCE for ends in strokes(seen, Role.ARROW))
    machine = five_link(front_down=front_down)
    m = machine.mechanism
    q, v, u = (
        ([states.get(f"{n}{s}", 0.0) for n in ("x", "beta", "torso")] for s in ("", "_rate")),
        None,
        list(torques.values()),
    )
    q, v = tuple(q)
    centre = machine.point("mass centre", m.q)
    J = Function("J", [m.q, m.v], [vertcat(centre), *(_twice(centre, m.q, m.v))])
    _, jacobian, curvature = (np.asarray(part.full()) for part in J(q, v))
    acceleration = np.asarray(
        Function("a", [m.q, m.v, m.u], [m.acceleration(m.q, m.v, m.u)])(q, v, u).full()
    )
    mass = machine.posture.mass + machine.wheel_mass
    push = mass * (jacobian @ acceleration + curvature).ravel() + [0.0, mass * FIVE_LINK.gravity]
    np.testing.assert_allclose(total, push, rtol=1e-9)


def _twice(expression, q, v):
    from casadi import jacobian, jtimes

    return jacobian(expression, q), jtimes(jtimes(expression, q, v), q, v)


def jump():
    posture = {"beta": 0.4, "ankle": 1.1, "knee": 1.3, "waist": -2.0}
    rates = {f"{name}_rate": 0.0 for name in posture}
    torques = {f"{name}_torque": 0.0 for name in ("knee", "waist", "elbow")}
    air = {"centre_x": lambda t: 0.1 * t, "centre_y": lambda t: 1.0 + t}
    return answer(
        phase("stance", (0, 1), posture | rates | torques),
        phase("flight", (1, 2), posture | rates | torques | air),
    )


def test_the_seven_links_stand_and_fly():
    seen = scene(jump(), platform_drawing(0.5), 9)
    rider = strokes(seen, Role.LINE)[3]
    limbs = (
        SEVEN_LINK.shank,
        SEVEN_LINK.thigh,
        SEVEN_LINK.torso,
        SEVEN_LINK.upper_arm,
        SEVEN_LINK.forearm,
    )
    np.testing.assert_allclose(
        lengths(rider), np.tile([limb.length for limb in limbs], (9, 1)), atol=1e-9
    )
    centre, flying = strokes(seen, Role.MARK)[-1][:, 0], seen.t >= 1
    axle = [-SEVEN_LINK.wheel_radius * 0.4, SEVEN_LINK.wheel_radius]
    np.testing.assert_allclose(rider[~flying, 0], np.tile(axle, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(
        centre[flying], np.stack([0.1 * seen.t, 1 + seen.t], axis=1)[flying], atol=1e-12
    )
    push, front = (ends[:, 1] - ends[:, 0] for ends in strokes(seen, Role.ARROW))
    np.testing.assert_array_equal(front, 0.0)
    assert np.all(push[~flying, 1] > 0)
    np.testing.assert_array_equal(push[flying], 0.0)


def test_one_drawing_serves_several_builders():
    """The platform's height is the builder's own default where nothing is set; without a platform
    there is none.
    """
    heights = {}
    for name, settings in (
        ("platform-jump", {}),
        ("platform-jump", {"height": 0.3}),
        ("platform-strength", {}),
        ("daniel-jump", {}),
    ):
        platforms = [
            s
            for s in drawing_beside(builder(name), settings).shapes
            if getattr(s, "colour", None) == PLATFORM
        ]
        heights[name, *settings.values()] = float(platforms[0].points[1][1]) if platforms else None
    assert heights == {
        ("platform-jump",): 0.5,
        ("platform-jump", 0.3): 0.3,
        ("platform-strength",): 1.0,
        ("daniel-jump",): None,
    }


# The exoskeleton
# --------------------------------------------------------------------------------------------------


def gliding():
    names = ("phi0", "psi1", "psi2", "q8", "q9")
    rates = {f"{name}_rate": 0.0 for name in names}
    places = REST | {"x0": lambda t: 36 * t, "y0": lambda t: np.sin(6 * t), "phi0": 0.3}
    return answer(
        phase(
            "gate1",
            (0, 1),
            places | rates | {"speed": 3.0},
            dict.fromkeys(("steer", "ankle", "hip", "f8", "f9"), 0.0),
        )
    )


def test_the_slalom_is_on_its_slope():
    seen = scene(gliding(), slalom_drawing(), 7)
    normal = np.array([sin(SLOPE), 0.0, cos(SLOPE)])
    (track,) = strokes(seen, Role.TRAIL)
    np.testing.assert_allclose(track[:, 0] @ normal, 0.0, atol=1e-12)
    down = track[-1, 0] - track[0, 0]
    assert atan2(-down[2], down[0]) == pytest.approx(SLOPE)
    leg, body = (lengths(rod) for rod in strokes(seen, Role.LINE)[-2:])
    np.testing.assert_allclose(leg, LENGTHS[1], atol=1e-12)
    np.testing.assert_allclose(body, LENGTHS[2], atol=1e-12)
    course, poles = Course(), strokes(seen, Role.LINE)[:12]
    for k, pole in enumerate(poles):
        foot = pole[0, 0]
        assert foot @ normal == pytest.approx(0.0, abs=1e-12)
        assert abs(foot[1] - course.centre(k // 2 + 1)) == pytest.approx(course.width / 2)


def test_a_straight_run_without_relative_motion_has_its_weight_as_contact_force():
    """Springs carry the weight, nothing turns: the normal force is m g cos(alpha), the blade's a
    part of m g sin(alpha).
    """
    straight = gliding().phases["gate1"]
    (above, normal, across, moment, _) = course_picture(answer(straight)).axes
    weight = sum(MASSES) * GRAVITY * cos(SLOPE)
    np.testing.assert_allclose(normal.lines[0].get_ydata(), weight, rtol=1e-9)
    np.testing.assert_allclose(
        across.lines[0].get_ydata(), sum(MASSES) * GRAVITY * sin(SLOPE) * sin(0.3), rtol=1e-9
    )
    # The part of the weight across the blade, at the heights of leg and body over the foot.
    extension = 1 / np.sqrt(3)
    heights = MASSES[1] * (extension + 0.5) + MASSES[2] * (2 * extension + 1.5)
    np.testing.assert_allclose(
        np.abs(moment.lines[0].get_ydata()), heights * GRAVITY * sin(SLOPE) * sin(0.3), rtol=1e-9
    )
    track = above.collections[0].get_segments()
    np.testing.assert_allclose(track[-1][-1], [36.0, np.sin(6.0)], atol=1e-3)


def test_upright_and_at_rest_the_slope_carries_the_weight():
    """The lift's start without muscles falls; in free fall along its joints the normal force is
    less than the weight's part.
    """
    places = {"psi1": pi / 2 - SLOPE, "psi2": pi / 2 - SLOPE, "q8": 0.3, "q9": 0.3}
    carried = {
        "ankle": 0.0,
        "hip": 0.0,
        "f8": 15 * GRAVITY,
        "f9": 10 * GRAVITY,
    }  # the weight above each actuator, plumb
    rates = {f"{name}_rate": 0.0 for name in places}
    seen = scene(answer(phase("main", (0, 1), places | rates, carried)), standing_drawing(), 2)
    (ends,) = strokes(seen, Role.ARROW)
    force = (ends[0, 1] - ends[0, 0]) / SNOW_FORCE
    assert np.linalg.norm(force) == pytest.approx(sum(MASSES) * GRAVITY * cos(SLOPE), rel=1e-9)
    head = strokes(seen, Role.MARK)[-1][0, 0]
    np.testing.assert_allclose(head[:2], 0.0, atol=1e-12)  # plumb over the foot


def test_two_legs_join_at_the_hip():
    rolled = {name: (lambda t, k=k: 0.3 * np.sin(t + k)) for k, name in enumerate(ANGLES)}
    flat = {name: angle for name, angle in rolled.items() if name != "foot"}
    motion = answer(phase("flat foot", (0, 1), flat), phase("heel off", (1, 2), rolled))
    seen = scene(motion, two_legged_drawing(), 5)
    foot, swinging, standing_foot, standing, trunk = strokes(seen, Role.LINE)
    np.testing.assert_allclose(swinging[:, 0], standing[:, 2], atol=1e-14)
    np.testing.assert_allclose(trunk[:, 0], standing[:, 2], atol=1e-14)
    np.testing.assert_allclose(lengths(standing), 0.43, atol=1e-12)
    np.testing.assert_allclose(lengths(swinging), 0.43, atol=1e-12)
    np.testing.assert_allclose(foot[:, 0], swinging[:, 2], atol=1e-14)
    np.testing.assert_allclose(standing_foot[:, 2], 0.0, atol=1e-14)  # the toe


# The rocket
# --------------------------------------------------------------------------------------------------


def orbit(burning=True):
    circle = {"r": 1.0, "theta": lambda t: t, "vr": 0.0, "vt": 1.0, "m": 1.0, "c": 2.0}
    costates = {"r": 0.0, "theta": 0.0, "vr": 0.0, "vt": -1.0, "m": -1.0, "c": 0.0}
    coast = phase("coast 1", (1, 2), circle, None, costates)
    return answer(
        phase("burn 1", (0, 1), circle, {"e": (0.0, 1.0)} if burning else None, costates), coast
    )


def test_burns_are_drawn_where_there_is_thrust():
    seen = scene(orbit(), transfer_drawing(), 21)
    way, burn = strokes(seen, Role.TRAIL)
    np.testing.assert_allclose(np.linalg.norm(way[:, 0], axis=1), 1.0, atol=1e-12)
    missing = np.isnan(burn[:, 0, 0])
    assert missing[-1]
    assert not missing[0]
    assert np.mean(missing) == pytest.approx(0.5, abs=0.01)
    (ends,) = strokes(seen, Role.ARROW)
    push = (ends[:, 1] - ends[:, 0])[:10]
    np.testing.assert_allclose(np.linalg.norm(push, axis=1), 0.25, atol=1e-12)
    np.testing.assert_allclose(
        np.sum(push * ends[:10, 0], axis=1), 0.0, atol=1e-12
    )  # along the orbit


def test_the_thrust_of_the_spiral_is_above_the_horizontal():
    motion = answer(
        phase("main", (0, 1), {"r": lambda t: 1 + t, "theta": lambda t: 2 * t, "psi": 0.3})
    )
    (ends,) = strokes(scene(motion, spiral_drawing(), 6), Role.ARROW)
    push, out = (
        (ends[:, 1] - ends[:, 0]) / 0.3,
        ends[:, 0] / np.linalg.norm(ends[:, 0], axis=1, keepdims=True),
    )
    np.testing.assert_allclose(np.sum(push * out, axis=1), sin(0.3), atol=1e-12)
    np.testing.assert_allclose(
        out[:, 0] * push[:, 1] - out[:, 1] * push[:, 0], cos(0.3), atol=1e-12
    )


def test_an_ascent_has_burns_and_a_coast():
    rise = phase("rise", (0, 1), {"r": lambda t: 1737.4 + t, "vr": 1.0, "m": lambda t: 2 - t})
    polar = {"r": 1738.4, "theta": lambda t: t - 1, "vr": 0.0, "vt": 1.0, "m": 1.0}
    flight = answer(
        rise, phase("burn", (1, 2), polar, {"e": (0.6, 0.8)}), phase("coast", (2, 3), polar)
    )
    seen = scene(flight, ascent_drawing(), 31)
    (ends,) = strokes(seen, Role.ARROW)
    drawn = ~np.isnan(ends[:, 1, 0])
    np.testing.assert_array_equal(drawn, seen.t < 2)
    np.testing.assert_allclose((ends[0, 1] - ends[0, 0]) / 250, [1.0, 0.0], atol=1e-12)
    _, burn, vertical = (
        np.isfinite(trail[:: seen.finer, 0, 0]) for trail in strokes(seen, Role.TRAIL)
    )
    np.testing.assert_array_equal(burn | vertical, drawn)


def test_the_transfer_picture_has_orbit_primer_and_switching_function():
    """|lam_v|/m - lam_m/c is 1 - 1/2 here; the orbit is the circle, and so are the ones left and
    reached.
    """
    figure = transfer_picture(orbit())
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    switching = panels["switching function: thrust where it is positive"]
    np.testing.assert_allclose(
        np.concatenate([line.get_ydata() for line in switching.lines[:2]]), 0.5, atol=1e-12
    )
    assert len(switching.patches) == 1  # one burn
    rings = [np.array(line.get_data()).T for line in panels[""].lines if len(line.get_xdata()) > 50]
    assert len(rings) == 4
    for ring in rings:
        np.testing.assert_allclose(np.linalg.norm(ring, axis=1), 1.0, atol=1e-9)


def test_a_transfer_plot_needs_the_states_of_a_transfer():
    with pytest.raises(UsageError, match="states of an orbit"):
        transfer_picture(answer(phase("a", (0, 1), {"x": 1.0}, None, {"x": 0.0})))


# All of them
# --------------------------------------------------------------------------------------------------

MECHANISMS = ("bike robot", "exoskeleton", "rocket", "mechanisms")


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, e in named_problems().items()
        if e.family in MECHANISMS and e.kind == "problem"
    ],
)
def test_every_mechanism_has_a_drawing(name):
    found = drawing_beside(builder(name))
    assert found is not None
    assert any(isinstance(shape, Rod | Trail) for shape in found.shapes)


def test_rockets_define_plots():
    for name, entry in named_problems().items():
        if (
            entry.family == "rocket" and entry.kind == "problem" and name != "lawden-spiral"
        ):  # no transfer, and nothing to switch
            assert "transfer" in pictures_beside(builder(name)), name
