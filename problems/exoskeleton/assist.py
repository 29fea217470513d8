"""The exoskeleton follows a squat of its wearer with the least effort of its own."""

from casadi import cos, jtimes, pi, sumsqr, vertcat

from problems.exoskeleton.assistance import DRIVES, Drives, movement
from problems.exoskeleton.model import THREE_LINK, ThreeLink
from problems.exoskeleton.pictures import assisted_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=0.555516781,
    tolerance=1e-6,
    source="this repository, meshes to errors of 1e-6 and of 1e-7",
)


@settable
def build(
    duration=setting(2.0, "s", "how long the squat takes", 0.1, 60),
    depth=setting(0.5, "rad", "how far leg and body lean at the lowest point", 0, 1),
    deviation=setting(
        0.03,
        "rad",
        "allowed deviation from the wearer, root mean square over leg and body",
        1e-6,
        1,
    ),
    stiffness=setting(
        40.0, "N m/rad", "of the wearer's joints towards the wearer's own movement", 0, 1e4
    ),
    damping=setting(4.0, "N m s/rad", "of the wearer's joints", 0, 1e3),
    data: ThreeLink = THREE_LINK,
    drives: Drives = DRIVES,
) -> Problem:
    """A squat ``depth`` rad deep, followed to ``deviation`` rad by the exoskeleton's own drives."""
    vertical = pi / 2 - data.incline

    def wanted(t):
        bend = depth * (1 - cos(2 * pi * t / duration)) / 2
        return {"psi1": vertical - bend, "psi2": vertical + bend}

    def wearer(t, q, v):
        pull = {
            n: stiffness * (aim - q[n]) + damping * (jtimes(aim, t, 1) - v[n])
            for n, aim in wanted(t).items()
        }
        return pull["psi1"] + pull["psi2"], pull["psi2"]  # the ankle carries the hip's reaction too

    rest = {"psi1": vertical, "psi2": vertical, "q8": 0.3, "q9": 0.3}
    squat = movement("exoskeleton-assist", duration, (rest, rest), data, drives, wearer)
    missed = sumsqr(vertcat(*[squat.places[n] - aim for n, aim in wanted(squat.time).items()]))
    squat.problem.require(
        squat.phase.integral(missed) / duration,
        upper=deviation**2,
        name="mean square deviation from the wearer",
    )
    squat.problem.minimize(squat.effort())
    return squat.problem
