"""Compare sensitivities with central differences of fresh solves, on ten problems.

python tests/benchmarks/sensitivities.py [NAME ...]

Columns: relative differences of the derivatives of objective, times (ends and switches), states
and costates, the largest over all of a kind; the processor time of all derivatives of the
objective (adjoint), relative to that of a solve; and the warning, if there is one.
"""

import itertools
import sys
import time

import casadi as ca
import numpy as np

from problems.bike.wheelie import wheelie_entry
from trajopt import Problem, free, solve


def cart_pole():
    ocp = Problem("cart-pole")
    m = ocp.parameter("m", 0.3)
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, q = ph.state("x", start=0, end=1), ph.state("q", start=0, end=np.pi)
    dx, dq = ph.state("dx", start=0, end=0), ph.state("dq", start=0, end=0)
    u = ph.control("u", lower=-20, upper=20)
    s, c = ca.sin(q), ca.cos(q)
    ax = (0.5 * m * s * dq**2 + u + 9.81 * m * c * s) / (1 + m * s**2)
    aq = -(0.5 * m * c * s * dq**2 + u * c + (1 + m) * 9.81 * s) / (0.5 * (1 + m * s**2))
    ph.dynamics({x: dx, q: dq, dx: ax, dq: aq})
    ocp.minimize(ph.integral(u**2))
    return ocp


def moon_lander():
    ocp = Problem("moon-lander")
    thrust = ocp.parameter("thrust", 3.0)
    ph = ocp.phase()
    ph.time(start=0, end=free(0.1, 20))
    h, v = ph.state("h", start=10, end=0), ph.state("v", start=-2, end=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({h: v, v: thrust * u - 1.5})
    ocp.minimize(ph.integral(thrust * u))
    return ocp


def minimum_time():
    ocp = Problem("minimum-time")
    way, limit = ocp.parameter("way", 1.0), ocp.parameter("limit", 1.0)
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    x, v = ph.state("x", start=0, end=way), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-limit, upper=1)
    ph.dynamics({x: v, v: u - 0.2 * v})
    ocp.minimize(ph.final(t))
    return ocp


def goddard():
    ocp = Problem("goddard")
    thrust = ocp.parameter("thrust", 3.5)
    ph = ocp.phase()
    ph.time(start=0, end=free(0.01, 1, guess=0.2))
    h, v = ph.state("h", start=1, lower=1), ph.state("v", start=0, lower=0)
    m = ph.state("m", start=1, end=0.6, lower=0.6, upper=1)
    u = ph.control("u", lower=0, upper=1)
    drag = 310 * v**2 * ca.exp(-500 * (h - 1))
    ph.dynamics({h: v, v: (thrust * u - drag) / m - 1 / h**2, m: -thrust * u / 0.5})
    ocp.maximize(ph.final(h))
    return ocp


def bryson_denham():
    ocp = Problem("bryson-denham")
    wall = ocp.parameter("wall", 1 / 9)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=0, upper=wall), ph.state("v", start=1, end=-1)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2 / 2))
    return ocp


def bryson_denham_in_phases():
    """With its arcs as phases: to the wall, along it, and away."""
    ocp = Problem("bryson-denham-phases")
    wall = ocp.parameter("wall", 1 / 9)
    phases = [ocp.phase(name) for name in ("to", "along", "away")]
    cost = 0
    for i, ph in enumerate(phases):
        last = i == 2
        ph.time(**({"start": 0} if i == 0 else {}), end=(free(0.1, 0.45), free(0.5, 0.9), 1)[i])
        x = ph.state("x", start=0 if i == 0 else None, end=0 if last else wall)
        v = ph.state("v", start=1 if i == 0 else None, end=-1 if last else 0)
        u = ph.control("u")
        ph.dynamics({x: v, v: u})
        cost += ph.integral(u**2 / 2)
    for before, after in itertools.pairwise(phases):
        ocp.connect(before, after)
    ocp.minimize(cost)
    return ocp


def brachistochrone():
    ocp = Problem("brachistochrone")
    depth = ocp.parameter("depth", 2.0)
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.05, 10))
    x, y = ph.state("x", start=0, end=2), ph.state("y", start=0, end=depth)
    v, a = ph.state("v", start=0), ph.control("a", lower=0, upper=np.pi / 2)
    ph.dynamics({x: v * ca.sin(a), y: v * ca.cos(a), v: 9.81 * ca.cos(a)})
    ocp.minimize(ph.final(t))
    return ocp


