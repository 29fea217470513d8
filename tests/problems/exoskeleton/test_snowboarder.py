"""The three-link exoskeleton: its model against the document's matrices, and its slalom by
programme constraints.
"""

import json
from math import cos, pi, sin, sqrt

import casadi
import numpy as np
import pytest
from typer.testing import CliRunner

from problems.exoskeleton.model import (
    CONSTANT_LENGTHS,
    EXTENSIONS,
    NAMES,
    SLOPE,
    links,
    with_potential,
)
from problems.exoskeleton.snowboarder import APPENDIX_LAW, TURN_PER_STEP, snowboarder
from trajopt.__main__ import app
from trajopt.errors import ModelError, UsageError
from trajopt.integrate import Baumgarte, Dop853, Euler, NonlinearLaw, Projection, Rk4, simulate
from trajopt.mechanics import check_model


def _appendix_mass_matrix(q):
    """The Hessian H of appendix 2, entry by entry, in the order of its coordinates; entries not
    named here are zero there.
    """
    _, _, _, p1, p2, s1, s2, q8, q9, q10 = q
    m0, m1, m2, l0, l1, l2 = 5.0, 5.0, 10.0, 0.5, 1.0, 1.0
    leg = (m1 + m2) * q8 + q10 * m2 + l1 * (m1 + 2 * m2) / 2
    body, hip = l2 / 2 + q9, q8 + q10 + l1
    along, across = cos(p1) * cos(p2) + sin(p1) * sin(p2), cos(p1) * sin(p2) - cos(p2) * sin(p1)
    c1, c2, z1, z2 = cos(s1), cos(s2), sin(s1), sin(s2)
    square = (
        (m1 + m2) * q8**2
        + (2 * q10 * m2 + l1 * (m1 + 2 * m2)) * q8
        + q10**2 * m2
        + 2 * q10 * l1 * m2
    )
    square += l1**2 * (m1 + 3 * m2) / 3
    turn = -body * (z2 * along * c1 - c2 * z1) * m2
    shared = (c2 * along * c1 + z1 * z2) * m2
    swing, slide = -c1 * across * c2 * body * m2, m2 * (q9**2 + q9 * l2 + l2**2 / 3)
    entries = {
        (1, 1): m0 + m1 + m2,
        (1, 4): -leg * sin(p1) * c1,
        (1, 5): -sin(p2) * c2 * body * m2,
        (1, 6): -cos(p1) * leg * z1,
        (1, 7): -body * z2 * cos(p2) * m2,
        (1, 8): cos(p1) * (m1 + m2) * c1,
        (1, 9): c2 * cos(p2) * m2,
        (1, 10): cos(p1) * m2 * c1,
        (2, 2): m0 + m1 + m2,
        (2, 4): leg * cos(p1) * c1,
        (2, 5): cos(p2) * c2 * body * m2,
        (2, 6): -sin(p1) * leg * z1,
        (2, 7): -body * z2 * sin(p2) * m2,
        (2, 8): sin(p1) * (m1 + m2) * c1,
        (2, 9): c2 * sin(p2) * m2,
        (2, 10): sin(p1) * m2 * c1,
        (3, 3): l0**2 * m0 / 12,
        (4, 4): square * c1**2,
        (4, 5): c2 * body * along * hip * m2 * c1,
        (4, 7): -across * body * hip * z2 * m2 * c1,
        (4, 9): c2 * m2 * across * hip * c1,
        (5, 5): c2**2 * slide,
        (5, 6): c2 * across * z1 * body * hip * m2,
        (5, 8): swing,
        (5, 10): swing,
        (6, 6): square,
        (6, 7): (c1 * c2 + z1 * z2 * along) * body * hip * m2,
        (6, 9): (c1 * z2 - c2 * z1 * along) * hip * m2,
        (7, 7): slide,
        (7, 8): turn,
        (7, 10): turn,
        (8, 8): m1 + m2,
        (8, 9): shared,
        (8, 10): m2,
        (9, 9): m2,
        (9, 10): shared,
        (10, 10): m2,
    }
    H = np.zeros((10, 10))
    for (i, j), value in entries.items():
        H[i - 1, j - 1] = H[j - 1, i - 1] = value
    return H


