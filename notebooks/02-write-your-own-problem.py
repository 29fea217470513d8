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
# # 2. Write your own problem
#
# A drone with two rotors flies from hover at one position to hover at another, 6 m away. Its thrust
# acts only along its own axis: to move sideways it must tilt, and to stop it must tilt back. Which
# flight minimizes the effort, without and with a window to pass, and with a load?
#
# **Reference.** The planar quadrotor, with six states and two thrusts, is a standard model (R.
# Tedrake, *Underactuated Robotics*, chapter 3). Mass, size and bounds are chosen here. A check by
# hand: hovering costs (m g)²/2 = 48.1 N² per second, since each rotor carries half the weight.

# %%
import matplotlib.pyplot as plt
import numpy as np
from casadi import SX, cos, sin

from trajopt import Problem, certify, free, solve
from trajopt.errors import TrajoptError
from trajopt.show.animate import stills
from trajopt.show.drawing import Drawing, Ground, Mark, Rod, Trail

# %matplotlib inline
plt.style.use("look.mplstyle")
ARM, INERTIA, GRAVITY = 0.2, 0.02, 9.81  # m from centre to rotor, kg m^2, m/s^2

# %% [markdown]
# ## The statement
#
# A statement has time, states with their boundary values, controls with their bounds, dynamics and
# cost. A number fixes a value, `free(lower, upper)` bounds it; omit it to leave it free.
#
# `fly` is a Python function that states one flight and is used for several. `mass` is a
# *parameter*: it can change without rebuilding the problem.


# %%
def fly(ph, mass, start, end):
    """States, controls and rates of a flight; the ends are places, or None where the flight just
    passes.
    """
    rest = dict.fromkeys(("start", "end"))
    rest |= {key: 0 for key, place in (("start", start), ("end", end)) if place is not None}
    x = ph.state("x", start=start and start[0], end=end and end[0], unit="m")
    y = ph.state("y", start=start and start[1], end=end and end[1], lower=0, unit="m")
    tilt = ph.state("tilt", **rest, unit="rad")
    vx = ph.state("vx", **rest, unit="m/s")
    vy = ph.state("vy", **rest, unit="m/s")
    spin = ph.state("spin", **rest, unit="rad/s")
    left = ph.control("left", lower=0, upper=14, unit="N")
    right = ph.control("right", lower=0, upper=14, unit="N")
    lift = (left + right) / mass
    ph.dynamics({x: vx, y: vy, vx: -lift * sin(tilt), vy: lift * cos(tilt) - GRAVITY})
    ph.dynamics({tilt: spin, spin: (right - left) * ARM / INERTIA})
    return x, y, ph.integral(left**2 + right**2)


def hop(duration=3.0):
    """From hovering to hovering, 6 m to the right, with the least effort."""
    ocp = Problem("drone")
    mass = ocp.parameter("mass", 1.0, unit="kg")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    *_, effort = fly(ph, mass, (0, 1), (6, 1))
    ocp.minimize(effort)
    return ocp


print(hop())

# %% [markdown]
# ## A first flight
#
# Variables are functions of time, so that a custom plot takes a few lines: the drone every 0.15 s.


# %%
def strobe(solution, axes, every=0.15):
    """The drone at equal distances in time, twice its size."""
    for number, (name, phase) in enumerate(solution.phases.items()):
        t = np.arange(phase.t0, phase.tf, every)
        x, y, tilt = (solution[name, state](t) for state in ("x", "y", "tilt"))
        across, up = 2 * ARM * np.cos(tilt), 2 * ARM * np.sin(tilt)
        axes.plot(
            [x - across, x + across],
            [y - up, y + up],
            color=f"C{number}",
            linewidth=2.5,
            solid_capstyle="round",
        )
        axes.plot(x, y, ".", color="0.3", markersize=4)
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")


flight = solve(hop(), progress=print).check()
figure, (above, below) = plt.subplots(2, 1, figsize=(7.5, 4.2), height_ratios=(1, 2))
strobe(flight, above)
above.set_ylim(0.4, 1.6)
t = np.linspace(0, 3, 300)
below.plot(t, flight["left"](t), label="left rotor")
below.plot(t, flight["right"](t), "--", label="right rotor")
below.axhline(GRAVITY / 2, color="0.5", linewidth=0.9, label="half the weight")
below.set(xlabel="t [s]", ylabel="thrust [N]")
below.legend()
plt.show()

# %% [markdown]
# The drone tilts forward to accelerate and back to brake. While it is tilted, the thrust must
# exceed the weight to maintain the height.
#
# ## Free final time
#
# A longer flight is not cheaper, since hovering costs effort at all times. The solver determines
# the best duration; the only change is `end=free(...)`.

# %%
hover = GRAVITY**2 / 2
durations = np.linspace(1.6, 5.0, 12)
efforts = [solve(hop(float(T))).check().objective for T in durations]
unhurried = solve(hop(free(0.5, 20))).check()
best = unhurried.phases["main"].tf

figure, axes = plt.subplots(figsize=(6.4, 3.2))
axes.plot(durations, efforts, "o-", label="duration given")
axes.plot(best, unhurried.objective, "*", markersize=14, label=f"duration free: {best:.3f} s")
axes.plot(durations, hover * durations, "--", color="0.5", label="hovering only, m² g² T / 2")
axes.set(xlabel="duration [s]", ylabel="effort [N² s]", title="Haste costs, and so does waiting")
axes.legend()
plt.show()
assert unhurried.objective < min(efforts)

# %% [markdown]
# With a free final time and no explicit time dependence, the Hamiltonian is zero along the optimal
# trajectory. At the start, at rest, H is left² + right² plus costates times accelerations. The
# certificate checks this under
# *transversality* and *constancy of H*.

