"""Reactors and fermentations: stiff, singular feeds, several local optima."""

from casadi import exp

from trajopt import Problem

from .entry import problem


@problem("batch-reactor", "chemical", quick=True)
def batch_reactor() -> Problem:
    """A -> B -> C: the temperature profile with the largest yield of B."""
    ocp = Problem("batch-reactor")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    a, b = ph.state("a", start=1), ph.state("b", start=0)
    T = ph.control("T", lower=298, upper=398, unit="K")
    first, second = 4000 * exp(-2500 / T) * a**2, 620000 * exp(-5000 / T) * b
    ph.dynamics({a: -first, b: first - second})
    ocp.maximize(ph.final(b))
    return ocp


@problem("parallel-reactions", "chemical", quick=True)
def parallel_reactions() -> Problem:
    """A -> B and A -> C in a tube: the largest yield of B."""
    ocp = Problem("parallel-reactions")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    a, b = ph.state("a", start=1), ph.state("b", start=0)
    u = ph.control("u", lower=0, upper=5)
    ph.dynamics({a: -(u + u**2 / 2) * a, b: u * a})
    ocp.maximize(ph.final(b))
    return ocp


@problem("stirred-tank", "chemical")
def stirred_tank() -> Problem:
    """A cooled stirred tank with an exothermic reaction: a poor local optimum lies near the plain
    guess (Luus 1990).
    """
    ocp = Problem("stirred-tank")
    ph = ocp.phase()
    ph.time(start=0, end=0.78)
    T, c = ph.state("T", start=0.09), ph.state("c", start=0.09)
    u = ph.control("u", lower=0, upper=5)
    rate = (c + 0.5) * exp(25 * T / (T + 2))
    ph.dynamics({T: -(2 + u) * (T + 0.25) + rate, c: 0.5 - c - rate})
    ocp.minimize(ph.integral(T**2 + c**2 + 0.1 * u**2))
    return ocp


@problem("stirred-tank-singular", "chemical")
def stirred_tank_singular() -> Problem:
    """The same tank with a bounded flow that costs nothing: bang and singular arcs on a fast
    reaction.
    """
    ocp = Problem("stirred-tank-singular")
    ph = ocp.phase()
    ph.time(start=0, end=0.78)
    T, c = ph.state("T", start=0.05), ph.state("c", start=0)
    u = ph.control("u", lower=-1, upper=1)
    rate = (c + 0.5) * exp(25 * T / (T + 2))
    ph.dynamics({T: -(2 + u) * (T + 0.25) + rate, c: 0.5 - c - rate})
    ocp.minimize(ph.integral(T**2 + c**2))
    return ocp


COEFFICIENTS = (
    (0.2918487e-2, -0.8045787e-2, 0.6749947e-2, -0.1416647e-2),
    (0.9509977e1, -0.3500994e2, 0.4283329e2, -0.1733333e2),
    (0.2682093e2, -0.9556079e2, 0.1130398e3, -0.4429997e2),
    (0.2087241e3, -0.7198052e3, 0.8277466e3, -0.3166655e3),
    (0.1350005e1, -0.6850027e1, 0.1216671e2, -0.6666689e1),
    (0.1921995e-1, -0.7945320e-1, 0.1105666, -0.5033333e-1),
    (0.1323596, -0.4696255, 0.5539323, -0.2166664),
    (0.7339981e1, -0.2527328e2, 0.2993329e2, -0.1199999e2),
    (-0.3950534, 0.1679353e1, -0.1777829e1, 0.4974987),
    (-0.2504665e-4, 0.1005854e-1, -0.1986696e-1, 0.9833470e-2),
)


@problem("catalyst-blend", "chemical")
def catalyst_blend() -> Problem:
    """A blend of two catalysts along a reactor: stiff, hundreds of local optima (Luus, Dittrich &
    Keil 1992).
    """
    ocp = Problem("catalyst-blend")
    ph = ocp.phase()
    ph.time(start=0, end=2000)
    x1, x2, x3, x4, x5, x6, x7 = (ph.state(f"x{i + 1}", start=float(i == 0)) for i in range(7))
    u = ph.control("u", lower=0.6, upper=0.9)
    k1, k2, k3, k4, k5, k6, k7, k8, k9, k10 = (
        sum(c * u**j for j, c in enumerate(row)) for row in COEFFICIENTS
    )
    ph.dynamics({
        x1: -k1 * x1,
        x2: k1 * x1 - (k2 + k3) * x2 + k4 * x5,
        x3: k2 * x2,
        x4: -k6 * x4 + k5 * x5,
        x5: k3 * x2 + k6 * x4 - (k4 + k5 + k8 + k9) * x5 + k7 * x6 + k10 * x7,
        x6: k8 * x5 - k7 * x6,
        x7: k9 * x5 - k10 * x7,
    })  # fmt: skip
    ocp.maximize(1000 * ph.final(x7))
    return ocp


