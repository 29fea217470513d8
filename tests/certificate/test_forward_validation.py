"""Forward validation: the same motion in redundant coordinates, integrated as it is and with its
constraints stabilized.
"""

from dataclasses import replace

import numpy as np
import pytest
from casadi import SX, cos, sin

from trajopt import Problem, certify, solve
from trajopt.certificate.forward_validation import redundant_motions, redundant_phase
from trajopt.certificate.long_steps import NAME as LONG
from trajopt.certificate.long_steps import LongSteps
from trajopt.certificate.motion import Reintegration, Steps
from trajopt.certificate.sampled_solution import along
from trajopt.errors import ProblemError, UsageError
from trajopt.integrate.corrections import MinimumNorm, Projection
from trajopt.integrate.fixed_step import Heun
from trajopt.integrate.library_integrators import RadauIIA
from trajopt.integrate.reactions import Baumgarte
from trajopt.integrate.tableaus import DOP853, RK4
from trajopt.mechanics import Coordinate, Holonomic, Mechanism, Quantity

LENGTH, GRAVITY = 2.0, 9.8
PLACE = {"x": lambda angle: LENGTH * sin(angle), "y": lambda angle: -LENGTH * cos(angle)}


def rod(gravity=GRAVITY):
    """A point mass on a rod as a constraint; the force acts across the rod."""
    x, y, force = (
        Coordinate("x", 0.5, unit="m"),
        Coordinate("y", -1.9, unit="m"),
        Quantity("force", 0.0, "N"),
    )
    across = {"x": -y.q / LENGTH * force.symbol, "y": x.q / LENGTH * force.symbol}
    energy = 0.5 * (x.v**2 + y.v**2)
    held = (Holonomic("rod", (x.q**2 + y.q**2 - LENGTH**2) / (2 * LENGTH)),)
    return Mechanism("rod", (x, y), energy, gravity * y.q, across, held, (force,)).system()


def pendulum(system=rod, place=PLACE):
    """The same in its angle: a swing from rest to rest."""
    ocp = Problem("swing")
    ph = ocp.phase()
    ph.time(start=0, end=3.0)
    angle, rate = (
        ph.state("angle", start=0, end=1.0, unit="rad"),
        ph.state("rate", start=0, end=0, unit="rad/s"),
    )
    force = ph.control("force", unit="N")
    ph.dynamics({angle: rate, rate: -GRAVITY / LENGTH * sin(angle) + force / LENGTH})
    ph.in_redundant_coordinates(system, {name: of(angle) for name, of in place.items()})
    ocp.minimize(ph.integral(force**2))
    return ocp


@pytest.fixture(scope="module")
def swing():
    return solve(pendulum()).check()


def test_redundant_coordinates_reach_the_same_end(swing):
    found = certify(swing)
    assert found.claim == "minimum"
    for name in (
        "redundant coordinates",
        "redundant coordinates, stabilized",
        "drift of constraints, stabilized",
    ):
        assert found[name].ok
        assert found[name].value < 1e-7
    assert found["drift of constraints"].value < 1e-10
    assert "Baumgarte's law" in found["redundant coordinates, stabilized"].remark
    rows = {row["name"]: row for row in found.to_json()["checks"]}
    assert rows["drift of constraints, stabilized"]["family"] == "validation"


def test_another_model_does_not_reach_the_end(swing):
    found = certify(swing, pendulum(lambda: rod(gravity=9.7)))
    assert not found["redundant coordinates, stabilized"].ok
    assert found["drift of constraints, stabilized"].ok  # it keeps its rod all the same
    assert found.claim == "minimum"
    assert not found.ok


