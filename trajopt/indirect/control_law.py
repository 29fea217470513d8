"""The control law of an arc, found from the Hamiltonian.

On an arc every control component keeps one role: at a bound, interior (H is stationary), or
singular (a time derivative of the switching function gives it); some constraints are active. The
free controls, the algebraic variables and the multipliers together solve a small system E(v; t, x,
costate) = 0. Where E is affine in v the law is a closed form; otherwise v follows its own
differential equation E_v v' = -(E_t + E_x x' + E_costate costate'), so that it stays on the branch
where it starts, and only its start is solved for. A control may be idle: where the throttle is zero
H does not depend on the direction of thrust. It then keeps the limit of its law, which minimizes
the switching function of the control at its bound, since that is what decides when the bound is
left. Bryson & Ho, sections 3.8 to 3.11 (state constraints) and 8.3 (singular arcs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.elimination import Known, is_zero, solved_linear
from trajopt.indirect.hamiltonian import Constraint, PhaseHamiltonian, UnsupportedError, involves
from trajopt.indirect.modes import Mode
from trajopt.indirect.settings import LAWS

Array = NDArray[np.float64]
# -> column of controls in t, x, costate, weight, s, p of the phase
UserLaw = Callable[[PhaseHamiltonian], Any]


@dataclass(frozen=True, eq=False)
class GuessPoints:
    """Points (t, x, costate, weight, s, p) of a guess, as columns, where the order of a singular
    arc and pivots are decided.
    """

    points: tuple[Array, ...]
    u: Array
    z: Array


@dataclass(frozen=True, eq=False)
class ArcLaw:
    """The Hamiltonian system of an arc with its law inserted, as expressions in t, x, costate, v
    and weight, s, p.

    ``v`` is empty for a closed form. ``rate`` stacks the rates of x, costate, v, the integrals, and
    the derivative of H by s.
    """

    hamiltonian: PhaseHamiltonian
    mode: Mode
    v: Any
    # (u, z, multipliers) columns -> a start for v, before E = 0 is solved
    v_start: Callable[[Array, Array, Array], Array]
    rate: Any
    residual: Any  # E, which a start v must solve
    u: Any
    z: Any
    multipliers: Any  # of the active constraints
    H: Any
    stationarity: Any  # dH/du, constraint terms included
    # of each singular component its switching function and derivatives, zero at the start
    switching: tuple[tuple[Any, ...], ...]
    # costate in the convention where the constraint itself is adjoined, as a direct method gives it
    costate_direct: Any
    densities: Any  # multipliers in that convention
    # generalized Legendre-Clebsch: of interior and singular controls, the matrix that must be
    # positive
    convexity: Any
    idle: tuple[int, ...] = ()  # control components that H does not depend on here
    idle_H: Any = None  # what those minimize instead

    def singular_place(self, component: int) -> int:
        """Which row of ``switching`` belongs to a control component."""
        return [i for i, role in enumerate(self.mode.roles) if role == "singular"].index(component)

    @property
    def y(self) -> Any:
        """The column of x, costate and v, the values at a node."""
        return casadi.vertcat(self.hamiltonian.phase.x, self.hamiltonian.costate, self.v)

    @property
    def arguments(self) -> list[Any]:
        """t, y, weight, s, p: what all its expressions depend on."""
        ham = self.hamiltonian
        return [ham.phase.t, self.y, ham.weight, ham.s, ham.p]

    def function(self, *expressions: Any) -> casadi.Function:
        """Expressions as a function of ``arguments``."""
        return casadi.Function("law", self.arguments, [casadi.densify(e) for e in expressions])

    @property
    def node_size(self) -> int:
        """The size of y."""
        return int(2 * self.hamiltonian.phase.x.numel() + self.v.numel())

    @property
    def size(self) -> int:
        return int(self.rate.numel())


class ArcParts:
    """The pieces from which the law of one arc is put together."""

    def __init__(self, ham: PhaseHamiltonian, mode: Mode) -> None:
        self.ham, self.mode, self.ph = ham, mode, ham.phase
        sym, ph = ham.symbols, ham.phase
        limits = {"lower": ph.u_bound.lower, "upper": ph.u_bound.upper}
        self.at_bound = [i for i, r in enumerate(mode.roles) if r in ("lower", "upper")]
        self.interior = [i for i, r in enumerate(mode.roles) if r == "interior"]
        self.singular = [i for i, r in enumerate(mode.roles) if r == "singular"]
        self.free = self.interior + self.singular
        # Symbols of their own: of MX expressions only these can be differentiated and substituted
        # by.
        self.u_interior = sym.sym("u_interior", len(self.interior))
        self.u_singular = sym.sym("u_singular", len(self.singular))
        u_free = casadi.vertcat(self.u_interior, self.u_singular)
        entries = {i: u_free[place] for place, i in enumerate(self.free)}
        entries.update({i: sym(float(limits[mode.roles[i]][i])) for i in self.at_bound})
        self.u = casadi.vertcat(sym(0, 1), *[entries[i] for i in range(len(mode.roles))])
        self.mu = sym.sym("mu", len(mode.active))
        self.kappa = sym.sym("kappa", ph.g.numel())
        self.v = casadi.vertcat(u_free, ph.z, self.kappa, self.mu)
        self.u_free = u_free
        self.constraints = [(ham.constraints[i], side) for i, side in mode.active]
        self.adjoined = casadi.vertcat(
            sym(0, 1), *[_adjoined(c, side) for c, side in self.constraints]
        )
        # The last derivative of a constraint is adjoined, not the constraint: stationarity alone
        # then gives its multiplier.
        H = ham.H + casadi.dot(self.kappa, ph.g) + casadi.dot(self.mu, self.adjoined)
        gradients = [
            casadi.gradient(H, symbol) if symbol.numel() else sym(0, 1)
            for symbol in (ph.u, ph.x, ph.z, ham.s)
        ]
        inserted = casadi.substitute(
            [H, ham.H, *gradients, ph.f, ph.g, ph.l, self.adjoined], [ph.u], [self.u]
        )
        (
            self.H,
            self.bare_H,
            self.H_u,
            self.H_x,
            self.H_z,
            self.H_s,
            self.f,
            self.g,
            self.l,
            self.on_constraint,
        ) = inserted
        self.idle, self.idle_H = self._idle()

    def _idle(self) -> tuple[tuple[int, ...], Any]:
        """Interior components that H does not depend on, with the others at their bounds, and what
        decides about them.
        """
        ham, u = self.ham, self.ham.phase.u
        if not self.at_bound or not self.interior or not u.numel():
            return (), None
        bare = casadi.gradient(ham.H, u)
        signs = [1.0 if self.mode.roles[j] == "lower" else -1.0 for j in self.at_bound]
        pull = sum(
            (sign * bare[j] for sign, j in zip(signs, self.at_bound, strict=True)), ham.symbols(0)
        )
        slopes, seconds = casadi.substitute([bare, casadi.gradient(pull, u)], [u], [self.u])
        idle = tuple(i for i in self.interior if is_zero(slopes[i]) and not is_zero(seconds[i]))
        return idle, pull if idle else None

    def on_idle(self, constraint: Constraint) -> bool:
        """Whether a constraint is one on idle controls."""
        return any(involves(constraint.derivatives[-1], self.ham.phase.u, i) for i in self.idle)

    def stationary(self) -> Any:
        """The slopes that vanish along the interior components: of H, or of what decides about
        those that H leaves open.
        """
        if not self.idle:
            return _pick(self.H_u, self.interior)
        u = self.ham.phase.u
        instead = casadi.gradient(self.idle_H + casadi.dot(self.mu, self.adjoined), u)
        instead = casadi.substitute(instead, u, self.u)
        rows = [instead[i] if i in self.idle else self.H_u[i] for i in self.interior]
        return casadi.vertcat(self.ham.symbols(0, 1), *rows)

    def known(self, samples: GuessPoints | None, with_v: bool = False) -> list[tuple[Any, Array]]:
        """The symbols of the phase, and v, with their values at the points of a guess; multipliers
        are not known there.
        """
        if samples is None:
            return []
        pairs = list(zip(self.ham.arguments, samples.points, strict=True))
        if with_v:
            pairs += [(self.u_free, samples.u[self.free]), (self.ph.z, samples.z)]
        return pairs

    def equations(self) -> Any:
        """E(v) without the rows of singular components."""
        return casadi.vertcat(self.stationary(), self.H_z, self.g, self.on_constraint)

    def others(self) -> Any:
        """The unknowns that those equations determine."""
        return casadi.vertcat(self.u_interior, self.ph.z, self.kappa, self.mu)


def arc_law(ham: PhaseHamiltonian, mode: Mode, samples: GuessPoints | None = None) -> ArcLaw:
    """The law of an arc with the given roles and active constraints."""
    arc = ArcParts(ham, mode)
    if len(mode.active) > len(arc.free) + arc.ph.z.numel():
        raise UnsupportedError(
            f"an arc of phase '{arc.ph.name}' has more active constraints than free controls",
            got=mode,
        )
    equations, others = arc.equations(), arc.others()
    switching: tuple[tuple[Any, ...], ...] = ()
    strength = casadi.jacobian(arc.stationary(), arc.u_interior)
    if arc.singular:
        solved = _closed_form(equations, others, arc.known(samples))
        if solved is None:
            raise UnsupportedError(
                f"a singular arc in phase '{arc.ph.name}' beside controls that have no closed form"
            )
        u_singular, switching, strength = _singular_controls(arc, others, solved, samples)
        solved = casadi.substitute(solved, arc.u_singular, u_singular)
        first = len(arc.interior)
        values = casadi.vertcat(
            _pick(solved, range(first)), u_singular, _pick(solved, range(first, solved.numel()))
        )
        return _assembled(arc, values, None, switching, strength, samples)
    values = _closed_form(equations, others, arc.known(samples))
    return _assembled(arc, values, equations, switching, strength, samples)


def user_law(ham: PhaseHamiltonian, law: UserLaw) -> ArcLaw:
    """The Hamiltonian system with controls that the user gives as expressions in t, x, costate."""
    if ham.phase.z.numel():
        raise UnsupportedError(
            f"phase '{ham.phase.name}' has algebraic variables, which a given control law does "
            "not determine"
        )
    arc = ArcParts(ham, Mode(("interior",) * ham.phase.u.numel()))
    column = casadi.densify(casadi.vertcat(ham.symbols(law(ham))))
    if column.numel() != ham.phase.u.numel():
        raise UnsupportedError(
            f"the control law given for phase '{ham.phase.name}'",
            got=column.numel(),
            expected=ham.phase.u.numel(),
        )
    return _assembled(arc, column, None, (), casadi.jacobian(arc.H_u, arc.u_free))


def _closed_form(equations: Any, unknowns: Any, known: Known) -> Any:
    """The solution of E(v) = 0 where E is affine in v, else None."""
    if not unknowns.numel():
        return unknowns
    matrix = casadi.jacobian(equations, unknowns)
    if casadi.depends_on(matrix, unknowns):
        return None
    if casadi.sprank(matrix) < unknowns.numel():
        raise UnsupportedError(
            "H does not determine the controls on an arc",
            hint="a control that H does not depend on, or a singular one",
        )
    constant = casadi.substitute(equations, unknowns, type(equations).zeros(unknowns.numel()))
    return -solved_linear(matrix, constant, known)


def _singular_controls(
    arc: ArcParts, others: Any, solved: Any, samples: GuessPoints | None
) -> tuple[Any, tuple[tuple[Any, ...], ...], Any]:
    """Controls on a singular arc, by control the derivatives of its switching function that vanish,
    and their strength.

    The switching functions are differentiated along the Hamiltonian flow (Lie brackets, by
    automatic differentiation) until the controls appear; Kelley's condition makes the number of
    differentiations even for a single control. Controls of lower order are inserted where those of
    higher order are looked for.
    """
    ham, ph = arc.ham, arc.ph
    u, count = arc.u_singular, arc.u_singular.numel()
    y = casadi.vertcat(ph.x, ham.costate)
    flow, switching = casadi.substitute(
        [casadi.vertcat(arc.f, -arc.H_x), _pick(arc.H_u, arc.singular)], [others], [solved]
    )
    zero, left = type(u).zeros(count), list(range(count))
    law, strengths = u, type(u).zeros(count, count)
    vanishing: list[list[Any]] = [[] for _ in left]
    for number in range(LAWS.singular_derivatives + 1):
        strength = casadi.jacobian(switching, u)
        if number % 2 == 1 and len(left) > 1 and _acts(strength, arc, samples, whole=False):
            raise UnsupportedError(
                f"controls of phase '{ph.name}' are singular together, and act on each other's "
                "switching functions"
            )
        found = []
        if number % 2 == 0 and number > 0:
            found = _appearing(
                strength, left, arc, _where_zero([e for v in vanishing for e in v], arc, samples)
            )
        if found:
            rows = [left.index(k) for k in found]
            rest = casadi.substitute(_pick(switching, rows), u, _exchanged(u, found, zero))
            values = _exchanged(
                u, found, -solved_linear(strength[rows, found], rest, arc.known(samples))
            )
            strengths[found, found] = (-1) ** (number // 2) * strength[rows, found]
            law, strengths, flow, switching = casadi.substitute(
                [law, strengths, flow, switching], [u], [values]
            )
            switching = _pick(switching, [row for row in range(len(left)) if row not in rows])
            left = [k for k in left if k not in found]
        if not left:
            return law, tuple(tuple(v) for v in vanishing), strengths
        # The brackets of odd order cancel exactly, but not in the expression graph.
        switching = casadi.substitute(switching, u, zero)
        for row, k in enumerate(left):
            vanishing[k].append(switching[row])
        switching = casadi.jtimes(switching, y, flow) + casadi.jacobian(switching, ph.t)
    names = ", ".join(ph.u_names[i] for i in arc.singular)
    raise UnsupportedError(
        f"the singular control of {names} is not determined by {LAWS.singular_derivatives} time "
        "derivatives"
    )


def _where_zero(
    vanishing: list[Any], arc: ArcParts, samples: GuessPoints | None
) -> GuessPoints | None:
    """Points of the guess moved, in x and costate, to the nearest where switching functions and
    their derivatives vanish.

    A bracket may vanish there and nowhere else; at the points of a guess it has the size of the
    guess's errors.
    """
    if samples is None:
        return None
    ham, ph = arc.ham, arc.ph
    column = casadi.vertcat(*vanishing)
    slope = casadi.densify(casadi.jacobian(column, casadi.vertcat(ph.x, ham.costate)))
    function = casadi.Function(
        "vanishing", ham.arguments, [casadi.densify(column), slope], {"allow_free": True}
    )
    if function.get_free():
        return samples
    t, x, costate, *fixed = samples.points
    y, (n, count) = np.concatenate([x, costate]), x.shape
    size = np.abs(y).max(axis=1)
    size = np.where(size > 0, size, 1.0)
    for _ in range(LAWS.projections):
        values, slopes = (np.asarray(m.full()) for m in function(t, y[:n], y[n:], *fixed))
        matrices = slopes.reshape(column.numel(), count, 2 * n).transpose(1, 0, 2) * size
        if not np.all(np.isfinite(matrices)) or not np.all(np.isfinite(values)):
            return samples
        y = y - size[:, None] * np.einsum("kij,jk->ik", np.linalg.pinv(matrices), values)
    return GuessPoints((t, y[:n], y[n:], *fixed), samples.u, samples.z)


def _appearing(
    strength: Any, left: list[int], arc: ArcParts, samples: GuessPoints | None
) -> list[int]:
    """The controls, among those that are ``left``, that these derivatives of their switching
    functions determine.
    """
    if _acts(strength[:, left], arc, samples):
        return left
    found = [k for row, k in enumerate(left) if _acts(strength[row, k], arc, samples)]
    rows = [left.index(k) for k in found]
    return found if found and _acts(strength[rows, found], arc, samples) else []


def _exchanged(column: Any, places: list[int], values: Any) -> Any:
    """A column with other entries at some places."""
    new = dict(zip(places, casadi.vertsplit(values), strict=False))
    return casadi.vertcat(*[new.get(k, column[k]) for k in range(column.numel())])


def _acts(strength: Any, arc: ArcParts, samples: GuessPoints | None, whole: bool = True) -> bool:
    """Whether the controls really enter, judged at points of the guess (a bracket may vanish though
    its expression does not).
    """
    if is_zero(strength):
        return False
    if samples is None:
        return True
    f = casadi.Function(
        "strength", arc.ham.arguments, [casadi.densify(strength)], {"allow_free": True}
    )
    if f.get_free():
        return True  # depends on a control: no bracket that vanishes identically
    values = np.asarray(f(*samples.points).full())
    n = strength.shape[0]
    matrices = values.reshape(n, -1, strength.shape[1]).transpose(1, 0, 2)
    sizes = np.linalg.norm(matrices, axis=(1, 2))
    if not whole:
        return bool(sizes.max() > 1e-9)
    smallest = np.array(
        [
            np.linalg.svd(m, compute_uv=False)[-1] if np.all(np.isfinite(m)) else 0.0
            for m in matrices
        ]
    )
    return bool(np.median(smallest) > 1e-9 * max(1.0, float(np.median(sizes))))


def _assembled(
    arc: ArcParts,
    values: Any,
    equations: Any,
    switching: tuple[tuple[Any, ...], ...],
    strength: Any,
    samples: GuessPoints | None = None,
) -> ArcLaw:
    """The law with ``values`` of v = (interior, singular, z, kappa, mu) inserted (closed form), or
    with v as further variables of the flow.
    """
    ham, ph = arc.ham, arc.ph
    sym = ham.symbols
    closed = values is not None
    basic = [arc.f, -arc.H_x, arc.l, arc.H_s, arc.u, ph.z, arc.mu, arc.bare_H, arc.H_u]
    if arc.idle:
        # H leaves these controls open, so that the constraints on them do not push; only their law
        # needs a multiplier.
        true_mu = [
            sym(0) if arc.on_idle(c) else arc.mu[row] for row, (c, _) in enumerate(arc.constraints)
        ]
        basic = casadi.substitute(basic, [arc.mu], [casadi.vertcat(sym(0, 1), *true_mu)])
    basic.append(strength)
    if closed:
        basic = casadi.substitute(basic, [arc.v], [casadi.densify(values)])
        v, v_rate, residual = sym(0, 1), sym(0, 1), sym(0, 1)
    else:
        v, residual = arc.v, equations
        drift = casadi.jtimes(
            residual, casadi.vertcat(ph.x, ham.costate), casadi.vertcat(arc.f, -arc.H_x)
        )
        drift += casadi.jacobian(residual, ph.t)
        v_rate = -solved_linear(
            casadi.jacobian(residual, v), drift, arc.known(samples, with_v=True)
        )
    f, costate_rate, l, H_s, u, z, mu, H, stationarity, strength = basic
    rate = casadi.densify(casadi.vertcat(f, costate_rate, v_rate, l, H_s))
    costate_direct, densities = _direct_convention(arc, rate[: 2 * ph.x.numel() + v.numel()], v, mu)
    return ArcLaw(
        ham, arc.mode, v, _starter(arc), rate, residual, u, z, mu, H, stationarity,
        switching, costate_direct, densities, strength, arc.idle, arc.idle_H,
    )  # fmt: skip


def _direct_convention(arc: ArcParts, rate: Any, v: Any, mu: Any) -> tuple[Any, Any]:
    """Costate and multipliers as they are when the constraint itself, not its last derivative, is
    adjoined.

    With mu of S^(k): costate + sum_j (-1)^(k-1-j) mu^(k-1-j) grad S^(j), j < k, and the density
    (-1)^k mu^(k).
    """
    ham, ph = arc.ham, arc.ph
    y = casadi.vertcat(ph.x, ham.costate, v)
    costate, densities = ham.costate, []
    for row, (constraint, _) in enumerate(arc.constraints):
        factor = mu[row]
        for j in reversed(range(constraint.order or 0)):
            costate = costate + factor * casadi.gradient(constraint.derivatives[j], ph.x)
            factor = -(casadi.jtimes(factor, y, rate) + casadi.jacobian(factor, ph.t))
        densities.append(factor)
    return casadi.densify(costate), casadi.densify(casadi.vertcat(ham.symbols(0, 1), *densities))


def _starter(arc: ArcParts) -> Callable[[Array, Array, Array], Array]:
    free, algebraic, active = list(arc.free), arc.ph.z.numel(), len(arc.mode.active)

    def start(u: Array, z: Array, multipliers: Array) -> Array:
        count = u.shape[1]
        mu = multipliers if multipliers.shape[0] == active else np.zeros((active, count))
        return np.concatenate([u[free], z, np.zeros((algebraic, count)), mu])

    return start


def _pick(column: Any, rows: Iterable[int]) -> Any:
    """Some rows of a column; CasADi's own slices turn a single entry into a row when nothing is
    picked.
    """
    return casadi.vertcat(type(column)(0, 1), *[column[i] for i in rows])


def _adjoined(constraint: Constraint, side: str) -> Any:
    if constraint.order is None:
        raise UnsupportedError(
            f"constraint '{constraint.name}' is active, but no control can hold it there"
        )
    last = constraint.derivatives[-1]
    return last - constraint.limit(side) if constraint.order == 0 else last
