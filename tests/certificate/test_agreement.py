"""The two methods are compared in the arcs that both list."""

from dataclasses import replace

import pytest

from trajopt import Problem, certify, free, solve


@pytest.fixture(scope="module")
def answers():
    """A cart there in least time, then back in least time: two phases with one switch each."""
    ocp = Problem("there and back")
    there, back = ocp.phase("there"), ocp.phase("back")
    for ph, start, end in ((there, 0, 1), (back, 1, 0)):
        ph.time(start=0, end=free(0.1, 10))
        x, v, u = (
            ph.state("x", start=start, end=end),
            ph.state("v", start=0, end=0),
            ph.control("u", lower=-1, upper=1),
        )
        ph.dynamics({x: v, v: u})
    ocp.minimize(there.integral(1) + back.integral(1))
    found = solve(ocp, "both").check().comparison
    return found.direct, found.indirect


def row(direct, indirect):
    return next(
        check
        for check in certify(direct, other=indirect).checks
        if check.name == "direct and indirect switching times"
    )


def test_switches_agree(answers):
    direct, indirect = answers
    assert [len([a for a in one.arcs if a.phase == "back"]) for one in answers] == [2, 2]
    assert row(direct, indirect).ok


def test_phases_without_listed_arcs_are_not_compared(answers):
    direct, indirect = answers
    some = replace(direct, arcs=tuple(arc for arc in direct.arcs if arc.phase == "back"))
    assert row(some, indirect).ok
    assert row(some, indirect).value < 1e-6


def test_other_numbers_and_times_of_switches_fail(answers):
    direct, indirect = answers
    assert not row(replace(direct, arcs=direct.arcs[:-1]), indirect).ok
    late = [
        replace(arc, end=arc.end + 0.01) if k == 0 else arc for k, arc in enumerate(direct.arcs)
    ]
    assert not row(replace(direct, arcs=tuple(late)), indirect).ok
