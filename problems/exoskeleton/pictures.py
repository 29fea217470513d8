"""Drawings of the exoskeleton: links, board, track and gates on the slope, and the forces of the
snow; a two-legged step.

The models have the slope's axes; here they are turned so that down is down.
"""

from __future__ import annotations

from dataclasses import fields, replace
from math import cos, sin
from typing import Any

import casadi
import numpy as np
from casadi import DM, SX, vertcat

from problems.exoskeleton.assistance import normal_force, standing
from problems.exoskeleton.legs import ANGLES, WALKER, Legs, Walker
from problems.exoskeleton.model import GENTLE, THREE_LINK, ThreeLink
from problems.exoskeleton.slalom import MUSCLES, Course, Muscles, Rider, rider, roll_moment
from trajopt.mechanics import Tree
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Arrow, Drawing, Either, Ground, Mark, Rod, Trail

FORCE = 4e-3  # m drawn for 1 N
BOARD = 0.7  # m, half its length; the foot's rod is shorter
POLE = 1.3  # m
LEG, BODY, BOARD_COLOUR, PUSH, EXTENSION = 0, 1, 2, 3, 4  # colours


def turned(data: ThreeLink) -> np.ndarray:
    """From the slope's axes to axes in which down is down, (3, 3)."""
    c, s = cos(data.incline), sin(data.incline)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


@settable
def slalom_drawing(
    posture=setting("moving"),
    data: ThreeLink = THREE_LINK,
    muscles: Muscles = MUSCLES,
    course: Course = Course(),  # noqa: B008  # frozen
) -> Drawing:
    """A run through the gates; the picture goes along."""
    body, turn = rider(posture, data, muscles), turned(data)
    places = [SX.sym(name) for name in body.names]
    rates = [SX.sym("speed"), *(SX.sym(f"{name}_rate") for name in body.names[2:])]
    controls = [SX.sym(name) for name in body.limits]
    _, _, normal, across = body.motion(vertcat(*places), vertcat(*rates), vertcat(*controls))
    foot = body.tree.point("foot")
    shapes = (
        *_snow(turn, (-6.0, course.spacing * course.gates + 8.0), (-6.0, 6.0)),
        *(pole for gate in range(1, course.gates + 1) for pole in _gate(turn, course, gate)),
        *_figure(turn, body.tree, data),
        Arrow(_seen(turn, foot), _seen(turn, _snow_force(normal, across)), FORCE, PUSH),
    )
    return Drawing(
        shapes,
        _seen(turn, foot + vertcat(0, 0, 1.4)),
        2.3,
        (-52.0, 18.0),
        "m",
        "arrow: force of the snow",
    )


def snowboarder_drawing(
    tree: Tree, amplitude: float, wave: float, data: ThreeLink = THREE_LINK
) -> Drawing:
    """A slalom by programme constraints, and the track it is to follow."""
    turn = turned(data)
    x = np.linspace(0.0, 400.0, 8001)
    track = Ground(
        tuple(map(tuple, np.stack([x, amplitude * np.sin(wave * x), 0 * x], axis=1) @ turn.T)), 1.6
    )
    foot = tree.point("foot")
    force = _seen(turn, _snow_force(SX.sym("normal_force"), SX.sym("blade_force")))
    snow = _snow(turn, (-6.0, 402.0), (-8.0 - amplitude, 8.0 + amplitude))
    shapes = (
        *snow,
        track,
        *_figure(turn, tree, data),
        Arrow(_seen(turn, foot), force, FORCE, PUSH),
    )
    return Drawing(
        shapes,
        _seen(turn, foot + vertcat(0, 0, 0.9)),
        2.0,
        (-52.0, 18.0),
        "m",
        "arrow: force of the snow",
    )


