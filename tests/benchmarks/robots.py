"""Robot files against pinocchio and MuJoCo.

    pip install pin example-robot-data mujoco gymnasium dm_control
    pip install --no-deps gymnasium_robotics robosuite
    python -m tests.benchmarks.robots urdf            # every URDF of example-robot-data
    python -m tests.benchmarks.robots mjcf            # MJCF files of the other packages

Inverse dynamics, mass matrix, forward dynamics and frames at random states, relative to the largest
torque, entry or acceleration; forward dynamics by the torques that its accelerations need. MJCF
files whose meshes are not there are compared without them. Words behind the kind select files.
"""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import casadi
import numpy as np

from trajopt.errors import TrajoptError
from trajopt.mechanics import read_robot
from trajopt.mechanics.mjcf import from_model

AGREED, SAMPLES, LARGEST = 1e-9, 3, 80
GEOMETRY = ("mesh", "skin", "texture", "material", "hfield")
OPTIONAL = ("tendon", "actuator", "sensor", "contact", "equality", "keyframe")


class Compared:
    """The greatest difference of each quantity."""

    def __init__(self):
        self.worst = {}

    def add(self, name, difference, size):
        value = np.abs(difference).max(initial=0.0) / max(size, 1e-30)
        self.worst[name] = max(self.worst.get(name, 0.0), float(value))

    @property
    def ok(self):
        return max(self.worst.values()) < AGREED

    def __str__(self):
        return ", ".join(f"{name} {value:.0e}" for name, value in self.worst.items())


def largest(values):
    return float(np.abs(values).max(initial=0.0))


def functions(robot):
    """Torques, mass matrix, accelerations of the file's bodies and joints, without losses."""
    links = [link for link in robot.links if "(site)" not in link]
    origins = casadi.horzcat(*[robot.pose(link).o for link in links])
    frames = casadi.Function("frames", [robot.tree.q], [casadi.cse(origins)])
    return robot.inverse(), robot.mass_matrix, robot.forward(), frames, links


NO_FORCES = casadi.DM(0, 1)


def compare_urdf(path, rng):
    """Return the differences of a URDF file from pinocchio."""
    import pinocchio as pin

    robot = read_robot(path)
    robot = robot.with_limits({name: {"damping": 0.0} for name in robot.joints})
    mimics = any(
        j.find("mimic") is not None for j in ElementTree.parse(path).getroot().iter("joint")
    )
    model = pin.buildModelFromUrdf(str(path), mimic=mimics)
    found = Compared()
    if robot.velocities == 0:
        found.add("velocities", model.nv, 1.0)
        return found
    data, (torques, mass, forward, frames, links) = model.createData(), functions(robot)
    joints = [model.joints[model.getJointId(name)] for name in robot.joints]
    place = [joint.idx_v for joint in joints]
    for _ in range(SAMPLES):
        q, v, a = rng.uniform(-2, 2, (3, robot.velocities))
        own = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for joint, values in zip(joints, zip(q, v, a, strict=True), strict=True):
            turned = [np.cos(values[0]), np.sin(values[0])] if joint.nq == 2 else values[0]
            own[0][joint.idx_q : joint.idx_q + joint.nq] = turned
            own[1][joint.idx_v], own[2][joint.idx_v] = values[1:]
        tau = pin.rnea(model, data, *own)[place]
        M = np.triu(pin.crba(model, data, own[0]))
        M = (M + np.triu(M, 1).T)[np.ix_(place, place)]
        found.add("torques", np.array(torques(q, v, a, NO_FORCES)).ravel() - tau, largest(tau))
        found.add("mass", np.array(mass(q)) - M, largest(M))
        back = np.array(forward(q, v, tau, NO_FORCES)).ravel()
        found.add("accelerations", M @ (back - a), largest(tau))
        pin.framesForwardKinematics(model, data, own[0])
        for link, origin in zip(links, np.array(frames(q)).T, strict=True):
            if model.existFrame(link, pin.FrameType.BODY):
                frame = data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
                found.add("frames", frame.translation - origin, 1.0)
    return found


