"""The assembled derivatives against CasADi's own differentiation of the assembled functions, on
small programs of every kind.
"""

from dataclasses import replace

import casadi
import numpy as np
import pytest
import scipy.sparse as sp

from trajopt.compiled.library import library
from trajopt.deadline import Deadline
from trajopt.direct.kernels import make_kernels
from trajopt.direct.mesh import Mesh
from trajopt.direct.packing import make_layout
from trajopt.direct.schemes import Gauss, HermiteSimpson, Lobatto, Radau, Trapezoidal
from trajopt.direct.transcription import transcribe
from trajopt.errors import UsageError
from trajopt.nlp.backends import COLD, Effort, Ipopt, Outcome
from trajopt.nlp.evaluation import Evaluation
from trajopt.nlp.program import Block, Program, functions_of, make_kernel, scaled, without_cost
from trajopt.nlp.sparse_rows import SparseRows, compressed
from trajopt.statement.bounds import free
from trajopt.statement.problem import Problem
from trajopt.trajectory.arcs import AT_LOWER, FREE


def everything(symbols=casadi.SX):
    """Two phases, free times, vectors, an algebraic variable, a static variable, a parameter,
    integrals in conditions.
    """
    ocp = Problem("everything", symbols)
    mass = ocp.parameter("mass", 2.0)
    s = ocp.variable("s", lower=0, upper=5, guess=1)
    parts = []
    for name in ("one", "two"):
        ph = ocp.phase(name)
        t = ph.time(
            start=0 if name == "one" else free(0.5, 2),
            end=free(0.6, 4, guess=1.5 if name == "one" else 3),
        )
        q = ph.state("q", 2)
        w = ph.state("w")
        z = ph.algebraic("z")
        u = ph.control("u", 2, lower=-1, upper=1)
        ph.dynamics(
            {
                q: casadi.vertcat(w * u[0], casadi.sin(q[0]) * z + t),
                w: q[1] ** 2 * u[1] / mass - s * w,
            }
        )
        ph.require(z - casadi.exp(0.1 * q[0] * w))
        ph.path(q[0] * u[1] + z * w, upper=4, name="wall")
        parts.append((ph, t, q, w, u))
    (a, _, qa, wa, ua), (b, tb, qb, wb, ub) = parts
    ocp.connect(a, b, states=["q"])
    ocp.require(a.integral(ua[0] ** 2 * wa) * b.final(wb), upper=3, name="budget")
    ocp.minimize(
        b.final(tb) ** 2
        + a.integral(qa[0] * ua[1]) * mass
        + b.integral(ub[0] ** 2 + tb * qb[1]) ** 2
        + s**3
    )
    return ocp.finish()


def fixed_time(symbols=casadi.SX):
    ocp = Problem("fixed", symbols)
    ph = ocp.phase()
    t = ph.time(start=1, end=3)
    x, v, u = ph.state("x"), ph.state("v"), ph.control("u", lower=-1, upper=2)
    ph.dynamics({x: v * t, v: casadi.cos(x) * u - v**3})
    ocp.minimize(ph.integral(x**2 * u**2 + casadi.exp(v)) + ph.final(x * v))
    return ocp.finish()


def program_of(form, scheme, mesh, seed=0):
    kernels = make_kernels(form)
    layout = make_layout(form, kernels, scheme, tuple(mesh for _ in form.phases))
    y = np.random.default_rng(seed).uniform(0.2, 1.2, layout.unknowns)
    return transcribe(kernels, layout, y, form.parameter_values())


def two_controls(mesh, roles=None):
    points = np.tile([1, -1], (mesh.intervals, 1))
    return Mesh(mesh.breaks, mesh.degrees, (1,) if roles is not None else (), roles, points)


MIXED = Mesh(np.array([0.0, 0.2, 0.7, 1.0]), np.array([2, 4, 3]))
CASES = {
    "radau": lambda: program_of(everything(), Radau(), MIXED),
    "gauss": lambda: program_of(everything(), Gauss(), MIXED),
    "lobatto": lambda: program_of(everything(), Lobatto(), MIXED),
    "trapezoidal": lambda: program_of(everything(), Trapezoidal(), Mesh.uniform(3, 1)),
    "hermite-simpson": lambda: program_of(everything(), HermiteSimpson(), Mesh.uniform(3, 2)),
    "fixed times": lambda: program_of(fixed_time(), Radau(), MIXED),
    "fixed times, shared nodes": lambda: program_of(
        fixed_time(), HermiteSimpson(), Mesh.uniform(3, 2)
    ),
    "fewer control values": lambda: program_of(everything(), Radau(), two_controls(MIXED)),
    "moving knots and held controls": lambda: program_of(
        everything(),
        Gauss(),
        two_controls(MIXED, np.array([[FREE, FREE], [AT_LOWER, FREE], [AT_LOWER, FREE]])),
    ),
    "MX": lambda: program_of(everything(casadi.MX), Radau(), MIXED),
    "MX, fixed times": lambda: program_of(fixed_time(casadi.MX), Gauss(), MIXED),
    "one interval of degree one": lambda: program_of(everything(), Radau(), Mesh.uniform(1, 1)),
    "several unknowns to an input": lambda: random_program(),
}


