"""The closed-loop run of the thesis: angles of its appendix, and the form that passes where its
choice is singular.
"""

import numpy as np
import pytest

from problems.bike import rider_loop

GILL = (
    (0.5,),
    ((np.sqrt(2) - 1) / 2, 1 - 1 / np.sqrt(2)),
    (0.0, -1 / np.sqrt(2), 1 + 1 / np.sqrt(2)),
)
GILL_WEIGHTS = np.array([1.0, 2 - np.sqrt(2), 2 + np.sqrt(2), 1.0]) / 6


@pytest.mark.parametrize("rates", list(rider_loop.REFERENCE))
def test_rider_loop_reaches_the_angles_of_the_appendix(rates):
    """By the thesis' own scheme and step, to the digits printed."""
    system = rider_loop.build(rates)
    f = system.function(system.rate)
    x = system.start
    for _ in range(40):
        slopes = [np.array(f(0.0, x, [])).ravel()]
        for row in GILL:
            slopes.append(
                np.array(
                    f(0.0, x + 0.005 * sum(c * k for c, k in zip(row, slopes, strict=True)), [])
                ).ravel()
            )
        x = x + 0.005 * GILL_WEIGHTS @ np.array(slopes)
    assert np.degrees(x[:5]) == pytest.approx(rider_loop.REFERENCE[rates], abs=6e-6)


def test_rider_loop_start_has_the_residual_of_the_appendix_and_both_models_agree(motion):
    system = rider_loop.build()
    miss = [float(system.function(i.expression)(0.0, system.start, [])) for i in system.invariants]
    assert np.hypot(*miss) == pytest.approx(4.494e-4, abs=5e-8)
    found = motion(system, 0.2)
    model = rider_loop.mechanism()
    gap_rate = model.evaluate(model.equations.velocity_residual, found.x[:5], found.x[5:])
    assert np.abs(np.array(gap_rate)).max() < 1e-9
    assert abs(found.imbalance) < 1e-8


def test_rider_loop_augmented_form_passes_where_the_thesis_choice_is_singular(motion):
    """The determinant of J_S (theta1, theta4) changes sign at t = 0.2555 s; the augmented motion
    goes on.
    """
    model = rider_loop.mechanism()
    run = motion(rider_loop.build(), 0.3).run
    determinant = []
    for x in run.y.T:
        J = np.array(model.evaluate(model.equations.matrix, x[:5], x[5:10]))
        determinant.append(np.linalg.det(J[:, [0, 3]]))
    crossing = np.flatnonzero(np.diff(np.sign(determinant)))
    assert len(crossing) == 1
    k = crossing[0]
    share = determinant[k] / (determinant[k] - determinant[k + 1])
    assert run.t[k] + share * (run.t[k + 1] - run.t[k]) == pytest.approx(0.2555, abs=2e-3)
