"""Bad inputs, as a table: each gives one message that names the culprit and the remedy.

A case is a function, and words that its message contains. An error is a ``TrajoptError`` (or, for
expressions, a ``TypeError`` of Python with the same form); a case marked ``warns`` goes on with a
``TrajoptWarning``.
"""

import math
import warnings
from dataclasses import dataclass

import casadi
import numpy as np
import pytest

from problems.robots import ARM
from trajopt import (
    Both,
    Collocation,
    Compiled,
    Curve,
    Ipopt,
    Mesh,
    ModelPredictive,
    Problem,
    Radau,
    Shooting,
    answer_from,
    builder,
    certify,
    fit,
    free,
    load,
    prepare,
    read_answer,
    solve,
    sweep,
    table,
)
from trajopt.errors import TrajoptError, TrajoptWarning
from trajopt.integrate import Euler, Rk4, simulate
from trajopt.mechanics import Coordinate, Holonomic, Link, Mechanism, Quantity, read_robot
from trajopt.robots import reach
from trajopt.show.plots import plot_solution


@dataclass
class Bench:
    """A small complete problem, with what the cases need."""

    ocp: Problem
    ph: object
    t: object
    x: object
    v: object
    u: object
    mass: object


def bench(symbols=casadi.SX, finished=True):
    ocp = Problem("bench", symbols=symbols)
    mass = ocp.parameter("mass", 2.0, unit="kg", lower=0.1)
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0)
    u = ph.control("u", lower=-9, upper=9)
    if finished:
        ph.dynamics({x: v, v: u / mass})
        ocp.minimize(ph.integral(u**2))
    return Bench(ocp, ph, t, x, v, u, mass)


def on_bench(use, **options):
    """A case on a bench."""
    return lambda folder: use(bench(**options))


def chained(b):
    return b.ph.path(-1 <= b.x <= 1)


def conjoined(b):
    return b.ph.path(b.x > 0 and b.v > 0)


def branched(b):
    return b.v if b.x > 0 else b.u


def phase_with(**options):
    """A case: a phase whose time or variables have these options."""

    def use(folder):
        ocp = Problem("options")
        ph = ocp.phase()
        ph.time(**options.pop("time", {"start": 0, "end": 1}))
        x = ph.state("x", **options.pop("state", {}))
        u = ph.control("u", **options.pop("control", {}))
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2))
        return solve(ocp, **options)

    return use


def solved(folder):
    return solve(bench().ocp)


