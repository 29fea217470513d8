"""A hop that follows a table of measured angles (thesis on a bike-trial robot, 6.3 and 6.7).

The thesis draws the joints of a rider on 97 pictures of a film, 0.015 s apart, smooths the angles
by a moving mean of five, and has its simulation follow them by PD control. It does not print them.
The table beside this file is ours: angles of the least effort of a hop of 0.35 s in the air
(``daniel-hop``), on the same pictures, to 0.1 deg. A table of one's own has the columns t (s) and
front, ankle, knee, waist, elbow (deg), with that line of names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import pi
from pathlib import Path
from typing import Any

import casadi
import numpy as np
import scipy.optimize
from casadi import SX, fmax, fmin
from scipy.interpolate import make_interp_spline

from problems.bike.contacts import ElbowStop, OnWheels
from problems.bike.models import SEVEN_LINK, SevenLink, free_seven_link, seven_link
from problems.bike.pictures import seven_link_drawing
from problems.given_functions import names_in, table
from trajopt.errors import FileError
from trajopt.integrate import Dop853, simulate
from trajopt.parameters import settable, setting, setting_field
from trajopt.system import System, Variable

TABLE = Path(__file__).with_name("hop-angles.csv")
ANGLES = ("front", "ankle", "knee", "waist", "elbow")
FOLLOWED = ("knee", "waist", "elbow")
FINE = 4  # points of the interpolation for each picture


@dataclass(frozen=True)
class Measured:
    """Angles over time from a table, smoothed; (rad)."""

    path: str
    points: int  # of the moving mean, odd

    @cached_property
    def curves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times (k,), angles (k, 5) and their rates, on a finer grid by cubic interpolation."""
        if names_in(self.path) != ["t", *ANGLES]:
            raise FileError(
                f"'{self.path}' is not a table of angles",
                got=", ".join(names_in(self.path)),
                expected="t, " + ", ".join(ANGLES),
            )
        rows = table(self.path, 1 + len(ANGLES))
        t, angles = rows[:, 0], np.radians(rows[:, 1:])
        smooth = np.array([moving_mean(column, self.points) for column in angles.T]).T
        spline = make_interp_spline(t, smooth, k=3)
        fine = np.linspace(t[0], t[-1], FINE * (len(t) - 1) + 1)
        return fine, spline(fine), spline.derivative()(fine)

    def at(self, time: SX, name: str) -> tuple[SX, SX]:
        """An angle and its rate, linear between the points of the finer grid."""
        t, angles, rates = self.curves
        k = ANGLES.index(name)
        return tuple(  # type: ignore[return-value]
            casadi.pw_lin(time, t.tolist(), values[:, k].tolist()) for values in (angles, rates)
        )


def moving_mean(values: np.ndarray, points: int) -> np.ndarray:
    """The mean of an odd number of neighbours; fewer at the ends, always as many on both sides.

    >>> moving_mean(np.array([0.0, 0.0, 5.0, 0.0, 0.0]), 5).tolist()
    [0.0, 1.6666666666666667, 1.0, 1.6666666666666667, 0.0]
    """
    half, n = points // 2, len(values)
    return np.array(
        [values[k - w : k + w + 1].mean() for k in range(n) for w in [min(half, k, n - 1 - k)]]
    )


def measured_centre(measured: Measured, data: SevenLink = SEVEN_LINK) -> np.ndarray:
    """The mass centre by the angles of a table, from the rear wheel's contact or lowest point,
    (k, 2): equations (6-1) and (6-2).
    """
    machine = seven_link(data)
    q = machine.mechanism.q
    lowest = casadi.vertcat(-data.wheel_radius * q[0], 0)
    centre = casadi.Function("centre", [q], [machine.point("mass centre", q) - lowest])
    return np.array(centre(measured.curves[1][:, :4].T)).T


@dataclass(frozen=True)
class Followed:
    """Gains of Table 6-3 on angles and rates; the limits and the brake are ours."""

    knee_gains: tuple[float, float] = setting_field(
        (15000.0, 600.0), "N m/rad", "gains of the knee, on angle and rate (s)"
    )
    waist_gains: tuple[float, float] = setting_field(
        (3000.0, 300.0), "N m/rad", "gains of the waist, on angle and rate (s)"
    )
    elbow_gains: tuple[float, float] = setting_field(
        (15000.0, 650.0), "N m/rad", "gains of the elbow, on angle and rate (s)"
    )
    brake_gains: tuple[float, float] = setting_field(
        (3000.0, 60.0), "N m/rad", "gains of the brake, on angle and rate (s)"
    )
    limits: tuple[float, float, float] = setting_field(
        (250.0, 300.0, 100.0), "N m", "torque limits of knee, waist and elbow"
    )
    brake_limit: float = setting_field(200.0, "N m", "limit of the brake", 20, 1000)

    @property
    def joints(self) -> np.ndarray:
        """The gains of knee, waist and elbow, (3, 2)."""
        return np.array([self.knee_gains, self.waist_gains, self.elbow_gains])

    def with_joints(self, gains: np.ndarray) -> Followed:
        knee, waist, elbow = ((float(k), float(d)) for k, d in np.reshape(gains, (3, 2)))
        return replace(self, knee_gains=knee, waist_gains=waist, elbow_gains=elbow)


