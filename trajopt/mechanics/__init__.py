"""Mechanical systems: from energies, bodies or chains of links to equations of motion."""

from trajopt.mechanics.beams import Beam
from trajopt.mechanics.bodies import Body, assemble
from trajopt.mechanics.chains import Frame, Link, Tree, rod
from trajopt.mechanics.consistency import ModelCheck, ModelReport, check_model
from trajopt.mechanics.constraints import Dependence, Holonomic, Nonholonomic
from trajopt.mechanics.contact import Contact, Line, Resting, touch
from trajopt.mechanics.contact_laws import (
    Arctangent,
    Coulomb,
    Hertz,
    Hooke,
    HuntCrossley,
    KelvinVoigt,
    Sigmoid,
)
from trajopt.mechanics.elements import (
    Drive,
    Fixed,
    Force,
    Gear,
    Prismatic,
    Rack,
    Revolute,
    Spring,
    Torque,
    TorsionSpring,
)
from trajopt.mechanics.formulations import (
    Appell,
    Augmented,
    Chaplygin,
    Eliminated,
    EquationsOfMotion,
    Formulation,
    Penalty,
    Voronets,
)
from trajopt.mechanics.impacts import NewtonImpact, PoissonImpact, impact
from trajopt.mechanics.integrability import Helmholtz, Integrability, helmholtz, nonholonomy
from trajopt.mechanics.inverse import ClosedLoop, ParallelTorques, newton_euler, parallel
from trajopt.mechanics.joints import Ball, Level, Mimic, Placement, Quaternion, Slide, Turn
from trajopt.mechanics.joints import FreeJoint as Free
from trajopt.mechanics.kinematics import Kinematics, kinematics
from trajopt.mechanics.lagrange import Coordinate, Inertia, Mechanism, Quantity
from trajopt.mechanics.robot import JointLimits, Robot, Visual, read_robot
from trajopt.mechanics.unilateral import PointContact, Unilateral

__all__ = [
    "Appell",
    "Arctangent",
    "Augmented",
    "Ball",
    "Beam",
    "Body",
    "Chaplygin",
    "ClosedLoop",
    "Contact",
    "Coordinate",
    "Coulomb",
    "Dependence",
    "Drive",
    "Eliminated",
    "EquationsOfMotion",
    "Fixed",
    "Force",
    "Formulation",
    "Frame",
    "Free",
    "Gear",
    "Helmholtz",
    "Hertz",
    "Holonomic",
    "Hooke",
    "HuntCrossley",
    "Inertia",
    "Integrability",
    "JointLimits",
    "KelvinVoigt",
    "Kinematics",
    "Level",
    "Line",
    "Link",
    "Mechanism",
    "Mimic",
    "ModelCheck",
    "ModelReport",
    "NewtonImpact",
    "Nonholonomic",
    "ParallelTorques",
    "Penalty",
    "Placement",
    "PointContact",
    "PoissonImpact",
    "Prismatic",
    "Quantity",
    "Quaternion",
    "Rack",
    "Resting",
    "Revolute",
    "Robot",
    "Sigmoid",
    "Slide",
    "Spring",
    "Torque",
    "TorsionSpring",
    "Tree",
    "Turn",
    "Unilateral",
    "Visual",
    "Voronets",
    "assemble",
    "check_model",
    "helmholtz",
    "impact",
    "kinematics",
    "newton_euler",
    "nonholonomy",
    "parallel",
    "read_robot",
    "rod",
    "touch",
]