def _places(model):
    """Where the document's coordinates are among the model's."""
    return [model.index(name) for name in NAMES if name in {c.name for c in model.coordinates}]


def test_mass_matrix_is_the_one_of_the_appendix():
    model = links().mechanism()
    order = _places(model)
    by_energies = casadi.hessian(casadi.SX(model.kinetic), model.v)[0]
    for q in np.random.default_rng(0).uniform(-1.5, 1.5, (20, 10)):
        document = _appendix_mass_matrix(q)
        mine = np.zeros(10)
        mine[order] = q
        for mass in (model.equations.mass, by_energies):
            found = np.array(casadi.DM(model.evaluate(mass, mine, np.zeros(10))))[
                np.ix_(order, order)
            ]
            assert found == pytest.approx(document, abs=1e-13)


def test_gravity_is_that_of_the_appendix_and_the_text_drops_parts_of_it():
    """At rest the forces F of the appendix are gravity alone."""
    tree = links()
    q = dict(zip(NAMES, np.random.default_rng(1).uniform(-1, 1, 10), strict=True))
    g, m1, m2 = 9.8, 5.0, 10.0
    leg = (m1 + m2) * q["q8"] + q["q10"] * m2 + (m1 + 2 * m2) / 2
    expected = {
        "x0": g * sin(SLOPE) * 20.0,
        "phi1": -g * sin(SLOPE) * sin(q["phi1"]) * leg * cos(q["psi1"]),
        "q9": g * m2 * (sin(SLOPE) * cos(q["phi2"]) * cos(q["psi2"]) - cos(SLOPE) * sin(q["psi2"])),
    }
    pulls = {}
    for kind in ("full", "slope", "foot"):
        model = with_potential(tree.mechanism(), tree, kind)
        at = [q[c.name] for c in model.coordinates]
        values = -np.array(
            casadi.DM(model.evaluate(model.equations.bias, at, np.zeros(10)))
        ).ravel()
        pulls[kind] = {c.name: v for c, v in zip(model.coordinates, values, strict=True)}
    for name, value in expected.items():
        assert pulls["full"][name] == pytest.approx(value, rel=1e-13)
    assert pulls["slope"]["q9"] == pytest.approx(
        expected["q9"] + g * m2 * cos(SLOPE) * sin(q["psi2"]), rel=1e-12
    )
    assert pulls["slope"]["phi1"] == pytest.approx(expected["phi1"], rel=1e-13)
    assert {n: v for n, v in pulls["foot"].items() if abs(v) > 1e-12} == {
        "x0": pytest.approx(expected["x0"])
    }


def test_seven_coordinates_equal_ten_with_fixed_lengths():
    seven, ten = links(CONSTANT_LENGTHS).mechanism(), links().mechanism()
    q, v = np.random.default_rng(2).uniform(-1, 1, (2, 7))
    at = {c.name: x for c, x in zip(seven.coordinates, q, strict=True)} | CONSTANT_LENGTHS
    rates = {c.name: x for c, x in zip(seven.coordinates, v, strict=True)} | CONSTANT_LENGTHS
    states = [[d[c.name] for c in ten.coordinates] for d in (at, rates)]
    assert float(seven.evaluate(seven.kinetic, q, v)) == pytest.approx(
        float(ten.evaluate(ten.kinetic, *states)), rel=1e-14
    )
    assert check_model(seven, samples=5).check().ok


@pytest.mark.parametrize("potential", ["full", "slope", "foot"])
@pytest.mark.parametrize(
    "settings", [{}, {"lengths": "variable"}, {"programme": "appendix", "track": "heading"}]
)
def test_every_programme_is_a_consistent_mechanism(settings, potential):
    assert (
        check_model(snowboarder(**settings, potential=potential), samples=4, spread=0.1).check().ok
    )


@pytest.mark.parametrize(
    ("tied", "norms"), [(False, (0.0265, 0.0099, 0.0019)), (True, (0.0275, 0.0105, 0.0043))]
)
def test_drift_of_the_appendix_slalom_has_its_known_values(tied, norms):
    system = snowboarder("appendix", track="heading", tied=tied, snow="two-sided")
    for gain, norm in zip((None, 10.0, 50.0), norms, strict=True):
        run = simulate(system, Euler(1e-3), 0.5, None if gain is None else Baumgarte(gain))
        ends = [run.drift[name].end for name in ("lengths", "leaning", "heading", "blade")]
        assert np.linalg.norm(ends) == pytest.approx(norm, abs=5.1e-5)


