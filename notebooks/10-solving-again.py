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
# # 10. Solving again: sensitivities and feedback
#
# A problem is rarely solved once. A parameter changes, a motion starts elsewhere, or the model of
# the machine is not exact. This notebook solves a prepared problem again, differentiates its
# solution, and closes the loop around it.
#
# **References.** A. V. Fiacco, *Introduction to sensitivity and stability analysis in nonlinear
# programming*, 1983. A. E. Bryson and Y.-C. Ho, *Applied optimal control*, 1975, chapter 6.

# %%
import matplotlib.pyplot as plt
import numpy as np

from trajopt import ModelPredictive, Problem, builder, free, prepare, solve
from trajopt.prepared.closed_loop import closed_loop
from trajopt.show.loop_plots import plot_loops

# %matplotlib inline
plt.style.use("look.mplstyle")

# %% [markdown]
# ## A prepared problem
#
# A soft landing with the least fuel. Thrust and gravity are parameters. `prepare` builds the
# functions, the matrices and the memory of the solver once. The first solve finds mesh and arcs;
# later ones begin at the last answer.


# %%
def lander():
    ocp = Problem("lander")
    thrust, g = ocp.parameter("thrust", 3.0), ocp.parameter("g", 1.5)
    ph = ocp.phase()
    ph.time(start=0, end=free(0.1, 20))
    h, v = ph.state("h", start=10, end=0, unit="m"), ph.state("v", start=-2, end=0, unit="m/s")
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({h: v, v: thrust * u - g})
    ocp.minimize(ph.integral(thrust * u))
    return ocp


prepared = prepare(lander())
first = prepared.solve().check()
stronger = prepared.solve({"thrust": 3.03}).check()
higher = prepared.solve(initial={"h": 10.5}).check()
for solution in (first, stronger, higher):
    print(f"fuel {solution.objective:.6f}, end {solution.phases['main'].tf:.6f}", *solution.log)

# %% [markdown]
# A thousand landers with random thrust and gravity are one call. The result is a data set with one
# status for each set.

# %%
generator = np.random.default_rng(0)
sets = {"thrust": generator.uniform(2.7, 3.3, 200), "g": generator.uniform(1.35, 1.65, 200)}
found = prepared.map(sets)
print({status: int((found.status == status).sum()) for status in np.unique(found.status)})
figure, axes = plt.subplots()
points = axes.scatter(found.thrust, found.objective, c=found.g, s=12)
axes.set(xlabel="thrust", ylabel="fuel")
_ = figure.colorbar(points, label="g")
# %% [markdown]
# ## Sensitivities
#
# The linearized optimality conditions give the derivatives of a solution. The table has the
# derivatives of the objective by all parameters, given values and active limits; the elasticity is
# the relative change of the objective by that of the quantity.

# %%
for one in first.sensitivities():
    print(f"{one.name:20} {one.value:8.3g} {one.objective:12.6f} {one.elasticity:12.4f}")

# %% [markdown]
# `sensitivity` also differentiates times, states and costates. The switch and the end move:

# %%
s = first.sensitivity("thrust")
moved = (prepared.solve({"thrust": 3.003}), prepared.solve({"thrust": 2.997}))
print("start, switch and end:", s.times["main"])
print("differences of solves:", (moved[0].phases["main"].tf - moved[1].phases["main"].tf) / 0.006)

# %% [markdown]
# ## Feedback
#
# The derivatives by the initial state are gains: controls, switching times and end times follow the
# measured state. Under the controls of the solution, the end error grows in proportion to a
# disturbance; under feedback it grows with its square.

# %%
swing = solve(builder("cart-pole")(), tolerance=1e-8).check()
sizes = 10.0 ** np.arange(-3.5, -1.4, 0.5)
errors = {
    control: [closed_loop(swing, control, {"q": size}).miss for size in sizes]
    for control in ("open", "feedback")
}
figure, axes = plt.subplots()
for control, values in errors.items():
    slope = np.polyfit(np.log(sizes), np.log(values), 1)[0]
    axes.loglog(sizes, values, "o-", label=f"{control}, slope {slope:.2f}")
axes.set(xlabel="disturbance of the angle [rad]", ylabel="end error")
_ = axes.legend()
# %% [markdown]
# A pole that is 2 % heavier than in the model. Repeated solves (`mpc`) start from each measured
# state; so they do not depend on the size of the disturbance.

# %%
heavier = builder("cart-pole")(m2=0.306)
runs = {
    control: closed_loop(swing, control, plant=heavier, rate=20 if control == "mpc" else None)
    for control in ("open", "feedback", "mpc")
}
for control, run in runs.items():
    print(f"{control:10} end error {run.miss:.2e}, cost {run.cost:.4f}")
plot_loops(swing, runs)

# %% [markdown]
# The shell prints the same table: `trajopt simulate cart-pole --disturb m2=+2%`. For a loop of
# your own there is `ModelPredictive`:

# %%
mpc = ModelPredictive(prepare(builder("cart-pole")(), swing), rate=20)
state = [float(swing[name](0.1)) for name in swing.phases["main"].states]
plan = mpc.step(0.1, state)
print(plan.status.name, plan.control(0.1))
