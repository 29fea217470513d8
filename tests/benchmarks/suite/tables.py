"""Models with measured data given by tables."""

from math import pi

import casadi
import numpy as np
from casadi import cos, sin

from trajopt import Problem, free, table

from .entry import problem


@problem("wind-table", "tables", quick=True)
def wind_table() -> Problem:
    """The quickest flight through a wind that is given by a table of two coordinates (Zermelo)."""
    x_grid, y_grid = np.linspace(-1, 11, 9), np.linspace(-4, 4, 7)
    xx, yy = np.meshgrid(x_grid, y_grid, indexing="ij")
    east = table(x_grid, y_grid, values=0.5 * np.sin(0.8 * yy) * np.cos(0.3 * xx), name="east")
    north = table(x_grid, y_grid, values=0.4 * np.sin(0.6 * xx) + 0.1 * yy * 0.2, name="north")
    ocp = Problem("wind-table", symbols=casadi.MX)
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 60))
    x, y = ph.state("x", start=0, end=10), ph.state("y", start=0, end=0)
    heading = ph.control("heading", lower=-pi, upper=pi)
    ph.dynamics({x: cos(heading) + east(x, y), y: sin(heading) + north(x, y)})
    ocp.minimize(ph.final(t))
    return ocp


@problem("flight-through-wind", "tables", quick=True)
def flight_through_wind() -> Problem:
    """An aircraft of limited turn rate through a tabulated jet stream: least effort of steering and
    thrust in a fixed time.
    """
    altitude = np.array([0.0, 1, 2, 3, 4, 5, 6, 7])
    speed = np.array([0.0, 0.02, 0.1, 0.35, 0.6, 0.35, 0.1, 0.05])
    wind = table(altitude, values=speed, name="wind")
    ocp = Problem("flight-through-wind", symbols=casadi.MX)
    ph = ocp.phase()
    ph.time(start=0, end=12)
    x, z = ph.state("x", start=0, end=14), ph.state("z", start=0.5, end=0.5, lower=0, upper=7)
    climb = ph.state("climb", start=0, end=0, lower=-0.8, upper=0.8)
    v = ph.state("v", start=1, end=1, lower=0.5, upper=1.5)
    lift, thrust = ph.control("lift", lower=-1, upper=1), ph.control("thrust", lower=0, upper=1)
    ph.dynamics({
        x: v * cos(climb) + wind(z), z: v * sin(climb), climb: lift,
        v: thrust - 0.1 * v**2 - 0.1 * lift**2 - 0.2 * sin(climb),
    })  # fmt: skip
    ocp.minimize(ph.integral(thrust**2 + 0.1 * lift**2))
    return ocp


@problem("train-on-hills", "tables")
def train_on_hills() -> Problem:
    """A train over a line whose gradient is tabulated, in a given time with
    least traction energy.
    """
    place = np.linspace(0, 10, 11)
    gradient = np.array([0.0, 0.0, 0.08, 0.08, 0.0, -0.1, -0.1, 0.0, 0.06, 0.0, 0.0])
    slope = table(place, values=gradient, name="slope")
    ocp = Problem("train-on-hills", symbols=casadi.MX)
    ph = ocp.phase()
    ph.time(start=0, end=12)
    x, v = ph.state("x", start=0, end=10), ph.state("v", start=0.3, end=0.3, lower=0.1, upper=1.2)
    traction = ph.control("traction", lower=0, upper=0.5)
    brake = ph.control("brake", lower=0, upper=0.5)
    ph.dynamics({x: v, v: traction - brake - 0.03 - 0.06 * v**2 - slope(x)})
    ocp.minimize(ph.integral(traction * v))
    return ocp


@problem("engine-map", "tables")
def engine_map() -> Problem:
    """A launch to a height with a thrust that is tabulated over speed and height: the quickest
    climb of a jet.
    """
    mach, height = np.linspace(0, 2, 6), np.linspace(0, 2, 5)
    mm, hh = np.meshgrid(mach, height, indexing="ij")
    thrust = table(
        mach, height, values=(0.7 + 0.35 * mm - 0.08 * mm**2) * np.exp(-0.45 * hh), name="thrust"
    )
    ocp = Problem("engine-map", symbols=casadi.MX)
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.5, 30))
    h = ph.state("h", start=0, end=1.6, lower=0)
    v = ph.state("v", start=0.5, end=1.2, lower=0.2, upper=2)
    climb = ph.state("climb", start=0, end=0, lower=-1, upper=1.2)
    lift = ph.control("lift", lower=-1, upper=2)
    ph.dynamics({
        h: v * sin(climb), climb: (lift - cos(climb)) / v,
        v: thrust(v, h) - sin(climb) - 0.15 * v**2 * casadi.exp(-0.6 * h) - 0.1 * lift**2,
    })  # fmt: skip
    ocp.minimize(ph.final(t))
    return ocp
