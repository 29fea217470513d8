"""Tasks of known robots: processor time of solve and certify, status and claim.

    pip download --no-deps example-robot-data          # a wheel of data, to unpack
    python -m tests.benchmarks.robot_tasks FOLDER [TASK ...]

FOLDER is ``example-robot-data/robots``. Starts, ends and loads are below; the limits of
acceleration of the Panda are those of its maker.
"""

import sys
import time
from pathlib import Path

import numpy as np

from trajopt import Problem, certify, free, solve
from trajopt.errors import UsageError
from trajopt.mechanics import read_robot
from trajopt.robots import motion, reach

UR5 = {
    "start": (-1.0, -1.8, 1.8, -1.5, -1.57, 0.0),
    "end": (1.0, -1.0, 1.2, -1.0, -1.2, 1.0),
}
PANDA = {
    "start": (-1.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.785),
    "end": (1.0, 0.4, 0.2, -1.6, 0.3, 2.2, 0.0),
}
FRANKA = (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0)  # rad/s^2
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
LEGS = [0.0, 0.8, -1.6] * 2 + [0.0, -0.8, 1.6] * 2


def ur5(folder, load):
    payload = ("tool0", load, (0, 0, 0)) if load else None
    return read_robot(folder / "ur_description/urdf/ur5_robot.urdf", payload=payload)


def panda(folder, limited):
    fingers = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
    payload = ("panda_hand_tcp", 2.0, (0, 0, 0))
    robot = read_robot(folder / "panda_description/urdf/panda.urdf", payload=payload, fixed=fingers)
    if not limited:
        return robot
    table = {
        name: {"acceleration": limit} for name, limit in zip(robot.joints, FRANKA, strict=True)
    }
    return robot.with_limits(table)


def solo(folder, hop):
    """Solo12 on four feet: it stands up by 8 cm in 0.5 s, or hops to 8 cm above its stance."""
    path = folder / "solo_description/robots/solo12.urdf"
    robot = read_robot(path, floating=True)
    legs = [name for name in robot.joints if not name.startswith("base")]
    limits = {"effort": 2.5, "lower": -3.0, "upper": 3.0, "speed": 40.0}
    robot = robot.with_limits(dict.fromkeys(legs, limits))
    height = -float(robot.place(FEET[0], [0, 0, 0, 1, 0, 0, 0, *LEGS])[1][2])
    start = np.array([0, 0, height, 1, 0, 0, 0, *LEGS])
    ocp = Problem("solo12-hop" if hop else "solo12-rise")
    stance = ocp.phase("stance")
    stance.time(start=0, end=free(0.1, 1.0) if hop else 0.5)
    m = motion(stance, robot, start=start, contacts=FEET)
    cost = stance.integral(m.effort)
    if hop:
        flight = ocp.phase("flight")
        flight.time(end=free(0.15, 2.0))
        m = motion(flight, robot, guess=start)
        ocp.connect(stance, flight)
        cost += flight.integral(m.effort)
        ocp.require(flight.final(m.q[2]), equals=start[2] + 0.08)
        ocp.require(flight.final(m.v[2]), equals=0.0)
        ocp.require(flight.final(m.q[7:]), equals=start[7:])
    else:
        ocp.require(stance.final(m.q[2]), equals=start[2] + 0.08)
        ocp.require(stance.final(m.v[:6]), equals=[0.0] * 6)
    ocp.minimize(cost)
    return ocp


def sphere(folder):
    avoid = [("tool0", (-0.05, 0.132, 0.001), 0.15)]
    return reach(ur5(folder, 3.0), **UR5, duration=1.5, avoid=avoid)


# Task: problem of a folder, method, the processor time that it should need (s).
TASKS = {
    "ur5 time": (lambda f: reach(ur5(f, 3.0), **UR5, cost="time", acceleration=15.0), None, 5),
    "panda time": (lambda f: reach(panda(f, True), **PANDA, cost="time"), None, 5),
    "ur5 effort": (lambda f: reach(ur5(f, 3.0), **UR5, duration=1.5), None, 5),
    "ur5 sphere": (sphere, None, 10),
    "panda effort": (lambda f: reach(panda(f, False), **PANDA, duration=1.5), None, 30),
    "solo12 rise": (lambda f: solo(f, False), None, 10),
    "solo12 hop": (lambda f: solo(f, True), None, 40),
    "ur5 both": (lambda f: reach(ur5(f, 0.0), **UR5, duration=1.0), "both", 20),
    "ur5 time, no limits": (lambda f: reach(ur5(f, 3.0), **UR5, cost="time"), None, 5),
}


def run(folder, task):
    """Print one row."""
    build, method, wanted = TASKS[task]
    begun = time.process_time()
    try:
        problem = build(folder)
    except UsageError as error:
        spent = time.process_time() - begun
        print(f"{task:20s} {spent:5.1f} s (of {wanted}) refused: {error.what}", flush=True)
        return
    solution = solve(problem, method, time_limit=300.0)
    solved = time.process_time()
    certificate = certify(solution, problem)
    certified = time.process_time()
    print(
        f"{task:20s} {solved - begun:5.1f} s (of {wanted}) {solution.status.name:10s}"
        f" J {solution.objective:.10g}, error {solution.error:.0e};"
        f" {certified - solved:.1f} s {str(certificate).splitlines()[0].partition(': ')[2]}",
        flush=True,
    )


def main(folder, *tasks):
    for task in tasks or TASKS:
        run(Path(folder), task)


if __name__ == "__main__":
    main(*sys.argv[1:])
