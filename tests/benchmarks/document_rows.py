"""Every item of the source documents, by its place, with the command (or the function) that has it.

The second half of the table of ``systems.py``: ``python -m tests.benchmarks.systems documents``.
Figures beside them are the documents', closed forms, or independent computations; items without
one show a figure of ours.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.system_rows import (
    BALL,
    DEG,
    LOOP,
    PRECISE,
    SNOW,
    THETAS,
    Row,
    both,
    costates,
    drift,
    event,
    exact,
    final,
    largest_drift,
    objective,
    output,
    peak_of_the_front,
    span,
    steps,
    variable,
)

FILES = Path(tempfile.gettempdir()) / "trajopt-documents"


def file(name: str, text: str) -> str:
    """The path of a small file that a row's command reads."""
    FILES.mkdir(exist_ok=True)
    (FILES / name).write_text(text)
    return str(FILES / name)


def work_error(found: dict) -> tuple[float, ...]:
    return (found["global_error"]["error"], found["global_error"]["bound"])


def nonholonomic() -> tuple[float, ...]:
    from problems.stabilization.cart_slalom import cart_slalom
    from problems.stabilization.sleigh import sleigh
    from trajopt.mechanics import nonholonomy

    return (
        float(nonholonomy(sleigh().mechanism).holonomic),
        float(nonholonomy(cart_slalom().mechanism).holonomic),
    )


def helmholtz_cases() -> tuple[float, ...]:
    import casadi

    from problems.stabilization.inverse_problem import inverse_problem
    from trajopt.mechanics import helmholtz

    found = []
    for kind in ("constant", "appendix"):
        system = inverse_problem(dissipation=kind)
        q, v, a = (casadi.SX.sym(name, 3) for name in "qva")
        rate = system.function(system.rate)(0.0, casadi.vertcat(q, v), [])
        found.append(float(helmholtz(a - rate[3:], q, v, a).lagrangian))
    return tuple(found)


def printed_counterexample() -> tuple[float, ...]:
    from trajopt.integrate import multiplier
    from trajopt.integrate.tableaus import EULER

    return (multiplier([[-2000.0, -1000.0], [-1000.0, -2000.0]], EULER, 1e-3),)


def chosen_gain() -> tuple[float, ...]:
    from problems.lecture import pendulum_cartesian
    from trajopt.integrate import Baumgarte, Rk4, recommended_gain

    return (recommended_gain(pendulum_cartesian(), Rk4(1e-2), Baumgarte(), 5.0),)


def cut_loops() -> tuple[float, ...]:
    """Largest difference of the accelerations by cut joints and by constraints."""
    from problems.bike import rider_loop, torso_loop

    worst = []
    for module, torques in ((torso_loop, [-120.0, 0.0, 0.0]), (rider_loop, rider_loop.TORQUES)):
        loop = module.closed_loop()
        q, v = loop.mechanism.consistent().start
        direct = loop.mechanism.acceleration(q, v, torques[: loop.mechanism.u.numel()])
        cut = np.ravel(loop.acceleration(q, v, torques))
        worst.append(float(np.abs(np.ravel(np.array(direct)) - cut).max()))
    return tuple(worst)


def newmark_error() -> tuple[float, ...]:
    """Acceleration error of Newmark's beta = 1/4 on the prescribed motion u = t^4, of unit size."""
    errors = []
    for h in (1e-2, 1e-3):
        t = np.arange(0.0, 1.0 + h / 2, h)
        u, v, a = t**4, 4 * t[0] ** 3, 12 * t[0] ** 2
        worst = 0.0
        for k in range(1, len(t)):
            # beta = 1/4, gamma = 1/2; a starting error of 1 in the acceleration is not damped
            old = a if k > 1 else a + 1.0
            a = 4 / h**2 * (u[k] - u[k - 1] - h * v) - old
            v = v + h / 2 * (old + a)
            worst = abs(a - 12 * t[k] ** 2)
        errors.append(worst)
    return tuple(errors)


def restitution() -> tuple[float, ...]:
    from problems.multibody.rolling import obtained_restitution

    return tuple(obtained_restitution(law, 0.3) for law in ("kelvin-voigt", "hunt-crossley"))


