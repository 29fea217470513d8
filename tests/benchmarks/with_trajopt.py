"""trajopt with default settings: no mesh, no degree, no options."""

import math

import biped
import casadi
from stopwatch import Answer, main

from trajopt import Problem, free, solve
from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh import Mesh


def build(title, s):
    if title == "P6":
        return build_biped()
    ocp = Problem(title)
    ph = ocp.phase()
    t = ph.time(
        start=0, end=free(*s.time_limits, guess=s.time_guess) if s.free_time else s.time_guess
    )
    states = []
    for i in range(s.size):
        limits = {"lower": s.lower[i], "upper": s.upper[i]}
        limits = {side: value for side, value in limits.items() if math.isfinite(value)}
        states.append(
            ph.state(
                f"x{i}",
                start=s.start[i],
                end=s.end[i],
                guess=lambda tau, i=i: s.guess(tau)[i],
                **limits,
            )
        )
    limits = {
        side: value
        for side, value in zip(("lower", "upper"), s.control, strict=True)
        if math.isfinite(value)
    }
    u = ph.control("u", guess=s.control_guess, **limits)
    ph.dynamics(dict(zip(states, s.rates(states, u, casadi), strict=True)))
    if s.end_condition is not None:
        ocp.require(ph.final(s.end_condition(states)), equals=0, name="end")
    ocp.minimize(
        ph.integral(s.running_cost(states, u))
        if s.running_cost
        else ph.final(s.end_cost(states, t))
    )
    return ocp


def build_biped():
    ocp = Problem("P6")
    ph = ocp.phase()
    ph.time(start=0, end=biped.TIME)
    q = ph.state(
        "q", 5, lower=-biped.ANGLE, upper=biped.ANGLE, guess=lambda tau: biped.guess(tau)[0]
    )
    v = ph.state("v", 5, lower=-biped.RATE, upper=biped.RATE, guess=lambda tau: biped.guess(tau)[1])
    u = ph.control("u", 4, lower=-biped.TORQUE, upper=biped.TORQUE)
    M, right = biped.equations(q, v, u, casadi)
    ph.dynamics(
        {
            q: v,
            v: casadi.solve(
                casadi.vertcat(*[casadi.horzcat(*row) for row in M]), casadi.vertcat(*right)
            ),
        }
    )
    ends = ph.initial(q), ph.initial(v), ph.final(q), ph.final(v)
    ocp.require(casadi.vertcat(*biped.equalities(*ends, casadi)), equals=0, name="step")
    ocp.require(casadi.vertcat(*biped.inequalities(*ends, casadi)), upper=0, name="foot")
    ph.path(casadi.vertcat(*biped.knees(q)), upper=0, name="knees")
    ocp.minimize(ph.integral(casadi.sumsqr(u)))
    return ocp


def answer(solution):
    last = solution.history[-1]
    remark = (
        f"{solution.status.name.lower()}, {len(solution.history)} meshes, {last.intervals} "
        "intervals"
    )
    return Answer(solution.objective, solution.iterations, remark)


def by_default(problem, s):
    return answer(solve(build(problem, s)).check())


def at_tolerance(problem, s, tolerance):
    return answer(solve(build(problem, s), tolerance=tolerance))


def on_fixed_mesh(s, intervals):
    return answer(
        solve(
            build("P3", s),
            Collocation(mesh=Mesh.uniform(intervals, 3), tolerance=math.inf, max_passes=1),
        ).check()
    )


if __name__ == "__main__":
    main(by_default, on_fixed_mesh, at_tolerance)