EXPRESSIONS = {
    "chained comparison": (on_bench(chained), ["lower=", "upper="]),
    "and between relations": (on_bench(conjoined), ["ph.path"]),
    "if on a symbol": (on_bench(branched), ["if_else"]),
    "max of Python": (on_bench(lambda b: max(b.x, b.v)), ["fmax"]),
    "min of Python": (on_bench(lambda b: min(b.x, 1)), ["fmin"]),
    "math.sin": (on_bench(lambda b: math.sin(b.x)), ["casadi"]),
    "math.sqrt": (on_bench(lambda b: math.sqrt(b.x)), ["casadi"]),
    "float": (on_bench(lambda b: float(b.x)), ["casadi"]),
    "int": (on_bench(lambda b: int(b.x)), ["casadi"]),
    "a symbol of another class": (
        on_bench(lambda b: b.ph.path(casadi.MX.sym("w") + 1, lower=0)),
        ["MX", "symbols=casadi.MX"],
    ),
    "a symbol that nobody declared": (
        on_bench(lambda b: (b.ph.path(casadi.SX.sym("w"), lower=0), solve(b.ocp))),
        ["w"],
    ),
    "a state of another problem": (
        on_bench(lambda b: (b.ph.path(bench().x, lower=0), solve(b.ocp))),
        ["x"],
    ),
    "a state outside of a phase": (
        on_bench(lambda b: (b.ocp.require(b.x, equals=1), solve(b.ocp))),
        ["x", "final"],
    ),
    "a cost that is a function of time": (
        on_bench(lambda b: (b.ocp.minimize(b.u**2), solve(b.ocp)), finished=False),
        ["u"],
    ),
    "a vector as cost": (
        on_bench(lambda b: b.ocp.minimize(casadi.vertcat(b.ph.final(b.x), 1)), finished=False),
        ["objective", "1"],
    ),
    "text as cost": (on_bench(lambda b: b.ocp.minimize("u**2"), finished=False), ["objective"]),
    "no cost": (
        on_bench(lambda b: (b.ph.dynamics({b.x: b.v, b.v: b.u}), solve(b.ocp)), finished=False),
        ["minimize"],
    ),
    "two costs": (on_bench(lambda b: b.ocp.maximize(b.ph.final(b.x))), ["twice"]),
    "unequal on a path": (on_bench(lambda b: b.ph.path(b.x != 1)), ["!=", "x"]),
    "a strict relation of numbers": (on_bench(lambda b: b.ph.path(2 < 3)), ["path"]),
    "a relation with limits": (
        on_bench(lambda b: b.ph.path(b.x <= 1, lower=0)),
        ["one of the two"],
    ),
    "a path without limits": (on_bench(lambda b: b.ph.path(b.x)), ["limit"]),
    "an empty bound of a path": (on_bench(lambda b: b.ph.path(b.x, lower=2, upper=1)), ["2", "1"]),
    "dictionary keys by name": (
        on_bench(lambda b: b.ph.dynamics({"x": b.v, "v": b.u}), finished=False),
        ["x"],
    ),
    "dynamics as a list": (
        on_bench(lambda b: b.ph.dynamics([b.v, b.u]), finished=False),
        ["dictionary"],
    ),
    "dynamics of a control": (
        on_bench(lambda b: b.ph.dynamics({b.u: b.v}), finished=False),
        ["'u' is not a state"],
    ),
    "dynamics of a wrong size": (
        on_bench(lambda b: b.ph.dynamics({b.x: casadi.vertcat(b.v, b.u)}), finished=False),
        ["size", "2", "1"],
    ),
    "dynamics of a component": (
        on_bench(lambda b: b.ph.dynamics({b.x[0]: b.v}), finished=False),
        ["vector"],
    ),
    "a state without dynamics": (
        on_bench(lambda b: (b.ph.dynamics({b.x: b.v}), solve(b.ocp)), finished=False),
        ["v"],
    ),
    "a derivative twice": (on_bench(lambda b: b.ph.dynamics({b.x: b.v})), ["twice"]),
    "an integral of a vector": (
        on_bench(lambda b: b.ph.integral(casadi.vertcat(b.x, b.v))),
        ["integral", "size"],
    ),
    "an unused control": (
        on_bench(
            lambda b: (
                b.ph.dynamics({b.x: b.v, b.v: 1}),
                b.ocp.minimize(b.ph.final(b.x)),
                solve(b.ocp),
            ),
            finished=False,
        ),
        ["u"],
    ),
    "an output twice": (
        on_bench(lambda b: (b.ph.output("p", b.x), b.ph.output("p", b.v))),
        ["'p'", "twice"],
    ),
    "an output without a name": (on_bench(lambda b: b.ph.output("", b.x)), ["name", "string"]),
    "an invariant of order 5": (
        on_bench(lambda b: b.ph.invariant("e", b.x, order=5)),
        ["0, 1 or 2"],
    ),
    "the costate of a control": (on_bench(lambda b: b.ph.costate(b.u)), ["u"]),
}

NAMES = {
    "a number as name of a problem": (lambda f: Problem(3), ["name", "3"]),
    "an empty name": (lambda f: Problem(" "), ["name"]),
    "symbols as text": (lambda f: Problem("p", symbols="MX"), ["casadi.SX or casadi.MX"]),
    "a number as name of a state": (on_bench(lambda b: b.ph.state(1)), ["name", "1"]),
    "a name twice": (on_bench(lambda b: b.ph.state("x")), ["'x'", "twice"]),
    "the name of time": (on_bench(lambda b: b.ph.state("t")), ["'t'"]),
    "a phase twice": (on_bench(lambda b: b.ocp.phase("main")), ["main"]),
    "a parameter twice": (on_bench(lambda b: b.ocp.parameter("mass", 1)), ["mass", "twice"]),
    "a unit that is a number": (on_bench(lambda b: b.ph.state("w", unit=3)), ["unit", "3"]),
    "an unknown keyword": (on_bench(lambda b: b.ph.state("w", min=0)), ["min", "lower"]),
    "a misspelled keyword": (on_bench(lambda b: b.ph.control("w", uper=0)), ["uper", "upper"]),
    "an unknown keyword of solve": (
        on_bench(lambda b: solve(b.ocp, tol=1e-6)),
        ["tol", "tolerance"],
    ),
    "an unknown keyword of time": (on_bench(lambda b: b.ph.time(final=2)), ["final", "end"]),
    "a size of zero": (on_bench(lambda b: b.ph.state("w", 0)), ["size", "0"]),
    "a size that is not whole": (on_bench(lambda b: b.ph.state("w", 2.5)), ["size", "2.5"]),
    "a billion components": (on_bench(lambda b: b.ph.state("w", 10**9)), ["largest="]),
    "components of a wrong number": (
        on_bench(lambda b: b.ph.state("w", 3, components=("a", "b"))),
        ["components", "3"],
    ),
    "components as text": (on_bench(lambda b: b.ph.state("w", components="ab")), ["tuple"]),
    "an unknown component": (
        on_bench(lambda b: b.ph.state("w", components=("hip", "knee"))["kne"]),
        ["kne", "knee"],
    ),
    "an index out of range": (on_bench(lambda b: b.ph.state("w", 2)[5]), ["5"]),
    "time twice": (on_bench(lambda b: b.ph.time(start=0)), ["twice"]),
    "a unit that does not exist": (phase_with(state={"unit": "metrs"}), ["metrs", "x"]),
    "different units": (
        phase_with(state={"unit": "m"}, control={"unit": "kg"}),
        ["x", "kg"],
    ),
}

