"""Singular arcs: the Hamiltonian is affine in a control whose switching function vanishes on an
interval.
"""

from math import pi

from casadi import log

from trajopt import Problem, free

from .entry import problem


@problem("aly-chan", "singular", quick=True)
def aly_chan() -> Problem:
    """The whole trajectory is a singular arc."""
    ocp = Problem("aly-chan")
    ph = ocp.phase()
    ph.time(start=0, end=pi / 2)
    x, v = ph.state("x", start=0), ph.state("v", start=1)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral((v**2 - x**2) / 2))
    return ocp


@problem("van-der-pol-singular", "singular", quick=True)
def van_der_pol_singular() -> Problem:
    """Van der Pol's oscillator regulated with a bounded control that costs nothing: bang, bang,
    singular.
    """
    ocp = Problem("van-der-pol-singular")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x, v = ph.state("x", start=0), ph.state("v", start=1)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: -x + v * (1 - x**2) + u})
    ocp.minimize(ph.integral((x**2 + v**2) / 2))
    return ocp


@problem("singular-triple-integrator", "singular")
def singular_triple_integrator() -> Problem:
    """The state of a triple integrator regulated in its position only: a singular arc of order
    three (Luus 2000).
    """
    ocp = Problem("singular-triple-integrator")
    ph = ocp.phase()
    ph.time(start=0, end=5)
    x, v, a = ph.state("x", start=1), ph.state("v", start=0), ph.state("a", start=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: a, a: u})
    ocp.minimize(ph.integral(x**2))
    return ocp


@problem("two-input-regulator", "singular")
def two_input_regulator() -> Problem:
    """Two coupled carts, two forces without cost: each force has bang and singular arcs
    of its own.
    """
    ocp = Problem("two-input-regulator")
    ph = ocp.phase()
    ph.time(start=0, end=6)
    x, y = ph.state("x", start=1), ph.state("y", start=-0.5)
    v, w = ph.state("v", start=0), ph.state("w", start=0)
    f, g = ph.control("f", lower=-1, upper=1), ph.control("g", lower=-0.5, upper=0.5)
    ph.dynamics({x: v, y: w, v: f - (x - y), w: g + (x - y)})
    ocp.minimize(ph.integral(x**2 + y**2 + v**2 + w**2))
    return ocp


@problem("tumour", "singular", quick=True)
def tumour() -> Problem:
    """Tumour growth under anti-angiogenic treatment with a limited total dose (Ledzewicz &
    Schaettler 2007).
    """
    zeta, b, d, G, mu, dose, rate = 0.084, 5.85, 0.00873, 0.15, 0.02, 15, 75
    peak = ((b - mu) / d) ** 1.5
    ocp = Problem("tumour")
    ph = ocp.phase()
    ph.time(start=0, end=free(0.1, 10), unit="d")
    p = ph.state("p", start=peak / 2, lower=0.01, upper=peak)
    q = ph.state("q", start=peak / 4, lower=0.01, upper=peak)
    y = ph.state("y", start=0, lower=0, upper=dose)
    u = ph.control("u", lower=0, upper=rate)
    ph.dynamics({p: -zeta * p * log(p / q), q: q * (b - (mu + d * p ** (2 / 3) + G * u)), y: u})
    ocp.minimize(ph.final(p))
    return ocp
