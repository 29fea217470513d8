"""maptor: Radau pseudospectral with its own hp refinement, estimate 1e-6."""

import itertools
import math

import casadi
import maptor
import numpy as np
from stopwatch import Answer, main

# intervals, degree
FIRST = {"P1": (4, 6), "P2": (20, 4), "P3": (6, 6), "P4": (20, 6), "P5": (6, 6)}
QUIET = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": 0, "ipopt.tol": 1e-8}


def solve(problem, s):
    ocp = maptor.Problem(problem)
    phase = ocp.set_phase(1)
    t = phase.time(initial=0.0, final=s.time_limits if s.free_time else s.time_guess)
    states = [phase.state(f"x{i}", **_limits(s, i)) for i in range(s.size)]
    u = phase.control("u", **({"boundary": s.control} if math.isfinite(s.control[0]) else {}))
    phase.dynamics(dict(zip(states, s.rates(states, u, casadi), strict=True)))
    ends = [x.final for x in states]
    ocp.minimize(
        phase.add_integral(s.running_cost(states, u))
        if s.running_cost
        else s.end_cost(ends, t.final)
    )
    if s.end_condition is not None:
        phase.event_constraints(s.end_condition(ends) == 0)
    _mesh_and_guess(phase, s, *FIRST[problem])
    solution = maptor.solve_adaptive(
        ocp,
        error_tolerance=1e-6,
        max_iterations=25,
        max_polynomial_degree=12,
        ode_solver_tolerance=1e-8,
        show_summary=False,
        nlp_options=QUIET,
    )
    if not solution.status["success"]:
        raise RuntimeError(solution.status["message"])
    passes = (solution.adaptive or {}).get("iterations")
    return Answer(float(solution.status["objective"]), None, f"adaptive, {passes} meshes")


def _limits(s, i):
    options = {"initial": float(s.start[i])}
    if s.end[i] is not None:
        options["final"] = float(s.end[i])
    sides = tuple(side if math.isfinite(side) else None for side in (s.lower[i], s.upper[i]))
    return options | ({"boundary": sides} if sides != (None, None) else {})


def _mesh_and_guess(phase, s, intervals, degree):
    breaks = np.linspace(0, 1, intervals + 1)
    phase.mesh([degree] * intervals, 2 * breaks - 1)
    states, controls = [], []
    for a, b in itertools.pairwise(breaks):
        tau = np.linspace(a, b, degree + 1)
        states.append(np.array([s.guess(q) for q in tau]).T)
        controls.append(np.array([[s.control_guess(q) for q in tau[:-1]]]))
    extra = {"integrals": 10.0} if s.running_cost else {}
    phase.guess(
        states=states,
        controls=controls,
        initial_time=0.0,
        terminal_time=float(s.time_guess),
        **extra,
    )


if __name__ == "__main__":
    main(solve)
