"""The exoskeleton follows a squat of its wearer with the least effort of its own."""

from casadi import cos, jtimes, pi, sumsqr, vertcat

from problems.exoskeleton.assistance import VERTICAL, movement
from problems.exoskeleton.pictures import assisted_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem, Reference

REFERENCE = Reference(objective=0.555516781, tolerance=1e-6, source="this repository, meshes to errors of 1e-6 and of 1e-7")


def build(duration=2.0, depth=0.5, deviation=0.03, stiffness=40.0) -> Problem:
    """A squat ``depth`` rad deep, followed to ``deviation`` rad (root mean square over leg and body).

    The wearer's joints pull towards the wearer's own movement with ``stiffness`` (N m/rad), and a tenth of it as damping.
    """

    def wanted(t):
        bend = depth * (1 - cos(2 * pi * t / duration)) / 2
        return {"psi1": VERTICAL - bend, "psi2": VERTICAL + bend}

    def wearer(t, q, v):
        pull = {n: stiffness * (aim - q[n]) + stiffness / 10 * (jtimes(aim, t, 1) - v[n]) for n, aim in wanted(t).items()}
        return pull["psi1"] + pull["psi2"], pull["psi2"]  # the ankle carries the hip's reaction too

    rest = {"psi1": VERTICAL, "psi2": VERTICAL, "q8": 0.3, "q9": 0.3}
    squat = movement("exoskeleton-assist", duration, rest, rest, wearer)
    missed = sumsqr(vertcat(*[squat.places[n] - aim for n, aim in wanted(squat.time).items()]))
    squat.problem.require(
        squat.phase.integral(missed) / duration, upper=deviation**2, name="mean square deviation from the wearer"
    )
    squat.problem.minimize(squat.effort())
    return squat.problem
