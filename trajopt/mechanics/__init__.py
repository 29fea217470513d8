"""Mechanical systems: from energies, bodies or chains of links to equations of motion."""

from trajopt.mechanics.bodies import Body, assemble
from trajopt.mechanics.chains import Frame, Level, Link, Slide, Tree, Turn, rod
from trajopt.mechanics.consistency import ModelCheck, ModelReport, check_model
from trajopt.mechanics.constraints import Dependence, Holonomic, Nonholonomic
from trajopt.mechanics.contact import Contact, Line, Resting, touch
from trajopt.mechanics.contact_laws import Arctangent, Coulomb, Hertz, Hooke, HuntCrossley, KelvinVoigt, Sigmoid
from trajopt.mechanics.elements import Drive, Fixed, Force, Prismatic, Revolute, Spring, Torque, TorsionSpring
from trajopt.mechanics.formulations import Augmented, Chaplygin, Eliminated, EquationsOfMotion, Formulation, Penalty, Voronets
from trajopt.mechanics.impacts import NewtonImpact, PoissonImpact, impact
from trajopt.mechanics.integrability import Helmholtz, Integrability, helmholtz, nonholonomy
from trajopt.mechanics.inverse import ClosedLoop, ParallelTorques, newton_euler, parallel
from trajopt.mechanics.kinematics import Kinematics, kinematics
from trajopt.mechanics.lagrange import Coordinate, Inertia, Mechanism, Quantity
from trajopt.mechanics.unilateral import PointContact, Unilateral

__all__ = [
    "Arctangent",
    "Augmented",
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
    "Helmholtz",
    "Hertz",
    "Holonomic",
    "Hooke",
    "HuntCrossley",
    "Inertia",
    "Integrability",
    "KelvinVoigt",
    "Kinematics",
    "Level",
    "Line",
    "Link",
    "Mechanism",
    "ModelCheck",
    "ModelReport",
    "NewtonImpact",
    "Nonholonomic",
    "ParallelTorques",
    "Penalty",
    "PointContact",
    "PoissonImpact",
    "Prismatic",
    "Quantity",
    "Resting",
    "Revolute",
    "Sigmoid",
    "Slide",
    "Spring",
    "Torque",
    "TorsionSpring",
    "Tree",
    "Turn",
    "Unilateral",
    "Voronets",
    "assemble",
    "check_model",
    "helmholtz",
    "impact",
    "kinematics",
    "newton_euler",
    "nonholonomy",
    "parallel",
    "rod",
    "touch",
]
