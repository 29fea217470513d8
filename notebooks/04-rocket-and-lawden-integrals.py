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
# # 4. The rocket and Lawden's integrals
#
# A rocket with an electric engine of limited power flies from a circular orbit to a higher one
# within a given time, with maximum final mass. Which properties of the solution are known *before*
# it is computed? A central field is invariant under shifts of time, rotations and, with suitable
# scaling, changes of size. Each of these symmetries gives a quantity that is constant along the
# optimal flight: a first integral of states and costates.
#
# **Reference.** I. E. Kaspirovich's dissertation on constraint stabilization, section 4.2 (figure
# 18), with the integrals of R. H. Bishop and D. M. Azimov (Journal of Spacecraft and Rockets 38,
# 2001, 897-903). Transfer from r = 1 to r = 1.5 in T = 2π, μ = 1: cost 0.0034313426, computed
# before by collocation and shooting, independently of this library. Equations, signs and the
# document's errors: `problems/rocket/README.md`.

# %%
import matplotlib.pyplot as plt
import numpy as np

from problems.rocket.lawden_cauchy import GAINS, lawden_cauchy, study
from problems.rocket.lawden_transfer import REFERENCE, build
from trajopt import certify, solve
from trajopt.errors import SimulationError
from trajopt.indirect.shooting import Shooting
from trajopt.integrate import ExtendedHamiltonian, MinimumNorm, Projection, Rk4, simulate
from trajopt.show.diagnostic_plots import plot_integrals

# %matplotlib inline
plt.style.use("look.mplstyle")

# %% [markdown]
# ## The transfer
#
# With free exhaust speed and limited power, the mass flow is m² a²/(2P): the final mass depends
# only on the integral of the squared thrust acceleration a. So the cost is ½ ∫ a² dt, and neither
# power nor mass changes the motion.

# %%
ocp = build()
direct = solve(ocp, progress=print).check()
transfer = solve(ocp, Shooting(), guess=direct).check()
print(
    f"collocation {direct.objective:.12f}, shooting {transfer.objective:.12f}, reference "
    f"{REFERENCE.objective:.12f}"
)
assert abs(transfer.objective / REFERENCE.objective - 1) < 1e-9

# %%
t = np.linspace(0, 2 * np.pi, 400)
few = np.linspace(0, 2 * np.pi, 28)
angle = np.linspace(0, 2 * np.pi, 200)
figure, (orbit, primer) = plt.subplots(1, 2, figsize=(9.5, 4.2), width_ratios=(1, 1.15))
for radius in (1.0, 1.5):
    orbit.plot(radius * np.cos(angle), radius * np.sin(angle), ":", color="0.6", linewidth=1)
orbit.plot(*transfer["r"](t).T, label="flight")
orbit.quiver(
    *transfer["r"](few).T,
    *transfer["u"](few).T,
    color="C1",
    width=0.005,
    label="thrust acceleration",
)
orbit.plot(0, 0, "o", color="0.2")
orbit.set(
    aspect="equal", xlabel="x", ylabel="y", title="Three quarters of a turn, from r = 1 to r = 1.5"
)
orbit.legend(loc="center", bbox_to_anchor=(0.5, 0.4))
primer.plot(t, transfer["u"](t), label=["thrust, x", "thrust, y"])
circles = {"markersize": 4, "color": "0.3", "markerfacecolor": "none"}
primer.plot(few, -transfer.costate("v")(few), "o", label=["−costate of v", None], **circles)
primer.set(xlabel="t", title="The thrust is the primer vector")
primer.legend()
plt.show()

# %% [markdown]
# Lawden called −costate(v) the *primer vector*: thrust acts along it, and with limited power it
# *is* the thrust. The thrust is largest at departure and arrival, and nearly parallel to the
# velocity, where it does most work.
#
# ## Four integrals
#
# With multipliers λ = −costate and b = λ_m m², these are constant along the flow:
#
# | integral | symmetry |
# |---|---|
# | g1 = H | H does not depend on time |
# | b | H depends on the mass only through b |
# | r × λ_r + v × λ_v | rotations |
# | g2 = λ_v·v − 2 r·λ_r − (5P/2b) ∫λ_v² dt + 3 H t | Kepler's similarity r ~ k², v ~ 1/k, t ~ k³ |
#
# They are declared in the problem, and the certificate checks them. Collocation satisfies them to
# the accuracy of its mesh, shooting to that of its integrator.

