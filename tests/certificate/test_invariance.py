"""The certificate of one solution, rewritten in other units, shifted, or beside wider bounds, is
the same.

``python -m tests.benchmarks.invariance`` has the whole set.
"""

import pytest

from tests.benchmarks.invariance import Rewriting, differences, rewritten
from trajopt import builder, certify, solve

CHANGES = {
    "block-move": [
        Rewriting("states and control", factors={"x": 1e3, "v": 1e-3, "u": 1e3}),
        Rewriting("time and cost", time=1e3, cost=1e-3),
    ],
    "bryson-denham": [
        Rewriting("a constrained state", factors={"x": 1e3}, shifts={"x": 1e6}, time=1e-3),
        Rewriting("bounds that are nowhere active", widened=True),
    ],
}


@pytest.mark.parametrize("name", CHANGES)
def test_rewriting_a_solution_does_not_change_its_certificate(name):
    form = builder(name)().finish()
    solution = solve(builder(name)()).check()
    plain = certify(solution, form)
    assert plain.ok
    for change in CHANGES[name]:
        moved, answer = rewritten(form, solution, change)
        assert differences(plain, certify(answer, moved)) == [], change.label


def test_a_rewriting_that_forgets_the_costates_is_noticed():
    form = builder("block-move")().finish()
    solution = solve(builder("block-move")()).check()
    moved, answer = rewritten(form, solution, Rewriting("cost", cost=1e3))
    _, wrong = rewritten(form, solution, Rewriting("nothing"))
    for name, phase in wrong.phases.items():
        answer.phases[name].costates.update(phase.costates)
    assert differences(certify(solution, form), certify(answer, moved))