def restituted_height(found: dict) -> tuple[float, ...]:
    return (found["events"][2]["t"],)


NONE = "no figure"
THIRD_IMPACT = exact(math.sqrt(1.8 / 9.81) * (1 + 2 * 0.8 + 2 * 0.64))
CLAMPED = 2 * math.pi / (1.875104068711961**2 * math.sqrt(10.0))
GEAR = 0.6 / (math.pi * 100 * 0.1**4 / 2 + math.pi * 100 * 0.2**4 / 8)
RACK = math.sqrt(100 / (math.pi * 100 * 0.1**2 / 2 + 2.0))

THESIS = (
    Row("3, 4.1: front-up: lift-off (s)", "simulate front-up-pd", event("front lift-off"),
        ("0.107",)),
    Row("4.3, Tables 4-1, 4-2: five links, in a statement: entry", "solve wheelie-entry", objective,
        ("0.2140",), "about: a coarse mesh"),
    Row("4.4, Fig. 4-7: mass centre at 30 deg rise", "simulate mass-centre-five --set rise=30",
        span("mass_centre_x"), ("-0.034", "0.036"), "about: whole degrees of lean"),
    Row("4.5.2-4.5.4: cut loop, H, W against constraints (rad/s^2)",
        "problems.bike.torso_loop.closed_loop, rider_loop.closed_loop", cut_loops, (), NONE, 2),
    Row("4.5.1, 4.7, Figs. 4-8, 4-10, 4-11: three-link loop: arm straight (s)",
        "simulate torso-loop", event("arm straight"), (), "the thesis prints no torque", 6),
    Row("4.6: Runge-Kutta-Gill", "simulate pendulum --integrator gill --step 0.001 --until 10",
        final("theta", "omega"), ("-0.21939417", "-2.15988169")),
    Row("4.8, Figs. 4-12, 4-13: front-up: down again (s)", "simulate front-up-pd",
        event("front touch-down"), (), NONE, 4),
    Row("5.1 (3): arm push and pull: rise after 3 s, largest pull (N)", "simulate wheelie-arms",
        both(output("rise"), output("arm_force", when="max")), (), "the thesis only names it", 4),
    Row("5.2, 5.3, Table 5-1: wheelie: peak, rise, lean (deg)", "simulate wheelie-pd",
        both(peak_of_the_front, final("beta", "torso", scale=DEG)), ("37.1", "30.18", "-21.03")),
    Row("6.1, Fig. 6-1: onto a platform of 1 m: factor on the torques", "solve platform-support",
        variable("strength"), (), "stages 1 to 6; the platform stands beside the machine", 5),
    Row(
        "6.1 (7), Fig. 6-1g: rear wheel on the edge of a platform ahead: effort",
        "solve platform-edge",
        objective,
        (),
        "0.2 m; certified extremal",
        6,
    ),
    Row("6.2, Tables 6-1, 6-2: seven links, in a statement: highest hop", "solve daniel-jump",
        objective, (), "feasible: 0.416 m; clearance here 0.741 m", 6),
    Row("6.3, Figs. 6-3 to 6-8: a table of angles followed: largest error of the front (deg)",
        "simulate daniel-track --tolerance 1e-8", output("front_error", when="max"), (),
        "the thesis' 97 pictures are not printed; our table", 3),
    Row("6.4, Figs. 6-9, 6-10: region of the mass centre (m)", "simulate mass-centre-seven",
        output("region_left", "region_right", "region_bottom", "region_top"), (), NONE, 4),
    Row("6.5: W of the five-link loop, angles at 0.2 s (deg)", LOOP, final(*THETAS, scale=DEG),
        ("62.09424", "102.84143", "-147.04680", "47.23872", "-90.02503")),
    Row("6.6, appendix: loop under torques, as printed (deg)", f"{LOOP} --set rates=appendix",
        final(*THETAS, scale=DEG),
        ("62.00268", "94.68560", "-134.90345", "34.58677", "-89.77914")),
    Row("6.7, Table 6-3, Figs. 6-14, 6-15: vertical hop: way of the mass centre (m), clearance (m)",
        "simulate daniel-track --tolerance 1e-8",
        both(span("mass_centre_x"), output("clearance", when="max")), (),
        "vertical, as the thesis; targets over time, wheel braked (page of the bike)", 3),
)  # fmt: skip

