"""Read robots from MJCF files, through MuJoCo's own compiler (``pip install
trajopt-mechanics[robots]``): defaults, includes, and inertia of shapes and meshes.

Bodies and sites of the file are links of the tree. Positions and velocities have MuJoCo's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.errors import FileError, ModelError, UsageError, suggest, warn
from trajopt.mechanics.chains import GROUND, Link, Tree
from trajopt.mechanics.joints import (
    Ball,
    FreeJoint,
    Mimic,
    Placement,
    Quaternion,
    Slide,
    Step,
    Turn,
)
from trajopt.mechanics.lagrange import Coordinate
from trajopt.mechanics.robot import INF, JointLimits, Robot, Visual
from trajopt.mechanics.robot_files import from_quaternion, with_right_angles

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
SPHERE, CAPSULE, CYLINDER, BOX = 2, 3, 5, 6  # mjtGeom
AT_JOINT = (0, 1)  # mjtTrn: in the axes of the body or of its parent


@dataclass(eq=False)
class _MjcfReading:
    """A compiled model of MuJoCo, and what is made of it."""

    model: Any
    mujoco: Any
    fixed: Mapping[str, float]
    limits: dict[str, JointLimits] = field(default_factory=dict)
    visuals: list[Visual] = field(default_factory=list)

    def name(self, kind: str, index: int) -> str:
        found = self.mujoco.mj_id2name(self.model, getattr(self.mujoco.mjtObj, kind), index)
        return found or f"{kind.removeprefix('mjOBJ_').lower()}{index}"

    def rotation(self, quaternion: Any) -> np.ndarray:
        return with_right_angles(from_quaternion(quaternion))


def read_mjcf(path: Path, fixed: Mapping[str, float]) -> Robot:
    """Read an MJCF file; see ``trajopt.mechanics.read_robot``."""
    try:
        import mujoco
    except ImportError as error:
        raise UsageError(
            f"'{path}' is an MJCF file, which MuJoCo's compiler reads",
            hint="pip install 'trajopt-mechanics[robots]'",
        ) from error
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise FileError(f"MuJoCo does not read '{path}'", got=str(error)) from error
    return from_model(model, mujoco, path.stem, fixed)


def from_model(model: Any, mujoco: Any, name: str, fixed: Mapping[str, float]) -> Robot:
    """Convert a compiled model of MuJoCo to a robot."""
    reading = _MjcfReading(model, mujoco, fixed)
    joints = [reading.name("mjOBJ_JOINT", j) for j in range(model.njnt)]
    for joint in fixed:
        if joint not in joints:
            raise ModelError(
                f"'{name}' has no joint '{joint}'",
                expected=", ".join(joints),
                hint=suggest(joint, joints),
            )
    _warn_of_the_rest(model, name)
    links = [_body(reading, b) for b in range(1, model.nbody)]
    links += [_site(reading, s) for s in range(model.nsite)]
    for geom in range(model.ngeom):
        _add_visual(reading, geom)
    no_gravity = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    gravity = (0.0, 0.0, 0.0) if no_gravity else tuple(float(g) for g in model.opt.gravity)
    tree = Tree(name, tuple(links), gravity=gravity)
    return Robot(name, tree, reading.limits, tuple(reading.visuals))


def _warn_of_the_rest(model: Any, name: str) -> None:
    left = {"equality constraints": model.neq, "tendons": model.ntendon}
    found = [f"{count} {what}" for what, count in left.items() if count]
    if found:
        warn(
            f"'{name}': only bodies, joints and motors of the file are read",
            got=", ".join(found),
            hint="state loops and couplings as constraints of the motion",
        )


def _body_name(reading: _MjcfReading, body: int) -> str:
    return GROUND if body == 0 else reading.name("mjOBJ_BODY", body)


def _body(reading: _MjcfReading, body: int) -> Link:
    m = reading.model
    steps: list[Step] = [Placement(m.body_pos[body].copy(), reading.rotation(m.body_quat[body]))]
    first, count = m.body_jntadr[body], m.body_jntnum[body]
    for j in range(first, first + count):
        if m.jnt_type[j] == FREE:
            steps = [_free(reading, j, body)]  # its position is that in the world
        else:
            steps += _joint(reading, j)
    # The inertia is principal in axes of its own.
    R = from_quaternion(m.body_iquat[body])
    inertia = R @ np.diag(m.body_inertia[body]) @ R.T
    x, y, z = (float(c) for c in m.body_ipos[body])
    parent = _body_name(reading, int(m.body_parentid[body]))
    mass = float(m.body_mass[body])
    return Link(_body_name(reading, body), parent, tuple(steps), mass, (x, y, z), inertia)


def _free(reading: _MjcfReading, j: int, body: int) -> FreeJoint:
    m, name = reading.model, reading.name("mjOBJ_JOINT", j)
    x, y, z = (float(c) for c in m.body_pos[body])
    w, a, b, c = (float(c) for c in m.body_quat[body])
    free = FreeJoint(name, (x, y, z), (w, a, b, c))
    for coordinate in free.coordinates:
        reading.limits[coordinate.name] = _limits(reading, j, effort=0.0)
    return free


def _joint(reading: _MjcfReading, j: int) -> list[Step]:
    """Return the steps of a joint about its anchor."""
    m, name, kind = reading.model, reading.name("mjOBJ_JOINT", j), reading.model.jnt_type[j]
    anchor = m.jnt_pos[j].copy()
    before, after = Placement(anchor), Placement(-anchor)
    if kind == BALL:
        reading.limits[name] = _limits(reading, j, _effort(reading, j))
        return [before, Ball(Quaternion(name)), after]
    zero = float(m.qpos0[m.jnt_qposadr[j]])  # the position in which the file draws the joint
    x, y, z = (float(c) for c in m.jnt_axis[j])
    if name in reading.fixed:
        by: Any = float(reading.fixed[name]) - zero
    else:
        coordinate = Coordinate(name, zero, unit="m" if kind == SLIDE else "rad")
        reading.limits[name] = _limits(reading, j, _effort(reading, j))
        by = Mimic(coordinate, 1.0, -zero) if zero else coordinate
    step: Step = Slide((x, y, z), by) if kind == SLIDE else Turn((x, y, z), by)
    return [before, step, after]


def _limits(reading: _MjcfReading, j: int, effort: float) -> JointLimits:
    m, dof = reading.model, reading.model.jnt_dofadr[j]
    ends = {}
    if m.jnt_limited[j] and m.jnt_type[j] in (SLIDE, HINGE):
        ends = {"lower": float(m.jnt_range[j, 0]), "upper": float(m.jnt_range[j, 1])}
    return JointLimits(
        **ends,
        effort=effort,
        rotor=float(m.dof_armature[dof]),
        damping=float(np.ravel(m.dof_damping[dof])[0]),
        friction=float(m.dof_frictionloss[dof]),
        stiffness=float(np.ravel(m.jnt_stiffness[j])[0]),
        rest=float(m.qpos_spring[m.jnt_qposadr[j]]),
    )


def _effort(reading: _MjcfReading, j: int) -> float:
    """Return the greatest torque of a joint: 0 where only other joints have motors, infinity where
    nothing is said.
    """
    m = reading.model
    if m.nu == 0:
        return INF
    total, motors = 0.0, 0
    for i in range(m.nu):
        if m.actuator_trntype[i] not in AT_JOINT:
            return INF  # a tendon or a site may move any joint
        if m.actuator_trnid[i, 0] == j:
            total, motors = total + _motor(m, i), motors + 1
    return total if motors else 0.0


def _motor(m: Any, i: int) -> float:
    gear = abs(float(m.actuator_gear[i, 0]))
    if m.actuator_forcelimited[i]:
        return float(np.abs(m.actuator_forcerange[i]).max()) * gear
    plain = m.actuator_biastype[i] == 0  # a torque in proportion to the control
    if m.actuator_ctrllimited[i] and plain:
        gain = abs(float(m.actuator_gainprm[i, 0]))
        return float(np.abs(m.actuator_ctrlrange[i]).max()) * gain * gear
    return INF


def _site(reading: _MjcfReading, site: int) -> Link:
    m = reading.model
    placed = Placement(m.site_pos[site].copy(), reading.rotation(m.site_quat[site]))
    name, parent = reading.name("mjOBJ_SITE", site), _body_name(reading, int(m.site_bodyid[site]))
    bodies = {_body_name(reading, b) for b in range(m.nbody)}
    return Link(f"{name} (site)" if name in bodies else name, parent, (placed,))


def _add_visual(reading: _MjcfReading, geom: int) -> None:
    m = reading.model
    body, size = int(m.geom_bodyid[geom]), [float(s) for s in m.geom_size[geom]]
    shapes: dict[int, tuple[str, tuple[float, ...]]] = {
        SPHERE: ("sphere", (size[0],)),
        CAPSULE: ("cylinder", (size[0], 2.0 * size[1])),
        CYLINDER: ("cylinder", (size[0], 2.0 * size[1])),
        BOX: ("box", (2.0 * size[0], 2.0 * size[1], 2.0 * size[2])),
    }
    if body > 0 and int(m.geom_type[geom]) in shapes:
        shape, lengths = shapes[int(m.geom_type[geom])]
        placed = m.geom_pos[geom].copy(), from_quaternion(m.geom_quat[geom])
        reading.visuals.append(Visual(_body_name(reading, body), shape, lengths, *placed))
