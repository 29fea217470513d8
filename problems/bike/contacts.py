"""Both wheels of the bike robot on the ground as unilateral contacts, for simulations under a
control law.

The rear wheel turns by itself and has friction; the front wheel rolls without resistance: its force
is normal. Impacts are without rebound. An elastic stop keeps the arm from straightening, which is a
dead centre of the loop. A run ends where the rider or the bicycle touches the ground, or the arm is
straight in spite of its stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi
from casadi import SX, fmax, fmin

from problems.bike.models import FiveLink, Machine, SevenLink
from trajopt.errors import ModelError
from trajopt.mechanics.unilateral import ContactMotion, PointContact, Unilateral
from trajopt.parameters import setting_field
from trajopt.system import Event, System, Variable

STRAIGHT = 1e-2  # of the stop's slack; nearer to a straight arm a run ends


@dataclass(frozen=True)
class ElbowStop:
    """A spring and a damper against straightening the arm, from a distance of shoulder and hand on;
    ours.

    The damping grows with the depth (Hunt and Crossley), so that the force does not jump.
    """

    slack: float = setting_field(
        0.012, "m", "how far from a straight arm it begins, between shoulder and hand", 0.005, 0.05
    )
    stiffness: float = setting_field(1e6, "N/m", "stiffness", 3e5, 3e6)
    damping: float = setting_field(5.0, "s/m", "damping by stiffness and depth", 0, 20)

    def pull(self, spare: Any, rate: Any) -> Any:
        """The force between shoulder and hand, by what the arm is short of straight (m), and the
        rate of their distance.
        """
        return self.stiffness * fmax(self.slack - spare, 0) * fmax(1 + self.damping * rate, 0)


@dataclass(frozen=True, eq=False)
class OnWheels:
    """A machine without constraints over the ground, with the modes of both contacts as symbols."""

    machine: Machine
    data: FiveLink | SevenLink
    contacts: Unilateral
    stop: ElbowStop

    @staticmethod
    def of(
        machine: Machine, data: FiveLink | SevenLink, friction: float, stop: ElbowStop
    ) -> OnWheels:
        m = machine.mechanism
        rates = {c.name: c.v for c in m.coordinates}
        slip = rates["x"] - data.wheel_radius * rates["wheel"]
        rear = PointContact(
            "rear", machine.point("rear axle", m.q)[1] - data.wheel_radius, slip, friction
        )
        front = PointContact("front", machine.point("front axle", m.q)[1] - data.wheel_radius)
        return OnWheels(machine, data, Unilateral(m, (rear, front)), stop)

    @property
    def rear_down(self) -> SX:
        return self.contacts.modes[0] > 0.5

    @property
    def gap(self) -> SX:
        """Of the rear wheel (m)."""
        return self.contacts.contacts[0].gap

    @property
    def lowest(self) -> SX:
        """The height of the lowest point of rider and frame, wheels left out (m)."""
        m, points = self.machine.mechanism, self.machine.posture.points
        heights = [self.machine.point(name, m.q)[1] for name in points if "axle" not in name]
        lowest = heights[0]
        for height in heights[1:]:
            lowest = fmin(lowest, height)
        return lowest

    @property
    def reach(self) -> SX:
        """The distance of shoulder and hand (m)."""
        return self.machine.seen(self.machine.posture.reach, self.machine.mechanism.q)

    @property
    def spare(self) -> SX:
        """Length of the straight arm less the distance of shoulder and hand (m)."""
        return self.data.upper_arm.length + self.data.forearm.length - self.reach

    @property
    def stop_force(self) -> tuple[SX, SX]:
        """The force of the elbow's stop (N), and its generalized forces."""
        m = self.machine.mechanism
        force = self.stop.pull(self.spare, casadi.jtimes(self.reach, m.q, m.v))
        return force, -force * casadi.gradient(self.reach, m.q)

    def system(
        self,
        name: str,
        torques: SX,
        stage: tuple[SX, Variable, Sequence[tuple[str, SX, int, int]]],
        outputs: Mapping[str, tuple[Any, str]],
        start: Mapping[str, float],
        arm_force: Any = 0.0,
        **details: Any,
    ) -> System:
        """The machine under torques, which are expressions of the state; ``arm_force`` is that of
        the arms between shoulder and hand, a pull positive.

        ``stage`` is a symbol of the control law, its start, and its events: name, function,
        direction and the stage after it.
        """
        m, (symbol, stage_start, switches) = self.machine.mechanism, stage
        force = casadi.substitute(m.equations.force, m.u, torques) + self.stop_force[1]
        force -= arm_force * casadi.gradient(self.reach, m.q)
        motion = self.contacts.motion(force)
        time = details.pop("time", SX.sym("t"))
        x = casadi.vertcat(m.q, m.v, self.contacts.modes, symbol)
        p = details.pop("p", SX(0, 1))
        events = (
            *self.contacts.events(motion, force, time, x, p),
            *(
                Event(what, g, sense, casadi.vertcat(x[:-1], after))
                for what, g, sense, after in switches
            ),
            Event("rider on the ground", self.lowest, -1, terminal=True, level=True),
            # A heavy arm compresses the stop; where the arm is straight the equations are singular.
            Event(
                "arm straight",
                self.spare - STRAIGHT * self.stop.slack,
                -1,
                terminal=True,
                level=True,
            ),
        )
        begins = m.starting_at(dict(start))
        self._check_reach(begins.start[0])
        states = (*begins.state_variables(), *self.contacts.variables(begins.start[0]), stage_start)
        return System(
            name,
            time,
            x,
            states,
            casadi.vertcat(m.v, motion.acceleration, SX.zeros(len(self.contacts.contacts) + 1)),
            p=p,
            outputs={**outputs, **self._forces(motion)},
            events=events,
            **details,
        )

    def _check_reach(self, q: Any) -> None:
        """Raise where the hand cannot be on the handlebar in the posture of the start."""
        m, data = self.machine.mechanism, self.data
        far = float(casadi.Function("reach", [m.q], [self.reach])(q))
        upper, fore = data.upper_arm.length, data.forearm.length
        if not abs(upper - fore) < far < upper + fore - self.stop.slack:
            raise ModelError(
                "the rider cannot hold the handlebar in the posture of the start",
                got=f"{far:.3f} m from shoulder to handlebar",
                expected=f"{abs(upper - fore):.3f} to {upper + fore - self.stop.slack:.3f} m: the "
                "arm less the slack of its stop",
            )

    def _forces(self, motion: ContactMotion) -> dict[str, tuple[SX, str]]:
        m = self.machine.mechanism
        centre = self.machine.point("mass centre", m.q)
        return {
            "rear_force": (motion.normal[0], "N"),
            "traction": (motion.tangential[0], "N"),
            "front_force": (motion.normal[1], "N"),
            "stop_force": (self.stop_force[0], "N"),
            "slip": (self.contacts.contacts[0].slip, "m/s"),
            "rear_gap": (self.gap, "m"),
            "front_gap": (self.contacts.contacts[1].gap, "m"),
            "lowest_point": (self.lowest, "m"),
            "mass_centre_x": (centre[0], "m"),
            "mass_centre_y": (centre[1], "m"),
            "reach": (self.reach, "m"),
            "energy": (m.equations.energy, "J"),
        }
