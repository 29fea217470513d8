"""Stabilized invariants: each method realises dy/dt = K y; drift is bounded with it and grows
without.
"""

from __future__ import annotations

import json

import casadi
import numpy as np
import pytest
import scipy.integrate
from typer.testing import CliRunner

from problems.lecture import closed_four_link, lorenz, pendulum, pendulum_cartesian
from problems.stabilization.cart_slalom import STABILIZATION, cart_slalom
from problems.stabilization.sleigh import sleigh
from trajopt.__main__ import app
from trajopt.errors import FileError, ModelError, UsageError
from trajopt.integrate import (
    Baumgarte,
    Dop853,
    Euler,
    ExtendedHamiltonian,
    Fehlberg,
    LinearLaw,
    MinimumNorm,
    NonlinearLaw,
    Projection,
    RadauIIA,
    Rk4,
    Simulation,
    deviations,
    load_law,
    simulate,
)
from trajopt.integrate.corrections import least_change
from trajopt.integrate.integrator_names import stabilization
from trajopt.integrate.rates import evaluate, rate_of_system
from trajopt.mechanics import Coordinate, Holonomic, Mechanism
from trajopt.system import System


def along(run: Simulation, only=(), targets=None) -> np.ndarray:
    """The deviations of a run in time, (k, rows)."""
    system = run.system
    return evaluate(
        casadi.Function("y", [system.time, system.x], [deviations(system, only, targets).y]),
        run.t,
        run.x,
    )


def off(system: System, **moved: float) -> System:
    """The system with initial values that violate its constraints."""
    start = {s.name: s.value for s in system.states}
    return system.starting_at({name: start[name] + by for name, by in moved.items()})


# dy/dt = K y
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "K"),
    [
        (Baumgarte(3.0), [[0, 1], [-9, -6]]),
        (LinearLaw(A=[[-5.0]], B=[[-2.0]]), [[0, 1], [-5, -2]]),
        (NonlinearLaw(lambda y, y_rate, order: -4 * y_rate - 4 * y), [[0, 1], [-4, -4]]),
        (MinimumNorm(3.0, only=("rod",)), [[-3, 0], [0, -3]]),
    ],
)
def test_deviations_of_a_position_condition_obey_the_law(way, K):
    system = off(pendulum_cartesian(), x=0.02, vy=0.1)
    run = simulate(system, Dop853(1e-12), until=2.0, stabilization=way)
    y = along(run, ("rod",))
    exact = np.array([scipy.linalg.expm(t * np.array(K, dtype=float)) @ y[0] for t in run.t])
    assert y == pytest.approx(exact, abs=1e-9)
    assert np.abs(y[0]).min() > 1e-3
    assert way.matrix(system) == pytest.approx(np.array(K, dtype=float), abs=1e-12)


@pytest.mark.parametrize(
    "way", [Baumgarte(3.0), LinearLaw(E=[[-3.0]]), MinimumNorm(3.0, only=("blade",))]
)
def test_deviation_of_a_velocity_condition_decays(way):
    run = simulate(off(sleigh(), y_rate=0.1), Dop853(1e-12), until=2.0, stabilization=way)
    y = along(run, ("blade",))[:, 0]
    assert y == pytest.approx(y[0] * np.exp(-3 * run.t), abs=1e-10)


def test_a_cubic_law_decays_like_its_own_equation():
    """f' = -f^3, which no linear law can do: f = f0 / sqrt(1 + 2 f0^2 t)."""
    run = simulate(
        off(sleigh(), y_rate=1.0),
        Dop853(1e-12),
        until=5.0,
        stabilization=NonlinearLaw(lambda y, y_rate, order: -(y**3)),
    )
    y = along(run, ("blade",))[:, 0]
    assert y == pytest.approx(y[0] / np.sqrt(1 + 2 * y[0] ** 2 * run.t), abs=1e-10)


