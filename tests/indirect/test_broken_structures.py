"""A structure broken on purpose: shooting ends with the right one, or rather with the answer that
collocation found too.
"""

import functools
import time
from dataclasses import replace

import numpy as np
import pytest

from trajopt import Problem, builder, solve
from trajopt.deadline import Budget
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.shooting import Shooting, _Run


def without(number):
    """An arc too few: the one before, or the first one's successor, takes its time."""

    def broken(arcs):
        kept = [arc for k, arc in enumerate(arcs) if k != number]
        if number:
            kept[number - 1] = replace(kept[number - 1], end=arcs[number].end)
        else:
            kept[0] = replace(kept[0], start=arcs[0].start)
        return kept

    return broken


def with_another(number, **roles):
    """An arc too many, with these roles, in the middle of another."""

    def broken(arcs):
        old = arcs[number]
        a, b = (old.start + share * (old.end - old.start) for share in (0.4, 0.6))
        pieces = [
            replace(old, end=a),
            replace(old, start=a, end=b, roles={**old.roles, **roles}),
            replace(old, start=b),
        ]
        return [*arcs[:number], *pieces, *arcs[number + 1 :]]

    return broken


def swapped(i, j):
    """The roles of two arcs exchanged."""

    def broken(arcs):
        changed = list(arcs)
        changed[i], changed[j] = (
            replace(arcs[i], roles=arcs[j].roles),
            replace(arcs[j], roles=arcs[i].roles),
        )
        return changed

    return broken


def touch_as_arc(arcs):
    """An arc on the constraint around the point where it is only touched."""
    free, place = arcs[0].roles, arcs[0].end
    times = (arcs[0].start, place - 0.05, place + 0.05, arcs[1].end)
    roles = (free, {**free, "x": "upper"}, free)
    assert arcs[1].touches == {"x": "upper"}
    return [
        replace(arcs[0], start=a, end=b, roles=r)
        for a, b, r in zip(times, times[1:], roles, strict=False)
    ]


def arc_as_touch(arcs):
    middle = 0.5 * (arcs[1].start + arcs[1].end)
    return [replace(arcs[0], end=middle), replace(arcs[2], start=middle, touches={"x": "upper"})]


CASES = {
    "time, an arc too many": ("double-integrator-mintime", {}, with_another(0, u="lower")),
    "time, swapped": ("double-integrator-mintime", {}, swapped(0, 1)),
    "time, an arc too few": ("double-integrator-mintime", {}, without(1)),
    "fuel, an arc too few": ("double-integrator-minfuel", {}, without(1)),
    "fuel, swapped": ("double-integrator-minfuel", {}, swapped(0, 2)),
    "oscillator, an arc too few": ("vanderpol-bounded", {}, without(2)),
    "singular, an arc too few": ("jacobson-singular", {}, without(1)),
    "wall, a touch as an arc": ("bryson-denham", {"wall": 0.2}, touch_as_arc),
    "wall, an arc as a touch": ("bryson-denham", {}, arc_as_touch),
}


@pytest.fixture(scope="module")
def answers():
    return functools.cache(
        lambda name, settings: solve(builder(name)(**dict(settings)), "both").check()
    )


@pytest.mark.parametrize("case", CASES)
def test_shooting_ends_with_the_right_structure(answers, case):
    name, settings, broken = CASES[case]
    right = answers(name, tuple(settings.items()))
    wrong = broken(right.arcs)
    assert [arc.roles for arc in wrong] != [arc.roles for arc in right.arcs]
    solution = Shooting().solve(right.form, replace(right, arcs=tuple(wrong)))
    assert solution.success, (solution.explanation, solution.log)
    assert [arc.roles for arc in solution.arcs] == [arc.roles for arc in right.arcs]
    assert solution.objective == pytest.approx(right.objective, rel=1e-9)


