"""The Pontryagin flow of a power-limited rocket from given costates, its first integrals off their
levels and brought back.

The Cauchy problem of Kaspirovich's dissertation, section 4.2; what it leaves out is chosen here and
stated in ``README.md``.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import casadi
import numpy as np
from casadi import SX, dot, gradient, sumsqr, vertcat

from problems.rocket.central_field import coasting, rotation, scaling
from problems.rocket.drawings import flow_drawing
from problems.rocket.pictures import disturbed as pictures  # noqa: F401  # of its own
from trajopt.integrate import Dop853, Integrator, Stabilization, simulate
from trajopt.parameters import settable, setting
from trajopt.system import Invariant, System, Variable

AXES = ("x", "y", "z")
NAMES = (
    *AXES,
    *(f"v{a}" for a in AXES),
    "m",
    *(f"lam_{a}" for a in AXES),
    *(f"lam_v{a}" for a in AXES),
    "lam_m",
    "effort",
)

# Position, velocity and their multipliers at the start.  "document": a hyperbolic flight, costates
# ours.  "transfer": the reference of lawden-transfer, a bounded motion.  "long": the same transfer
# with a duration of 20, more than two revolutions.
DATA: Mapping[str, tuple[tuple[float, float, float], ...]] = MappingProxyType(
    {
        "document": (
            (1.0, 0.0, 0.0),
            (2.0, 2.0, 20.0),
            (0.0415, 0.0002, 0.01),
            (0.0002, 0.0515, 0.02),
        ),
        "transfer": (
            (1.0, 0.0, 0.0),
            (0.0, 1.0, 0.0),
            (0.0414923502, 0.0002292442, 0.0),
            (0.0002292442, 0.0514757711, 0.0),
        ),
        "long": (
            (1.0, 0.0, 0.0),
            (0.0, 1.0, 0.0),
            (0.009294550814, 0.000756716268, 0.0),
            (0.000756716268, 0.008902524009, 0.0),
        ),
    }
)
UNTIL = MappingProxyType({"document": 3.0, "transfer": 2 * np.pi, "long": 20.0})
GAINS = (1.0, 1000.0)  # of the document, for g1 and g2


@settable
def lawden_cauchy(
    eps_x=setting(0.01, "1", "deviation of x at the start"),
    eps_m=setting(None, "1", "deviation of m at the start; none: as eps_x", optional=True),
    data=setting(
        "document", "", "the document's start, or that of a transfer", choices=tuple(DATA)
    ),
    mass=setting(500.0, "1", "mass at the start", 1e-9),
    power=setting(500.0, "1", "jet power", 1e-9),
    integrals=setting(
        "g1, g2", "", "which first integrals are stabilized", choices=("g1, g2", "all")
    ),
) -> System:
    """The flow from a start that is off by ``eps_x`` in x and ``eps_m`` in m (the same where not
    given).

    The invariants are deviations from the levels of the unperturbed start: g1 = H and g2, which has
    3 C1 t in the place of 3 H t; ``integrals="all"`` adds the vector integral and b. Costates are
    scaled so that P/b = 1. Stabilization brings back the levels, not the unperturbed motion.
    """
    flow = _flow(power)
    undisturbed = np.array(
        [*np.ravel(DATA[data][:2]), mass, *np.ravel(DATA[data][2:]), power / mass**2, 0.0]
    )
    levels = {
        name: np.asarray(flow.function(g)(undisturbed)).ravel()
        for name, g in flow.constants.items()
    }
    g2 = flow.scaling + 3 * levels["g1"] * flow.time
    deviations = {
        "g1": flow.constants["g1"] - levels["g1"],
        "g2": g2 - np.asarray(flow.function(flow.scaling)(undisturbed)),
    }
    if integrals == "all":
        deviations |= {
            name: flow.constants[name] - casadi.DM(levels[name]) for name in ("rotation", "b")
        }
    start = undisturbed.copy()
    start[NAMES.index("x")] += eps_x
    start[NAMES.index("m")] += eps_x if eps_m is None else eps_m
    return System(
        "lawden-cauchy",
        flow.time,
        flow.x,
        tuple(Variable(name, float(value)) for name, value in zip(NAMES, start, strict=True)),
        flow.rate,
        # Order 1: kept at zero; a first integral of order 0 would be kept at the value that it has
        # after the disturbance.
        invariants=tuple(Invariant(name, y, order=1) for name, y in deviations.items()),
        outputs={
            "deviation": (casadi.sqrt(deviations["g1"] ** 2 + deviations["g2"] ** 2), ""),
            "bracket": (flow.bracket, ""),
            "thrust": (flow.thrust, ""),
        },
        until=float(UNTIL[data]),
        description="the costate flow of a rocket with limited power",
        drawing=flow_drawing(3),
    )


@dataclass(frozen=True)
class _Flow:
    """Canonical equations of H = lam_r . v + lam_v . gravity + P |lam_v|^2 / (2 b), b = lam_m m^2,
    and what they keep.
    """

    time: SX
    x: SX
    rate: SX
    constants: Mapping[str, SX]  # g1, rotation, b
    scaling: SX  # g2 without 3 H t
    bracket: SX  # {g1, g2}
    thrust: SX  # the size of the thrust acceleration

    def function(self, expression: SX) -> casadi.Function:
        return casadi.Function("value", [self.x], [casadi.densify(expression)])


def _flow(power: float) -> _Flow:
    r, v, m = SX.sym("r", 3), SX.sym("v", 3), SX.sym("m")
    lam_r, lam_v, lam_m, effort = (
        SX.sym("lam_r", 3),
        SX.sym("lam_v", 3),
        SX.sym("lam_m"),
        SX.sym("effort"),
    )
    q, p = vertcat(r, v, m), vertcat(lam_r, lam_v, lam_m)
    b = lam_m * m**2
    H = coasting(r, v, lam_r, lam_v) + power / (2 * b) * sumsqr(lam_v)
    return _Flow(
        time=SX.sym("t"),
        x=vertcat(q, p, effort),
        rate=vertcat(gradient(H, p), -gradient(H, q), sumsqr(lam_v)),  # Hamilton's equations
        constants={"g1": H, "rotation": rotation(r, v, lam_r, lam_v), "b": b},
        scaling=scaling(r, v, lam_r, lam_v) - 5 * power / (2 * b) * effort,
        bracket=3 * H - 5 * power / (2 * b) * sumsqr(lam_v),
        thrust=power / b * casadi.sqrt(dot(lam_v, lam_v)),
    )


def disturbances(
    sizes: tuple[float, ...],
    stabilization: Stabilization | None,
    integrator: Integrator | None = None,
    data: str = "document",
) -> dict[float, tuple[np.ndarray, np.ndarray]]:
    """The document's experiment: for each disturbance the times and the norm of the deviations (g1,
    g2), as in its figure 18.

    Examples
    --------
    >>> from trajopt.integrate import MinimumNorm
    >>> t, norm = disturbances((0.01,), MinimumNorm(GAINS))[0.01]
    >>> bool(norm[-1] < 1e-3 * norm[0])
    True
    """
    runs = {
        size: simulate(lawden_cauchy(size, data=data), integrator, stabilization=stabilization)
        for size in sizes
    }
    return {size: (run.t, run["deviation"]) for size, run in runs.items()}


@dataclass(frozen=True)
class Trial:
    """One run of the study: what it cost, how far it ended from the exact flow, and how far the
    integrals strayed.
    """

    integrator: str
    stabilization: str
    steps: int
    evaluations: int  # of the right-hand side, stabilized or not
    error: float  # of position and velocity at the end
    costate_error: float  # relative
    drift: float  # of (g1, g2), at most
    seconds: float  # of processor time


def study(
    integrators: tuple[Integrator, ...],
    stabilizations: tuple[Stabilization | None, ...],
    data: str = "long",
    until: float | None = None,
) -> tuple[Trial, ...]:
    """What stabilization buys in a long integration of a costate flow: every integrator with every
    stabilization.

    Examples
    --------
    >>> from trajopt.integrate import Projection, Rk4
    >>> plain, projected = study((Rk4(0.2),), (None, Projection()))
    >>> projected.drift < 1e-12 < plain.drift, projected.error < plain.error
    (True, True)
    """
    system = lawden_cauchy(0.0, data=data, integrals="all")
    truth = simulate(system, Dop853(1e-13), until).x[-1]
    state, costate = slice(0, 6), slice(7, 13)
    trials = []
    for integrator in integrators:
        stages = 1 if integrator.scheme is None else integrator.scheme.stages
        for way in stabilizations:
            began = time.process_time()
            run = simulate(system, integrator, until, way)
            seconds = time.process_time() - began
            end, steps = run.x[-1], len(run.t) - 1
            trials.append(
                Trial(
                    integrator.label,
                    "none" if run.stabilization is None else run.stabilization.label,
                    steps,
                    steps * stages,
                    float(np.linalg.norm(end[state] - truth[state])),
                    float(
                        np.linalg.norm(end[costate] - truth[costate])
                        / np.linalg.norm(truth[costate])
                    ),
                    float(np.max(run["deviation"])),
                    seconds,
                )
            )
    return tuple(trials)
