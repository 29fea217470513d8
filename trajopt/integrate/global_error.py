"""The global error of Euler's scheme beside its bound (dissertation on constraint stabilization,
2.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi
import numpy as np

from trajopt.compiled.pointwise import Pointwise
from trajopt.errors import UsageError
from trajopt.integrate.gains import error_bound
from trajopt.integrate.library_integrators import Dop853
from trajopt.integrate.rates import evaluate, function_of_state, total_derivative
from trajopt.integrate.simulation import Simulation, simulate
from trajopt.integrate.tableaus import EULER

REFERENCE = Dop853(1e-12)


@dataclass(frozen=True)
class GlobalError:
    """The largest error of the state, and the bound (2.2.13) on it.

    ``lipschitz`` and ``local`` are the largest values at the sampled states of the motion and of
    its reference; the bound holds if nothing between them exceeds these.
    """

    error: float  # Euclidean norm, against the reference
    bound: float
    lipschitz: float  # L, norm of the Jacobian of the rates
    local: float  # B = tau/2 |x''|


def global_error(simulation: Simulation) -> GlobalError:
    """Return the error of a run by Euler's scheme without events, and its bound.

    >>> from problems.lecture import decay
    >>> from trajopt.integrate import Euler
    >>> found = global_error(simulate(decay(), Euler(0.01), until=1.0))
    >>> found.lipschitz, found.local, found.error < found.bound
    (2.0, 0.02, True)
    """
    step = simulation.integrator.fixed_step
    if simulation.integrator.scheme is not EULER or step is None:
        raise UsageError(
            "the bound of the global error is that of Euler's scheme",
            got=simulation.integrator.label,
            hint="--integrator euler",
        )
    system = simulation.system
    exact = simulate(system, REFERENCE, float(simulation.t[-1]))
    if simulation.events or exact.events:
        raise UsageError("the bound of the global error holds up to the first event only")
    states = exact.at(simulation.t)
    slope = casadi.jacobian(system.rate, system.x)
    curvature = total_derivative(system.rate, system.time, system.x, system.rate)
    n = system.x.numel()
    values = np.vstack(
        [
            evaluate(
                Pointwise(function_of_state(system, casadi.vertcat(curvature, casadi.vec(slope)))),
                simulation.t,
                x,
            )
            for x in (simulation.x, states)
        ]
    )
    lipschitz = float(np.linalg.norm(values[:, n:].reshape(-1, n, n), 2, axis=(1, 2)).max())
    local = step / 2 * float(np.linalg.norm(values[:, :n], axis=1).max())
    error = float(np.linalg.norm(simulation.x - states, axis=1).max())
    bound = error_bound(0.0, lipschitz, local, float(simulation.t[-1]))
    return GlobalError(error, bound, lipschitz, local)
