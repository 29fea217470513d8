"""Model checks detect and name errors of a model."""

from dataclasses import replace

import casadi
import pytest
from casadi import cos

from trajopt.errors import ModelError
from trajopt.mechanics import Coordinate, Holonomic, Inertia, Mechanism, check_model
from trajopt.system import System, Variable


def arm(constraints=()):
    a, b = Coordinate("a", 0.3), Coordinate("b", 0.4)
    kinetic = a.v**2 + b.v**2 / 2 + a.v * b.v * cos(b.q - a.q)
    return Mechanism(
        "arm",
        (a, b),
        kinetic,
        -2 * cos(a.q) - cos(b.q),
        constraints=tuple(c(a, b) for c in constraints),
    )


def test_a_correct_model_passes_every_check():
    model = arm()
    report = check_model(
        replace(model, inertia=Inertia(model.equations.mass, model.equations.bias)), samples=5
    )
    assert report.ok
    assert [row.name for row in report.rows] == [
        "symmetry of M",
        "definiteness of M",
        "power balance",
        "equations of motion",
        "Lagrange and Newton-Euler",
    ]
    assert report.check() is report


def spoiled(change):
    model = arm()
    return replace(model, inertia=Inertia(*change(model.equations.mass, model.equations.bias)))


@pytest.mark.parametrize(
    ("change", "row"),
    [
        (lambda M, h: (M + casadi.SX([[0, 0.1], [0, 0]]), h), "symmetry of M"),
        (lambda M, h: (M - 3 * casadi.SX.eye(2), h), "definiteness of M"),
        (lambda M, h: (M, h + 1e-6), "Lagrange and Newton-Euler"),
        (lambda M, h: (M, h + 1e-6), "power balance"),
        (lambda M, h: (1.001 * M, h), "power balance"),
    ],
)
def test_a_wrong_model_fails_in_the_right_check(change, row):
    report = check_model(spoiled(change), samples=5)
    assert row in report.failing
    line = next(line for line in str(report).splitlines() if row in line)
    assert "FAILS" in line
    assert "q = [" in line
    with pytest.raises(ModelError, match=row):
        report.check()


def test_dependent_constraints_are_counted():
    twice = (
        lambda a, b: Holonomic("one", a.q - b.q),
        lambda a, b: Holonomic("two", 2 * a.q - 2 * b.q),
    )
    # The augmented system is singular, so the equations cannot hold either.
    assert "dependent constraints" in check_model(arm(constraints=twice), samples=2).failing


def test_systems_are_checked_through_their_mechanism():
    assert check_model(arm().system(), samples=2).ok
    x, t = casadi.SX.sym("x"), casadi.SX.sym("t")
    with pytest.raises(ModelError, match="not made from a mechanism"):
        check_model(System("plain", t, x, (Variable("x", 1.0),), -x))