BOUNDS = {
    "bounds the wrong way round": (phase_with(state={"lower": 1, "upper": 0}), ["x", "1", "0"]),
    "a start outside the bounds": (phase_with(state={"lower": 0, "start": -1}), ["x", "-1"]),
    "an end outside the bounds": (phase_with(state={"upper": 2, "end": 3}), ["x", "3"]),
    "a bound as text": (phase_with(state={"lower": "zero"}), ["x", "zero"]),
    "a bound that is nan": (phase_with(control={"upper": float("nan")}), ["u", "nan"]),
    "bounds of a wrong size": (phase_with(state={"lower": [0, 0]}), ["x", "2"]),
    "free the wrong way round": (lambda f: free(2, 1), ["2", "1"]),
    "free of text": (phase_with(state={"start": free("a", 1)}), ["a"]),
    "a guess outside of free": (lambda f: free(0, 1, guess=5), ["guess", "5"]),
    "time that runs backwards": (phase_with(time={"start": 1, "end": 0}), ["time"]),
    "time without length": (phase_with(time={"start": 1, "end": 1}), ["time"]),
    "time as text": (phase_with(time={"start": 0, "end": "1 s"}), ["1 s"]),
    "a scale of zero": (phase_with(state={"scale": 0}), ["scale", "x"]),
    "a negative scale": (phase_with(state={"scale": -1}), ["scale", "x"]),
    "a parameter outside its range": (
        on_bench(lambda b: solve(b.ocp, parameters={"mass": -1})),
        ["mass", "-1", "0.1"],
    ),
    "an unknown parameter": (
        on_bench(lambda b: solve(b.ocp, parameters={"mas": 1})),
        ["mas", "mass"],
    ),
    "a parameter that is nan": (
        on_bench(lambda b: solve(b.ocp, parameters={"mass": float("nan")})),
        ["mass", "nan"],
    ),
    "parameters as a list": (on_bench(lambda b: solve(b.ocp, parameters=[2])), ["dictionary"]),
    "the value of a parameter as text": (lambda f: Problem("p").parameter("m", "heavy"), ["heavy"]),
    "a table with nan": (
        lambda f: table([0, 1, 2, 3], values=[0, 1, np.nan, 2], name="hill"),
        ["hill"],
    ),
    "a table that descends": (
        lambda f: table([3, 2, 1, 0], values=[0, 1, 2, 3], name="hill"),
        ["hill", "ascend"],
    ),
    "a table of three points": (
        lambda f: table([0, 1, 2], values=[0, 1, 2], name="hill"),
        ["hill", "four"],
    ),
    "a table of different lengths": (
        lambda f: table([0, 1, 2, 3], values=[0, 1], name="hill"),
        ["hill"],
    ),
    "a table of text": (lambda f: table([0, 1, 2, 3], values=list("abcd"), name="hill"), ["hill"]),
    "a table in SX": (
        on_bench(lambda b: table([0, 1, 2, 3], values=[0, 1, 2, 3])(b.x)),
        ["symbols=casadi.MX"],
    ),
    "a table with two arguments": (
        lambda f: table([0, 1, 2, 3], values=[0, 1, 2, 3])(1, 2),
        ["2 arguments", "1"],
    ),
}


def raising(tau):
    raise ValueError("no data")


