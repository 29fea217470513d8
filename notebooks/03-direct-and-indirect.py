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
# # 3. Direct and indirect: Goddard's rocket
#
# A sounding rocket shall reach the maximum altitude with a given amount of fuel. A fast burn gives
# high speed in dense air and large drag losses; a slow burn gives large gravity losses. R. H.
# Goddard asked in 1919 for the optimal thrust programme. The solution has three arcs, and the
# middle one is *singular*: there the minimum of the Hamiltonian does not determine the thrust
# directly.
#
# **Reference.** In the scaling of COPS (lengths in planet radii, masses in initial masses,
# accelerations in surface gravities): final radius 1.01283 (COPS 3.0, problem 10, via
# COPSBenchmark.jl); computed twice, by collocation and by arc-wise shooting: 1.01283691832,
# switches at 0.0235096840 and 0.0726707434, end at 0.1988562621.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

from problems.classical.goddard import REFERENCE, build
from trajopt import certify, solve
from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh import Mesh
from trajopt.indirect.shooting import Shooting
from trajopt.show.diagnostic_plots import plot_switching
from trajopt.show.plots import plot_solution

# %matplotlib inline
plt.style.use("look.mplstyle")
ocp = build()
print(ocp)

# %% [markdown]
# ## Two methods
#
# **Direct**: discretize time into intervals, approximate states by polynomials, and solve a
# nonlinear program with the dynamics as constraints at collocation points. It needs no analysis of
# the problem, and only a rough guess.
#
# **Indirect**: derive the adjoint equations and Pontryagin's conditions, and solve the resulting
# boundary-value problem by shooting. Its accuracy is that of the integrator, but it needs the
# sequence of arcs and a good guess.
#
# trajopt takes the arcs and the guess from the direct method and refines them by shooting. The two
# methods share only the statement of the problem, so that their agreement is an independent check.
#
# ## A singular arc on a uniform mesh
#
# ## What a naive mesh does to a singular arc
#
# The thrust enters the rates linearly, so that H = S T + rest with the switching function S =
# costate(v)/m − costate(m)/c. Where S is not zero, the thrust is at one of its bounds. On a
# singular arc S is zero, and the cost is insensitive to opposite changes of the thrust at
# neighbouring points. Here are 50 equal intervals without refinement.

# %%
naive = solve(ocp, Collocation(mesh=Mesh.uniform(50, 3), max_passes=1))
direct = solve(ocp, progress=print).check()
t_naive = np.linspace(0, naive.phases["main"].tf, 2000)
t = np.linspace(0, direct.phases["main"].tf, 2000)
figure, axes = plt.subplots(figsize=(7.2, 3.2))
axes.plot(
    t_naive,
    naive["T"](t_naive),
    color="0.65",
    linewidth=1,
    label=f"50 equal intervals: {naive.objective:.7f}",
)
axes.plot(t, direct["T"](t), label=f"arcs with moving ends: {direct.objective:.9f}")
axes.set(
    xlabel="t",
    ylabel="thrust T",
    title="On the singular arc the objective looks right long before the thrust does",
)
axes.legend()
plt.show()

# %% [markdown]
# The second line is the default of `solve`. A first mesh with piecewise constant thrust cannot
# oscillate and shows the arcs; then the ends of the arcs become unknowns, the thrust is fixed at
# its bound on bounded arcs, and is a polynomial on the singular arc. The log calls this "moving
# knots". The grey solution has a *higher* altitude than is possible, since the dynamics are
# violated between the nodes. The estimated error shows this.

# %%
print(f"50 equal intervals   objective {naive.objective:.8f}, estimated error {naive.error:.0e}")
print(f"moving knots         objective {direct.objective:.8f}, estimated error {direct.error:.0e}")
for arc in direct.arcs:
    print(f"  {arc.roles['T']:9s} {arc.start:.6f} to {arc.end:.6f}")
assert [arc.roles["T"] for arc in direct.arcs] == ["upper", "singular", "lower"]
assert naive.error > 1e3 * direct.error

# %% [markdown]
# ## Shooting
#
# The control law is derived automatically: bounds if S is not zero; on the singular arc S = 0, S' =
# 0 and S'' = 0, where S'' is the first derivative that contains the thrust. All derivatives are
# automatic. Newton's method converges quadratically.

# %%
indirect = solve(ocp, Shooting(), guess=direct).check()
print(*indirect.log, sep="\n")
plot_solution(indirect)

# %% [markdown]
# ## The switching function
#
# The thrust is at its upper bound where S is negative (H is minimized), S is zero on the singular
# arc and positive on the coast.

# %%
plot_switching(indirect)

# %% [markdown]
# ## The law of the singular arc
#
# Analytically (Tsien and Evans, 1951; here from S = S' = 0 and H = 0) the singular arc satisfies D
# (1 + v/c) = m g: drag times (1 + v/c) equals the weight. This equation is not part of the
# statement. Both solutions must satisfy it.


