"""What stabilization decides: models in redundant coordinates integrated with long steps, plain and
stabilized.

With the steps that the other rows take, constraints drift by round-off alone. Here the steps are so
long that the drift is visible: by default those of the answer's intervals, halved until the plain
drift is within the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.certificate.feasibility_rows import worst
from trajopt.certificate.forward_validation import redundant_phase, with_constants
from trajopt.certificate.motion import Reintegration, Steps
from trajopt.certificate.table import Check
from trajopt.errors import UsageError
from trajopt.integrate.corrections import Projection
from trajopt.integrate.fixed_step import Integrator
from trajopt.integrate.gains import fastest_gain
from trajopt.integrate.reactions import Baumgarte
from trajopt.integrate.stabilize import Gained, Stabilization
from trajopt.integrate.tableaus import RK4, Tableau
from trajopt.system import System

NAME = "drift of constraints at long steps"
HALVINGS = 8  # of the answer's intervals


@dataclass(frozen=True)
class LongSteps:
    """Law, scheme and step of the forward validation that shows the drift.

    Parameters
    ----------
    stabilization : Stabilization or None
        By default Baumgarte's law through the reactions, else projection; a gain that is not set
        is the fastest one of the step.
    integrator : Integrator or None
        An explicit scheme; by default Runge and Kutta's of order four.
    step : float or None
        In the unit of time; by default the longest at which the plain drift is within the
        tolerance.
    """

    stabilization: Stabilization | None = None
    integrator: Integrator | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        if self.integrator is not None and self.integrator.scheme is None:
            raise UsageError(
                "certify: integrator of the forward validation",
                got=self.integrator.label,
                expected="an explicit Runge-Kutta scheme, as rk4 or heun",
            )

    @property
    def scheme(self) -> Tableau:
        return (self.integrator.scheme if self.integrator else None) or RK4


def drifts(motions: Sequence[Reintegration], told: LongSteps, tolerance: float) -> list[Check]:
    """The drift of constraints with long steps, plain and stabilized; one that was told decides."""
    plain: list[tuple[float, str]] = []
    kept: list[tuple[float, str]] = []
    longest, laws, gains = [], set(), []
    for m in motions:
        if m.phase.form.redundant is None:
            continue
        system = m.phase.form.redundant.system()
        label = "" if len(motions) == 1 else f" of '{m.phase.form.name}'"
        first = _plain(m, system, told, tolerance)
        second, projected, law = _stabilized(m, first, system, told)
        longest.append(_longest(first))
        laws.add(law.name if isinstance(law, Gained) else law.label)
        gains += [law.gain] if isinstance(law, Gained) and isinstance(law.gain, float) else []
        for found, run, way in ((plain, first, False), (kept, second, projected)):
            names = run.invariant_names
            drift = run.integrated(way).drift[: len(names)]
            found += [(float(v), f"in {n}{label}") for v, n in zip(drift, names, strict=True)]
    unit, named = motions[0].phase.form.time_unit, ", ".join(sorted(laws))
    taken = f"{told.scheme.name}, steps up to {max(longest):.2g} {unit}"
    if gains:
        named += f", gain {min(gains):.3g}"
        named += f" to {max(gains):.3g}" if max(gains) > min(gains) else ""
    limit = np.inf if told == LongSteps() else tolerance
    return [worst(NAME, plain, np.inf, taken), worst(f"{NAME}, stabilized", kept, limit, named)]


def _longest(m: Reintegration) -> float:
    return float((m.steps.width * m.phase.widths[m.steps.interval]).max())


def _plain(m: Reintegration, system: System, told: LongSteps, tolerance: float) -> Reintegration:
    phase, widths = redundant_phase(m.phase, system), m.phase.widths
    if told.step is not None:
        parts = np.ceil(widths / told.step * (1 - 1e-12)).astype(int)
        return Reintegration(phase, told.scheme, _divided(parts), m.segments)
    for k in range(HALVINGS):
        steps = _divided(np.full(widths.size, 2**k))
        found = Reintegration(phase, told.scheme, steps, m.segments)
        drift = found.integrated().drift
        if np.isfinite(drift).all() and drift.max(initial=0.0) <= tolerance:
            break
    return found


def _divided(parts: np.ndarray) -> Steps:
    """Each interval in so many equal steps."""
    interval = np.repeat(np.arange(parts.size), parts)
    before = np.repeat(np.cumsum(parts) - parts, parts)
    width = 1.0 / parts[interval]
    return Steps(interval, (np.arange(interval.size) - before) * width, width)


def _stabilized(
    m: Reintegration, plain: Reintegration, system: System, told: LongSteps
) -> tuple[Reintegration, bool, Stabilization]:
    """The same steps stabilized, whether by projection, and the law."""
    law = told.stabilization
    through = system.through_reactions is not None and all(i.order for i in system.invariants)
    if law is None and through:
        law = Baumgarte()
    if law is None or isinstance(law, Projection):
        return plain, True, Projection()
    if law.lacks_gain:
        law = law.with_gain(fastest_gain(plain.scheme, _longest(plain)))
    whole = with_constants(m.phase, system)
    prepared = law.sampled(whole) or law.prepare(whole)
    phase = redundant_phase(m.phase, prepared.system, len(system.states), whole)
    run = Reintegration(phase, plain.scheme, plain.steps, m.segments, prepared.project)
    return run, False, law