def test_blocks_couple_position_and_velocity_conditions():
    """h'' = A h + B h' + C f, f' = D h' + E f on the cart, which has one of the first and three of
    the second kind.
    """
    law = LinearLaw(
        A=[[-9.0]], B=[[-6.0]], C=[[0.3, -0.2, 0.1]], D=[[0.1], [0.2], [-0.3]], E=-2 * np.eye(3)
    )
    system = off(cart_slalom(), theta=0.01, x_rate=0.05, phi1_rate=0.1)
    run = simulate(system, Dop853(1e-12), until=1.0, stabilization=law)
    names = ("track", "right_wheel", "left_wheel", "blade")
    y = along(run, names)  # (h, h', f1, f2, f3)
    exact = np.array([scipy.linalg.expm(t * law.matrix(system)) @ y[0] for t in run.t])
    assert y == pytest.approx(exact, abs=1e-9)


def test_blocks_of_a_linear_law_are_not_transposed():
    """h'' = A h + B h' with A and B that are not symmetric, on a bead with
    two position conditions.
    """
    x, y, z = Coordinate("x", 0.8, 0.2), Coordinate("y", 0.1, 0.4), Coordinate("z", 0.3, 0.1)
    wire = (Holonomic("tube", x.q**2 + 2 * y.q**2 - 1), Holonomic("height", z.q - x.q * y.q))
    system = Mechanism(
        "bead", (x, y, z), (x.v**2 + y.v**2 + z.v**2) / 2, 9.8 * z.q, constraints=wire
    ).system()
    A, B = np.array([[-9.0, 4.0], [0.5, -6.0]]), np.array([[-5.0, 0.3], [-1.0, -4.0]])
    law, K = LinearLaw(A=A, B=B), np.block([[np.zeros((2, 2)), np.eye(2)], [A, B]])
    run = simulate(system, Dop853(1e-12), until=0.5, stabilization=law)
    tube, height = along(run, ("tube",)), along(run, ("height",))  # (h, h') of each
    deviation = np.column_stack([tube[:, 0], height[:, 0], tube[:, 1], height[:, 1]])
    assert np.abs(deviation[0]).min() > 1e-2
    assert deviation == pytest.approx(
        np.array([scipy.linalg.expm(t * K) @ deviation[0] for t in run.t]), abs=1e-9
    )
    assert law.matrix(system) == pytest.approx(K, abs=0)


@pytest.mark.parametrize("unit", [1.0, 1e9, 1e-9])
def test_the_minimum_norm_change_is_invariant_to_units(unit):
    """It is that of the pseudo-inverse, and does not depend on the unit of an invariant."""
    rng = np.random.default_rng(3)
    Y, wanted = rng.standard_normal((3, 5)), rng.standard_normal(3)
    units = np.array([1.0, unit, 1.0])
    found = casadi.evalf(least_change(casadi.SX(units[:, None] * Y), casadi.SX(units * wanted)))
    assert np.asarray(found).ravel() == pytest.approx(np.linalg.pinv(Y) @ wanted, rel=1e-12)


def test_projection_returns_to_the_manifold_after_each_step():
    for integrator in (Rk4(1e-2), Fehlberg(1e-6), Dop853(1e-6), RadauIIA(1e-5)):
        run = simulate(pendulum_cartesian(), integrator, until=5.0, stabilization=Projection())
        assert np.abs(along(run)).max() < 1e-14


def test_projected_and_stabilized_motions_are_the_motion():
    exact = simulate(pendulum(), Dop853(1e-12), until=10.0)
    x = 2 * np.sin(exact["theta"][-1])
    for way in (
        Baumgarte(5.0),
        MinimumNorm(5.0),
        Projection(),
        NonlinearLaw(lambda y, v, order: -10 * v - 25 * y),
    ):
        assert simulate(pendulum_cartesian(), Dop853(1e-11), until=10.0, stabilization=way)["x"][
            -1
        ] == pytest.approx(x, abs=1e-8)


