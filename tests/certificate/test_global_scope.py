"""The scope of a claim: convex problems get a dual bound and the scope "global", twins that are not
convex stay "local".
"""

import json
from dataclasses import replace

import casadi
import numpy as np
import pytest

from trajopt import Problem, certify, free, solve
from trajopt.certificate.curvature import INFINITY, constant, curvatures, variable
from trajopt.certificate.table import DUAL_BOUND


def integrator(x1=1.0, tf=1.0, **limits):
    """A double integrator from rest to rest; the statement is completed by its caller."""
    ocp = Problem("integrator")
    ph = ocp.phase()
    ph.time(start=0, end=tf)
    x = ph.state("x", start=0, end=x1)
    v = ph.state("v", start=0, end=0, **limits.pop("speed", {}))
    u = ph.control("u", **limits)
    ph.dynamics({x: v, v: u})
    return ocp, ph, x, v, u


def least_energy():
    ocp, ph, _, _, u = integrator()
    ocp.minimize(ph.integral(u**2))
    return ocp


def bounded_energy():
    ocp, ph, _, _, u = integrator(lower=-5, upper=5)
    ocp.minimize(ph.integral(u**2))
    return ocp


def speed_limit():
    ocp, ph, _, _, u = integrator(speed={"upper": 1.2})
    ocp.minimize(ph.integral(u**2))
    return ocp


def moving_limit():
    """A wall that depends on time, as a path constraint of a state."""
    ocp, ph, x, _, u = integrator()
    ph.path(x - ph.t, upper=0.05, name="wall")
    ocp.minimize(ph.integral(u**2))
    return ocp


def least_fuel():
    """Two thrusters against each other."""
    ocp = Problem("least fuel")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    a, b = ph.control("a", lower=0, upper=2), ph.control("b", lower=0, upper=2)
    ph.dynamics({x: v, v: a - b})
    ocp.minimize(ph.integral(a + b))
    return ocp


def least_fuel_with_a_kink():
    """The same with one thrust and its absolute value."""
    ocp, ph, _, _, u = integrator(tf=2.0, lower=-2, upper=2)
    ocp.minimize(ph.integral(casadi.fabs(u)))
    return ocp


def farthest():
    """A bang-bang motion of given duration."""
    ocp = Problem("farthest")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u - 0.3 * v})
    ocp.maximize(ph.final(x))
    return ocp


def regulator(q=1.0, **bounds):
    ocp = Problem("regulator")
    ph = ocp.phase()
    t = ph.time(start=0, end=3)
    x, v = ph.state("x", start=1), ph.state("v", start=0)
    u = ph.control("u", **bounds)
    ph.dynamics({x: v, v: -x - 0.2 * v + u})
    ocp.minimize(
        0.5 * ph.integral(casadi.exp(-0.1 * t) * (q * x**2 + v**2 + x * u + u**2))
        + ph.final(x) ** 2
    )
    return ocp


def tracking():
    """A free start within limits, an inequality between end values, a quartic cost."""
    ocp = Problem("tracking")
    ph = ocp.phase()
    t = ph.time(start=0, end=2)
    x, u = ph.state("x", start=free(-1, 1)), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.require(ph.final(x) + ph.initial(x), upper=0.5, name="sum")
    ocp.minimize(ph.integral((x - casadi.sin(3 * t)) ** 4 + 0.1 * u**2))
    return ocp


def periodic():
    """The start is free without limits; only the multiplier of the link holds it."""
    ocp = Problem("periodic")
    ph = ocp.phase()
    t = ph.time(start=0, end=2)
    x, u = ph.state("x"), ph.control("u")
    ph.dynamics({x: -x + u})
    ocp.require(ph.final(x) - ph.initial(x), equals=0, name="period")
    ocp.minimize(ph.integral((x - casadi.sin(np.pi * t)) ** 2 + u**2))
    return ocp


def two_phases():
    ocp = Problem("two phases")
    energy = []
    for k, drag in enumerate((0.0, 1.0)):
        ph = ocp.phase(f"part{k}")
        ph.time(start=k, end=k + 1)
        x, v = (
            ph.state("x", **({"end": 1} if k else {"start": 0})),
            ph.state("v", **({"end": 0} if k else {"start": 0})),
        )
        u = ph.control("u", lower=-6, upper=6)
        ph.dynamics({x: v, v: u - drag * v})
        energy.append(ph.integral(u**2))
    ocp.connect(ocp.phases["part0"], ocp.phases["part1"])
    ocp.minimize(energy[0] + energy[1])
    return ocp


