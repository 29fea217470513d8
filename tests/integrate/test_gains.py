"""Gains: stability functions, safe ranges, the row-sum test, the counterexample, the error bound,
the recommended gain.
"""

from __future__ import annotations

from dataclasses import replace

import casadi
import numpy as np
import pytest

from problems.lecture import closed_four_link, pendulum_cartesian
from problems.multibody import double_pendulum
from problems.rocket.lawden_cauchy import lawden_cauchy
from problems.stabilization.cart_slalom import cart_slalom
from problems.stabilization.sleigh import sleigh
from problems.stabilization.turntable import document_law, turntable_ball
from trajopt.errors import UsageError
from trajopt.integrate import (
    Baumgarte,
    Dop853,
    Euler,
    Fehlberg,
    Gill,
    Heun,
    LinearLaw,
    MinimumNorm,
    Newmark,
    Projection,
    RadauIIA,
    Rk4,
    check_gain,
    component_range,
    deviations,
    error_bound,
    fastest_gain,
    flow,
    multiplier,
    position_pair,
    recommended_gain,
    row_sum_test,
    row_sums,
    safe_range,
    simulate,
    stability_function,
    stability_limit,
)
from trajopt.integrate.rates import evaluate
from trajopt.integrate.tableaus import DOP853, EULER, FEHLBERG, GILL, HEUN, RK4

TAU = 1e-3
COUNTEREXAMPLE = -np.array([[2.0, 1.0], [1.0, 2.0]]) / TAU


@pytest.mark.parametrize("scheme", [EULER, HEUN, RK4, GILL, FEHLBERG, DOP853])
def test_stability_function_approximates_the_exponential_to_its_order(scheme):
    R = stability_function(scheme)
    z = np.array([-0.4, -0.2])
    errors = np.abs(R(z) - np.exp(z))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(scheme.order + 1, abs=0.5)


@pytest.mark.parametrize("integrator", [Euler(0.1), Heun(0.1), Rk4(0.1), Gill(0.1)])
def test_stability_function_is_what_one_step_does(integrator):
    step = flow(lambda t, x: -7 * x, 0, 0.1, [1.0], integrator=integrator)(0.1)[0]
    assert step == pytest.approx(stability_function(integrator)(-0.7), abs=1e-12)


def test_stability_limits():
    assert stability_limit(EULER) == pytest.approx(2, abs=1e-9)
    assert stability_limit(HEUN) == pytest.approx(2, abs=1e-6)
    assert stability_limit(RK4) == pytest.approx(2.785293563405282, abs=1e-9)


def test_the_documents_instability_limit_follows_from_its_step():
    """Euler's scheme with a step of 1.54e-3 is unstable for k <= -1300."""
    assert safe_range(EULER, 1.54e-3)[1] == pytest.approx(1300, rel=2e-3)
    below, above = (
        simulate(sleigh(), Euler(1.54e-3), until=6.0, stabilization=Baumgarte(a))
        for a in (1200.0, 1298.0)
    )
    assert max(below.drift["blade"].max, above.drift["blade"].max) < 1e-3
    with pytest.raises(UsageError, match="gain is unstable"):
        simulate(sleigh(), Euler(1.54e-3), until=6.0, stabilization=Baumgarte(1300.0))


# The counterexample
# --------------------------------------------------------------------------------------------------


def test_the_counterexample_satisfies_the_printed_range_and_is_rejected():
    lower, upper = component_range(TAU, [1.0, 1.0])
    assert np.all(lower <= COUNTEREXAMPLE)
    assert np.all(upper >= COUNTEREXAMPLE)
    assert np.all(np.linalg.eigvals(COUNTEREXAMPLE).real < 0)  # and it is Hurwitz
    assert not row_sum_test(COUNTEREXAMPLE, TAU, [1.0, 1.0])
    assert multiplier(COUNTEREXAMPLE, EULER, TAU) == pytest.approx(2, abs=1e-12)
    with pytest.raises(UsageError, match="each step multiplies deviations by 2"):
        check_gain(COUNTEREXAMPLE, EULER, TAU)


