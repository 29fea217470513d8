"""A two-legged exoskeleton of seven links takes a step, rest to rest, with the least torque: trunk, thighs, shanks and feet."""

from casadi import sum1, sumsqr

from problems.exoskeleton.pictures import two_legged_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem, Reference
from trajopt.mechanics import Coordinate, Quantity, Slide, Tree, Turn, rod
from trajopt.parameters import settable, setting

REFERENCE = Reference(objective=0.146138123, tolerance=1e-6, source="this repository, meshes to errors of 1e-6 and of 1e-7")
PI = 3.141592653589793
JOINTS = {"ankle": 60, "knee": 150, "hip": 150, "swing hip": 150, "swing knee": 150, "swing ankle": 60}  # limits (N m)


def legs(q: list[Coordinate]) -> Tree:
    links = (
        rod("foot", "ground", (), 1.5, 0.2),
        rod("shank", "foot", (Slide("y", 0.08), Turn("z", PI / 2), Turn("z", q[0])), 4, 0.43),
        rod("thigh", "shank", (Slide("x", 0.43), Turn("z", q[1])), 8, 0.43),
        rod("trunk", "thigh", (Slide("x", 0.43), Turn("z", q[2])), 35, 0.6),
        rod("swing thigh", "trunk", (Turn("z", PI), Turn("z", q[3])), 8, 0.43),
        rod("swing shank", "swing thigh", (Slide("x", 0.43), Turn("z", q[4])), 4, 0.43),
        rod("swing foot", "swing shank", (Slide("x", 0.43), Turn("z", PI / 2), Turn("z", q[5])), 1.5, 0.2),
    )
    return Tree("two-legged", links, gravity=(0, -9.81, 0))


@settable
def build(
    duration=setting(0.8, "s", "time of the step", 0.1, 10),
    stride=setting(0.35, "m", "from foot to foot", 0.05, 1),
    clearance=setting(0.02, "m", "of the swinging ankle at mid-step", 0, 0.3),
) -> Problem:
    q, torque = [Coordinate(name, unit="rad") for name in JOINTS], [Quantity(f"{name} torque") for name in JOINTS]
    tree = legs(q)
    model = tree.mechanism({c.name: u.symbol for c, u in zip(q, torque, strict=True)}, controls=torque)
    ocp = Problem("two-legged")
    ph, limits = ocp.phase(), list(JOINTS.values())
    ph.time(start=0, end=duration)
    ranges = {"lower": [-1, 0.1, -1, -1, -1.5, -1], "upper": [1, 1.5, 1, 1, -0.1, 1], "guess": [-0.1, 0.3, -0.2, 0.2, -0.4, 0.2]}
    angle, rate = ph.state("angle", 6, unit="rad", **ranges), ph.state("rate", 6, start=[0] * 6, end=[0] * 6, unit="rad/s")
    u = ph.control("torque", 6, lower=[-x for x in limits], upper=limits, guess=[0] * 6, unit="N m")
    ph.dynamics({angle: rate, rate: model.acceleration(angle, rate, u)})
    ankle = model.evaluate(tree.point("swing foot"), angle, rate)  # of the swinging leg: flat where the angles add to zero
    ph.path(ankle[1] - clearance * (1 - (ankle[0] / stride) ** 2), lower=0.079, name="foot over the ground")
    ocp.require([ph.initial(ankle[:2]), ph.initial(sum1(angle))], equals=[-stride, 0.08, 0], name="step begins")
    ocp.require([ph.final(ankle[:2]), ph.final(sum1(angle))], equals=[stride, 0.08, 0], name="step ends")
    ocp.minimize(ph.integral(sumsqr(u / limits)))
    return ocp