# %%
certificate = certify(unhurried)
print(certificate)
assert certificate.ok

# %% [markdown]
# ## Through a window
#
# The window is at x = 3 m, between heights of 2.4 and 2.6 m. A second phase is needed: the first
# ends in the window, where the second begins; `connect` makes states and time continuous. `require`
# states conditions on boundary values of phases.


# %%
def through_window(height=2.5, gap=0.2):
    ocp = Problem("drone-window")
    mass = ocp.parameter("mass", 1.0, unit="kg")
    before, after = ocp.phase("before"), ocp.phase("after")
    before.time(start=0, end=free(0.2, 3))
    after.time(end=free(0.5, 6))
    x, y, effort = fly(before, mass, (0, 1), None)
    *_, more = fly(after, mass, None, (6, 1))
    ocp.require(before.final(x), equals=3, name="at the window")
    ocp.require(before.final(y), lower=height - gap / 2, upper=height + gap / 2, name="through it")
    ocp.connect(before, after)
    ocp.minimize(effort + more)
    return ocp


window = solve(through_window(), progress=print).check()
passing = window["before", "y"](window.phases["before"].tf)
print(
    f"passes at {passing:.3f} m, arrives after {window.phases['after'].tf:.3f} s, effort "
    f"{window.objective:.2f} N² s"
)
assert certify(window).ok
figure, axes = plt.subplots(figsize=(7.5, 3.4))
axes.vlines([3, 3], [0, 2.6], [2.4, 3.2], color="0.3", linewidth=3)
strobe(window, axes)
axes.set_title("before the window (blue), after it (orange)")
plt.show()

# %% [markdown]
# A `Drawing` for animations consists of shapes whose positions are expressions in the states. It is
# used by `stills`, `animate(window, drawing, "drone.gif")` and the report.

# %%
x, y, tilt = SX.sym("x"), SX.sym("y"), SX.sym("tilt")
across, up = 2 * ARM * cos(tilt), 2 * ARM * sin(tilt)
body = Rod(((x - across, y - up), (x + across, y + up)), 1)
wall = (Ground(((3.0, 0.0), (3.0, 2.4))), Ground(((3.0, 2.6), (3.0, 3.2))))
stills(window, Drawing((*wall, Trail((x, y)), body, Mark((x, y), 4))), count=4)

# %% [markdown]
# The drone passes at the lower edge, since height costs work that is not recovered. The multiplier
# of the condition is the derivative of the effort with respect to the height of the window, for
# small changes.

# %%
lower = solve(through_window(height=2.49), guess=window).check()
fall = (window.objective - lower.objective) / 0.01
print(
    f"multiplier {window.multipliers['through it']:.3f} N² s/m, by a window 1 cm lower {fall:.3f} "
    "N² s/m"
)
assert abs(abs(window.multipliers["through it"]) - fall) < 0.02 * fall

# %% [markdown]
# ## With a load
#
# `parameters={"mass": ...}` changes the mass without rebuilding the problem, and `guess=` starts
# from the previous solution. The problem is stated once for all masses.

# %%
ocp, flown = through_window(), window
figure, (left_axes, right_axes) = plt.subplots(1, 2, figsize=(9, 3.2))
for mass in (1.0, 1.4, 1.8, 2.2):
    flown = solve(ocp, guess=flown, parameters={"mass": mass}).check()
    for number, (name, phase) in enumerate(flown.phases.items()):
        t = np.linspace(phase.t0, phase.tf, 120)
        look = {
            "color": f"C{round((mass - 1) / 0.4)}",
            "label": f"{mass:g} kg" if number == 0 else None,
        }
        left_axes.plot(flown[name, "x"](t), flown[name, "y"](t), **look)
        right_axes.plot(t, flown[name, "left"](t), **look)
    print(
        f"{mass:.1f} kg: {flown.phases['after'].tf:.3f} s, effort {flown.objective:6.1f} N² s, "
        f"{flown.iterations} iterations"
    )
left_axes.set(xlabel="x [m]", ylabel="y [m]", title="path")
right_axes.axhline(14, linestyle="--", color="0.3", linewidth=0.9)
right_axes.set(
    xlabel="t [s]", ylabel="left thrust [N]", title="the heavier, the nearer to the limit (dashed)"
)
left_axes.legend()
plt.show()

# %% [markdown]
# ## Errors
#
# Error messages use the names of the statement. A state without a derivative:

# %%
ocp = Problem("forgotten")
ph = ocp.phase()
ph.time(start=0, end=1)
x = ph.state("x", start=0, end=1, unit="m")
v = ph.state("v", start=0, unit="m/s")
force = ph.control("force", lower=-1, upper=1, unit="N")
ph.dynamics({x: v})
ocp.minimize(ph.integral(force**2))
try:
    solve(ocp)
except TrajoptError as error:
    print(error)

# %% [markdown]
# An infeasible problem: a drone of 3 kg, more than 28 N of thrust can lift. No exception is raised;
# the status reports the failure, the explanation the violated equations with time and amount.
# `check()` would raise this text as an error.

# %%
heavy = solve(hop(), parameters={"mass": 3.0})
print(heavy.status.value)
print("\n".join(heavy.explanation))
assert not heavy.success

# %% [markdown]
# ## Summary

# %%
saved, hovering = 1 - unhurried.objective / flight.objective, hover * best
print(f"least effort in 3 s     {flight.objective:.4f} N² s")
print(
    f"least effort at all     {unhurried.objective:.4f} N² s in {best:.4f} s, {saved:.0%} less; "
    f"hovering alone {hovering:.1f}"
)
print(f"through the window      {window.objective:.4f} N² s in {window.phases['after'].tf:.4f} s")
print(f"certified               {certificate.ok}, {certify(window).ok}")
print("two wrong statements    both refused, with the reason")