def compare_mjcf(path, rng):
    """Return the differences of an MJCF file from MuJoCo."""
    import mujoco

    model = compiled(path, mujoco)
    found = Compared()
    if not 0 < model.nv <= LARGEST:
        return None
    robot = from_model(model, mujoco, path.stem, {})
    quiet = {"damping": 0.0, "stiffness": 0.0}
    robot = robot.with_limits(dict.fromkeys(robot.joints, quiet))
    torques, mass, forward, frames, links = functions(robot)
    data = mujoco.MjData(model)
    for _ in range(SAMPLES):
        data.qpos[:] = rng.uniform(-1, 1, model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        data.qvel[:] = rng.uniform(-1, 1, model.nv)
        mujoco.mj_forward(model, data)
        data.qacc[:] = rng.uniform(-1, 1, model.nv)
        tau, M = np.zeros(model.nv), np.zeros((model.nv, model.nv))
        mujoco.mj_rne(model, data, 1, tau)
        tau += model.dof_armature * data.qacc
        mujoco.mj_fullM(model, data, M)
        q, v, a = data.qpos.copy(), data.qvel.copy(), data.qacc.copy()
        found.add("torques", np.array(torques(q, v, a, NO_FORCES)).ravel() - tau, largest(tau))
        found.add("mass", np.array(mass(q)) - M, largest(M))
        back = np.array(forward(q, v, tau, NO_FORCES)).ravel()
        found.add("accelerations", M @ (back - a), largest(tau))
        for link, origin in zip(links, np.array(frames(q)).T, strict=True):
            body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link)
            if body >= 0:
                found.add("frames", data.xpos[body] - origin, 1.0)
    return found


def compiled(path, mujoco):
    """Compile an MJCF file, without its meshes where these are not there."""
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        root = without_geometry(expanded(path, path.parent))
        for part in OPTIONAL:
            for element in root.findall(part):
                root.remove(element)
        return mujoco.MjModel.from_xml_string(ElementTree.tostring(root).decode())


def expanded(path, folder):
    """Return the root of a file with its includes in place."""

    def expand(element):
        children = []
        for child in element:
            if child.tag == "include":
                children += list(expanded(folder / child.get("file"), folder))
            else:
                children.append(expand(child))
        element[:] = children
        return element

    return expand(ElementTree.parse(path).getroot())


def without_geometry(element):
    for child in list(element):
        shaped = child.tag == "geom" and (child.get("mesh") or child.get("type") in GEOMETRY)
        if child.tag in GEOMETRY or shaped:
            element.remove(child)
        else:
            child.attrib.pop("material", None)
            without_geometry(child)
    return element


def urdf_files():
    roots = [Path(sys.prefix) / "lib", *map(Path, sys.path)]
    found = {
        p for root in roots if root.is_dir() for p in root.glob("**/example-robot-data/robots")
    }
    return sorted(path for folder in found for path in folder.rglob("*.urdf"))


def mjcf_files():
    """Return the models of the packages; their parts to include are no models."""
    found = []
    for package in ("gymnasium", "dm_control", "gymnasium_robotics", "robosuite"):
        spec = find_spec(package)
        for folder in spec.submodule_search_locations or () if spec else ():
            found += sorted(Path(folder).rglob("*.xml"))
    return [path for path in found if "<mujoco" in path.read_text().replace("<mujocoinclude", "")]


def main(kind, *words):
    rng, agreed, others, worst = np.random.default_rng(0), 0, 0, 0.0
    compare, paths = (
        (compare_urdf, urdf_files()) if kind == "urdf" else (compare_mjcf, mjcf_files())
    )
    for path in paths:
        if words and not any(word in str(path) for word in words):
            continue
        label = "/".join(path.parts[-2:])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = compare(path, rng)
        except (TrajoptError, ValueError, KeyError, ElementTree.ParseError, OSError) as error:
            others += 1
            reason = str(error).replace(str(path), path.name).splitlines()[0]
            print(f"{label:55s} not compared: {reason}", flush=True)
            continue
        if found is None or not found.worst:
            continue
        agreed, others = agreed + found.ok, others + (not found.ok)
        worst = max(worst, max(found.worst.values()) if found.ok else 0.0)
        print(f"{label:55s} {found}{'' if found.ok else '  DIFFERS'}", flush=True)
    print(
        f"{agreed} agree to {AGREED:.0e} (worst {worst:.1e}), {others} do not or are not compared"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