SOLVING = {
    "a builder instead of a problem": (lambda f: solve(builder("block-move")), ["Problem"]),
    "a name instead of a problem": (lambda f: solve("block-move"), ["Problem"]),
    "an unknown method": (on_bench(lambda b: solve(b.ocp, "shooting")), ["shooting", "indirect"]),
    "tolerance as text": (
        on_bench(lambda b: solve(b.ocp, tolerance="1e-6")),
        ["tolerance", "1e-6"],
    ),
    "a tolerance of zero": (on_bench(lambda b: solve(b.ocp, tolerance=0)), ["tolerance", "0"]),
    "a negative time limit": (on_bench(lambda b: solve(b.ocp, time_limit=-1)), ["time_limit"]),
    "no starts": (on_bench(lambda b: solve(b.ocp, starts=0)), ["starts", "1"]),
    "half a seed": (on_bench(lambda b: solve(b.ocp, seed=0.5)), ["seed"]),
    "each_mesh as text": (on_bench(lambda b: solve(b.ocp, each_mesh="print")), ["each_mesh"]),
    "progress as text": (on_bench(lambda b: solve(b.ocp, progress="yes")), ["progress"]),
    "a guess as a number": (on_bench(lambda b: solve(b.ocp, guess=3)), ["guess", "Solution"]),
    "the guess of another problem": (
        on_bench(lambda b: solve(b.ocp, guess=solve(builder("lqr-scalar")()))),
        ["guess"],
    ),
    "a guess that raises": (phase_with(state={"guess": raising}), ["x", "no data"]),
    "a guess without arguments": (phase_with(state={"guess": lambda: 1}), ["x", "argument"]),
    "a guess of a wrong size": (phase_with(state={"guess": [1, 2, 3]}), ["x", "3"]),
    "a guess that is nan": (phase_with(state={"guess": lambda tau: float("nan")}), ["x"]),
    "a guess as text": (phase_with(state={"guess": "straight"}), ["x", "straight"]),
    "no passes": (lambda f: solve(bench().ocp, Collocation(max_passes=0)), ["max_passes"]),
    "a misspelled setting": (lambda f: Collocation(max_pases=3), ["max_pases", "max_passes"]),
    "a scheme as text": (lambda f: solve(bench().ocp, Collocation(scheme="radau")), ["scheme"]),
    "Radau of degree 0": (lambda f: Radau(0).rule(0), ["0"]),
    "a mesh of no intervals": (lambda f: Mesh.uniform(0, 3), ["0"]),
    "a mesh that does not ascend": (lambda f: Mesh([0, 0.5, 0.2, 1], 3), ["increasing"]),
    "shooting with collocation's setting": (lambda f: Shooting(max_passes=3), ["max_passes"]),
    "a change after the solve": (
        on_bench(lambda b: (solve(b.ocp), b.ph.state("w"))),
        ["finished"],
    ),
    "a phase without time": (lambda f: solve(timeless()), ["time"]),
    "a problem without phases": (lambda f: solve(Problem("empty")), ["phase"]),
    "prepare without a problem": (lambda f: prepare(3), ["Problem"]),
    "an unknown boundary value": (
        on_bench(lambda b: prepare(b.ocp).solve(initial={"y": 1})),
        ["y"],
    ),
    "sweep over an unknown setting": (
        lambda f: sweep(builder("moon-lander"), {"hight": [1, 2]}),
        ["hight", "height"],
    ),
    "sweep over nothing": (lambda f: sweep(builder("moon-lander"), {}), ["grid"]),
    "sweep over no values": (lambda f: sweep(builder("moon-lander"), {"height": []}), ["height"]),
    "sweep over text": (lambda f: sweep(builder("moon-lander"), {"height": "abc"}), ["height"]),
    "sweep of a problem": (lambda f: sweep(bench().ocp, {"mass": [1, 2]}), ["function"]),
    "an unknown builder": (lambda f: builder("brachistocrone"), ["brachistochrone"]),
}


def timeless():
    ocp = Problem("timeless")
    ph = ocp.phase()
    x, u = ph.state("x"), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.final(x))
    return ocp


RESULTS = {
    "an unknown variable": (lambda f: solved(f)["y"], ["y", "x"]),
    "an unknown phase": (lambda f: solved(f)["flight", "x"], ["flight", "main"]),
    "an unknown costate": (lambda f: solved(f).costate("u"), ["u", "x"]),
    "a time outside": (lambda f: solved(f)["x"](2.0), ["2", "0 to 1"]),
    "a component of a scalar": (lambda f: solved(f)["x"]["a"], ["a"]),
    "an unknown kind of plot": (lambda f: solved(f).plot("mash"), ["mash", "mesh"]),
    "a plot of an unknown variable": (lambda f: plot_solution(solved(f), names=["y"]), ["y"]),
    "a plot with an unknown ending": (lambda f: solved(f).plot(path=f / "a.doc"), [".doc", ".png"]),
    "a film with an unknown ending": (
        lambda f: solve(builder("cart-pole")()).animate(f / "a.txt"),
        [".gif"],
    ),
    "a film without a drawing": (lambda f: solved(f).animate(f / "a.gif"), ["drawing"]),
    "an unknown sensitivity": (lambda f: solved(f).sensitivity("mas"), ["mas", "mass"]),
    "a curve without pieces": (lambda f: Curve([0.0], (), ()), ["break"]),
    "certify a file name": (lambda f: certify("a.nc"), ["Solution"]),
    "certify with a tolerance of 2": (lambda f: certify(solved(f), tolerance=2), ["tolerance"]),
    "a missing file": (lambda f: load(f / "none.nc"), ["none.nc", "exist"]),
    "a folder as file": (lambda f: load(f), ["directory"]),
    "an empty file": (lambda f: ((f / "a.nc").touch(), load(f / "a.nc")), ["empty"]),
    "a text file": (lambda f: ((f / "a.nc").write_text("hello"), load(f / "a.nc")), ["netCDF"]),
    "half a file": (lambda f: load(halved(f)), ["cut off"]),
    "a file that was changed": (lambda f: load(changed(f)), ["damaged"]),
    "save into a missing folder": (lambda f: solved(f).save(f / "none" / "a.nc"), ["none"]),
    "save over a folder": (lambda f: solved(f).save(f), [""]),
    "save to a device": (lambda f: solved(f).save("/dev/null"), ["/dev/null"]),
    "no points in a table": (lambda f: solved(f).to_csv(f / "a.csv", points=0), ["points"]),
    "a family without that column": (
        lambda f: sweep(builder("moon-lander"), {"height": [5.0]})["hight"],
        ["hight"],
    ),
}


