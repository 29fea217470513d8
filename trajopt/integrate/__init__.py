"""Forward integration: integrators, events, stabilized invariants, gains."""

from trajopt.integrate.adaptive import Dopri5, Embedded, Fehlberg
from trajopt.integrate.corrections import ExtendedHamiltonian, MinimumNorm, Projection
from trajopt.integrate.dense_output import Path, Segment
from trajopt.integrate.deviations import deviation, deviations
from trajopt.integrate.events import Occurrence
from trajopt.integrate.fixed_step import Euler, Gill, Heun, Integrator, Rk2, Rk4, RungeKutta
from trajopt.integrate.forward import controlled, flow
from trajopt.integrate.gain_tuning import recommended_gain
from trajopt.integrate.gains import (
    check_gain,
    component_range,
    error_bound,
    fastest_gain,
    multiplier,
    position_pair,
    row_sum_test,
    row_sums,
    safe_range,
    stability_function,
    stability_limit,
)
from trajopt.integrate.global_error import GlobalError, global_error
from trajopt.integrate.integrator_names import INTEGRATORS, STABILIZATIONS
from trajopt.integrate.law_files import load_law
from trajopt.integrate.library_integrators import Dop853, RadauIIA, Sundials
from trajopt.integrate.newmark import Newmark
from trajopt.integrate.reactions import Baumgarte, LinearLaw, NonlinearLaw
from trajopt.integrate.simulation import Drift, Simulation, drifts, simulate
from trajopt.integrate.singular_bypass import Price, bypass, price
from trajopt.integrate.stabilize import Stabilization
from trajopt.integrate.tableaus import Tableau

__all__ = [
    "INTEGRATORS",
    "STABILIZATIONS",
    "Baumgarte",
    "Dop853",
    "Dopri5",
    "Drift",
    "Embedded",
    "Euler",
    "ExtendedHamiltonian",
    "Fehlberg",
    "Gill",
    "GlobalError",
    "Heun",
    "Integrator",
    "LinearLaw",
    "MinimumNorm",
    "Newmark",
    "NonlinearLaw",
    "Occurrence",
    "Path",
    "Price",
    "Projection",
    "RadauIIA",
    "Rk2",
    "Rk4",
    "RungeKutta",
    "Segment",
    "Simulation",
    "Stabilization",
    "Sundials",
    "Tableau",
    "bypass",
    "check_gain",
    "component_range",
    "controlled",
    "deviation",
    "deviations",
    "drifts",
    "error_bound",
    "fastest_gain",
    "flow",
    "global_error",
    "load_law",
    "multiplier",
    "position_pair",
    "price",
    "recommended_gain",
    "row_sum_test",
    "row_sums",
    "safe_range",
    "simulate",
    "stability_function",
    "stability_limit",
]
