"""Robots from URDF and MJCF files: the model, its limits, and errors in the file's names."""

import casadi
import numpy as np
import pytest

from problems.robots import ARM
from trajopt.errors import FileError, ModelError, TrajoptWarning, UsageError
from trajopt.mechanics import read_robot

NO_FORCES = casadi.DM(0, 1)

PLANAR = """<robot name="planar">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia iyy="0.1" izz="0.2"/></inertial></link>
  <link name="slider"><inertial><mass value="1"/></inertial></link>
  <link name="finger"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/></inertial></link>
  <link name="tip"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 -2 0"/><limit effort="10" velocity="3"/></joint>
  <joint name="rail" type="prismatic"><parent link="upper"/><child link="slider"/>
    <origin xyz="1 0 0" rpy="0 0 1.57079632679"/><axis xyz="0 1 0"/>
    <limit lower="-0.2" upper="0.2"/><dynamics damping="0.5"/></joint>
  <joint name="follow" type="revolute"><parent link="slider"/><child link="finger"/>
    <mimic joint="turn" multiplier="-2" offset="0.1"/></joint>
  <joint name="mount" type="fixed"><parent link="finger"/><child link="tip"/>
    <origin xyz="0.2 0 0"/></joint>
</robot>"""


def written(tmp_path, text, name="robot.urdf"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_urdf_has_the_equations_of_its_bodies_by_hand(tmp_path):
    robot = read_robot(written(tmp_path, PLANAR), gravity=(0, 0, -10))
    assert robot.joints == ("turn", "rail")
    assert robot.links == ("base", "upper", "slider", "finger", "tip")
    # At rest with the bar level: 2 kg at 0.5 m, 1 kg at 1 m, 0.5 kg of the finger, which turns
    # about the x axis of the slider by 0.1 rad from the horizontal plane and carries its mass
    # along the x axis, towards +y of the bar.
    tip = robot.place("tip", [0.0, 0.0])[1]
    assert np.array(tip).ravel() == pytest.approx([1.0, 0.2, 0.0], abs=1e-10)
    tau = np.array(robot.torques([0, 0], [0, 0], [0, 0])).ravel()
    assert tau == pytest.approx([10 * (2 * 0.5 + 1.0 + 0.5), 0.0], abs=1e-8)
    # The rail moves along -x of the bar; its motor overcomes the damping.
    moved = np.array(robot.torques([0, 0.1], [0, 2.0], [0, 0])).ravel()
    assert moved == pytest.approx([10 * (2 * 0.5 + 1.5 * 0.9), 0.5 * 2.0], abs=1e-8)


def test_limits_and_losses_are_those_of_the_file(tmp_path):
    robot = read_robot(written(tmp_path, PLANAR))
    assert robot.column("effort").tolist() == [10.0, np.inf]
    assert robot.column("speed").tolist() == [3.0, np.inf]
    assert robot.column("lower").tolist() == [-np.inf, -0.2]
    assert robot.column("damping").tolist() == [0.0, 0.5]


@pytest.mark.parametrize("floating", [False, True])
def test_forward_dynamics_undo_inverse_dynamics(tmp_path, floating):
    for path in (ARM, written(tmp_path, PLANAR)):
        robot = read_robot(path, floating=floating).with_limits(rotor=0.1)
        rng = np.random.default_rng(1)
        q = rng.uniform(-1, 1, robot.positions)
        v, a = rng.uniform(-1, 1, (2, robot.velocities))
        tau = robot.torques(q, v, a)
        back = np.array(robot.forward()(q, v, tau, NO_FORCES)).ravel()
        assert back == pytest.approx(a, abs=1e-10)


def test_contact_forces_carry_a_floating_robot(tmp_path):
    """A force of its weight at the mass centre holds a free body."""
    path = written(
        tmp_path,
        '<robot name="brick"><link name="brick"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>',
    )
    robot = read_robot(path, floating=True)
    assert robot.weight == pytest.approx(2 * 9.81)
    q = [0.3, 0.2, 0.1, 0.6, 0.0, 0.8, 0.0]
    tau = robot.inverse(["brick"])(q, np.zeros(6), np.zeros(6), [0, 0, robot.weight])
    assert np.array(tau).ravel() == pytest.approx(np.zeros(6), abs=1e-12)


def test_payload_and_fixed_joints():
    common = {"fixed": {"wrist": 0.5}, "gravity": (0, 0, -10)}
    robot = read_robot(ARM, payload=("tool", 2.0, (0, 0, 0.1)), **common)
    assert robot.joints == ("base", "shoulder", "elbow")
    bare = read_robot(ARM, **common)
    q, zero = [0.3, 1.0, 0.4], [0.0, 0.0, 0.0]
    load = robot.torques(q, zero, zero) - bare.torques(q, zero, zero)
    pose = robot.pose("payload")
    height = (pose.o + pose.R @ [0, 0, 0.1])[2]
    slope = casadi.Function("slope", [robot.tree.q], [casadi.gradient(height, robot.tree.q)])
    assert np.array(load).ravel() == pytest.approx(20 * np.array(slope(q)).ravel(), abs=1e-12)


def test_limits_from_tables(tmp_path):
    toml = written(tmp_path, 'acceleration = 10\n[elbow]\nacceleration = "5 rad/s^2"\n', "a.toml")
    robot = read_robot(ARM, limits=toml)
    assert robot.limits["base"].acceleration == 10.0
    assert robot.limits["elbow"].acceleration == 5.0
    yaml = written(
        tmp_path,
        "joint_limits:\n  elbow:  # of the arm\n    has_acceleration_limits: true\n"
        "    max_acceleration: 12.5\n    has_velocity_limits: false\n    max_velocity: 1.0\n",
        "joint_limits.yaml",
    )
    robot = read_robot(ARM, limits=yaml)
    assert robot.limits["elbow"].acceleration == 12.5
    assert robot.limits["elbow"].speed == 3.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a robot file"),
        ("<sdf/>", "is not a robot file"),
        ("<robot name='a'/>", "no links"),
        ("<robot><link name='a'/><link name='a'/></robot>", "without a name of its own"),
        ("<robot><link name='a'/><link name='b'/></robot>", "2 links without a parent: a, b"),
        (
            "<robot><link name='a'/><joint name='j' type='fixed'><parent link='a'/>"
            "<child link='c'/></joint></robot>",
            "the child of joint 'j' does not exist",
        ),
        (PLANAR.replace('type="continuous"', 'type="planar"'), "'turn' has a type"),
        (PLANAR.replace('joint="turn" m', 'joint="turm" m'), "did you mean 'turn'"),
        (PLANAR.replace('xyz="0 -2 0"', 'xyz="0 0 0"'), "joint 'turn' has no axis"),
        (PLANAR.replace('xyz="1 0 0"', 'xyz="1 0"'), "'xyz' is not 3 numbers"),
        (PLANAR.replace('<mass value="2"', '<mass value="-2"'), "'upper' has a negative mass"),
    ],
)
def test_wrong_files_are_rejected_in_their_names(tmp_path, text, words):
    with pytest.raises((FileError, ModelError), match=words):
        read_robot(written(tmp_path, text))


