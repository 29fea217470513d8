"""ASSET with its adaptive mesh; segments, tolerances and line search are the best found for each
problem.
"""

import math

import asset_asrl as asset
import biped
import numpy as np
from stopwatch import Answer, main

functions, control = asset.VectorFunctions, asset.OptimalControl
SEGMENTS = {"P1": 8, "P2": 60, "P3": 16, "P4": 50, "P5": 16, "P6": 8}


class Dynamics(control.ODEBase):
    def __init__(self, s):
        arguments = control.ODEArguments(s.size, 1)
        rates = s.rates([arguments.XVar(i) for i in range(s.size)], arguments.UVar(0), functions)
        super().__init__(functions.stack(rates) if len(rates) > 1 else rates[0], s.size, 1)


class BipedDynamics(control.ODEBase):
    def __init__(self):
        arguments = control.ODEArguments(10, 4)
        x, u = [arguments.XVar(i) for i in range(10)], [arguments.UVar(i) for i in range(4)]
        M, right = biped.equations(x[:5], x[5:], u, functions)
        # M is symmetric
        inverse = functions.ColMatrix([functions.stack(column) for column in M]).inverse()
        super().__init__(
            functions.stack([arguments.XVec().tail(5), inverse * functions.stack(right)]), 10, 4
        )


def make_biped(segments):
    guess = [
        [*np.concatenate(biped.guess(tau)), biped.TIME * tau, 0, 0, 0, 0]
        for tau in np.linspace(0, 1, 51)
    ]
    phase = BipedDynamics().phase("LGL5", guess, segments)
    phase.addBoundaryValue("Front", [10], [0])
    phase.addBoundaryValue("Back", [10], [biped.TIME])
    both = functions.Arguments(20)
    ends = [[both[k + i] for i in range(5)] for k in (0, 5, 10, 15)]
    phase.addEqualCon(
        "FrontandBack", functions.stack(biped.equalities(*ends, functions)), list(range(10))
    )
    phase.addInequalCon(
        "FrontandBack", functions.stack(biped.inequalities(*ends, functions)), list(range(10))
    )
    angles = functions.Arguments(5)
    phase.addInequalCon(
        "Path", functions.stack(biped.knees([angles[i] for i in range(5)])), list(range(5))
    )
    limits = [biped.ANGLE] * 5 + [biped.RATE] * 5 + [None] + [biped.TORQUE] * 4
    for i, limit in enumerate(limits):
        if limit is not None:
            phase.addLUVarBound("Path", i, -limit, limit, 1.0)
    phase.addIntegralObjective(functions.Arguments(4).squared_norm(), range(11, 15))
    return phase


def make_phase(problem, s, segments):
    if problem == "P6":
        return make_biped(segments)
    n = s.size
    singular, layered = problem == "P2", problem == "P4"
    samples = np.linspace(0, 1, 2001 if singular or layered else 101)
    states = (lambda tau: [0.0]) if layered else s.guess
    guess = [[*states(tau), s.time_guess * tau, s.control_guess(tau)] for tau in samples]
    phase = Dynamics(s).phase("LGL3" if singular else "LGL5", guess, segments)
    if singular:
        phase.setControlMode("BlockConstant")
    if layered:
        phase.refineTrajManual([0, 0.001, 0.01, 0.99, 0.999, 1], [20, 10, 10, 10, 20])
    phase.addBoundaryValue("Front", range(n + 1), [*s.start, 0])
    known = [i for i in range(n) if s.end[i] is not None]
    values = [s.end[i] for i in known]
    phase.addBoundaryValue(
        "Back",
        known + ([] if s.free_time else [n]),
        values + ([] if s.free_time else [s.time_guess]),
    )
    if s.free_time:
        phase.addLUVarBound("Back", n, *s.time_limits, 1.0)
    for i in range(n):
        if math.isfinite(s.lower[i]) and math.isfinite(s.upper[i]):
            phase.addLUVarBound("Path", i, s.lower[i], s.upper[i], 1.0)
    if math.isfinite(s.control[0]):
        phase.addLUVarBound("Path", n + 1, *s.control, 1.0)
    _add_cost(phase, problem, s)
    return phase


def _add_cost(phase, problem, s):
    n = s.size
    if s.running_cost is not None:
        here = functions.Arguments(n + 1)
        phase.addIntegralObjective(
            s.running_cost([here[i] for i in range(n)], here[n]), [*range(n), n + 1]
        )
    elif problem == "P1":
        phase.addDeltaTimeObjective(1.0)
    else:
        phase.addValueObjective("Back", 0, -1.0)
    if s.end_condition is not None:
        here = functions.Arguments(n)
        phase.addEqualCon("Back", s.end_condition([here[i] for i in range(n)]), list(range(n)))


def configure(phase, problem):
    optimizer = phase.optimizer
    optimizer.PrintLevel = 3
    phase.setThreads(1, 1)
    if problem not in ("P2", "P4"):  # these two converge at the default tolerances only
        optimizer.EContol, optimizer.KKTtol = 1e-9, 1e-8
    if problem == "P2":
        optimizer.BoundFraction, optimizer.MaxLSIters, optimizer.MaxIters = 0.995, 2, 200
    optimizer.set_OptLSMode("NOLS")
    optimizer.MaxAccIters = 50


def adaptive(problem, s):
    phase = make_phase(problem, s, SEGMENTS[problem])
    configure(phase, problem)
    phase.setAdaptiveMesh(True)
    phase.setMeshTol(1e-6 if problem == "P2" else 1e-7)
    phase.setMaxMeshIters(15)
    phase.PrintMeshInfo = False
    return optimise(phase, problem, s)


def on_fixed_mesh(s, segments):
    phase = make_phase("P3", s, segments)
    configure(phase, "P3")
    return optimise(phase, "P3", s)


def optimise(phase, problem, s):
    flag = phase.optimize()
    trajectory = np.array(phase.returnTraj())
    ending = str(flag).split(".")[-1].lower()
    if ending not in ("converged", "acceptable"):
        raise RuntimeError(f"ended with {flag}")
    # a row: states, time, control
    objective = {"P1": trajectory[-1, -2], "P2": -trajectory[-1, 0], "P5": -trajectory[-1, 0]}
    cost = float(objective.get(problem, phase.optimizer.LastObjVal))
    return Answer(cost, int(phase.optimizer.LastIterNum), f"{ending}, {len(trajectory)} points")


if __name__ == "__main__":
    main(adaptive, on_fixed_mesh)
