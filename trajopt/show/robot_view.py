"""A page with the shapes and meshes of a robot in motion, by viser (``pip install
trajopt-mechanics[show3d]``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from trajopt.errors import UsageError, warn
from trajopt.mechanics import Robot, Visual
from trajopt.show.frames import frame_times, spans_of
from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]
GREY, BLUE = (150, 150, 155), (0, 114, 178)
FRAMES = 201


def show3d(
    solution: Solution,
    robot: Robot,
    tip: str | None = None,
    meshes: str | Path | None = None,
    port: int = 8080,
) -> Any:
    """Serve a page with the motion of a robot; return viser's server, which ``stop()`` ends.

    Parameters
    ----------
    solution : of a problem whose phases have the robot's positions as the state ``q``.
    tip : a link whose path is drawn.
    meshes : the folder that ``package://`` stands for in a URDF.
    port : of the page, http://localhost:8080.

    Examples
    --------
    server = show3d(solution, robot, tip="tool0", meshes="/opt/ros/share")
    server.sleep_forever()
    """
    try:
        import viser
    except ImportError as error:
        raise UsageError(
            "a page in three dimensions needs viser", hint="pip install 'trajopt-mechanics[show3d]'"
        ) from error
    times, placed = link_motion(solution, robot)
    server = viser.ViserServer(port=port)
    server.scene.set_up_direction("+z")
    server.scene.add_grid("/ground", width=4.0, height=4.0)
    frames = {name: server.scene.add_frame(f"/{name}", show_axes=False) for name in placed}
    for number, visual in enumerate(robot.visuals):
        _add_shape(server.scene, f"/{visual.link}/{number}", visual, meshes)
    if not robot.visuals:
        _add_skeleton(server.scene, robot)
    if tip is not None:
        path = placed[tip][:, :3]
        server.scene.add_spline_catmull_rom("/path", path, color=BLUE, thickness=0.004)
    end = len(times) - 1
    slider = server.gui.add_slider("frame", min=0, max=end, step=1, initial_value=0)
    clock = server.gui.add_text("time", initial_value="", disabled=True)

    def place(_: Any = None) -> None:
        k = int(slider.value)
        clock.value = f"{times[k]:.3f} s"
        with server.atomic():
            for name, poses in placed.items():
                frames[name].position, frames[name].wxyz = poses[k, :3], poses[k, 3:]

    slider.on_update(place)
    place()
    return server


def link_motion(
    solution: Solution, robot: Robot, count: int = FRAMES
) -> tuple[Array, Mapping[str, Array]]:
    """Return frame times (m,), and of each link the origin and the quaternion (w, x, y, z) at these
    times, (m, 7).
    """
    spans, _ = spans_of(solution)
    times = frame_times(spans, count)
    phases = zip(solution.phases.values(), times, strict=True)
    q = np.vstack([phase.states["q"].evaluate(t).reshape(len(t), -1) for phase, t in phases])
    poses = [robot.pose(name) for name in robot.links]
    columns = casadi.horzcat(*[casadi.vertcat(p.o, casadi.vec(p.R)) for p in poses])
    function = casadi.Function("poses", [robot.tree.q], [casadi.cse(columns)])
    found = np.array(function.map(len(q))(q.T)).reshape(12, len(q), len(poses))
    placed = {}
    for k, name in enumerate(robot.links):
        rotations = found[3:, :, k].T.reshape(-1, 3, 3).transpose(0, 2, 1)
        x, y, z, w = Rotation.from_matrix(rotations).as_quat().T
        placed[name] = np.column_stack([found[:3, :, k].T, w, x, y, z])
    return np.concatenate(times), placed


def _add_shape(scene: Any, name: str, visual: Visual, meshes: str | Path | None) -> None:
    x, y, z, w = Rotation.from_matrix(np.asarray(visual.rotation)).as_quat()
    at = {"position": tuple(np.asarray(visual.shift, float)), "wxyz": (w, x, y, z)}
    size = visual.size
    if visual.shape == "box":
        scene.add_box(name, color=GREY, dimensions=size, **at)
    elif visual.shape == "cylinder":
        scene.add_cylinder(name, radius=size[0], height=size[1], color=GREY, **at)
    elif visual.shape == "sphere":
        scene.add_icosphere(name, radius=size[0], color=GREY, **at)
    else:
        file = mesh_file(visual.shape, meshes)
        if file is None:
            warn(
                f"the mesh of link '{visual.link}' is not there",
                got=visual.shape,
                hint="show3d(..., meshes=the folder that package:// stands for)",
            )
            return
        import trimesh

        scene.add_mesh_trimesh(name, trimesh.load(file, force="mesh"), scale=size, **at)


def mesh_file(name: str, folder: str | Path | None) -> Path | None:
    """Return the file of a mesh; ``package://`` stands for the folder, with or without the name of
    the package behind it.
    """
    plain = name.removeprefix("package://").removeprefix("file://")
    places = [Path(plain)]
    if folder is not None:
        parts = Path(plain).parts
        places += [Path(folder, *parts[k:]) for k in range(len(parts))]
    return next((place for place in places if place.is_file()), None)


def _add_skeleton(scene: Any, robot: Robot) -> None:
    """Add lines from joint to joint where a file has no shapes."""
    for link in robot.tree.links:
        for step in link.joint:
            shift = getattr(step, "shift", None)
            if (
                shift is not None
                and np.any(np.asarray(shift, float))
                and link.parent in robot.links
            ):
                ends = np.array([[[0.0, 0.0, 0.0], np.asarray(shift, float)]])
                scene.add_line_segments(f"/{link.parent}/to {link.name}", ends, GREY)
