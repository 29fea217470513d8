"""Shooting from a solution of collocation, and what is tried where it does not confirm that
solution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from trajopt.deadline import Deadline
from trajopt.direct.collocation import LEAST_TOLERANCE, Collocation
from trajopt.errors import TrajoptError
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.comparison import Comparison, Verdict, compare_methods
from trajopt.trajectory.solution import Solution, Status

if TYPE_CHECKING:
    # deferred: loading it takes half the time of a direct solve
    from trajopt.indirect.shooting import (
        Shooting,
    )

ENDED = (Status.TIME_LIMIT, Status.WORK_LIMIT, Status.REFUSED)
# of the tolerance of a solution from which shooting failed; a tenth does not show the arcs of a
# beam, in a test
TIGHTER = 1e-2


class BothMethods(Protocol):
    """What both methods share, as ``trajopt.solving.methods`` has it."""

    @property
    def form(self) -> NormalForm: ...
    @property
    def parameters(self) -> Mapping[str, Any] | None: ...
    @property
    def deadline(self) -> Deadline: ...
    @property
    def tell(self) -> Callable[[str], None]: ...

    def directly(self, method: Collocation, guess: Any) -> Solution: ...
    def indirectly(self, method: Shooting, guess: Any) -> Solution: ...
    def with_form(self, form: NormalForm) -> BothMethods: ...


@dataclass(frozen=True, eq=False)
class Confirmation:
    """Both solutions so far; ``log`` has a line for each remedy and for each step of a
    continuation.
    """

    comparison: Comparison
    log: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True if shooting found no solution, though it treats problems of this kind
        and had time.
        """
        indirect = self.comparison.indirect
        ended = indirect is not None and indirect.status in ENDED
        return self.comparison.verdict is Verdict.NOT_CONFIRMED and not ended

    @property
    def differs(self) -> bool:
        return self.comparison.verdict in (Verdict.STRUCTURES_DIFFER, Verdict.OBJECTIVES_DIFFER)


@dataclass(frozen=True)
class Confirming:
    """Shoot from a solution of collocation; if that fails or differs, try the remedies below in
    their order.
    """

    task: BothMethods
    direct: Collocation
    indirect: Shooting
    agreement: float
    _log: list[str] = field(default_factory=list)

    def run(self, direct: Solution) -> Confirmation:
        found = self._compared(direct, self.task.indirectly(self.indirect, direct))
        remedies: list[
            tuple[
                str, Callable[[Confirmation], bool], Callable[[Confirmation], Confirmation | None]
            ]
        ] = [
            ("collocation with a smaller tolerance", lambda c: c.failed, self._from_tighter),
            ("continuation from wider limits", lambda c: c.failed, self._from_wider_limits),
            ("collocation from the solution of shooting", lambda c: c.differs, self._from_shooting),
        ]
        for name, applies, attempt in remedies:
            if not applies(found) or self.task.deadline.over:
                continue
            self._tell(
                f"{name}: tried, because "
                f"{found.comparison.verdict.value[0].lower()}{found.comparison.verdict.value[1:]}"
            )
            try:
                other = attempt(found)
            except TrajoptError as error:
                self._tell(f"{name}: {str(error).splitlines()[0]}")
                continue
            if other is not None and _rank(other) < _rank(found):
                found = other
        return replace(found, log=tuple(self._log))

    def _tell(self, line: str) -> None:
        self._log.append(line)
        self.task.tell(line)

    def _compared(self, direct: Solution, indirect: Solution) -> Confirmation:
        return Confirmation(compare_methods(direct, indirect, self.agreement))

    def _from_tighter(self, found: Confirmation) -> Confirmation | None:
        """Shoot from a more accurate solution: its arcs show better, and its
        costates are nearer.
        """
        tolerance = max(TIGHTER * self.direct.tolerance, LEAST_TOLERANCE)
        method = replace(
            self.direct,
            tolerance=tolerance,
            backend=self.direct.backend.tightened(1e-3 * tolerance),
        )
        direct = self.task.directly(method, found.comparison.direct)
        if direct.status not in (Status.SOLVED, Status.COARSE):
            return None
        return self._compared(direct, self.task.indirectly(self.indirect, direct))

    def _from_wider_limits(self, found: Confirmation) -> Confirmation | None:
        """Solve without the active limits on states, then move the limits back step by step."""
        from trajopt.indirect.wider_limits import Relaxed, active_limits

        form, direct = self.task.form, found.comparison.direct
        limits = active_limits(form, direct)
        if not limits.any:
            return None
        bare = self.task.with_form(limits.moved(1.0)).directly(self.direct, direct)
        if bare.status not in (Status.SOLVED, Status.COARSE):
            return None
        relaxed = Relaxed(limits.exceeded_by(bare).moved, self.indirect, self.task.deadline)
        path = relaxed.follow(
            form, bare, self.task.parameters,
            lambda point: self._tell(
                f"limits moved by {point.value:.4g} of their excess: "
                + (f"solved in {point.iterations} steps" if point.accepted else point.reason)
            ),
        )  # fmt: skip
        if not path.complete or path.last is None:
            return None
        return self._compared(direct, path.last)

    def _from_shooting(self, found: Confirmation) -> Confirmation | None:
        """Collocation may have missed a short arc, or have found another optimum."""
        indirect = found.comparison.indirect
        assert indirect is not None
        direct = self.task.directly(self.direct, indirect)
        return (
            self._compared(direct, indirect)
            if direct.status in (Status.SOLVED, Status.COARSE)
            else None
        )


def _rank(found: Confirmation) -> int:
    order = (
        Verdict.AGREE,
        Verdict.STRUCTURES_DIFFER,
        Verdict.OBJECTIVES_DIFFER,
        Verdict.NOT_CONFIRMED,
        Verdict.NO_SOLUTION,
    )
    return order.index(found.comparison.verdict)
