"""Arcs read from curves whose arcs are known."""

import numpy as np
import pytest

from trajopt.trajectory.arcs import (
    AT_LOWER,
    AT_UPPER,
    FREE,
    Cells,
    Run,
    absorbed,
    bridged,
    control_range,
    departs,
    distinct,
    is_boundary_arc,
    runs_of,
    sides,
    switched,
    touch_times,
    without_touches,
)

UNEVEN = np.array([0.0, 0.1, 0.3, 0.4, 0.7, 0.8, 1.0])


def constant(breaks):
    """One cell for each interval."""
    return Cells.even(breaks, 1)


def averaged(switch, breaks, before, after):
    """The mean of a control that jumps at ``switch``, on each interval."""
    share = np.clip((switch - breaks[:-1]) / np.diff(breaks), 0, 1)
    return after + (before - after) * share


@pytest.mark.parametrize("switch", [0.31, 0.35, 0.5, 0.66, 0.79])
@pytest.mark.parametrize("count", [1, 5], ids=["constant", "sampled"])
def test_a_switch_inside_an_interval_is_where_the_mean_is_kept(switch, count):
    cells, u = Cells.even(UNEVEN, count), np.repeat(averaged(switch, UNEVEN, 3.0, -1.0), count)
    runs, unclear = switched(sides(u, -1.0, 3.0, 1e-3), cells, u, -1.0, 3.0)
    assert [run.role for run in runs] == [AT_UPPER, AT_LOWER]
    assert runs[0].end == runs[1].start == pytest.approx(switch, abs=1e-12)
    assert not unclear


def test_long_values_between_the_bounds_are_an_arc():
    cells, u = constant(np.linspace(0, 1, 11)), np.array([1.0] * 3 + [0.4] * 4 + [-1.0] * 3)
    runs, unclear = switched(sides(u, -1.0, 1.0, 1e-3), cells, u, -1.0, 1.0)
    assert [(run.role, run.intervals) for run in runs] == [(AT_UPPER, 3), (FREE, 4), (AT_LOWER, 3)]
    assert not unclear


@pytest.mark.parametrize("where", [0, 4, 9], ids=["start", "same role on both sides", "end"])
def test_short_values_between_the_bounds_may_be_unclear(where):
    cells, u = constant(np.linspace(0, 1, 11)), np.ones(10)
    u[where] = 0.5
    runs, unclear = switched(sides(u, 0.0, 1.0, 1e-3), cells, u, 0.0, 1.0)
    assert [run.start for run in unclear] == [cells.start[where]]
    assert absorbed(runs, unclear) == [Run(AT_UPPER, 0.0, 1.0, 9.0)]


def test_a_phase_that_is_unclear_as_a_whole_stays_one_arc():
    cells, u = constant(np.array([0.0, 1.0])), np.array([0.5])
    assert absorbed(*switched(sides(u, 0.0, 1.0, 1e-3), cells, u, 0.0, 1.0)) == [
        Run(FREE, 0.0, 1.0, 1.0)
    ]


def test_a_smooth_control_may_touch_its_bound():
    cells = Cells.even(np.linspace(0, 1, 5), 4)
    roles = np.zeros(16, dtype=int)
    roles[2:5], roles[8:13] = AT_LOWER, AT_UPPER  # three quarters of an interval, and more than one
    found = without_touches(runs_of(roles, cells), 1.0)
    assert [(run.role, run.start, run.end) for run in found] == [
        (FREE, 0.0, 0.5),
        (AT_UPPER, 0.5, 0.8125),
        (FREE, 0.8125, 1.0),
    ]


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_units_of_a_control_do_not_matter(factor):
    u = factor * np.array([0.0, 0.001, 0.5, 1.0])
    assert sides(u, 0.0, np.inf, 2e-3 * control_range(u, 0.0, np.inf)).tolist() == [
        AT_LOWER,
        AT_LOWER,
        FREE,
        FREE,
    ]


@pytest.mark.parametrize(("longest", "filled"), [(0, False), (1, False), (2, True)])
def test_gaps_are_bridged_where_the_constraint_stays_near(longest, filled):
    roles, interval = np.array([1, 1, 0, 0, 1, 0]), np.arange(6)
    near = np.array([True, True, True, True, True, False])
    expected = [1, 1, 1, 1, 1, 0] if filled else roles.tolist()
    assert bridged(roles, {1: near}, interval, longest).tolist() == expected
    near[2] = False
    assert bridged(roles, {1: near}, interval, longest).tolist() == roles.tolist()


def test_gaps_between_different_sides_stay():
    roles, all_near = np.array([1, 0, -1]), np.ones(3, dtype=bool)
    assert bridged(roles, {1: all_near, -1: all_near}, np.arange(3), 3).tolist() == [1, 0, -1]


def test_ends_of_arcs_are_apart():
    times = distinct(np.array([0.7, 0.3, 0.3005, 1e-5, 2.0]), 0.0, 1.0, 1e-3)
    assert times.tolist() == [0.0, 0.3, 0.7, 1.0]


