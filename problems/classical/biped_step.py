"""A step of a planar five-link biped with the least squared torques (Kelly 2017, section 6 of the
paper and its appendix).

Links: stance tibia, stance femur, torso, swing femur, swing tibia, with absolute angles q from the
vertical, counterclockwise. The stance foot is a joint without a motor. The step ends as the other
foot hits the ground and sticks; the first foot leaves without an impulse. The motion then repeats
with the legs exchanged.
"""

import casadi
import numpy as np
from casadi import DM, SX, cos, pi, sin

from trajopt import Problem, Reference
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Ground, Mark, Rod, Trail

TIBIA, FEMUR, TORSO = 0.4, 0.4, 0.625  # lengths, m
MASS = (3.2, 6.8, 20.0, 6.8, 3.2)  # kg; this and the rest: the robot RABBIT, Westervelt et al. 2003
INERTIA = (0.93, 1.08, 2.22, 1.08, 0.93)  # kg m^2, about the mass centres
BELOW_KNEE, BELOW_HIP = 0.128, 0.163  # mass centres of tibia and femur, m
JOINTS = ("stance knee", "stance hip", "swing hip", "swing knee")
LINKS = ("stance shin", "stance thigh", "torso", "swing thigh", "swing shin")
START = np.array([-0.3, 0.7, 0.0, -0.5, -0.6])  # the guess of the source

REFERENCE = Reference(
    origin="own",
    objective=390.790538171,
    tolerance=1e-6,
    structure="smooth; no limit is active, the stance knee comes within 0.0003 rad of its own",
    source="collocation and shooting; statement of Kelly, SIAM Review 59 (2017) 849, section 6",
)


def arms(torso_centre: float) -> tuple[np.ndarray, np.ndarray]:
    """Mass centres and swing foot as sums of ``arms[k, j] * (-sin q[j], cos q[j])``: (5, 5) and
    (5,).
    """
    hip = [TIBIA, FEMUR]
    centres = [
        [TIBIA - BELOW_KNEE, 0, 0, 0, 0],
        [TIBIA, FEMUR - BELOW_HIP, 0, 0, 0],
        [*hip, torso_centre, 0, 0],
        [*hip, 0, -BELOW_HIP, 0],
        [*hip, 0, -FEMUR, -BELOW_KNEE],
    ]
    return np.array(centres), np.array([*hip, 0, -FEMUR, -TIBIA])


def inertia(a: np.ndarray, b: np.ndarray, q: SX) -> SX:
    """The matrix of angular momentum about two points of reference: sum over links of m a_i b_j
    cos(q_i - q_j).
    """
    return DM(a.T @ np.diag(MASS) @ b + np.diag(INERTIA)) * cos(differences(q))


def differences(q: SX) -> SX:
    """(5, 5) q_i - q_j."""
    return casadi.repmat(q, 1, 5) - casadi.repmat(q.T, 5, 1)


def acceleration(q: SX, v: SX, torques: SX, a: np.ndarray, g: float) -> SX:
    """Lagrange's equations in absolute angles; ``torques`` (4,) act between neighbours, so that
    link i feels u_i - u_(i+1).
    """
    u = casadi.vertcat(0, torques, 0)
    centrifugal = DM(a.T @ np.diag(MASS) @ a) * sin(differences(q))
    weight = g * DM(a.T @ np.array(MASS)) * sin(q)
    return casadi.solve(inertia(a, a, q), u[:5] - u[1:] - centrifugal @ v**2 + weight)


def exchanged(links: SX) -> SX:
    """The same with the legs exchanged."""
    return casadi.vertcat(*[links[4 - i] for i in range(5)])


@settable
def build(
    length=setting(0.5, "m", "length of the step", 0.01),
    duration=setting(0.7, "s", "time of the step", 0.1),
    torque=setting(100.0, "N m", "largest torque of a motor", 0),
    torso_centre=setting(0.2, "m", "mass centre of the torso above the hip", 0),
    g=setting(9.81, "m/s^2", "acceleration of free fall"),
) -> Problem:
    a, foot = arms(torso_centre)
    ocp = Problem("biped-step")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    turn = START[::-1] - START
    q = ph.state(
        "q",
        components=LINKS,
        lower=-pi / 2,
        upper=pi / 2,
        guess=lambda tau: START + turn * tau,
        unit="rad",
    )
    v = ph.state("v", components=LINKS, lower=-10, upper=10, guess=turn / duration, unit="rad/s")
    u = ph.control("u", components=JOINTS, lower=-torque, upper=torque, guess=0, unit="N m")
    ph.dynamics({q: v, v: acceleration(q, v, u, a, g)})
    ph.path(q[1] - q[0], lower=0, name="stance knee", unit="rad")
    ph.path(q[3] - q[4], lower=0, name="swing knee", unit="rad")
    # Impact: impulses act at the new stance foot only, so the momenta about it and about each joint
    # further up are kept.
    before, after = inertia(a - foot, a, q) @ v, inertia(a, a, q) @ v
    ocp.require(ph.initial(q) - exchanged(ph.final(q)), equals=0, name="legs exchanged")
    ocp.require(ph.initial(after) - exchanged(ph.final(before)), equals=0, name="impact")
    height, rising = casadi.dot(DM(foot), cos(q)), -casadi.dot(DM(foot), sin(q) * v)
    ocp.require(ph.final(-casadi.dot(DM(foot), sin(q))), equals=length, name="step length")
    ocp.require(ph.final(height), equals=0, name="ground")
    ocp.require(ph.initial(rising), lower=0, name="lift-off")
    ocp.require(ph.final(rising), upper=0, name="touch-down")
    ocp.minimize(ph.integral(casadi.sumsqr(u)))
    return ocp


def drawing(length=0.5) -> Drawing:
    q = SX.sym("q", 5)
    points = [(SX(0), SX(0))]
    for angle, arm, origin in (
        (0, TIBIA, 0),
        (1, FEMUR, 1),
        (2, TORSO, 2),
        (3, -FEMUR, 2),
        (4, -TIBIA, 4),
    ):
        x, y = points[origin]
        points.append((x - arm * sin(q[angle]), y + arm * cos(q[angle])))
    ankle, knee, hip, head, other_knee, other_ankle = points
    ground = Ground(((-length - 0.3, 0.0), (length + 0.3, 0.0)))
    legs = (
        Rod((hip, other_knee, other_ankle), 1, 5),
        Rod((ankle, knee, hip), 0, 5),
        Rod((hip, head), 2, 7),
    )
    return Drawing((ground, Trail(other_ankle), *legs, Mark(hip, 9)))