def sum_of_controls():
    """A mixed constraint of two controls and a state."""
    ocp = Problem("shared power")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x = ph.state("x", start=0, end=2)
    a, b = ph.control("a", lower=0, upper=3), ph.control("b", lower=0, upper=3)
    ph.dynamics({x: a + 0.5 * b - 0.1 * x})
    ph.path(a + b + 0.2 * x, upper=1.5, name="power")
    ocp.minimize(ph.integral(a**2 + 0.2 * b**2 + 0.1 * b))
    return ocp


def static_force():
    """A static variable, and an integral that is limited."""
    ocp = Problem("static force")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    u, s = ph.control("u"), ocp.variable("s", lower=-1, upper=1)
    ph.dynamics({x: v, v: u + s})
    ocp.require(ph.integral((x - 0.5) ** 2), upper=0.12, name="near the middle")
    ocp.minimize(ph.integral(u**2) + 3 * s**2)
    return ocp


def least_time(drag=0.5, limit=None):
    ocp = Problem("least time")
    ph = ocp.phase()
    ph.time(start=0, end=free(0.1, 10))
    x, v = (
        ph.state("x", start=0, end=1),
        ph.state("v", start=0, end=0, upper=np.inf if limit is None else limit),
    )
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u - drag * v})
    ocp.minimize(ph.final(ph.t))
    return ocp


CONVEX = {
    "least energy": (least_energy, 12.0),
    "bounded energy": (bounded_energy, None),
    "speed limit": (speed_limit, None),
    "moving limit": (moving_limit, None),
    "least fuel": (least_fuel, None),
    "farthest": (farthest, None),
    "regulator": (regulator, None),
    "bounded regulator": (lambda: regulator(lower=-0.3, upper=0.3), None),
    "tracking": (tracking, None),
    "periodic": (periodic, None),
    "two phases": (two_phases, None),
    "mixed constraint": (sum_of_controls, None),
    "static force": (static_force, None),
    "least time": (least_time, None),
    "least time, speed limit": (lambda: least_time(limit=0.5), None),
}


def twin(change):
    """A twin of the double integrator with one thing that is not convex."""
    ocp = Problem("twin")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.5, 4) if change == "free time" else 1)
    x, v = (
        ph.state("x", start=0, end=1),
        ph.state("v", start=0, end=free(-1, 1) if change == "ends" else 0),
    )
    u = ph.control("u", lower=-20, upper=20)
    ph.dynamics({x: v, v: u - (0.1 * v**2 if change == "drag" else 0)})
    if change == "outside":
        ph.path((x - 0.5) ** 2 + (v - 1) ** 2, lower=0.1, name="obstacle")
    if change == "ends":
        ocp.require(ph.final(v) ** 2 + ph.final(x) ** 2, equals=1.1, name="circle")
    running = {"cost": u**2 - 0.01 * x**2, "product": u**2 + x * v}.get(change, u**2)
    ocp.minimize(ph.integral(running) + (ph.final(t) if change == "free time" else 0))
    return ocp


REASONS = {
    "drag": "the rate of v is not affine",
    "free time": "a time is free",
    "outside": "the limit 'obstacle' is not convex",
    "ends": "the condition 'circle' is not convex",
    "cost": "the cost is not convex",
    "product": "the cost is not convex",
}


@pytest.mark.parametrize("name", CONVEX)
def test_convex_problems_are_certified_globally(name):
    build, known = CONVEX[name]
    solution = solve(build()).check()
    certificate = certify(solution)
    assert (certificate.claim, certificate.scope) == ("minimum", "global"), str(certificate)
    assert "(global" in certificate.verdict
    better = (
        certificate.bound >= solution.objective
        if name == "farthest"
        else certificate.bound <= solution.objective
    )
    assert better or abs(certificate.bound - solution.objective) < 1e-7 * abs(solution.objective)
    assert certificate.bound == pytest.approx(
        solution.objective if known is None else known, rel=2e-6
    )


@pytest.mark.parametrize("change", REASONS)
def test_twins_that_are_not_convex_stay_local(change):
    certificate = certify(solve(twin(change)))
    assert certificate.scope == "local"
    assert certificate.bound is None
    assert REASONS[change] in certificate[DUAL_BOUND].remark


def test_a_cost_with_a_kink():
    solved = solve(least_fuel()).check()
    ph = solved.phases["main"]
    a, b = ph.controls["a"], ph.controls["b"]
    u = replace(
        a,
        values=tuple(p - q for p, q in zip(a.values, b.values, strict=True)),
        lower=None,
        upper=None,
    )
    given = replace(
        solved,
        problem="integrator",
        form=None,
        phases={"main": replace(ph, controls={"u": u})},
        multipliers={},
    )
    certificate = certify(given, least_fuel_with_a_kink())
    assert certificate.scope == "global", str(certificate)
    assert certificate.bound == pytest.approx(solved.objective, rel=1e-6)


