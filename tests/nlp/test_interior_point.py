"""The compiled interior-point method: textbook programs with known solutions, comparison with
IPOPT, and all outcomes.
"""

import os
import signal
import threading
import time
from dataclasses import replace

import casadi
import numpy as np
import pytest

from tests.benchmarks.threads import chain, program_of
from trajopt import builder, load, solve
from trajopt.compiled.library import library
from trajopt.deadline import Deadline
from trajopt.direct.collocation import Collocation
from trajopt.errors import UsageError
from trajopt.nlp.backends import COLD, Effort, Ipopt, Outcome
from trajopt.nlp.interior_point import Compiled
from trajopt.nlp.program import Block, Program, make_kernel
from trajopt.nlp.sparse_rows import SparseRows
from trajopt.statement.problem import Problem
from trajopt.trajectory.solution import Status

pytestmark = pytest.mark.skipif(library() is None, reason="the compiled core is not available")
INF = np.inf


def program(f, g, start, lower=-INF, upper=INF, g_lower=0.0, g_upper=0.0, symbols=casadi.SX):
    """min f(x), g_lower <= g(x) <= g_upper, as one kernel at one point."""
    n = len(start)
    x = symbols.sym("x", n)
    rows = casadi.vertcat(*g(x)) if g is not None else symbols(0, 1)
    kernel = make_kernel("nlp", x, symbols.sym("d", 0), symbols.sym("p", 0), rows, f(x))
    m = kernel.constraint_rows
    full = [np.broadcast_to(np.asarray(a, dtype=float), size).copy() for a, size in
            ((lower, n), (upper, n), (g_lower, m), (g_upper, m))]  # fmt: skip
    unit = SparseRows(np.arange(n + 1), np.arange(n), np.ones(n), n)
    scatter = SparseRows(np.arange(m + 1), np.arange(m), np.ones(m), m)
    nothing = SparseRows(np.zeros(n + 1, dtype=int), np.zeros(0, dtype=int), np.zeros(0), m)
    block = Block(kernel, 1, unit, np.zeros((0, 1)), scatter, np.ones(1))
    return Program((block,), nothing, *full, np.asarray(start, dtype=float), np.zeros(0))


def hs71():
    """Hock and Schittkowski 71."""
    return program(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        lambda x: [x[0] * x[1] * x[2] * x[3], casadi.sumsqr(x)],
        [1.0, 5.0, 5.0, 1.0], 1.0, 5.0, [25.0, 40.0], [INF, 40.0],
    )  # fmt: skip


def test_hock_schittkowski_71():
    result, report = Compiled().run(hs71())
    assert result.outcome is Outcome.SOLVED
    assert result.f == pytest.approx(17.0140172891, rel=1e-10)
    np.testing.assert_allclose(result.y, [1.0, 4.7429994, 3.8211503, 1.3794082], rtol=1e-7)
    np.testing.assert_allclose(result.g, [25.0, 40.0], rtol=1e-10)
    assert report.iterations < 15