# %%
plot_integrals(transfer)

# %%
certificates = {
    "collocation": certify(direct, reference=REFERENCE),
    "shooting": certify(transfer, reference=REFERENCE, other=direct),
}
for name, certificate in certificates.items():
    integrals, energy = certificate["first integrals"].value, certificate["constancy of H"].value
    print(f"{name:12s} first integrals to {integrals:.0e}, H to {energy:.0e}")
    assert certificate.ok
assert certificates["shooting"]["first integrals"].value < 1e-12

# %% [markdown]
# ## The dissertation's experiment (figure 18)
#
# Integrate the costate flow from given values, as a Cauchy problem, with initial values perturbed
# by ε in x and in m. The integrals differ from their levels by a constant. The document adds a
# correction that makes the deviations decay, dg/dt = K g with K = −diag(1, 1000). Its initial state
# is r = (1, 0, 0), v = (2, 2, 20), m = 500; costates, μ, P and ε are not given and are chosen in
# `problems/rocket/lawden_cauchy.py`.
#
# Two methods realise the law: the minimum-norm change of the rates, and that of the document, the
# *extended Hamiltonian* H + γ·g, which preserves the canonical form of the flow.

# %%
ways = (
    ("minimum norm", MinimumNorm(GAINS), "-"),
    ("extended Hamiltonian", ExtendedHamiltonian(GAINS), "--"),
)
figure, axes = plt.subplots(figsize=(7.5, 3.6))
left_over = {}
for number, size in enumerate((0.001, 0.003, 0.01)):
    free_flow = simulate(lawden_cauchy(size))
    axes.semilogy(
        free_flow.t,
        free_flow["deviation"],
        ":",
        color=f"C{number}",
        label=f"ε = {size:g}, no stabilization",
    )
    for name, way, line in ways:
        run = simulate(lawden_cauchy(size), stabilization=way)
        left_over[name, size] = run["deviation"][-1] / run["deviation"][0]
        axes.semilogy(
            run.t, run["deviation"], line, color=f"C{number}", label=f"ε = {size:g}, {name}"
        )
axes.set(
    xlabel="t",
    ylabel="norm of the deviations (g1, g2)",
    title="First integrals off their levels by ε, and brought back",
)
axes.legend(ncols=3, fontsize=6.5, loc="upper center", bbox_to_anchor=(0.5, -0.18))
plt.show()
print(f"after t = 3 at most {max(left_over.values()):.0e} of the deviation is left")
assert max(left_over.values()) < 1e-3

# %% [markdown]
# The decay has two parts, according to the two gains: g2 decays at rate 1000, within milliseconds;
# then g1, at rate 1.
#
# ## Limit of the extended Hamiltonian
#
# γ acts on g1 only through g2 and on g2 only through g1, that is through the bracket {g1, g2} = 3
# g1 − (5P/2b) λ_v². Where it is zero, γ is infinite. On the hyperbolic flight of the document this
# does not happen for a while; on a bounded transfer it happens within the first revolution. trajopt
# stops with a message; the minimum-norm correction is regular.

# %%
bounded = lawden_cauchy(0.01, data="transfer")
try:
    simulate(bounded, stabilization=ExtendedHamiltonian(GAINS))
    raise AssertionError("the extended Hamiltonian went through a zero of its bracket")
except SimulationError as error:
    print(error)

plain, kept = simulate(bounded), simulate(bounded, stabilization=MinimumNorm(GAINS))
true = simulate(lawden_cauchy(0.0, data="transfer"))
t = np.linspace(0, 2 * np.pi, 300)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2))
left.plot(plain.t, plain["bracket"])
left.axhline(0, color="0.3", linewidth=0.8)
left.set(xlabel="t", title="bracket {g1, g2} on the transfer")
for run, name in ((plain, "no stabilization"), (kept, "minimum norm")):
    right.plot(t, np.linalg.norm(run.at(t)[:, :3] - true.at(t)[:, :3], axis=1), label=name)
right.set(xlabel="t", title="distance from the undisturbed flight")
right.legend()
plt.show()
print(
    f"deviation of the integrals at the end: {plain['deviation'][-1]:.1e} without, "
    f"{kept['deviation'][-1]:.1e} with"
)
assert kept["deviation"][-1] < 1e-7 < plain["deviation"][-1]

