"""Economics, biology and epidemics: turnpikes, discounting, borrowing limits."""

from casadi import exp, log

from trajopt import Problem

from .entry import problem


@problem("growth-or-consumption", "economics", quick=True)
def growth_or_consumption() -> Problem:
    """What is invested grows, what is not is consumed: one switch (Sethi & Thompson 2000)."""
    ocp = Problem("growth-or-consumption")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    k = ph.state("k", start=1)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({k: u * k})
    ocp.maximize(ph.integral((1 - u) * k))
    return ocp


@problem("vidale-wolfe", "economics", quick=True)
def vidale_wolfe() -> Problem:
    """Advertising: the share of the market is brought to its singular value, held, and let go
    (Sethi 1973).
    """
    ocp = Problem("vidale-wolfe")
    ph = ocp.phase()
    t = ph.time(start=0, end=5)
    share = ph.state("share", start=0.1)
    u = ph.control("u", lower=0, upper=2)
    ph.dynamics({share: u * (1 - share) - 0.2 * share})
    ocp.maximize(ph.integral(exp(-0.1 * t) * (2 * share - u)))
    return ocp


@problem("fishery", "economics", quick=True)
def fishery() -> Problem:
    """Harvest of a fish stock: wait, hold the singular stock, fish it down (Clark 1976)."""
    ocp = Problem("fishery")
    ph = ocp.phase()
    t = ph.time(start=0, end=10)
    stock = ph.state("stock", start=0.3, lower=0.01)
    effort = ph.control("effort", lower=0, upper=1)
    ph.dynamics({stock: stock * (1 - stock) - effort * stock})
    ocp.maximize(ph.integral(exp(-0.05 * t) * (2 * stock - 0.4) * effort))
    return ocp


@problem("borrowing-limit", "economics", quick=True)
def borrowing_limit() -> Problem:
    """A saver with growing income who may not borrow: a state constraint of order one from some
    time on.
    """
    ocp = Problem("borrowing-limit")
    ph = ocp.phase()
    t = ph.time(start=0, end=20)
    wealth = ph.state("wealth", start=2, lower=0)
    c = ph.control("c", lower=0.1)
    ph.dynamics({wealth: 0.05 * wealth + 1 + 0.1 * t - c})
    ocp.maximize(ph.integral(exp(-0.05 * t) * log(c)))
    return ocp


@problem("epidemic-limit", "economics")
def epidemic_limit() -> Problem:
    """Contacts are reduced so that infections stay below the capacity of hospitals until herd
    immunity.
    """
    ocp = Problem("epidemic-limit")
    ph = ocp.phase()
    ph.time(start=0, end=120, unit="d")
    s = ph.state("s", start=0.99, end=None, lower=0)
    i = ph.state("i", start=0.01, lower=0, upper=0.08)
    u = ph.control("u", lower=0, upper=0.8)
    infections = 0.3 * (1 - u) * s * i
    ph.dynamics({s: -infections, i: infections - 0.1 * i})
    ocp.require(ph.final(s), upper=1 / 3)
    ocp.minimize(ph.integral(u))
    return ocp


@problem("chemotherapy", "economics", quick=True)
def chemotherapy() -> Problem:
    """Cells of two compartments under a drug that acts on dividing cells: bang-bang doses
    (Swierniak, Ledzewicz & Schaettler).
    """
    ocp = Problem("chemotherapy")
    ph = ocp.phase()
    ph.time(start=0, end=10)
    a1, a2 = 0.197, 0.356
    n1, n2 = ph.state("n1", start=0.7), ph.state("n2", start=0.3)
    u = ph.control("u", lower=0, upper=0.95)
    ph.dynamics({n1: -a1 * n1 + 2 * (1 - u) * a2 * n2, n2: a1 * n1 - a2 * n2})
    ocp.minimize(3 * ph.final(n1 + n2) + ph.integral(u))
    return ocp