def halved(folder):
    solved(folder).save(folder / "a.nc")
    (folder / "a.nc").write_bytes((folder / "a.nc").read_bytes()[:5000])
    return folder / "a.nc"


def changed(folder):
    solved(folder).save(folder / "a.nc")
    content = bytearray((folder / "a.nc").read_bytes())
    content[300] ^= 1
    (folder / "a.nc").write_bytes(content)
    return folder / "a.nc"


X, Y = Coordinate("x", start=1.0), Coordinate("y")

MODELS = {
    "a coordinate twice": (lambda f: Mechanism("m", (X, Coordinate("x")), kinetic=X.v**2), ["x"]),
    "a force on nothing": (
        lambda f: Mechanism("m", (X,), kinetic=X.v**2, forces={"z": 1.0}),
        ["z", "x"],
    ),
    "an undeclared symbol in an energy": (
        lambda f: Mechanism("m", (X,), kinetic=casadi.SX.sym("k") * X.v**2),
        ["k"],
    ),
    "no coordinates": (lambda f: Mechanism("m", (), kinetic=0), ["coordinate"]),
    "a constraint on velocities as a position": (
        lambda f: Mechanism(
            "m", (X, Y), kinetic=X.v**2 + Y.v**2, constraints=(Holonomic("h", X.v - 1),)
        ),
        ["h", "Nonholonomic"],
    ),
    "a massless coordinate": (
        lambda f: simulate(Mechanism("m", (X, Y), kinetic=X.v**2).system(), until=1),
        ["y"],
    ),
    "an unknown coordinate": (
        lambda f: Mechanism("m", (X,), kinetic=X.v**2).index("q"),
        ["q", "x"],
    ),
    "a negative mass": (lambda f: Link("arm", "ground", (), mass=-1.0), ["mass", "-1"]),
    "an unstable step": (
        lambda f: simulate(builder("double-pendulum")(), Euler(0.5), until=40),
        ["step"],
    ),
    "an unknown integrator": (
        lambda f: simulate(builder("pendulum")(), integrator="rk5"),
        ["rk5", "rk4"],
    ),
    "a negative time": (lambda f: simulate(builder("pendulum")(), until=-1), ["-1"]),
    "a step of zero": (
        lambda f: simulate(builder("pendulum")(), Rk4(0)),
        ["step"],
    ),
    "an unknown initial value": (
        lambda f: builder("pendulum")().starting_at({"angel": 1}),
        ["angel"],
    ),
    "a problem instead of a system": (lambda f: simulate(bench().ocp), ["System"]),
    "an unknown state of a motion": (
        lambda f: simulate(builder("pendulum")(), until=0.1)["angel"],
        ["angel"],
    ),
    "a quantity without a name": (lambda f: Quantity(""), ["name"]),
}


def written(folder, text, name="a.csv"):
    (folder / name).write_text(text)
    return folder / name


def urdf(folder, *, mass="1", axis="0 0 1", loop=False):
    """A robot of two links, with one mistake."""
    closing = '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint>'
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    text = f"""<robot name="r"><link name="a"/>
    <link name="b"><inertial><mass value="{mass}"/>{inertia}</inertial></link>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="{axis}"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
    {closing if loop else ""}</robot>"""
    return read_robot(written(folder, text, "r.urdf"))


def moved(**changes):
    """A case: a motion of the arm, with other arguments."""
    given = {"start": (-1, 0.9, 0.8, 0.4), "end": (1, 0.6, 1.2, 0.2), "duration": 1.0} | changes
    return lambda folder: reach(**{"robot": read_robot(ARM)} | given)


