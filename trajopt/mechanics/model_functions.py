"""The equations of motion of a mechanism as CasADi functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi

from trajopt.mechanics.formulations import Augmented
from trajopt.mechanics.lagrange import Mechanism


@dataclass(frozen=True, eq=False)
class ModelFunctions:
    """Functions of (q, v, u, p, t) and of further arguments, each derived on first use."""

    mechanism: Mechanism

    @cached_property
    def solved(self) -> casadi.Function:
        """Acceleration, reactions, and the generalized force of all reactions."""
        m = self.mechanism
        motion = Augmented().motion(m, casadi.SX.zeros(len(m.rows), 1))
        return m.function(
            motion.acceleration, motion.reactions, m.equations.directions @ motion.reactions
        )

    @cached_property
    def residual(self) -> casadi.Function:
        """The equations as a DAE of index 1, also of accelerations and reactions."""
        m = self.mechanism
        a, r = casadi.SX.sym("a", len(m.coordinates)), casadi.SX.sym("r", len(m.rows))
        e = m.equations
        equations = casadi.vertcat(
            e.mass @ a + e.bias - e.force - e.directions @ r, e.matrix @ a + e.drift
        )
        return casadi.Function("residual", [m.q, m.v, m.u, m.p, m.time, a, r], [equations])

    @cached_property
    def inverse(self) -> casadi.Function:
        """M a + bias - Q, also of accelerations."""
        m = self.mechanism
        a = casadi.SX.sym("a", len(m.coordinates))
        e = m.equations
        return casadi.Function(
            "inverse", [m.q, m.v, m.u, m.p, m.time, a], [e.mass @ a + e.bias - e.force]
        )