@settable
def standing_drawing(forces=setting(True), data: ThreeLink = THREE_LINK) -> Drawing:
    """On the board across the slope; ``forces`` where nobody but the exoskeleton has torques."""
    (tree, model), turn = standing(data), turned(data)
    names = [c.name for c in tree.coordinates]
    q, v = vertcat(*[SX.sym(n) for n in names]), vertcat(*[SX.sym(f"{n}_rate") for n in names])
    shapes: list[Any] = [*_snow(turn, (-1.6, 1.6), (-1.2, 1.2), 0.4), *_figure(turn, tree, data)]
    if forces:
        u = vertcat(*[SX.sym(control.name) for control in model.controls])
        normal = normal_force(tree, model, q, v, model.acceleration(q, v, u))
        shapes.append(
            Arrow(tuple(turn @ np.zeros(3)), _seen(turn, vertcat(0, 0, normal)), FORCE, PUSH)
        )
    caption = "thin: extensions; arrow: normal force of the slope" if forces else "thin: extensions"
    return Drawing(tuple(shapes), view=(-72.0, 10.0), unit="m", caption=caption)


@settable
def assisted_drawing(data: ThreeLink = THREE_LINK) -> Drawing:
    """The same with a wearer, whose torques are not among the variables: without forces."""
    return standing_drawing(forces=False, data=data)


@settable
def two_legged_drawing(step=setting(0.68), data: Walker = WALKER) -> Drawing:
    """Seven links from the side: standing leg, trunk, swinging leg, the way of the swinging toe,
    and both footprints.
    """
    legs = Legs(data)
    angles = [SX.sym(name) for name in ANGLES]

    def place(link: str, along: float, up: float) -> Either:
        """With the standing foot's angle where it is a state, and flat where it is none."""
        point = legs.tree.point(link, (along, up, 0.0))[:2]
        return Either(
            *(
                casadi.substitute(point, legs.symbols[0], vertcat(0, 0, foot, *angles[1:]))
                for foot in (angles[0], 0)
            )
        )

    ball, d = data.foot_length - data.heel_length, data
    foot = (place("shank", 0, 0), place("foot", -d.foot_length, 0), place("foot", 0, 0))
    swung = (
        place("swing_foot", 0, 0),
        place("swing_foot", -d.heel_length, -d.ankle_height),
        place("swing_foot", ball, -d.ankle_height),
    )
    hip, swung_knee = place("trunk", 0, 0), place("swing_shank", 0, 0)
    knee = place("thigh", 0, 0)
    shapes = (
        Ground(((-2.0, 0.0), (2.0, 0.0)), 1.6),
        *(Ground(((s * step, 0.0), (s * step, -0.04)), 1.6) for s in (-1, 1)),
        Trail(swung[2], 4),
        Rod(swung, 1, 4, closed=True),
        Rod((hip, swung_knee, swung[0]), 1, 5),
        Rod(foot, 0, 4, closed=True),
        Rod((foot[0], knee, hip), 0, 5),
        Rod((hip, place("trunk", 0, 1.6 * d.trunk_centre)), 2, 6),
        *(Mark(joint, 6, 0) for joint in (foot[0], knee, hip)),
        *(Mark(joint, 6, 1) for joint in (swung_knee, swung[0])),
        Mark(place("trunk", 0, 1.6 * d.trunk_centre + 0.13), 17, 2),
    )
    return Drawing(
        shapes,
        unit="m",
        caption="blue: standing leg; red: swinging leg; marks: where the toe leaves and arrives",
    )


def programme_picture(simulation: Any = None) -> Any:
    """Deviations from the appendix' programme by Euler steps of 1 ms, not stabilized and by
    Baumgarte (the document's figures 16 and 17).
    """
    from problems.exoskeleton.snowboarder import snowboarder
    from trajopt.integrate import Baumgarte, Euler, simulate
    from trajopt.show.deviation_plots import plot_deviations

    system = snowboarder("appendix", track="heading", snow="two-sided")
    ways = {
        "not stabilized": None,
        "Baumgarte, gain 10": Baumgarte(10.0),
        "Baumgarte, gain 50": Baumgarte(50.0),
    }
    return plot_deviations(
        {label: simulate(system, Euler(1e-3), 0.5, way) for label, way in ways.items()}
    )