ROBOTS = {
    "a missing robot file": (lambda f: read_robot(f / "none.urdf"), ["none.urdf", "URDF"]),
    "a mass that is text": (lambda f: urdf(f, mass="heavy"), ["value", "heavy", "number"]),
    "an axis of two numbers": (lambda f: urdf(f, axis="0 1"), ["xyz", "0 1", "3 numbers"]),
    "joints in a loop": (lambda f: urdf(f, loop=True), ["tree", "loop"]),
    "a robot without joints": (
        lambda f: reach(
            read_robot(written(f, '<robot name="r"><link name="a"/></robot>', "r.urdf")), (), ()
        ),
        ["'r'", "joint"],
    ),
    "a payload as a number": (lambda f: read_robot(ARM, payload=2.0), ["payload", "tool"]),
    "a path as a robot": (moved(robot=str(ARM)), ["robot", "read_robot"]),
    "a posture as text": (moved(start="home"), ["start", "home", "elbow"]),
    "a negative duration": (moved(duration=-1.0), ["duration", "-1"]),
    "a sphere without brackets": (moved(avoid=("tool", (0, 0, 1), 0.2)), ["avoid", "tool"]),
}


def two_phases():
    ocp = Problem("two")
    first, second = ocp.phase("first"), ocp.phase("second")
    first.time(start=0, end=1)
    first.state("x"), second.state("y")
    return ocp, first, second


def fitted(data, **options):
    ocp = Problem("decay")
    rate = ocp.variable("rate", lower=0, upper=10, guess=1)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=1)
    ph.dynamics({x: -rate * x})
    return fit(ocp, data, **options)


def read(text, ending="csv"):
    """A case: an answer to the bench in a file with this text."""
    return lambda folder: read_answer(written(folder, text, f"a.{ending}"), bench().ocp)


MEASURED = {"t": [0.1, 0.5, 0.9], "x": [0.9, 0.6, 0.4]}

DATA = {
    "a fit to a list": (lambda f: fitted([1, 2, 3]), ["table", "columns"]),
    "a fit to a missing file": (lambda f: fitted(f / "none.csv"), ["none.csv", "CSV"]),
    "a fit to words": (lambda f: fitted(written(f, "t,x\n0,one\n")), ["row 2", "'x'", "one"]),
    "a fit to an empty file": (lambda f: fitted(written(f, "")), ["table", "'t'"]),
    "a confidence as text": (lambda f: fitted(MEASURED, confidence="95%"), ["confidence", "95%"]),
    "a deviation of another": (lambda f: fitted(MEASURED, deviations={"y": 1}), ["'x'", "y"]),
    "a missing answer": (lambda f: read_answer(f / "a.csv", bench().ocp), ["a.csv", "exist"]),
    "an answer of words": (read("t,x,v,u\n0,zero,0,0\n"), ["row 2", "zero"]),
    "an answer with a short row": (read("t,x,v,u\n0,1\n"), ["row 2", "2 values"]),
    "an empty answer": (read(""), ["a.csv", "column"]),
    "an answer that is half JSON": (read("{", "json"), ["a.json", "numbers"]),
    "an answer as a list": (lambda f: answer_from(bench().ocp, [1, 2]), ["values", "dictionary"]),
    "an answer of letters": (
        lambda f: answer_from(bench().ocp, {"t": ["a", "b"], "x": [0, 1], "v": [0, 1], "u": [0]}),
        ["times", "numbers"],
    ),
    "a file as a number": (lambda f: load(3), ["3", "path"]),
    "a number of points as text": (lambda f: solved(f).to_csv(f / "a.csv", "ten"), ["ten", "2"]),
}

AGAIN = {
    "a controller of a problem": (lambda f: ModelPredictive(bench().ocp, 10), ["prepare(problem)"]),
    "a rate as text": (
        lambda f: ModelPredictive(prepare(bench().ocp), "10 Hz"),
        ["rate", "10 Hz"],
    ),
    "a batch of a number": (lambda f: prepare(bench().ocp).map(3), ["map", "columns"]),
    "boundary values as a list": (
        lambda f: prepare(bench().ocp).solve(initial=[0, 0]),
        ["initial", "dictionary"],
    ),
    "sweep over a number": (lambda f: sweep(builder("moon-lander"), {"height": 5}), ["height"]),
    "sweep over a list": (lambda f: sweep(builder("moon-lander"), ["height"]), ["dictionary"]),
    "sweep from a file name": (
        lambda f: sweep(builder("moon-lander"), {"height": [5.0]}, guess="a.nc"),
        ["guess", "load"],
    ),
    "connected by names": (lambda f: two_phases()[0].connect("first", "second"), ["phase"]),
    "connected without a common state": (
        lambda f: (lambda ocp, a, b: ocp.connect(a, b))(*two_phases()),
        ["'first' has x", "'second' has y", "ocp.require"],
    ),
    "a number as a system": (
        on_bench(lambda b: b.ph.in_redundant_coordinates(3)),
        ["in_redundant_coordinates", "System"],
    ),
    "a number as a reference": (
        lambda f: certify(solved(f), reference=3.0),
        ["reference", "Reference("],
    ),
    "a file name as another answer": (
        lambda f: certify(solved(f), other="b.nc"),
        ["other", "load"],
    ),
    "numbers as methods": (lambda f: Both(3, 4), ["direct", "Collocation"]),
    "a backend as text": (lambda f: Collocation(backend="ipopt"), ["backend", "Ipopt()"]),
    "an unknown option of IPOPT": (
        lambda f: solve(bench().ocp, Collocation(backend=Ipopt(options={"tolly": 1}))),
        ["tolly", "options"],
    ),
    "a time as a word": (lambda f: solved(f)["x"]("middle"), ["middle", "number"]),
    "a variable by its number": (lambda f: solved(f)[0], ["'0'", "x, v, u"]),
    "a kind of plot by its number": (lambda f: solved(f).plot(3), ["3", "mesh"]),
    "a sensitivity by its number": (lambda f: solved(f).sensitivity(3), ["3", "mass"]),
    "a problem by its number": (lambda f: builder(3), ["3", "name"]),
    "a size as text": (lambda f: Problem("p").variable("a", "big"), ["'a'", "big", "integer"]),
    "a table of a vector": (
        lambda f: table([0, 1, 2, 3], values=[0, 1, 2, 3])(casadi.MX.sym("v", 2)),
        ["sizes [2]", "component"],
    ),
}


