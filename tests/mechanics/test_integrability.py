"""The nonholonomy tensor and the Helmholtz conditions, on conditions and equations with known
results.
"""

import casadi
import numpy as np
import pytest

from problems.stabilization.cart_slalom import cart_slalom
from problems.stabilization.inverse_problem import inverse_problem
from problems.stabilization.sleigh import sleigh
from trajopt.errors import ModelError
from trajopt.mechanics import Coordinate, Mechanism, Nonholonomic, helmholtz, nonholonomy


def moving(*conditions):
    x, y, z = (Coordinate(name) for name in "xyz")
    rows = tuple(
        Nonholonomic(f"c{k}", condition(x, y, z)) for k, condition in enumerate(conditions)
    )
    return Mechanism("point", (x, y, z), (x.v**2 + y.v**2 + z.v**2) / 2, constraints=rows)


def test_a_gradient_times_any_factor_is_integrable():
    # exp(y) times the rate of x y + sin z
    found = nonholonomy(
        moving(lambda x, y, z: casadi.exp(y.q) * (y.q * x.v + x.q * y.v + casadi.cos(z.q) * z.v))
    )
    assert found.holonomic
    assert found.tensors["c0"] < 1e-12


def test_the_tensor_of_a_contact_form_is_its_known_value():
    # z' - y x' = 0: Omega_xyz of the normed row (-y, 0, 1) is 1/|w| times 1: the curl is a
    # constant.
    found = nonholonomy(moving(lambda x, y, z: z.v - y.q * x.v))
    assert not found.holonomic
    assert 0.1 < found.tensors["c0"] <= 1.0


def test_a_condition_may_be_integrable_with_another_and_not_alone():
    found = nonholonomy(moving(lambda x, y, z: z.v - y.q * x.v, lambda x, y, z: y.v))
    assert found.tensors["c0"] > 0.1
    assert found.tensors["c1"] == 0.0
    assert found.holonomic  # y is constant, and then z - y x is


def test_named_systems():
    assert not nonholonomy(sleigh().mechanism).holonomic
    assert nonholonomy(
        cart_slalom().mechanism
    ).holonomic  # the track leaves one freedom, and that can always be integrated
    x = Coordinate("x")
    with pytest.raises(ModelError, match="no velocity conditions"):
        nonholonomy(Mechanism("free", (x,), x.v**2))


def test_lagranges_equations_satisfy_helmholtz_conditions():
    q, v, a = (casadi.SX.sym(name, 2) for name in "qva")
    L = (
        casadi.sumsqr(v) * (1 + q[0] ** 2) / 2
        + q[1] * v[0] * v[1]
        + casadi.sin(q[0]) * v[1]
        - casadi.exp(q[0] * q[1])
    )
    p = casadi.gradient(L, v)
    lagrange = casadi.jtimes(p, q, v) + casadi.jtimes(p, v, a) - casadi.gradient(L, q)
    plain = helmholtz(lagrange, q, v, a)
    assert plain.conservative, plain
    D = (v[0] ** 4 + q[1] ** 2 * (v[0] + v[1]) ** 2) / 2
    damped = helmholtz(lagrange + casadi.gradient(D, v), q, v, a)
    assert damped.lagrangian, damped
    assert not damped.conservative
    turned = helmholtz(lagrange + casadi.vertcat(q[1] ** 3, 0), q, v, a)  # a force with a curl
    assert turned.lagrangian  # D = v[0] q[1]^3
    assert not turned.rayleigh
    assert turned.conditions["no curl at rest"] > 0.1
    assert not helmholtz(
        casadi.vertcat(2 * a[0], a[1]) + a[0] * casadi.vertcat(0, 1), q, v, a
    ).lagrangian


def test_the_inverse_problem_has_a_lagrangian_and_a_dissipation_function():
    """q'' = dw/dq v - (d + dw/dq^T) h, h = v - w: L = |h|^2/2, D = h.d h/2 for any symmetric d(q).

    With the appendix' d the vector d w is a gradient, so that a D without linear terms exists too.
    """
    found = {}
    for kind in ("constant", "appendix"):
        system = inverse_problem(dissipation=kind)
        q, v, a = (casadi.SX.sym(name, 3) for name in "qva")
        rate = system.function(system.rate)(0.0, casadi.vertcat(q, v), system.parameter_values)
        found[kind] = helmholtz(a - rate[3:], q, v, a)
        L, D = system.outputs["lagrangian"][0], system.outputs["dissipation"][0]
        p = casadi.gradient(L, system.x[3:])
        motion = casadi.jtimes(p, system.x, system.rate) - casadi.gradient(L, system.x[:3])
        residual = system.function(motion + casadi.gradient(D, system.x[3:]))
        left = residual(0.0, np.random.default_rng(0).normal(size=6), [])
        assert np.abs(np.array(left)).max() < 1e-12
    worst = found["constant"].conditions
    assert max(worst, key=worst.get) == "no curl at rest"
    assert found["constant"].lagrangian
    assert not found["constant"].rayleigh
    assert found["appendix"].conditions["no curl at rest"] < 1e-12
    assert found["appendix"].dissipation > 1.0
