"""Collocation: the direct method as a value, with the settings of its strategy.

Every tuned number of the direct method is a field of a class in this file, with its meaning and the
reason for its value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from trajopt.arguments import Count, Positive, named_settings
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Radau, Scheme
from trajopt.errors import UsageError
from trajopt.nlp.backends import Backend
from trajopt.nlp.interior_point import Compiled

# Sums over a trajectory carry some ten rounding errors, of the last decimal digit.
LEAST_TOLERANCE = float(10 * np.finfo(float).resolution)
DECADE = 10  # much smaller, or much larger: an order of magnitude
# of the range of a control: two values that are closer count as the same, at a junction, at a jump,
# and in a mixture
DISTINCT = 1 / DECADE


@dataclass(frozen=True)
class Refinement:
    """The first mesh, and how meshes are refined."""

    intervals: int = 10
    """Intervals of the first mesh where controls act smoothly, of the degree of the scheme."""
    switching_intervals: int = 30
    """Intervals of the first mesh where controls may switch; they are constant on each, and the
    degree is one lower.
    """
    max_degree: int = 9
    """Of the state polynomials."""
    max_pieces: int = 6
    """Largest number of intervals that replace one interval in a refinement."""
    smooth_decay: float = 0.4
    """Factor by which Legendre coefficients must fall for a higher degree to be trusted."""
    rough: float = 0.1
    """Relative error above which a solution is a poor prediction of the next: smooth controls are
    kept linear there.
    """
    limit_weight: float = 10.0
    """Weight of a violated limit against an error of the states of the same size: a violation is
    worth its multiplier, which is often large.
    """
    near_break: float = 0.1
    """Of an interval: a kink nearer to one of its ends moves that end, instead of cutting the
    interval.
    """
    costate_weight: float = 0.1
    """Weight of an error of the costates, relative to their size, against one of the states."""
    polishing: int = 6
    """Further meshes that only improve the costates, after the states are accurate."""


@dataclass(frozen=True)
class ArcDetection:
    """Arcs: bang, singular and boundary arcs with moving knots between them."""

    at_bound: float = 2e-3
    """Of its range: how close to a bound a control counts as being at it."""
    active: float = 1e-5
    """Of its size: how close to its bound a state or a path constraint counts as active; of a
    phase: the length below which an arc has vanished; ten times that, below which none is
    proposed.
    """
    few: int = 3
    """Nodes or intervals in a row: so few active ones are a touch point, so few inactive ones a gap
    in a boundary arc.
    """
    degree: int = 6
    """Of the state polynomials on arcs."""
    density: float = 12.0
    """Intervals of a phase with arcs, at the least two for each arc."""
    singular_points: int = 4
    """Values of a singular control on an interval: a cubic approximates it and cannot chatter."""
    proposals: int = 3
    """Number of times that arcs are proposed, and repaired, before refinement continues without
    arcs.
    """


@dataclass(frozen=True)
class Search:
    """First solutions, and second tries."""

    quick_iterations: int = 150
    """Of a first attempt: most programs need fewer; for the others another attempt is more
    promising.
    """
    start_work: float = 3e5
    """Unknowns times iterations that other starts may take in any case, a few tenths of a second;
    more where the first solution took more.
    """
    other_slope: float = 3.0
    """The steepest slope of the cost where a first program does not converge in its own unit."""
    barrier: float = 1e-2
    """Initial barrier parameter from a feasible start, or far from the solution; near it,
    ``round_off``.
    """


@dataclass(frozen=True)
class TangentNumbers:
    """Derivatives of a solution by what it was solved for, and neighbouring solutions."""

    exact: float = 1e-10
    """Tolerance of the point at which derivatives are taken."""
    zero: float = 1e-8
    """Of sizes of unknowns, and of the largest multiplier."""
    step: float = 1e-5
    """Of unknowns in their sizes: of differences of what is read from a solution."""
    good: float = 1e3
    """Condition number of dx of a family that need not be replaced by another."""
    worst: float = 1e8
    """Condition number beyond which the states at that time are not those of the family."""


TANGENTS = TangentNumbers()


@named_settings
@dataclass(frozen=True)
class Collocation:
    """Direct collocation with automatic meshes.

    Parameters
    ----------
    scheme : Scheme
        Radau by default.
    mesh : Mesh or None
        The first mesh of every phase; None chooses it.
    backend : Backend
        The solver of the nonlinear programs: the compiled core by default, or IPOPT where it is not
        built.
    tolerance : float
        Limit of the estimated relative error of states and cost. A solution that misses it is
        COARSE; infinity accepts any.
    max_passes : int
        The largest number of meshes; 1 keeps the first.
    max_work : float
        The largest sum over all meshes, those of second tries too, of unknowns times iterations:
        beyond it no further mesh is solved, and the status is WORK_LIMIT. A solve needs 1 to 10
        microseconds for each; the largest of the named problems and the suite needs 3e6.
    round_off : float
        Relative to the typical size of a quantity: smaller values count as zero.
    refinement, arcs, search : Refinement, ArcDetection, Search
        Settings of the parts of the strategy.
    without : set of names
        Attempts and remedies of the strategy that are left out.
    verbose : bool
        Print the iterations of the backend.

    Examples
    --------
    >>> from trajopt import Collocation, Mesh
    >>> Collocation(mesh=Mesh.uniform(20, 5), tolerance=1e-8).max_passes
    20
    """

    scheme: Scheme = field(default_factory=Radau)
    mesh: Mesh | None = None
    backend: Backend = field(default_factory=Compiled)
    tolerance: Positive = 1e-6
    max_passes: Count = 20
    max_work: Positive = 3e7
    round_off: Positive = 1e-6
    refinement: Refinement = Refinement()
    arcs: ArcDetection = ArcDetection()
    search: Search = Search()
    without: frozenset[str] = frozenset()
    verbose: bool = False

    @property
    def negligible(self) -> float:
        """Relative limit of what is neglected: a guess against the limits of its quantity, a
        costate against its share of H, a gain against the cost, multipliers of the wrong sign
        against all multipliers.
        """
        return math.sqrt(self.round_off)

    def __post_init__(self) -> None:
        if self.tolerance < LEAST_TOLERANCE:
            raise UsageError(
                "Collocation: tolerance",
                got=f"{self.tolerance:g}",
                expected=f"at least {LEAST_TOLERANCE:g}",
                hint="no mesh brings the rounding of double precision below that",
            )
        if not callable(getattr(self.scheme, "rule", None)) or isinstance(self.scheme, type):
            raise UsageError(
                "Collocation: scheme",
                got=repr(self.scheme),
                expected="a scheme, such as Radau() or Gauss()",
            )
        if not callable(getattr(self.backend, "solve", None)) or isinstance(self.backend, type):
            raise UsageError(
                "Collocation: backend", got=repr(self.backend), expected="Compiled() or Ipopt()"
            )