def drifts(swing, divisions):
    """Drift of the rod by Runge-Kutta's scheme of order four with fixed steps: plain, stabilized,
    projected.
    """
    ph = along(pendulum().finish(), swing).phases[0]
    count, widths = ph.widths.size, np.full(divisions, 1.0 / divisions)
    steps = Steps(
        np.repeat(np.arange(count), divisions),
        np.tile(np.arange(divisions) / divisions, count),
        np.tile(widths, count),
    )
    system = rod()
    pieces = ([(0, count)], np.ones(1))
    plain = Reintegration(redundant_phase(ph, system), RK4, steps, pieces)
    prepared = Baumgarte(divisions / ph.widths.max()).sampled(system)
    kept = Reintegration(
        redundant_phase(ph, prepared.system, len(system.states)),
        RK4,
        steps,
        pieces,
        prepared.project,
    )
    return [
        run.drift[0]
        for run in (plain.integrated(), kept.integrated(), plain.integrated(stabilized=True))
    ]


def test_the_drift_is_of_the_order_of_the_scheme_and_falls_by_stabilization(swing):
    found = np.array([drifts(swing, divisions) for divisions in (2, 4, 8)])
    plain, stabilized = np.log2(found[:-1] / found[1:])[:, :2].T
    assert plain == pytest.approx(4.0, abs=0.4)
    assert (stabilized > 4.4).all()  # near the error of a single step, which is one order higher
    assert (found[:, 1] < found[:, 0] / 3).all()
    assert (found[:, 2] < found[:, 0] / 30).all()


def test_motions_that_grow_fast_are_integrated_in_pieces(swing):
    ph = along(pendulum().finish(), swing).phases[0]
    whole = Reintegration(ph, DOP853)
    half = ph.widths.size // 2
    parts = Reintegration(
        ph, DOP853, told_segments=([(0, half), (half, ph.widths.size)], np.ones(2))
    )
    rows = {row.name: row for row in redundant_motions([parts], 1e-5)}
    assert (
        "in each of 2 pieces"
        not in {row.name: row for row in redundant_motions([whole], 1e-5)}[
            "redundant coordinates"
        ].remark
    )
    assert "2 pieces" in rows["redundant coordinates, stabilized"].remark
    assert rows["redundant coordinates, stabilized"].ok


def test_errors_of_the_statement_name_the_state(swing):
    with pytest.raises(ProblemError, match="state 'y' of system 'rod' has no expression"):
        certify(swing, pendulum(place={"x": PLACE["x"]}))
    with pytest.raises(ProblemError, match="has no state 'z'"):
        certify(swing, pendulum(place={**PLACE, "z": PLACE["x"]}))
    with pytest.raises(ProblemError, match="uses 'unknown'"):
        pendulum(place={**PLACE, "x": lambda angle: SX.sym("unknown")}).finish()
    ph = Problem("twice").phase()
    ph.in_redundant_coordinates(rod)
    with pytest.raises(ProblemError, match="already"):
        ph.in_redundant_coordinates(rod)


def test_a_system_without_reactions_is_projected(swing):
    found = certify(swing, pendulum(lambda: replace(rod(), through_reactions=None)))
    assert "projection" in found["redundant coordinates, stabilized"].remark
    assert found["drift of constraints, stabilized"].value < 1e-13


def test_long_steps_show_what_stabilization_decides(swing):
    """By default the plain drift is visible, and the stabilized one is smaller."""
    rows = {row.name: row for row in certify(swing).checks}
    plain, kept = rows[LONG], rows[f"{LONG}, stabilized"]
    assert 1e-9 < plain.value <= 1e-5
    assert kept.value < 0.5 * plain.value
    assert kept.ok
    assert "baumgarte" in kept.remark


def test_law_scheme_and_step_are_those_that_are_told(swing):
    told = LongSteps(Projection(), Heun(), 0.02)
    rows = {row.name: row for row in certify(swing, long_steps=told).checks}
    plain, kept = rows[LONG], rows[f"{LONG}, stabilized"]
    assert plain.remark.startswith("heun, steps up to 0.0")
    assert kept.remark.startswith("projection")
    assert plain.value > 1e-5 > kept.value
    told = LongSteps(MinimumNorm(10.0), step=0.05)
    kept = certify(swing, long_steps=told)[f"{LONG}, stabilized"]
    assert "gain 10" in kept.remark
    assert kept.value > 0


def test_only_explicit_schemes_have_long_steps():
    with pytest.raises(UsageError, match="integrator of the forward validation"):
        LongSteps(integrator=RadauIIA())