def test_the_printed_range_is_as_printed_and_necessary_for_equal_tolerances():
    """|delta_kl + tau K_kl| <= (least eps - |R|) / largest eps."""
    lower, upper = component_range(TAU, [1.0, 4.0], remainder=-0.1)
    for limit, sign in ((lower, -1), (upper, 1)):
        assert np.eye(2) + TAU * limit == pytest.approx(
            np.full((2, 2), sign * 0.9 / 4.0), abs=1e-12
        )
    lower, upper = component_range(TAU, [0.5, 0.5], remainder=0.1)
    rng, kept = np.random.default_rng(2), 0
    for _ in range(2000):
        K = -np.eye(2) / TAU + rng.uniform(-1, 1, (2, 2)) / TAU
        if row_sum_test(K, TAU, [0.5, 0.5], remainders=0.1):
            kept += 1
            assert np.all(lower <= K)
            assert np.all(upper >= K)
    assert kept > 100


def test_the_counterexample_diverges():
    path = flow(lambda t, y: COUNTEREXAMPLE @ y, 0, 20 * TAU, [1.0, 1.0], integrator=Euler(TAU))
    assert np.abs(path.x[-1]) == pytest.approx(2.0**20, rel=1e-9)


def test_row_sums_bound_euler_steps():
    rng = np.random.default_rng(1)
    eps = np.array([1.0, 2.0])
    for _ in range(200):
        K = rng.uniform(-2, 1, (2, 2)) / TAU
        if row_sum_test(K, TAU, eps):
            assert multiplier(K, EULER, TAU) <= 1 + 1e-12
            y = eps * rng.uniform(-1, 1, 2)
            assert np.all(np.abs(y + TAU * K @ y) <= eps + 1e-12)
    assert row_sum_test(-np.eye(2) / TAU, TAU, eps, remainders=[0.5, 1.0])
    assert not row_sum_test(-np.eye(2) / TAU, TAU, eps, remainders=[1.5, 1.0])


def test_a_position_condition_needs_the_pair_h_and_w():
    a = 500.0
    companion = np.array([[0.0, 1.0], [-(a**2), -2 * a]])
    assert row_sums(companion, TAU, [1.0, 1.0])[0] < 0
    assert row_sums(companion, TAU, [1.0, 1e-6])[0] < 0
    assert row_sum_test(position_pair(a), TAU, [1.0, a])
    T = np.array([[1.0, 0.0], [a, 1.0]])  # (h, w) from (h, h')
    assert T @ companion @ np.linalg.inv(T) == pytest.approx(position_pair(a), abs=1e-6)


def test_turntable_gains_are_stable_only_below_minus_one():
    system = turntable_ball()
    assert check_gain(document_law(-2.0).matrix(system), RK4, TAU) < 1
    with pytest.raises(UsageError, match="grow at any step"):
        check_gain(document_law(-0.9).matrix(system), RK4, TAU)


# The bound
# --------------------------------------------------------------------------------------------------


def test_error_bound_holds_for_euler():
    """x' = -x^3 + sin t: |f_x| <= L and |x''| <= M on the motion; the error stays below the bound,
    not far below.
    """
    step, until = 1e-3, 0.5

    def rate(t, x):
        return -(x**3) + np.sin(t)

    exact = flow(rate, 0, until, [1.0])
    coarse = flow(rate, 0, until, [1.0], integrator=Euler(step))
    x = exact(np.linspace(0, until, 400))[:, 0]
    L = 3 * np.max(x**2)
    t = np.linspace(0, until, 400)
    curvature = np.max(np.abs(-3 * x**2 * (-(x**3) + np.sin(t)) + np.cos(t)))
    error = np.max(np.abs(coarse.x[:, 0] - exact(coarse.t)[:, 0]))
    bound = error_bound(0.0, L, step / 2 * curvature, until)
    assert bound / 20 < error <= bound


