"""The optimal objectives. The position of a problem, from 1, is its number: append, never reorder or remove."""

from __future__ import annotations

from .entry import Reference

CLOSED = "closed form, in closed_forms.py"
GAUSS = "independent.py: Gauss collocation with linear controls, refined at junctions"
SIMPSON = "independent.py: Hermite-Simpson"
MOVING = "independent.py: Gauss collocation on moving intervals"

REFERENCES: dict[str, Reference] = {
    "bus": Reference(37.5, 1e-6, CLOSED, GAUSS + ": 37.50000"),
    "two-masses": Reference(4.217866510451, 1e-6, CLOSED, GAUSS + ": 4.2178665"),
    "aly-chan": Reference(0.0, 2e-6, "closed form: u = -sin t is singular throughout and costs 0", GAUSS + ": 1e-9"),
    "fuller": Reference(0.76401754772563, 1e-6, CLOSED, MOVING + ": 0.7640175489"),
    "rings": Reference(5.9917969758023, 1e-7, CLOSED, GAUSS + ": 5.9917969758"),
    "van-der-pol-time": Reference(3.0952023, 1e-6, "Kaya & Noakes 2003: 3.0952", GAUSS + ": 3.0952023"),
    "quadrotor-2": Reference(29.0411867714, 1e-6, GAUSS + ": 29.0411867714", SIMPSON + ": 29.04113"),
    "batch-reactor": Reference(0.610802921, 1e-6, "Ray 1981: 0.6108", GAUSS + ": 0.6108029"),
    "linked-roots": Reference(16 / 3, 1e-6, CLOSED, GAUSS + ": 5.333333"),
    "hanging-chain": Reference(5.0684801109934, 1e-6, CLOSED, GAUSS + ": 5.068480112"),
    "vidale-wolfe": Reference(2.8070261041016, 1e-6, CLOSED, GAUSS + ": 2.80702610"),
    "dubins": Reference(5.9049145611376, 1e-6, CLOSED, GAUSS + ": 5.904914564"),
    "redundant-motors": Reference(12.0, 1e-6, CLOSED, GAUSS + ": 12.0000000"),
    "two-wells": Reference(-0.49783357409113, 1e-6, CLOSED, MOVING + ": -0.49783357"),
    "rendezvous-effort": Reference(0.035121184295965, 1e-6, CLOSED, GAUSS + ": 0.03512119"),
    "van-der-pol-singular": Reference(0.7576179, 1e-6, GAUSS + ": 0.75761794", SIMPSON + ": 0.75761792"),
    "growth-or-consumption": Reference(7.3890560989306, 1e-6, CLOSED, GAUSS + ": 7.38905606"),
    "sphere-long-way": Reference(14.554232374653, 1e-6, CLOSED, GAUSS + ": 14.554236", others=(25.0,)),
    "stirred-tank": Reference(0.1330957, 2e-6, "Luus 1990: 0.13309", GAUSS + ": 0.1330958", others=(0.24442,)),
    "f8": Reference(3.780857, 1e-5, "Kaya & Noakes 2003, MINTOC: 3.78086", MOVING + ": 3.780855", others=(5.7286,)),
    "borrowing-limit": Reference(8.4853465272599, 1e-6, CLOSED, GAUSS + ": 8.485346524"),
    "harmonic-oscillator": Reference(11.548569920125, 1e-6, CLOSED, GAUSS + ": 11.5485708"),
    "two-discs-path": Reference(4.3744083292333, 1e-6, CLOSED, GAUSS + ": 4.37440836"),
    "slowest-joint": Reference(4.0, 1e-6, CLOSED, GAUSS + ": 4.00000000"),
    "wells-of-a-motor": Reference(-0.54313309005067, 1e-6, CLOSED, MOVING + ": -0.5431330"),
    "linked-units": Reference(93.926151782184, 1e-6, CLOSED, GAUSS + ": 93.92615178"),
    "fishery": Reference(2.2727862922805, 1e-6, CLOSED, GAUSS + ": 2.27278629"),
    "oscillator-past-pi": Reference(-0.85840734641021, 1e-6, CLOSED, GAUSS + ": -0.8584067"),
    "two-link-time": Reference(2.98228, 2e-6, GAUSS + ": 2.982280", SIMPSON + ": 2.982281"),
    "bolza": Reference(0.04129235897452, 1e-4, CLOSED + ", of the relaxed problem", GAUSS + ": 0.0412924", attained=False),
    "disc-ahead": Reference(29.418838928664, 1e-6, CLOSED, GAUSS + ": 29.41883896"),
    "parallel-reactions": Reference(0.57354505, 1e-6, "Dadebo & McAuley 1995: 0.57353", GAUSS + ": 0.5735450"),
    "fuller-to-rest": Reference(3.9053847897678, 1e-6, CLOSED, GAUSS + ": 3.90538486"),
    "gravity-train": Reference(
        2.9619219587722, 1e-6, CLOSED, SIMPSON + ": 2.9610 on 200 intervals, error proportional to the width"
    ),
    "slowest-axis": Reference(3.5, 1e-6, CLOSED, GAUSS + ": 3.5000003"),
    "rayleigh-mixed": Reference(44.80445, 2e-6, "Maurer & Augustin 2001: 44.8044", SIMPSON + ": 44.804445"),
    "hager-type": Reference(2.8613075, 1e-6, GAUSS + ": 2.8613087", SIMPSON + ": 2.8613075"),
}
