"""The rows of ``systems.py``: what the documents or independent computations say, and the commands
that give the same.

A figure of a closed form is computed here from its formula. "no figure" marks rows whose document
has none; their figures are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Figures = Callable[[dict], tuple[float, ...]]
DEG = 180 / math.pi
NONE, OWN = "no figure", "ours"


@dataclass(frozen=True)
class Row:
    """What a document or an independent computation says, and the command that gives the same."""

    what: str
    command: str  # without trajopt and --json
    figures: Figures
    source: tuple[str, ...] = ()  # as printed
    remark: str = ""
    digits: int = 9  # shown of a figure without a source


def final(*names: str, scale: float = 1.0) -> Figures:
    return lambda found: tuple(scale * found["final"][name] for name in names)


def output(*names: str, when: str = "end") -> Figures:
    return lambda found: tuple(found["outputs"][name][when] for name in names)


def span(name: str) -> Figures:
    return lambda found: (found["outputs"][name]["min"], found["outputs"][name]["max"])


def drift(*names: str, when: str = "max") -> Figures:
    return lambda found: tuple(found["drift"][name][when] for name in names)


def largest_drift(found: dict) -> tuple[float, ...]:
    return (max(row["max"] for row in found["drift"].values()),)


def norm_of_drifts(*names: str) -> Figures:
    return lambda found: (math.sqrt(sum(found["drift"][name]["end"] ** 2 for name in names)),)


def steps(found: dict) -> tuple[float, ...]:
    return (found["steps"],)


def objective(found: dict) -> tuple[float, ...]:
    return (found["objective"],)


def variable(name: str) -> Figures:
    return lambda found: (found["variables"][name],)


def both(*parts: Figures) -> Figures:
    return lambda found: tuple(value for part in parts for value in part(found))


def event(*names: str) -> Figures:
    return lambda found: tuple(
        next(e["t"] for e in found["events"] if e["name"] == name) for name in names
    )


def exact(*values: float) -> tuple[str, ...]:
    return tuple(f"{value:.9g}" for value in values)


def oscillator(t: float, stiffness: float, damping: float, start: float) -> float:
    """x'' = -stiffness x - damping x' from rest at ``start``."""
    half = damping / 2
    w = math.sqrt(stiffness - half**2)
    return start * math.exp(-half * t) * (math.cos(w * t) + half / w * math.sin(w * t))


def peak_of_the_front(found: dict) -> tuple[float, ...]:
    return (DEG * math.asin(found["outputs"]["front_gap"]["max"] / 1.015),)


def costates(found: dict) -> tuple[float, ...]:
    begin = found["costates_initial"]
    return (found["objective"], *(abs(x) for x in (*begin["r"], *begin["v"])))


PRECISE = "--tolerance 1e-12"
CLOSED = "closed form"

LECTURE = (
    Row("x' = -2 x at 0.1 s, "
    "Euler", "simulate decay --integrator euler --step 0.001 --until 0.1", final("x"),
        ("0.818567",), "the table's head says step 0.1"),
    Row("the same at 1 s", "simulate decay --integrator euler --step 0.001 --until "
    "1", final("x"), ("0.135065",)),
    Row("pendulum at 10 s: angle, "
    "rate", f"simulate pendulum {PRECISE} --until 10", final("theta", "omega"),
        ("-0.21939417", "-2.15988169"), "the printed ode45 table is off by up to 1.5e-3"),
    Row("Cartesian pendulum at 10 "
    "s", f"simulate pendulum-cartesian {PRECISE} --until 10", final("x", "y"),
        exact(2 * math.sin(-0.21939417), 2 - 2 * math.cos(-0.21939417)), "from the angle", 8),
    Row("Cartesian pendulum, gain 2000: steps",
        "simulate pendulum-cartesian --integrator fehlberg --tolerance 1e-3 --stabilize baumgarte "
        "--gain 2000 --until 10", steps,
        ("8600",), "about; depends on the control of the steps"),
    Row("the same, gain 10",
        "simulate pendulum-cartesian --integrator fehlberg --tolerance 1e-3 --stabilize baumgarte "
        "--gain 10 --until 10", steps,
        ("100",), "about"),
    Row("mass, spring and damper at 10 "
    "s", f"simulate mass-spring-damper {PRECISE} --until 10", final("x"),
        exact(oscillator(10, 4, 0.5, 1)), CLOSED),
    Row("charge of the circuit at 10 s", f"simulate lcr-circuit {PRECISE} --until 10", final("q"),
        exact(1 - oscillator(10, 1, 0.5, 1)), CLOSED),
    Row("two-link arm: largest change of energy "
    "(J)", "simulate two-link-arm --until 5", drift("energy"), (), NONE, 2),
    Row("closed four-link: largest deviation of loop and energy in 10 "
    "s", "simulate closed-four-link --until 10",
        largest_drift, (), NONE, 2),
    Row("Lorenz' equations at t = "
    "10", f"simulate lorenz {PRECISE} --until 10", final("x", "y", "z"),
        ("-13.9486608", "-10.2630753", "37.7027738"), "default tolerances end on the other lobe"),
)  # fmt: skip

