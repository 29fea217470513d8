"""Pictures of robots: the drawing from the tree, and the page by viser."""

import numpy as np
import pytest

from problems.robots import ARM
from trajopt import solve
from trajopt.errors import ModelError
from trajopt.mechanics import read_robot
from trajopt.robots import reach
from trajopt.show.animate import stills
from trajopt.show.drawing import Rod, Trail
from trajopt.show.robot_drawing import draw_robot
from trajopt.show.robot_view import link_motion, mesh_file, show3d


@pytest.fixture(scope="module")
def moved():
    robot = read_robot(ARM, fixed={"wrist": 0.3, "base": 0.0})
    return robot, solve(reach(robot, (0.5, 0.5), (0.9, 0.2), duration=0.8), tolerance=1e-4)


def test_drawing_has_the_links_and_the_path_of_the_tool(moved, tmp_path):
    robot, solution = moved
    drawing = draw_robot(robot, tip="tool", spheres=[((0.3, 0.0, 0.2), 0.1)])
    # Five links away from their parents, three circles of the sphere.
    assert sum(isinstance(shape, Rod) for shape in drawing.shapes) == 5 + 3
    assert sum(isinstance(shape, Trail) for shape in drawing.shapes) == 1
    stills(solution, drawing, tmp_path / "arm.png", count=2)
    assert (tmp_path / "arm.png").stat().st_size > 2000
    with pytest.raises(ModelError, match="did you mean 'tool'"):
        draw_robot(robot, tip="tol")


def test_poses_of_the_links_are_those_of_the_robot(moved):
    robot, solution = moved
    times, placed = link_motion(solution, robot, count=11)
    R, o = robot.place("tool", solution["q"](times[4]))
    assert placed["tool"][4, :3] == pytest.approx(np.array(o).ravel(), abs=1e-12)
    w, x, y, z = placed["tool"][4, 3:]
    axis = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    assert np.array(R)[:, 2] == pytest.approx(axis, abs=1e-12)


def test_meshes_are_found_in_the_folder_of_the_packages(tmp_path):
    file = tmp_path / "meshes" / "base.stl"
    file.parent.mkdir()
    file.write_text("solid")
    assert mesh_file("package://arm_description/meshes/base.stl", tmp_path) == file
    assert mesh_file("package://arm_description/meshes/none.stl", tmp_path) is None


def test_page_has_a_frame_for_each_link(moved):
    pytest.importorskip("viser")
    robot, solution = moved
    server = show3d(solution, robot, tip="tool", port=0)
    try:
        assert server.get_port() > 0
    finally:
        server.stop()
