"""rockit: collocation on a uniform grid, one control value for each interval; no refinement, so not for layers."""

import math

import casadi
from rockit import DirectCollocation, FreeTime, Ocp
from stopwatch import Answer, main

GRIDS = {"P1": (12, 4), "P2": (100, 3), "P3": (25, 5), "P5": (25, 5)}  # intervals, degree


def solve(problem, s):
    if problem not in GRIDS:
        raise RuntimeError("not attempted: a uniform grid cannot have layers")
    ocp = Ocp(t0=0, T=FreeTime(s.time_guess) if s.free_time else s.time_guess)
    states, u = [ocp.state() for _ in range(s.size)], ocp.control()
    for x, rate in zip(states, s.rates(states, u, casadi), strict=True):
        ocp.set_der(x, rate)
    ends = [ocp.at_tf(x) for x in states]
    ocp.add_objective(ocp.integral(s.running_cost(states, u)) if s.running_cost else s.end_cost(ends, ocp.T))
    if s.end_condition is not None:
        ocp.subject_to(s.end_condition(ends) == 0)
    _conditions(ocp, s, states, u)
    ocp.set_initial(u, _line(ocp, s, s.control_guess))
    ocp.solver("ipopt", {"expand": True, "print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-8}})
    intervals, degree = GRIDS[problem]
    ocp.method(DirectCollocation(N=intervals, M=1, degree=degree))
    solution = ocp.solve()
    return Answer(float(solution.value(ocp.objective)), solution.stats["iter_count"], "uniform, constant controls")


def _line(ocp, s, guess):
    """A guess as rockit takes it: linear in time, or one value where the time itself is free."""
    return guess(0.5) if s.free_time else guess(0.0) + (guess(1.0) - guess(0.0)) * ocp.t / s.time_guess


def _conditions(ocp, s, states, u):
    for i, x in enumerate(states):
        ocp.subject_to(ocp.at_t0(x) == s.start[i])
        if s.end[i] is not None:
            ocp.subject_to(ocp.at_tf(x) == s.end[i])
        if math.isfinite(s.lower[i]) and math.isfinite(s.upper[i]):
            ocp.subject_to(s.lower[i] <= (x <= s.upper[i]), include_first=False, include_last=s.end[i] is None)
        ocp.set_initial(x, _line(ocp, s, lambda tau, i=i: s.guess(tau)[i]))
    if math.isfinite(s.control[0]):
        ocp.subject_to(s.control[0] <= (u <= s.control[1]))
    if s.free_time:
        shortest, longest = s.time_limits
        duration = ocp.T
        ocp.subject_to(shortest <= (duration <= longest))


if __name__ == "__main__":
    main(solve)
