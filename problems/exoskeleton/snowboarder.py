"""The snowboarder: the three-link exoskeleton in a slalom that programme constraints prescribe.

The multipliers of these constraints are the muscles: they come out as control forces and torques.
Sources, errata and what is ours: ``README.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atan, pi

import numpy as np
from casadi import SX, cos, fabs, fmax, jtimes, sin, sqrt, tan

from problems.exoskeleton.model import (
    CONSTANT_LENGTHS,
    EXTENSIONS,
    THREE_LINK,
    ThreeLink,
    blade,
    height_momentum,
    links,
    weight_on_slope,
    with_potential,
)
from problems.exoskeleton.pictures import pictures, snowboarder_drawing  # noqa: F401  # pictures of its own
from trajopt.errors import ModelError, UsageError
from trajopt.integrate import LinearLaw
from trajopt.mechanics import Coordinate, Dependence, Holonomic, Quantity, Tree
from trajopt.parameters import settable, setting, setting_field
from trajopt.system import Event, System

UPRIGHT = {
    "text": (pi / 2, pi / 2),
    "appendix": (pi / 3, 2 * pi / 3),
}  # the centres of the circle in (psi1, psi2)
# rad: a step in which the board turns more than this is too long for any of the schemes of fixed
# step
TURN_PER_STEP = 0.1

# h'' = A h, f' = E f of the appendix, which damps nothing; rows: lengths, leaning circle, track,
# blade.
APPENDIX_LAW = LinearLaw(
    A=np.array([[-10.0, -100.0, 0.0], [0.0, -10.0, 0.0], [0.0, -100.0, -10.0]]),
    E=np.array([[-10.0]]),
)


@dataclass(frozen=True)
class Programme:
    """What the programme constraints are; None stands for what the chosen document's programme has.

    amplitude, wave : A (1 m in the text's programme, 10 m in the appendix') and k of the track y =
    A sin(k x).
    lengths : "constant" (the text's 7 coordinates) or "variable" (the appendix' 10).
    track : "heading", tan(phi0) = A k cos(k x0), or "position", y0 = A sin(k x0). The appendix
    takes the position besides the
        blade, which say the same: that pair is singular and refused; ``track="heading"`` replaces
        it.
    tied : whether leg and body keep the foot's heading (the text's programme does, the appendix'
    does not).
    hold : psi1, psi2 and every extension held each by a constraint of its own: for long runs.
    potential : "full" (the appendix'), "slope" (no part normal to the slope) or "foot" (all weight
    at the foot, the text's).
    """

    amplitude: float | None = setting_field(
        None,
        "m",
        "A of the track y = A sin(k x); none: 1 m by the text, 10 m by the appendix",
        0,
        100,
        optional=True,
    )
    wave: float = setting_field(1.0, "rad/m", "k of the track", 0.01, 10)
    delta: float = setting_field(
        0.1, "rad", "radius of the circle on which leg and body lean", 0.01, 0.5
    )
    lengths: str | None = setting_field(
        None,
        "",
        "7 or 10 coordinates; none: as the programme",
        choices=("constant", "variable"),
        optional=True,
    )
    track: str | None = setting_field(
        None,
        "",
        "the track's form; none: as the programme",
        choices=("heading", "position"),
        optional=True,
    )
    tied: bool | None = setting_field(
        None,
        "",
        "true or false: leg and body keep the foot's heading; none: as the programme",
        optional=True,
    )
    hold: bool = setting_field(
        False, "", "psi1, psi2 and every extension held by constraints of their own, for long runs"
    )
    potential: str | None = setting_field(
        None,
        "",
        "potential energy; none: as the programme",
        choices=("full", "slope", "foot"),
        optional=True,
    )

    def completed(self, document: str) -> Programme:
        """The programme with what the document's part, "text" or "appendix", has in place of each
        None.
        """
        if not isinstance(self.tied, bool | None):
            raise UsageError(
                "'tied' must be true or false", got=self.tied, expected="true, false or none"
            )
        usual = BY_TEXT if document == "text" else BY_APPENDIX
        return replace(
            self, **{name: value for name, value in usual.items() if getattr(self, name) is None}
        )


BY_TEXT = {
    "amplitude": 1.0,
    "lengths": "constant",
    "track": "heading",
    "tied": True,
    "potential": "foot",
}
BY_APPENDIX = {
    "amplitude": 10.0,
    "lengths": "variable",
    "track": "position",
    "tied": False,
    "potential": "full",
}
PROGRAMME = Programme()


@settable
def snowboarder(
    programme=setting(
        "text",
        "",
        "programme constraints of the text or of the appendix",
        choices=("text", "appendix"),
    ),
    changes: Programme = PROGRAMME,
    snow=setting(
        "unilateral",
        "",
        "snow that only pushes, or holds the board too",
        choices=("unilateral", "two-sided"),
    ),
    data: ThreeLink = THREE_LINK,
) -> System:
    """A slalom y = A sin(k x) downhill, from rest.

    Parameters
    ----------
    programme : "text" keeps leg and body near the normal of the slope, (psi1 - pi/2)^2 + (psi2 -
    pi/2)^2 = delta^2; "appendix"
        uses the centre (pi/3, 2 pi/3) and the three extensions with q8^2 + q9^2 + q10^2 = 1.
    changes : what is set otherwise than in that programme.
    snow : "unilateral": the run ends where the snow would have to pull at the board; "two-sided",
    as in the document, holds it.

    The motion speeds up without end: with an integrator of fixed step an event tells when board, or
    leg and body on their circle, turn more than 0.1 rad in a step.
    """
    chosen = changes.completed(programme)
    A, wave, delta = float(chosen.amplitude), chosen.wave, chosen.delta
    tree = links(CONSTANT_LENGTHS if chosen.lengths == "constant" else None, data=data)
    q = {c.name: c for c in tree.coordinates}
    constraints = [
        *(_held(q, programme, delta) if chosen.hold else _leaning(q, programme, delta)),
        _track(q, chosen.track, A, wave),
    ]
    if chosen.tied:
        constraints += [
            Holonomic(f"{n} with foot", q[n].q - q["phi0"].q, "rad") for n in ("phi1", "phi2")
        ]
    model = replace(tree.mechanism(constraints=[*constraints, blade(tree)]), name="snowboarder")
    model = with_potential(model, tree, chosen.potential)
    step = Quantity("step", 0.0, "s")  # simulate puts the integrator's there
    model = replace(model.starting_at(_start(q, programme, A * wave, delta)), parameters=(step,))
    _refuse_singular_pair(model.dependent_constraints())
    turning = _turning(q, None if chosen.hold else delta)
    system = model.system(
        until=10.0 if A <= 2.0 else 0.5,
        description=f"three-link snowboarder, programme of the {programme}",
        drawing=snowboarder_drawing(tree, A, wave, data),
        events=(Event("step too long", step.symbol**2 * turning**2 - TURN_PER_STEP**2, 1),),
    )
    return with_muscles(system, tree, snow == "unilateral")


def _turning(q: dict[str, Coordinate], delta: float | None) -> SX:
    """The fastest turning (rad/s): of the board, and of leg and body round the circle of radius
    ``delta``.
    """
    board = fabs(q["phi0"].v)
    return (
        board if delta is None else fmax(board, sqrt(q["psi1"].v ** 2 + q["psi2"].v ** 2) / delta)
    )


def with_muscles(system: System, tree: Tree, unilateral: bool = True) -> System:
    """The system with the multipliers as forces: ``control_<coordinate>`` of all programme
    constraints together, ``blade_force`` across the blade, ``normal_force`` of the slope on the
    foot.
    """
    model = system.mechanism
    total = SX(len(model.coordinates), 1)
    for row, constraint in enumerate(model.rows):
        if constraint.name != "blade":
            total += (
                model.equations.directions[:, row]
                * system.outputs[f"reaction_{constraint.name}"][0]
            )
    controls = {
        f"control_{c.name}": (total[k], "N" if c.unit == "m" else "N m")
        for k, c in enumerate(model.coordinates)
        if not total[k].is_zero()
    }
    heading = next(c.q for c in model.coordinates if c.name == "phi0")
    normal = jtimes(height_momentum(tree), system.x, system.rate) + weight_on_slope(tree)
    ground = {
        "blade_force": (system.outputs["reaction_blade"][0] / cos(heading), "N"),
        "normal_force": (normal, "N"),
    }
    rebuild = system.through_reactions
    # The programme holds the board on the slope; once that takes a pull of the snow, the programme
    # cannot be followed.
    leaves = (
        (Event("board leaves the snow", normal, -1, terminal=True, level=True),)
        if unilateral
        else ()
    )
    return replace(
        system,
        name="snowboarder",
        outputs={**system.outputs, **controls, **ground},
        events=(*system.events, *leaves),
        through_reactions=None
        if rebuild is None
        else lambda law, *held: with_muscles(rebuild(law, *held), tree, unilateral),
    )


def _track(q: dict[str, Coordinate], form: str, A: float, k: float) -> Holonomic:
    x, y, phi = q["x0"].q, q["y0"].q, q["phi0"].q
    if form == "heading":
        return Holonomic("heading", tan(phi) - A * k * cos(k * x))
    if form == "position":
        return Holonomic("track", y - A * sin(k * x), "m")
    raise ModelError("form of the slalom's track", got=form, expected="heading or position")


def _leaning(q: dict[str, Coordinate], programme: str, delta: float) -> list[Holonomic]:
    leg, body = UPRIGHT[programme]
    circle = Holonomic("leaning", (q["psi1"].q - leg) ** 2 + (q["psi2"].q - body) ** 2 - delta**2)
    if "q8" not in q:
        return [circle]
    return [
        Holonomic("lengths", sum((q[n].q ** 2 for n in EXTENSIONS), SX(0)) - 1.0, "m^2"),
        circle,
    ]


def _held(q: dict[str, Coordinate], programme: str, delta: float) -> list[Holonomic]:
    start = _start(q, programme, 0.0, delta)
    held = [n for n in ("psi1", "psi2", *EXTENSIONS) if n in q]
    return [Holonomic(f"{n} held", q[n].q - start[n], q[n].unit) for n in held]


def _start(
    q: dict[str, Coordinate], programme: str, steepness: float, delta: float
) -> dict[str, float]:
    leg, body = UPRIGHT[programme]
    start = dict.fromkeys(("phi0", "phi1", "phi2"), atan(steepness)) | {
        "psi1": leg,
        "psi2": body - delta,
    }
    return start | {n: 3**-0.5 for n in EXTENSIONS if n in q}


def _refuse_singular_pair(found: tuple[Dependence, ...]) -> None:
    pair = {"track", "blade"}
    for d in found:
        if d.name in pair and pair <= {d.name, *d.on}:
            raise ModelError(
                "two constraints of the snowboarder say the same: 'track' and 'blade'",
                got="y0 = A sin(k x0) besides y0' = tan(phi0) x0': their rows coincide wherever "
                "both hold",
                expected="a track stated through the heading, tan(phi0) = A k cos(k x0)",
                hint="replace it: --set track=heading",
            )
