"""A sample of the wrong answers of tests/benchmarks/planted, each beside a right one."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from planted import CASES

SAMPLE = (
    "bump-inside-an-interval",
    "cheaper-control-on-a-shared-limit",
    "touch-point-at-the-wrong-time",
    "objective-far-from-zero",
    "static-variable-at-zero",
    "small-static-variable",
    "jump-map-violated",
    "narrow-deep-well",
    "one-of-eight-controls-in-the-wrong-well",
    "switch-a-thousandth-too-late",
    "costate-with-a-bump-inside-an-interval",
    "moving-wall-entered-too-early",
    "held-a-little-inside-the-wall",
    "path-multiplier-off",
    "deep-catenary",
    "long-way-round-a-sphere",
    "oscillator-past-pi",
    "singular-arc-that-maximizes",
    "phase-longer-than-its-curves",
    "handover-a-hundredth-too-early",
    "large-constant-in-the-integrand",
    "inside-the-bound-of-an-algebraic-variable",
    "epidemic-below-the-limit-of-its-hospitals",
    "static-variable-at-a-maximum",
    "costate-of-another-size",
    "parameter-of-another-size",
    "fewer-breaks-than-pieces",
    "node-twice-in-a-piece",
    "concave-term-beside-a-large-convex-one-0",
    "indefinite-product-beside-a-large-square-0",
    "switch-hidden-by-a-jump-of-data-0",
    "slope-zero-at-the-end-of-the-phase-0",
    "rounding-of-a-control-0",
    "step-in-an-algebraic-equation-0",
    "kinks-crossing-each-other-0",
    "concave-kink-in-an-algebraic-equation-0",
    "crossing-a-concave-kink-0",
    "curvature-of-one-side-0",
    "moving-along-a-concave-kink-0",
    "kink-of-a-free-time-0",
    "wells-along-a-diagonal-0",
    "narrow-pit-of-four-controls-0",
    "brief-power-of-an-idle-control-0",
    "brief-concavity-of-a-control-0",
    "slit-of-a-linear-table-0",
    "distant-root-0",
    "masked-end-0",
    "masked-static-0",
)


def test_there_are_enough_of_all_kinds():
    assert len(CASES) >= 80
    kinds = {case.kind for case in CASES.values()}
    assert {
        "motion",
        "limits",
        "ends",
        "cost",
        "costates",
        "controls",
        "statics",
        "arcs",
        "conjugate",
        "files",
    } <= kinds


@pytest.mark.parametrize("name", SAMPLE)
def test_the_wrong_answer_is_caught_and_the_right_one_passes(name):
    case = CASES[name]
    wrong, right = case.certificates()
    assert case.caught(wrong), f"{case.row}\n{wrong}"
    assert case.passes(right), str(right)
