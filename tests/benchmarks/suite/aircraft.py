"""Aircraft, gliders and re-entry."""

from math import pi

from casadi import cos, exp, sin, sqrt

from trajopt import Problem, free

from .entry import problem


@problem("hang-glider", "aircraft")
def hang_glider() -> Problem:
    """The longest flight of a hang glider through a thermal (Bulirsch et al. 1993, COPS)."""
    ocp = Problem("hang-glider")
    ph = ocp.phase()
    ph.time(start=0, end=free(10, 200))
    x = ph.state("x", start=0, lower=0, unit="m")
    y = ph.state("y", start=1000, end=900, lower=0, unit="m")
    v = ph.state("v", start=13.227567500, end=13.227567500, lower=0)
    w = ph.state("w", start=-1.2875005200, end=-1.2875005200)
    lift = ph.control("lift", lower=0, upper=1.4)
    area, density, mass, g = 14.0, 1.13, 100.0, 9.81
    r = (x / 100 - 2.5) ** 2
    up = 2.5 * (1 - r) * exp(-r)
    relative = w - up
    speed = sqrt(v**2 + relative**2)
    L = lift * density * area * speed / 2
    D = (0.034 + 0.069662 * lift**2) * density * area * speed / 2
    ph.dynamics(
        {x: v, y: w, v: (-L * relative - D * v) / mass, w: (L * v - D * relative) / mass - g}
    )
    ocp.maximize(ph.final(x))
    return ocp


@problem("shuttle-reentry", "aircraft")
def shuttle_reentry() -> Problem:
    """The largest cross range of the Space Shuttle's re-entry (Betts 2010; units of feet, slugs and
    seconds).
    """
    ocp = Problem("shuttle-reentry")
    ph = ocp.phase()
    ph.time(start=0, end=free(500, 4000))
    deg = pi / 180
    h = ph.state("h", start=260000, end=80000, lower=0, unit="ft")
    latitude = ph.state("latitude", start=0, lower=-1.5, upper=1.5)
    v = ph.state("v", start=25600, end=2500, lower=1, unit="ft/s")
    gamma = ph.state("gamma", start=-deg, end=-5 * deg, lower=-1.5, upper=1.5)
    psi = ph.state("psi", start=pi / 2)
    alpha = ph.control("alpha", lower=-pi / 2, upper=pi / 2)
    bank = ph.control("bank", lower=-pi / 2, upper=deg)
    Re, mu, S, mass = 20902900, 0.14076539e17, 2690, 203000 / 32.174
    r = Re + h
    a = alpha / deg
    lift, drag = -0.20704 + 0.029244 * a, 0.07854 - 0.0061592 * a + 0.621408e-3 * a**2
    pressure = 0.002378 * exp(-h / 23800) * v**2 / 2 * S / mass
    L, D, g = lift * pressure, drag * pressure, mu / r**2
    ph.dynamics(
        {
            h: v * sin(gamma),
            latitude: v / r * cos(gamma) * cos(psi),
            v: -D - g * sin(gamma),
            gamma: L / v * cos(bank) + cos(gamma) * (v / r - g / v),
            psi: L * sin(bank) / (v * cos(gamma))
            + v / (r * cos(latitude)) * cos(gamma) * sin(psi) * sin(latitude),
        }
    )
    ocp.maximize(ph.final(latitude) / deg)
    return ocp


@problem("attitude-limits", "aircraft")
def attitude_limits() -> Problem:
    """The quickest climbing turn onto a parallel course; bank, climb angle and their rates are
    limited.
    """
    ocp = Problem("attitude-limits")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 60))
    x = ph.state("x", start=0, end=6)
    y = ph.state("y", start=0, end=4)
    z = ph.state("z", start=0, end=1)
    heading = ph.state("heading", start=0, end=0)
    climb = ph.state("climb", start=0, end=0, lower=-0.35, upper=0.35)
    bank = ph.state("bank", start=0, end=0, lower=-0.7, upper=0.7)
    roll = ph.control("roll", lower=-0.6, upper=0.6)
    pitch = ph.control("pitch", lower=-0.3, upper=0.3)
    ph.dynamics({
        x: cos(climb) * cos(heading), y: cos(climb) * sin(heading), z: sin(climb),
        heading: sin(bank) / cos(bank), climb: pitch, bank: roll,
    })  # fmt: skip
    ocp.minimize(ph.final(t))
    return ocp