SLEIGH = "simulate sleigh --tolerance 1e-12"
BALL = (-0.75 + 1.75 * math.cos(4 / 7), 1.75 * math.sin(4 / 7))
STABILIZATION = (
    Row("sleigh: heading at the end", f"{SLEIGH} --until 12", final("phi"), ("5.63574811",)),
    *(
        Row(
            f"sleigh at 0.3 s: {name}",
            f"{SLEIGH} --set formulation={form} --until 0.3",
            final("x", "y", "phi"),
            (),
            f"{NONE}; all forms agree",
        )
        for form, name in (
            ("augmented", "augmented system"),
            ("chaplygin", "Chaplygin's equations"),
            ("voronets", "Voronets' equations"),
            ("eliminated", "independent velocities"),
        )
    ),
    Row(
        "sleigh at 6 s, gravity at the mass centre",
        f"{SLEIGH} --set gravity_at=centre --until 6",
        final("phi"),
        (),
        NONE,
    ),
    Row(
        "cart slalom at 2 s: x, theta",
        f"simulate cart-slalom {PRECISE} --until 2",
        final("x", "theta"),
        (),
        NONE,
    ),
    Row(
        "the same, steering torque only",
        f"simulate cart-slalom {PRECISE} --set actuation=torque --until 2",
        final("x", "theta"),
        (),
        NONE,
    ),
    Row(
        "the same as the first, gravity at the mass centre",
        f"simulate cart-slalom {PRECISE} --set gravity_at=centre --until 2",
        final("x", "theta"),
        (),
        NONE,
    ),
    Row(
        "ball on a turntable at 2 s: place",
        f"simulate turntable-ball {PRECISE} --until 2",
        final("x", "y"),
        exact(*BALL),
        "a circle at the rate Omega J/(J + m r^2)",
    ),
    Row(
        "the same in angles that jump over beta = pi/2",
        f"simulate turntable-ball --set coordinates=angles {PRECISE} --until 5",
        final("x", "y"),
        exact(-0.75 + 1.75 * math.cos(10 / 7), 1.75 * math.sin(10 / 7)),
        "at 5 s; without a law the jump does not move the ball",
    ),
    Row(
        "inverse problem, matrix of the appendix: largest deviation",
        "simulate inverse-problem --integrator euler --step 0.001 --until 15",
        drift("integrals"),
        ("3.93066e-4",),
    ),
    Row(
        "inverse problem, constant matrix: largest deviation",
        "simulate inverse-problem --set dissipation=constant --integrator euler --step 0.001 "
        "--until 15",
        drift("integrals"),
        ("9.82366e-5",),
    ),
    Row(
        "inverse problem, the text's run",
        "simulate inverse-problem --integrator euler --step 0.01 --until 10",
        drift("integrals"),
        (),
        NONE,
        6,
    ),
)

