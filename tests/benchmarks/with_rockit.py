"""rockit: collocation on a uniform grid, controls constant on each interval (P6: linear); no
refinement, so not for layers.
"""

import math

import biped
import casadi
from rockit import DirectCollocation, FreeTime, Ocp
from stopwatch import Answer, main

# intervals, degree
GRIDS = {"P1": (12, 4), "P2": (100, 3), "P3": (25, 5), "P5": (25, 5), "P6": (25, 4)}
OPTIONS = {
    "expand": True,
    "print_time": False,
    "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-8},
}


def solve(problem, s):
    if problem == "P6":
        return solve_biped()
    if problem not in GRIDS:
        raise RuntimeError("not attempted: a uniform grid cannot have layers")
    ocp = Ocp(t0=0, T=FreeTime(s.time_guess) if s.free_time else s.time_guess)
    states, u = [ocp.state() for _ in range(s.size)], ocp.control()
    for x, rate in zip(states, s.rates(states, u, casadi), strict=True):
        ocp.set_der(x, rate)
    ends = [ocp.at_tf(x) for x in states]
    ocp.add_objective(
        ocp.integral(s.running_cost(states, u)) if s.running_cost else s.end_cost(ends, ocp.T)
    )
    if s.end_condition is not None:
        ocp.subject_to(s.end_condition(ends) == 0)
    _conditions(ocp, s, states, u)
    ocp.set_initial(u, _line(ocp, s, s.control_guess))
    ocp.solver("ipopt", OPTIONS)
    intervals, degree = GRIDS[problem]
    ocp.method(DirectCollocation(N=intervals, M=1, degree=degree))
    solution = ocp.solve()
    return Answer(
        float(solution.value(ocp.objective)),
        solution.stats["iter_count"],
        "uniform, constant controls",
    )


def solve_biped():
    ocp = Ocp(t0=0, T=biped.TIME)
    q, v, u = ocp.state(5), ocp.state(5), ocp.control(4, order=1)
    ocp.set_der(q, v)
    ocp.set_der(v, biped_acceleration()(q, v, u))
    ends = [components(end(x)) for end in (ocp.at_t0, ocp.at_tf) for x in (q, v)]
    for row in biped.equalities(*ends, casadi):
        ocp.subject_to(row == 0)
    for row in biped.inequalities(*ends, casadi):
        ocp.subject_to(row <= 0)
    for row in biped.knees(components(q)):
        ocp.subject_to(row <= 0)
    for x, limit in ((q, biped.ANGLE), (v, biped.RATE), (u, biped.TORQUE)):
        ocp.subject_to(-limit <= (x <= limit))
    begin, end = biped.guess(0.0)[0], biped.guess(1.0)[0]
    ocp.set_initial(q, begin + (end - begin) * ocp.t / biped.TIME)
    ocp.set_initial(v, biped.guess(0.0)[1])
    ocp.add_objective(ocp.integral(casadi.sumsqr(u)))
    ocp.solver("ipopt", OPTIONS | {"expand": False})  # three times as quick with a large model
    intervals, degree = GRIDS["P6"]
    ocp.method(DirectCollocation(N=intervals, M=1, degree=degree))
    solution = ocp.solve()
    return Answer(
        float(solution.value(ocp.objective)),
        solution.stats["iter_count"],
        "uniform, linear controls",
    )


def components(x):
    return [x[i] for i in range(x.numel())]


def biped_acceleration():
    """A function of scalar expressions, which IPOPT's derivatives are quick with."""
    q, v, u = (casadi.SX.sym("x", n) for n in (5, 5, 4))
    M, right = biped.equations(q, v, u, casadi)
    matrix = casadi.vertcat(*[casadi.horzcat(*row) for row in M])
    return casadi.Function(
        "acceleration", [q, v, u], [casadi.solve(matrix, casadi.vertcat(*right))]
    )


def _line(ocp, s, guess):
    """A guess as rockit takes it: linear in time, or one value where the time itself is free."""
    return (
        guess(0.5) if s.free_time else guess(0.0) + (guess(1.0) - guess(0.0)) * ocp.t / s.time_guess
    )


def _conditions(ocp, s, states, u):
    for i, x in enumerate(states):
        ocp.subject_to(ocp.at_t0(x) == s.start[i])
        if s.end[i] is not None:
            ocp.subject_to(ocp.at_tf(x) == s.end[i])
        if math.isfinite(s.lower[i]) and math.isfinite(s.upper[i]):
            ocp.subject_to(
                s.lower[i] <= (x <= s.upper[i]), include_first=False, include_last=s.end[i] is None
            )
        ocp.set_initial(x, _line(ocp, s, lambda tau, i=i: s.guess(tau)[i]))
    if math.isfinite(s.control[0]):
        ocp.subject_to(s.control[0] <= (u <= s.control[1]))
    if s.free_time:
        shortest, longest = s.time_limits
        duration = ocp.T
        ocp.subject_to(shortest <= (duration <= longest))


if __name__ == "__main__":
    main(solve)
