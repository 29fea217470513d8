"""The mode of an arc, its changes, and the roles of an ``Arc`` in the user's names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from trajopt.errors import GuessError, suggest
from trajopt.indirect.hamiltonian import PhaseHamiltonian
from trajopt.trajectory.arcs import Arc

ROLES = ("lower", "upper", "interior", "singular")


@dataclass(frozen=True)
class Mode:
    """What holds on an arc: a role for each control component, and active constraints as (number,
    "lower" | "upper").
    """

    roles: tuple[str, ...]
    active: tuple[tuple[int, str], ...] = ()

    def with_role(self, component: int, role: str) -> Mode:
        roles = (*self.roles[:component], role, *self.roles[component + 1 :])
        return replace(self, roles=roles)

    def with_active(self, number: int, side: str) -> Mode:
        return replace(self, active=tuple(sorted((*self.active, (number, side)))))

    def without_active(self, numbers: Collection[int]) -> Mode:
        return replace(self, active=tuple(a for a in self.active if a[0] not in numbers))


def mode_of_roles(ham: PhaseHamiltonian, roles: Mapping[str, str]) -> Mode:
    """Roles of control components, and sides of active constraints by their names; equality
    constraints are always active.
    """
    names, constraints = ham.phase.u_names, ham.constraints
    known = [*names, *[c.name for c in constraints]]
    for name, role in roles.items():
        if name not in known:
            raise GuessError(
                f"an arc of phase '{ham.phase.name}' has a role for '{name}'",
                hint=suggest(name, known),
            )
        if role not in ROLES:
            raise GuessError(f"the role of '{name}' on an arc", got=role, expected=", ".join(ROLES))
    missing = [name for name in names if name not in roles]
    if missing:
        raise GuessError(
            f"an arc of phase '{ham.phase.name}' has no role for control '{missing[0]}'",
            expected="one of " + ", ".join(ROLES),
        )
    active = tuple(
        (i, "upper" if c.equality else roles[c.name])
        for i, c in enumerate(constraints)
        if c.equality or roles.get(c.name) in ("lower", "upper")
    )
    return Mode(tuple(roles[name] for name in names), active)


def touched_of(ham: PhaseHamiltonian, arc: Arc) -> tuple[tuple[int, str], ...]:
    """The state constraints, as (number, side), that are touched where an arc begins."""
    numbers = {c.name: i for i, c in enumerate(ham.constraints) if c.order}
    for name, side in arc.touches.items():
        if name not in numbers:
            raise GuessError(
                f"an arc of phase '{ham.phase.name}' touches '{name}'",
                expected="a constraint on states",
                hint=suggest(name, numbers),
            )
        if side not in ("lower", "upper"):
            raise GuessError(
                f"the side on which an arc touches '{name}'", got=side, expected="lower or upper"
            )
    return tuple((numbers[name], side) for name, side in arc.touches.items())


def mode_text(ham: PhaseHamiltonian, mode: Mode) -> str:
    """The roles of a mode in words."""
    return ", ".join(f"{name} {role}" for name, role in roles_of_mode(ham, mode).items())


def roles_of_mode(ham: PhaseHamiltonian, mode: Mode) -> dict[str, str]:
    """Roles of control components, and sides of active constraints, by their names."""
    roles = dict(zip(ham.phase.u_names, mode.roles, strict=True))
    roles.update({ham.constraints[i].name: side for i, side in mode.active})
    return roles