SNOW = (
    "simulate snowboarder --set programme=appendix --set track=heading --set snow=two-sided "
    "--integrator euler --step 0.001 --until 0.5"
)
HELD = norm_of_drifts("lengths", "leaning", "heading", "blade")
TIED = (
    ("", "", ("0.0265", "0.0099", "0.0019")),
    (", phi1 = phi2 = phi0", " --set tied=true", ("0.0275", "0.0105", "0.0043")),
)
LAWS = (
    ("not stabilized", ""),
    ("Baumgarte's gain 10", " --stabilize baumgarte --gain 10"),
    ("Baumgarte's gain 50", " --stabilize baumgarte --gain 50"),
)
EXOSKELETON = (
    *(
        Row(f"snowboarder, norm of the deviations at 0.5 s{tied}, "
        f"{law}", f"{SNOW}{setting}{gain}", HELD, (printed,))
        for tied, setting, norms in TIED
        for (law, gain), printed in zip(LAWS, norms, strict=True)
    ),
    Row("slalom of least effort", "solve slalom-effort", objective, (), OWN),
    Row("slalom of least time", "solve slalom-time", objective, (), OWN),
    Row("slalom of a leaning rider, least effort", "solve slalom-lean", objective, (), OWN),
    Row("lift", "solve exoskeleton-lift", objective, (), OWN),
    Row("assistance", "solve exoskeleton-assist", objective, (), OWN),
    Row("step of a gait", "solve two-legged", objective, (), OWN),
    Row("step with double support", "solve two-legged-double", objective, (), OWN),
)  # fmt: skip

CAUCHY = "simulate lawden-cauchy --gain 1,1000"
ROCKET = (
    Row("limited power from r = 1 to 1.5: cost, costates of r and v at the "
    "start", "solve lawden-transfer --method indirect",
        costates, ("0.0034313426", "0.0414923502", "0.0002292442", "0.0002292442", "0.0514757711")),
    Row("costate flow of that transfer, start off by 0.01: deviation at first and at the end",
        f"{CAUCHY} --set data=transfer --stabilize minimum-norm",
        both(output("deviation", when="max"), output("deviation")), ("8.3e-4", "8.4e-9")),
    Row("the document's data, minimum-norm correction: g1, g2 at the "
    "end", f"{CAUCHY} --stabilize minimum-norm",
        drift("g1", "g2", when="end"), (), "the document shows curves only", 3),
    Row("the same by H + gamma "
    "g", f"{CAUCHY} --stabilize hamiltonian", drift("g1", "g2", when="end"), (),
        "the document shows curves only", 3),
    Row("Lawden's spiral: largest deviation of its five "
    "integrals", "simulate lawden-spiral-flow", largest_drift, (), NONE, 2),
    Row("an arc of Lawden's spiral: final "
    "mass", "solve lawden-spiral", objective, ("0.783122316",), CLOSED),
    Row("two impulses with a turn of the plane "
    "(km/s)", "solve impulsive-transfer", objective, ("4.23135459",), CLOSED),
    *(
        Row(what, f"solve {name}", objective, (), OWN)
        for name, what in (
            ("min-time-transfer", "bounded thrust, least "
            "time"), ("min-fuel-transfer", "bounded thrust, least fuel"),
            ("many-revolutions", "a spiral of 21 revolutions, "
            "time"), ("earth-mars", "Earth to Mars, limited power"),
            ("ascent", "ascent from the Moon"),
        )
    ),
)  # fmt: skip

