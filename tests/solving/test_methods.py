"""solve: reproducible solutions, earlier solutions as guesses, and messages for invalid calls."""

from dataclasses import replace

import numpy as np
import pytest

from trajopt import Problem, Status, load, solve
from trajopt.catalogue import builder
from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Gauss, Radau
from trajopt.errors import GuessError, UsageError
from trajopt.files.storage import summary
from trajopt.indirect.shooting import Shooting
from trajopt.solving.methods import Both


def curves(solution):
    for ph in solution.phases.values():
        for group in (ph.states, ph.controls, ph.costates, ph.path_multipliers):
            yield from ((ph.name, name, curve) for name, curve in group.items())


@pytest.mark.parametrize("name", ["cart-pole", "goddard-cops", "brachistochrone"])
def test_the_same_call_gives_the_same_solution(name):
    one, other = solve(builder(name)()), solve(builder(name)())
    assert one.objective == other.objective
    assert [r.iterations for r in one.history] == [r.iterations for r in other.history]
    for (_, _, a), (_, _, b) in zip(curves(one), curves(other), strict=True):
        np.testing.assert_array_equal(a.breaks, b.breaks)
        for ours, theirs in zip(a.values, b.values, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_a_problem_can_be_solved_again():
    problem = builder("cart-pole")()
    assert solve(problem).objective == solve(problem).objective


@pytest.fixture(scope="module")
def earlier():
    return solve(
        builder("cart-pole")(),
        Collocation(Radau(), Mesh.uniform(11, 4), tolerance=np.inf, max_passes=1),
    ).check()


@pytest.mark.parametrize("scheme", [Radau(), Gauss()], ids=lambda s: s.name)
def test_an_earlier_solution_of_another_mesh_saves_iterations(earlier, scheme):
    method = Collocation(scheme, Mesh.uniform(20, 3), tolerance=np.inf, max_passes=1)
    cold, warm = (
        solve(builder("cart-pole")(), method),
        solve(builder("cart-pole")(), method, guess=earlier),
    )
    assert warm.success
    assert warm.iterations < 0.4 * cold.iterations
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)


def test_an_earlier_solution_is_a_guess_for_a_changed_problem():
    def push(distance):
        ocp = Problem("push")
        ph = ocp.phase()
        ph.time(end=1)
        x, v, u = (
            ph.state("x", start=0, end=distance),
            ph.state("v", start=0, end=0),
            ph.control("u", lower=-6.5, upper=6.5),
        )
        ph.dynamics({x: v, v: u})
        ocp.minimize(ph.integral(u**2))
        return ocp

    near = solve(push(1.0)).check()
    further = solve(push(1.05), guess=near).check()
    assert further.objective == pytest.approx(12 * 1.05**2, rel=1e-7)


def test_a_saved_solution_is_a_guess_too(earlier, tmp_path):
    from trajopt import load

    earlier.save(tmp_path / "earlier.nc")
    method = Collocation(mesh=Mesh.uniform(20, 3), max_passes=1)
    direct = solve(builder("cart-pole")(), method, guess=earlier)
    loaded = solve(builder("cart-pole")(), method, guess=load(tmp_path / "earlier.nc"))
    assert loaded.objective == direct.objective


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: solve("cart-pole"), ["problem", "cart-pole", "a Problem"]),
        (lambda p: solve(p, "magic"), ["method", "magic", "direct", "Collocation"]),
        (lambda p: solve(p, guess=[1, 2]), ["guess", "list", "Solution"]),
        (lambda p: solve(p, tolerance=0), ["tolerance", "0"]),
        (lambda p: solve(p, tolerance=2), ["tolerance", "2"]),
        (lambda p: solve(p, parameters={"mas": 1}), ["mas"]),
    ],
)
def test_wrong_calls_are_rejected(call, words):
    with pytest.raises(UsageError) as caught:
        call(builder("block-move")())
    for word in words:
        assert word in str(caught.value)


def test_a_guess_of_a_foreign_problem_is_rejected(handmade):
    with pytest.raises(GuessError, match="none of its phases"):
        solve(builder("block-move")(), guess=handmade())


def test_progress_has_a_line_for_each_mesh():
    lines = []
    solution = solve(builder("hypersensitive")(), progress=lines.append)
    rest = iter(lines)
    for record in solution.history:  # in order; attempts that were not built upon may stand between
        assert any(
            f"{record.intervals} intervals" in told and f"{record.iterations} iterations" in told
            for told in rest
        )
    assert all("\n" not in told for told in lines)


def test_a_tighter_tolerance_gives_a_better_solution():
    answers = [solve(builder("cart-pole")(), tolerance=tol).check() for tol in (1e-3, 1e-7)]
    errors = [abs(answer.objective - 58.8076674582) for answer in answers]
    assert errors[1] < 1e-6 * 58.8
    assert errors[1] <= errors[0]
    assert all(answer.error <= answer.tolerance for answer in answers)


def test_the_history_is_complete():
    solution = solve(builder("cart-pole")())
    assert solution.iterations == sum(record.iterations for record in solution.history)
    assert solution.seconds["total"] == pytest.approx(
        solution.seconds["build"] + solution.seconds["solve"]
    )
    assert solution.error == pytest.approx(solution.phases["main"].errors.max())
    assert {"scheme", "tolerance", "backend"} <= set(solution.options)
    assert {"trajopt", "casadi", "numpy"} <= set(solution.versions)


@pytest.mark.parametrize("name", ["direct", "indirect", "both"])
def test_methods_by_name(name):
    solution = solve(builder("brachistochrone")(), name).check()
    assert solution.method == ("direct" if name == "direct" else "indirect")


def test_arcs_name_their_active_constraint():
    from trajopt import free

    ocp = Problem("sprint")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    x, v = ph.state("x", start=0, end=10), ph.state("v", start=0, end=0, upper=2)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    direct, indirect = solve(ocp).check(), solve(ocp, "both").check()
    roles = [dict(arc.roles) for arc in direct.arcs]
    assert roles == [{"u": "upper"}, {"u": "interior", "v": "upper"}, {"u": "lower"}]
    assert [dict(arc.roles) for arc in indirect.arcs] == roles
    np.testing.assert_allclose(
        [a.end for a in direct.arcs], [a.end for a in indirect.arcs], rtol=1e-6
    )


def test_the_direct_solution_is_returned_if_shooting_fails(tmp_path):
    problem = builder("brachistochrone")()
    solution = solve(problem, Both(indirect=Shooting(iterations=0)))
    assert not solution.success
    assert any("shooting did not confirm" in line for line in solution.explanation)
    assert solution.objective == pytest.approx(solve(problem).objective, rel=1e-7)
    solution.save(tmp_path / "kept.nc")
    assert load(tmp_path / "kept.nc")["v"](1.0) == pytest.approx(solution["v"](1.0))


def test_a_solution_without_a_trajectory_has_a_summary():
    nothing = replace(solve(builder("block-move")()), phases={}, status=Status.FAILED)
    assert summary(nothing)["status"] == "failed"
    assert summary(nothing)["initial"] == {}
