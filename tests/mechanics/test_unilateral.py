"""Unilateral contacts with friction against closed forms: sliding, rolling, lift-off, impacts, and
inconsistent modes.
"""

import casadi
import numpy as np
import pytest
from casadi import SX, cos, sin, vertcat

from trajopt.errors import SimulationError
from trajopt.integrate import simulate
from trajopt.mechanics import Coordinate, Mechanism
from trajopt.mechanics.unilateral import (
    BACKWARD,
    DEPTH,
    FORWARD,
    OPEN,
    RISE,
    STICK,
    PointContact,
    Unilateral,
)
from trajopt.system import System

G = 9.81


def system_of(model, contacts, force, start, until=2.0):
    """A system of a mechanism with contacts under generalized forces ``force(t, q, v)``."""
    touching = Unilateral(model, tuple(contacts))
    t = SX.sym("t")
    pull = force(t, model.q, model.v)
    motion = touching.motion(pull)
    x = vertcat(model.q, model.v, touching.modes)
    states = (*model.state_variables(), *touching.variables(model.start[0]))
    outputs = {
        f"{c.name}_normal": (n, "N") for c, n in zip(touching.contacts, motion.normal, strict=True)
    }
    outputs |= {
        f"{c.name}_friction": (f, "N")
        for c, f in zip(touching.contacts, motion.tangential, strict=True)
    }
    return System(
        model.name,
        t,
        x,
        states,
        vertcat(model.v, motion.acceleration, SX.zeros(len(touching.contacts))),
        outputs=outputs | {"energy": (model.equations.energy, "J")},
        events=touching.events(motion, pull, t, x, SX(0, 1)),
        until=until,
    ).starting_at(start)


def block(mass=2.0):
    x, y = Coordinate("x", unit="m"), Coordinate("y", unit="m")
    model = Mechanism(
        "block", (x, y), kinetic=mass / 2 * (x.v**2 + y.v**2), potential=mass * G * y.q
    )
    return model, x, y


def names(run):
    return [event.name for event in run.events]


def test_a_sliding_block_stops_when_friction_has_dissipated_its_energy():
    model, x, y = block()
    contact = PointContact("sole", y.q, x.v, 0.4)
    run = simulate(system_of(model, [contact], lambda t, q, v: SX.zeros(2), {"x_rate": 3.0}))
    assert run["sole_contact"][0] == FORWARD
    (stop,) = [event.time for event in run.events if event.name == "sole grip"]
    assert stop == pytest.approx(3.0 / (0.4 * G), abs=1e-8)
    assert run.final["x"] == pytest.approx(9.0 / (2 * 0.4 * G), abs=1e-8)
    assert run["sole_contact"][-1] == STICK


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_an_increasing_force_causes_slip_at_the_boundary_of_the_cone(sense):
    model, x, y = block()
    contact = PointContact("sole", y.q, x.v, 0.4)
    run = simulate(
        system_of(model, [contact], lambda t, q, v: vertcat(sense * 10.0 * t, 0), {}, until=1.0)
    )
    (slip,) = [event.time for event in run.events if event.name == "sole slip"]
    assert slip == pytest.approx(0.4 * 2.0 * G / 10.0, abs=1e-6)
    assert run["sole_contact"][-1] == (FORWARD if sense > 0 else BACKWARD)
    late = 1.0 - slip
    assert run.final["x_rate"] == pytest.approx(sense * 10.0 * late**2 / 2 / 2.0, rel=1e-6)


def test_an_increasing_vertical_force_causes_lift_off_and_weight_touch_down():
    """Lift 40 t less weight 2 G until 1 s, then none: lift-off at G/20 s; the fall follows the
    parabola.
    """
    model, x, y = block()
    contact = PointContact("sole", y.q, x.v, 0.4)
    lift = lambda t, q, v: vertcat(0, casadi.if_else(t < 1.0, 40.0 * t, 0))  # noqa: E731
    run = simulate(system_of(model, [contact], lift, {}, until=4.0))
    assert names(run) == ["sole lift-off", "sole touch-down"]
    off = run.events[0].time
    assert off == pytest.approx(2.0 * G / 40.0, abs=1e-6)
    speed = 20.0 * (1.0 - off) ** 2 / 2.0
    height = 40.0 * (1.0 - off) ** 3 / 6 / 2.0
    fall = (speed + np.sqrt(speed**2 + 2 * G * height)) / G
    assert run.events[1].time == pytest.approx(1.0 + fall, abs=1e-5)
    assert run["y"].min() > -1e-8
    assert run["sole_normal"].min() > -1e-5
    assert run.final["y_rate"] == 0.0