LECTURE = (
    Row("1: standard form, a system of one's own",
        "simulate " + file("mine.py", "from problems.lecture import decay as build\n") + ":build",
        final("x"), exact(math.exp(-2.0))),
    Row("1: simple pendulum at 10 s", f"simulate pendulum {PRECISE} --until 10",
        final("theta", "omega"), ("-0.21939417", "-2.15988169")),
    Row("1: mass-spring-damper under f(t) = sin 2t, undamped, at 2 s",
        "simulate mass-spring-damper --set damping=0 --set stiffness=1 --set x=0 --until 2 --set "
        "force_file=" + file("f.py", "from casadi import sin\n\ndef f(t):\n    return sin(2 * t)\n")
        + ":f", final("x"), exact((2 * math.sin(2.0) - math.sin(4.0)) / 3)),
    Row("1: LCR circuit under V(t) from a table, at 2 s",
        "simulate lcr-circuit --set resistance=0 --until 2 --set voltage_file="
        + file("V.csv", "t,V\n0,0\n2,2\n"), final("q"), exact(2 - math.sin(2.0))),
    Row("1: two-link arm: change of energy (J)", "simulate two-link-arm", drift("energy"), (), NONE,
        2),
    Row("2: Euler's table of x' = -2x at 0.1 s",
        "simulate decay --integrator euler --step 0.001 --until 0.1", final("x"), ("0.818567",)),
    Row("2: Heun's scheme at 10 s",
        "simulate pendulum --integrator heun --step 0.0001 --until 10", final("theta"),
        ("-0.219394",)),
    Row("3: Fehlberg's 4(5)",
        "simulate pendulum --integrator fehlberg --tolerance 1e-10 --until 10", final("theta"),
        ("-0.2193942",)),
    Row("3: steps chosen by an integrator (--plot-kind steps): number",
        "simulate pendulum --integrator dopri5 --tolerance 1e-6 --until 10", steps, (), NONE, 3),
    Row("3: ode45's pair", "simulate pendulum --integrator dopri5 --tolerance 1e-10 --until 10",
        final("theta", "omega"), ("-0.2193942", "-2.159882")),
    Row("4, 5: Cartesian pendulum, gain 2000: steps",
        "simulate pendulum-cartesian --integrator fehlberg --tolerance 1e-3 --stabilize baumgarte "
        "--gain 2000 --until 10", steps, ("8600",), "about; depends on the control of the steps"),
    Row("4, 5: closed four-link: deviations", "simulate closed-four-link", largest_drift, (), NONE,
        2),
    Row("report: Lorenz at 10 s", f"simulate lorenz {PRECISE} --until 10", final("x", "y", "z"),
        ("-13.9486608", "-10.2630753", "37.7027738")),
)  # fmt: skip

TREE = """
gravity = [0, 0, 0]
[[link]]
name = "bar"
parent = "ground"
joint = [{turn = "z", by = "theta"}]
mass = 3.0
length = 1.0
"""
AT_QUARTER = 90 * math.pi / 180 * 60 * (0.25 - 3 * 0.0625 + 2 * 0.015625)  # quintic, rad/s^2
BRANCHED = (
    Row("2, (2), (3): tau = L T P at 0.25 s (N m)",
        "simulate branched-arm --set method=parallel --until 0.25",
        output("torque1", "torque2", "torque3"), ("9.53498009", "2.44982565", "2.32559778")),
    Row("2, (1): Newmark's beta = 1/4 on a prescribed motion: error at steps of 1e-2, 1e-3",
        "tests.benchmarks.document_rows.newmark_error", newmark_error, (),
        "does not shrink (double root at -1): exact accelerations are used instead", 3),
    Row("3, Fig. 2: the arm from inputs only: a bar of 3 kg from a file (N m)",
        "simulate branched-arm --until 0.25 --set links=" + file("bar.toml", TREE),
        output("torque1"), exact(AT_QUARTER), "J = 1 kg m^2"),
)  # fmt: skip

