"""Events: location to round-off, resets, terminal events, accumulation."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from casadi import SX, vertcat

from problems.lecture import pendulum
from trajopt.errors import SimulationError
from trajopt.integrate import Dop853, Fehlberg, Heun, Newmark, RadauIIA, Rk4, Sundials, simulate
from trajopt.system import Event, System, Variable

ALL = [
    Heun(1e-3),
    Rk4(1e-2),
    Newmark(1e-2),
    Fehlberg(1e-9),
    Dop853(1e-9),
    RadauIIA(1e-9),
    Sundials(1e-10),
]


def ball(restitution: float = 0.5, terminal: bool = False, height: float = 1.0) -> System:
    """A ball dropped on the floor: every scheme of second order integrates its parabola exactly."""
    y, v, t = SX.sym("y"), SX.sym("v"), SX.sym("t")
    floor = Event(
        "floor",
        y,
        direction=-1,
        reset=None if terminal else vertcat(0, -restitution * v),
        terminal=terminal,
    )
    return System(
        "ball",
        t,
        vertcat(y, v),
        (Variable("y", height), Variable("v", 0.0)),
        vertcat(v, -9.8),
        events=(floor,),
    )


@pytest.mark.parametrize("integrator", ALL)
def test_landing_is_located_to_round_off(integrator):
    run = simulate(ball(terminal=True), integrator, until=5.0)
    exact = np.sqrt(2 / 9.8)
    allowed = 2e-15 if not isinstance(integrator, Sundials) else 1e-10
    assert run.t[-1] == pytest.approx(exact, abs=allowed)
    assert abs(run["y"][-1]) < 1e-14
    assert run.events[0].name == "floor"


@pytest.mark.parametrize("integrator", ALL)
def test_bounces_follow_the_geometric_series(integrator):
    run = simulate(ball(0.5), integrator, until=1.28)
    first = np.sqrt(2 / 9.8)
    exact = [first * (1 + 2 * sum(0.5**k for k in range(1, n + 1))) for n in range(len(run.events))]
    assert len(run.events) == 4
    allowed = 1e-13 if not isinstance(integrator, Sundials) else 1e-8
    assert [e.time for e in run.events] == pytest.approx(exact, abs=allowed)
    for event in run.events:
        assert event.after[1] == pytest.approx(-0.5 * event.before[1], abs=1e-13)
    assert run["y"].min() > -1e-12


def test_a_path_at_a_jump_gives_the_state_after_it():
    run = simulate(ball(0.5), Dop853(1e-10), until=1.0)
    hit = run.events[0]
    assert run.at(hit.time)[1] == pytest.approx(hit.after[1], abs=1e-12)
    assert run.at(hit.time - 1e-9)[1] == pytest.approx(hit.before[1], abs=1e-7)


def test_bounces_that_accumulate_are_an_error():
    with pytest.raises(SimulationError, match=r"accumulate at t = 1\.35"):
        simulate(ball(0.5), Dop853(1e-9), until=5.0)  # they end at 3 sqrt(2/g)


def test_crossings_are_recorded_without_disturbing_the_motion():
    base = pendulum()
    theta = base.x[0]

    def watched(direction):
        return System(
            "pendulum",
            base.time,
            base.x,
            base.states,
            base.rate,
            events=(Event("bottom", theta, direction=direction),),
        )

    plain = simulate(base, Dop853(1e-10), until=10.0)
    both, up = (simulate(watched(d), Dop853(1e-10), until=10.0) for d in (0, 1))
    assert both.x[-1] == pytest.approx(plain.x[-1], abs=0)
    times = np.array([e.time for e in both.events])
    assert len(times) > 5
    assert np.diff(times) == pytest.approx(np.diff(times)[0], abs=1e-9)  # half a period each
    assert [e.time for e in up.events] == pytest.approx(
        times[1::2], abs=1e-12
    )  # it starts on the way down
    for event in both.events:
        assert abs(event.before[0]) < 1e-15


def test_events_at_one_time_fire_together():
    x, t = SX.sym("x", 2), SX.sym("t")
    events = (
        Event("first", x[0] - 1, reset=vertcat(0, x[1])),
        Event("second", x[1] - 1, reset=vertcat(x[0], 5)),
    )
    system = System(
        "pair", t, x, (Variable("a", 0.0), Variable("b", 0.0)), SX([1, 1]), events=events
    )
    run = simulate(system, Dop853(1e-10), until=1.5)
    assert [(e.name, round(e.time, 12)) for e in run.events] == [("first", 1.0), ("second", 1.0)]
    assert run.x[-1] == pytest.approx([0.5, 5.5], abs=1e-12)


def test_two_crossings_within_one_long_step_are_found():
    """An adaptive step over a linear motion is as long as the run, and the event function crosses
    zero twice within it.
    """
    x, t = SX.sym("x"), SX.sym("t")
    dip = Event("dip", (t - 3) ** 2 - 1, direction=-1)
    run = simulate(
        System("clock", t, x, (Variable("x", 0.0),), SX(1), events=(dip,)), Dop853(1e-8), until=10.0
    )
    assert [e.time for e in run.events] == pytest.approx([2.0], abs=1e-14)


def test_an_event_that_starts_on_zero_waits_for_its_next_crossing():
    x, t = SX.sym("x"), SX.sym("t")
    system = System("wave", t, x, (Variable("x", 0.0),), casadi.cos(t), events=(Event("zero", x),))
    run = simulate(system, Dop853(1e-11), until=10.0)
    assert [e.time for e in run.events] == pytest.approx([np.pi, 2 * np.pi, 3 * np.pi], abs=1e-9)


@pytest.mark.parametrize("integrator", [Fehlberg(1e-9), Dop853(1e-9), Dop853(1e-12)])
def test_what_lies_behind_a_terminal_event_does_not_matter(integrator):
    """Steps are taken ahead of the event: they meet t = 0.6, where the rate has no value."""
    x, t = SX.sym("x"), SX.sym("t")

    def system(limit):
        event = Event("limit", limit - x, direction=-1, terminal=True)
        rate = casadi.if_else(t < 0.6, casadi.cos(t), casadi.sqrt(-t))
        return System("edge", t, x, (Variable("x", 0.0),), rate, events=(event,))

    for end in 0.6 - 10.0 ** -np.arange(
        1, 14
    ):  # steps shorten towards the edge: some of these are just before it
        assert simulate(system(np.sin(end)), integrator, until=1.0).t[-1] == pytest.approx(
            end, abs=1e-7
        )
    with pytest.raises(SimulationError):
        simulate(system(2.0), integrator, until=1.0)