def test_error_bound_holds_for_an_initial_deviation():
    assert error_bound(2.0, 3.0, 0.0, 1.0) == pytest.approx(2 * np.exp(3), rel=1e-14)
    assert error_bound(0.0, 1e-12, 0.5, 2.0) == pytest.approx(1.0, rel=1e-9)
    with pytest.raises(UsageError, match="nonnegative"):
        error_bound(-1.0, 1.0, 1.0, 1.0)


# The recommended gain
# --------------------------------------------------------------------------------------------------


def drift(run):
    """The geometric mean of the largest deviations of all constraints."""
    return np.exp(
        np.mean([np.log(run.drift[i.name].max) for i in run.system.invariants if i.order > 0])
    )


def drift_at_equal_work(system, integrator, until, gain):
    """The drift; for an adaptive integrator at the tolerance that takes as many steps as without
    stabilization.

    At a given tolerance a higher gain always leaves less drift, since it shortens the steps.
    """
    run = simulate(system, integrator, until, Baumgarte(gain))
    if integrator.fixed_step is not None:
        return drift(run)
    order = integrator.scheme.order
    steps, power = len(simulate(system, integrator, until).t), order + 1
    for _ in range(2):
        if abs(len(run.t) / steps - 1) > 0.02:
            finer = replace(
                run.integrator, tolerance=run.integrator.tolerance * (len(run.t) / steps) ** power
            )
            run = simulate(system, finer, until, Baumgarte(gain))
    return drift(run) * (len(run.t) / steps) ** power


def search(system, integrator, until):
    """The least drift, and the range of gains that come within 5 % of it: a grid over four decades,
    refined around the best.
    """
    top = 100.0 if integrator.fixed_step is None else 1.95 / integrator.fixed_step
    found = {
        a: drift_at_equal_work(system, integrator, until, a)
        for a in np.geomspace(top / 1e4, top, 14)
    }
    best = min(found, key=found.get)
    finer = [a for a in best * np.array([0.55, 0.7, 0.85, 1.2, 1.4, 1.7]) if a <= top]
    found |= {a: drift_at_equal_work(system, integrator, until, a) for a in finer}
    least = min(found.values())
    good = [a for a, y in found.items() if y <= 1.05 * least]
    return least, min(good), max(good)


SYSTEMS = [sleigh(), pendulum_cartesian(), cart_slalom(), closed_four_link(), double_pendulum()]
SCHEMES = [Euler(1e-3), Rk4(1e-2), Fehlberg(1e-8)]
CASES = [
    pytest.param(
        system,
        scheme,
        id=f"{system.name} {scheme.label}",
        marks=[] if i < 2 else [pytest.mark.slow],
    )
    for i, system in enumerate(SYSTEMS)
    for scheme in SCHEMES
]


@pytest.mark.parametrize(("system", "integrator"), CASES)
def test_the_recommended_gain_is_within_a_factor_of_two_of_the_best_found_by_search(
    system, integrator
):
    until = 1.0 if integrator.label.startswith("euler") else 3.0
    gain = recommended_gain(system, integrator, until=until)
    least, low, high = search(system, integrator, until)
    assert low / 2 < gain < 2 * high
    assert (
        drift_at_equal_work(system, integrator, until, gain)
        < (2.0 if integrator.fixed_step is None else 1.4) * least
    )


def test_the_highest_gain_is_recommended_if_the_drift_does_not_depend_on_it():
    """The sleigh with minimum-norm corrections at every stage of RK4: up to a gain of nearly one
    the drift is much the same.
    """
    system, integrator = sleigh(), Rk4(1e-2)

    def run(gain):
        return drift(simulate(system, integrator, stabilization=MinimumNorm(gain, only=("blade",))))

    gain = recommended_gain(system, integrator, MinimumNorm(only=("blade",)))
    free = drift(simulate(system, integrator))
    assert 0.85 * free < run(gain) < 1.05 * free
    assert run(4 * gain) > 1.2 * free
    assert gain > 0.3


