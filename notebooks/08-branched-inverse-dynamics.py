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
# # 8. Branched inverse dynamics
#
# Inverse dynamics computes the joint torques of a given motion. For a chain of links this is a
# textbook recursion. A. Yagi and D. Isobe consider an arm that *branches*, and propose a scheme
# that separates the topology of the mechanism, its posture and its accelerations:
#
# $$\tau = L\,T\,P$$
#
# P are forces from absolute accelerations, T rotates them into each link's axes, L contains
# lengths. A branch adds one block to L; P and T are unchanged.
#
# **Reference.** Yagi and Isobe, *Calculating inverse dynamics for multi-branch link systems by a
# parallel solution scheme* (in Japanese), figure 2: torque curves of a three-link arm by Lagrange's
# method (a) and by theirs (b). Links 0.4 m and 0.215 kg, masses of 0.5 kg at both tips, a turn of
# π/2 in 1 s in a horizontal plane. Profile, branch angles and inertias are not given there; taken
# here: a quintic, ±30°, uniform rods. The torques for these data were computed independently:
# (9.53498009, 2.44982565, 2.32559778) N m at 0.25 s, (−3.09795744, 0.81442733, 0.21822515) N m at
# 0.5 s.

# %%
import casadi
import matplotlib.pyplot as plt
import numpy as np

from problems.multibody.branched_arm import REFERENCE, START, arm, build, profile
from trajopt.integrate import simulate
from trajopt.mechanics import Coordinate, Slide, Tree, Turn, newton_euler, parallel, rod
from trajopt.show.animate import stills

# %matplotlib inline
plt.style.use("look.mplstyle")

# %% [markdown]
# ## The motion
#
# All three joints turn by π/2 with the same profile. The second and third angles are relative, so
# the outer links turn twice as far in space.

# %%
system = build()
motion = simulate(system)
stills(motion, system.drawing, count=4)

# %% [markdown]
# ## Three methods
#
# 1. **Lagrange**: kinetic energy, differentiated automatically, M(q) a + bias(q, v). Automatic
# differentiation handles
#   branched systems without additional work.
# 2. **Newton-Euler**: velocities and accelerations outwards, forces inwards; O(n).
# 3. **The parallel scheme** τ = L T P.
#
# They share only the description of the arm.

# %%
tree = arm()
mechanism = tree.mechanism()
time = casadi.SX.sym("t")
turned, rate, acceleration = (
    casadi.Function("f", [time], [e]) for e in profile(time, np.pi / 2, 1.0)
)
recursion = newton_euler(tree)
inertia = casadi.Function(
    "inertia", [mechanism.q, mechanism.v], [mechanism.equations.mass, mechanism.equations.bias]
)


def at(t):
    """Angles, rates and accelerations at a time."""
    return (
        np.array(START) + float(turned(t)),
        np.full(3, float(rate(t))),
        np.full(3, float(acceleration(t))),
    )


def lagrange(t):
    q, v, a = at(t)
    M, bias = inertia(q, v)
    return np.array(M @ a + bias).ravel()


t = np.linspace(0, 1, 201)
torques = {
    "Lagrange": np.array([lagrange(s) for s in t]),
    "Newton-Euler": np.array([np.array(recursion(*at(s), s)).ravel() for s in t]),
    "parallel scheme": np.array([parallel(tree, *at(s)).torques for s in t]),
}

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True)
for axes, name in ((left, "Lagrange"), (right, "parallel scheme")):
    axes.plot(t, torques[name], label=["joint 1", "joint 2", "joint 3"])
    axes.set(xlabel="t [s]", title=f"{name} (figure 2{'a' if name == 'Lagrange' else 'b'})")
for instant, known in REFERENCE.items():
    left.plot([instant] * 3, known, "k+", markersize=9)
left.set_ylabel("torque [N m]")
left.legend()
plt.show()

# %%
apart = {
    name: np.max(np.abs(torques[name] - torques["Lagrange"]))
    for name in ("Newton-Euler", "parallel scheme")
}
print(
    ", ".join(
        f"{name} differs from Lagrange by at most {value:.0e} N m" for name, value in apart.items()
    )
)
for instant, known in REFERENCE.items():
    ours = parallel(tree, *at(instant)).torques
    print(f"t = {instant} s: {np.array2string(ours, precision=8)} N m, known {known}")
    assert np.allclose(ours, known, atol=1e-8)
assert max(apart.values()) < 1e-13

