# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 12. A robot from its file
#
# From a URDF file to a certified motion: an arm carries a load of 1 kg from one side to the other
# in one second with the least effort, around a sphere. Then the same answer by shooting, the
# derivatives of the effort by postures and limits, and the motion from a measured posture within
# milliseconds. The steps are the same for any URDF or MJCF file (`read_robot("ur5.urdf")`).
#
# **References.** R. Featherstone, *Rigid Body Dynamics Algorithms*, Springer 2008. M. Gautier and
# W. Khalil, IEEE Transactions on Robotics and Automation 6 (1990) 368-373.

# %%
import matplotlib.pyplot as plt
import numpy as np

from problems.robots import ARM
from trajopt import Problem, certify, prepare, solve
from trajopt.mechanics import read_robot
from trajopt.robots import motion, reach
from trajopt.show.animate import stills
from trajopt.show.robot_drawing import draw_robot

# %matplotlib inline
plt.style.use("look.mplstyle")

# %% [markdown]
# ## The robot
#
# `ARM` is the path of a file with four joints. The load is a body at the frame `tool`; the wrist is
# held at 0.3 rad. Limits of position, speed and torque come from the file.

# %%
robot = read_robot(ARM, payload=("tool", 1.0, (0, 0, 0)), fixed={"wrist": 0.3})
for joint, limit in robot.limits.items():
    print(f"{joint:9s} {limit.lower:5.1f} to {limit.upper:3.1f} rad,", end=" ")
    print(f"{limit.speed} rad/s, {limit.effort} N m, damping {limit.damping} N m s")

# %% [markdown]
# Torques follow from positions, velocities and accelerations by recursive Newton-Euler, in the axes
# of the joints and with regrouped inertial constants. Holding the arm stretched out takes more
# than half of the 40 N m of the shoulder.

# %%
inverse = robot.inverse()
stretched = [0.0, np.pi / 2, 0.0]
print("torques at rest:", robot.torques(stretched, [0, 0, 0], [0, 0, 0]))
print(inverse.n_instructions(), "instructions;", robot.forward().n_instructions(), "for forward")

# %% [markdown]
# ## The task
#
# `reach` states the problem: states $q$ and $v$, the accelerations as controls, the torques as path
# constraints, and the effort $\int \sum_i (\tau_i / \tau_{i,\max})^2 \, dt$ as the cost.

# %%
start = {"base": -1.0, "shoulder": 0.9, "elbow": 0.8}
end = {"base": 1.0, "shoulder": 0.6, "elbow": 1.2}
centre, radius = (0.3, 0.0, 0.15), 0.12
problem = reach(robot, start, end, duration=1.0, avoid=[("tool", centre, radius)])
solution = solve(problem)
solution

# %%
stills(solution, draw_robot(robot, tip="tool", spheres=[(centre, radius)]), count=4)

# %% [markdown]
# The elbow folds, since the arm turns with less effort close to its axis, and the tool passes the
# sphere. The torques as parts of their limits, the speed of the base, which reaches its limit, and
# the distance of the tool from the centre of the sphere:

# %%
times = np.linspace(0.0, 1.0, 301)
q, v, a = (np.array([solution[name](t) for t in times]) for name in ("q", "v", "a"))
torques = np.array([np.array(robot.torques(*x)).ravel() for x in zip(q, v, a, strict=True)])
tips = np.array([np.array(robot.place("tool", x)[1]).ravel() for x in q])

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
for name, values in zip(robot.joints, (torques / robot.column("effort")).T, strict=True):
    left.plot(times, values, label=name)
left.set(title="torques / limits", xlabel="t [s]")
left.legend()
middle.plot(times, v[:, 0])
middle.axhline(robot.limits["base"].speed, color="0.6", ls="--")
middle.set(title="speed of the base [rad/s]", xlabel="t [s]")
right.plot(times, np.linalg.norm(tips - centre, axis=1))
right.axhline(radius, color="0.6", ls="--")
_ = right.set(title="tool to the centre of the sphere [m]", xlabel="t [s]")

# %% [markdown]
# ## The certificate
#
# Everything is computed again from the statement, by code that no method uses: a minimum among all
# motions near it.

# %%
certificate = certify(solution, problem)
print("\n".join(str(certificate).splitlines()[:3]))

# %% [markdown]
# Multiple shooting on Pontryagin's conditions gives the same answer with twelve digits.

# %%
both = solve(problem, "both")
print(f"{solution.objective:.10f} by collocation, {both.objective:.10f} by both")

# %% [markdown]
# ## What the effort depends on
#
# Derivatives of the effort by everything that is given. A longer time saves most; the limit of
# speed of the base costs more than the sphere.

# %%
for one in solution.sensitivities()[:8]:
    print(f"{one.name:28s} {one.objective:8.4f}")

# %% [markdown]
# ## From a measured posture
#
# A prepared problem is solved again from its last answer on the same mesh. `fixed=True` takes only
# steps of Newton's method, which is fast enough to replan while the robot moves.

# %%
prepared = prepare(problem)
prepared.solve()
measured = prepared.solve(initial={"q": [-0.95, 0.88, 0.82]}, fixed=True)
print(f"{measured.objective:.6f}; {measured.log}")

# %% [markdown]
# ## A task of one's own
#
# `motion` states a robot in a phase of any problem. Here the tool ends at a point with a speed
# of 1 m/s upwards.

# %%
ocp = Problem("toss")
ph = ocp.phase()
ph.time(start=0, end=0.8)
m = motion(ph, robot, start=start)
ocp.require(ph.final(m.point("tool")), equals=[0.4, 0.1, 0.5], name="place")
ocp.require(ph.final(m.velocity("tool")), equals=[0.0, 0.0, 1.0], name="speed")
ocp.minimize(ph.integral(m.effort))
toss = solve(ocp).check()
print(toss, robot.velocity("tool", toss["q"](0.8), toss["v"](0.8)))
stills(toss, draw_robot(robot, tip="tool"), count=4)