def bounded_control():
    """A smooth control that reaches its bound, on a mesh whose points stay."""
    ocp = Problem("vanderpol")
    stiffness = ocp.parameter("stiffness", 1.0)
    ph = ocp.phase()
    ph.time(start=0, end=5)
    x, y = ph.state("x", start=1), ph.state("y", start=0)
    u = ph.control("u", lower=-0.75, upper=1)
    ph.dynamics({x: (1 - y**2) * x - stiffness * y + u, y: x})
    ocp.minimize(ph.integral(x**2 + y**2 + u**2))
    return ocp


def free_parameter():
    """The best stiffness of a spring for a motion of given duration, a static variable."""
    ocp = Problem("spring")
    damping = ocp.parameter("damping", 0.3)
    k = ocp.variable("k", lower=0.1, upper=50, guess=3.0)
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, v = ph.state("x", start=1, end=-0.5), ph.state("v", start=0, end=0)
    u = ph.control("u")
    ph.dynamics({x: v, v: u - k * x - damping * v})
    ocp.minimize(ph.integral(u**2) + 0.01 * k**2)
    return ocp


PROBLEMS = {
    "cart-pole": (cart_pole, "m"),
    "moon-lander": (moon_lander, "thrust"),
    "minimum-time": (minimum_time, "limit"),
    "goddard": (goddard, "thrust"),
    "bryson-denham": (bryson_denham, "wall"),
    "bryson-denham-phases": (bryson_denham_in_phases, "wall"),
    "brachistochrone": (brachistochrone, "depth"),
    "vanderpol-bounded": (bounded_control, "stiffness"),
    "spring": (free_parameter, "damping"),
    "wheelie-entry": (wheelie_entry, "rider_mass"),
}
STEP = 1e-4  # of the central differences, relative: their error falls with its square


def relative(mine, other, floor=1e-9):
    size = max(float(np.abs(other).max(initial=0.0)), floor)
    return float(np.abs(np.asarray(mine) - other).max(initial=0.0)) / size


def _switches(solution, phase):
    return [arc.end for arc in solution.arcs if arc.phase == phase][:-1]


def compared(build, name):
    """Differences of objective, times, states, costates; share of the time; the warning."""
    began = time.process_time()
    solution = solve(build(), tolerance=1e-8).check()
    of_solve = time.process_time() - began
    solution.sensitivities()  # tapes are made at the first use
    del vars(solution)["_sensitivities"]
    began = time.process_time()
    solution.sensitivities()
    share = (time.process_time() - began) / of_solve
    s = solution.sensitivity(name)
    width = 2 * STEP * s.value
    low, high = (
        solve(build(), parameters={name: s.value * (1 + by)}, tolerance=1e-9)
        for by in (-STEP, STEP)
    )
    found = {"J": relative(s.objective, (high.objective - low.objective) / width)}
    for phase, mine in s.phases.items():
        own, a, b = (answer.phases[phase] for answer in (solution, low, high))
        ends = [
            np.array([ph.t0, *_switches(answer, phase), ph.tf])
            for ph, answer in ((a, low), (b, high))
        ]
        times = (ends[1] - ends[0]) / width
        if times.shape != s.times[phase].shape:
            times, moved = times[[0, -1]], s.times[phase][[0, -1]]
        else:
            moved = s.times[phase]
        found["t"] = max(found.get("t", 0.0), relative(moved, times))
        inside = np.linspace(max(a.t0, b.t0, own.t0), min(a.tf, b.tf, own.tf), 41)[1:-1]
        jumps = _switches(solution, phase)
        near = np.zeros(inside.shape, dtype=bool)
        for jump in jumps:
            near |= np.abs(inside - jump) < 1e-3 * (own.tf - own.t0)
        inside = inside[~near]
        for kind, group, of in (("x", "states", own.states), ("l", "costates", own.states)):
            for state in of:
                differences = (
                    getattr(b, group)[state](inside) - getattr(a, group)[state](inside)
                ) / width
                value = relative(getattr(mine, group)[state](inside), differences, 1e-4)
                found[kind] = max(found.get(kind, 0.0), value)
    return found, share, s.warning


def main():
    names = sys.argv[1:] or list(PROBLEMS)
    print(f"{'':22}{'objective':>10}{'times':>10}{'states':>10}{'costates':>10}{'time':>8}")
    for name in names:
        found, share, warning = compared(*PROBLEMS[name])
        figures = "".join(f"{found[kind]:10.1e}" for kind in ("J", "t", "x", "l"))
        print(f"{name:22}{figures}{share:8.3f}  {warning}", flush=True)


if __name__ == "__main__":
    main()
