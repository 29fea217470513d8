"""A fixed sample of the contact benchmark: compressive forces, no point below the ground, friction
within its cone.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

from trajopt.integrate import simulate

FILE = Path(__file__).parent.parent / "benchmarks" / "contacts.py"


@pytest.fixture(scope="module")
def contacts():
    spec = importlib.util.spec_from_file_location("contacts_benchmark", FILE)
    sys.modules["contacts_benchmark"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["contacts_benchmark"]


SAMPLE = [
    ("wheelie-pd", {"pull_torque": 40.0}, 1.2),
    ("wheelie-pd", {"pull_torque": 100.0}, 0.6),
    ("wheelie-pd", {"pull_torque": 150.0}, 0.6),
    ("wheelie-pd", {"friction": 0.3}, 0.6),
    (
        "wheelie-pd",
        {"forearm_inertia": 6.667333333333334},
        0.5,
    ),  # the front wheel lands and leaves at once
    ("front-up-pd", {"pull_torque": 100.0}, 1.0),
    ("front-up-pd", {"pull_torque": 150.0}, None),
    ("daniel-pd", {}, 0.16),
    (
        "daniel-pd",
        {"wheel_limit": 110.0},
        0.12,
    ),  # no contact force, if the wheel's torque depends on the contact
]


@pytest.mark.parametrize(("name", "settings", "until"), SAMPLE)
def test_contacts_are_consistent(contacts, name, settings, until):
    end, faults = contacts.checked(name, settings, until)
    assert not faults
    assert not end.startswith("said")


def test_a_run_ends_where_the_arm_is_straight(contacts):
    """A heavy arm overcomes the stop of the elbow; without the event the integration fails at the
    singular posture.
    """
    end, faults = contacts.checked("daniel-pd", {"upper_arm_inertia": 20.0}, 0.3)
    assert end.endswith("arm straight")
    assert not faults


def test_a_tensile_contact_force_is_an_error(contacts):
    """The check detects contact forces of the wrong sign."""
    run = simulate(contacts.builder("wheelie-pd")(), until=0.2)
    false = {"rear_force": -run["rear_force"], "front_gap": run["front_gap"] - 1.0}
    forged = type("Forged", (), {"__getitem__": lambda self, key: false.get(key, run[key])})()
    assert len(contacts.faults("wheelie-pd", forged, 0.8)) >= 2


def test_every_range_is_sampled_at_both_ends_and_five_points(contacts):
    pulls = [case["pull_torque"] for case in contacts.cases("wheelie-pd", {"pull_torque"})]
    assert pulls[0] == 40.0
    assert pulls[-1] == 150.0
    assert len(pulls) == 7
