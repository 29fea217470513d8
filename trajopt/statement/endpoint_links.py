"""Endpoint values that affine equalities between endpoints imply: a link of two phases, a duration,
a value in other units.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.statement.normal_form import NormalForm

Array = NDArray[np.float64]
Index = NDArray[np.int_]


@dataclass(frozen=True, eq=False)
class EndpointLinks:
    """The affine equalities among the conditions of a problem, in the column of all endpoint values
    and static variables.

    Their k-th coefficient belongs to row ``rows[k]`` and to unknown ``columns[k]``; ``constants``
    are the right-hand sides.
    """

    rows: Index
    columns: Index
    coefficients: Array
    constants: Array

    def completed(self, values: Array) -> Array:
        """Return the values with those, NaN before, that the equalities imply one
        after the other.
        """
        values, count = values.copy(), self.constants.size
        while True:
            known = np.isfinite(values[self.columns])
            open_ones = np.bincount(self.rows[~known], minlength=count)
            decides = np.flatnonzero(~known & (open_ones[self.rows] == 1))
            if not decides.size:
                return values
            products = self.coefficients[known] * values[self.columns[known]]
            sums = np.bincount(self.rows[known], products, minlength=count)
            rows = self.rows[decides]
            values[self.columns[decides]] = (self.constants - sums)[rows] / self.coefficients[
                decides
            ]


def endpoint_links(form: NormalForm, parameters: Array) -> EndpointLinks | None:
    """Return the affine equalities among the conditions of a problem; None if there are none."""
    equal = np.flatnonzero(form.b_bound.fixed)
    if not equal.size:
        return None
    sampled = casadi.vertcat(*[sample.x for ph in form.phases for sample in ph.samples])
    if sampled.numel():
        equal = equal[~np.array(casadi.which_depends(form.b[equal.tolist()], sampled, 1, True))]
    b, unknowns = form.b[equal.tolist()], casadi.vertcat(form.endpoint_column, form.s)
    affine = np.flatnonzero(~np.array(casadi.which_depends(b, unknowns, 2, True), dtype=bool))
    b, equal = b[affine.tolist()], equal[affine]
    if not equal.size:
        return None
    jacobian = casadi.jacobian(b, unknowns)
    zero, slopes = casadi.Function("links", [unknowns, form.p], [casadi.densify(b), jacobian])(
        0, parameters
    )
    rows, columns = (np.array(part, dtype=int) for part in slopes.sparsity().get_triplet())
    coefficients = np.array(slopes.nonzeros())
    used = coefficients != 0
    constants = form.b_bound.lower[equal] - np.asarray(zero).ravel()
    return EndpointLinks(rows[used], columns[used], coefficients[used], constants)


class EndpointValues:
    """The endpoint values known so far, NaN where unknown.

    Each value that is set may imply others.
    """

    def __init__(self, form: NormalForm, parameters: Array) -> None:
        self._links = endpoint_links(form, parameters)
        self._places = dict[tuple[int, str], slice]()
        first = 0
        for i, phase in enumerate(form.phases):
            end = first
            for name in ("t0", "tf", "x0", "xf"):
                start, end = end, end + getattr(phase.ends, name).numel()
                self._places[i, name] = slice(start, end)
            first += phase.ends.column.numel()
        self._statics = slice(first, None)
        self._values = np.full(first + form.s.numel(), np.nan)

    @property
    def linked(self) -> bool:
        """True if values may imply others."""
        return self._links is not None

    def of(self, phase: int, name: str) -> Array:
        """Return the values of "t0", "tf", "x0" or "xf" of a phase."""
        return self._values[self._places[phase, name]].copy()

    def set(self, phase: int, name: str, values: Array) -> None:
        """Set values that are unknown so far; NaN sets none."""
        self._set(self._places[phase, name], values)

    def set_statics(self, values: Array) -> None:
        self._set(self._statics, values)

    def complete(self) -> None:
        """Add what the values so far imply."""
        if self._links is not None:
            self._values = self._links.completed(self._values)

    def _set(self, places: slice, values: Array) -> None:
        old = self._values[places]
        self._values[places] = np.where(np.isnan(old), values, old)
