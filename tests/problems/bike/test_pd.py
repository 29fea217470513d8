"""PD runs of the five-link bike robot: values of the wheelie, lift-off and touch-down, the elbow
stop, the power balance.
"""

import numpy as np
import pytest

from problems import bike
from problems.bike.pd import REFERENCE, PdLaw
from trajopt.integrate import simulate


@pytest.fixture(scope="module")
def wheelie():
    return simulate(bike.wheelie_pd())


def _times(run):
    return {event.name: event.time for event in run.events}


def test_wheelie_has_the_values_of_the_reference(wheelie):
    times = _times(wheelie)
    assert times["front lift-off"] == pytest.approx(REFERENCE["lift-off"], abs=5e-4)
    assert times["pull over"] == pytest.approx(REFERENCE["pd on"], abs=1e-3)
    rise = np.degrees(wheelie.at(np.linspace(0.4, 0.7, 301), "beta"))
    # The reference notices 20 deg only at the end of its step, which adds about 0.1 deg to the
    # peak.
    assert rise.max() == pytest.approx(REFERENCE["peak"], abs=0.2)
    assert np.degrees(wheelie.final["beta"]) == pytest.approx(REFERENCE["rise"], abs=5e-3)
    assert np.degrees(wheelie.final["torso"]) == pytest.approx(REFERENCE["lean"], abs=5e-3)


def test_contact_forces_are_compressive(wheelie):
    assert wheelie["front_force"].min() >= -1e-5
    assert wheelie["rear_force"].min() > 0
    assert wheelie["reach"].max() < 0.838  # the elbow stop is not touched


def test_the_energy_equals_the_work_of_the_torques(wheelie):
    """Up to lift-off, and from there to the end of the wheel torque: the energy gain is the work of
    wheel and waist.
    """
    system = wheelie.system
    of = {
        name: system.function(system.outputs[name][0])
        for name in ("wheel_torque", "waist_torque", "energy")
    }
    places, weights = np.polynomial.legendre.leggauss(8)

    def value(name, time):
        return float(of[name](time, wheelie.at(time), system.parameter_values))

    def power(time):
        rate = dict(zip(("x", "y", "wheel", "beta", "torso"), wheelie.at(time)[5:10], strict=True))
        turning = value("wheel_torque", time) * (rate["wheel"] + rate["beta"])
        return turning + value("waist_torque", time) * (rate["torso"] + rate["beta"])

    times = _times(wheelie)
    for start, end in (
        (0.0, times["front lift-off"]),
        (times["front lift-off"], times["pull over"]),
    ):
        # The integrator's own steps are short where a torque reaches its limit.
        knots = np.unique(np.clip(wheelie.t, start + 1e-9, end - 1e-9))
        middles, halves = (knots[1:] + knots[:-1]) / 2, np.diff(knots) / 2
        powers = np.array(
            [
                [power(m + h * place) for place in places]
                for m, h in zip(middles, halves, strict=True)
            ]
        )
        work = halves @ powers @ weights
        assert value("energy", knots[-1]) - value("energy", knots[0]) == pytest.approx(
            work, rel=1e-8
        )


def test_lift_off_is_at_zero_front_force_with_continuous_velocity(wheelie):
    (lift,) = [event for event in wheelie.events if event.name == "front lift-off"]
    assert lift.before[:10] == pytest.approx(lift.after[:10], abs=1e-12)
    torques = [60.0, float(PdLaw().waist_torque(lift.before[4], lift.before[9]))]
    q, v = (lift.before[[0, 3, 4]], lift.before[[5, 8, 9]])  # of the machine that rolls
    moment = bike.five_link(front_down=True).mechanism.reactions(q, v, torques)
    assert float(moment) == pytest.approx(0.0, abs=2e-6)
    # In the air the front then accelerates upwards: just after, at rest still, it does not sink.
    later = wheelie.at(lift.time + 1e-3, "beta")
    assert later > 0


def test_a_short_torque_lifts_the_front_which_lands_without_rebound():
    run = simulate(bike.front_up_pd())
    names = [event.name for event in run.events]
    assert names[:2] == ["front lift-off", "pull over"]
    landing = next(event for event in run.events if event.name == "front touch-down")
    assert landing.before[3] == pytest.approx(0.0, abs=1e-8)
    assert landing.before[8] < 0
    assert landing.after[8] == pytest.approx(0.0, abs=1e-12)
    # The rear wheel keeps rolling, so the impulse at the front has a moment about the rear axle
    # only: in the coordinates of the machine that rolls, another model, the momenta of x and torso
    # stay.
    model = bike.five_link().mechanism
    mass = np.array(model.evaluate(model.equations.mass, landing.before[[0, 3, 4]], np.zeros(3)))
    momenta = mass @ (landing.after[[5, 8, 9]] - landing.before[[5, 8, 9]])
    assert momenta[[0, 2]] == pytest.approx(0.0, abs=1e-5)
    assert momenta[1] > 1.0
    assert run["reach"].max() < 0.85


@pytest.mark.parametrize("pull", [50.0])
def test_other_torques_end_in_the_same_wheelie(pull, wheelie):
    run = simulate(bike.wheelie_pd(pull_torque=pull), until=3.0)
    for name in ("beta", "torso"):
        assert run.final[name] == pytest.approx(wheelie.final[name], abs=1e-6)


def test_on_the_ground_it_moves_as_the_machine_that_rolls(wheelie):
    """Forces of the contacts against reactions of another model, in coordinates that roll."""
    machine = bike.five_link()
    for time in (0.2, 0.35, 0.6, 1.5):
        x = wheelie.at(time)
        q, v = x[[0, 3, 4]], x[[5, 8, 9]]
        torques = [
            float(
                wheelie.system.function(wheelie.system.outputs[name][0])(
                    time, x, wheelie.system.parameter_values
                )
            )
            for name in ("wheel_torque", "waist_torque")
        ]
        a = machine.mechanism.acceleration(q, v, torques)
        rate = np.array(
            wheelie.system.function(wheelie.system.rate)(time, x, wheelie.system.parameter_values)
        ).ravel()
        assert rate[[5, 8, 9]] == pytest.approx(np.array(a).ravel(), abs=1e-7)
        ground = [
            float(
                wheelie.system.function(wheelie.system.outputs[name][0])(
                    time, x, wheelie.system.parameter_values
                )
            )
            for name in ("traction", "rear_force")
        ]
        assert ground == pytest.approx(np.array(machine.ground_force(q, v, a)).ravel(), abs=1e-6)


@pytest.mark.parametrize(
    ("pull", "happened"),
    [(80.0, {"rear slip"}), (150.0, {"rear slip", "rear lift-off", "rear touch-down"})],
)
def test_large_torques_cause_slip_and_lift_off(pull, happened, wheelie):
    run = simulate(bike.wheelie_pd(pull_torque=pull))
    assert happened <= {event.name for event in run.events}
    assert run["rear_force"].min() > -1e-4
    assert np.all(np.abs(run["traction"]) <= 0.8 * run["rear_force"] + 1e-4)
    assert run["rear_gap"].min() > -1e-6
    assert run.final["beta"] == pytest.approx(wheelie.final["beta"], abs=1e-5)


def test_falling_over_is_reported():
    run = simulate(bike.front_up_pd(pull_torque=150.0))
    assert run.events[-1].name == "rider on the ground"
    assert run.t[-1] < 1.0
