"""Tapes are bitwise equal to CasADi's interpreter: every operation, special values, any number of
points and threads.
"""

import ctypes
import threading

import casadi
import numpy as np
import pytest

from trajopt.compiled import tapes
from trajopt.compiled.library import library
from trajopt.compiled.pointwise import Pointwise

core_only = pytest.mark.skipif(library() is None, reason="the compiled core is not available")

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -3.7,
    0.7,
    -0.71,
    1e-310,
    -1e-310,
    1e300,
    -1e300,
    np.inf,
    -np.inf,
    np.nan,
    710.0,
]

UNARY = {
    "ASSIGN": lambda x: x,
    "NEG": lambda x: -x,
    "EXP": casadi.exp,
    "LOG": casadi.log,
    "SQRT": casadi.sqrt,
    "SQ": lambda x: x * x,
    "TWICE": lambda x: x + x,
    "SIN": casadi.sin,
    "COS": casadi.cos,
    "TAN": casadi.tan,
    "ASIN": casadi.arcsin,
    "ACOS": casadi.arccos,
    "ATAN": casadi.arctan,
    "NOT": casadi.logic_not,
    "FLOOR": casadi.floor,
    "CEIL": casadi.ceil,
    "FABS": casadi.fabs,
    "SIGN": casadi.sign,
    "ERF": casadi.erf,
    "INV": lambda x: 1 / x,
    "SINH": casadi.sinh,
    "COSH": casadi.cosh,
    "TANH": casadi.tanh,
    "ASINH": casadi.arcsinh,
    "ACOSH": casadi.arccosh,
    "ATANH": casadi.arctanh,
    "ERFINV": casadi.erfinv,
    "LOG1P": casadi.log1p,
    "EXPM1": casadi.expm1,
}
BINARY = {
    "ADD": lambda x, y: x + y,
    "SUB": lambda x, y: x - y,
    "MUL": lambda x, y: x * y,
    "DIV": lambda x, y: x / y,
    "POW": lambda x, y: x**y,
    "LT": casadi.lt,
    "LE": casadi.le,
    "EQ": casadi.eq,
    "NE": casadi.ne,
    "AND": casadi.logic_and,
    "OR": casadi.logic_or,
    "FMOD": casadi.fmod,
    "REMAINDER": casadi.remainder,
    "COPYSIGN": casadi.copysign,
    "IF_ELSE_ZERO": lambda x, y: casadi.if_else(x, y, 0),
    "FMIN": casadi.fmin,
    "FMAX": casadi.fmax,
    "ATAN2": casadi.arctan2,
    "HYPOT": casadi.hypot,
    "LIFT": lambda x, y: casadi.SX.binary(casadi.OP_LIFT, x, y),
}
CONSTANT = {"CONSTPOW": lambda x: x**2.5, "CONST": lambda x: x + 1.25}


def by_casadi(function, *columns):
    """Evaluate point by point by the interpreter."""
    return np.hstack(
        [np.asarray(function(*(c[:, [k]] for c in columns))) for k in range(columns[0].shape[1])]
    )


def by_tape(function):
    """Use the tape from the first evaluation; by default small functions use it after several
    evaluations.
    """
    pointwise = Pointwise(function)
    assert pointwise.tape is not None
    return pointwise


def same_bits(a, b):
    a, b = np.ascontiguousarray(a, dtype=float), np.ascontiguousarray(b, dtype=float)
    nan = np.isnan(a) & np.isnan(b)  # the sign of a NaN is the hardware's business
    return bool(np.all(nan | (a.view(np.int64) == b.view(np.int64))))


def table(names):
    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    rows = {
        **{k: f(x) for k, f in {**UNARY, **CONSTANT}.items()},
        **{k: f(x, y) for k, f in BINARY.items()},
    }
    return {k: casadi.Function("f", [x, y], [rows[k]]) for k in names}


@core_only
@pytest.mark.parametrize("name", [*UNARY, *CONSTANT, *BINARY])
def test_every_operation_is_bitwise_equal_to_the_interpreter(name):
    function = table([name])[name]
    codes = {function.instruction_id(k) for k in range(function.n_instructions())}
    assert name in ("ASSIGN", "LIFT") or getattr(casadi, f"OP_{name}") in codes, (
        "CasADi has simplified the expression"
    )
    x, y = (a.ravel()[None, :] for a in np.meshgrid(SPECIAL, SPECIAL))
    random = np.random.default_rng(1).normal(size=(2, 500)) * 3
    columns = np.hstack([x, random[:1]]), np.hstack([y, random[1:]])
    assert same_bits(by_tape(function)(*columns), by_casadi(function, *columns))


@core_only
def test_the_operations_of_the_tape_are_those_of_the_table():
    tested = {*UNARY, *BINARY, *CONSTANT, "INPUT", "OUTPUT"}
    assert np.count_nonzero(tapes._operations() >= 0) == len(tested)


def model():
    """Expressions whose work slots are used again in place, several inputs and outputs, one of them
    empty.
    """
    x, p, none = casadi.SX.sym("x", 3), casadi.SX.sym("p", 2), casadi.SX.sym("none", 0)
    v = x
    for k in range(12):
        v = casadi.vertcat(
            casadi.sin(v[1]) * v[2] + p[0],
            v[0] / (1.5 + casadi.cos(v[1] + k)),
            casadi.fmax(v[2], v[0]) - p[1],
        )
    return casadi.Function("model", [x, none, p], [v, casadi.jacobian(v, x).nz[:], none])