def random_lines(count, width, density, rng):
    matrix = sp.random(count, width, density=density, random_state=rng, format="csr")
    matrix.sort_indices()
    return SparseRows(matrix.indptr, matrix.indices, matrix.data, width)


def diagonal(size):
    return SparseRows(np.arange(size + 1), np.arange(size), np.ones(size), size)


def random_program(seed=1):
    """A kernel between random matrices: inputs that mix unknowns, rows that mix outputs, an unknown
    used twice at one point.
    """
    rng = np.random.default_rng(seed)
    w, d, p = casadi.SX.sym("w", 3), casadi.SX.sym("d", 1), casadi.SX.sym("p", 2)
    constraints = casadi.vertcat(w[0] * w[1] * p[0], casadi.sin(w[2]) * d + w[0] ** 2)
    kernel = make_kernel(
        "mixed", w, d, p, constraints, casadi.exp(w[0]) * w[2] ** 2 + p[1] * w[1] ** 3
    )
    n, m, count = 5, 4, 6
    gather = random_lines(count * 3, n, 0.6, rng)
    scatter = random_lines(count * 2, m, 0.5, rng)
    linear = random_lines(n, m, 0.4, rng)
    block = Block(
        kernel, count, gather, rng.uniform(size=(1, count)), scatter, rng.uniform(size=count)
    )
    ends = np.full(n, np.inf)
    return Program(
        (block,),
        linear,
        -ends,
        ends,
        np.zeros(m),
        np.zeros(m),
        rng.uniform(size=n),
        np.array([1.5, -0.5]),
    )


def values(program):
    """(f, gradient, g, Jacobian, upper triangle of the Hessian) at the start: assembled, and by
    CasADi from f and g alone.
    """
    functions = functions_of(program)
    y, p, f, g = (functions.nlp[name] for name in ("x", "p", "f", "g"))
    rng = np.random.default_rng(3)
    lam_f, lam_g = 0.7, rng.normal(size=program.constraints)
    symbol_f, symbol_g = casadi.MX.sym("lf"), casadi.MX.sym("lg", program.constraints)
    hessian = casadi.triu(casadi.hessian(symbol_f * f + casadi.dot(symbol_g, g), y)[0])
    reference = casadi.Function(
        "reference",
        [y, p, symbol_f, symbol_g],
        [f, casadi.gradient(f, y), g, casadi.jacobian(g, y), hessian],
    )
    here = (program.start, program.parameters)
    value, constraints = casadi.Function("values", [y, p], [f, g])(*here)
    assembled = [
        value,
        functions.derivatives["grad_f"](*here)[1],
        constraints,
        functions.derivatives["jac_g"](*here)[1],
    ]
    assembled.append(functions.derivatives["hess_lag"](*here, lam_f, lam_g))
    return [np.asarray(a.full()) for a in assembled], [
        np.asarray(a.full()) for a in reference(*here, lam_f, lam_g)
    ]


@pytest.mark.parametrize("case", CASES)
def test_derivatives_are_those_of_the_assembled_functions(case):
    assembled, reference = values(CASES[case]())
    for ours, theirs in zip(assembled, reference, strict=True):
        assert np.all(np.isfinite(theirs))
        np.testing.assert_allclose(
            ours, theirs, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(theirs).max())
        )
    assert np.abs(reference[-1]).max() > 0  # there was something to differentiate twice


@pytest.mark.parametrize("case", ["radau", "hermite-simpson", "several unknowns to an input"])
def test_patterns_have_only_structural_nonzeros(case):
    """Explicit zeros cost time in the linear solver; only a few cancellations are allowed."""
    program = CASES[case]()
    derivatives = functions_of(program).derivatives
    assert derivatives["grad_f"].sparsity_out(1).is_dense()  # solvers read it as such
    jacobian = derivatives["jac_g"](program.start, program.parameters)[1]
    hessian = derivatives["hess_lag"](
        program.start, program.parameters, 1.0, np.ones(program.constraints)
    )
    for matrix in (jacobian, hessian):
        assert np.count_nonzero(np.asarray(matrix.nonzeros())) >= 0.98 * matrix.nnz()


