"""Masses, lengths and inertias as symbols: parameters of a problem that change without rebuilding
the model.
"""

import casadi
import numpy as np
import pytest

from trajopt import Problem, solve
from trajopt.errors import ModelError
from trajopt.mechanics import (
    Body,
    Coordinate,
    Link,
    Quantity,
    Revolute,
    Slide,
    Tree,
    Turn,
    assemble,
    check_model,
    rod,
)


def arm(mass, length, payload):
    """Two rods in a vertical plane; the second carries a payload, which has an inertia too."""
    a, b = Coordinate("a", 0.3, unit="rad"), Coordinate("b", -0.4, unit="rad")
    links = (
        rod("upper", "ground", (Turn("z", a),), mass, length),
        rod("fore", "upper", (Slide("x", length), Turn("z", b)), 2.0, 0.5),
        Link(
            "payload",
            "fore",
            (Slide("x", 0.5),),
            payload,
            (0.05 * payload, 0.0, 0.0),
            inertia=0.01 * payload,
        ),
    )
    return Tree("arm", links, gravity=(0, -9.81, 0))


def test_a_model_with_symbols_equals_one_with_numbers():
    values = (3.0, 0.7, 1.5)
    symbols = [casadi.SX.sym(name) for name in ("mass", "length", "payload")]
    q, v = [0.2, 0.9], [1.0, -2.0]
    given = casadi.Function("a", symbols, [arm(*symbols).mechanism().acceleration(q, v)])
    np.testing.assert_allclose(
        np.array(given(*values)), np.array(arm(*values).mechanism().acceleration(q, v)), rtol=1e-12
    )


def test_a_planar_body_with_symbols_equals_one_with_numbers():
    def pendulum(mass, inertia, off):
        body = Body("bob", mass, inertia, position=(1.0, 0.0), centre=(off, 0.0))
        return assemble(
            "pendulum", [body], [Revolute("pin", "ground", "bob", on_second=(-1.0, 0.0))]
        )

    symbols, values = [casadi.SX.sym(name) for name in ("m", "J", "c")], (2.0, 0.3, 0.1)
    at = ([0.6, 0.8, 0.9], [0.0, 0.0, 0.0])
    given = casadi.Function("a", symbols, [pendulum(*symbols).acceleration(*at)])
    np.testing.assert_allclose(
        np.array(given(*values)), np.array(pendulum(*values).acceleration(*at)), rtol=1e-12
    )


def test_a_payload_is_swept_without_rebuilding():
    """A block lifted from rest to rest in time T takes the integral of (m (a + g))^2 = m^2 (12 h^2
    / T^3 + g^2 T).
    """
    ocp = Problem("lift")
    ph = ocp.phase()
    payload = ocp.parameter("payload", 1.0, unit="kg")
    y, force = Coordinate("y", unit="m"), Quantity("force", unit="N")
    tree = Tree(
        "lift", (Link("block", "ground", (Slide("y", y),), 2.0 + payload),), gravity=(0, -9.81, 0)
    )
    model = tree.mechanism({"y": force.symbol}, controls=(force,))
    ph.time(start=0, end=1)
    q, v = ph.state("q", start=0, end=0.5), ph.state("v", start=0, end=0)
    u = ph.control("u")
    ph.dynamics({q: v, v: model.acceleration(q, v, u)})
    ocp.minimize(ph.integral(u**2))
    for mass in (0.0, 1.0, 5.0):
        answer = solve(ocp, parameters={"payload": mass}).check()
        assert answer.objective == pytest.approx(
            (2 + mass) ** 2 * (12 * 0.5**2 + 9.81**2), rel=1e-6
        )


def test_a_parameter_of_the_mechanism_has_a_value_and_can_be_simulated():
    load = Quantity("load", 1.5, "kg")
    model = arm(3.0, 0.7, load.symbol).mechanism(parameters=(load,))
    assert check_model(model).ok
    assert [p.name for p in model.system().parameters] == ["load"]


def test_operations_that_need_values_reject_symbols():
    model = arm(casadi.SX.sym("mass"), 0.7, 1.0).mechanism()
    for needing in (model.system, model.consistent, model.dependent_constraints):
        with pytest.raises(ModelError, match=r"(?s)need values.*mass without a value"):
            needing()
    with pytest.raises(ModelError, match="no MX symbols"):
        rod("a", "ground", (), casadi.MX.sym("m"), 1.0)
    with pytest.raises(ModelError, match="negative mass"):
        rod("a", "ground", (), -1.0, 1.0)
