"""CasADi's Opti: Radau collocation written by hand on a uniform mesh, one control value for each
collocation point.
"""

import biped
import casadi
from stopwatch import Answer, main

INTERVALS, DEGREE = 10, 4
OPTIONS = {"print_time": False}


def solve(problem, s):
    if problem != "P6":
        raise RuntimeError("not attempted")
    opti = casadi.Opti()
    h = biped.TIME / INTERVALS
    points = casadi.collocation_points(DEGREE, "radau")
    C, _, weights = casadi.collocation_coeff(points)
    rates = biped_rates()
    here, cost = opti.variable(10), 0
    first = here
    opti.set_initial(here, casadi.vertcat(*biped.guess(0.0)))
    limit(opti, here)
    for k in range(INTERVALS):
        x, u = opti.variable(10, DEGREE), opti.variable(4, DEGREE)
        for j in range(DEGREE):
            opti.set_initial(x[:, j], casadi.vertcat(*biped.guess((k + points[j]) / INTERVALS)))
            limit(opti, x[:, j])
        opti.subject_to(opti.bounded(-biped.TORQUE, casadi.vec(u), biped.TORQUE))
        opti.subject_to(casadi.mtimes(casadi.horzcat(here, x), C) == h * rates.map(DEGREE)(x, u))
        cost += h * casadi.mtimes(casadi.sum1(u**2), weights)
        here = x[:, -1]
    ends = [[end[i + n] for i in range(5)] for end in (first, here) for n in (0, 5)]
    opti.subject_to(casadi.vertcat(*biped.equalities(*ends, casadi)) == 0)
    opti.subject_to(casadi.vertcat(*biped.inequalities(*ends, casadi)) <= 0)
    opti.minimize(cost)
    opti.solver("ipopt", OPTIONS, {"print_level": 0, "sb": "yes", "tol": 1e-8})
    solution = opti.solve()
    return Answer(float(solution.value(cost)), solution.stats()["iter_count"], "mesh by hand")


def limit(opti, x):
    opti.subject_to(opti.bounded(-biped.ANGLE, x[:5], biped.ANGLE))
    opti.subject_to(opti.bounded(-biped.RATE, x[5:], biped.RATE))
    opti.subject_to(casadi.vertcat(*biped.knees([x[i] for i in range(5)])) <= 0)


def biped_rates():
    """A function of scalar expressions, which IPOPT's derivatives are quick with."""
    x, u = casadi.SX.sym("x", 10), casadi.SX.sym("u", 4)
    M, right = biped.equations(x[:5], x[5:], u, casadi)
    matrix = casadi.vertcat(*[casadi.horzcat(*row) for row in M])
    return casadi.Function(
        "rates", [x, u], [casadi.vertcat(x[5:], casadi.solve(matrix, casadi.vertcat(*right)))]
    )


if __name__ == "__main__":
    main(solve)
