"""A printed problem is in mathematical notation: its text evaluates to the same numbers, without
CasADi's notation.
"""

from __future__ import annotations

import math
import re

import casadi
import numpy as np
import pytest

from trajopt import Problem, free
from trajopt.statement.expression_text import Writer, number
from trajopt.statement.printing import print_problem

FUNCTIONS = {
    name: getattr(math, name) for name in ("sin", "cos", "exp", "sqrt", "tanh", "atan2")
} | {"min": min, "max": max}


def random_expression(rng, symbols, depth):
    """An expression of all operators that the dynamics of mechanisms have."""
    if depth == 0:
        return (
            symbols[rng.integers(len(symbols))]
            if rng.random() < 0.7
            else casadi.SX(round(rng.normal(), 2))
        )
    a, b = (random_expression(rng, symbols, depth - 1) for _ in range(2))
    unary = [
        lambda: -a,
        lambda: a**2,
        lambda: casadi.sin(a),
        lambda: 2 * a,
        lambda: casadi.fabs(a),
        lambda: casadi.exp(-(a**2)),
    ]
    binary = [
        lambda: a + b,
        lambda: a - b,
        lambda: a * b,
        lambda: a / (b**2 + 1),
        lambda: casadi.fmin(a, b),
    ]
    choices = unary + binary + binary
    return choices[rng.integers(len(choices))]()


def evaluated(text, values):
    """The printed text as a number."""
    code = re.sub(r"\|([^|]*)\|", r"abs(\1)", text).replace("^", "**")
    return eval(code, {"__builtins__": {}, "abs": abs, "pi": math.pi} | FUNCTIONS, values)


@pytest.mark.parametrize("seed", range(60))
def test_text_of_an_expression_evaluates_to_its_value(seed):
    rng = np.random.default_rng(seed)
    symbols = [casadi.SX.sym(name) for name in ("x", "y", "z")]
    expression = random_expression(rng, symbols, int(rng.integers(1, 5)))
    values = dict(zip("xyz", rng.normal(size=3).tolist(), strict=True))
    function = casadi.Function("f", symbols, [expression])
    text = Writer(width=10**4).text(expression)
    if text.count("|") > 2:  # nested absolute values cannot be parsed back by a regular expression
        return
    assert evaluated(text, values) == pytest.approx(
        float(function(*values.values())), rel=1e-4, abs=1e-4
    )  # numbers have six digits


@pytest.mark.parametrize("seed", range(20))
def test_named_subexpressions_evaluate_to_the_value(seed):
    rng = np.random.default_rng(seed)
    symbols = [casadi.SX.sym(name) for name in ("x", "y", "z")]
    part = casadi.sin(symbols[0] * symbols[1]) + symbols[2] ** 2 + 1
    expression = (
        sum(part**k / (k + part) for k in range(1, 6)) + random_expression(rng, symbols, 2) * 0
    )
    values = dict(zip("xyz", rng.uniform(0.1, 1, 3).tolist(), strict=True))
    expected = float(casadi.Function("f", symbols, [expression])(*values.values()))
    for name, text in Writer(width=40).definitions({"result": expression}):
        assert len(text) < 120
        values[name] = evaluated(text, values)
    assert len(values) > 4
    assert values["result"] == pytest.approx(expected, rel=1e-12)


def test_signs_are_distributed():
    x = casadi.SX.sym("x")
    assert Writer().text(x - -0.4) == "x + 0.4"
    assert Writer().text(2 * -x) == "-2*x"
    assert Writer().text(-(x - casadi.sin(x))) == "sin(x) - x"
    assert Writer().text((-x) ** 2) == "x^2"
    assert number(-math.pi / 6) == "-pi/6"


def test_statement_of_two_connected_phases():
    ocp = Problem("hop")
    stance, flight = ocp.phase("stance"), ocp.phase("flight")
    stance.time(start=0, end=0.5)
    t = flight.time(end=free(0.6, 2))
    for phase in (stance, flight):
        q = phase.state("q", components=("x", "z"), upper=[1, 3])
        v = phase.state("v", 2, start=0 if phase is stance else None)
        f = phase.control("f", 2, lower=[-1, -2], upper=[1, 2])
        phase.dynamics({q: v, v: casadi.vertcat(f[0], f[1] - 9.81)})
    stance.path(
        q["z"] if phase is stance else stance.declared["q"].symbol["z"], lower=0.1, name="height"
    )
    ocp.connect(stance, flight)
    ocp.minimize(stance.integral(f[0] ** 2) if phase is stance else flight.final(t))
    text = print_problem(ocp)
    assert "minimize flight.tf" in text
    assert "phase 'stance': t from 0 to 0.5 s" in text
    assert "phase 'flight': t from 0.5 to tf, 0.6 <= tf <= 2 s" in text
    assert "q' = v" in text
    assert "v[1]' = f[1] - 9.81" in text
    assert "path 'height': q[z] >= 0.1" in text
    assert "q[x] <= 1, q[z] <= 3" in text
    assert "|f[0]| <= 1, |f[1]| <= 2" in text


def test_components_of_mx_vectors_have_their_names():
    ocp = Problem("tables", symbols=casadi.MX)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    q = ph.state("q", components=("hip", "knee"), start=0)
    u = ph.control("u", 2)
    ph.dynamics({q: casadi.vertcat(q["knee"] * u[0], u[1])})
    text = print_problem(ocp)
    assert "q[hip]' = q[knee]*u[0]" in text


def test_a_long_model_is_summarized_and_written_out_on_request():
    ocp = Problem("long")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", 3, start=0)
    rate = x
    for k in range(40):
        rate = casadi.sin(rate * (k + 1.5)) + casadi.vertcat(x[1], x[2], x[0]) * rate
    ph.dynamics({x: rate})
    short, full = print_problem(ocp), print_problem(ocp, full=True)
    assert "f1, f2, f3 are functions of x" in short
    assert len(short.splitlines()) < 12
    assert "  f3 = " in full


def test_no_named_problem_is_printed_in_casadi_notation():
    from trajopt import builder, named_problems

    names = [name for name, entry in named_problems().items() if entry.kind == "problem"]
    assert len(names) > 30
    for name in names[::4]:
        ocp = builder(name)()
        text = str(ocp)
        for notation in ("@", r"sq\(", r"\S--", " in [<>]=", r"\.\.\."):
            assert not re.search(notation, text), f"{notation} in the statement of {name}"
        assert len(text.splitlines()) < 160, name
