"""YAPSS: Legendre-Gauss-Lobatto on a mesh chosen by hand (it has no refinement), exact second
derivatives.
"""

import numpy as np
from stopwatch import Answer, main
from yapss import Problem
from yapss import math as functions

MESHES = {"P1": (10, 5), "P2": (60, 5), "P3": (20, 5), "P5": (25, 5)}  # intervals, points each


def layered():
    """Fractions that fall towards both ends, for the boundary layers."""
    rise = np.geomspace(1e-5, 0.5, 30)
    fractions = np.diff(np.concatenate([[0], rise, (1 - rise[::-1])[1:], [1]]))
    return tuple(fractions / fractions.sum())


def solve(problem, s):
    ocp = Problem(
        name=problem,
        nx=[s.size],
        nu=[1],
        nq=[1 if s.running_cost else 0],
        nd=1 if s.end_condition is not None else 0,
    )
    _functions(ocp, s)
    _bounds(ocp, s)
    _guess(ocp, s)
    ocp.derivatives.order, ocp.derivatives.method = "second", "auto"
    ocp.spectral_method = "lgl"
    ocp.ipopt_options.print_level, ocp.ipopt_options.tol = 0, 1e-8
    mesh = ocp.mesh.phase[0]
    if problem in MESHES:
        intervals, points = MESHES[problem]
        mesh.fraction, mesh.collocation_points = (1 / intervals,) * intervals, (points,) * intervals
    else:
        mesh.fraction = layered()
        mesh.collocation_points = (5,) * len(mesh.fraction)
    solution = ocp.solve()
    if solution.nlp_info.ipopt_status not in (0, 1):  # solved, or solved to an acceptable level
        raise RuntimeError(solution.nlp_info.ipopt_status_message)
    return Answer(float(solution.objective), None, "mesh by hand")


def _functions(ocp, s):
    def objective(arg):
        end = arg.phase[0]
        arg.objective = (
            end.integral[0] if s.running_cost else s.end_cost(end.final_state, end.final_time)
        )

    def continuous(arg):
        x, u = arg.phase[0].state, arg.phase[0].control[0]
        arg.phase[0].dynamics[:] = s.rates(x, u, functions)
        if s.running_cost:
            arg.phase[0].integrand[:] = (s.running_cost(x, u),)

    ocp.functions.objective, ocp.functions.continuous = objective, continuous
    if s.end_condition is not None:

        def discrete(arg):
            arg.discrete[0] = s.end_condition(arg.phase[0].final_state)

        ocp.functions.discrete = discrete
        ocp.bounds.discrete.lower[:] = ocp.bounds.discrete.upper[:] = [0]


def _bounds(ocp, s):
    b = ocp.bounds.phase[0]
    b.initial_time.lower = b.initial_time.upper = 0
    b.final_time.lower, b.final_time.upper = s.time_limits
    b.initial_state.lower[:] = b.initial_state.upper[:] = s.start
    b.state.lower[:], b.state.upper[:] = s.lower, s.upper
    b.control.lower[:], b.control.upper[:] = [s.control[0]], [s.control[1]]
    for i, value in enumerate(s.end):
        if value is not None:
            b.final_state.lower[i] = b.final_state.upper[i] = value


def _guess(ocp, s):
    tau, g = np.linspace(0, 1, 41), ocp.guess.phase[0]
    g.time = s.time_guess * tau
    g.state = np.array([s.guess(a) for a in tau]).T
    g.control = np.array([[s.control_guess(a) for a in tau]])
    if s.running_cost:
        g.integral = [10.0]


if __name__ == "__main__":
    main(solve)
