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
# # 11. Fit a model to data
#
# Measurements of a motion determine the parameters of its model. `fit` states the sum of the
# squared residuals as the cost, solves by collocation, and derives the covariance of the estimates
# from the sensitivities of the solution by each measurement.
#
# **Reference.** H. G. Bock, *Randwertproblemmethoden zur Parameteridentifizierung in Systemen
# nichtlinearer Differentialgleichungen*, 1987.

# %%
import casadi
import matplotlib.pyplot as plt
import numpy as np

from trajopt import Problem, fit, solve

# %matplotlib inline
plt.style.use("look.mplstyle")

# %% [markdown]
# ## A pendulum with friction
#
# The angle was measured at forty times with a noise of 0.02 rad. Stiffness, friction and the
# initial angle are unknown. The measurements are simulated here, so that the true values are known.


# %%
def pendulum(known=None):
    ocp = Problem("pendulum")
    k, c = (
        known or [ocp.variable("k", lower=1, upper=100, guess=15, unit="1/s^2"),
                  ocp.variable("c", lower=0, upper=5, guess=0.1, unit="1/s")]
    )  # fmt: skip
    ph = ocp.phase()
    ph.time(start=0, end=5)
    q = ph.state("q", start=2.0 if known else None, unit="rad")
    w = ph.state("w", start=0, unit="rad/s")
    ph.dynamics({q: w, w: -k * casadi.sin(q) - c * w})
    if known:
        ocp.minimize(ph.final(q) ** 2)
    return ocp


truth = solve(pendulum((9.81, 0.3)), tolerance=1e-9).check()
times = np.linspace(0.1, 5, 40)
generator = np.random.default_rng(3)
table = {"t": times, "q": truth["q"](times) + 0.02 * generator.standard_normal(40)}
found = fit(pendulum(), table)
print(found)
print("standard deviation of the measurements:", round(found.deviation, 4))

# %%
figure, (above, below) = plt.subplots(2, 1, sharex=True)
fine = np.linspace(0, 5, 301)
above.plot(fine, found.solution["q"](fine), label="model")
above.plot(times, table["q"], ".", label="measurements")
above.set(ylabel="q [rad]")
above.legend()
below.stem(times, found.residuals["q"])
_ = below.set(xlabel="t [s]", ylabel="residual [rad]")
# %% [markdown]
# ## Do the intervals hold?
#
# Of many draws of the noise, 95 % of the intervals should contain the true values. `refit` solves
# the prepared problem again for other measurements.

# %%
held = []
for _ in range(300):
    table = {"t": times, "q": truth["q"](times) + 0.02 * generator.standard_normal(40)}
    again = found.refit(table)
    for name, value in (("k", 9.81), ("c", 0.3), ("q(t0)", 2.0)):
        low, high = again[name].interval
        held.append(low <= value <= high)
print(f"{100 * np.mean(held):.0f} % of {len(held)} intervals hold the true value")

# %% [markdown]
# ## Values at given times
#
# `fit` uses `ph.at(time, expression)`, the value of an expression of states at a time inside a
# phase. It serves costs and conditions of any problem: here a point moves through two places with
# the least effort. The costates jump there.

# %%
ocp = Problem("through two places")
ph = ocp.phase()
ph.time(start=0, end=1)
x, v, u = ph.state("x", start=0, end=0), ph.state("v", start=0, end=0), ph.control("u")
ph.dynamics({x: v, v: u})
ocp.require(ph.at(0.3, x), equals=1)
ocp.require(ph.at(0.6, x), equals=-0.5)
ocp.minimize(ph.integral(u**2))
spline = solve(ocp).check()
print(spline.objective, spline["x"]([0.3, 0.6]))
figure, axes = plt.subplots()
fine = np.linspace(0, 1, 301)
axes.plot(fine, spline["x"](fine), label="x")
axes.plot(fine, spline.costate("x")(fine) / 1e4, label="costate of x / 10000")
_ = axes.legend()
