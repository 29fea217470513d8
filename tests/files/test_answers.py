"""Answers of other tools: arrays and tables, read and certified."""

import json

import casadi
import numpy as np
import pytest
from typer.testing import CliRunner

from trajopt import Problem, answer_from, builder, certify, read_answer, solve
from trajopt.__main__ import app
from trajopt.errors import UsageError

T = np.linspace(0, 1, 21)
BLOCK = {"t": T, "x": 3 * T**2 - 2 * T**3, "v": 6 * T * (1 - T), "u": 6 - 12 * T}


def van_der_pol():
    ocp = Problem("vdp")
    ph = ocp.phase()
    ph.time(start=0, end=5)
    x, y, u = ph.state("x", start=1), ph.state("y", start=0), ph.control("u", lower=-0.3, upper=1)
    ph.dynamics({x: y, y: (1 - x**2) * y - x + u})
    ocp.minimize(ph.integral(x**2 + y**2 + u**2))
    return ocp


def by_opti(count=60):
    """The same by the trapezoidal rule of a user's own script in CasADi's Opti."""
    opti = casadi.Opti()
    X, U, h = opti.variable(2, count + 1), opti.variable(1, count + 1), 5 / count

    def rate(k):
        x, y, u = X[0, k], X[1, k], U[0, k]
        return casadi.vertcat(y, (1 - x**2) * y - x + u), x**2 + y**2 + u**2

    cost = 0
    for k in range(count):
        (f, L), (g, M) = rate(k), rate(k + 1)
        opti.subject_to(X[:, k + 1] == X[:, k] + h / 2 * (f + g))
        cost += h / 2 * (L + M)
    opti.subject_to(X[:, 0] == casadi.DM([1, 0]))
    opti.subject_to(opti.bounded(-0.3, U, 1))
    opti.minimize(cost)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0})
    found = opti.solve()
    x = found.value(X)
    return {"t": np.linspace(0, 5, count + 1), "x": x[0], "y": x[1], "u": found.value(U)}, cost


def test_arrays_are_certified_without_costates():
    certificate = certify(answer_from(builder("block-move")(), BLOCK))
    assert (certificate.claim, certificate.scope) == ("minimum", "global")
    assert certificate.bound == pytest.approx(12)


def test_a_spoiled_answer_is_told_apart_by_a_row():
    slower = {**BLOCK, "u": 6.3 - 12 * T}
    assert certify(answer_from(builder("block-move")(), slower)).claim == "none"
    # Another motion between the same ends, with its own controls.
    bent = {
        "t": T,
        "x": BLOCK["x"] + 0.2 * (T * (1 - T)) ** 2,
        "v": BLOCK["v"] + 0.4 * T * (1 - T) * (1 - 2 * T),
        "u": BLOCK["u"] + 0.4 * (1 - 6 * T + 6 * T**2),
    }
    fine = np.linspace(0, 1, 201)
    bent = {name: np.interp(fine, T, v) if name == "t" else v for name, v in bent.items()}
    certificate = certify(answer_from(builder("block-move")(), bent | {"t": T}), tolerance=1e-3)
    assert certificate.claim == "feasible"
    assert "minimum of H" in {row.name for row in certificate.failures}


def test_a_trapezoidal_answer_is_a_minimum_at_its_own_accuracy():
    values, _ = by_opti()
    answer = answer_from(van_der_pol(), values)
    assert certify(answer, tolerance=3e-3).claim == "minimum"
    assert certify(answer).claim == "none"  # its motion is exact to 1e-3
    polished = solve(van_der_pol(), guess=answer)
    assert certify(polished).claim == "minimum"


@pytest.mark.parametrize("suffix", ["csv", "npz", "json", "sto"])
def test_tables_are_certified_on_the_command_line(suffix, tmp_path):
    path = tmp_path / f"answer.{suffix}"
    columns = np.column_stack([BLOCK[n] for n in ("t", "x", "v", "u")])
    if suffix == "csv":
        np.savetxt(path, columns, delimiter=",", header="t [s],x [m],v,u", comments="")
    elif suffix == "npz":
        np.savez(path, **BLOCK, objective=12.0)
    elif suffix == "json":  # the layout of OptimalControl.jl's export_ocp_solution
        table = {
            "time_grid": T.tolist(),
            "state": columns[:, 1:3].tolist(),
            "control": columns[:, 3:].tolist(),
            "costate": None,
            "variable": [],
            "objective": 12,
        }
        path.write_text(json.dumps(table))
    else:  # the layout of OpenSim Moco's solutions
        header = ["inDegrees=no", "num_controls=1", "num_states=2", "objective=12", "endheader"]
        names = "time\t/slider/position/value\t/slider/position/speed\t/forceset/actuator"
        rows = ["\t".join(f"{v:.17g}" for v in row) for row in columns]
        path.write_text("\n".join([*header, names, *rows]) + "\n")
    found = CliRunner().invoke(app, ["certify", str(path), "--problem", "block-move"])
    assert found.exit_code == 0, found.output
    assert "certified minimum (global)" in found.output


def test_a_solution_written_as_a_table_is_read_again(tmp_path):
    solution = solve(builder("block-move")())
    solution.to_csv(tmp_path / "a.csv", 41)
    certificate = certify(read_answer(tmp_path / "a.csv", builder("block-move")()))
    assert certificate.claim == "minimum"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": None}, "has no 'x'"),
        ({"t": None}, "has no times"),
        ({"v": BLOCK["v"][:-3]}, "values of 'v'"),
        ({"t": T[::-1]}, "times of phase"),
    ],
)
def test_what_is_missing_is_named(change, words):
    values = {k: v for k, v in {**BLOCK, **change}.items() if v is not None}
    with pytest.raises(UsageError, match=words):
        answer_from(builder("block-move")(), values)
