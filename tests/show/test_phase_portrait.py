"""Phase portraits: default pairs, the curves of the motion, unknown names."""

import dataclasses

import numpy as np
import pytest

from problems.classical import cart_pole
from problems.lecture import pendulum
from trajopt import solve
from trajopt.errors import UsageError
from trajopt.integrate.simulation import simulate
from trajopt.show.phase_portrait import plot_phase, usual_pairs


@pytest.fixture(scope="module")
def swing():
    return simulate(pendulum(), until=3.0)


def test_coordinates_are_paired_with_their_rates(swing):
    assert usual_pairs(swing) == [("theta", "omega")]
    assert usual_pairs(solve(cart_pole.build())) == [("x", "dx"), ("q", "dq")]


def test_without_the_problem_names_and_components_are_paired(handmade):
    assert usual_pairs(handmade()) == [("r[0]", "r[1]")]


def test_the_line_is_the_motion(swing):
    (axes,) = plot_phase(swing).axes
    a, b = axes.lines[0].get_data()
    energy = np.asarray(b) ** 2 / 2 - 9.8 / 2.0 * np.cos(a)
    assert (
        np.ptp(energy) < 1e-6 * np.abs(energy).max()
    )  # a pendulum of 2 m keeps its energy along the portrait
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("theta [rad]", "omega [rad/s]")


def test_chosen_pairs_and_both_phases(handmade):
    answer = handmade()
    (axes,) = plot_phase(answer, [("t", "z last")]).axes
    lines = [line for line in axes.lines if len(line.get_xdata()) > 2]
    assert len(lines) == 2
    for line, phase in zip(lines, answer.phases.values(), strict=True):
        t, z = line.get_data()
        assert (t[0], t[-1]) == (phase.t0, phase.tf)
        np.testing.assert_allclose(z, phase["z last"](t), atol=1e-14)


def test_several_sources_are_overlaid(handmade):
    shifted = dataclasses.replace(handmade(), objective=2.0)
    figure = plot_phase({"one": handmade(), "other": shifted}, [("r[0]", "r[1]")])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "one",
        "other",
        "start",
        "end",
    ]
    assert figure.axes[0].get_aspect() == 1.0  # a path in space is not distorted


@pytest.mark.parametrize(
    ("pair", "hint"), [(("tetha", "omega"), "theta"), (("theta", "omga"), "omega")]
)
def test_unknown_names_are_rejected(swing, pair, hint):
    with pytest.raises(UsageError, match="has no variable") as failure:
        plot_phase(swing, [pair])
    assert hint in str(failure.value.hint)
