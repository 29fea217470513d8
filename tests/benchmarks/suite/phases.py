"""Several phases joined by ``connect``."""

from casadi import SX, cos, exp, sin, solve

from trajopt import Problem, free

from .entry import problem


@problem("two-phase-manipulator", "phases")
def two_phase_manipulator() -> Problem:
    """A two-link arm carries a load and returns without it in least time; torques and rates are
    limited.
    """
    ocp = Problem("two-phase-manipulator")
    phases = []
    for name, load, start, end in (
        ("carry", 1.0, (0.0, 1.0), (1.5, -0.5)),
        ("return", 0.0, (1.5, -0.5), (0.0, 1.0)),
    ):
        ph = ocp.phase(name)
        t = ph.time(start=0 if not phases else free(0, 20), end=free(0.1, 40))
        q = [ph.state(f"q{i}", start=start[i], end=end[i]) for i in range(2)]
        w = [ph.state(f"w{i}", start=0, end=0, lower=-2.5, upper=2.5) for i in range(2)]
        u = [ph.control("shoulder", lower=-10, upper=10), ph.control("elbow", lower=-5, upper=5)]
        b, c = 1 / 3 + load, 1 / 2 + load
        a = 4 / 3 + b
        a += load
        M = SX(2, 2)
        M[0, 0], M[0, 1], M[1, 0], M[1, 1] = (
            a + 2 * c * cos(q[1]),
            b + c * cos(q[1]),
            b + c * cos(q[1]),
            b,
        )
        right = SX(2, 1)
        right[0] = u[0] + c * sin(q[1]) * (2 * w[0] * w[1] + w[1] ** 2)
        right[1] = u[1] - c * sin(q[1]) * w[0] ** 2
        rates = solve(M, right)
        ph.dynamics({q[0]: w[0], q[1]: w[1], w[0]: rates[0], w[1]: rates[1]})
        phases.append((ph, t))
    ocp.connect(phases[0][0], phases[1][0])
    ocp.minimize(phases[1][0].final(phases[1][1]))
    return ocp


@problem("train-three-limits", "phases")
def train_three_limits() -> Problem:
    """A train over three sections with their own speed limits in a given time with least traction
    energy.
    """
    ocp = Problem("train-three-limits")
    before, cost = None, 0
    for i, limit in enumerate((20.0, 12.0, 25.0)):
        ph = ocp.phase(f"section {i + 1}")
        ph.time(start=0 if i == 0 else free(1, 400), end=400 if i == 2 else free(1, 400))
        x = ph.state("x", start=1500.0 * i, end=1500.0 * (i + 1), unit="m")
        v = ph.state(
            "v",
            start=0 if i == 0 else None,
            end=0 if i == 2 else None,
            lower=0,
            upper=limit,
            unit="m/s",
        )
        traction = ph.control("traction", lower=0, upper=0.4)
        brake = ph.control("brake", lower=0, upper=0.6)
        ph.dynamics({x: v, v: traction - brake - 0.01 - 2e-4 * v**2})
        cost += ph.integral(traction * v)
        if before is not None:
            ocp.connect(before, ph)
        before = ph
    ocp.minimize(cost)
    return ocp


@problem("two-gears", "phases", quick=True)
def two_gears() -> Problem:
    """A car accelerates over 400 m in two gears and stops there; when to change is free."""
    ocp = Problem("two-gears")
    phases = []
    for i, (force, slope) in enumerate(((6.0, 0.3), (3.5, 0.08))):
        ph = ocp.phase(f"gear {i + 1}")
        t = ph.time(start=0 if i == 0 else free(0, 60), end=free(0.5, 60))
        x = ph.state("x", start=0 if i == 0 else None, end=400 if i == 1 else None)
        v = ph.state("v", start=0 if i == 0 else None, end=0 if i == 1 else None, lower=0)
        throttle = ph.control("throttle", lower=-1, upper=1)
        ph.dynamics({x: v, v: throttle * (force - slope * v)})
        phases.append((ph, t))
    ocp.connect(phases[0][0], phases[1][0])
    ocp.minimize(phases[1][0].final(phases[1][1]))
    return ocp


@problem("two-stage-rocket", "phases")
def two_stage_rocket() -> Problem:
    """A two-stage sounding rocket with drag: singular thrust in the atmosphere, a mass dropped
    between, the greatest height.
    """
    ocp = Problem("two-stage-rocket")
    first, second = ocp.phase("first"), ocp.phase("second")
    first.time(start=0, end=free(1, 300))
    second.time(start=free(1, 300), end=free(2, 1000))
    last = None
    for ph, masses, thrust in ((first, (1000.0, 400.0), 30000.0), (second, (300.0, 100.0), 9000.0)):
        h = ph.state("h", start=0 if ph is first else None, lower=0, unit="m")
        v = ph.state(
            "v", start=0 if ph is first else None, end=0 if ph is second else None, unit="m/s"
        )
        m = ph.state("m", start=masses[0], end=masses[1], unit="kg")
        T = ph.control("T", lower=0, upper=thrust, unit="N")
        drag = 0.05 * v**2 * exp(-h / 8000)
        ph.dynamics({h: v, v: (T - drag) / m - 9.81, m: -T / 2500})
        last = h
    ocp.connect(first, second, states=["h", "v"])
    ocp.maximize(second.final(last) / 1000)
    return ocp
