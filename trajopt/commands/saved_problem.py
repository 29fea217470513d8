"""Rebuild the problem of a saved solution from the name and the settings in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trajopt.catalogue import named_problems
from trajopt.commands.building import Built, build_problem
from trajopt.errors import UsageError
from trajopt.files.named import name_of

if TYPE_CHECKING:
    from trajopt.trajectory.solution import Solution


@dataclass(frozen=True)
class Recalled:
    """The rebuilt problem of a saved solution; ``built`` is None if it cannot be built, and
    ``remarks`` give the reason.
    """

    name: str
    settings: Mapping[str, Any]
    built: Built | None
    remarks: tuple[str, ...] = ()


def remembered(solution: Solution, name: str, settings: Mapping[str, Any]) -> Solution:
    """Store in a solution how its problem was built.

    Only names of the catalogue are stored. A path to a Python file is not: loading the solution
    would execute it.
    """
    return replace(
        solution, source=name if name in named_problems() else "", settings=dict(settings)
    )


def recalled(solution: Solution, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings to rebuild a solution's problem; the name is empty if it is
    not in the catalogue.

    The text in a file is not trusted. Only names of the catalogue are built; a path to a Python
    file is accepted from the command line only (``--problem``).
    """
    return name_of(solution), {**solution.settings, **settings}


def unnamed(solution: Solution) -> UsageError:
    """Return the error for a file whose problem is not in the catalogue."""
    return UsageError(
        f"problem {solution.problem!r} of this file is not in the catalogue",
        hint="give the problem by --problem ./mine.py:build, its settings by --set",
    )


def rebuilt(
    solution: Solution, problem: str | None, settings: Mapping[str, Any], without: str
) -> Recalled:
    """Rebuild the problem of a solution from its file; settings given now take precedence.

    If no problem or settings are given and the problem cannot be built, the name is empty and a
    remark says which outputs are missing (``without``).
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
        return Recalled(
            "",
            whole,
            None,
            (f"without {without}: {error.what}; give the problem by --problem ./mine.py:build",),
        )
    check_belongs(built, solution, name)
    return Recalled(name, whole, built)


def check_belongs(built: Built, solution: Solution, name: str, file: object = "the file") -> None:
    """Raise if a solution does not have the phases and states of the problem."""
    for phase, stated in built.problem.phases.items():
        names = {d.name for d in stated.of_kind("state")}
        if phase not in solution.phases or names != set(solution.phases[phase].states):
            raise UsageError(
                f"{file} is not a solution of problem '{name}'",
                got=f"phases {', '.join(solution.phases)} with states "
                + ", ".join(n for ph in solution.phases.values() for n in ph.states),
                hint="give its problem by --problem",
            )


def with_parameters(solution: Solution, built: Built, settings: Mapping[str, Any]) -> Solution:
    """Return the solution with the parameters that are given now."""
    given = {key: value for key, value in settings.items() if key in built.problem.parameters}
    return replace(solution, parameters={**solution.parameters, **given}) if given else solution
