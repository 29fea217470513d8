"""The state of a search for a solution, and the one loop that runs attempts and remedies.

An attempt at a first solution and a remedy for a poor one have the same shape: when it applies,
what it tries, and when its result is better than the best so far. All of them share one budget of
meshes and time and one record of what was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.solve_mesh import Context
from trajopt.nlp.backends import Outcome, Result
from trajopt.trajectory.solution import MeshPass
from trajopt.trajectory.trajectory import Trajectories


@dataclass(frozen=True)
class Pass:
    """A mesh that counts in the history."""

    kind: PassKind
    record: MeshPass
    result: Result | None = None  # identifies the solution, whatever its estimated error

    def has(self, solution: MeshSolution) -> bool:
        return self.result is solution.result


@dataclass(frozen=True)
class Trial:
    """An attempt or remedy that was tried."""

    name: str
    outcome: Outcome
    adopted: bool
    detail: str = ""

    @property
    def line(self) -> str:
        return f"{self.name}: {self.outcome.value}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, eq=False)
class State:
    """How far a search has come. Functions return a new one."""

    context: Context
    guess: Trajectories
    given: bool  # the guess is an earlier solution
    best: MeshSolution | None = None
    passes: tuple[Pass, ...] = ()
    events: tuple[Trial, ...] = ()
    stopped: Outcome | None = None  # INTERRUPTED or TIME_LIMIT
    # where and between which controls, if the solution is one of the relaxed problem
    chattering: tuple[str, ...] = ()

    @property
    def method(self) -> Collocation:
        return self.context.method

    @property
    def solution(self) -> MeshSolution:
        assert self.best is not None
        return self.best

    @property
    def may_continue(self) -> bool:
        """One budget for all loops: meshes, work, and the user's patience."""
        meshes_left = self.method.max_passes - len(self.passes)
        return self.stopped is None and meshes_left > 0 and not self.context.budget.over

    def with_best(self, solution: MeshSolution) -> State:
        return replace(self, best=solution)

    def recorded(self, *solutions: MeshSolution) -> State:
        """With more meshes in the history; the last of them may have been stopped."""
        passes = tuple(Pass(one.kind, one.record, one.result) for one in solutions)
        stopped = next((one.outcome for one in solutions if one.stopped), self.stopped)
        return replace(self, passes=self.passes + passes, stopped=stopped)

    def has(self, solution: MeshSolution) -> bool:
        """True if the history has a solution."""
        return any(one.has(solution) for one in self.passes)

    def corrected(self, solution: MeshSolution) -> State:
        """With the record of a solution whose estimated error has changed."""
        passes = tuple(
            replace(one, record=solution.record) if one.has(solution) else one
            for one in self.passes
        )
        return replace(self, passes=passes, best=solution)


@dataclass(frozen=True)
class Remedy:
    """A second try."""

    name: str
    applies: Callable[[State], bool]
    attempt: Callable[[State], State]  # a state whose best is the proposal
    better: Callable[[State, State], bool]  # the proposal against the state before


def run_remedies(
    state: State, remedies: Iterable[Remedy], describe: Callable[[State, State], str]
) -> State:
    """Try remedies in order, and keep what is better; ``describe`` details the record."""
    for remedy in remedies:
        if state.stopped is not None:
            break
        if remedy.name in state.method.without or not remedy.applies(state):
            continue
        trial = remedy.attempt(state)
        adopted = trial.best is not None and remedy.better(trial, state)
        outcome = Outcome.FAILED if trial.best is None else trial.best.outcome
        event = Trial(remedy.name, outcome, adopted, describe(trial, state))
        state.context.progress(event.line)
        kept = trial if adopted else state
        state = replace(
            trial,
            best=kept.best,
            context=kept.context,
            guess=state.guess,
            given=state.given,
            events=(*trial.events, event),
        )
    return state


def costs_more(solution: MeshSolution, than: MeshSolution) -> bool:
    """True if a solution costs more than another beyond the errors of both."""
    margin = max(solution.phases[0].method.tolerance, solution.error, than.error) * than.cost_size
    return solution.result.f > than.result.f + margin
