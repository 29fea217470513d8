"""The optimal objectives.

The position of a problem, from 1, is its number: append, never reorder or remove.
"""

from __future__ import annotations

from .entry import Reference

CLOSED = "closed form, in closed_forms.py"
GAUSS = "independent.py: Gauss collocation with linear controls, refined at junctions"
SIMPSON = "independent.py: Hermite-Simpson"
MOVING = "independent.py: Gauss collocation on moving intervals"

REFERENCES: dict[str, Reference] = {
    "bus": Reference(37.5, 1e-6, CLOSED, GAUSS + ": 37.50000"),
    "two-masses": Reference(4.217866510451, 1e-6, CLOSED, GAUSS + ": 4.2178665"),
    "aly-chan": Reference(
        0.0, 2e-6, "closed form: u = -sin t is singular throughout and costs 0", GAUSS + ": 1e-9"
    ),
    "fuller": Reference(0.76401754772563, 1e-6, CLOSED, MOVING + ": 0.7640175489"),
    "rings": Reference(5.9917969758023, 1e-7, CLOSED, GAUSS + ": 5.9917969758"),
    "van-der-pol-time": Reference(
        3.0952023, 1e-6, "Kaya & Noakes 2003: 3.0952", GAUSS + ": 3.0952023"
    ),
    "quadrotor-2": Reference(
        29.0411867714, 1e-6, GAUSS + ": 29.0411867714", SIMPSON + ": 29.04113"
    ),
    "batch-reactor": Reference(0.610802921, 1e-6, "Ray 1981: 0.6108", GAUSS + ": 0.6108029"),
    "linked-roots": Reference(16 / 3, 1e-6, CLOSED, GAUSS + ": 5.333333"),
    "hanging-chain": Reference(5.0684801109934, 1e-6, CLOSED, GAUSS + ": 5.068480112"),
    "vidale-wolfe": Reference(2.8070261041016, 1e-6, CLOSED, GAUSS + ": 2.80702610"),
    "dubins": Reference(5.9049145611376, 1e-6, CLOSED, GAUSS + ": 5.904914564"),
    "redundant-motors": Reference(12.0, 1e-6, CLOSED, GAUSS + ": 12.0000000"),
    "two-wells": Reference(-0.49783357409113, 1e-6, CLOSED, MOVING + ": -0.49783357"),
    "rendezvous-effort": Reference(0.035121184295965, 1e-6, CLOSED, GAUSS + ": 0.03512119"),
    "van-der-pol-singular": Reference(
        0.7576179, 1e-6, GAUSS + ": 0.75761794", SIMPSON + ": 0.75761792"
    ),
    "growth-or-consumption": Reference(7.3890560989306, 1e-6, CLOSED, GAUSS + ": 7.38905606"),
    "sphere-long-way": Reference(
        14.554232374653, 1e-6, CLOSED, GAUSS + ": 14.554236", others=(25.0,)
    ),
    "stirred-tank": Reference(
        0.1330957, 2e-6, "Luus 1990: 0.13309", GAUSS + ": 0.1330958", others=(0.24442,)
    ),
    "f8": Reference(
        3.780857,
        1e-5,
        "Kaya & Noakes 2003, MINTOC: 3.78086",
        MOVING + ": 3.780855",
        others=(5.7286,),
    ),
    "borrowing-limit": Reference(8.4853465272599, 1e-6, CLOSED, GAUSS + ": 8.485346524"),
    "harmonic-oscillator": Reference(11.548569920125, 1e-6, CLOSED, GAUSS + ": 11.5485708"),
    "two-discs-path": Reference(4.3744083292333, 1e-6, CLOSED, GAUSS + ": 4.37440836"),
    "slowest-joint": Reference(4.0, 1e-6, CLOSED, GAUSS + ": 4.00000000"),
    "wells-of-a-motor": Reference(-0.54313309005067, 1e-6, CLOSED, MOVING + ": -0.5431330"),
    "linked-units": Reference(93.926151782184, 1e-6, CLOSED, GAUSS + ": 93.92615178"),
    "fishery": Reference(2.2727862922805, 1e-6, CLOSED, GAUSS + ": 2.27278629"),
    "oscillator-past-pi": Reference(-0.85840734641021, 1e-6, CLOSED, GAUSS + ": -0.8584067"),
    "two-link-time": Reference(2.98228, 2e-6, GAUSS + ": 2.982280", SIMPSON + ": 2.982281"),
    "bolza": Reference(
        0.04129235897452,
        1e-4,
        CLOSED + ", of the relaxed problem",
        GAUSS + ": 0.0412924",
        attained=False,
    ),
    "disc-ahead": Reference(29.418838928664, 1e-6, CLOSED, GAUSS + ": 29.41883896"),
    "parallel-reactions": Reference(
        0.57354505, 1e-6, "Dadebo & McAuley 1995: 0.57353", GAUSS + ": 0.5735450"
    ),
    "fuller-to-rest": Reference(3.9053847897678, 1e-6, CLOSED, GAUSS + ": 3.90538486"),
    "gravity-train": Reference(
        2.9619219587722,
        1e-6,
        CLOSED,
        SIMPSON + ": 2.9610 on 200 intervals, error proportional to the width",
    ),
    "slowest-axis": Reference(3.5, 1e-6, CLOSED, GAUSS + ": 3.5000003"),
    "rayleigh-mixed": Reference(
        44.80445, 2e-6, "Maurer & Augustin 2001: 44.8044", SIMPSON + ": 44.804445"
    ),
    "hager-type": Reference(2.8613075, 1e-6, GAUSS + ": 2.8613087", SIMPSON + ": 2.8613075"),
    "slow-gripper": Reference(4.0, 1e-6, CLOSED, GAUSS + ": 4.000000002"),
    "reorientation": Reference(
        0.16657268, 1e-6, GAUSS + ": 0.166572694", SIMPSON + ": 0.166572682"
    ),
    "linked-burns": Reference(
        2.856095765, 1e-6, GAUSS + ": 2.8560957647", SIMPSON + ": 2.8560957636"
    ),
    "two-gears": Reference(24.110439, 1e-6, GAUSS + ": 24.1104393", SIMPSON + ": 24.110428"),
    "gantry-crane": Reference(0.5856915, 2e-6, GAUSS + ": 0.58569218", SIMPSON + ": 0.58569101"),
    "valves-penalty": Reference(
        0.3538191, 1e-6, GAUSS + ": 0.35381911, without penalty", SIMPSON + ": 0.35381909"
    ),
    "chemotherapy": Reference(7.2703371, 1e-6, GAUSS + ": 7.2703372", SIMPSON + ": 7.2703370"),
    "slew-180": Reference(
        3.243083, 2e-6, "Bilimoria & Wie 1993: 3.2430", GAUSS + ": 3.243085", others=(3.544908,)
    ),
    "wind-table": Reference(9.60256718, 1e-6, GAUSS + ": 9.602567187", SIMPSON + ": 9.602567149"),
    "quadrotor-1.6": Reference(29.9268932, 1e-6, GAUSS + ": 29.92689316", SIMPSON + ": 29.92679"),
    "linked-five": Reference(2.17484979, 1e-6, GAUSS + ": 2.1748498", SIMPSON + ": 2.174849785"),
    "tumour": Reference(7571.67, 1e-6, GAUSS + ": 7571.67004", SIMPSON + ": 7571.71"),
    "parts-penalty": Reference(6.650845875, 1e-6, CLOSED, SIMPSON + ": 6.65081, without penalty"),
    "rendezvous-fuel": Reference(1.0169021, 1e-6, GAUSS + ": 1.0169024", SIMPSON + ": 1.01693"),
    "train-three-limits": Reference(
        212.9465, 5e-6, GAUSS + ": 212.94699 from above", SIMPSON + ": 212.918 from below"
    ),
    "flight-through-wind": Reference(
        0.239572089, 1e-6, GAUSS + ": 0.2395720922", SIMPSON + ": 0.2395720892"
    ),
    "quadrotor-2.5": Reference(32.4316706, 1e-6, GAUSS + ": 32.43167053", SIMPSON + ": 32.43164"),
    "stirred-tank-singular": Reference(
        0.0019315125, 2e-6, GAUSS + ": 0.0019315133", SIMPSON + ": 0.0019315143"
    ),
    "epidemic-limit": Reference(27.976584, 3e-6, GAUSS + ": 27.97664", SIMPSON + ": 27.97658"),
    "attitude-limits": Reference(7.639268, 1e-6, GAUSS + ": 7.6392701", SIMPSON + ": 7.6392680"),
    "quadrotor-3": Reference(37.3804373, 1e-6, GAUSS + ": 37.3804373", SIMPSON + ": 37.38043"),
    "pendulum-swing-up": Reference(
        0.6678604,
        3e-6,
        "collocation and shooting agree, a certified minimum",
        GAUSS + ": 0.790529, another optimum",
        others=(0.7905246,),
    ),
    "train-on-hills": Reference(
        0.908214, 3e-6, GAUSS + ": 0.9082149 from above", SIMPSON + ": 0.90768 from below"
    ),
    "battery-penalty": Reference(
        -5.207105, 3e-6, GAUSS + ": -5.2071038, without penalty", SIMPSON + ": -5.2071082"
    ),
    "stall-recovery": Reference(
        -1.38914788, 1e-6, GAUSS + ": -1.38914797", SIMPSON + ": -1.38914788"
    ),
    "quadrotor-4": Reference(48.626904, 1e-6, GAUSS + ": 48.62690397", SIMPSON + ": 48.626900"),
    "two-phase-manipulator": Reference(
        2.363535, 3e-6, GAUSS + ": 2.3635374 from above", SIMPSON + ": 2.36359"
    ),
    "engine-map": Reference(3.785063, 1e-6, GAUSS + ": 3.7850638", SIMPSON + ": 3.7850626"),
    "underwater-vehicle": Reference(
        237.35, 3e-6, GAUSS + ": 237.3509 from above", SIMPSON + ": 237.349997"
    ),
    "two-input-regulator": Reference(
        1.8200597, 2e-6, GAUSS + ": 1.8200601", SIMPSON + ": 1.8200588"
    ),
    "two-stage-rocket": Reference(
        824.065, 5e-6, GAUSS + ": 824.0639 from below", SIMPSON + ": 824.63 from above"
    ),
    "singular-triple-integrator": Reference(
        1.252112, 2e-6, GAUSS + ": 1.2521118", SIMPSON + ": 1.2521127"
    ),
    "container-crane": Reference(
        0.00515035, 3e-5, GAUSS + ": 0.00515041", SIMPSON + ": 0.00515039"
    ),
    "parking": Reference(
        2.38049827021, 1e-6, CLOSED, "closed_forms.py, four turns of free lengths: 2.38049827"
    ),
    "robbins": Reference(
        19.43179, 2e-6, GAUSS + ": 19.431792 from above", SIMPSON + ": 19.4312 from below"
    ),
    "shuttle-reentry": Reference(
        34.1411843, 1e-6, "Betts 2010: 34.1412", SIMPSON + ": 34.14118427"
    ),
    "protein-fed-batch": Reference(
        32.695192, 2e-6, GAUSS + ": 32.695192 from below", SIMPSON + ": 32.87 from above"
    ),
    "ethanol-fed-batch": Reference(
        20445.395, 1e-5, GAUSS + ": 20445.394 from below", SIMPSON + ": 20449 from above"
    ),
    "photochemical-tank": Reference(
        21.8245, 1e-5, GAUSS + ": 21.824491 from below", SIMPSON + ": 21.82467 from above"
    ),
    "hang-glider": Reference(1247.9865, 3e-6, GAUSS + ": 1247.9855 from below", "COPS 3.0: 1248.0"),
    "low-thrust-equinoctial": Reference(
        17.097384, 1e-6, SIMPSON + ": 17.0973837", GAUSS + ": 17.1017 from above"
    ),
    "car-around-obstacles": Reference(
        6.917128,
        2e-5,
        GAUSS + ": 6.9171284 from above, best of 30 starts",
        SIMPSON + ": 6.917139",
        others=(7.0483, 7.885),
    ),
    "acrobot": Reference(
        54.0951,
        3e-5,
        SIMPSON + ": 54.09455 from below",
        GAUSS + ": 54.0960 from above",
        others=(74.736,),
    ),
    "truck-with-trailer": Reference(
        10.88587, 2e-5, GAUSS + ": 10.88589", SIMPSON + ": 10.88619", others=(11.421,)
    ),
    "car-by-wheel": Reference(
        0.02581112, 2e-6, GAUSS + ": 0.025811119", SIMPSON + ": 0.0258096 from below"
    ),
    "dry-friction": Reference(
        0.0761212, 2e-5, GAUSS + ": 0.0761228 from above", SIMPSON + ": 0.0761198 from below"
    ),
    "flexible-joint": Reference(
        2.573534, 1e-5, GAUSS + ": 2.573559 from above", SIMPSON + ": 2.573534"
    ),
    "station-turn": Reference(1.739035, 1e-5, GAUSS + ": 1.7390387", SIMPSON + ": 1.7396"),
    "longest-range": Reference(
        1.712314875, 1e-6, "PSOPT: 1.712316", SIMPSON + ": 1.7123148746", others=(0.2523,)
    ),
    "newton-nose": Reference(
        0.37481598763,
        1e-6,
        CLOSED,
        "midpoint rule on 2000 intervals behind a flat front of free radius, by IPOPT: 0.374815991",
    ),
    "hill-race": Reference(
        1.90468229, 1e-6, GAUSS + ": 1.90468233 from above", SIMPSON + ": 1.90468233"
    ),
    "fishing": Reference(1.3440812, 2e-6, "MINTOC: 1.34408", GAUSS + ": 1.34408123 from above"),
    "immunotherapy": Reference(
        29514.4478, 1e-6, GAUSS + ": 29514.447873", SIMPSON + ": 29514.447474"
    ),
    "tuberculosis": Reference(
        5152.073124, 1e-6, "Betts 2010: 5152.07310", GAUSS + ": 5152.073124 from above"
    ),
    "free-flying-robot": Reference(
        7.910144, 1e-6, "Betts 2010: 7.91015", GAUSS + ": 7.9101446 from above"
    ),
    "asymmetric-body": Reference(
        28.6304077,
        1e-6,
        "Betts 2010: 28.6304077",
        GAUSS + ": 28.63150 from above, best of three starts",
        others=(34.3112,),
    ),
    "catalyst-mixing": Reference(
        -0.0480556847, 1e-6, "COPS 3.0: -0.0480556", GAUSS + ": -0.04805567 from above"
    ),
    "pinene": Reference(19.872166934247, 1e-6, CLOSED, "COPS 3.0: 19.8721"),
    "missile": Reference(
        40.911939, 1e-6, SIMPSON + ": 40.9119387", GAUSS + ": 40.911961 from above"
    ),
    "van-der-pol-limit": Reference(
        2.953701, 1e-6, "Betts 2010: 2.953699", SIMPSON + ": 2.9537015 from above"
    ),
    "moon-ascent": Reference(482.11779760563, 1e-6, CLOSED, GAUSS + ": 482.117799 from above"),
    "heisenberg": Reference(6.2831853071796, 1e-6, CLOSED, SIMPSON + ": 6.283186 from above"),
    "three-tanks": Reference(
        8.7759746, 1e-6, "MINTOC, relaxed: 8.776", GAUSS + ": 8.7759764 from above"
    ),
}
