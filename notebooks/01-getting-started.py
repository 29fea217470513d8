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
# # 1. Getting started
#
# A bead slides without friction from one point to a lower one. Which curve minimizes the time?
# Johann Bernoulli posed this problem in 1696; the solution is a cycloid, the *brachistochrone*. It
# is the smallest problem that shows all parts of trajopt: a statement, a solution, a plot and a
# certificate.
#
# **Reference.** From (0, 10) m to (10, 5) m with g = 9.80665 m/s²: 1.8016 s (example of OpenMDAO's
# dymos); the cycloid through both points gives 1.80160312245 s.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

from problems.classical.brachistochrone import REFERENCE, build
from trajopt import certify, load, solve
from trajopt.show.plots import plot_solution

# %matplotlib inline
plt.style.use("look.mplstyle")

# %% [markdown]
# ## The statement
#
# `build` returns a `Problem`; `print` shows it in mathematical notation. The states are the
# position (x, y) and the speed v. The control is the angle theta of the curve from the vertical.
# The cost is the final time.

# %%
ocp = build()
print(ocp)

# %% [markdown]
# ## The solution
#
# `solve` needs only the problem. It chooses a mesh, solves, estimates the error between the nodes,
# and refines the mesh until that error is below 1e-6. `check()` raises an error with the reason
# unless the solve succeeded.

# %%
solution = solve(ocp, progress=print).check()
print(f"{solution.objective:.10f} s, estimated relative error {solution.error:.0e}")

# %% [markdown]
# All variables are functions of time, indexed by name. The plot shows them with units, bounds
# (dashed) and the mesh (green marks). The third row shows the costates, which are explained below.

# %%
plot_solution(solution)

# %% [markdown]
# ## Comparison with the cycloid
#
# A point on a wheel of radius R that rolls below the line of the start traces x = R (a − sin a),
# depth = R (1 − cos a). The end point determines R and the final angle a, and the time is a √(R/g).
# This is computed here without trajopt.


# %%
def cycloid(x, depth, g=9.80665):
    """Radius, last angle and time of the cycloid from (0, 0) to (x, depth below)."""
    a = brentq(
        lambda a: (a - np.sin(a)) / (1 - np.cos(a)) - x / depth, 1e-3, 2 * np.pi - 1e-3, xtol=1e-14
    )
    radius = depth / (1 - np.cos(a))
    return radius, a, a * np.sqrt(radius / g)


radius, last, fastest = cycloid(10.0, 5.0)
straight = np.sqrt(2 * (10.0**2 + 5.0**2) / (9.80665 * 5.0))
print(
    f"trajopt {solution.objective:.10f} s, cycloid {fastest:.10f} s, straight line {straight:.4f} s"
)
assert abs(solution.objective / fastest - 1) < 1e-9
assert abs(REFERENCE.objective / fastest - 1) < 1e-9

# %%
t = np.linspace(0, solution.objective, 200)
a = np.linspace(0, last, 13)
figure, axes = plt.subplots(figsize=(6.4, 3.4))
axes.plot(solution["x"](t), solution["y"](t), label="trajopt")
axes.plot(
    radius * (a - np.sin(a)),
    10 - radius * (1 - np.cos(a)),
    "o",
    color="C1",
    markerfacecolor="none",
    label="cycloid",
)
axes.plot(
    [0, 10], [10, 5], "--", color="0.5", label=f"straight line, {straight / fastest - 1:.0%} slower"
)
axes.set(
    xlabel="x [m]", ylabel="y [m]", aspect="equal", title="The fastest slide dips below its end"
)
axes.legend()
plt.show()

# %% [markdown]
# A steep start is optimal: speed that is gained early acts for longer. The curve even ends going
# *up*.
#
# ## Costates as sensitivities
#
# The initial costate of x is the derivative of the minimum time with respect to the initial x, in
# seconds per metre. It is known without another solve. Here a second solve verifies it: an initial
# x that is 1 cm nearer is equivalent to a target that is 1 cm nearer.

# %%
price = solution.costate("x")(0.0)
step = 0.01
change = (
    solve(build(target=(10 - step, 5.0))).objective
    - solve(build(target=(10 + step, 5.0))).objective
) / (2 * step)
print(
    f"costate of x at the start {price:.6f} s/m, by solving twice {change:.6f} s/m, published "
    f"{REFERENCE.costates['x']} s/m"
)
assert abs(price - change) < 1e-6

# %% [markdown]
# ## Another target
#
# Arguments of `build` can be changed: here the target moves away at the same depth. From a shell:
# `trajopt solve brachistochrone --set target=20,5`.

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.2))
for far in (2.0, 5.0, 10.0, 15.0, 20.0):
    slide = solve(build(target=(far, 5.0))).check()
    t = np.linspace(0, slide.objective, 200)
    axes.plot(slide["x"](t), slide["y"](t), label=f"{far:g} m: {slide.objective:.3f} s")
    assert abs(slide.objective / cycloid(far, 5.0)[2] - 1) < 1e-8
axes.set(
    xlabel="x [m]",
    ylabel="y [m]",
    aspect="equal",
    title="The further the target, the deeper the dive",
)
axes.legend(loc="upper right")
plt.show()

# %% [markdown]
# ## The certificate
#
# `certify` checks a solution independently of the solver: it integrates the motion again with
# another integrator, evaluates the error between the nodes, and checks Pontryagin's conditions: the
# costates satisfy the adjoint equation, no other control gives a smaller Hamiltonian, and H is
# constant. Each row has a value, a tolerance and a verdict.

# %%
certificate = certify(solution, reference=REFERENCE)
print(certificate)
assert certificate.ok

# %% [markdown]
# ## Files
#
# `save` writes a netCDF file with units, mesh, options and versions; `load` returns the solution.
# The same from a shell:
#
#     trajopt solve brachistochrone --save slide.nc --plot slide.png
#     trajopt certify slide.nc
#     trajopt report slide.nc -o slide.html

# %%
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "slide.nc"
    solution.save(file)
    again = load(file)
    size = file.stat().st_size / 1024
print(
    f"{size:.0f} KiB; theta(0.5) = {again['theta'](0.5):.6f} rad, before "
    f"{solution['theta'](0.5):.6f} rad"
)
assert again["theta"](0.5) == solution["theta"](0.5)

# %% [markdown]
# ## Summary

# %%
costate_error = max(
    abs(solution.costate(name)(0.0) - value) for name, value in REFERENCE.costates.items()
)
print(
    f"time         {solution.objective:.10f} s, relative difference to the cycloid "
    f"{abs(solution.objective / fastest - 1):.0e}"
)
print(f"costates     differ from the published ones by at most {costate_error:.0e}")
print(
    f"certificate  {sum(c.applies for c in certificate.checks)} checks, all passed: "
    f"{certificate.ok}"
)
print(f"saved        {straight - solution.objective:.3f} s against the straight line")