def test_the_dependent_constraints_of_the_appendix_are_rejected_by_name():
    with pytest.raises(ModelError, match="'track' and 'blade'") as refused:
        snowboarder("appendix")
    assert "track=heading" in str(refused.value)
    assert snowboarder("appendix", track="heading").name == "snowboarder"


@pytest.mark.parametrize(
    "settings",
    [{"programme": "texts"}, {"track": "gates"}, {"lengths": "long"}, {"potential": "nowhere"}],
)
def test_unknown_choices_are_rejected(settings):
    with pytest.raises(UsageError, match="invalid choice"):
        snowboarder(**settings)


def test_a_word_is_not_taken_for_true():
    with pytest.raises(UsageError, match="'tied' must be true or false"):
        snowboarder(tied="maybe")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("potential", "integrator"),
    [("foot", Dop853(1e-10)), ("full", Rk4(1e-3))],
    ids=["foot", "full"],
)
def test_ten_seconds_of_the_text_slalom_stay_on_the_programme(integrator, potential):
    """At the gain that suits step and scheme.

    Where leg and body whirl, RK4 loses the motion by then, but not the programme.
    """
    run = simulate(
        snowboarder("text", amplitude=1, potential=potential, snow="two-sided"),
        integrator,
        10.0,
        Baumgarte(),
    )
    deviations = [run.drift[i.name].max for i in run.system.invariants if i.order > 0]
    assert np.linalg.norm(deviations) < (1e-9 if integrator.fixed_step is None else 1e-6)
    assert run["x0"][-1] > 80.0
    assert run["y0"] == pytest.approx(
        np.sin(run["x0"]), abs=1e-4
    )  # the heading and the blade make the track
    if integrator.fixed_step is None and potential == "foot":
        assert run["normal_force"].min() > 0


@pytest.mark.slow
@pytest.mark.parametrize(("way", "limit"), [("baumgarte", 1e-6), ("projection", 1e-12)])
def test_the_command_of_the_long_slalom_stays_on_the_programme(way, limit):
    settings = "--set programme=text --set amplitude=1 --set snow=two-sided"
    command = f"simulate snowboarder {settings} --integrator rk4 --step 0.001 --stabilize {way}"
    result = CliRunner().invoke(app, [*command.split(), "--json", "-", "-q"])
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["t"] == 10.0
    assert (
        np.linalg.norm(
            [drift["max"] for name, drift in report["drift"].items() if name != "energy"]
        )
        < limit
    )


def test_a_fixed_posture_allows_a_long_run():
    run = simulate(
        snowboarder(
            "appendix", amplitude=1, track="heading", hold=True, tied=True, snow="two-sided"
        ),
        Dop853(1e-10),
        5.0,
        Baumgarte(20.0),
    )
    assert max(run.drift[i.name].max for i in run.system.invariants if i.order > 0) < 1e-9
    # With a rigid posture the slope carries the weight alone, and the energy is that of a body on a
    # track.
    assert run["normal_force"] == pytest.approx(20 * 9.8 * cos(SLOPE), rel=1e-9)
    assert run.drift["energy"].max < 1e-6


def test_multipliers_are_the_forces_and_torques_that_the_motion_takes():
    system = snowboarder("appendix", track="heading", amplitude=1, snow="two-sided")
    run = simulate(system, Dop853(1e-10), 0.3, Baumgarte(10.0))
    model, n = system.mechanism, 10
    k = len(run.t) // 2
    q, v = run.x[k, :n], run.x[k, n:]
    h = 1e-4
    acceleration = (run.at(run.t[k] + h)[n:] - run.at(run.t[k] - h)[n:]) / (2 * h)
    needed = np.array(model.inverse(q, v, acceleration)).ravel()
    row = [r.name for r in model.rows].index("blade")
    side = (
        np.array(casadi.DM(model.evaluate(model.equations.directions[:, row], q, v))).ravel()
        * run["reaction_blade"][k]
    )
    for j, c in enumerate(model.coordinates):
        control = run[f"control_{c.name}"][k] if f"control_{c.name}" in run.outputs else 0.0
        assert control + side[j] == pytest.approx(needed[j], abs=2e-4 * np.abs(needed).max())
    heading = run["phi0"][k]
    assert run["blade_force"][k] * np.array([-np.sin(heading), np.cos(heading)]) == pytest.approx(
        side[:2], rel=1e-12
    )
    assert {unit for _, unit in (system.outputs[f"control_{n}"] for n in ("q8", "psi1"))} == {
        "N",
        "N m",
    }


