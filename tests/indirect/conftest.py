"""Solutions that several files use, each computed once."""

import functools
import importlib

import pytest

from trajopt import solve
from trajopt.indirect.shooting import Shooting


@pytest.fixture(scope="session")
def classical():
    """By module of ``problems.classical``: normal form, reference, direct solution, and that of
    shooting from it.
    """

    @functools.cache
    def get(name):
        module = importlib.import_module(f"problems.classical.{name}")
        problem = module.build()
        direct = solve(problem)
        return (
            problem.finish(),
            module.REFERENCE,
            direct,
            Shooting().solve(problem.finish(), direct),
        )

    return get
