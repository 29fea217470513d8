"""What the rows of a certificate are computed from, each part once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from trajopt.certificate.feasibility_rows import with_integrals
from trajopt.certificate.hamiltonian_system import UndefinedHamiltonianError
from trajopt.certificate.long_steps import LongSteps
from trajopt.certificate.motion import Reintegration, scheme_for
from trajopt.certificate.multipliers import with_multipliers
from trajopt.certificate.phase_conditions import PhaseConditions, extremals
from trajopt.certificate.recovered_costates import recovered
from trajopt.certificate.sampled_solution import SampledSolution
from trajopt.certificate.scope_rows import Scope, global_scope
from trajopt.certificate.table import Check
from trajopt.integrate.tableaus import Tableau
from trajopt.statement.reference import Reference
from trajopt.trajectory.solution import Solution

FINEST = (
    2.0**-6
)  # of an interval: steps of the integration down to this width are intervals of the quadrature
MOST_INTERVALS = 4000  # of the quadrature


@dataclass(frozen=True)
class Tolerances:
    """What a value may be, from the relative error that is asked for; floors are what the checks
    resolve.
    """

    asked: float

    @property
    def gain(self) -> float:
        """Of the estimated suboptimality, in which errors of controls are squared."""
        return max(1e-9, min(self.asked, 1e-3))

    @property
    def motion(self) -> float:
        """Of states, and of first integrals."""
        return max(1e-7, min(10 * self.asked, 1e-2))

    @property
    def costates(self) -> float:
        """Of costates and H where intervals meet.

        Solvers bound the errors of states; costates, as derivatives of the cost, are less accurate,
        and a switch or a touch point inside an interval moves H to first order. What that is worth
        in the cost counts as a gain.
        """
        return max(1e-6, min(100 * self.asked, 1e-2))


@dataclass(eq=False)
class Evidence:
    """An answer, what it is compared with, and the rows so far by their keys."""

    whole: SampledSolution
    asked: Tolerances
    reference: Reference | None = None
    other: Solution | None = None
    long_steps: LongSteps = field(default_factory=LongSteps)
    rows: dict[str, Check] = field(default_factory=dict)

    @property
    def scheme(self) -> Tableau:
        return scheme_for(self.whole.solution.method)

    @cached_property
    def motions(self) -> list[Reintegration]:
        return [Reintegration(ph, self.scheme) for ph in self.whole.phases]

    @cached_property
    def computed(self) -> SampledSolution:
        """The answer with its integrals computed anew, and what it lacks of costates and
        multipliers: rows judge them like any others.
        """
        whole = with_integrals(self.whole, self.motions)
        if not any(given.costates for given in whole.solution.phases.values()):
            try:
                found = recovered(whole)
                phases = [replace(ph, given=found.phase(ph.form.name)) for ph in whole.phases]
                whole = replace(whole, solution=found, phases=tuple(phases))
            except (UndefinedHamiltonianError, np.linalg.LinAlgError):
                pass
        return with_multipliers(whole)

    @cached_property
    def extremals(self) -> tuple[tuple[PhaseConditions, ...], str]:
        """Pontryagin's conditions on the intervals of the answer; else the reason why not."""
        for ph in self.computed.phases:
            for q in ph.form.states:
                if q.name not in ph.given.costates:
                    return (), f"the answer has no costate of {q.name}"
        try:
            return extremals(self.computed), ""
        except UndefinedHamiltonianError as error:
            return (), error.what

    @property
    def phases(self) -> tuple[PhaseConditions, ...]:
        return self.extremals[0]

    @cached_property
    def refined(self) -> SampledSolution:
        """The answer on the intervals of the integration too, except where state constraints act:
        there costates are fitted.
        """
        refined = []
        for ph, e, m in zip(self.computed.phases, self.phases, self.motions, strict=True):
            steps, breaks = _steps(m), e.phase.breaks
            inside = np.searchsorted(breaks, steps, side="right") - 1
            more = steps[~e.fit.active[np.clip(inside, 0, e.phase.widths.size - 1)]]
            refined.append(replace(ph, further=np.concatenate([ph.further, more])))
        return replace(self.computed, phases=tuple(refined))

    @cached_property
    def conditions(self) -> tuple[PhaseConditions, ...]:
        """Pontryagin's conditions on those."""
        return extremals(self.refined)

    @cached_property
    def scope(self) -> Scope:
        sampled = self.__dict__.get("refined", self.computed)
        return global_scope(sampled, self.computed, self.phases, self.asked.gain)


def _steps(m: Reintegration) -> np.ndarray:
    """Where the integration needed steps shorter than the answer's intervals."""
    steps, ph = m.steps, m.phase
    wide = steps.width >= FINEST
    if ph.widths.size + wide.sum() > MOST_INTERVALS:
        return np.zeros(0)
    return np.asarray(ph.starts[steps.interval] + steps.start * ph.widths[steps.interval])[wide]
