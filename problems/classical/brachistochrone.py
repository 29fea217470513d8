"""The brachistochrone: the fastest slide between two points under gravity."""

from casadi import SX, cos, pi, sin

from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Ground, Mark, Trail

REFERENCE = Reference(
    objective=1.80160312245,
    tolerance=1e-8,
    costates={"x": -0.099287697, "y": -0.018415082, "v": -0.10197163},
    source="cycloid through the two points (Bernoulli); OpenMDAO/dymos example: 1.8016",
)


@settable
def build(
    target=setting((10.0, 5.0), "m", "where the slide ends: to the right, below the start"),
    height=setting(10.0, "m", "height of the start"),
    g=setting(9.80665, "m/s^2", "acceleration of free fall", 1e-6),
) -> Problem:
    ocp = Problem("brachistochrone")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 10))
    x = ph.state("x", start=0, end=target[0], unit="m")
    y = ph.state("y", start=height, end=target[1], unit="m")
    v = ph.state("v", start=0, unit="m/s")
    theta = ph.control("theta", lower=0, upper=pi, unit="rad")
    ph.dynamics({x: v * sin(theta), y: -v * cos(theta), v: g * cos(theta)})
    ocp.minimize(ph.final(t))
    return ocp


def drawing(target=(10.0, 5.0), height=10.0) -> Drawing:
    bead = (SX.sym("x"), SX.sym("y"))
    return Drawing(
        (
            Ground(((0.0, height), tuple(target))),
            Trail(bead),
            Mark((0.0, height), 6, 0),
            Mark(target, 6, 0),
            Mark(bead, 12),
        )
    )