def test_touches_in_the_wrong_order():
    """Two motions beside each other, each with a wall that it touches; the first wall is touched
    first.
    """
    ocp = Problem("two walls")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    rates, cost = {}, 0
    for name, speed, wall in (("x", -0.5, 0.17), ("y", -1, 0.2)):
        x = ph.state(name, start=0, end=0, upper=wall)
        v = ph.state(f"{name}_rate", start=1, end=speed)
        u = ph.control(f"{name}_force")
        rates.update({x: v, v: u})
        cost = cost + ph.integral(u**2) / 2
    ph.dynamics(rates)
    ocp.minimize(cost)
    right = solve(ocp, "both").check()
    form, options = ocp.finish(), Shooting()
    hams, p = phase_hamiltonians(form), form.parameter_values(None)
    start = next(options._starts(form, hams, right, p))[1]
    first, second = start.arcs[1].touched, start.arcs[2].touched
    assert first != second
    assert all((first, second))
    wrong = replace(
        start,
        arcs=(
            start.arcs[0],
            replace(start.arcs[1], touched=second),
            replace(start.arcs[2], touched=first),
        ),
    )
    run = _Run(form, hams, p, Budget(), lambda line: None)
    solution = options._solve(run, iter([("", wrong)]), time.perf_counter())
    assert solution.success, (solution.explanation, solution.log)
    assert solution.objective == pytest.approx(right.objective, rel=1e-9)
    assert [arc.start for arc in solution.arcs] == pytest.approx(
        [arc.start for arc in right.arcs], abs=1e-8
    )


def beam_on_an_obstacle():
    """The obstacle's fourth derivative, the pressure in a contact, changes its sign: an arc, and a
    touch beyond.
    """
    ocp = Problem("beam on an obstacle")
    ph = ocp.phase()
    t = ph.time(start=-1, end=1)

    def obstacle(t):
        return -(t**2) + t**4 / 8 - t**5 / 12

    x = ph.state("x", start=obstacle(-1) + 0.1, end=obstacle(1) + 0.3)
    v = ph.state("v", start=0, end=0)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(x - obstacle(t), lower=0, name="obstacle")
    ocp.minimize(ph.integral(u**2) / 2)
    return ocp


def test_a_boundary_arc_that_covers_a_touch():
    """Its multiplier has the wrong sign near its end; the right structure has the same arc,
    shorter, and a touch.
    """
    right = solve(beam_on_an_obstacle(), "both").check()
    assert [arc.roles.get("obstacle") for arc in right.arcs] == [None, "lower", None, None]
    first, held, _, last = right.arcs
    wrong = replace(right, arcs=(first, replace(held, end=last.start), replace(last, touches={})))
    solution = Shooting().solve(right.form, wrong)
    assert solution.success, (solution.explanation, solution.log)
    assert [arc.end for arc in solution.arcs] == pytest.approx(
        [arc.end for arc in right.arcs], abs=1e-7
    )
    assert solution.objective == pytest.approx(right.objective, rel=1e-10)


def test_a_singular_arc_is_left_before_its_control_reaches_the_bound():
    """Goddard's rocket with less thrust: upper, singular, upper, lower; the third arc
    is left out.
    """
    rocket = builder("goddard-cops")(
        limit=3.529, final_mass=0.5504, drag=327.2, decay=535.7, c=0.4902
    )
    right = solve(rocket, "direct").check()
    first, last = right.arcs[0], right.arcs[-1]
    wrong = (first, replace(first, start=first.end, end=last.start, roles={"T": "singular"}), last)
    solution = Shooting().solve(right.form, replace(right, arcs=wrong))
    assert solution.success, (solution.explanation, solution.log)
    assert [arc.roles["T"] for arc in solution.arcs] == ["upper", "singular", "upper", "lower"]
    thrust = solution["T"](np.linspace(0, solution.arcs[-1].end, 2001))
    assert thrust.max() == pytest.approx(3.529, rel=1e-9)
    assert solution.objective == pytest.approx(right.objective, rel=1e-8)


def test_a_boundary_arc_that_vanishes_becomes_a_touch(answers):
    """The second structure is the right one already."""
    right = answers("bryson-denham", (("wall", 0.2),))
    solution = Shooting(structures=2).solve(
        right.form, replace(right, arcs=tuple(touch_as_arc(right.arcs)))
    )
    assert solution.success, (solution.explanation, solution.log)
    assert solution.objective == pytest.approx(right.objective, rel=1e-9)