def test_appendix_gains_damp_nothing_and_a_nonlinear_law_does():
    system = snowboarder("appendix", track="heading", snow="two-sided")
    roots = np.linalg.eigvals(APPENDIX_LAW.matrix(system))
    assert np.sort(roots.real)[1:] == pytest.approx(np.zeros(6), abs=1e-6)

    def hardening(y, rate, order):
        return -20 * rate - 100 * y * (1 + 100 * y**2) if order == 2 else -10 * y * (1 + y**2)

    with pytest.raises(UsageError, match="each step multiplies deviations by 1"):
        simulate(system, Euler(1e-3), 0.5, APPENDIX_LAW)
    ends = []
    for law in (None, NonlinearLaw(hardening)):
        run = simulate(system, Euler(1e-3), 0.5, law)
        ends.append(
            np.linalg.norm([run.drift[i.name].end for i in system.invariants if i.order > 0])
        )
    assert ends[1] < 0.5 * ends[0]


@pytest.mark.parametrize("way", [None, Baumgarte(20.0)], ids=["free", "stabilized"])
def test_a_step_that_becomes_too_long_is_reported(way):
    run = simulate(snowboarder(hold=True), Rk4(0.02), 4.0, way)
    times = [e.time for e in run.events if e.name == "step too long"]
    assert times
    assert abs(run.at(times[0], "phi0_rate")) * 0.02 == pytest.approx(TURN_PER_STEP, rel=1e-4)
    for integrator in (Rk4(5e-3), Dop853(1e-8)):
        assert not simulate(snowboarder(hold=True), integrator, 4.0, way).events


def test_a_step_too_long_for_the_rotation_of_leg_and_body_is_reported():
    delta = 0.1
    run = simulate(snowboarder(delta=delta, snow="two-sided"), Rk4(5e-3), 8.0, Projection())
    first = run.events[0]
    assert first.name == "step too long"
    phi, *psi = (abs(run.at(first.time, f"{n}_rate")) for n in ("phi0", "psi1", "psi2"))
    assert max(phi, np.hypot(*psi) / delta) * 5e-3 == pytest.approx(TURN_PER_STEP, rel=1e-4)
    assert np.hypot(*psi) / delta > phi


def test_start_is_on_the_programme():
    for settings in (
        {},
        {"programme": "appendix", "track": "heading"},
        {"lengths": "variable", "hold": True},
    ):
        system = snowboarder(**settings)
        for invariant in system.invariants:
            if invariant.order:
                assert float(
                    system.function(invariant.expression)(0, system.start, [])
                ) == pytest.approx(0, abs=1e-13)
    start = {s.name: s.value for s in snowboarder("appendix", track="heading").states}
    assert [start[n] for n in EXTENSIONS] == pytest.approx([1 / sqrt(3)] * 3)
    assert (start["psi1"], start["psi2"]) == pytest.approx((pi / 3, 2 * pi / 3 - 0.1))


@pytest.mark.parametrize(
    "settings", [{"programme": "appendix", "track": "heading"}, {"delta": 0.3}, {"wave": 2.0}]
)
def test_a_run_ends_when_the_contact_force_becomes_tensile(settings):
    """The two-sided run goes on with a pull; the other ends at its first instant."""
    run = simulate(snowboarder(**settings), Dop853(1e-8))
    assert run.events[-1].name == "board leaves the snow"
    assert run["normal_force"].min() > -1e-6
    held = simulate(snowboarder(**settings, snow="two-sided"), Dop853(1e-8), until=run.t[-1] + 0.01)
    pulls = held.t[held["normal_force"] < -1e-3]
    assert pulls.size
    assert pulls[0] >= run.t[-1]
