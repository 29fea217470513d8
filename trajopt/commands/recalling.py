"""What a saved answer says about its problem: the name it was built by and the settings, which those given now override."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trajopt.catalogue import catalogue

if TYPE_CHECKING:
    from trajopt.commands.building import Built
    from trajopt.solution import Solution


def remembered(solution: Solution, name: str, settings: Mapping[str, Any]) -> Solution:
    """An answer that knows how its problem was built.

    Only a name of the catalogue is kept: a file that named a Python file would make reading it run that.
    """
    return replace(solution, source=name if name in catalogue() else "", settings=dict(settings))


def recalled(solution: Solution, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the settings that an answer's problem is built anew with."""
    known = solution.source in catalogue()
    return solution.source if known else solution.problem, {**solution.settings, **settings}


def with_parameters(solution: Solution, built: Built, settings: Mapping[str, Any]) -> Solution:
    """An answer judged by other values of the problem's parameters, where some are given now."""
    given = {key: value for key, value in settings.items() if key in built.problem.parameters}
    return replace(solution, parameters={**solution.parameters, **given}) if given else solution