def test_a_parabola_departs_more_slowly_than_a_boundary_arc():
    """Within d for a length L, a parabola is at 4 d half that length beyond; an arc left with the
    same curvature, higher.
    """
    t, d = np.linspace(0, 1, 2001), 1e-4
    parabola = (t - 0.5) ** 2
    arc = np.clip(0.4 - t, 0, None) ** 2 + np.clip(t - 0.6, 0, None) ** 2
    for gap, half, ratio in ((parabola, 0.01, 4.0), (arc, 0.11, (1 + 0.11 / 0.01) ** 2)):
        run = Run(AT_LOWER, 0.5 - half, 0.5 + half, 1.0)
        assert departs(run, t, gap, 0.97 * ratio * d)
        assert not departs(run, t, gap, 1.03 * ratio * d)


def test_touches_are_minima_between_the_samples_and_not_on_arcs():
    t = np.linspace(0, 1, 101)

    def gap(t):
        return np.minimum((t - 0.303) ** 2, (t - 0.707) ** 2)

    times = touch_times(t, gap, (1e-8, 1e-3), [])
    np.testing.assert_allclose(times, [0.303, 0.707], atol=1e-6)
    followed = Run(AT_LOWER, 0.69, 0.72, 1.0)
    np.testing.assert_allclose(touch_times(t, gap, (1e-8, 1e-3), [followed]), [0.303], atol=1e-6)


def test_a_boundary_arc_that_the_next_one_follows_soon_departs():
    """Half a length beyond the first arc is already on the second one; between them the distance
    comes to 1e-5.
    """
    t = np.linspace(0, 1, 2001)
    gap = np.select(
        [t < 0.1, t < 0.5, t < 0.6, t < 0.9],
        [1e-2, 0, 1e-5 * np.sin(10 * np.pi * (t - 0.5)), 0],
        1e-2,
    )
    assert departs(Run(AT_LOWER, 0.1, 0.5, 4.0), t, gap, 1e-6)
    assert not departs(Run(AT_LOWER, 0.1, 0.5, 4.0), t, gap, 2e-5)


def test_boundary_arcs_that_hardly_separate_are_two():
    """Between two arcs the distance comes to five times what counts as active; in contact it is
    zero.
    """
    t, near = np.linspace(0, 1, 2001), 1e-7

    def gap(t):
        between = 5 * near * np.sin(50 * np.pi * (t - 0.5))
        return np.select([t < 0.1, t < 0.5, t < 0.52, t < 0.9], [1e-2, 0, between, 0], 1e-2)

    for run in (Run(AT_LOWER, 0.1, 0.501, 4.0), Run(AT_LOWER, 0.519, 0.9, 4.0)):
        assert not departs(run, t, gap(t), 16 * near)
        assert is_boundary_arc(run, t, gap, near, 16.0)
    half = 0.1 / np.sqrt(40)
    touched = Run(AT_LOWER, 0.5 - half, 0.5 + half, 1.0)
    assert not is_boundary_arc(
        touched, t, lambda t: 40 * near * (t - 0.5) ** 2 / 0.1**2, near, 16.0
    )


def test_a_touch_soon_after_an_arc_is_seen():
    """Distances of 1e-5 separate an arc and two touches, if the answer is accurate to 1e-8."""
    t = np.linspace(0, 1, 4001)

    def gap(t):
        between = 1e-5 * np.sin(5 * np.pi * (t - 0.3)) ** 2
        return np.select([t < 0.1, t < 0.3, t < 0.9], [(t - 0.1) ** 2, 0, between], (t - 0.9) ** 2)

    arc = Run(AT_LOWER, 0.1, 0.3, 2.0)
    np.testing.assert_allclose(touch_times(t, gap, (1e-8, 1e-7), [arc]), [0.5, 0.7, 0.9], atol=2e-4)
    assert touch_times(t, gap, (1e-8, 1e-4), [arc]) == []


@pytest.mark.parametrize("least", [0.0, 1e-6])
def test_a_narrow_peak_between_samples_is_measured_where_it_is(least):
    """A parabola through three samples misses the minimum by 2e-4, more than decides
    about a touch.
    """
    t = np.linspace(0, 1, 41)
    times = touch_times(
        t, lambda t: least + 1 - np.exp(-(((t - 0.5101) / 0.1) ** 2)), (1e-8, 1e-7), []
    )
    assert times == ([] if least else pytest.approx([0.5101], abs=1e-6))


@pytest.mark.parametrize("kind", ["clustered", "few"])
def test_a_touch_is_no_arc_wherever_the_samples_are(kind):
    """Samples that cluster where the distance is smallest make its median small; a single one in
    the contact says nothing.
    """
    near, touch = 1e-7, 0.5
    half = 0.01  # of the contact's length
    clustered = touch + 0.2 * np.linspace(-1, 1, 401) ** 5
    t = (
        clustered
        if kind == "clustered"
        else touch + 0.1 * half + 1.7 * half * np.arange(-20.0, 21.0)
    )

    def gap(t):
        return near * ((t - touch) / half) ** 2

    def arc(t):
        return near * np.clip(np.abs(t - touch) / half - 3, 0, None) ** 2

    def run(values):
        """The samples within near, with half of the way to their neighbours."""
        inside, edges = np.flatnonzero(values <= near), 0.5 * (t[1:] + t[:-1])
        return Run(AT_LOWER, edges[inside[0] - 1], edges[inside[-1]], 1.0)

    samples = gap(t)[gap(t) <= near]
    assert np.median(samples) < near / 16
    assert (samples.size == 1) == (kind == "few")
    assert not is_boundary_arc(run(gap(t)), t, gap, near, 16.0)
    assert is_boundary_arc(run(arc(t)), t, arc, near, 16.0)