pictures = {
    "programme": programme_picture
}  # of the snowboarder's own; it runs the appendix' programme


def course_picture(solution: Any) -> Any:
    """A run from above, with its gates and its speed; the forces of the snow and their moment about
    the blade over time.
    """
    from matplotlib.collections import LineCollection

    from trajopt.show.figure_style import COLOURS, heading, new_figure, settle, tidy

    figure = new_figure(3, 2, (3.6, 2.5))
    axes = figure.subplot_mosaic([["above"] * 3, ["normal", "across", "moment"]])
    body = _rider_of(solution)
    runs = [_sampled(phase) for phase in solution.phases.values()]
    x, y, speed = (np.concatenate([run[name] for run in runs]) for name in ("x0", "y0", "speed"))
    points = np.stack([x, y], axis=1)
    line = LineCollection(
        np.stack([points[:-1], points[1:]], axis=1), cmap="viridis", linewidth=2.4
    )  # type: ignore[arg-type]
    line.set_array(speed[:-1])
    for panel in axes.values():
        tidy(panel)
    axes["above"].add_collection(line)
    for number, (place, low, high) in enumerate(_windows(solution), start=1):
        axes["above"].plot(
            [place, place],
            [low, high],
            "o-",
            color=COLOURS[number % 2],
            markersize=5,
            linewidth=0.8,
        )
    axes["above"].autoscale_view()
    axes["above"].set_aspect("equal", adjustable="datalim")
    axes["above"].set_xlabel("x0, downhill [m]")
    axes["above"].set_ylabel("y0 [m]")
    scale = figure.colorbar(line, ax=axes["above"], pad=0.01)
    scale.ax.tick_params(labelsize=8, length=0)
    scale.set_label("speed [m/s]", fontsize=8.5)
    for phase, run in zip(solution.phases.values(), runs, strict=True):
        for name, values in _forces(run, body).items():
            axes[name].plot(run["t"], values, color=COLOURS[0], linewidth=1.6)
            axes[name].axvline(phase.tf, color="#bbbbbb", linewidth=0.7)
    for name, title in (
        ("normal", "force normal to the slope"),
        ("across", "force across the blade"),
        ("moment", "moment about the blade"),
    ):
        axes[name].set_xlim(runs[0]["t"][0], runs[-1]["t"][-1])
        axes[name].set_xlabel("t [s]; lines: gates")
        settle(axes[name], title, "N m" if name == "moment" else "N")
    heading(figure, f"{solution.problem}   objective {solution.objective:.8g}", solution.success)
    return figure


courses = {"course": course_picture}  # of the slaloms' own


def _sampled(phase: Any) -> dict[str, np.ndarray]:
    t = np.linspace(phase.t0, phase.tf, 200)
    return {"t": t} | {
        n: c.evaluate(t)[:, 0] for group in (phase.states, phase.controls) for n, c in group.items()
    }


def _windows(solution: Any) -> list[tuple[float, float, float]]:
    """Where each gate stands, and between what it is to be passed; from the statement, where the
    answer still has it.
    """
    found = []
    for phase in solution.phases.values():
        place, passed = (
            float(phase.states[name].evaluate(np.array([phase.tf]))[0, 0]) for name in ("x0", "y0")
        )
        low = high = passed
        if solution.form is not None:
            form = next(ph for ph in solution.form.phases if ph.name == phase.name)
            bound = next(q for q in form.states if q.name == "y0").end
            low, high = float(bound.lower[0]), float(bound.upper[0])
        found.append((place, low, high))
    return found


