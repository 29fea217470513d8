"""Motions of robots: both kinds of dynamics, contacts, floating bases, messages."""

import casadi
import numpy as np
import pytest

from problems.robots import ARM
from trajopt import Problem, certify, free, solve
from trajopt.errors import ModelError, UsageError
from trajopt.mechanics import read_robot
from trajopt.robots import motion, reach

START, END = (0.0, 0.5, 0.5, 0.0), (0.6, 0.9, 0.2, 0.3)
BOTH = ("inverse", "forward")
OF_TWO, TO_TWO = (0.5, 0.5), (0.9, 0.2)

# A floating body on three legs; each foot slides along three axes.
BODY = """<robot name="walker">
  <link name="body"><inertial><mass value="4"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>"""
SLIDER = """<link name="{child}">{inertial}</link>
  <joint name="{child}_slide" type="prismatic"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{origin}"/><axis xyz="{axis}"/>
    <limit lower="-0.9" upper="0.9" effort="50"/></joint>"""
MASS = '<inertial><mass value="0.2"/><inertia ixx="0.001" iyy="0.001" izz="0.001"/></inertial>'
FEET = {"a": (0.2, 0.0), "b": (-0.1, 0.2), "c": (-0.1, -0.2)}
STANDING = [0, 0, 0.4, 1, 0, 0, 0, *([0, 0, 0.4] * 3)]


def walker_file():
    parts = [BODY]
    for foot, (x, y) in FEET.items():
        chain = ("body", f"{foot}x", f"{foot}y", foot)
        for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 -1")):
            origin, inertial = (f"{x} {y} 0", "") if k == 0 else ("0 0 0", MASS if k == 2 else "")
            parts.append(
                SLIDER.format(
                    parent=chain[k], child=chain[k + 1], axis=axis, origin=origin, inertial=inertial
                )
            )
    return "".join([*parts, "</robot>"])


@pytest.fixture(scope="module")
def arm():
    return read_robot(ARM, payload=("tool", 0.5, (0, 0, 0)))


@pytest.fixture(scope="module")
def two_joints():
    return read_robot(ARM, fixed={"base": 0.0, "wrist": 0.3})


@pytest.fixture(scope="module")
def walker(tmp_path_factory):
    path = tmp_path_factory.mktemp("robots") / "walker.urdf"
    path.write_text(walker_file())
    return read_robot(path, floating=True)


def test_inverse_and_forward_dynamics_have_the_same_optimum(two_joints):
    problems = [reach(two_joints, OF_TWO, TO_TWO, duration=0.8, by=by) for by in BOTH]
    found = [solve(problem) for problem in problems]
    assert all(s.success for s in found)
    assert found[0].objective == pytest.approx(found[1].objective, rel=2e-6)


def test_tool_stays_clear_of_a_sphere_and_level(arm):
    centre, radius = (0.5, 0.1, 0.79), 0.1
    upright = {"shoulder": 0.5, "elbow": 1.0, "wrist": -1.5}
    problem = reach(
        arm,
        {"base": -0.5} | upright,
        {"base": 0.9} | upright,
        duration=1.2,
        avoid=[("tool", centre, radius)],
        level=("tool", "z", 0.3),
    )
    solution = solve(problem, tolerance=1e-4)
    assert solution.success
    tool = casadi.Function("tool", [arm.tree.q], [arm.pose("tool").o])
    times = np.linspace(0.0, 1.2, 200)
    gaps = [np.linalg.norm(np.array(tool(solution["q"](t))).ravel() - centre) for t in times]
    assert min(gaps) > radius * (1 - 1e-4)
    tilts = [abs(sum(solution["q"](t)[1:])) for t in times]
    assert max(tilts) < 0.3 * (1 + 1e-4)


def test_motion_of_a_robot_is_certified(two_joints):
    problem = reach(two_joints, OF_TWO, TO_TWO, duration=0.9)
    assert certify(solve(problem), problem).ok


def test_standing_robot_is_carried_by_its_weight_within_the_cones(walker):
    ocp = Problem("rise")
    ph = ocp.phase()
    ph.time(start=0, end=0.5)
    m = motion(ph, walker, start=STANDING, contacts=tuple(FEET), friction=0.5)
    ocp.require(ph.final(m.q[2]), equals=0.5)
    ocp.require(ph.final(m.v[:6]), equals=[0.0] * 6)
    ocp.minimize(ph.integral(m.effort))
    solution = solve(ocp)
    assert solution.success
    times = np.linspace(0.0, 0.5, 101)
    forces = np.array([solution["f"](t) for t in times]).reshape(-1, 3, 3)
    # Newton's law for the whole, at rest at both ends: the impulse is weight times duration.
    impulse = np.trapezoid(forces[:, :, 2].sum(axis=1), times)
    assert impulse == pytest.approx(walker.weight * 0.5, rel=1e-3)
    across = np.abs(forces[:, :, :2]).max(axis=2)
    assert np.all(across <= 0.5 / np.sqrt(2) * forces[:, :, 2] + 1e-5 * walker.weight)
    for foot, at in FEET.items():
        place = np.array(walker.place(foot, solution["q"](0.5))[1]).ravel()
        assert place == pytest.approx([*at, 0.0], abs=1e-5)


def test_floating_robot_falls_and_turns_freely(walker):
    """Without contacts the quaternion keeps its length."""
    ocp = Problem("fall")
    ph = ocp.phase()
    ph.time(start=0, end=0.4)
    start = [0, 0, 2, *STANDING[3:]]
    m = motion(ph, walker, start=start, at_rest=False)
    ocp.require(ph.initial(m.v), equals=[0.1, 0, 0, 0.3, 2.0, -1.0, *([0] * 9)])
    ocp.minimize(ph.integral(m.effort))
    solution = solve(ocp)
    assert solution.success
    q = np.array([solution["q"](t) for t in np.linspace(0, 0.4, 20)])
    assert np.linalg.norm(q[:, 3:7], axis=1) == pytest.approx(np.ones(20), abs=1e-8)


def test_least_time_without_limits_of_acceleration_is_refused(arm):
    light = arm.with_limits({"wrist": {"effort": 500.0}})
    with pytest.raises(UsageError, match=r"(?s)needs limits of acceleration.*'wrist'"):
        reach(light, START, END, cost="time")
    assert reach(arm.with_limits(rotor=0.5), START, END, cost="time")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"start": (0, 0, 0)}, "3 numbers"),
        ({"start": {"elbo": 1.0}}, "did you mean 'elbow'"),
        ({"end": (0, 3.0, 0, 0)}, "'shoulder' is outside its limits"),
        ({"end": START}, "the start is the end"),
        ({"cost": "energy"}, "'effort' or 'time'"),
        ({"by": "both"}, "'inverse' or 'forward'"),
        ({"avoid": [("tol", (0, 0, 0), 0.1)]}, "did you mean 'tool'"),
        ({"level": ("tool", "w", 0.1)}, "its axis x, y or z"),
    ],
)
def test_wrong_arguments_are_rejected_in_the_robots_names(arm, arguments, words):
    with pytest.raises((UsageError, ModelError), match=words):
        reach(arm, **({"start": START, "end": END} | arguments))


def test_force_of_a_contact_has_its_name(walker):
    ocp = Problem("stand")
    ph = ocp.phase()
    ph.time(start=0, end=free(0.1, 1))
    m = motion(ph, walker, contacts=tuple(FEET))
    assert m.force("b").shape == (3, 1)
    with pytest.raises(UsageError, match="no contact"):
        m.force("body")