def linked(use):
    """A case: two phases with a state and a control each, and what is done with them."""

    def case(folder):
        ocp = Problem("two")
        a, b = ocp.phase("a"), ocp.phase("b")
        a.time(start=0, end=1)
        b.time(end=2)
        for ph in (a, b):
            x, u = ph.state("x", start=0), ph.control("u")
            ph.dynamics({x: u})
        ocp.minimize(a.final(a.declared["x"].symbol))
        use(ocp, a, b)
        return solve(ocp)

    return case


def foreign_table(folder):
    (folder / "family.csv").write_text("mine")
    try:
        sweep(builder("moon-lander"), {"height": [5.0]}, folder=folder)
    finally:
        assert (folder / "family.csv").read_text() == "mine"


STATED = {
    "a phase with itself": (linked(lambda p, a, b: p.connect(a, a)), ["'a'", "itself"]),
    "a phase of another problem": (
        linked(lambda p, a, b: p.connect(a, Problem("other").phase("b"))),
        ["'b'", "'other'"],
    ),
    "phases twice": (linked(lambda p, a, b: (p.connect(a, b), p.connect(a, b))), ["'x'", "twice"]),
    "a jump as a list": (linked(lambda p, a, b: p.connect(a, b, jump=[1])), ["jump", "dictionary"]),
    "states as text": (linked(lambda p, a, b: p.connect(a, b, states="x")), ["['x']"]),
    "phases that share nothing": (linked(lambda p, a, b: None), ["'b'", "ocp.connect(a, b)"]),
    "an output at the end": (
        on_bench(lambda b: (b.ph.output("p", b.ph.final(b.x)), solve(b.ocp))),
        ["output 'p'", "x(tf)"],
    ),
    "an output with a wrong unit": (
        on_bench(lambda b: (b.ph.output("p", b.x, unit="Newtonz"), solve(b.ocp))),
        ["'p'", "Newtonz"],
    ),
    "a path with a number as name": (on_bench(lambda b: b.ph.path(b.x, upper=1, name=3)), ["3"]),
    "an invariant with a number as name": (on_bench(lambda b: b.ph.invariant(3, b.x)), ["3"]),
    "text as an expression": (on_bench(lambda b: b.ph.output("p", "u*v")), ["'u*v'"]),
    "nan in dynamics": (
        on_bench(lambda b: b.ph.dynamics({b.x: math.nan, b.v: b.u}), finished=False),
        ["'x'", "finite"],
    ),
    "an expression in a loop": (on_bench(lambda b: sum(b.x)), ["casadi.sum1"]),
    "a matrix as parameter": (lambda f: Problem("p").parameter("m", np.eye(2)), ["(2, 2)"]),
    "a range as text": (lambda f: Problem("p").parameter("m", 1, lower="a"), ["'m'", "number"]),
    "an empty range": (lambda f: Problem("p").parameter("m", 1, lower=2, upper=0), ["'m'", "2"]),
    "an unused variable": (on_bench(lambda b: (b.ocp.variable("p"), solve(b.ocp))), ["'p'"]),
    "a table without values": (lambda f: table([0, 1, 2, 3]), ["values", "grids"]),
}