@problem("stall-recovery", "aircraft", quick=True)
def stall_recovery() -> Problem:
    """An aircraft beyond the stall in a steep dive returns to level flight with the least loss of
    height.
    """
    ocp = Problem("stall-recovery")
    ph = ocp.phase()
    ph.time(start=0, end=free(0.5, 30))
    h, v = ph.state("h", start=0), ph.state("v", start=0.6, lower=0.3)
    gamma = ph.state("gamma", start=-0.9, end=0, lower=-1.5, upper=0)
    alpha = ph.state("alpha", start=0.5, lower=-0.2, upper=0.6)
    rate = ph.control("rate", lower=-0.5, upper=0.5)
    thrust = ph.control("thrust", lower=0, upper=0.3)
    # Lift rises with the angle of attack to a maximum near 0.26 and falls beyond.
    lift = 4.5 * alpha * exp(-((alpha / 0.37) ** 2)) * v**2
    drag = (0.05 + 1.2 * alpha**2) * v**2
    ph.dynamics({
        h: v * sin(gamma), v: thrust * cos(alpha) - drag - sin(gamma),
        gamma: (lift + thrust * sin(alpha) - cos(gamma)) / v, alpha: rate,
    })  # fmt: skip
    ocp.maximize(ph.final(h))
    return ocp


@problem("dynamic-soaring", "aircraft")
def dynamic_soaring() -> Problem:
    """The least wind gradient in which a glider can soar in a closed cycle (Zhao 2004; feet and
    seconds).
    """
    ocp = Problem("dynamic-soaring")
    ph = ocp.phase()
    ph.time(start=0, end=free(10, 30))
    beta = ocp.variable("beta", lower=0.005, upper=0.15)
    x = ph.state("x", start=0, end=0, lower=-1000, upper=1000)
    y = ph.state("y", start=0, end=0, lower=-1000, upper=1000)
    z = ph.state("z", start=0, end=0, lower=0, upper=1000)
    v = ph.state("v", lower=10, upper=350)
    gamma, psi = ph.state("gamma", lower=-1.3, upper=1.3), ph.state("psi", lower=-8, upper=1)
    lift, bank = ph.control("lift", lower=0, upper=1.5), ph.control("bank", lower=-1.3, upper=0.1)
    rho, S, mass, g = 0.002378, 45.09703, 5.6, 32.2
    q = rho * S * v**2 / (2 * mass)
    L, D = q * lift, q * (0.00873 + 0.045 * lift**2)
    wind, shear = beta * z, beta * v * sin(gamma)
    ph.dynamics({
        x: v * cos(gamma) * sin(psi) + wind, y: v * cos(gamma) * cos(psi), z: v * sin(gamma),
        v: -D - g * sin(gamma) - shear * cos(gamma) * sin(psi),
        gamma: (L * cos(bank) - g * cos(gamma) + shear * sin(gamma) * sin(psi)) / v,
        psi: (L * sin(bank) - shear * cos(psi)) / (v * cos(gamma)),
    })  # fmt: skip
    ph.path(lift * q / g, lower=-2, upper=5, name="load factor")
    ocp.require(ph.final(v) - ph.initial(v), equals=0)
    ocp.require(ph.final(gamma) - ph.initial(gamma), equals=0)
    ocp.require(ph.final(psi) + 2 * pi - ph.initial(psi), equals=0)
    ocp.minimize(beta)
    return ocp