@core_only
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 31, 32, 33, 36, 37, 64, 1000])
def test_any_number_of_points(count):
    function, random = model(), np.random.default_rng(count)
    x, p = random.normal(size=(3, count)), random.normal(size=2)
    values, slopes, none = by_tape(function)(x, np.zeros((0, count)), p)
    assert values.shape == (3, count)
    assert none.shape == (0, count)
    for k in range(count):
        reference = function(x[:, k], np.zeros(0), p)
        assert same_bits(values[:, [k]], reference[0])
        assert same_bits(slopes[:, [k]], np.asarray(reference[1]).reshape(-1, 1))


@core_only
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_and_views(order):
    function = model()
    x = np.asarray(np.random.default_rng(0).normal(size=(6, 140)), order=order)[::2, ::2]
    p = np.array([0.3, -0.2])
    values = by_tape(function)(x, np.zeros(0), p)[0]
    assert same_bits(
        values, by_tape(function)(x.copy(), np.zeros(0), np.repeat(p[:, None], 70, axis=1))[0]
    )


@core_only
def test_threads_do_not_change_the_result(monkeypatch):
    function, x = model(), np.random.default_rng(0).normal(size=(3, 20_001))
    results = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        results.append(np.vstack(by_tape(function)(x, np.zeros(0), np.ones(2))))
    assert same_bits(results[0], results[1])
    assert same_bits(results[0], results[2])


@core_only
def test_one_tape_in_many_threads():
    """ctypes releases the interpreter lock: concurrent calls must not share memory."""
    tape, p = by_tape(model()), np.ones(2)
    points = [np.random.default_rng(k).normal(size=(3, 3000)) for k in range(8)]
    alone = [tape(x, np.zeros(0), p)[0] for x in points]
    together = [None] * 8
    workers = [
        threading.Thread(
            target=lambda k=k: together.__setitem__(k, tape(points[k], np.zeros(0), p)[0])
        )
        for k in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(same_bits(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.plugins
def test_functions_without_a_tape_are_evaluated_by_casadi():
    x = casadi.MX.sym("x")
    table = casadi.interpolant(
        "table", "bspline", [[0.0, 1.0, 2.0, 3.0, 4.0]], [0.0, 1.0, 4.0, 9.0, 16.0]
    )
    function = Pointwise(casadi.Function("f", [x], [table(x)]))
    assert function.tape is None
    assert function(np.array([[0.5, 1.5, 2.5]])) == pytest.approx(np.array([[0.25, 2.25, 6.25]]))


@core_only
def test_both_implementations_take_the_same_arguments():
    random = np.random.default_rng(3)
    x = random.normal(size=(3, 50))
    fast = by_tape(model())
    slow = Pointwise(model())
    slow.__dict__["tape"] = None
    for points, p in (
        (x, np.ones(2)),
        (x[:, 0], np.ones(2)),
        (x, np.ones((2, 50))),
        (x[:, :0], np.ones(2)),
    ):
        a, b = fast(points, np.zeros(0), p), slow(points, np.zeros(0), p)
        assert all(same_bits(u, v) and u.shape == v.shape for u, v in zip(a, b, strict=True))


@core_only
def test_a_tape_is_built_after_enough_evaluations():
    function = Pointwise(model())
    x, p = np.ones((3, 10)), np.ones(2)
    first = function(x, np.zeros(0), p)[0]
    assert "tape" not in function.__dict__
    for _ in range(60):
        assert same_bits(function(x, np.zeros(0), p)[0], first)
    assert function.__dict__["tape"] is not None


def test_wrong_shapes_are_rejected():
    with pytest.raises(ValueError, match="expected"):
        Pointwise(model())(np.zeros((4, 5)), np.zeros(0), np.ones(2))
    with pytest.raises(ValueError, match="points"):
        Pointwise(model())(np.zeros((3, 5)), np.zeros(0), np.ones((2, 4)))


@core_only
def test_only_samples_of_the_instructions_are_read_by_the_interface(monkeypatch):
    calls, one = [], tapes._instruction
    monkeypatch.setattr(
        tapes, "_instruction", lambda function, k: calls.append(k) or one(function, k)
    )
    assert tapes.tape_of(model()) is not None
    assert len(calls) < 8 < model().n_instructions()


@core_only
@pytest.mark.parametrize("text", ["", "a", "not letters", "ab" * 5000])
def test_an_unknown_format_of_serialized_functions_is_read_by_the_interface(text, monkeypatch):
    serialized = tapes.tape_of(model())
    monkeypatch.setattr(casadi.Function, "serialize", lambda self: text)
    by_interface = tapes.tape_of(model())
    for a, b in zip(serialized.arrays[:4], by_interface.arrays[:4], strict=True):
        assert np.array_equal(a, b)
    x = np.random.default_rng(0).normal(size=(3, 5))
    a, b = (t.run([x, np.zeros((0, 5)), np.ones((2, 1))], 5) for t in (serialized, by_interface))
    assert same_bits(a, b)


@core_only
def test_a_damaged_tape_is_rejected():
    tape = tapes.tape_of(model())
    core = library()
    assert core.tape_check(ctypes.byref(tape.c)) == 0
    sums = np.flatnonzero(tape.arrays[0] == tapes._operations()[casadi.OP_ADD])
    for array, bad in ((0, 99), (1, -1), (2, 10_000), (3, 1 << 30)):
        kept = tape.arrays[array][sums[0]]
        tape.arrays[array][sums[0]] = bad
        assert core.tape_check(ctypes.byref(tape.c)) == sums[0] + 1
        tape.arrays[array][sums[0]] = kept