def test_a_lifting_force_at_the_start_causes_lift_off_at_the_start():
    """The initial mode is closed, and the contact force never crosses zero."""
    model, x, y = block()
    contact = PointContact("sole", y.q, x.v, 0.4)
    run = simulate(system_of(model, [contact], lambda t, q, v: vertcat(0, 30.0), {}, until=1.0))
    assert names(run) == ["sole lift-off"]
    assert run.final["y"] == pytest.approx((30.0 / 2.0 - G) / 2, rel=1e-9)


@pytest.mark.parametrize("spin", [30.0, -30.0])
def test_a_spinning_disc_slides_and_then_rolls(spin):
    """A disc of inertia m R^2 / 2 put down spinning: it rolls with a third of R omega."""
    R, m, mu = 0.1, 1.0, 0.3
    x, y, a = (Coordinate(n, unit=u) for n, u in (("x", "m"), ("y", "m"), ("a", "rad")))
    kinetic = m / 2 * (x.v**2 + y.v**2) + m * R**2 / 4 * a.v**2
    model = Mechanism("disc", (x, y, a), kinetic=kinetic, potential=m * G * y.q)
    contact = PointContact("rim", y.q - R, x.v - R * a.v, mu)  # a is clockwise
    run = simulate(
        system_of(
            model, [contact], lambda t, q, v: SX.zeros(3), {"y": R, "a_rate": spin}, until=1.0
        )
    )
    assert names(run)[-1] == "rim grip"
    assert run.events[-1].time == pytest.approx(R * abs(spin) / 3 / (mu * G), rel=1e-6)
    assert run.final["x_rate"] == pytest.approx(R * spin / 3, rel=1e-6)
    assert run["rim_friction"][-1] == pytest.approx(0.0, abs=1e-6)


def rod(length=1.0, mass=1.0, slip=True, mu=0.5, inertia=1 / 12):
    """A rod with a contact at each end; a uniform one unless its inertia says otherwise."""
    x, y, a = (Coordinate(n, unit=u) for n, u in (("x", "m"), ("y", "m"), ("a", "rad")))
    kinetic = mass / 2 * (x.v**2 + y.v**2) + inertia / 2 * a.v**2
    model = Mechanism("rod", (x, y, a), kinetic=kinetic, potential=mass * G * y.q)
    contacts = []
    for name, side in (("left", -1), ("right", 1)):
        end = vertcat(x.q, y.q) + side * length / 2 * vertcat(cos(a.q), sin(a.q))
        speed = casadi.jtimes(end, model.q, model.v)
        contacts.append(PointContact(name, end[1], speed[0] if slip else None, mu if slip else 0.0))
    return model, contacts


@pytest.mark.parametrize("slip", [True, False])
def test_a_falling_rod_never_gains_energy_at_impacts_and_comes_to_rest(slip):
    model, contacts = rod(slip=slip)
    start = {"y": 0.5, "a": 0.3, "x_rate": 0.5 if slip else 0.0}
    run = simulate(system_of(model, contacts, lambda t, q, v: SX.zeros(3), start, until=3.0))
    energy = run.system.function(run.system.outputs["energy"][0])
    for event in run.events:
        assert float(energy(0, event.after, [])) <= float(energy(0, event.before, [])) + 1e-9
    for side in ("left", "right"):
        assert run[f"{side}_normal"].min() > -1e-5
        assert np.all(np.abs(run[f"{side}_friction"]) <= 0.5 * run[f"{side}_normal"] + 1e-5)
    ends = run["y"][:, None] + 0.5 * np.sin(run["a"])[:, None] * np.array([-1, 1])
    assert ends.min() > -1e-7
    assert abs(run.final["a_rate"]) < 1e-9
    assert run.final["y"] == pytest.approx(0.0, abs=1e-7)