@pytest.mark.parametrize(
    "integrator", [Dop853(1e-10), Rk4(1e-2), Fehlberg(1e-8)], ids=lambda i: i.label
)
@pytest.mark.parametrize("data", ["document", "transfer"])
def test_an_initial_deviation_decays_within_the_run(integrator, data):
    """The gain accounts for the initial deviation, which must decay by the end and does not appear
    in single steps.
    """
    run = simulate(lawden_cauchy(data=data), integrator, stabilization=MinimumNorm())
    assert 1 < run.stabilization.gain < 10
    assert run["deviation"].max() == run["deviation"][0] > 8e-4
    assert run["deviation"][-1] < 1e-3 * run["deviation"][0]
    settled = simulate(lawden_cauchy(0.0, data=data), integrator, stabilization=MinimumNorm())
    assert settled.stabilization.gain < run.stabilization.gain


@pytest.mark.parametrize("scheme", [Euler, Heun, Rk4, Gill])
def test_the_gain_is_of_the_order_of_one_over_the_step(scheme):
    system = pendulum_cartesian()
    coarse, fine = (recommended_gain(system, scheme(h), until=5.0) for h in (2e-3, 1e-3))
    assert fine / coarse == pytest.approx(2, rel=0.1)
    assert 0.5 < fine / fastest_gain(scheme(1e-3), 1e-3) < 2


def test_a_law_that_acts_at_the_stages_needs_a_gain_of_the_rates_of_the_motion():
    """The stages of RK4 leave the manifold within a step; a high gain increases the error.

    Sampled deviations avoid this.
    """
    system, integrator = pendulum_cartesian(), Rk4(1e-2)

    def continuous(a):
        return drift(simulate(system, integrator, 10.0, LinearLaw(A=[[-(a**2)]], B=[[-2 * a]])))

    def sampled(a):
        return drift(simulate(system, integrator, 10.0, Baumgarte(a)))

    fastest = fastest_gain(integrator, 1e-2)
    assert continuous(fastest) > 1000 * continuous(2.0)
    assert sampled(fastest) < continuous(2.0) / 40
    assert sampled(2.0) < 3 * continuous(2.0)


def test_sampled_deviations_follow_the_same_law():
    """y <- R(tau K) y, exactly as if the law acted at the stages, for an initial deviation."""
    gain, step = 30.0, 1e-2
    for system, name in (
        (sleigh().starting_at({"y_rate": 0.1}), "blade"),
        (pendulum_cartesian().starting_at({"vy": 1e-3}), "rod"),
    ):
        run = simulate(system, Rk4(step), 0.5, Baumgarte(gain))
        y = evaluate(
            casadi.Function("y", [system.time, system.x], [deviations(system, (name,)).y]),
            run.t,
            run.x,
        )
        K = position_pair(gain) if name == "rod" else np.array([[-gain]])
        y = np.column_stack([y[:, 0], y[:, 1] + gain * y[:, 0]]) if name == "rod" else y  # (h, w)
        R = sum(
            c * np.linalg.matrix_power(step * K, k)
            for k, c in enumerate((1, 1, 1 / 2, 1 / 6, 1 / 24))
        )
        expected = np.array([np.linalg.matrix_power(R, n) @ y[0] for n in range(len(y))])
        assert y == pytest.approx(expected, abs=2e-3 * np.abs(y[0]).max())


def test_invalid_arguments_of_gains_are_rejected():
    with pytest.raises(UsageError, match="has no gain"):
        recommended_gain(sleigh(), Rk4(1e-3), Projection())
    assert recommended_gain(sleigh(), Newmark(1e-3), until=1.0) > 0  # implicit: a stand-in serves
    with pytest.raises(UsageError, match="one-step scheme"):
        multiplier([[-1.0]], RadauIIA(1e-6), 1e-3)
    with pytest.raises(UsageError, match="step must be positive"):
        safe_range(EULER, 0.0)