@problem("protein-fed-batch", "chemical")
def protein_fed_batch() -> Problem:
    """Secreted protein in a fed-batch fermentation: bang and singular feed (Park
    & Ramirez 1988).
    """
    ocp = Problem("protein-fed-batch")
    ph = ocp.phase()
    ph.time(start=0, end=15, unit="h")
    secreted, total = ph.state("secreted", start=0), ph.state("total", start=0)
    cells, sugar = ph.state("cells", start=1, lower=0), ph.state("sugar", start=5, lower=0)
    volume = ph.state("volume", start=1, lower=1)
    feed = ph.control("feed", lower=0, upper=2)
    g3 = 21.87 * sugar / ((sugar + 0.4) * (sugar + 62.5))
    g2 = sugar * exp(-5 * sugar) / (0.1 + sugar)
    g1 = 4.75 * g3 / (0.12 + g3)
    dilution = feed / volume
    ph.dynamics({
        secreted: g1 * (total - secreted) - dilution * secreted,
        total: g2 * cells - dilution * total,
        cells: g3 * cells - dilution * cells,
        sugar: -7.3 * g3 * cells + dilution * (20 - sugar),
        volume: feed,
    })  # fmt: skip
    ocp.maximize(ph.final(secreted * volume))
    return ocp


@problem("ethanol-fed-batch", "chemical")
def ethanol_fed_batch() -> Problem:
    """Ethanol by fed-batch fermentation with a limited volume: bang and singular feed (Chen & Hwang
    1990).
    """
    ocp = Problem("ethanol-fed-batch")
    ph = ocp.phase()
    ph.time(start=0, end=54, unit="h")
    cells, sugar = ph.state("cells", start=1), ph.state("sugar", start=150, lower=0)
    ethanol = ph.state("ethanol", start=0, lower=0)
    volume = ph.state("volume", start=10, lower=10, upper=200)
    feed = ph.control("feed", lower=0, upper=12)
    g1 = 0.408 / (1 + ethanol / 16) * sugar / (0.22 + sugar)
    g2 = 1 / (1 + ethanol / 71.5) * sugar / (0.44 + sugar)
    dilution = feed / volume
    ph.dynamics({
        cells: g1 * cells - dilution * cells,
        sugar: -10 * g1 * cells + dilution * (150 - sugar),
        ethanol: g2 * cells - dilution * ethanol,
        volume: feed,
    })  # fmt: skip
    ocp.maximize(ph.final(ethanol * volume))
    return ocp


@problem("photochemical-tank", "chemical")
def photochemical_tank() -> Problem:
    """Three feeds and light in a stirred tank: bang, singular and interior controls together
    (Lapidus & Luus 1967).
    """
    ocp = Problem("photochemical-tank")
    ph = ocp.phase()
    ph.time(start=0, end=0.2)
    start = (0.1883, 0.2507, 0.0467, 0.0899, 0.1804, 0.1394, 0.1046)
    x1, x2, x3, x4, x5, x6, x7 = (
        ph.state(f"x{i + 1}", start=value) for i, value in enumerate(start)
    )
    u1, u2 = ph.control("u1", lower=0, upper=20), ph.control("u2", lower=0, upper=6)
    u3, u4 = ph.control("u3", lower=0, upper=4), ph.control("u4", lower=0, upper=20)
    q = u1 + u2 + u4
    ph.dynamics({
        x1: u4 - q * x1 - 17.6 * x1 * x2 - 23 * x1 * x6 * u3,
        x2: u1 - q * x2 - 17.6 * x1 * x2 - 146 * x2 * x3,
        x3: u2 - q * x3 - 73 * x2 * x3,
        x4: -q * x4 + 35.2 * x1 * x2 - 51.3 * x4 * x5,
        x5: -q * x5 + 219 * x2 * x3 - 51.3 * x4 * x5,
        x6: -q * x6 + 102.6 * x4 * x5 - 23 * x1 * x6 * u3,
        x7: -q * x7 + 46 * x1 * x6 * u3,
    })  # fmt: skip
    gain = (
        5.8 * (q * x1 - u4)
        - 3.7 * u1
        - 4.1 * u2
        + q * (23 * x4 + 11 * x5 + 28 * x6 + 35 * x7)
        - 5 * u3**2
        - 0.099
    )
    ocp.maximize(ph.integral(gain))
    return ocp