def test_an_impact_at_one_end_lifts_the_other_if_complementarity_requires_it():
    """A rod of J = m l^2 turns about its left end and comes down on its right: the impulse there
    lifts the left end, which a contact that were kept could prevent only by pulling. One of J = m
    l^2 / 12 keeps both.
    """
    model, contacts = rod(slip=False, inertia=1.0)
    start = {"y": 0.5 * np.sin(0.1), "a": 0.1, "a_rate": -2.0, "y_rate": -np.cos(0.1)}
    run = simulate(system_of(model, contacts, lambda t, q, v: SX.zeros(3), start, until=0.1))
    (landing,) = [event for event in run.events if event.name == "right touch-down"]
    before, after = landing.before, landing.after
    # Impulse P at the right end alone, which is at rest after it: P (1/m + half^2/J) = -v_right.
    half = 0.5 * np.cos(before[2])
    P = -(before[4] + half * before[5]) / (1 + half**2)
    assert after[4] == pytest.approx(before[4] + P, rel=1e-9)
    assert after[5] == pytest.approx(before[5] + half * P, rel=1e-9)
    assert after[4] - half * after[5] > 0  # the left end leaves
    assert after[6:8] == pytest.approx([OPEN, STICK])
    model, contacts = rod(slip=False)
    run = simulate(system_of(model, contacts, lambda t, q, v: SX.zeros(3), start, until=0.1))
    assert run.events[-1].after[6:8] == pytest.approx([STICK, STICK])


@pytest.mark.parametrize(("inertia", "speed"), [(1.0, 0.05), (10.0, 0.01)])
def test_impacts_that_alternate_between_two_ends_accumulate_and_the_rod_comes_to_rest(
    inertia, speed
):
    """Unit mass, ends at distance b: an impact with speed v lifts the other end with r v, r = (J -
    b^2) / (J + b^2). It falls back with g (1 - r) while the first end rests: the flights are a
    geometric series that ends in finite time.
    """
    model, contacts = rod(slip=False, inertia=inertia)
    r = (inertia - 0.25) / (inertia + 0.25)
    flight = 2 * speed / (G * (1 - r))
    limit = flight / (1 - r)
    start = {"y_rate": speed / 2, "a_rate": speed}  # the left end rests, the right one rises
    run = simulate(
        system_of(model, contacts, lambda t, q, v: SX.zeros(3), start, until=1.2 * limit)
    )
    impacts = [event for event in run.events if "touch-down" in event.name]
    rises = [speed**2 / (2 * G * (1 - r))]
    while (
        rises[-1] > RISE
    ):  # an impact is found at DEPTH; placing its end on the ground raises the other by r DEPTH
        rises.append(r**2 * (rises[-1] + (1 + r) * DEPTH))
    assert len(impacts) == len(rises) - 1
    times = limit * (1 - r ** np.arange(1, len(impacts) + 1))
    assert [event.time for event in impacts] == pytest.approx(times, abs=0.01 * limit)
    assert [event.time for event in impacts[:3]] == pytest.approx(times[:3], rel=1e-3)
    energy = run.system.function(run.system.outputs["energy"][0])
    for event in run.events:
        assert float(energy(0, event.after, [])) <= float(energy(0, event.before, [])) + 1e-12
    assert [run["left_contact"][-1], run["right_contact"][-1]] == [STICK, STICK]
    assert run["left_normal"][-1] == pytest.approx(G / 2, rel=1e-6)


def test_missing_consistent_force_is_reported_with_time_and_reason():
    """Painleve's rod: sliding with much friction it may have no force that holds it on the ground,
    nor one that lets it go.
    """
    model, contacts = rod(mu=4.0)
    a = 1.0
    start = {"a": a, "y": 0.5 * np.sin(a), "x_rate": 3.0, "a_rate": 0.0}
    simulate(system_of(model, contacts[:1], lambda t, q, v: SX.zeros(3), start, until=0.01))
    with pytest.raises(SimulationError, match=r"cannot continue at t = 0") as told:
        simulate(
            system_of(
                model,
                contacts[:1],
                lambda t, q, v: SX.zeros(3),
                start | {"x_rate": -3.0},
                until=1.0,
            )
        )
    assert "compressive" in str(told.value)


def test_a_block_that_lands_under_a_force_above_its_weight_leaves_at_once():
    """After the impact the contact is at zero speed and opens; it is on the ground then, and does
    not touch down again.
    """
    model, x, y = block()
    contact = PointContact("sole", y.q, x.v, 0.4)
    run = simulate(
        system_of(
            model,
            [contact],
            lambda t, q, v: vertcat(0, 30.0),
            {"y": 0.1, "y_rate": -2.0},
            until=1.0,
        )
    )
    a = 30.0 / 2.0 - G
    landing = (2.0 - np.sqrt(4.0 - 2 * a * 0.1)) / a
    (event,) = [event for event in run.events if event.name == "sole touch-down"]
    assert event.time == pytest.approx(landing, abs=1e-8)
    assert run.final["y"] == pytest.approx(a / 2 * (1.0 - landing) ** 2, rel=1e-7)