# %%
def imbalance(solution, count=200):
    """D (1 + v/c) / (m g) - 1 along the inner part of the singular arc."""
    arc = next(arc for arc in solution.arcs if arc.roles["T"] == "singular")
    t = np.linspace(arc.start, arc.end, count + 2)[1:-1]
    h, v, m = (solution[name](t) for name in "hvm")
    drag = 310 * v**2 * np.exp(-500 * (h - 1))
    return t, drag * (1 + v / 0.5) * h**2 / m - 1


figure, axes = plt.subplots(figsize=(7.2, 2.8))
for name, solution in (("direct", direct), ("indirect", indirect)):
    t, off = imbalance(solution)
    axes.semilogy(t, np.abs(off) + 1e-17, label=f"{name}: at most {np.max(np.abs(off)):.0e}")
axes.set(xlabel="t", ylabel="|D (1 + v/c) / (m g) − 1|", title="The balance on the singular arc")
axes.legend()
plt.show()
assert np.max(np.abs(imbalance(indirect)[1])) < 1e-9
assert np.max(np.abs(imbalance(direct)[1])) < 1e-3

# %% [markdown]
# ## The gain of the singular arc
#
# Compare with a rocket that burns all its fuel at full thrust and then coasts, integrated here by
# scipy.


# %%
def rate(t, x, thrust):
    h, v, m = x
    return [v, (thrust - 310 * v * abs(v) * np.exp(-500 * (h - 1))) / m - 1 / h**2, -2 * thrust]


def top(t, x, thrust):
    return x[1]


top.terminal, top.direction = True, -1
burn = solve_ivp(rate, (0, 0.4 / (2 * 3.5)), [1, 0, 1], args=(3.5,), rtol=1e-10, atol=1e-12)
coast = solve_ivp(
    rate, (burn.t[-1], 1), burn.y[:, -1], args=(0.0,), events=top, rtol=1e-10, atol=1e-12
)
greedy = coast.y[0, -1] - 1
best = indirect.objective - 1
t = np.linspace(0, indirect.phases["main"].tf, 500)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
for axes, name, row in ((left, "h", 0), (right, "v", 1)):
    axes.plot(t, indirect[name](t), label="optimal")
    axes.plot(np.r_[burn.t, coast.t], np.r_[burn.y[row], coast.y[row]], "--", label="all at once")
    axes.set(xlabel="t", ylabel={"h": "radius h", "v": "speed v"}[name])
left.legend()
plt.show()
print(
    f"height reached: optimal {best:.6f}, all at once {greedy:.6f}: {best / greedy - 1:.1%} more "
    "on the same fuel"
)
assert best > greedy

# %% [markdown]
# ## Other engines
#
# A stronger engine has a shorter first arc; the singular arc stays on the same surface. An engine
# that is too weak does not reach it: then there are only two arcs.

# %%
figure, axes = plt.subplots(figsize=(7.2, 3.2))
heights = {}
for limit in (1.5, 2.0, 3.5, 6.0, 10.0):
    flight = solve(build(limit=limit)).check()
    heights[limit] = flight.objective - 1
    t = np.linspace(0, flight.phases["main"].tf, 3000)
    arcs = ", ".join(arc.roles["T"] for arc in flight.arcs)
    axes.plot(t, flight["T"](t), label=f"limit {limit:g}: height {heights[limit]:.6f} ({arcs})")
axes.set(xlabel="t", ylabel="thrust T", xlim=(0, 0.15))
axes.legend()
plt.show()
assert list(heights.values()) == sorted(heights.values())

# %% [markdown]
# ## The certificates of both solutions

# %%
certificate = certify(indirect, reference=REFERENCE, other=direct)
print(certificate)
assert certificate.ok

# %% [markdown]
# ## Summary

# %%
switches = [arc.end for arc in indirect.arcs[:-1]]
apart, off = (
    abs(indirect.objective - direct.objective),
    abs(indirect.objective - REFERENCE.objective),
)
print(
    f"final radius         {indirect.objective:.12f} (shooting), {direct.objective:.12f} "
    "(collocation)"
)
print(f"they differ by       {apart:.0e}; shooting from the reference by {off:.0e}")
print(f"switches             {switches[0]:.10f}, {switches[1]:.10f}")
print(f"known                {REFERENCE.switches[0]:.10f}, {REFERENCE.switches[1]:.10f}")
print(f"initial costates     {', '.join(f'{indirect.costate(n)(0.0):.7f}' for n in 'hvm')}")
print(f"Hamiltonian          constant to {certificate['constancy of H'].value:.0e}")
assert np.allclose(switches, REFERENCE.switches, atol=1e-9)