# Figures
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gain", "steps", "largest"), [(2000.0, 8600, 1.1e-6), (10.0, 100, 2e-4)])
def test_baumgarte_gains_limit_explicit_steps(gain, steps, largest):
    """The lecture's run with its own integrator, an RK45 at default tolerances."""
    system = pendulum_cartesian()
    rate = rate_of_system(Baumgarte(gain).prepare(system).system)
    run = scipy.integrate.solve_ivp(rate.call, (0, 10), system.start, method="RK45")
    assert len(run.t) == pytest.approx(steps, rel=0.1)
    assert np.abs(np.hypot(run.y[0], run.y[1] - 2) - 2).max() == pytest.approx(largest, rel=0.05)


# Drift over long runs
# --------------------------------------------------------------------------------------------------


def quarters(run: Simulation, only) -> np.ndarray:
    """The largest deviation of position and velocity conditions in each quarter of a run."""
    y = np.abs(along(run, only)).max(axis=1)
    return np.array([part.max() for part in np.array_split(y, 4)])


LONG = [
    (sleigh(), ("blade",), Euler(1e-3), 20.0),
    pytest.param(
        cart_slalom(),
        ("track", "right_wheel", "left_wheel", "blade"),
        Dop853(1e-10),
        20.0,
        marks=pytest.mark.slow,
    ),
    (pendulum_cartesian(), ("rod",), Rk4(1e-2), 100.0),
    (closed_four_link(), ("loop_x", "loop_y"), Rk4(1e-2), 100.0),
]


@pytest.mark.parametrize(
    ("system", "only", "integrator", "until"), LONG, ids=lambda v: getattr(v, "name", "")
)
def test_drift_stays_bounded_with_stabilization_and_grows_without(system, only, integrator, until):
    free = quarters(simulate(system, integrator, until), only)
    assert np.all(np.diff(free) > -1e-9 * free[1:])
    kept = quarters(simulate(system, integrator, until, Baumgarte()), only)
    assert kept[-1] < free[-1] / 8
    assert kept[2:].max() < 2 * kept[:2].max()
    projected = quarters(simulate(system, integrator, until, Projection()), only)
    assert projected.max() < 5e-12  # round-off: the cart is then 500 m away, at 50 m/s


@pytest.mark.slow
def test_with_a_fixed_step_the_drift_of_the_cart_is_the_local_error():
    """The cart accelerates through waves of 1 rad/m: the error of a step tau is of the order of (v
    tau)^5, of RK4 in the track even of (v tau)^6.

    No fixed-step scheme has a bound for all speeds. Stabilized deviations are of the order of the
    local error; without stabilization they are of the order (v tau)^4, and those of the wheels
    accumulate.
    """
    step, system = 1e-3, cart_slalom()

    def thirds(way, *orders):
        """The largest deviation of track and wheels in each third of the run from 5 s on, by the
        speed's power.
        """
        run = simulate(system, Rk4(step), 20.0, way)
        late = run.t >= 5.0
        speed = np.maximum.accumulate(np.hypot(run["x_rate"], run["y_rate"]))[late]
        y = np.abs(along(run, ("track", "right_wheel", "left_wheel")))[
            late
        ]  # (track, its rate, right, left)
        sizes = [(speed * step) ** order for order in orders]
        relative = (y[:, 0] / sizes[0], y[:, 2:].max(axis=1) / speed / sizes[1])
        return [np.array([part.max() for part in np.array_split(d, 3)]) for d in relative]

    track, wheels = thirds(None, 4, 4)
    assert track == pytest.approx(np.full(3, track[0]), rel=0.15)
    assert wheels[2] > 2 * wheels[0]
    kept = thirds(Baumgarte(), 6, 5)
    for deviation in kept:
        assert deviation == pytest.approx(np.full(3, deviation[0]), rel=0.3)
    fastest = 0.05  # v tau at the end
    assert kept[0][2] * fastest**2 < track[2] / 5
    assert kept[1][2] * fastest < wheels[2] / 50


def test_the_cart_with_the_gains_of_the_document():
    """(k1, k2) = (-20, -100) and a loose adaptive integrator: the deviation stays several times
    smaller.
    """
    free = simulate(cart_slalom(), Dop853(1e-7), until=10.0)
    kept = simulate(cart_slalom(), Dop853(1e-7), until=10.0, stabilization=STABILIZATION)
    assert kept.drift["track"].max < free.drift["track"].max / 5
    assert STABILIZATION.matrix(cart_slalom())[:2, :2] == pytest.approx(
        np.array([[0, 1], [-100, -20]]), abs=1e-12
    )


