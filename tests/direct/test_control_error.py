"""What controls lose between the collocation points: the estimate is what is lost, and it is driven
below the tolerance.
"""

import itertools
from dataclasses import replace
from functools import lru_cache

import casadi
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from trajopt import Problem, Status, solve
from trajopt.catalogue import builder
from trajopt.direct.collocation import Collocation
from trajopt.direct.control_error import with_control_error
from trajopt.direct.first_solution import first_meshes
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Gauss, Radau
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.guess.plain import plain_guess


def stiffening(distance=3.0):
    """Rest to rest in one second, price (z + z^3 / 10)^2: the control turns round quickly in the
    middle.
    """
    ocp = Problem("stiffening")
    ph = ocp.phase()
    ph.time(end=1)
    x, v, z = ph.state("x", start=0, end=distance), ph.state("v", start=0, end=0), ph.control("z")
    ph.dynamics({x: v, v: z})
    ocp.minimize(ph.integral((z + z**3 / 10) ** 2))
    return ocp


@lru_cache
def least(distance=3.0):
    """The same by the costate of v, which is a (1 - 2 t): dL/dz = -costate gives z(t), and the way
    covered gives a.
    """

    def control(slope):
        return brentq(
            lambda z: 2 * (z + z**3 / 10) * (1 + 0.3 * z**2) - slope,
            -100,
            100,
            xtol=1e-15,
            rtol=1e-15,
        )

    def covered(a):
        return (
            2
            * quad(
                lambda t: (0.5 - t) * control(a * (1 - 2 * t)),
                0,
                0.5,
                epsabs=1e-12,
                epsrel=1e-12,
                limit=200,
            )[0]
        )

    a = brentq(lambda a: covered(a) - distance, 1, 1e7, rtol=1e-13)

    def price(t):
        z = control(a * (1 - 2 * t))
        return (z + z**3 / 10) ** 2

    return 2 * quad(price, 0, 0.5, epsabs=1e-12, epsrel=1e-12, limit=200)[0]


def fence(length=1.3):
    """Dido: the largest area over a base of 1 under a curve of given length, an arc of a circle."""
    ocp = Problem("fence")
    ph = ocp.phase()
    ph.time(end=1)
    y, slope = ph.state("y", start=0, end=0), ph.control("slope")
    ph.dynamics({y: slope})
    ocp.require(ph.integral(casadi.sqrt(1 + slope**2)), equals=length, name="length")
    ocp.maximize(ph.integral(y))
    return ocp


def segment(length=1.3):
    half = brentq(lambda a: a / np.sin(a) - length, 0.1, 3)  # half the arc's angle
    radius = length / (2 * half)
    return radius**2 * (half - np.sin(half) * np.cos(half))


CASES = {"stiffening": (stiffening, least), "fence": (fence, segment)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tolerance", [1e-5, 1e-6, 1e-7])
def test_the_cost_is_as_exact_as_was_asked_for(name, tolerance):
    build, exact = CASES[name]
    solution = solve(build(), tolerance=tolerance).check()
    assert abs(solution.objective - exact()) <= tolerance * abs(exact())
    assert solution.error == solution.phases["main"].errors.max() == solution.history[-1].error


@pytest.mark.parametrize("scheme", [Radau(), Gauss()], ids=lambda s: s.name)
def test_the_estimate_is_what_is_lost(scheme):
    """A control that should follow a bell, where the states play no part: what is lost is the mean
    square of the difference.
    """

    def bell(t):
        return 1 / (1 + 50 * (t - 0.37) ** 2)

    ocp = Problem("follow")
    ph = ocp.phase()
    t = ph.time(end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(3 * (u - bell(t)) ** 2 + 1))
    mesh = Mesh.uniform(5, 4)
    solution = solve(ocp, Collocation(scheme, mesh, max_passes=1))
    lost = sum(
        quad(lambda t: 3 * (solution["u"](t) - bell(t)) ** 2, a, b)[0]
        for a, b in itertools.pairwise(mesh.breaks)
    )
    assert lost > 1e-6
    error = with_control_error(exact_states(ocp, Collocation(scheme, mesh))).error
    assert error == pytest.approx(lost, rel=0.02)


def exact_states(problem, method):
    """The first mesh solution, as if its states were exact."""
    form = problem.finish()
    context = Context.start(form, method, form.parameter_values(), lambda line: None)
    solution = solve_mesh(context, first_meshes(context), plain_guess(form))
    assert solution.solved
    return replace(
        solution,
        estimates=tuple(replace(e, errors=np.zeros_like(e.errors)) for e in solution.estimates),
    )


def test_the_controls_of_a_fixed_mesh_count_too():
    """The motion alone has seven digits on this mesh, the cost not quite six."""
    mesh = Mesh(np.array([*np.linspace(0, 0.9, 10), 0.95, 1]), np.full(11, 4))
    solution = solve(fence(), Collocation(mesh=mesh, max_passes=1))
    gap = abs(solution.objective - segment()) / segment()
    assert gap > 1e-6
    assert solution.status is Status.COARSE
    assert solution.error == pytest.approx(gap, rel=0.1)


@pytest.mark.parametrize(
    "name", ["brachistochrone", "cart-pole", "vanderpol-bounded", "bryson-denham", "orbit-raising"]
)
def test_resolved_controls_lose_nothing(name):
    """No false alarm: not at bounds, not along constraints, not where angles are controls."""
    mesh = solve(builder(name)()).check().phases["main"]
    breaks = (mesh.breaks - mesh.t0) / (mesh.tf - mesh.t0)
    own = Mesh(np.concatenate([[0], breaks[1:-1], [1]]), np.array(mesh.degrees))
    assert with_control_error(exact_states(builder(name)(), Collocation(mesh=own))).error < 1e-6
