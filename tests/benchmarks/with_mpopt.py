"""mpopt: pseudospectral on a mesh chosen by hand; its own adaptive class for the problem with
layers.
"""

import casadi
from mpopt import mp
from stopwatch import Answer, main

# intervals, degree
MESHES = {"P1": (6, 5), "P2": (40, 4), "P3": (20, 5), "P4": (20, 8), "P5": (20, 5)}


def solve(problem, s):
    def components(x):
        return [x[i] for i in range(s.size)]

    def at_the_end(xf, tf, x0, t0):
        rows = [xf[i] - value for i, value in enumerate(s.end) if value is not None]
        return rows + ([s.end_condition(components(xf))] if s.end_condition is not None else [])

    ocp = mp.OCP(n_states=s.size, n_controls=1)
    ocp.dynamics[0] = lambda x, u, t: s.rates(components(x), u[0], casadi)
    if s.running_cost:
        ocp.running_costs[0] = lambda x, u, t: s.running_cost(components(x), u[0])
    else:
        ocp.terminal_costs[0] = lambda xf, tf, x0, t0: s.end_cost(components(xf), tf)
    ocp.terminal_constraints[0] = at_the_end
    ocp.x00[0], ocp.xf0[0], ocp.tf0[0] = list(s.start), s.guess(1.0), s.time_guess
    ocp.u00[0], ocp.uf0[0] = [s.control_guess(0.0)], [s.control_guess(1.0)]
    ocp.lbx[0], ocp.ubx[0] = list(s.lower), list(s.upper)
    ocp.lbu[0], ocp.ubu[0] = [s.control[0]], [s.control[1]]
    ocp.lbtf[0], ocp.ubtf[0] = s.time_limits
    ocp.midu[0] = 0
    ocp.validate()
    intervals, degree = MESHES[problem]
    method = (mp.mpopt_adaptive if problem == "P4" else mp.mpopt)(ocp, intervals, degree)
    method._MUTE_ = True
    if problem == "P4":
        method.lbh[0] = 1e-6
    method.create_solver(options={"ipopt.tol": 1e-8, "ipopt.max_iter": 500})
    answer = method.solve()
    stats = method.nlp_solver.stats()
    if not stats["success"]:
        raise RuntimeError(stats["return_status"])
    return Answer(
        float(answer["f"]), stats["iter_count"], "mesh by hand" if problem != "P4" else "adaptive"
    )


if __name__ == "__main__":
    main(solve)
