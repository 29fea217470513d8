"""The row that compares tapes of the compiled core with CasADi's interpreter."""

from dataclasses import replace

import pytest

from problems.classical import brachistochrone
from trajopt import certify, solve
from trajopt.certificate.tape_rows import TAPES
from trajopt.compiled import tapes
from trajopt.compiled.library import library

compiled = pytest.mark.skipif(library() is None, reason="without the compiled core")


@compiled
def test_tapes_and_the_interpreter_give_the_same_bits():
    row = certify(solve(brachistochrone.build()))[TAPES]
    assert (row.ok, row.value) == (True, 0.0)
    assert row.remark.startswith("2 tapes")


@compiled
def test_a_tape_with_an_error_in_the_last_digits_is_no_proof(monkeypatch):
    solution = solve(brachistochrone.build())
    run = tapes.Tape.run
    monkeypatch.setattr(
        tapes.Tape, "run", lambda self, *arguments: run(self, *arguments) * (1 + 1e-14)
    )
    certificate = certify(replace(solution))
    assert not certificate[TAPES].ok
    assert certificate.claim == "none"


def test_without_the_core_the_interpreter_evaluates(monkeypatch):
    monkeypatch.setattr("trajopt.compiled.pointwise.tape_of", lambda function: None)
    certificate = certify(solve(brachistochrone.build()))
    assert certificate[TAPES].remark == "CasADi evaluates all models"
    assert certificate.claim == "minimum"