KINDS = {
    "a setting of IPOPT": (lambda f: Ipopt(max_iter=3), ["max_iter", "max_iterations="]),
    "a tolerance of the core as text": (lambda f: Compiled(tolerance="a"), ["tolerance", "'a'"]),
    "a degree as text": (lambda f: Radau("three"), ["degree", "'three'"]),
    "intervals as text": (lambda f: Mesh.uniform("20", 3), ["intervals", "'20'"]),
    "a mesh of a billion": (lambda f: Mesh.uniform(10**9, 3), ["1000000000", "linspace"]),
    "agreement as text": (lambda f: Both(agreement="a"), ["agreement", "'a'"]),
    "shooting with text": (lambda f: Shooting(tolerance="a"), ["tolerance", "'a'"]),
    "progress of two arguments": (
        on_bench(lambda b: solve(b.ocp, progress=lambda a, b: None)),
        ["progress", "1 argument"],
    ),
    "verify as text": (on_bench(lambda b: solve(b.ocp, verify="no")), ["verify", "True or False"]),
    "a costate as text": (
        on_bench(lambda b: solve(b.ocp, "indirect", guess={"x": "a", "v": 0}).check()),
        ["'x'", "number"],
    ),
    "a slice of a solution": (lambda f: solved(f)[:], ["x, v, u"]),
    "an argument of a derivative": (lambda f: solved(f)["x"].derivative(2), ["derivative"]),
    "a plot in a number": (lambda f: solved(f).plot(path=3), ["path", "3"]),
    "save to nothing": (lambda f: solved(f).save(None), ["path", "None"]),
    "a name that is too long": (lambda f: solved(f).save(f / (300 * "a")), ["too long"]),
    "a null character": (lambda f: solved(f).save(f"{f}/a\0.nc"), ["null"]),
    "a trillion points": (lambda f: solved(f).to_csv(f / "a.csv", 10**12), ["points"]),
    "points as text": (lambda f: solved(f).to_xarray(points="x"), ["points"]),
    "an unknown claim": (lambda f: certify(solved(f), claim="best"), ["claim", "tolerance"]),
    "an unknown keyword of prepare": (lambda f: prepare(bench().ocp, tol=1), ["tolerance="]),
    "a final value as text": (
        lambda f: prepare(bench().ocp).solve(final={"x": "one"}),
        ["'x'", "'one'", "finite"],
    ),
    "nothing to fit": (
        on_bench(
            lambda b: (b.ph.dynamics({b.x: b.v, b.v: 1}), fit(b.ocp, MEASURED)), finished=False
        ),
        ["'bench'", "ocp.variable"],
    ),
    "deviations as text": (lambda f: fitted(MEASURED, deviations={"x": "low"}), ["deviations"]),
    "a folder with another table": (foreign_table, ["family.csv", "no sweep"]),
    "workers as text": (
        lambda f: sweep(builder("moon-lander"), {"height": [5.0]}, workers="all"),
        ["workers", "integer"],
    ),
    "an integrator as a class": (lambda f: simulate(builder("pendulum")(), Rk4), ["integrator"]),
    "a tiny step": (lambda f: simulate(builder("pendulum")(), Rk4(1e-12)), ["1e-12", "steps"]),
    "an unknown keyword of simulate": (
        lambda f: simulate(builder("pendulum")(), time=3),
        ["time", "until="],
    ),
    "a robot file as a number": (lambda f: read_robot(3), ["path", "3"]),
    "limits the wrong way round": (
        lambda f: read_robot(ARM).with_limits({"elbow": {"effort": -1.0}}),
        ["'elbow'", "effort"],
    ),
    "a negative radius": (moved(avoid=[("tool", (0, 0, 1), -0.2)]), ["radius above 0"]),
    "half a level": (moved(level=("tool", "z")), ["level", "tilt"]),
}

GROUPS = {
    "stated": STATED,
    "kinds": KINDS,
    "expressions": EXPRESSIONS,
    "names": NAMES,
    "bounds": BOUNDS,
    "solving": SOLVING,
    "results": RESULTS,
    "models": MODELS,
    "robots": ROBOTS,
    "data": DATA,
    "again": AGAIN,
}
CASES = [
    pytest.param(use, words, id=f"{group}, {name}")
    for group, cases in GROUPS.items()
    for name, (use, words) in cases.items()
]
REMEDIES = ("expected:", "hint:")


@pytest.mark.parametrize(("use", "words"), CASES)
def test_a_bad_input_gives_one_message_with_a_remedy(use, words, tmp_path):
    text = said(use, tmp_path)
    for word in words:
        assert word in text, text
    assert any(mark in text for mark in REMEDIES), text
    assert len(text) < 1500, text


def said(use, folder):
    """The message: of the error, else of the first warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            use(folder)
        except (TrajoptError, TypeError) as error:
            return str(error)
    messages = [str(one.message) for one in caught if issubclass(one.category, TrajoptWarning)]
    assert messages, "accepted in silence"
    return messages[0]


def test_there_are_enough():
    assert len(CASES) >= 150
