"""What a saved answer says about its problem: the name it was built by and the settings, which those given now override."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.catalogue import named_problems
from trajopt.commands.building import Built, build_problem
from trajopt.commands.terminal import console
from trajopt.errors import UsageError

if TYPE_CHECKING:
    from trajopt.solution import Solution


def read_answer(path: str | Path, quiet: bool = False) -> Solution:
    """The answer in a file; a remark on standard error where the file has no checksums."""
    from trajopt.storage import load

    solution = load(path)
    if solution.unchecked:
        console(error=True, quiet=quiet).print(
            f"  {path}: no checksum (of an older format); damage would not show", style="yellow"
        )
    return solution


@dataclass(frozen=True)
class Recalled:
    """The problem of a saved answer, built anew: by which name and settings; None where it cannot be, and why."""

    name: str
    settings: Mapping[str, Any]
    built: Built | None
    remarks: tuple[str, ...] = ()


def remembered(solution: Solution, name: str, settings: Mapping[str, Any]) -> Solution:
    """An answer that knows how its problem was built.

    Only a name of the catalogue is kept: a file that named a Python file would make reading it run that.
    """
    return replace(solution, source=name if name in named_problems() else "", settings=dict(settings))


def recalled(solution: Solution, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the settings that an answer's problem is built anew with; no name where the catalogue has none for it.

    The text in the file may name anything, also a Python file. Only names of the catalogue are ever built: a path is taken from
    the command line (``--problem``) alone.
    """
    known = named_problems()
    name = next((name for name in (solution.source, solution.problem) if name in known), "")
    return name, {**solution.settings, **settings}


def unnamed(solution: Solution) -> UsageError:
    """The error for a file whose problem the catalogue does not have."""
    return UsageError(
        f"problem {solution.problem!r} of this file is not in the catalogue",
        hint="--problem ./mine.py:build names the problem, --set its settings",
    )


def rebuilt(solution: Solution, problem: str | None, settings: Mapping[str, Any], without: str) -> Recalled:
    """The problem that an answer came from, by the name and the settings in its file; those given now win.

    Where nothing was given and the problem cannot be built, a remark says what there is to do
    ``without``; the name is then empty.
    """
    known, whole = recalled(solution, settings)
    name = problem or known
    try:
        if not name:
            raise unnamed(solution)
        built = build_problem(name, whole)
    except UsageError as error:
        if problem is not None or settings:
            raise
        return Recalled("", whole, None, (f"without {without}: {error.what}; --problem ./mine.py:build names the problem",))
    check_belongs(built, solution, name)
    return Recalled(name, whole, built)


def check_belongs(built: Built, solution: Solution, name: str) -> None:
    """A statement beside an answer to another problem would mislead."""
    for phase, stated in built.problem.phases.items():
        names = {d.name for d in stated.of_kind("state")}
        if phase not in solution.phases or names != set(solution.phases[phase].states):
            raise UsageError(
                f"the answer is not one of problem '{name}'",
                got=f"phases {', '.join(solution.phases)} with states "
                + ", ".join(n for ph in solution.phases.values() for n in ph.states),
                hint="--problem names the problem it answers",
            )


def with_parameters(solution: Solution, built: Built, settings: Mapping[str, Any]) -> Solution:
    """An answer judged by other values of the problem's parameters, where some are given now."""
    given = {key: value for key, value in settings.items() if key in built.problem.parameters}
    return replace(solution, parameters={**solution.parameters, **given}) if given else solution
