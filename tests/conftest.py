"""A synthetic solution with all fields, to test files, plots and commands without a solver."""

import os
import signal
from types import SimpleNamespace

import casadi
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import MeshPass, PhaseSolution, Solution, Status

# A run in the background (nohup, or & in a script) ignores these signals, and so would the
# processes that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _curve(function, breaks, degrees, unit="", lower=None, upper=None, at_ends=True):
    """A function of time as a curve of given degrees."""
    breaks = np.asarray(breaks, dtype=float)
    nodes = tuple(
        np.linspace(0, 1, d + 1) if at_ends else (np.arange(d) + 0.5) / d for d in degrees
    )
    values = []
    for a, b, place in zip(breaks[:-1], breaks[1:], nodes, strict=True):
        values.append(
            np.array([np.atleast_1d(function(t)) for t in a + (b - a) * place], dtype=float)
        )
    limits = (
        None if limit is None else np.atleast_1d(np.asarray(limit, dtype=float))
        for limit in (lower, upper)
    )
    return Curve(breaks, nodes, tuple(values), *limits, unit, time_unit="s")


def _phase(name, t0, tf, degrees=(3, 5, 2)):
    breaks = np.linspace(t0, tf, len(degrees) + 1)
    return PhaseSolution(
        name=name,
        t0=t0,
        tf=tf,
        states={
            "z last": _curve(lambda t: np.sin(t), breaks, degrees, "m"),
            "r": _curve(lambda t: [np.cos(t), np.sin(t), t / 3], breaks, degrees, "m/s"),
        },
        controls={
            "u/limit": _curve(
                lambda t: np.clip(3 * np.cos(2 * t), -1, 1),
                breaks,
                degrees,
                "N",
                -1.0,
                1.0,
                at_ends=False,
            )
        },
        algebraics={"λ": _curve(lambda t: np.exp(-t), breaks, degrees, at_ends=False)},
        costates={
            "z last": _curve(lambda t: -np.sin(t), breaks, degrees, "1/m"),
            "r": _curve(lambda t: [t, 1.0, -t], breaks, degrees),
        },
        path_multipliers={
            "no crash": _curve(lambda t: max(0.0, np.sin(t)), breaks, degrees, at_ends=False)
        },
        integrals=np.array([1.0 / 3.0, np.pi]),
        breaks=breaks,
        degrees=degrees,
        errors=np.array([1e-9, 3e-7, 2e-8])[: len(degrees)],
        time_unit="s",
    )


def _solution(status=Status.SOLVED, phases=2, **changes):
    ends = np.linspace(0.0, 2.5, phases + 1)
    names = ["stance", "flight/free", "landing"][:phases]
    content = {
        "problem": "hand-made",
        "method": "direct",
        "status": status,
        "objective": 1.0 / 3.0,
        "phases": {
            name: _phase(name, a, b) for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)
        },
        "variables": {"length": np.array([0.1 + 0.2]), "offsets": np.array([1.0, -2.0])},
        "parameters": {"mass": np.array([70.0])},
        "multipliers": {"r from 'stance' to 'flight/free'[0]": -0.25, "end height": 1e-17},
        "arcs": (
            Arc(names[0], 0.0, 0.4, {"u/limit": "upper"}),
            Arc(names[0], 0.4, float(ends[1]), {"u/limit": "interior"}),
            Arc(names[-1], float(ends[-2]), float(ends[-1]), {"u/limit": "singular"}),
        ),
        "history": (
            MeshPass(10, 31, 12, 1e-3, 0.34, 0.02, "first mesh"),
            MeshPass(14, 50, 4, 3e-7, 1 / 3, 0.03),
        ),
        "error": 3e-7,
        "tolerance": 1e-6,
        "iterations": 16,
        "seconds": {"build": 0.01, "solve": 0.05, "total": 0.06},
        "explanation": ()
        if status is Status.SOLVED
        else ("worst: 'end height' by 0.3 m at t = 2.5 s",),
        "log": ("line of the log",),
        "options": {
            "backend": "ipopt",
            "tolerance": 1e-6,
            "max_iterations": 500,
            "scaled": True,
            "nothing": None,
        },
        "versions": {"trajopt": "0.1.0", "casadi": "3.8"},
    }
    return Solution(**(content | changes))


@pytest.fixture(autouse="asan" in os.environ.get("LD_PRELOAD", ""))
def no_plugins(monkeypatch):
    """Under the address sanitizer (.ci/core) a plugin of CasADi ends the process without a message:
    fail with one before.
    """

    def refused(name, plugin, *rest):
        pytest.fail(
            f"the test loads CasADi's plugin '{plugin}' under the sanitizers: mark it with "
            "@pytest.mark.plugins"
        )

    monkeypatch.setattr(casadi, "nlpsol", refused)


@pytest.fixture
def handmade():
    """handmade(status, phases, **changes) makes a solution."""
    return _solution


def _fast(function, p):
    """A function of (t, x) and one more state that it does not depend on, without CasADi's overhead
    for each call.
    """
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
    """States by name at the end, invariants' largest deviation, and the energy that forces do not
    account for.
    """
    p = system.parameter_values
    power = system.outputs["power"][0] if "power" in system.outputs else casadi.SX(0)
    n = len(system.states)
    rate = _fast(system.function(casadi.densify(casadi.vertcat(system.rate, power))), p)
    until = until or system.until
    run = solve_ivp(
        rate, (0.0, until), np.append(system.start, 0.0), method="DOP853", rtol=rtol, atol=atol
    )
    assert run.success
    drift = {}
    for invariant in system.invariants:
        g = system.function(invariant.expression)
        values = [float(g(t, x[:n], p)) for t, x in zip(run.t, run.y.T, strict=True)]
        drift[invariant.name] = max(
            abs(v - (values[0] if invariant.order == 0 else 0.0)) for v in values
        )
    imbalance = None
    if "energy" in system.outputs:
        E = system.function(system.outputs["energy"][0])
        imbalance = (
            float(E(until, run.y[:n, -1], p)) - float(E(0.0, system.start, p)) - run.y[n, -1]
        )
    final = {s.name: v for s, v in zip(system.states, run.y[:, -1], strict=False)}
    return SimpleNamespace(final=final, x=run.y[:n, -1], drift=drift, imbalance=imbalance, run=run)


@pytest.fixture(scope="session")
def motion():
    return _motion