# %% [markdown]
# The right-hand plot shows the essential point: the integrals return to their levels within 1e-8,
# but the rocket departs from the reference as before. Stabilization restores the level set, not the
# motion.
#
# ## Effect in a long integration
#
# Here is the costate flow of a transfer of more than two revolutions, with the Runge-Kutta scheme
# of order four and several steps.

# %%
trials = study((Rk4(0.2), Rk4(0.1), Rk4(0.05)), (None, Projection()))
print("integrator           stabilization  evaluations  error at the end   drift of (g1, g2)")
for trial in trials:
    print(
        f"{trial.integrator:20s} {trial.stabilization:13s} {trial.evaluations:11d} "
        f"{trial.error:16.1e} {trial.drift:18.1e}"
    )
gains = [a.error / b.error for a, b in zip(trials[::2], trials[1::2], strict=True)]
halving = trials[0].error / trials[2].error
print(
    f"projection gains a factor {min(gains):.1f} to {max(gains):.1f} at the end point; half the "
    f"step gains {halving:.0f}"
)
assert max(trial.drift for trial in trials[1::2]) < 1e-14
assert halving > max(gains)

# %% [markdown]
# The drift vanishes, but the final error decreases only a little. Halving the step is more
# effective. Stabilize integrals if a computation *uses* their values, as a shooting residual does,
# or over very long times; not to allow larger steps.
#
# ## Bounded thrust: the primer vector as switching function
#
# A chemical engine has a fixed exhaust speed and a throttle. Then H is linear in the throttle and
# the sign of S = |λ_v|/m − λ_m/c determines it: burn where the primer vector is long enough, coast
# elsewhere. The minimum-fuel transfer from r = 1 to r = 1.5 in a time of 30 has five burns and four
# coasts. The switching times are unknowns of the problem, and the signs of S are not imposed, so
# that they are a check.

# %%
from problems.rocket.min_fuel_transfer import REFERENCE as FUEL
from problems.rocket.min_fuel_transfer import build as min_fuel

fuel = solve(min_fuel()).check()
figure, (orbit, switch) = plt.subplots(1, 2, figsize=(9.5, 4.2), width_ratios=(1, 1.15))
for name, phase in fuel.phases.items():
    t = np.linspace(phase.t0, phase.tf, 200)
    r, theta, m, c = (phase[state](t) for state in ("r", "theta", "m", "c"))
    vr, vt, lam_m = (-phase.costates[state](t) for state in ("vr", "vt", "m"))
    S = np.hypot(vr, vt) / m - lam_m / c
    burning = name.startswith("burn")
    look = {"color": "C1", "linewidth": 2.4} if burning else {"color": "0.6", "linewidth": 1.2}
    orbit.plot(r * np.cos(theta), r * np.sin(theta), **look)
    switch.plot(t, S, **look)
    inside = S[20:-20]
    assert np.all(inside > 0) if burning else np.all(inside < 0)
orbit.set(aspect="equal", xlabel="x", ylabel="y", title="burns (orange) and coasts")
switch.axhline(0, color="0.3", linewidth=0.8)
switch.set(xlabel="t", ylabel="S", title="positive inside every burn, negative inside every coast")
plt.show()

# %% [markdown]
# The first three burns are at the periapsis and raise the apoapsis; the last two, at the apoapsis,
# circularize the orbit. It is Hohmann's transfer with each impulse divided into several burns,
# since the thrust is small.
#
# ## Summary


# %%
off, drift = (
    abs(transfer.objective / REFERENCE.objective - 1),
    max(trial.drift for trial in trials[1::2]),
)
print(
    f"limited power      {transfer.objective:.12f}, relative difference to the reference {off:.0e}"
)
print(
    f"first integrals    constant to {certificates['shooting']['first integrals'].value:.0e} "
    "along the shooting solution"
)
print(
    f"figure 18          deviations fall to {max(left_over.values()):.0e} by t = 3, for three "
    "disturbances and both ways"
)
print(
    f"projection         drift {drift:.0e}, but only {min(gains):.1f} to {max(gains):.1f} times "
    "better at the end"
)
print(
    f"least fuel         final mass {fuel.objective:.10f}, reference {FUEL.objective:.10f}; signs "
    "of S right on nine arcs"
)
assert abs(fuel.objective / FUEL.objective - 1) < 1e-6
