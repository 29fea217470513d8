"""A state constraint that bounds of controls hold: more active limits than controls, with
multipliers that are not unique.
"""

import numpy as np
import pytest

from trajopt import Problem, solve
from trajopt.indirect import check, structure_detection
from trajopt.indirect.shooting import Shooting

FULL, REFILLED, END, LOSS = 0.2, 0.45, 4.0, 0.9


@pytest.fixture(scope="module")
def store():
    """A store is sold at a falling price until it is empty, and filled again as late as possible.

    The price is 4 - t.
    """
    ocp = Problem("store")
    ph = ocp.phase()
    t = ph.time(start=0, end=END)
    level = ph.state("level", start=FULL, end=REFILLED, lower=0)
    buy, sell = ph.control("buy", lower=0, upper=5), ph.control("sell", lower=0, upper=5)
    ph.dynamics({level: LOSS * buy - sell / LOSS})
    ocp.minimize(ph.integral((4 - t) * (buy - sell) + (buy**2 + sell**2) / 2))
    return ocp.finish(), solve(ocp)


def closed_form():
    """Stationarity gives sell = t1 - t and buy = t - t2; what is sold and bought gives
    t1 and t2.
    """
    t1, t2 = np.sqrt(2 * LOSS * FULL), END - np.sqrt(2 * REFILLED / LOSS)
    sold = (
        np.polynomial.Polynomial([-4, 1]) * np.polynomial.Polynomial([t1, -1])
        + np.polynomial.Polynomial([t1, -1]) ** 2 / 2
    )
    bought = (
        np.polynomial.Polynomial([4, -1]) * np.polynomial.Polynomial([-t2, 1])
        + np.polynomial.Polynomial([-t2, 1]) ** 2 / 2
    )
    return t1, t2, sold.integ()(t1) - sold.integ()(0) + bought.integ()(END) - bought.integ()(t2)


def test_an_empty_store_in_which_nothing_flows(store):
    form, direct = store
    solution = Shooting().solve(form, direct).check()
    t1, t2, cost = closed_form()
    assert [arc.end for arc in solution.arcs[:2]] == pytest.approx([t1, t2], abs=1e-9)
    assert solution.objective == pytest.approx(cost, rel=1e-9)
    assert any(
        "'level' and of the bounds of 'buy' and 'sell' are not unique" in line
        for line in solution.log
    )


def test_the_costate_between_makes_both_controls_stay_at_their_bounds(store):
    form, direct = store
    solution = Shooting().solve(form, direct)
    t1, t2, _ = closed_form()
    t = np.linspace(t1 + 1e-6, t2 - 1e-6, 101)
    costate, price = solution.phases["main"].costates["level"].evaluate(t)[:, 0], 4 - t
    assert np.all(price + LOSS * costate > -1e-7)
    assert np.all(-price - costate / LOSS > -1e-7)
    assert np.all(np.diff(costate) > -1e-9)


def test_without_the_condition_that_the_store_is_empty_its_level_is_negative(store, monkeypatch):
    form, direct = store
    monkeypatch.setattr(structure_detection, "_held_by_bounds", lambda *_: [])
    assert not Shooting(structures=1).solve(form, direct).success


def test_the_jump_where_the_store_becomes_empty_is_no_admissible_multiplier(store, monkeypatch):
    form, direct = store
    monkeypatch.setattr(check, "held_by_bounds", lambda *_: {})
    solution = Shooting(structures=1).solve(form, direct)
    assert any("but H decreases away from it" in line for line in solution.explanation)