def with_costates(solution, factor):
    phases = {
        name: replace(
            ph,
            costates={
                n: replace(c, values=tuple(factor(v) for v in c.values))
                for n, c in ph.costates.items()
            },
        )
        for name, ph in solution.phases.items()
    }
    return replace(solution, phases=phases)


@pytest.mark.parametrize(
    "name",
    ["bounded energy", "speed limit", "least fuel", "tracking", "two phases", "mixed constraint"],
)
def test_wrong_multipliers_never_give_a_bound_above_the_optimum(name):
    solution = solve(CONVEX[name][0]()).check()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        wrong = with_costates(
            solution, lambda v, rng=rng: v * rng.uniform(0.7, 1.3) + 0.05 * rng.normal(size=v.shape)
        )
        bound = certify(wrong).bound
        assert bound is None or bound <= solution.objective * (1 + 1e-7)


@pytest.mark.parametrize("build", [periodic, two_phases])
def test_multipliers_are_corrected_where_starts_have_no_limits(build):
    solution = solve(build()).check()
    wrong = with_costates(solution, lambda v: v * (1 + 1e-6))
    bound = certify(wrong).bound
    assert bound == pytest.approx(solution.objective, rel=1e-6)
    assert bound <= solution.objective * (1 + 1e-8)


def test_a_worse_motion_has_the_bound_of_the_best_one_and_is_local():
    best, other = solve(bounded_energy()).check(), solve(integrator_with_more_cost()).check()
    worse = replace(
        other,
        objective=float(other.phases["main"].integrals[1]),
        problem=best.problem,
        form=best.form,
    )
    ph = worse.phases["main"]
    worse = replace(worse, phases={"main": replace(ph, integrals=ph.integrals[1:])})
    certificate = certify(worse)
    assert worse.objective > 1.001 * best.objective
    assert certificate.scope == "local"
    assert certificate.bound is None or certificate.bound <= best.objective * (1 + 1e-9)


def integrator_with_more_cost():
    """Another motion of the same system: the same limits, another cost."""
    ocp, ph, x, _, u = integrator(lower=-5, upper=5)
    first, second = ph.integral(100 * (x - 0.3) ** 2), ph.integral(u**2)
    ocp.minimize(first + second)
    return ocp


def test_the_bound_is_in_the_json():
    content = json.loads(json.dumps(certify(solve(least_energy())).to_json()))
    assert content["scope"] == "global"
    assert content["bound"] == pytest.approx(12)
    assert 0 <= content["gap"] < 1e-9


def rows(*expressions):
    x, y, t = (casadi.SX.sym(n) for n in "xyt")
    values = [[variable(0, -INFINITY, INFINITY)], [variable(1, 0.0, 5.0)], [constant(0.0, 3.0)]]
    found = curvatures(casadi.vertcat(*[e(x, y, t) for e in expressions]), [x, y, t], values)
    return [(row.convex, row.concave) for row in found.rows]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (lambda x, y, t: x**2 + y**2 - 1.9 * x * y, (True, False)),
        (lambda x, y, t: x**2 + y**2 - 2.1 * x * y, (False, False)),
        (lambda x, y, t: casadi.exp(-t) * (x - casadi.sin(t)) ** 2, (True, False)),
        (lambda x, y, t: casadi.sin(t) * x**2, (False, False)),
        (lambda x, y, t: casadi.sin(t) * x, (True, True)),
        (lambda x, y, t: casadi.sqrt(x**2 + (y - 1) ** 2), (True, False)),
        (lambda x, y, t: casadi.sqrt(x**2 + 2 * x + y**2), (False, False)),
        (lambda x, y, t: casadi.sqrt((x + t) ** 2 - t**2), (False, False)),
        (lambda x, y, t: casadi.log(1 + y), (False, True)),
        (lambda x, y, t: 1 / (1 + y), (True, False)),
        (lambda x, y, t: 1 / (1 + x), (False, False)),
        (lambda x, y, t: casadi.fmax(x, 2 * x) + casadi.fabs(x), (True, False)),
        (lambda x, y, t: casadi.floor(x), (False, False)),
        (lambda x, y, t: casadi.if_else(x > 0, 2 * x, x), (False, False)),
        (lambda x, y, t: casadi.sign(x) * x, (False, False)),
        (lambda x, y, t: y**3, (False, False)),
        (lambda x, y, t: y**2.5, (True, False)),
    ],
)
def test_curvature_is_proved_or_unknown(expression, expected):
    assert rows(expression) == [expected]
