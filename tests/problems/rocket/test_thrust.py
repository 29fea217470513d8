"""Bounded thrust: both methods agree, the first integrals hold, and burns agree with the switching
function.
"""

from math import pi

import casadi
import numpy as np
import pytest

from problems.classical import orbit_raising
from problems.rocket import many_revolutions, min_fuel_transfer, min_time_transfer
from problems.rocket.pictures import deviations_picture, transfer_picture
from trajopt import solve
from trajopt.errors import ProblemError
from trajopt.indirect.shooting import Shooting


def both_sides(problem, **options):
    direct = solve(problem, **options).check()
    return problem.finish(), direct, solve(problem, Shooting(), guess=direct).check()


def along(form, solution, phase_form, expression, samples=41):
    """An expression in t, x and costates at times of a phase: (rows, samples)."""
    found = solution.phases[phase_form.name]
    t = np.linspace(found.t0, found.tf, samples)
    x, costate = (
        np.vstack([np.reshape(curves[q.name](t), (samples, q.size)).T for q in phase_form.states])
        for curves in (found.states, found.costates)
    )
    function = casadi.Function(
        "value", [phase_form.t, phase_form.x, phase_form.costate, form.p], [expression]
    )
    return np.asarray(function(t[None, :], x, costate, form.parameter_values(None)))


def spread_of_integrals(form, solution):
    """How far each declared integral moves over all phases together."""
    values = {}
    for ph in form.phases:
        for invariant in ph.invariants:
            values.setdefault(invariant.name, []).append(
                along(form, solution, ph, invariant.expression).ravel()
            )
    return {name: float(np.ptp(np.concatenate(parts))) for name, parts in values.items()}


def test_the_minimum_time_transfer_by_both_methods():
    form, direct, indirect = both_sides(min_time_transfer.build())
    assert direct.objective == pytest.approx(indirect.objective, rel=1e-9)
    spread = spread_of_integrals(form, indirect)
    assert set(spread) == {"hamiltonian", "rotation", "scaling"}
    assert max(spread.values()) < 1e-10


def test_the_minimum_time_transfer_is_the_dual_of_the_highest_orbit():
    solution = solve(
        min_time_transfer.build(radius=orbit_raising.REFERENCE.objective), tolerance=1e-8
    ).check()
    assert solution.objective == pytest.approx(3.32, abs=1e-8)


def test_full_thrust_points_along_the_primer_vector():
    _, _, solution = both_sides(min_time_transfer.build())
    t = np.linspace(0, solution.objective, 60)
    primer = -np.column_stack([solution.costate("vr")(t), solution.costate("vt")(t)])
    assert solution["e"](t) == pytest.approx(
        primer / np.linalg.norm(primer, axis=1, keepdims=True), abs=1e-9
    )


@pytest.fixture(scope="module")
def least_fuel():
    return both_sides(min_fuel_transfer.build())


def test_minimum_fuel_with_eight_switches_by_both_methods(least_fuel):
    _, direct, indirect = least_fuel
    assert len(indirect.phases) == 9
    assert all(ph.tf - ph.t0 > 1 for ph in indirect.phases.values()), (
        "no burn and no coast has vanished"
    )
    assert direct.objective == pytest.approx(indirect.objective, rel=1e-9)
    for name, ph in indirect.phases.items():
        assert direct.phases[name].t0 == pytest.approx(ph.t0, abs=1e-4)


def test_the_integrals_of_bounded_thrust_hold_across_all_switches(least_fuel):
    form, _, indirect = least_fuel
    assert max(spread_of_integrals(form, indirect).values()) < 1e-11


def test_burns_are_where_the_switching_function_is_positive(least_fuel):
    """The phases are a bang-bang solution of the problem with a throttle: Pontryagin's condition
    holds at all times.
    """
    form, _, indirect = least_fuel
    for ph in form.phases:
        vr, vt, m = (ph.costate[i] for i in (2, 3, 4))
        S = (
            casadi.sqrt(vr**2 + vt**2) / ph.x[4] + m / ph.x[5]
        )  # multipliers of the maximum principle are negative costates
        values = along(form, indirect, ph, S).ravel()
        inside = values[1:-1]
        assert np.all(inside > 0) if ph.name.startswith("burn") else np.all(inside < 0)
        ends = [values[0]] * (ph.name != "burn 1") + [values[-1]] * (ph.name != "burn 5")
        assert ends == pytest.approx([0.0] * len(ends), abs=1e-9)


def test_burns_out_of_order_are_reported():
    with pytest.raises(ProblemError, match="burns"):
        min_fuel_transfer.build(burns=(0.0, 2.0, 1.0, 3.0))


@pytest.mark.slow
def test_more_than_twenty_revolutions_by_both_methods():
    form, direct, indirect = both_sides(many_revolutions.build())
    assert direct["theta"](direct.objective) > 2 * pi * 20
    assert direct.objective == pytest.approx(indirect.objective, rel=1e-9)
    assert spread_of_integrals(form, indirect)["scaling"] < 1e-8 * 3 * direct.objective


def test_pictures_are_drawn(least_fuel, tmp_path):
    _, _, indirect = least_fuel
    transfer_picture(indirect, tmp_path / "transfer.png")
    deviations_picture(tmp_path / "deviations.png", (0.01,))
    assert all(
        (tmp_path / name).stat().st_size > 10_000 for name in ("transfer.png", "deviations.png")
    )
