"""Both methods on one problem: library and command line give the same verdict if they agree, differ
or one fails.
"""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from trajopt import Problem, Status, solve
from trajopt.__main__ import app
from trajopt.direct.collocation import Collocation
from trajopt.indirect.shooting import Shooting
from trajopt.solving.methods import Both
from trajopt.trajectory.comparison import Verdict

STATEMENT = """
from trajopt import Problem, free

def build():
    ocp = Problem("sprint")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    x, v = ph.state("x", start=0, end=10), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    return ocp
"""


def sprint():
    scope = {}
    exec(STATEMENT, scope)
    return scope["build"]()


def wrong_objective(answer):
    return replace(answer, objective=1.5 * answer.objective)


def other_structure(answer):
    return replace(answer, arcs=answer.arcs[:1])


def failing(answer):
    return replace(answer, status=Status.ITERATIONS, explanation=("iteration limit",))


def empty(answer):
    return replace(
        answer,
        status=Status.FAILED,
        phases={},
        arcs=(),
        objective=float("nan"),
        explanation=("no control law",),
    )


CASES = {
    "agreement": (lambda answer: answer, Verdict.AGREE, Status.SOLVED),
    "another objective": (wrong_objective, Verdict.OBJECTIVES_DIFFER, Status.FAILED),
    "another structure": (other_structure, Verdict.STRUCTURES_DIFFER, Status.FAILED),
    "no convergence": (failing, Verdict.NOT_CONFIRMED, Status.ITERATIONS),
    "no trajectory": (empty, Verdict.NOT_CONFIRMED, Status.FAILED),
}


@pytest.mark.parametrize("case", CASES)
def test_library_and_command_line_give_the_same_verdict(case, monkeypatch, tmp_path):
    change, verdict, status = CASES[case]
    shoot = Shooting.solve
    monkeypatch.setattr(Shooting, "solve", lambda *given: change(shoot(*given)))
    solution = solve(sprint(), "both")
    assert (solution.comparison.verdict, solution.status) == (verdict, status)
    assert solution.comparison.direct.objective == pytest.approx(
        2 * 10**0.5, rel=1e-8
    )  # 2 sqrt(distance / acceleration)
    assert solution.phases  # nothing that was found is lost

    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(STATEMENT)
    result = CliRunner().invoke(
        app, ["solve", "./mine.py:build", "--method", "both", "--json", "-"]
    )
    content = json.loads(result.stdout)
    assert content["comparison"]["verdict"] == verdict.name.lower()
    assert content["status"] == status.name.lower()
    assert content["direct"]["objective"] == pytest.approx(2 * 10**0.5, rel=1e-8)
    assert result.exit_code == (0 if status is Status.SOLVED else 1)
    assert verdict.value in result.stderr


def test_collocation_without_a_solution_ends_the_comparison():
    ocp = Problem("too far")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=10), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2))
    solution = solve(ocp, "both")
    assert not solution.success
    assert solution.comparison.verdict is Verdict.NO_SOLUTION
    assert solution.comparison.indirect is None


def test_the_settings_of_both_apply_to_the_command_line(monkeypatch, tmp_path):
    """A tighter tolerance than that of collocation alone, whichever way it is asked for."""
    asked = []
    from trajopt.solving import methods as solving

    directly = solving.solve_directly
    monkeypatch.setattr(
        solving, "solve_directly", lambda *given: asked.append(given[1]) or directly(*given)
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(STATEMENT)
    for more in ([], ["-v"]):
        CliRunner().invoke(app, ["solve", "./mine.py:build", "--method", "both", *more])
    solve(sprint(), "both")
    quiet = [replace(method, verbose=False) for method in asked]
    assert quiet[0] == quiet[1] == quiet[2]
    assert asked[1].verbose
    assert asked[0].tolerance == Both().direct.tolerance < Collocation().tolerance


def test_differences_are_those_of_the_two_solutions():
    found = solve(sprint(), "both").comparison
    assert found.objective < 1e-9
    assert found.states < 1e-6
    direct, indirect = found.costates_initial[
        "x"
    ]  # the costate of x is -1 / v at the switch, constant
    assert direct == pytest.approx(indirect, rel=1e-6) == pytest.approx(-1 / 10**0.5, rel=1e-6)


def test_a_wider_tolerance_widens_the_agreement(monkeypatch):
    shoot = Shooting.solve
    off = 1 + 3e-5
    monkeypatch.setattr(
        Shooting,
        "solve",
        lambda *given: (lambda answer: replace(answer, objective=off * answer.objective))(
            shoot(*given)
        ),
    )
    assert solve(sprint(), "both").comparison.verdict is Verdict.OBJECTIVES_DIFFER
    assert solve(sprint(), "both", tolerance=1e-4).comparison.verdict is Verdict.AGREE


def test_ctrl_c_in_shooting_keeps_the_direct_solution(monkeypatch):
    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(Shooting, "solve", interrupt)
    for method in ("indirect", "both"):
        with pytest.raises(KeyboardInterrupt) as stopped:
            solve(sprint(), method)
        solution = stopped.value.solution
        assert solution.status is Status.INTERRUPTED
        assert solution.objective == pytest.approx(2 * 10**0.5, rel=1e-5)


def test_a_comparison_can_be_sent_to_another_process():
    import pickle

    sent = pickle.loads(pickle.dumps(solve(sprint(), "both").without_form()))
    assert sent.comparison.verdict is Verdict.AGREE
