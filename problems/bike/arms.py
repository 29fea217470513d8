"""The front wheel held up by pushing and pulling the handlebar: the thesis' third means (5.1).

The force of the arms is internal. On a rear wheel that rolls freely it can hardly move the front:
the motion has an unstable rate of 7.1256 1/s and a zero at 7.1237 1/s. On a braked wheel it moves
the rider over the contact, and balances. The gains are those of a linear-quadratic regulator about
the balanced posture; the thesis names the means and computes nothing.
"""

from __future__ import annotations

from math import pi, radians

import casadi
import numpy as np
import scipy.linalg
from casadi import SX, fmax, fmin

from problems.bike.analyses import balanced_wheelie
from problems.bike.contacts import ElbowStop, OnWheels
from problems.bike.models import FIVE_LINK, FiveLink, five_link, free_five_link
from problems.bike.pictures import five_link_drawing
from trajopt.parameters import settable, setting
from trajopt.system import System, Variable

WEIGHTS = np.diag([100.0, 10.0, 1.0, 1.0])  # of beta, torso (rad) and their rates (rad/s)
BRAKE = (3000.0, 60.0)  # N m/rad, N m s/rad


@settable
def wheelie_arms(
    data: FiveLink = FIVE_LINK,
    rise=setting(30.0, "deg", "rise of the front that is held", 20, 35),
    offset=setting(1.0, "deg", "how far the front is from it at the start", -3, 3),
    force_weight=setting(1e-3, "1/N^2", "weight of the arms' force beside the angles", 1e-4, 1),
    limit=setting(300.0, "N", "limit of the arms' force", 1, 2000),
    friction=setting(0.8, "1", "friction of the rear tyre", 0.3, 1.5),
    until=setting(3.0, "s", "duration of the run", 0.1, 20),
) -> System:
    """On the braked rear wheel, arms that push and pull bring the front back to its rise."""
    machine = free_five_link(data)
    m = machine.mechanism
    place = {c.name: c for c in m.coordinates}
    beta, torso, wheel = place["beta"], place["torso"], place["wheel"]
    balance = balanced_wheelie(rise, data).angles
    steady, gains = regulator(data, balance, force_weight)
    state = casadi.vertcat(beta.q - balance["beta"], torso.q - balance["torso"], beta.v, torso.v)
    force = fmax(fmin(steady - casadi.dot(casadi.DM(gains), state), limit), -limit)
    begin = {"y": data.wheel_radius, "beta": balance["beta"] + radians(offset)}
    begin["torso"] = balance["torso"]
    # The brake holds the wheel to the bicycle.
    slipped = wheel.q + beta.q - begin["beta"]
    brake = -BRAKE[0] * slipped - BRAKE[1] * (wheel.v + beta.v)
    over = OnWheels.of(machine, data, friction, ElbowStop())
    elbow = machine.seen(machine.posture.angles["elbow"], m.q)
    lever = data.upper_arm.length * data.forearm.length * casadi.sin(-elbow) / over.reach
    return over.system(
        "wheelie-arms",
        casadi.vertcat(brake, 0.0),
        (SX.sym("stage"), Variable("stage", 0.0), ()),
        {
            "arm_force": (SX(force), "N"),
            "elbow_torque": (SX(force * lever), "N m"),
            "brake_torque": (SX(brake), "N m"),
            "rise": (beta.q * 180 / pi, "deg"),
        },
        begin,
        arm_force=force,
        until=until,
        description="a wheelie on the braked wheel, held by the arms",
        drawing=five_link_drawing(data=data),
    )


def regulator(
    data: FiveLink, balance: dict[str, float], force_weight: float
) -> tuple[float, np.ndarray]:
    """The force that holds the balanced posture, and the gains (4,) on beta, torso and their rates,
    on a wheel that turns with the bicycle: x = -R beta.
    """
    machine = five_link(data)
    m, F = machine.mechanism, SX.sym("F")
    y, rates = SX.sym("y", 2), SX.sym("rates", 2)
    T = casadi.DM([[-data.wheel_radius, 0], [1, 0], [0, 1]])
    lever = casadi.gradient(machine.seen(machine.posture.reach, m.q), m.q)
    terms = (T.T @ m.equations.mass @ T, T.T @ m.equations.bias, T.T @ lever)
    M, bias, arm = casadi.substitute(
        list(terms), [casadi.vertcat(m.q, m.v)], [casadi.vertcat(T @ y, T @ rates)]
    )
    acceleration = casadi.solve(M, -F * arm - bias)
    slopes = casadi.Function(
        "slopes",
        [y, rates, F],
        [
            casadi.jacobian(acceleration, casadi.vertcat(y, rates)),
            casadi.jacobian(acceleration, F),
            arm,
            bias,
        ],
    )
    at = [balance["beta"], balance["torso"]]
    pull, load = (np.array(value).ravel() for value in slopes(at, [0, 0], 0.0)[2:])
    steady = float(-load[1] / pull[1])
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    A[:2, 2:] = np.eye(2)
    A[2:], B[2:] = (np.array(value) for value in slopes(at, [0, 0], steady)[:2])
    P = scipy.linalg.solve_continuous_are(A, B, WEIGHTS, [[force_weight]])
    return steady, (B.T @ P / force_weight).ravel()