def _rider_of(solution: Any) -> Rider:
    """The rider of a run, by its states and by the settings it was built with."""
    states = next(iter(solution.phases.values())).states
    leaning = "roll" in states
    data = GENTLE if leaning else THREE_LINK
    given = {f.name: solution.settings[f.name] for f in fields(data) if f.name in solution.settings}
    posture = "leaning" if leaning else "moving" if "psi1" in states else "rigid"
    return rider(posture, replace(data, **given))


def _forces(run: dict[str, np.ndarray], body: Rider) -> dict[str, np.ndarray]:
    """Normal force and blade force (N), and the moment about the blade (N m), along a phase."""
    names = (body.names, ["speed", *(f"{name}_rate" for name in body.names[2:])], list(body.limits))
    columns = [np.stack([run[name] for name in group]) for group in names]
    count = len(run["t"])
    _, _, normal, across = body.motion.map(count)(*columns)
    moment = roll_moment(body).map(count)(*columns)
    values = {"normal": normal, "across": across, "moment": moment}
    return {name: np.asarray(value.full()).ravel() for name, value in values.items()}


def _seen(turn: np.ndarray, place: Any) -> Any:
    """From the slope's axes to those of the picture, in which z is up."""
    return DM(turn) @ place


def _snow_force(normal: Any, across: Any) -> Any:
    """Normal to the slope, and across the blade, whose heading is phi0."""
    phi = SX.sym("phi0")
    return vertcat(-across * casadi.sin(phi), across * casadi.cos(phi), normal)


def _figure(turn: np.ndarray, tree: Tree, data: ThreeLink) -> tuple[Any, ...]:
    """Board, leg and body, thin where they are extended; the track of the board and the way of the
    head.
    """
    foot, knee, hip, waist, neck = (
        tree.point("foot"),
        tree.point("leg"),
        tree.point("leg", (data.leg_length, 0.0, 0.0)),
        tree.point("body"),
        tree.point("body", (data.body_length, 0.0, 0.0)),
    )
    board = tuple(_seen(turn, tree.point("foot", (s * BOARD, 0.0, 0.0))) for s in (-1, 1))
    head = tree.point("body", (data.body_length + 0.13, 0.0, 0.0))
    return (
        Trail(_seen(turn, foot), EXTENSION, 1.8),
        Rod(board, BOARD_COLOUR, 5),
        Rod((_seen(turn, foot), _seen(turn, knee)), EXTENSION, 2.2),
        Rod((_seen(turn, hip), _seen(turn, waist)), EXTENSION, 2.2),
        Rod((_seen(turn, knee), _seen(turn, hip)), LEG, 5.5),
        Rod((_seen(turn, waist), _seen(turn, neck)), BODY, 5.5),
        *(Mark(_seen(turn, joint), 6, LEG) for joint in (foot, hip)),
        Mark(_seen(turn, head), 14, BODY),
    )


def _snow(
    turn: np.ndarray, along: tuple[float, float], across: tuple[float, float], apart: float = 2.0
) -> tuple[Ground, ...]:
    """The plane of the slope as a grid."""
    lines = [
        ((along[0], y, 0.0), (along[1], y, 0.0))
        for y in np.arange(across[0], across[1] + 1e-9, apart)
    ]
    lines += [
        ((x, across[0], 0.0), (x, across[1], 0.0))
        for x in np.arange(along[0], along[1] + 1e-9, apart)
    ]
    return tuple(Ground(tuple(tuple(turn @ np.array(end)) for end in line), 0.5) for line in lines)


def _gate(turn: np.ndarray, course: Course, gate: int) -> tuple[Rod, ...]:
    """Two poles, red and blue in turn."""
    middle = course.centre(gate)
    poles = []
    for side in (-1, 1):
        bottom = np.array([course.spacing * gate, middle + side * course.width / 2, 0.0])
        ends = (turn @ bottom, turn @ bottom + np.array([0.0, 0.0, POLE]))
        poles.append(Rod(tuple(tuple(float(v) for v in end) for end in ends), gate % 2, 3.0))
    return tuple(poles)
