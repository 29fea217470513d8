"""The numbers of the indirect method, each with its meaning and the reason for its value.

Users set the fields of ``Shooting``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """Arcs read from the curves of a guess."""

    points: int = 8
    """Samples in each mesh interval, none at its ends, where controls jump; with one, the
    costates of Bryson and Denham's problem are too far off.
    """
    near_control: float = 2e-3
    """Of its range: how close to a bound a control, or a constraint on controls, counts as
    being there.
    """
    least_arc: float = 1e-4
    """Of the phase: nothing shorter is an arc."""
    dependent: float = 1e-6
    """Relative: gradients whose directions differ by less say the same. Those at linked
    points of a guess agree no better than the guess fulfils the link.
    """
    near_constraint: float = 1e-5
    """Of the size of its values: how close to a limit a state constraint counts as active,
    at most.
    """
    least_near: float = 1e-7
    """At least: where the multiplier of a boundary arc vanishes, a barrier method keeps a
    distance of this size.
    """
    margin: float = 10.0
    """Times the error of the solution: a limit so near may be active. Times
    ``near_constraint``: the same between mesh points of an arc.
    """


@dataclass(frozen=True)
class Starting:
    """Unknowns of shooting from a guess."""

    samples: int = 41
    """Of an arc, for sizes and integrals."""
    decisions: int = 25
    """Places along an arc where controls that H leaves open are decided about."""
    trials: int = 21
    """Points of an arc at which declared first integrals are tried, and multipliers compared."""
    most_corrected: int = 50_000
    """Unknowns up to which the costates of a guess are corrected. With 3e5, on a grid that a
    law close to its singularity asks for, the factors take gigabytes.
    """
    negligible: float = 1e-7
    """Multiplier, relative to the largest, of a condition that only seems active."""
    anywhere: int = 5
    """Points that stand in where there is no guess."""
    starts: int = 5
    """Of a minimization of H, along each control component."""
    most_starts: int = 125
    """Of a minimization of H."""
    unbounded: float = 3.0
    """Half the width of the starts of a control without bounds: angles, in radians, are the
    usual ones with several minima.
    """
    most_arcs: int = 30
    """Of an integration from given costates."""
    tolerance: float = 1e-9
    """Of an integration from given costates."""


@dataclass(frozen=True)
class Laws:
    """Control laws, state constraints and first integrals."""

    highest_order: int = 4
    """Of a state constraint: mechanical systems have 2, with actuator lag 3 or 4."""
    singular_derivatives: int = 4
    """Of the switching function: orders one and two."""
    projections: int = 3
    """Steps of Newton's method to where the lower derivatives of the switching function
    vanish, from points of a guess that is near.
    """
    constant: float = 1e-8
    """Relative to what the rates of single variables would change: a derivative that counts
    as zero.
    """
    damping: float = 1e-12
    """Of dependent first integrals, whose corrections would not be unique."""
    decisive: float = 1e-2
    """Relative slope by which a first integral determines a costate."""


@dataclass(frozen=True)
class Grids:
    """Steps and segments of the flow."""

    degree: int = 12
    """Of the polynomials between steps: the flow has a far smaller error constant than
    interpolation of its order.
    """
    probes: int = 40
    """Places along an arc where local errors are estimated at first."""
    most_probes: int = 4000
    """Of them, at most."""
    sensitivity_tolerance: float = 1e-5
    """Relative; only has to keep the discrete flow close to a symplectic one."""
    growth: float = 1e3
    """Largest growth of an error over a segment. More: Newton's method needs a better guess.
    Less: more unknowns.
    """
    sweeps: int = 14
    """At most, to settle the local steps."""
    plain_sweeps: int = 3
    """Of them, at first, without sensitivities, which cost more."""
    accepted: float = 3.0
    """Times the tolerance: the estimated error that ends the sweeps."""
    most_steps: int = 30_000
    """In one arc."""
    smallest: float = 1e-9
    """Step in normalised time."""
    taken: float = 10.0
    """Times the tolerance: the error that steps may have that were taken before."""
    call: int = 10_000
    """Operations that take as long as the calls of one stage of a step."""
    grids: int = 8
    """At most, for one structure."""


@dataclass(frozen=True)
class NewtonNumbers:
    """Newton's method for the equations of shooting."""

    dense: int = 700
    """Unknowns up to which a pivoted QR factorization is used, which also sees a deficient
    rank.
    """
    rank: float = 1e-12
    """Relative: smaller pivots count as zero."""
    stalled: int = 12
    """Steps that do not halve the residual: the structure is wrong, or the guess is too far
    away.
    """
    chord: float = 0.1
    """Largest contraction with which the next correction of the same matrix is taken as a
    step.
    """
    fill: int = 100
    """Operations of a sparse factorization for each nonzero of matrices of multiple
    shooting.
    """
    regularization: float = 1e-9
    """Of the sparse least-squares system, relative to equilibrated equations."""


@dataclass(frozen=True)
class Checking:
    """What an answer must satisfy, and how its structure is revised."""

    slack: float = 1e-6
    """Relative: inequalities may be violated by so much."""
    vanished: float = 1e-6
    """Of the phase: an arc shorter than this is none."""
    snap: float = 0.02
    """Of an arc: a revision that ends so close to the end of its arc ends there."""
    at_limit: float = 1e-9
    """How near to its limit a mixed constraint is that others imply: rounding errors of laws."""
    rounding: float = 1e-8
    """Of its range: a control this near to its bound is there."""
    samples: int = 400
    """Of a phase, at which the excess over limits is measured."""
    near: float = 1e-3
    """Of the range of its values: how close to its limit a state constraint may be active."""


READING = Reading()
START = Starting()
LAWS = Laws()
GRID = Grids()
NEWTON = NewtonNumbers()
CHECK = Checking()
