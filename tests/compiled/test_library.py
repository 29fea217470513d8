"""The core is optional: if disabled or out of date, CasADi does the same work, and --version shows
it.
"""

import os
import subprocess
import sys

import pytest

from trajopt.compiled import library as module

SCRIPT = """
from trajopt import solve
from trajopt.catalogue import builder
from trajopt.compiled.library import description
print(description())
print(repr(solve(builder("block-move")()).objective))
"""


def solved(**environment):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.splitlines()


def test_disabled_core_gives_the_same_solution():
    with_core, without = solved(TRAJOPT_COMPILED="1"), solved(TRAJOPT_COMPILED="0")
    assert "TRAJOPT_COMPILED=0" in without[0]
    assert float(with_core[1]) == pytest.approx(float(without[1]), rel=1e-12)


def test_a_library_of_other_sources_is_not_used(monkeypatch):
    monkeypatch.delenv(module.SWITCH, raising=False)
    monkeypatch.setattr(module, "INTERFACE", -1)
    module.library.cache_clear()
    try:
        if module._path() is not None:
            assert module.library() is None
            assert "out of date" in module.description()
        monkeypatch.setattr(module, "_path", lambda: None)
        module.library.cache_clear()
        assert module.library() is None
        assert "compiler" in module.description()
    finally:
        monkeypatch.undo()
        module.library.cache_clear()


def test_threads_follow_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert module.threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert module.threads() >= 1
