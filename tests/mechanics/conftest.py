"""Forward integration by an integrator that is not ours, and trees of links to try things on."""

from dataclasses import replace
from types import SimpleNamespace

import casadi
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from trajopt.mechanics import Coordinate, Level, Link, Slide, Tree, Turn, rod


def _fast(function, p):
    """A function of (t, x) and one more state that it does not depend on, without CasADi's overhead for each call."""
    buffer, evaluate = function.buffer()
    t, x, out = np.zeros(1), np.zeros(function.size1_in(1)), np.zeros(function.size1_out(0))
    arguments = (t, x, np.asarray(p, dtype=float))
    for k, array in enumerate(arguments):
        buffer.set_arg(k, memoryview(array))
    buffer.set_res(0, memoryview(out))

    def call(time, state):
        t[0], x[:] = time, state[: len(x)]
        evaluate()
        return out.copy()

    call.keep = (buffer, arguments)  # the buffer holds no reference to what it points to
    return call


def _motion(system, until=None, rtol=1e-11, atol=1e-12):
    """States by name at the end, invariants' largest deviation, and the energy that forces do not account for."""
    p = system.parameter_values
    power = system.outputs["power"][0] if "power" in system.outputs else casadi.SX(0)
    n = len(system.states)
    rate = _fast(system.function(casadi.densify(casadi.vertcat(system.rate, power))), p)
    until = until or system.until
    run = solve_ivp(rate, (0.0, until), np.append(system.start, 0.0), method="DOP853", rtol=rtol, atol=atol)
    assert run.success
    drift = {}
    for invariant in system.invariants:
        g = system.function(invariant.expression)
        values = [float(g(t, x[:n], p)) for t, x in zip(run.t, run.y.T, strict=True)]
        drift[invariant.name] = max(abs(v - (values[0] if invariant.order == 0 else 0.0)) for v in values)
    imbalance = None
    if "energy" in system.outputs:
        E = system.function(system.outputs["energy"][0])
        imbalance = float(E(until, run.y[:n, -1], p)) - float(E(0.0, system.start, p)) - run.y[n, -1]
    final = {s.name: v for s, v in zip(system.states, run.y[:, -1], strict=False)}
    return SimpleNamespace(final=final, x=run.y[:n, -1], drift=drift, imbalance=imbalance, run=run)


@pytest.fixture(scope="session")
def motion():
    return _motion


def _random_tree(links, planar, seed=1):
    rng = np.random.default_rng(seed)
    made = []
    for k in range(links):
        axis = "z" if planar else tuple(rng.standard_normal(3))
        parent = "ground" if k == 0 else f"link{rng.integers(max(0, k - 3), k)}"
        joint = (Slide("x", 0.3), Turn(axis, Coordinate(f"q{k}", unit="rad")))
        made.append(Link(f"link{k}", parent, joint, 1.0 + 0.1 * k, (0.15, 0.02, 0.01), (0.01, 0.02, 0.025)))
    return Tree("random", tuple(made), gravity=(0.0, -9.8, 1.0))


def _exoskeleton():
    """Foot on a slope, leg and body in heading and elevation, three variable lengths."""
    q = {n: Coordinate(n) for n in ("x0", "y0", "phi0", "phi1", "phi2", "psi1", "psi2", "q8", "q9", "q10")}
    up = (0.0, -1.0, 0.0)  # a turn about -y raises the x axis
    foot = rod("foot", "ground", (Slide("x", q["x0"]), Slide("y", q["y0"]), Turn("z", q["phi0"])), 5.0, 0.5)
    leg = rod("leg", "foot", (Level(), Turn("z", q["phi1"]), Turn(up, q["psi1"]), Slide("x", q["q8"])), 5.0, 1.0)
    hip = (Slide("x", 1.0), Slide("x", q["q10"]), Level(), Turn("z", q["phi2"]), Turn(up, q["psi2"]), Slide("x", q["q9"]))
    slope = np.radians(15)
    gravity = (9.8 * np.sin(slope), 0.0, -9.8 * np.cos(slope))
    tree = Tree("exoskeleton", (replace(foot, centre=(0, 0, 0)), leg, rod("body", "leg", hip, 10.0, 1.0)), gravity)
    return tree, q


@pytest.fixture(scope="session")
def random_tree():
    return _random_tree


@pytest.fixture(scope="session")
def exoskeleton():
    return _exoskeleton()