LAW = file("law.toml", "A = [-100]\nB = [-20]\n")
COUPLED = file("ball.toml", "A = [-100]\nB = [-20]\nE = [[-2, -1], [-1, -1]]\n")
CUBIC = file("cubic.py", "def law(y, y_rate, order):\n    return -20 * y_rate - 100 * (y + y**3)\n")
W = file("w.py", "def w(q):\n    return [-q[1], q[0]]\n")
HELD_PENDULUM = "simulate pendulum-cartesian --integrator rk4 --step 0.01 --until 5"
SLEIGH = "simulate sleigh --tolerance 1e-12"
CAUCHY = "simulate lawden-cauchy --gain 1,1000"
DISSERTATION = (
    Row("1.1 (1.1.14)-(1.1.17): generalized Hessian system: sleigh's heading",
        f"{SLEIGH} --until 12", final("phi"), ("5.63574811",)),
    Row("1.1: nonholonomy tensor: sleigh, cart on its track integrable",
        "trajopt.mechanics.nonholonomy", nonholonomic, ("0", "1")),
    Row("1.1 (1.1.18): separate alpha and beta: drift of the rod",
        f"{HELD_PENDULUM} --stabilize baumgarte --gain 20,100", drift("rod"), (), NONE, 2),
    Row("1.1 (1.1.19), 1.2 (1.2.5)-(1.2.7): matrices A to E, from a file",
        f"{HELD_PENDULUM} --stabilize {LAW}", drift("rod"), (), "as with alpha and beta", 2),
    Row("1.1 (1.1.20), (1.1.21): nonlinear law, from a file",
        f"{HELD_PENDULUM} --stabilize {CUBIC}:law", drift("rod"), (), NONE, 2),
    *(Row(f"{place}: sleigh at 0.3 s", f"{SLEIGH} --until 0.3 --set formulation={form}",
          final("x", "y", "phi"), ("0.0436121737", "1.12604333", "1.33381026"), remark)
      for place, form, remark in (
          ("1.2 (1.2.9): Chaplygin", "chaplygin", "beside the augmented system"),
          ("1.3: Voronets", "voronets", "beside the augmented system"),
          ("1.2 end, 1.3: Appell (Maggi: eliminated)", "appell", "beside the augmented system"))),
    Row("1.4 (1.4.1)-(1.4.7): sleigh from another start, at 1 s",
        f"{SLEIGH} --until 1 --set start=0,0,0 --set speed=1 --set spin=0", final("x"),
        exact(1 + 4.9 / 2), "straight down, closed form; k = -46 is not reproduced (page)"),
    Row("1.4 (1.4.8)-(1.4.13): cart on a track of other data at 1 s: x, y",
        f"simulate cart-slalom {PRECISE} --until 1 --set flags=0.4 --set clearance=0.1 "
        "--set wave=2",
        final("x", "y"), (), NONE),
    Row("2.1 (2.1.7)-(2.1.10): printed range of gains: growth of Euler at its edge",
        "trajopt.integrate.multiplier", printed_counterexample, ("2",),
        "the printed range is not sufficient"),
    Row("2.1 (2.1.11), (2.1.12): second-order family, k2 = 0.6",
        "simulate pendulum --integrator rk2:0.6 --step 0.0001 --until 10", final("theta"),
        ("-0.219394",)),
    Row("2.1, [46]: gain chosen by default (1/s)", "trajopt.integrate.recommended_gain",
        chosen_gain, (), NONE, 3),
    Row("2.2 (2.2.13): global error of Euler, and bound",
        "simulate pendulum --integrator euler --error-bound --until 0.5", work_error, (),
        "the bound is above the error", 3),
    Row("2.3, Figs. 9, 10: ball in angles that jump over the pole, at 5 s",
        f"simulate turntable-ball --set coordinates=angles {PRECISE} --until 5", final("x", "y"),
        exact(-0.75 + 1.75 * math.cos(10 / 7), 1.75 * math.sin(10 / 7))),
    Row("2.3: ball under K = [[-2, -1], [-1, -1]], at 2 s",
        f"simulate turntable-ball --tolerance 1e-11 --until 2 --stabilize {COUPLED}",
        final("x", "y"), exact(*BALL)),
    Row("3.1 (3.1.1)-(3.1.4): a user's w(q) = (-q2, q1) from (2, 0), at 1 s",
        f"simulate inverse-field --until 1 --set field={W}:w", final("q1", "q2"),
        exact(2 * math.cos(1.0), 2 * math.sin(1.0))),
    Row("3.1 (H1)-(H7): a Lagrangian exists, constant and appendix' d",
        "trajopt.mechanics.helmholtz", helmholtz_cases, ("1", "1")),
    Row("3.1, Figs. 11-14, appendix 1: circle made attractive",
        "simulate inverse-problem --integrator euler --step 0.001 --until 15", drift("integrals"),
        ("3.93066e-4",)),
    Row("4.1 (4.1.1)-(4.1.5), Figs. 15-17: exoskeleton, programme of the text: drift",
        "simulate snowboarder --until 0.2", largest_drift, (), NONE, 2),
    Row("appendix 2: ten coordinates: norm at 0.5 s",
        f"{SNOW} --stabilize baumgarte --gain 10",
        lambda found: (math.sqrt(sum(found["drift"][n]["end"] ** 2
                                     for n in ("lengths", "leaning", "heading", "blade"))),),
        ("0.0099",)),
    Row("4.2 (4.2.1)-(4.2.6): Pontryagin flow: transfer",
        "solve lawden-transfer --method indirect", costates,
        ("0.0034313426", "0.0414923502", "0.0002292442", "0.0002292442", "0.0514757711")),
    Row("4.2 (4.2.7)-(4.2.13), Fig. 18: stabilized integrals: deviation",
        f"{CAUCHY} --set data=transfer --stabilize minimum-norm",
        both(output("deviation", when="max"), output("deviation")), ("8.3e-4", "8.4e-9")),
    Row("introduction: servo-constraint by a steering torque: cart at 2 s",
        f"simulate cart-slalom {PRECISE} --set actuation=torque --until 2", final("x", "theta"), (),
        NONE),
    Row("4.1, outlook: a lateral angle: slalom of a leaning rider", "solve slalom-lean", objective,
        (), "ours; 2.9 N m about the blade, upright 2010 N m"),
)  # fmt: skip