@pytest.mark.parametrize("make", [hs71], ids=["hs71"])
@pytest.mark.plugins
def test_multipliers_are_those_of_the_lagrangian(make):
    p = make()
    ours, theirs = Compiled().run(p)[0], Ipopt().solve(p)
    np.testing.assert_allclose(
        ours.constraint_multipliers, theirs.constraint_multipliers, rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(
        ours.bound_multipliers, theirs.bound_multipliers, rtol=1e-7, atol=1e-9
    )


def test_no_constraints_no_bounds():
    result, _ = Compiled().run(
        program(lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, None, [-1.2, 1.0])
    )
    assert result.outcome is Outcome.SOLVED
    np.testing.assert_allclose(result.y, [1.0, 1.0], rtol=1e-8)


def test_fixed_unknowns_and_free_rows():
    """The multiplier of a fixed unknown is minus the slope of the Lagrangian; a row without limits
    changes nothing.
    """
    p = program(
        lambda x: (x[0] - 3) ** 2 + x[0] * x[1],
        lambda x: [x[0] + x[1], x[0] ** 3],
        [0.0, 2.0],
        [-INF, 2.0],
        [INF, 2.0],
        [-INF, -INF],
        [1.5, INF],
    )
    result, _ = Compiled().run(p)
    assert result.outcome is Outcome.SOLVED
    assert result.y == pytest.approx([-0.5, 2.0])
    assert result.constraint_multipliers == pytest.approx([-(2 * (-0.5 - 3) + 2), 0.0], abs=1e-9)
    assert result.bound_multipliers[1] == pytest.approx(0.5 - result.constraint_multipliers[0])


def test_dependent_equations():
    result, _ = Compiled().run(
        program(
            lambda x: casadi.sumsqr(x),
            lambda x: [x[0] + x[1] - 1, 2 * x[0] + 2 * x[1] - 2],
            [0.3, 0.1],
        )
    )
    assert result.outcome is Outcome.SOLVED
    np.testing.assert_allclose(result.y, [0.5, 0.5], rtol=1e-7)


def curved(seed):
    """Three nonlinear equations in four bounded unknowns, started far away: the line search alone
    fails.
    """
    rng = np.random.default_rng(seed)
    A, start = rng.normal(size=(3, 4)).round(1), (rng.normal(size=4) * 3).round(1)

    def rows(x):
        return [
            casadi.sin(2 * x[0]) * x[1] + A[0, 0] * x[2] ** 3 - A[0, 1],
            x[0] ** 2 * x[3] - casadi.exp(A[1, 0] * x[1]) + A[1, 1],
            x[2] * x[3] - A[2, 0],
        ]

    return program(
        lambda x: casadi.sumsqr(x - 1), rows, start, [-2.0, -5.0, -5.0, 0.0], [2.0, 5.0, 5.0, 4.0]
    )


@pytest.mark.parametrize("seed", [13, 22, 36, 51])
@pytest.mark.plugins
def test_restoration(seed):
    result, report = Compiled().run(curved(seed))
    assert report.restorations > 0
    assert result.outcome is Outcome.SOLVED
    assert np.abs(result.g).max() < 1e-9
    assert result.f == pytest.approx(Ipopt().solve(curved(seed)).f, rel=1e-8)


def test_iterates_that_diverge_are_reported():
    """Neither an answer nor a failure: the cost has no lower bound."""
    result, _ = Compiled().run(program(lambda x: -x[0] * x[1], lambda x: [x[0] - x[1]], [1.0, 1.0]))
    assert result.outcome is Outcome.DIVERGED


@pytest.mark.plugins
def test_iterates_are_those_of_ipopt():
    """Not only the same answer: with second-order corrections, wrong inertia, one-sided bounds and
    a barrier that rises.
    """
    cost = lambda x: x[0] ** 2 + 2 * casadi.exp(x[1]) - x[2]  # noqa: E731
    rows = lambda x: [casadi.sumsqr(x) - 4, x[0] * x[1] + casadi.sin(3 * x[2])]  # noqa: E731
    difficult = program(cost, rows, [2.0, 1.5, -1.0], [-INF, -1.0, -2.0])
    for iterations in (5, 15, 22, 30):
        compiled, ipopt = (
            backend(max_iterations=iterations).solve(difficult) for backend in (Compiled, Ipopt)
        )
        np.testing.assert_allclose(compiled.y, ipopt.y, rtol=1e-6)


@pytest.mark.plugins
@pytest.mark.parametrize(
    ("cost", "rows"),
    [
        (
            lambda x: -x[0],
            lambda x: [casadi.sqrt(1 + x[1] ** 2) - 1.3, x[0] - x[1] + x[2]],
        ),  # a row without gradient
        (
            lambda x: (x[0] - 1) ** 4 + x[1] ** 4,
            lambda x: [x[2] - x[0], 2 * x[2] - 2 * x[0]],
        ),  # dependent rows
        (lambda x: x[0] ** 3 - x[1] * x[2], lambda x: [x[1] + x[2] - 1]),  # negative curvature
    ],
    ids=["vanishing row", "dependent rows", "indefinite"],
)
def test_iterates_from_a_singular_start_are_those_of_ipopt(cost, rows):
    """Rows, Hessian or both are shifted in the order of IPOPT, and with its sizes."""
    for iterations in (1, 2, 3, 8):
        singular = program(cost, rows, [0.0, 0.0, 0.0])
        compiled, ipopt = (
            backend(max_iterations=iterations).solve(singular) for backend in (Compiled, Ipopt)
        )
        np.testing.assert_allclose(compiled.y, ipopt.y, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("warm", [COLD, Effort(1e-5)])
def test_an_inequality_that_an_equation_implies_has_a_finite_multiplier(warm):
    """The ground at the end of a step: the height of a foot is zero there and must
    not be negative.
    """

    def height(x):
        return x[0] + 0.3 * x[1] ** 2 - 0.7 * casadi.sin(x[2])

    p = program(
        lambda x: casadi.sumsqr(x - np.array([1, 2, 3])),
        lambda x: [height(x), height(x) * (1 + 0.1 * x[2])],
        [0.5, 0.4, 0.3],
        -10.0,
        10.0,
        [0.0, 0.0],
        [0.0, INF],
    )
    result, _ = Compiled().run(p, warm)
    assert result.outcome is Outcome.SOLVED
    assert result.f == pytest.approx(1.9099962355, rel=1e-9)
    assert np.abs(result.constraint_multipliers).max() < 1e4


def test_least_violation():
    """The example of Waechter and Biegler (2000): its sum of violations has a minimum at x = -1,
    which is the solution.
    """
    rows = lambda x: [x[0] ** 2 - x[1] - 1, x[0] - x[2] - 0.5]  # noqa: E731
    result, _ = Compiled().run(program(lambda x: x[0], rows, [-2.0, 3.0, 1.0], [-INF, 0.0, 0.0]))
    assert result.outcome is Outcome.INFEASIBLE
    np.testing.assert_allclose(result.y, [-1.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(result.g, [0.0, -1.5], atol=1e-6)


@pytest.mark.plugins
def test_programs_without_solution_are_passed_to_ipopt():
    p = program(lambda x: x[0], lambda x: [x[0] ** 2 + 1], [0.7])
    alone, _ = Compiled().run(p)
    assert alone.outcome is Outcome.INFEASIBLE
    result = Compiled().solve(p)
    assert result.outcome is Outcome.INFEASIBLE
    assert "after Infeasible" in result.message


@pytest.mark.plugins
def test_a_nonfinite_initial_point_is_reported():
    p = program(lambda x: casadi.log(x[0]), None, [-1.0])
    assert Compiled().run(p)[0].outcome is Outcome.NOT_A_NUMBER
    assert Compiled().solve(p).outcome is Outcome.NOT_A_NUMBER


def test_steps_to_nonfinite_values_are_shortened():
    result, _ = Compiled().run(program(lambda x: x[0] - casadi.log(x[0]), None, [1e-3]))
    assert result.outcome is Outcome.SOLVED
    assert result.y == pytest.approx([1.0])


@pytest.mark.parametrize(
    "warm", [COLD, Effort(1e-6), Effort(1e-3, monotone=True), Effort(1e-2, fitted=False)]
)
def test_warm_starts(warm):
    near = Compiled().run(hs71())[0].y
    p = hs71()
    result, _ = Compiled().run(
        Program(p.blocks, p.linear, p.lower, p.upper, p.g_lower, p.g_upper, near, p.parameters),
        warm,
    )
    assert result.outcome is Outcome.SOLVED
    assert result.f == pytest.approx(17.0140172891, rel=1e-9)


def test_limits_of_iterations_and_time():
    assert Compiled(max_iterations=3).solve(hs71()).outcome is Outcome.ITERATIONS
    assert Compiled(max_iterations=3).solve(hs71()).iterations == 3
    result = Compiled().solve(hs71(), COLD, Deadline(0.0))
    assert result.outcome is Outcome.TIME_LIMIT
    assert np.all(np.isfinite(result.y))


def large():
    """A factorization of this program takes about a second: 100 states on 100 intervals."""
    return program_of(chain(), 100)


def interrupted(run, seconds=0.6):
    """What ``run`` returns after Ctrl-C, and the processor time from there to its end.

    It comes after so much processor time.
    """
    began, sent, running = time.process_time(), [], threading.Event()

    def stop():
        time.sleep(0.05)
        while time.process_time() < began + seconds and running.is_set():
            time.sleep(0.005)
        sent.append(time.process_time())
        if running.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    running.set()
    worker = threading.Thread(target=stop)
    worker.start()
    try:
        return run(), time.process_time() - sent[0]
    finally:
        running.clear()
        worker.join()


def test_interruption_during_a_factorization():
    """Ctrl-C stops within 0.1 s, at the last iterate.

    It was lost where Python handled it on its way into the callback.
    """
    program = large()
    (result, _), seconds = interrupted(lambda: Compiled().run(program))
    assert result.outcome is Outcome.INTERRUPTED
    assert seconds < 0.1
    assert np.all(np.isfinite(result.y))


def test_interruption_in_a_function_that_python_evaluates():
    p = program(lambda x: casadi.sumsqr(x) ** 2, None, np.full(3, 50.0))
    kernel = p.blocks[0].kernel
    hessian = kernel.hessian

    class Waiting:
        tape, function = None, hessian.function

        def __call__(self, *columns):
            time.sleep(0.02)
            return hessian(*columns)

    object.__setattr__(kernel, "hessian", Waiting())
    (result, _), seconds = interrupted(
        lambda: Compiled(tolerance=1e-300, max_iterations=10_000).run(p), 0.0
    )
    assert result.outcome is Outcome.INTERRUPTED
    assert seconds < 0.1
    assert np.all(np.isfinite(result.y))


def test_what_a_signal_handler_raises_reaches_the_caller():
    def handler(*_):
        raise ArithmeticError("from the handler")

    program, kept = large(), signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(ArithmeticError, match="from the handler"):
            interrupted(lambda: Compiled().run(program), 0.2)
    finally:
        signal.signal(signal.SIGINT, kept)


def test_a_time_limit_holds_during_a_factorization():
    program, began = large(), time.process_time()
    result, _ = Compiled().run(program, COLD, Deadline(0.5))
    assert result.outcome is Outcome.TIME_LIMIT
    assert time.process_time() - began < 0.6


@pytest.mark.parametrize(
    "name", ["brachistochrone", "bryson-denham", "goddard-cops", "launch-vehicle"]
)
@pytest.mark.plugins
def test_named_problems_as_with_ipopt(name):
    ours = solve(builder(name)(), Collocation(backend=Compiled()))
    theirs = solve(builder(name)(), Collocation(backend=Ipopt()))
    assert ours.status is theirs.status
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)


@pytest.mark.plugins
def test_the_backend_of_each_mesh_is_in_the_history_and_the_file(tmp_path):
    for backend in (Compiled(), Ipopt()):
        solution = solve(builder("block-move")(), Collocation(backend=backend))
        assert {one.backend for one in solution.history} == {backend.name}
        solution.save(tmp_path / "a.nc")
        assert {one.backend for one in load(tmp_path / "a.nc").history} == {backend.name}


@pytest.mark.plugins
def test_verified_by_ipopt():
    solution = solve(builder("brachistochrone")(), Collocation(backend=Compiled()), verify=True)
    assert solution.success
    assert "verified by IPOPT" in solution.log[-1]
    with pytest.raises(UsageError, match="collocation"):
        solve(builder("brachistochrone")(), "both", verify=True)


@pytest.mark.plugins
def test_a_wrong_solution_is_not_verified(monkeypatch):
    """A backend that stops before the optimum and reports success."""
    honest = Compiled.run

    def short(self, program, *rest):
        result, report = honest(replace(self, max_iterations=4), program, *rest)
        return replace(result, outcome=Outcome.SOLVED), report

    monkeypatch.setattr(Compiled, "run", short)
    solution = solve(
        builder("brachistochrone")(),
        Collocation(backend=Compiled(), max_passes=1, tolerance=INF),
        verify=True,
    )
    assert solution.status is Status.FAILED
    assert "IPOPT" in solution.explanation[0]


@pytest.mark.plugins
def test_round_off_above_the_tolerance_ends_at_the_acceptable_level():
    """Lengths of a thousand kilometres: the rows cannot be satisfied to 1e-11."""
    ocp = Problem("block")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v, u = ph.state("x", start=0, end=1e6), ph.state("v", start=0, end=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    solution = solve(ocp, Collocation(backend=Compiled())).check()
    assert solution.objective == pytest.approx(12e12, rel=1e-8)
    assert solution.iterations < 40


@pytest.mark.plugins
def test_programs_with_tables_are_passed_to_ipopt():
    from tests.benchmarks.suite.tables import wind_table

    answer = solve(wind_table(), Collocation(backend=Compiled()))
    assert answer.status is Status.SOLVED
    assert {one.backend for one in answer.history} == {"ipopt"}