LAW = Followed()


@settable
def daniel_track(
    file=setting(str(TABLE), "", "table of angles: FILE.csv"),
    mean: int = setting(5, "", "points of the moving mean, odd", 1, 31),
    trials: int = setting(0, "", "simulations that fit the gains; 0: the gains as given", 0, 2000),
    friction=setting(0.9, "1", "friction of the rear tyre", 0.3, 1.5),
    law: Followed = LAW,
    data: SevenLink = SEVEN_LINK,
) -> System:
    """Knee, waist and elbow follow the table by the PD law of Table 6-3; the wheel is braked."""
    measured = Measured(file, int(mean))
    if trials:
        law = fitted(measured, law, friction, data, int(trials))
    return _following(measured, law, friction, data)


def fitted(
    measured: Measured, law: Followed, friction: float, data: SevenLink, trials: int
) -> Followed:
    """The law with the gains that follow the table best, by Nelder and Mead's method in their
    logarithms.
    """
    usual = law.joints.ravel()

    def error(logarithms: np.ndarray) -> float:
        gains = usual * np.exp(np.clip(logarithms, -3, 3))
        return following_error(_following(measured, law.with_joints(gains), friction, data))

    start = np.vstack([np.zeros(6), 0.5 * np.eye(6)])
    options = {"maxfev": trials, "initial_simplex": start, "xatol": 1e-3, "fatol": 1e-4}
    best = scipy.optimize.minimize(error, np.zeros(6), method="Nelder-Mead", options=options)
    return law.with_joints(usual * np.exp(np.clip(best.x, -3, 3)))


def following_error(system: System) -> float:
    """The root mean square of the errors of front, knee, waist and elbow along a run (deg); a run
    that ends early counts 90 deg for the rest.
    """
    run = simulate(system, Dop853(1e-6)).refined(500)
    errors = np.array([run[f"{name}_error"] for name in ("front", *FOLLOWED)])
    square = np.trapezoid((errors**2).mean(axis=0), run.t) + 8100 * (system.until - run.t[-1])
    return float(np.sqrt(square / system.until))


def _following(measured: Measured, law: Followed, friction: float, data: SevenLink) -> System:
    """The machine under the law."""
    machine = free_seven_link(data)
    m, time = machine.mechanism, SX.sym("t")
    q, v = m.q, m.v
    place = {c.name: c for c in m.coordinates}
    angles = {name: machine.seen(machine.posture.angles[name], q) for name in FOLLOWED}
    wanted = {name: measured.at(time, name) for name in ANGLES}
    wheel, beta = place["wheel"], place["beta"]
    start = {
        "beta" if name == "front" else name: float(measured.curves[1][0, k])
        for k, name in enumerate(ANGLES[:4])
    }
    turned = wheel.q + beta.q - start["beta"]
    stiffness, damping = law.brake_gains
    torques = [_clipped(-stiffness * turned - damping * (wheel.v + beta.v), law.brake_limit)]
    for name, limit, gains in zip(FOLLOWED, law.limits, law.joints, strict=True):
        (angle, rate), (stiffness, damping) = wanted[name], map(float, gains)
        joint = angles[name]
        error = stiffness * (angle - joint) + damping * (rate - casadi.jtimes(joint, q, v))
        torques.append(_clipped(error, limit))
    over = OnWheels.of(machine, data, friction, ElbowStop(0.007))
    climb = casadi.jtimes(machine.point("mass centre", q), q, v)
    outputs: dict[str, tuple[Any, str]] = {
        "clearance": (over.gap, "m"),
        "mass_centre_x_rate": (climb[0], "m/s"),
        "mass_centre_y_rate": (climb[1], "m/s"),
        "front_error": ((beta.q - wanted["front"][0]) * 180 / pi, "deg"),
        **{f"{n}_error": ((angles[n] - wanted[n][0]) * 180 / pi, "deg") for n in FOLLOWED},
        **{
            f"{name}_torque": (SX(torque), "N m")
            for name, torque in zip(("wheel", *FOLLOWED), torques, strict=True)
        },
        **{
            f"{name}_{what}": (SX(float(value)), unit)
            for name, row in zip(FOLLOWED, law.joints, strict=True)
            for value, what, unit in zip(
                row, ("stiffness", "damping"), ("N m/rad", "N m s/rad"), strict=True
            )
        },
    }
    return over.system(
        "daniel-track",
        casadi.vertcat(*torques),
        (SX.sym("stage"), Variable("stage", 0.0), ()),
        outputs,
        {"y": data.wheel_radius, **start},
        time=time,
        until=float(measured.curves[0][-1]),
        description="a hop that follows a table of angles",
        drawing=seven_link_drawing(data=data),
    )


def _clipped(torque: Any, limit: float) -> Any:
    return fmax(fmin(torque, limit), -limit)
