"""Estimates from measurements, and the intervals that hold them."""

import casadi
import numpy as np
import pytest

from trajopt import Problem, fit
from trajopt.errors import UsageError

TIMES = np.linspace(0.1, 4, 40)


def oscillator(start=None):
    ocp = Problem("oscillator")
    k = ocp.variable("k", lower=0.1, upper=50, guess=3.0, unit="1/s^2")
    c = ocp.variable("c", lower=0, upper=5, guess=0.5)
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x, v = ph.state("x", start=start), ph.state("v", start=0)
    ph.dynamics({x: v, v: -k * x - c * v})
    return ocp, x, v


def motion(k=4.0, c=0.4, start=1.0, times=TIMES):
    w = np.sqrt(k - c**2 / 4)
    return start * np.exp(-c / 2 * times) * (np.cos(w * times) + c / (2 * w) * np.sin(w * times))


def test_exact_measurements_give_the_exact_values():
    ocp, *_ = oscillator()
    found = fit(ocp, {"t": TIMES, "x": motion()})
    for name, value in (("k", 4.0), ("c", 0.4), ("x(t0)", 1.0)):
        assert found[name].value == pytest.approx(value, rel=1e-6)
    assert np.abs(found.residuals["x"]).max() < 1e-7


def test_the_covariance_is_that_of_linear_least_squares():
    """By differences of the closed-form motion, with the known deviation of the measurements."""
    ocp, *_ = oscillator(start=1)
    noise = 0.01 * np.random.default_rng(0).standard_normal(TIMES.size)
    found = fit(ocp, {"t": TIMES, "x": motion() + noise}, deviations=0.01)
    at = found["k"].value, found["c"].value
    slopes = np.array(
        [
            (motion(at[0] + 1e-5, at[1]) - motion(at[0] - 1e-5, at[1])) / 2e-5,
            (motion(at[0], at[1] + 1e-5) - motion(at[0], at[1] - 1e-5)) / 2e-5,
        ]
    )
    expected = 0.01**2 * np.linalg.inv(slopes @ slopes.T)
    np.testing.assert_allclose(found.covariance, expected, rtol=0.05)
    assert "k = " in str(found)
    assert found.correlation[0, 0] == pytest.approx(1)


def test_intervals_hold_the_true_values_as_often_as_they_say():
    ocp, *_ = oscillator(start=1)
    generator = np.random.default_rng(1)
    first = fit(ocp, {"t": TIMES, "x": motion() + 0.01 * generator.standard_normal(TIMES.size)})
    held = []
    for _ in range(40):
        noisy = motion() + 0.01 * generator.standard_normal(TIMES.size)
        again = first.refit({"t": TIMES, "x": noisy})
        for name, value in (("k", 4.0), ("c", 0.4)):
            low, high = again[name].interval
            held.append(low <= value <= high)
    assert 0.85 <= np.mean(held) <= 1.0


def test_outputs_missing_values_files_and_ends(tmp_path):
    ocp, x, v = oscillator(start=1)
    times = np.concatenate([[0.0], TIMES])
    x_values = motion(times=times)
    x_values[5:9] = np.nan
    energy = np.full(times.size, np.nan)
    energy[0] = 0.5
    path = tmp_path / "data.csv"
    lines = ["t,x,kinetic and more"]
    lines += [
        f"{a},{'' if np.isnan(b) else b},{'' if np.isnan(c) else c}"
        for a, b, c in zip(times, x_values, energy, strict=True)
    ]
    path.write_text("\n".join(lines))
    outputs = {"kinetic and more": 0.5 * casadi.sumsqr(casadi.vertcat(x, v))}
    found = fit(ocp, path, outputs=outputs, deviations={"x": 0.01, "kinetic and more": 0.1})
    assert found["k"].value == pytest.approx(4, rel=1e-5)
    assert np.abs(found.residuals["kinetic and more"]).max() < 1e-6


def test_wrong_tables_are_errors_in_the_users_names():
    ocp, x, _ = oscillator()
    with pytest.raises(UsageError, match="column 'y' is no state"):
        fit(ocp, {"t": TIMES, "y": TIMES})
    with pytest.raises(UsageError, match="a column 't' of times"):
        fit(ocp, {"x": TIMES})
    with pytest.raises(UsageError, match="the times of column 'x'"):
        fit(ocp, {"t": TIMES + 1, "x": TIMES})
    with pytest.raises(UsageError, match="has no estimate 'kk'"):
        fit(ocp, {"t": TIMES, "x": motion()})["kk"]
    with pytest.raises(UsageError, match="not more measurements than estimates"):
        fit(ocp, {"t": TIMES[:3], "x": motion()[:3]}, starts=1)
    ocp.minimize(ocp.phases["main"].final(x))
    with pytest.raises(UsageError, match="has a cost"):
        fit(ocp, {"t": TIMES, "x": TIMES})
