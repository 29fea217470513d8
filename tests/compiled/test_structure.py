"""Functions with the same instructions share one tape and one set of kernels."""

import casadi
import pytest

from trajopt import Problem, builder, free
from trajopt.compiled.structure import SharedByStructure, structure
from trajopt.direct.kernels import make_kernels
from trajopt.nlp.program import make_kernel


def function(name, factor=2.0):
    x, y = casadi.SX.sym(name), casadi.SX.sym(name + "_")
    return casadi.Function(name, [x, y], [factor * casadi.sin(x) * y])


def test_names_do_not_matter():
    assert structure(function("a")) == structure(function("b"))


def test_constants_and_the_order_of_inputs_matter():
    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    assert structure(function("a")) != structure(function("a", 2.0 + 1e-15))
    assert structure(casadi.Function("f", [x, y], [x - y])) != structure(
        casadi.Function("f", [y, x], [x - y])
    )


def test_other_functions_are_not_compared():
    shared, x = SharedByStructure(2), casadi.MX.sym("x")
    assert [shared.get([x], [x * x], lambda k=k: k) for k in (1, 2)] == [1, 2]


def legs(damping):
    """A cart driven there and back, in phases whose states have names of their own."""
    ocp = Problem("legs")
    phases, cost = [], 0
    for i, d in enumerate(damping):
        ph = ocp.phase(f"leg{i}")
        ph.time(start=0 if i == 0 else free(0, 9), end=free(0.1, 10))
        x = ph.state(f"x{i}", start=i % 2, end=1 - i % 2)
        v = ph.state(f"v{i}", start=0, end=0)
        u = ph.control(f"u{i}", lower=-1, upper=1)
        ph.dynamics({x: v, v: u - d * v})
        cost = cost + ph.integral(1 + u**2)
        phases.append(ph)
    ocp.minimize(cost)
    return ocp.finish()


def count_built(monkeypatch, form):
    """Return how many phase kernels are differentiated, and how many there are to use."""
    built = []
    monkeypatch.setattr(
        "trajopt.direct.kernels.make_kernel",
        lambda name, *a: built.append(name) or make_kernel(name, *a),
    )
    kernels = make_kernels(form)
    used = {id(ph.at_points(True)) for ph in kernels.phases}
    return built.count("free"), len(used)


@pytest.mark.parametrize(("damping", "distinct"), [((0.5,) * 4, 1), ((0.5, 0.5, 0.25, 0.5), 2)])
def test_identical_phases_share_kernels(monkeypatch, damping, distinct):
    form = legs(damping)
    assert count_built(monkeypatch, form) == (distinct, distinct)
    assert len({id(m) for m in form.models}) == distinct


def test_slalom_has_one_kernel_for_its_six_phases(monkeypatch):
    form = builder("slalom-effort")().finish()
    assert len(form.phases) == 6
    assert count_built(monkeypatch, form) == (1, 1)
    assert len({id(m) for m in form.models}) == 1
