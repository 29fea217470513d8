"""Sixty of the random statements of tests/benchmarks/random_statements.py, and faults of sweeps in
small.
"""

import dataclasses
import importlib.util
from pathlib import Path

import pytest

from trajopt import solve

HERE = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def statements():
    spec = importlib.util.spec_from_file_location(
        "random_statements", HERE / "random_statements.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "ten", [0, 1, *(pytest.param(ten, marks=pytest.mark.slow) for ten in range(2, 6))]
)
def test_random_statements_are_solved_or_explained(statements, ten):
    for number in range(10 * ten, 10 * ten + 10):
        solution = solve(statements.build(number), time_limit=statements.SECONDS)
        wrong = statements.judged(number, 0, solution.status.name.lower(), solution)
        assert not wrong, f"build({number}): {wrong}"
        assert solution.success or solution.explanation


def test_the_check_detects_wrong_solutions(statements):
    problem = statements.build(0)
    solution = solve(problem)
    assert statements.complaint(problem, solution) == ""
    phase = solution.phases["main"]
    name, curve = next(iter(phase.states.items()))
    bent = dataclasses.replace(
        curve, values=tuple(v * (1 + 1e-2 * i) for i, v in enumerate(curve.values))
    )
    wrong = dataclasses.replace(
        solution, phases={"main": dataclasses.replace(phase, states={**phase.states, name: bent})}
    )
    assert "dynamics" in statements.complaint(problem, wrong)
    name, curve = next(iter(phase.controls.items()))
    far = dataclasses.replace(
        curve, values=tuple(v + 100 for v in curve.values), upper=None, lower=None
    )
    wild = dataclasses.replace(
        solution,
        phases={"main": dataclasses.replace(phase, controls={**phase.controls, name: far})},
    )
    assert statements.complaint(problem, wild)