MULTIBODY = (
    Row(
        "thrown body at 1 s",
        "simulate free-body --until 1",
        final("x", "y"),
        exact(3.0, 1 + 1 - 9.81 / 2),
        CLOSED,
    ),
    *(
        Row(
            f"{name}: largest deviation of joints and energy",
            f"simulate {name}",
            largest_drift,
            (),
            NONE,
            2,
        )
        for name in (
            "offset-body",
            "double-pendulum",
            "triple-pendulum",
            "disc-pendulum",
            "mounted-pendulum",
            "welded-pendulum",
            "two-link-robot",
            "ground-slider",
            "body-slider",
            "slider-crank",
        )
    ),
    Row(
        "double pendulum at 1 s, augmented",
        "simulate double-pendulum --tolerance 1e-12 --until 1",
        final("bar1_theta", "bar2_theta"),
        (),
        f"{NONE}; all forms agree",
        8,
    ),
    *(
        Row(
            f"the same, {form}",
            f"simulate double-pendulum --set formulation={form} --tolerance 1e-12 --until 1",
            final("bar1_theta", "bar2_theta"),
            (),
            f"{NONE}; {remark}",
            8,
        )
        for form, remark in (
            ("eliminated", "all forms agree"),
            ("voronets", "all forms agree"),
            ("penalty", "joints as springs"),
        )
    ),
    Row(
        "gears: rate at 1 s",
        "simulate gear-pair",
        final("gear1_theta_rate"),
        exact(0.6 / (math.pi / 2 * 0.01 + math.pi / 8 * 0.16)),
        CLOSED,
    ),
    Row(
        "rack at 2 s",
        "simulate rack-pinion",
        final("rack_x"),
        exact(0.2 * (1 - math.cos(2 * math.sqrt(100 / (math.pi / 2 + 2))))),
        CLOSED,
        8,
    ),
    Row(
        "pinned pair: angles at 5 s",
        "simulate pinned-pair",
        final("bar1_theta", "bar2_theta"),
        (),
        NONE,
        6,
    ),
    Row(
        "cuboid on a stiff spring, and on a pin, at 0.5 s",
        "simulate hung-cuboid --tolerance 1e-8 --until 0.5",
        final("cuboid_theta"),
        ("-1.4432",),
        "beside the augmented form",
    ),
    Row(
        "elastic arm: largest deflection", "simulate flexible-arm", span("deflection"), (), NONE, 4
    ),
    Row("body on springs at 5 s", "simulate sprung-body", final("x", "y"), (), NONE, 6),
    Row(
        "two bodies on springs at 5 s",
        "simulate sprung-pair",
        final("lower_x", "lower_y"),
        (),
        NONE,
        6,
    ),
    Row(
        "inverted pendulum on a shaken pivot at 2 s: angle",
        "simulate inverted-pendulum",
        final("bar_theta"),
        (),
        NONE,
        6,
    ),
    Row(
        "collar on a bar at 3 s, rotation by vectors",
        "simulate body-slider --set rotation=vectors",
        final("collar_x", "collar_y"),
        (),
        f"{NONE}; as with angles",
        6,
    ),
    Row(
        "disc, third impact (s)",
        "simulate bouncing-body --set restitution=0.8",
        lambda found: (found["events"][2]["t"],),
        exact(math.sqrt(1.8 / 9.81) * (1 + 2 * 0.8 + 2 * 0.64)),
        CLOSED,
        6,
    ),
    *(
        Row(
            f"the same by the law {law}: height at 0.8 s",
            f"simulate bouncing-body --set law={law} --until 0.8",
            final("y"),
            (),
            NONE,
            6,
        )
        for law in ("poisson", "hooke", "kelvin-voigt", "hertz", "hunt-crossley")
    ),
    Row(
        "disc that slides, then rolls: speed",
        "simulate rolling-body --until 2",
        final("x_rate"),
        exact(4 / 3),
        "two thirds of 2 m/s",
        6,
    ),
    *(
        Row(f"{what} at 5 s", f"simulate {command}", final("chassis_x"), (), NONE)
        for what, command in (
            ("car on flat ground, friction by atan", "vehicle-flat"),
            ("the same, friction by a sigmoid", "vehicle-flat --set regularization=sigmoid"),
            ("car on a slope", "vehicle-slope"),
        )
    ),
    Row(
        "branched arm: torques at 0.25 s",
        "simulate branched-arm --until 0.25",
        output("torque1", "torque2", "torque3"),
        ("9.53498009", "2.44982565", "2.32559778"),
    ),
    Row(
        "branched arm: torques at 0.5 s",
        "simulate branched-arm --until 0.5",
        output("torque1", "torque2", "torque3"),
        ("-3.09795744", "0.81442733", "0.21822515"),
    ),
)

