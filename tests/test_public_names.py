"""The public names of the package."""

import importlib

import pytest

import trajopt

PUBLIC = {
    "Both",
    "Certificate",
    "Collocation",
    "Compiled",
    "Curve",
    "Family",
    "Gauss",
    "HermiteSimpson",
    "Ipopt",
    "Lobatto",
    "Mesh",
    "ModelFit",
    "ModelPredictive",
    "Phase",
    "PhaseSolution",
    "Prepared",
    "Problem",
    "Radau",
    "Reference",
    "Shooting",
    "Solution",
    "Status",
    "Trapezoidal",
    "answer_from",
    "builder",
    "certify",
    "fit",
    "free",
    "load",
    "named_problems",
    "prepare",
    "read_answer",
    "solve",
    "sweep",
    "table",
}


def test_public_names_are_these():
    assert set(trajopt.__all__) == PUBLIC
    for name in trajopt.__all__:
        assert getattr(trajopt, name) is not None
        assert name in dir(trajopt)


def test_every_public_name_is_in_its_module():
    for name, home in trajopt._HOME.items():
        assert getattr(importlib.import_module(home), name) is getattr(trajopt, name)


@pytest.mark.parametrize(
    ("former", "module"), [("curve", "trajectory.curve"), ("problem", "statement.problem")]
)
def test_modules_are_found_under_their_former_names(former, module):
    assert importlib.import_module(f"trajopt.{former}") is importlib.import_module(
        f"trajopt.{module}"
    )


def test_unknown_names_are_attribute_errors():
    assert not hasattr(trajopt, "solvee")


def test_public_names_have_docstrings():
    for name in trajopt.__all__:
        assert (getattr(trajopt, name).__doc__ or "").strip(), name


def test_the_statement_is_the_contract():
    """The calls of the statement that programs are written against, with their arguments."""
    import inspect

    from trajopt.statement.problem import Phase, Problem

    contract = {
        Problem.phase: ["name"],
        Problem.connect: ["before", "after", "states", "time"],
        Problem.require: ["expression", "lower", "upper", "equals", "name"],
        Problem.minimize: ["expression"],
        Problem.maximize: ["expression"],
        Problem.parameter: ["name", "value", "unit"],
        Problem.variable: ["name", "size", "lower", "upper", "guess"],
        Phase.time: ["start", "end"],
        Phase.state: ["name", "size", "start", "end", "lower", "upper", "guess", "unit", "scale"],
        Phase.control: ["name", "size", "lower", "upper", "guess", "unit", "scale"],
        Phase.algebraic: ["name", "size", "lower", "upper", "guess", "unit", "scale"],
        Phase.dynamics: ["rates"],
        Phase.require: ["expression"],
        Phase.path: ["expression", "lower", "upper", "equals", "name"],
        Phase.initial: ["expression"],
        Phase.final: ["expression"],
        Phase.integral: ["expression"],
        Phase.invariant: ["name", "expression", "order"],
        Phase.costate: ["state"],
        trajopt.free: ["lower", "upper", "guess"],
        trajopt.solve: ["problem", "method", "guess", "parameters"],
    }
    for function, arguments in contract.items():
        assert set(arguments) <= set(inspect.signature(function).parameters), function