DRIVEN = "simulate double-pendulum --set drive=1,2 --until 1"
BOOK = (
    Row("2, 3 (ex. 1-7): thrown body at 1 s", "simulate free-body --until 1", final("x", "y"),
        exact(3.0, 2 - 9.81 / 2)),
    Row("3.3, ex. 10: reference point off the mass centre: deviation", "simulate offset-body",
        largest_drift, (), NONE, 2),
    Row("4 (ex. 8-13): spring-dampers", "simulate sprung-pair", final("lower_x", "lower_y"), (),
        NONE, 6),
    Row("5.1 (ex. 14): restitution by Poisson: third impact (s)",
        "simulate bouncing-body --set law=poisson", restituted_height, THIRD_IMPACT),
    Row("5.2 (ex. 15, 17-19): compliant ground, Hertz: deepest (m)",
        "simulate bouncing-body --set law=hertz --until 0.6", output("gap", when="min"),
        exact(-((2.5 * 9.81 * 0.9 / 3e7) ** 0.4)), "about: without the weight in the contact"),
    Row("5.2.4, 5.2.12 (ex. 16, 20): restitution asked 0.3: Kelvin-Voigt, Hunt-Crossley",
        "problems.multibody.rolling.obtained_restitution (bouncing-body --plot-kind restitution)",
        restitution, ("0.30", "0.30")),
    Row("5.3 (ex. 21, 22): sliding to rolling (m/s)", "simulate rolling-body --until 2",
        final("x_rate"), exact(4 / 3), "about: smooth friction"),
    Row("6.2 (ex. 23, 24, 26): penalty", "simulate double-pendulum --set formulation=penalty "
        "--tolerance 1e-9 --until 1", final("bar1_theta", "bar2_theta"), ("-2.559", "-2.342"),
        "joints as springs"),
    Row("6.2.3 (ex. 25): cuboid hung at a vertex, penalty and augmented: angle at 0.5 s",
        "simulate hung-cuboid --tolerance 1e-8 --until 0.5", final("cuboid_theta"), (), NONE, 5),
    Row("the same, augmented", "simulate hung-cuboid --set formulation=augmented --until 0.5",
        final("cuboid_theta"), (), NONE, 5),
    Row("6.3, 6.4 (ex. 27-29): constraint and acceleration equations: deviation",
        "simulate disc-pendulum", largest_drift, (), NONE, 2),
    Row("7 (ex. 30-33): elimination", "simulate double-pendulum --set formulation=eliminated "
        "--tolerance 1e-12 --until 1", final("bar1_theta", "bar2_theta"),
        ("-2.5594608", "-2.3422725"), "beside the augmented form"),
    Row("8.3.2 (ex. 35): two bodies with pin and spring-damper", "simulate pinned-pair",
        final("bar1_theta", "bar2_theta"), (), NONE, 6),
    Row("8.4-14.3 (ex. 36, 39; exercises 3, 7, 10, 11): kinematics: place of the second bar",
        DRIVEN, final("bar2_x", "bar2_y"),
        exact(math.cos(1 - math.pi / 6) + math.cos(2.0) / 2,
              math.sin(1 - math.pi / 6) + math.sin(2.0) / 2), "closed form"),
    Row("8.5 (ex. 37, 38, exercise 1): pivot as a function of time", "simulate inverted-pendulum",
        final("bar_theta"), (), NONE, 6),
    Row("9.3, 9.4 (ex. 40, 41; 2, 4-6): two-link robot: deviation", "simulate two-link-robot",
        largest_drift, (), NONE, 2),
    Row("10 (ex. 42, 43): fixed joints: deviation", "simulate welded-pendulum", largest_drift, (),
        NONE, 2),
    Row("11 (8, 9): three-link pendulum: deviation", "simulate triple-pendulum", largest_drift, (),
        NONE, 2),
    Row("12, 13 (ex. 44-49): prismatic joints, rotation by vectors",
        "simulate body-slider --set rotation=vectors", final("collar_x", "collar_y"), (), NONE, 6),
    Row("14 (12, 13): piston and crank: deviation", "simulate slider-crank", largest_drift, (),
        NONE, 2),
    Row("15.1-15.3 (14-16): vehicle, growing torque: way (m)",
        "simulate vehicle-flat --set growth=100", final("chassis_x"), (), NONE, 6),
    Row("15.4 (17, 18): vehicle on a slope: way (m)", "simulate vehicle-slope", final("chassis_x"),
        (), NONE, 6),
    Row("2.2, Table 2.1: Adams' formulas", "simulate pendulum --integrator adams --until 10",
        final("theta", "omega"), ("-0.2193942", "-2.159882")),
    Row("16.1: gears: rate at 1 s", "simulate gear-pair", final("gear1_theta_rate"), exact(GEAR),
        "closed form"),
    Row("16.1: rack and pinion: way at 2 s", "simulate rack-pinion", final("rack_x"),
        exact(0.2 * (1 - math.cos(2 * RACK))), "closed form", 8),
    Row("16.2, 16.4: inverse dynamics at 0.5 s", "simulate branched-arm --until 0.5",
        output("torque1", "torque2", "torque3"), ("-3.09795744", "0.81442733", "0.21822515")),
    Row("16.3: elastic body: clamped beam after one period of its first frequency (m)",
        f"simulate flexible-arm --set clamped=true --set deflection=0.01 --until {CLAMPED!r}",
        output("deflection"), ("0.0200000",), "closed form"),
)  # fmt: skip

DOCUMENTS = {
    "000 thesis on a bike-trial robot": THESIS,
    "001 lecture on differential equations": LECTURE,
    "002 branching links": BRANCHED,
    "003 dissertation on constraint stabilization": DISSERTATION,
    "004 book on multibody dynamics": BOOK,
}