def test_symbols_of_both_kinds_give_the_same_program():
    for one, other in zip(values(CASES["radau"]())[0], values(CASES["MX"]())[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("case", ["radau", "moving knots and held controls", "trapezoidal"])
def test_scaled_is_the_same_program_in_other_units(case):
    program = CASES[case]()
    rng = np.random.default_rng(5)
    columns, rows = (
        rng.uniform(0.1, 10, program.unknowns),
        rng.uniform(0.1, 10, program.constraints),
    )
    other = scaled(program, columns, rows)
    (f, gradient, g, jacobian, _), _ = values(program)
    (f_s, gradient_s, g_s, jacobian_s, _), _ = values(other)
    np.testing.assert_allclose(f_s, f, rtol=1e-13)
    np.testing.assert_allclose(
        gradient_s.ravel(), gradient.ravel() * columns, rtol=1e-11, atol=1e-11
    )
    np.testing.assert_allclose(g_s.ravel(), g.ravel() * rows, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        jacobian_s, jacobian * rows[:, None] * columns, rtol=1e-11, atol=1e-11
    )


def test_without_cost_keeps_the_constraints():
    program = CASES["radau"]()
    (_, _, g, jacobian, _), _ = values(program)
    (f_0, gradient_0, g_0, jacobian_0, _), _ = values(without_cost(program))
    assert not f_0.any()
    assert not gradient_0.any()
    np.testing.assert_array_equal(g_0, g)
    np.testing.assert_array_equal(jacobian_0, jacobian)


def circle():
    """The point of the unit circle closest, in a skewed norm, to a distant one: y = (1, 1) /
    sqrt(2) by symmetry.
    """
    w, empty, p = casadi.SX.sym("w", 2), casadi.SX(0, 1), casadi.SX(0, 1)
    objective = (w[0] + w[1] - 3) ** 2 / 2 + (w[0] - w[1]) ** 2
    kernel = make_kernel("circle", w, empty, p, casadi.sumsqr(w), objective)
    block = Block(kernel, 1, diagonal(2), np.zeros((0, 1)), diagonal(1), np.ones(1))
    ends, one = np.full(2, np.inf), np.ones(1)
    nothing = compressed([], [], [], (2, 1))
    return Program((block,), nothing, -ends, ends, one, one, np.array([0.3, 1.0]), np.zeros(0))


def test_ipopt_uses_the_shortest_time_limit():
    late = {"max_wall_time": 100.0}
    assert Ipopt().solve(circle(), COLD, Deadline(1e-9)).outcome is Outcome.TIME_LIMIT
    assert Ipopt(options=late).solve(circle(), COLD, Deadline(1e-9)).outcome is Outcome.TIME_LIMIT
    assert (
        Ipopt(options={"max_wall_time": 1e-9}).solve(circle(), COLD, Deadline(100.0)).outcome
        is Outcome.TIME_LIMIT
    )
    assert Ipopt(options=late).solve(circle(), COLD, Deadline(100.0)).outcome is Outcome.SOLVED


def test_ipopt_finds_the_optimum_and_its_multiplier():
    result = Ipopt(tolerance=1e-11).solve(circle())
    assert result.outcome is Outcome.SOLVED
    assert result.iterations < 12  # second derivatives are exact: Newton's pace
    np.testing.assert_allclose(result.y, np.sqrt([0.5, 0.5]), atol=1e-9)
    assert result.f == pytest.approx((np.sqrt(2) - 3) ** 2 / 2, abs=1e-9)
    assert result.constraint_multipliers[0] == pytest.approx(
        (3 - np.sqrt(2)) / np.sqrt(2), abs=1e-8
    )


def test_a_backend_reports_its_outcome():
    program = circle()
    stuck = Ipopt(max_iterations=1).solve(program)
    assert stuck.outcome is Outcome.ITERATIONS
    impossible = Program(**{**vars(program), "g_lower": -np.ones(1), "g_upper": -np.ones(1)})
    assert Ipopt().solve(impossible).outcome is Outcome.INFEASIBLE
    undefined = Program(**{**vars(program), "start": np.array([np.nan, 1.0])})
    assert Ipopt().solve(undefined).outcome is Outcome.NOT_A_NUMBER


def test_adaptive_warm_starts_reach_complementarity():
    """The remaining complementarity is an error of the costates."""
    program = Program(
        **{**vars(circle()), "upper": np.array([0.6, 0.9]), "lower": np.array([-0.4, 0.0])}
    )
    for start in np.random.default_rng(0).uniform([0.5, 0.6], [0.6, 0.9], size=(20, 2)):
        result = Ipopt().solve(Program(**{**vars(program), "start": start}), Effort(1e-4))
        assert result.outcome is Outcome.SOLVED
        distances = np.where(
            result.bound_multipliers > 0, program.upper - result.y, result.y - program.lower
        )
        assert np.abs(result.bound_multipliers * distances).max() < 2e-12


@pytest.mark.parametrize("steady", [False, True])
def test_a_warm_start_at_the_solution_stays_there(steady):
    """With an active bound: multipliers of one, as in a cold start, would first move the iterate
    away.
    """
    free = circle()
    program = Program(
        **{**vars(free), "upper": np.array([0.6, np.inf]), "lower": np.array([0.0, 0.0])}
    )
    cold = Ipopt().solve(program)
    assert cold.bound_multipliers[0] > 0.1
    again = Program(**{**vars(program), "start": cold.y})
    warm = Ipopt().solve(again, Effort(1e-9, steady))
    assert warm.outcome is Outcome.SOLVED
    np.testing.assert_allclose(warm.y, cold.y, atol=1e-9)
    assert warm.iterations <= 3 < cold.iterations
    assert Ipopt().solve(again).iterations > warm.iterations


core_only = pytest.mark.skipif(library() is None, reason="the compiled core is not available")


@core_only
@pytest.mark.parametrize("case", CASES)
def test_compiled_values_and_derivatives(case):
    program = CASES[case]()
    functions, evaluation = functions_of(program), Evaluation(program)
    y, p = functions.nlp["x"], functions.nlp["p"]
    value = casadi.Function("value", [y, p], [functions.nlp["f"], functions.nlp["g"]])
    rng = np.random.default_rng(3)
    multipliers = rng.normal(size=program.constraints)
    here = program.start, program.parameters
    f, g = value(*here)
    jacobian, hessian = (
        functions.derivatives["jac_g"](*here)[1],
        functions.derivatives["hess_lag"](*here, 0.7, multipliers),
    )
    assert evaluation.objective(program.start) == pytest.approx(float(f), rel=1e-13)
    close(evaluation.constraints(program.start), g)
    close(evaluation.gradient(program.start), functions.derivatives["grad_f"](*here)[1])
    for pattern, values, reference in (
        (evaluation.jacobian_pattern, evaluation.jacobian(program.start), jacobian),
        (evaluation.hessian_pattern, evaluation.hessian(program.start, 0.7, multipliers), hessian),
    ):
        assert pattern.starts.tolist() == reference.sparsity().colind()
        assert pattern.rows.tolist() == reference.sparsity().row()
        close(values, reference.nz[:])


def close(ours, theirs):
    theirs = np.asarray(theirs, dtype=float).ravel()
    np.testing.assert_allclose(
        ours, theirs, rtol=1e-12, atol=1e-13 * max(1.0, np.abs(theirs).max(initial=0))
    )


@core_only
def test_an_exception_of_a_model_is_passed_on():
    """CasADi evaluates functions without a tape, in Python; the exception is passed through C."""
    program = CASES["MX"]()
    evaluation = Evaluation(program)

    def broken(*_):
        raise ArithmeticError("no table here")

    object.__setattr__(program.blocks[0].kernel, "constraints", broken)
    with pytest.raises(ArithmeticError, match="no table"):
        evaluation.constraints(program.start)


WRONG = {
    "linear": lambda p: replace(p, linear=compressed([], [], [], (1, 1))),
    "block 0: gather": lambda p: _with_block(p, gather=compressed([], [], [], (1, p.unknowns))),
    "block 0: scatter": lambda p: _with_block(
        p, scatter=replace(p.blocks[0].scatter, indices=p.blocks[0].scatter.indices + 10**6)
    ),
    "block 0: data": lambda p: _with_block(p, data=np.zeros((0, 0))),
    "block 0: weights": lambda p: _with_block(p, weights=np.zeros(1)),
    "parameters": lambda p: replace(p, parameters=np.zeros(0)),
    "start": lambda p: replace(p, start=p.start[1:]),
    "g_upper": lambda p: replace(p, g_upper=p.g_upper[1:]),
}


def _with_block(program, **changes):
    return replace(program, blocks=(replace(program.blocks[0], **changes), *program.blocks[1:]))


@core_only
@pytest.mark.parametrize("name", WRONG)
def test_a_program_of_wrong_shapes_is_refused(name):
    program = program_of(everything(), Radau(), Mesh.uniform(3, 2))
    with pytest.raises(UsageError, match=f"of {name}"):
        Evaluation(WRONG[name](program))