def test_wrong_arguments_are_rejected_in_the_files_names(tmp_path):
    with pytest.raises(FileError, match="cannot read"):
        read_robot(tmp_path / "none.urdf")
    with pytest.raises(ModelError, match="did you mean 'elbow'"):
        read_robot(ARM, fixed={"elbo": 0})
    with pytest.raises(ModelError, match="did you mean 'tool'"):
        read_robot(ARM, payload=("tol", 1.0, (0, 0, 0)))
    with pytest.raises(UsageError, match="did you mean 'acceleration'"):
        read_robot(ARM, limits={"elbow": {"aceleration": 3}})
    with pytest.raises(ModelError, match="no joint 'elbou'"):
        read_robot(ARM, limits={"elbou": {"acceleration": 3}})


def test_impossible_inertia_is_a_warning(tmp_path):
    path = written(tmp_path, PLANAR.replace('iyy="0.1"', 'iyy="-0.1"'))
    with pytest.warns(TrajoptWarning, match="inertia of link 'upper'"):
        read_robot(path)


MJCF = """<mujoco model="crane">
  <option gravity="0 0 -10"/>
  <worldbody>
    <body name="trolley" pos="0 0 2">
      <joint name="rail" type="slide" axis="1 0 0" ref="0.3" armature="0.2" damping="1"/>
      <geom type="box" size="0.1 0.1 0.1" mass="3"/>
      <body name="hook" pos="0 0 -0.2" quat="1 0.2 0 0">
        <joint name="swing" axis="0 1 1" pos="0 0 0.2" range="-90 90" limited="true"/>
        <joint name="ball" type="ball" pos="0.1 0 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05" mass="1"/>
        <site name="end" pos="0 0 -0.5"/>
      </body>
    </body>
    <body name="flying" pos="1 0 0"><freejoint name="free"/>
      <geom type="box" size="0.1 0.2 0.3" mass="2" pos="0.1 0 0"/></body>
  </worldbody>
  <actuator><motor joint="rail" gear="5" ctrlrange="-2 2" ctrllimited="true"/></actuator>
</mujoco>"""


def test_mjcf_agrees_with_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = written(tmp_path, MJCF, "crane.xml")
    robot, model = read_robot(path), mujoco.MjModel.from_xml_path(str(path))
    assert robot.joints == (
        "rail",
        "swing",
        "ball",
        "free.x",
        "free.y",
        "free.z",
        "free.quaternion",
    )
    assert (robot.positions, robot.velocities) == (model.nq, model.nv)
    assert robot.start == pytest.approx(model.qpos0)
    assert robot.limits["rail"].effort == 10.0
    assert robot.limits["swing"].effort == 0.0
    assert robot.limits["swing"].upper == pytest.approx(np.pi / 2)
    rng, data = np.random.default_rng(2), mujoco.MjData(model)
    data.qpos[:] = rng.uniform(-1, 1, model.nq)
    mujoco.mj_normalizeQuat(model, data.qpos)
    data.qvel[:] = rng.uniform(-1, 1, model.nv)
    mujoco.mj_forward(model, data)
    data.qacc[:] = rng.uniform(-1, 1, model.nv)
    tau = np.zeros(model.nv)
    mujoco.mj_rne(model, data, 1, tau)
    tau += model.dof_armature * data.qacc + model.dof_damping.ravel() * data.qvel
    own = robot.torques(data.qpos, data.qvel, data.qacc)
    assert np.array(own).ravel() == pytest.approx(tau, abs=1e-11)
    end = robot.place("end", data.qpos)[1]
    assert np.array(end).ravel() == pytest.approx(data.site_xpos[0], abs=1e-12)


# Torques of this arm at these states by pinocchio 4.1 (tests/benchmarks/robots.py compares more).
PINOCCHIO = [0.228626853, 4.27626991, -0.64870728, -0.0775731588]


def test_urdf_agrees_with_pinocchio():
    robot = read_robot(ARM).with_limits({j: {"damping": 0.0} for j in read_robot(ARM).joints})
    tau = robot.torques([0.3, -0.5, 0.7, 0.2], [0.5, -1.0, 0.3, 0.8], [1.0, 0.5, -2.0, 0.3])
    assert np.array(tau).ravel() == pytest.approx(PINOCCHIO, rel=1e-7)
