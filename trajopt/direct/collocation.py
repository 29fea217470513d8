"""Collocation: the direct method as a value, with the settings of its strategy.

Every tuned number of the direct method is a field of a class in this file, with its meaning and the reason for its value.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Radau, Scheme
from trajopt.nlp.backends import Backend
from trajopt.nlp.interior_point import Compiled


@dataclass(frozen=True)
class Refinement:
    """The first mesh, and how meshes are refined."""

    intervals: int = 10
    """Intervals of the first mesh where controls act smoothly, of the degree of the scheme."""
    switching_intervals: int = 30
    """Intervals of the first mesh where controls may switch; they are constant on each, and the degree is one lower."""
    max_degree: int = 9
    """Of the state polynomials."""
    max_pieces: int = 6
    """Largest number of intervals that replace one interval in a refinement."""
    smooth_decay: float = 0.4
    """Factor by which Legendre coefficients must fall for a higher degree to be trusted."""
    rough: float = 0.1
    """Relative error above which a solution is a poor prediction of the next: smooth controls are kept linear there. Its inverse
    is the weight of a violated constraint against an error of the states; its square, the distance from a limit at which a
    constraint counts as near it."""
    near_break: float = 0.1
    """Of an interval: a kink nearer to one of its ends moves that end, instead of cutting the interval."""
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
    """Of its size: how close to its bound a state or a path constraint counts as active; of a phase: the length below which an
    arc has vanished."""
    few: int = 3
    """Nodes or intervals in a row: so few active ones are a touch point, so few inactive ones a gap in a boundary arc."""
    shortest: float = 1e-4
    """Of a phase: shorter arcs are not proposed."""
    degree: int = 6
    """Of the state polynomials on arcs."""
    density: float = 12.0
    """Intervals of a phase with arcs, at the least two for each arc."""
    singular_points: int = 4
    """Values of a singular control on an interval: a cubic approximates it and cannot chatter."""
    proposals: int = 3
    """Number of times that arcs are proposed, and repaired, before refinement continues without arcs."""
    max_arcs: int = 20
    """Of a phase with boundary arcs: more are a sign of an unresolved mesh, and a slow program."""


@dataclass(frozen=True)
class Search:
    """First solutions, and second tries."""

    quick_iterations: int = 150
    """Of a first attempt: most programs need fewer; for the others another attempt is more promising."""
    barrier: float = 1e-2
    """Initial barrier parameter from a feasible start, or far from the solution; near it, ``round_off``."""
    samples: int = 9
    """Of the range of a smooth control, at which the Hamiltonian is compared (Weierstrass condition)."""


@dataclass(frozen=True)
class Elastic:
    """The least-violation problem, in which conditions are elastic. Weights are relative to that of a stated condition."""

    end_weight: float = 30.0
    """Of an end value: violated only if violating conditions does not suffice."""
    link_weight: float = 300.0
    """Of the continuity of phases: violated only if no other violation suffices."""
    regularization: float = 1e-8
    """Weight of the mean square of unknowns without bounds: it keeps undetermined unknowns moderate."""


@dataclass(frozen=True)
class Presolve:
    """Quadratic first integrals of the dynamics."""

    max_states: int = 24
    """Among which they are looked for: the work grows with the sixth power."""
    window: float = 0.1
    """Of its size: how far an end value that is left to a first integral may be off."""


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
        The solver of the nonlinear programs: the compiled core by default, or IPOPT where it is not built.
    tolerance : float
        Limit of the estimated relative error of states and cost. A solution that misses it is COARSE; infinity accepts any.
    max_passes : int
        The largest number of meshes; 1 keeps the first.
    round_off : float
        Relative to the typical size of a quantity: smaller values count as zero.
    negligible : float
        Relative limit of what is neglected: a guess against the limits of its quantity, a costate against its share of H, a
        gain against the cost, multipliers of the wrong sign against all multipliers.
    refinement, arcs, search, elastic, presolve : Refinement, ArcDetection, Search, Elastic, Presolve
        Settings of the parts of the strategy.
    without : set of names
        Attempts and remedies of the strategy that are left out.

    Examples
    --------
    >>> from trajopt import Collocation, Mesh
    >>> Collocation(mesh=Mesh.uniform(20, 5), tolerance=1e-8).max_passes
    20
    """

    scheme: Scheme = field(default_factory=Radau)
    mesh: Mesh | None = None
    backend: Backend = field(default_factory=Compiled)
    tolerance: float = 1e-6
    max_passes: int = 20
    round_off: float = 1e-6
    negligible: float = 1e-3
    refinement: Refinement = Refinement()
    arcs: ArcDetection = ArcDetection()
    search: Search = Search()
    elastic: Elastic = Elastic()
    presolve: Presolve = Presolve()
    without: frozenset[str] = frozenset()
