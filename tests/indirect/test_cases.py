"""Every classical case, solved by shooting from a direct solution with default options, against its
trusted optimum.
"""

import numpy as np
import pytest

from trajopt.show.diagnostic_plots import integral_drifts

# name -> how closely the trusted optimum is met; some references have fewer digits than shooting
CASES = {
    "block_move": 1e-12,
    "lqr_scalar": 1e-11,
    "brachistochrone": 1e-10,
    "linear_tangent_steering": 1e-10,
    "orbit_raising": 1e-10,
    "vanderpol_bounded": 1e-8,
    "double_integrator_mintime": 1e-12,
    "double_integrator_minfuel": 1e-10,
    "moon_lander": 1e-10,
    "robot_arm": 1e-10,
    "goddard": 1e-10,
    "jacobson_singular": 1e-10,
    "bryson_denham": 1e-12,
    "cart_pole": 1e-10,
    "launch_vehicle": 1e-9,
}


def switches(solution):
    return [a.end for a in solution.arcs[:-1]]


@pytest.mark.parametrize("name", CASES)
def test_trusted_optimum(classical, name):
    _, reference, _, shot = classical(name)
    assert shot.success, shot.explanation
    assert shot.objective == pytest.approx(reference.objective, rel=CASES[name], abs=0)


@pytest.mark.parametrize("name", CASES)
def test_initial_costates(classical, name):
    form, reference, direct, shot = classical(name)
    first = form.phases[0].name
    t0 = shot.phases[first].t0
    for state, value in reference.costates.items():
        assert shot.costate(state, first)(t0) == pytest.approx(value, rel=2e-7, abs=1e-12)
    # The direct method's covectors are a second derivation of the same costates, to its own
    # accuracy.
    for q in form.phases[0].states:
        ours = np.atleast_1d(shot.costate(q.name, first)(t0))
        theirs = np.atleast_1d(direct.costate(q.name, first)(t0))
        largest = max(np.abs(curve.points).max() for curve in [shot.costate(q.name, first)])
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * largest + 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_hamiltonian_is_constant(classical, name):
    *_, shot = classical(name)
    for integral, (_, drift) in integral_drifts(shot).items():
        assert np.nanmax(drift) < 1e-10, integral


@pytest.mark.parametrize(
    ("name", "expected", "unit"),
    [
        ("goddard", (0.0235096840, 0.0726707434), 0.1988562621),
        ("jacobson_singular", (1.4137640876,), 5.0),
        ("bryson_denham", (1 / 3, 2 / 3), 1.0),
        ("double_integrator_mintime", (1.0,), 2.0),
        ("double_integrator_minfuel", (0.3819660, 2.6180340), 3.0),
        ("moon_lander", (1.4154037504,), 4.1641408342),
        (
            "robot_arm",
            (9.14091174591 / 4, 2.7960432, 9.14091174591 / 2, 6.3448685, 3 * 9.14091174591 / 4),
            9.14091174591,
        ),
    ],
)
def test_switching_times(classical, name, expected, unit):
    _, _, _, shot = classical(name)
    np.testing.assert_allclose(switches(shot), expected, rtol=0, atol=2e-8 * unit)


def test_boundary_layers_of_a_hypersensitive_problem(classical):
    _, reference, _, shot = classical("hypersensitive")
    assert shot.success, shot.explanation
    assert shot.objective == pytest.approx(reference.objective, rel=1e-11, abs=0)
    # H = 0 on the way to rest: (x^2 + u^2) / 2 - u (u - x^3) = 0 gives u = x^3 - sqrt(x^6 + x^2),
    # and the costate is -u.
    assert shot.costate("x")(0.0) == pytest.approx(np.sqrt(2) - 1, rel=1e-9)
    assert abs(shot["x"](5000.0)) < 1e-12


def test_a_singular_arc_meets_its_closed_form(classical):
    """On Goddard's singular arc drag (1 + v / c) equals the weight."""
    _, _, _, shot = classical("goddard")
    arc = next(a for a in shot.arcs if a.roles["T"] == "singular")
    t = np.linspace(arc.start, arc.end, 50)[1:-1]
    h, v, m = shot["h"](t), shot["v"](t), shot["m"](t)
    drag = 310 * v**2 * np.exp(-500 * (h - 1))
    np.testing.assert_allclose(drag * (1 + v / 0.5), m / h**2, rtol=1e-9)


def test_costate_jump_of_bryson_denham(classical):
    """The closed form for x <= 1/9: costates of x are 2/(9 l^2) before, 0 on and -2/(9 l^2) after
    the boundary arc.
    """
    _, _, _, shot = classical("bryson_denham")
    limit = 1 / 9
    np.testing.assert_allclose(
        shot.costate("x")([0.1, 0.5, 0.9]), np.array([1, 0, -1]) * 2 / (9 * limit**2), atol=1e-9
    )
    np.testing.assert_allclose(shot["x"](np.linspace(1 / 3, 2 / 3, 20)), limit, rtol=1e-12)
    assert shot.objective == pytest.approx(4 / (9 * limit), rel=1e-13)


def test_multipliers_of_links_are_those_of_the_direct_method(classical):
    _, _, direct, shot = classical("launch_vehicle")
    compared = 0
    for name, value in direct.multipliers.items():
        if name in shot.multipliers and abs(value) > 1e-3 and not name.startswith("t "):
            assert shot.multipliers[name] == pytest.approx(value, rel=1e-3), name
            compared += 1
    assert compared >= 10