# %% [markdown]
# ## Discussion
#
# Joint 1 carries the whole arm: its torque is first positive, then negative. Joints 2 and 3 differ
# although the branches are symmetric, and the torque of joint 2 is still positive at half time,
# when all accelerations are zero. The cause is the centrifugal force of the rotating first link,
# which acts outwards on both. At half time link 2 is at 75° to link 1 and needs a torque; link 3,
# at 15°, is nearly aligned with the force.

# %%
still = {
    name: np.array([lagrange_part(s) for s in t])
    for name, lagrange_part in (
        ("inertia, M a", lambda s: np.array(inertia(*at(s)[:2])[0] @ at(s)[2]).ravel()),
        (
            "velocities, centrifugal and Coriolis",
            lambda s: np.array(inertia(*at(s)[:2])[1]).ravel(),
        ),
    )
}
figure, panels = plt.subplots(1, 3, figsize=(10, 2.8))
for joint, axes in enumerate(panels):
    for name, part in still.items():
        axes.plot(t, part[:, joint], label=name)
    axes.plot(t, torques["Lagrange"][:, joint], color="0.4", linestyle=":", label="sum")
    axes.set(xlabel="t [s]", title=f"joint {joint + 1} [N m]")
figure.legend(
    *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
)
plt.show()
share = np.max(np.abs(still["velocities, centrifugal and Coriolis"]), axis=0) / np.max(
    np.abs(torques["Lagrange"]), axis=0
)
print(
    f"velocity forces reach {', '.join(f'{s:.0%}' for s in share)} of the largest torque of "
    "joints 1, 2, 3"
)

# %% [markdown]
# ## Constant and variable factors
#
# In the plane L contains only lengths and is constant during the motion. Below are the blocks of L:
# a row for each member, a column block for the forces of each. Link 1 has contributions of all
# members, the branches only of themselves. This is equation (3) of the paper.

# %%
early, late = parallel(tree, *at(0.2)), parallel(tree, *at(0.7))
rows = np.arange(2, early.lengths.shape[0], 3)  # the moments about z
change = np.max(np.abs(early.lengths[rows] - late.lengths[rows]))
print(
    f"between t = 0.2 and 0.7 s: L changes by {change:.0e} m, T by "
    f"{np.max(np.abs(early.transform - late.transform)):.1f}"
)
figure, axes = plt.subplots(figsize=(8, 2.2))
axes.spy(early.lengths[rows], markersize=6, aspect="auto")
axes.grid(False)
axes.set_yticks(range(len(rows)), ["link 1", "link 2", "link 3", "load 2", "load 3"][: len(rows)])
axes.set(xlabel="component of P", title="nonzeros of L: what reaches each member")
plt.show()
assert change < 1e-14

# %% [markdown]
# ## Arbitrary trees
#
# The scheme applies to any number of branches. Random trees of twelve links, in space, with random
# motions:


# %%
def random_tree(generator, links=12):
    """Each link hangs on a random earlier one, about a random axis."""
    parts = []
    for k in range(links):
        angle = Coordinate(f"q{k}", unit="rad")
        parent = "ground" if k == 0 else f"link{generator.integers(k)}"
        steps = (Turn(str(generator.choice(["x", "y", "z"])), angle),)
        if k:
            steps = (Slide("x", 0.4), *steps)
        parts.append(rod(f"link{k}", parent, steps, float(generator.uniform(0.1, 1)), 0.4))
    return Tree("random", tuple(parts), gravity=(0, 0, -9.81))


generator = np.random.default_rng(1)
worst = 0.0
for _ in range(5):
    tree_of_12 = random_tree(generator)
    q, v, a = generator.normal(size=(3, 12))
    first = np.array(newton_euler(tree_of_12)(q, v, a, 0)).ravel()
    worst = max(
        worst, np.max(np.abs(parallel(tree_of_12, q, v, a).torques - first)) / np.max(np.abs(first))
    )
print(f"five random trees of twelve links: the two schemes agree to {worst:.0e}, relative")
assert worst < 1e-12

# %% [markdown]
# ## Summary

# %%
error = max(
    np.max(np.abs(parallel(tree, *at(s)).torques - np.array(known)))
    for s, known in REFERENCE.items()
)
print(f"figure 2              torques of the known instants to {error:.0e} N m")
print(f"three derivations     agree to {max(apart.values()):.0e} N m over the whole turn")
print(
    "largest torques       "
    f"{', '.join(f'{x:.2f}' for x in np.max(np.abs(torques['Lagrange']), axis=0))} N m at joints "
    "1, 2, 3"
)
print(f"random spatial trees  agree to {worst:.0e}")
