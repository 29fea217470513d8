"""Infinitely many switches, controls that jump between minima of H, and problems without an
optimum.
"""

from trajopt import Problem

from .entry import problem


@problem("fuller", "chattering")
def fuller() -> Problem:
    """A double integrator regulated in its position: infinitely many switches in a finite time
    (Fuller 1963).
    """
    ocp = Problem("fuller")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x, v = ph.state("x", start=1), ph.state("v", start=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(x**2))
    return ocp


@problem("fuller-to-rest", "chattering")
def fuller_to_rest() -> Problem:
    """Fuller's problem with an initial speed and a fixed end at rest."""
    ocp = Problem("fuller-to-rest")
    ph = ocp.phase()
    ph.time(start=0, end=8)
    x, v = ph.state("x", start=1, end=0), ph.state("v", start=1, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(x**2))
    return ocp


@problem("two-wells", "jumping control", quick=True)
def two_wells() -> Problem:
    """H has two wells in u that exchange roles once: the control jumps although H is not affine in
    it.
    """
    ocp = Problem("two-wells")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x = ph.state("x", start=0.3)
    u = ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral((u**2 - 1) ** 2 + 2 * (t - 0.5) * u) + ph.final(x) ** 2 / 2)
    return ocp


@problem("wells-of-a-motor", "jumping control", quick=True)
def wells_of_a_motor() -> Problem:
    """A motor with two efficient forces excites an oscillator: the force jumps twice between wells
    of H and is never affine.
    """
    ocp = Problem("wells-of-a-motor")
    ph = ocp.phase()
    ph.time(start=0, end=8)
    x, v = ph.state("x", start=1), ph.state("v", start=0)
    u = ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: v, v: -x + u})
    ocp.minimize(ph.integral(0.05 * (u**2 - 1) ** 2) - 0.1 * ph.final(x))
    return ocp


@problem("bolza", "no optimum")
def bolza() -> Problem:
    """Bolza's double well: the infimum is approached by ever faster switching between u = 1 and u =
    -1.
    """
    ocp = Problem("bolza")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=0.5)
    u = ph.control("u", lower=-3, upper=3)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(x**2 + (u**2 - 1) ** 2))
    return ocp


def bolza_relaxed() -> Problem:
    """The relaxation of Bolza's double well, a mixture of two controls; ``independent.py`` solves
    it for the reference.
    """
    ocp = Problem("bolza-relaxed")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=0.5)
    a, b = ph.control("a", lower=-3, upper=3), ph.control("b", lower=-3, upper=3)
    share = ph.control("share", lower=0, upper=1)
    ph.dynamics({x: share * a + (1 - share) * b})
    ocp.minimize(ph.integral(x**2 + share * (a**2 - 1) ** 2 + (1 - share) * (b**2 - 1) ** 2))
    return ocp
