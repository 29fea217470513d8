"""What shooting tells while it works, and how its functions read."""

import ast
from pathlib import Path

import pytest

import trajopt.indirect
from trajopt import Problem, free, solve
from trajopt.indirect.shooting import Shooting

FILES = sorted(Path(trajopt.indirect.__file__).parent.glob("*.py"))
BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.IfExp,
    ast.ExceptHandler,
    ast.comprehension,
    ast.BoolOp,
    ast.Assert,
)


def test_every_step_of_newton_is_a_row_of_a_table():
    ocp = Problem("sprint")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    x = ph.state("x", start=0, end=10)
    v = ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    direct, lines = solve(ocp), []
    solution = solve(ocp, Shooting(verbose=True), guess=direct, progress=lines.append)
    text = "\n".join(lines)
    assert "u upper" in text
    assert "u lower" in text
    assert "unknowns" in text
    head = next(k for k, line in enumerate(lines) if "contraction" in line)
    rows = [line.split() for line in lines[head + 1 : -2]]
    assert [row[0] for row in rows] == [str(k + 1) for k in range(len(rows))]
    assert [row[1] for row in rows].count("new") == solution.iterations
    assert float(rows[-1][2]) < 1e-8
    assert "converged" in text
    quiet = []
    solve(ocp, Shooting(), guess=direct, progress=quiet.append)
    assert len(quiet) < len(lines)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_functions_can_be_read(path):
    """At most 65 lines, and few branches."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 65, node.name
            assert sum(isinstance(inner, BRANCHES) for inner in ast.walk(node)) <= 20, node.name