LOOP = "simulate rider-loop --integrator gill --step 0.005 --until 0.2"
THETAS = tuple(f"theta{k}" for k in range(1, 6))
BIKE = (
    *(
        Row(
            f"mass centre, five links, rise {rise} deg (m)",
            f"simulate mass-centre-five --set rise={rise}",
            span("mass_centre_x"),
            printed,
            "about: the source's in whole degrees of lean",
        )
        for rise, printed in (
            (0, ("0.250", "0.335")),
            (15, ("0.096", "0.192")),
            (30, ("-0.034", "0.036")),
        )
    ),
    Row(
        "mass centre, seven links (m)",
        "simulate mass-centre-seven",
        span("mass_centre_x"),
        (),
        NONE,
        4,
    ),
    Row(
        "loop of 6.6 and of the appendix at 0.2 s, as printed (deg)",
        f"{LOOP} --set rates=appendix",
        final(*THETAS, scale=DEG),
        ("62.00268", "94.68560", "-134.90345", "34.58677", "-89.77914"),
    ),
    Row(
        "the same with absolute rates in the energy (deg)",
        LOOP,
        final(*THETAS, scale=DEG),
        ("62.09424", "102.84143", "-147.04680", "47.23872", "-90.02503"),
    ),
    Row(
        "wheelie by PD: lift-off, PD on (s)",
        "simulate wheelie-pd",
        event("front lift-off", "pull over"),
        ("0.107", "0.397"),
    ),
    Row(
        "the same: peak, end (deg)",
        "simulate wheelie-pd",
        both(peak_of_the_front, final("beta", "torso", scale=DEG)),
        ("37.1", "30.18", "-21.03"),
    ),
    Row(
        "front-up by PD: front down again (s)",
        "simulate front-up-pd",
        event("front touch-down"),
        (),
        NONE,
        4,
    ),
    Row("loop of 4.7: arm straight (s)", "simulate torso-loop", event("arm straight"), (), NONE, 6),
    Row(
        "front held by the arms: rise after 3 s (deg), largest pull (N)",
        "simulate wheelie-arms",
        both(output("rise"), output("arm_force", when="max")),
        (),
        NONE,
        4,
    ),
    Row(
        "hop by a table of angles: way of the mass centre, clearance (m)",
        "simulate daniel-track --tolerance 1e-8",
        both(span("mass_centre_x"), output("clearance", when="max")),
        (),
        "vertical, as the thesis",
        3,
    ),
    Row(
        "hop by PD: clearance (m)",
        "simulate daniel-pd",
        output("clearance", when="max"),
        (),
        "three targets as steps: it drifts and falls; see daniel-track",
        4,
    ),
    Row(
        "entry into a wheelie, least effort",
        "solve wheelie-entry",
        objective,
        ("0.2140",),
        "about: a coarse mesh",
    ),
    Row(
        "the same, hand 0.45 to 0.83 m from the shoulder",
        "solve wheelie-entry --set elbow_deg=-116.4,-24.95 --set shoulder_deg=0,180",
        objective,
        ("0.2205",),
        "about: a coarse mesh",
    ),
    Row("entry, least time (s)", "solve wheelie-entry-time", objective, (), OWN),
    Row("wheelie held and stopped", "solve wheelie-hold", objective, (), OWN),
    Row(
        "highest hop: clearance less costs (m)",
        "solve daniel-jump",
        objective,
        (),
        "clearance 0.741 m; a feasible one: 0.416 m",
        6,
    ),
    Row("vertical hop with landing, effort", "solve daniel-hop", objective, (), OWN),
    Row("platform of 0.5 m, effort", "solve platform-jump", objective, (), OWN),
    Row("over the edge of 0.2 m ahead, effort", "solve platform-edge", objective, (), OWN),
    Row("highest platform (m)", "solve platform-highest", variable("height"), (), OWN, 6),
    *(
        Row(what, f"solve {name}", variable("strength"), (), OWN, 5)
        for name, what in (
            ("platform-strength", "1 m: factor on the torques"),
            ("platform-runup", "the same with a run-up"),
            ("platform-support", "the same, front wheel first"),
        )
    ),
)

ROWS = {  # by the folder of the page
    "lecture": LECTURE,
    "stabilization": STABILIZATION,
    "exoskeleton": EXOSKELETON,
    "rocket": ROCKET,
    "multibody": MULTIBODY,
    "bike": BIKE,
}
