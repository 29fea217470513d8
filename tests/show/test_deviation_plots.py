"""Deviations with and without stabilization: the values of the dissertation's experiments, read
from the plots.
"""

import numpy as np
import pytest

from problems.exoskeleton.pictures import programme_picture
from problems.lecture import pendulum, pendulum_cartesian
from problems.rocket.pictures import deviations_picture
from trajopt.errors import UsageError
from trajopt.integrate.adaptive import Fehlberg
from trajopt.integrate.fixed_step import Rk4
from trajopt.integrate.simulation import simulate
from trajopt.show.deviation_plots import plot_deviations
from trajopt.show.simulation_plots import plot_outputs, plot_steps
from trajopt.system import System


def ends(axes):
    return [float(line.get_ydata()[-1]) for line in axes.lines]


@pytest.mark.slow
def test_drift_of_the_snowboarder_has_its_known_values():
    """Norms at 0.5 s by Euler steps of 1 ms: not stabilized, gains 10 and 50."""
    together = programme_picture().axes[0]
    assert together.get_title(loc="left") == "norm of all"
    np.testing.assert_allclose(ends(together), [0.0265, 0.0099, 0.0019], atol=5.1e-5)


def test_perturbed_integrals_return_only_with_stabilization():
    (axes,) = deviations_picture(sizes=(0.01,)).axes
    plain, least, hamiltonian = (line.get_ydata() for line in axes.lines)
    assert plain[-1] > 0.9 * plain[0]
    assert least[-1] < 1e-3 * least[0]
    assert hamiltonian[-1] < 1e-3 * hamiltonian[0]
    assert plain[0] == pytest.approx(least[0]) == pytest.approx(hamiltonian[0])


def test_lines_are_the_drift_that_simulations_report():
    run = simulate(pendulum_cartesian(), Rk4(0.02), 2.0)
    figure = plot_deviations({"run": run})
    for axes in figure.axes[1:]:
        assert ends(axes) == [pytest.approx(run.drift[axes.get_title(loc="left")].end, rel=1e-9)]


def test_systems_without_invariants_or_outputs_are_rejected():
    bare = pendulum()
    nothing = System(bare.name, bare.time, bare.x, bare.states, bare.rate)
    run = simulate(nothing, until=0.1)
    with pytest.raises(UsageError, match="no invariants"):
        plot_deviations({"run": run})
    with pytest.raises(UsageError, match="no outputs"):
        plot_outputs(run)


def test_outputs_are_drawn_with_their_units():
    run = simulate(pendulum_cartesian(), until=0.5)
    figure = plot_outputs(run)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len(titles) == len(run.outputs)
    drawn = dict(zip(run.outputs, figure.axes, strict=True))["reaction_rod"].lines[0]
    at_steps = np.isin(drawn.get_xdata(), run.t)
    np.testing.assert_allclose(drawn.get_ydata()[at_steps], run.outputs["reaction_rod"])


def test_the_steps_of_an_integrator_are_drawn():
    run = simulate(pendulum(), Fehlberg(1e-6), until=2.0)
    upper, lower = plot_steps(run).axes
    np.testing.assert_allclose(upper.patches[0].get_data().values, np.diff(run.t))
    assert len(lower.lines) == 2 * len(run.system.states)