# Bad input
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gain", [0.0, -3.0, float("nan")])
def test_gains_must_be_positive(gain):
    for way in (Baumgarte, MinimumNorm, ExtendedHamiltonian):
        with pytest.raises(UsageError, match="gain must be positive"):
            way(gain)


def test_an_unstable_gain_is_rejected_before_the_run():
    with pytest.raises(UsageError, match="each step multiplies deviations by 4"):
        simulate(pendulum_cartesian(), Euler(1e-3), until=1.0, stabilization=Baumgarte(5000.0))
    with pytest.raises(UsageError, match="deviations grow at any step"):
        simulate(sleigh(), Rk4(1e-3), until=1.0, stabilization=LinearLaw(E=[[2.0]]))


def test_invalid_stabilizations_are_rejected():
    with pytest.raises(ModelError, match="has no reactions"):
        simulate(pendulum(), until=1.0, stabilization=Baumgarte(1.0))
    with pytest.raises(ModelError, match="no invariants"):
        simulate(lorenz(), until=1.0, stabilization=Projection())
    with pytest.raises(UsageError, match="did you mean 'energy'"):
        simulate(pendulum(), until=1.0, stabilization=MinimumNorm(1.0, only=("enrgy",)))
    with pytest.raises(ModelError, match="not canonical"):
        simulate(pendulum(), until=1.0, stabilization=ExtendedHamiltonian(1.0))
    with pytest.raises(UsageError, match="number of gains"):
        simulate(pendulum(), until=1.0, stabilization=MinimumNorm((1.0, 2.0)))
    with pytest.raises(UsageError, match=r"matrix E .* does not fit"):
        simulate(sleigh(), until=1.0, stabilization=LinearLaw(E=np.eye(2)))
    with pytest.raises(UsageError, match="does not vanish at zero"):
        simulate(sleigh(), until=1.0, stabilization=NonlinearLaw(lambda y, y_rate, order: 1 - y))


def test_gains_by_condition_from_a_file(tmp_path):
    """h'' + alpha h' + beta h = 0 by two numbers, by a file of numbers and by one of matrices."""
    system = pendulum_cartesian()
    K = stabilization("baumgarte", (20.0, 100.0)).matrix(system)
    np.testing.assert_allclose(K, Baumgarte(10.0).matrix(system))
    loop = closed_four_link()
    (tmp_path / "law.toml").write_text("A = [-100, -400]\nB = [[-20, 0], [0, -40]]\n")
    K = load_law(tmp_path / "law.toml").matrix(loop)
    np.testing.assert_allclose(sorted(np.linalg.eigvals(K).real), [-20, -20, -10, -10], atol=1e-5)
    for text, message in (("a = 1", "got:      a"), ('A = "x"', "numbers"), ("A = [", "TOML")):
        (tmp_path / "law.toml").write_text(text)
        with pytest.raises(FileError, match=message):
            load_law(tmp_path / "law.toml")
    with pytest.raises(UsageError, match="alpha and beta"):
        stabilization("baumgarte", (1.0, 2.0, 3.0))


def test_laws_from_files_by_the_command_line(tmp_path):
    (tmp_path / "law.toml").write_text("A = [-100]\nB = [-20]\n")
    (tmp_path / "law.py").write_text(
        "def cubic(y, y_rate, order):\n    return -20 * y_rate - 100 * (y + y**3)\n"
    )
    ends = []
    for law in ("baumgarte --gain 20,100", f"{tmp_path}/law.toml", f"{tmp_path}/law.py:cubic"):
        words = f"simulate pendulum-cartesian --integrator rk4 --until 0.5 --stabilize {law}"
        result = CliRunner().invoke(app, [*words.split(), "--json", "-", "-q"])
        assert result.exit_code == 0, result.output
        ends.append(json.loads(result.stdout)["final"]["x"])
    np.testing.assert_allclose(ends, ends[0], rtol=1e-9)
