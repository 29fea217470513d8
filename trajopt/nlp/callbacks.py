"""A program evaluated by the compiled core, as functions for CasADi's solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from trajopt.compiled.library import library
from trajopt.nlp.evaluation import Evaluation, Pattern, functions
from trajopt.nlp.program import Functions, Program

# instructions that CasADi's interpreter evaluates in the time of a call from CasADi to Python
WORTH_A_CALLBACK = 50_000


def core_functions(program: Program) -> Functions | None:
    """Return objective, constraints and derivatives by the compiled core; None if CasADi's
    evaluation is as fast.
    """
    if library() is None or _instructions(program) < WORTH_A_CALLBACK:
        return None
    e, n, m = Evaluation(program), program.unknowns, program.constraints
    y, p = casadi.MX.sym("y", n), casadi.MX.sym("p", program.parameters.size)
    point = {"x": n, "p": program.parameters.size}
    value = casadi.Sparsity.dense(1, 1)
    rows = casadi.Sparsity.dense(m, 1)
    empty = casadi.Sparsity(1, 1)
    f = CoreFunction("f", point, {"f": value}, lambda x, _: e.objective(x))
    g = CoreFunction("g", point, {"g": rows}, lambda x, _: e.constraints(x))
    gradient = {"f": empty, "grad_f_x": casadi.Sparsity.dense(n, 1)}
    jacobian = {"g": casadi.Sparsity(m, 1), "jac_g_x": _sparsity(e.jacobian_pattern, m, n)}
    hessian = {"triu_hess_gamma_x_x": _sparsity(e.hessian_pattern, n, n)}
    multipliers = {**point, "lam_f": 1, "lam_g": m}
    return Functions(
        nlp={"x": y, "p": p, "f": f(y, p), "g": g(y, p)},
        derivatives={
            "grad_f": CoreFunction("nlp_grad_f", point, gradient, lambda x, _: e.gradient(x)),
            "jac_g": CoreFunction("nlp_jac_g", point, jacobian, lambda x, _: e.jacobian(x)),
            "hess_lag": CoreFunction(
                "nlp_hess_l",
                multipliers,
                hessian,
                lambda x, _, lf, lg: e.hessian(x, float(lf[0]), lg),
            ),
        },
        kept=(f, g),
    )


class CoreFunction(casadi.Callback):
    """A function of dense columns that computes its last output; the other outputs have no
    nonzeros.

    An exception, also Ctrl-C, is passed to CasADi, which stops the solver at its current iterate.
    """

    def __init__(
        self,
        name: str,
        inputs: dict[str, int],
        outputs: dict[str, casadi.Sparsity],
        evaluate: Callable[..., Any],
    ) -> None:
        casadi.Callback.__init__(self)
        self.inputs, self.outputs, self.evaluate = inputs, outputs, evaluate
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self.inputs)

    def get_n_out(self) -> int:
        return len(self.outputs)

    def get_name_in(self, i: int) -> str:
        return list(self.inputs)[i]

    def get_name_out(self, i: int) -> str:
        return list(self.outputs)[i]

    def get_sparsity_in(self, i: int) -> casadi.Sparsity:
        return casadi.Sparsity.dense(list(self.inputs.values())[i], 1)

    def get_sparsity_out(self, i: int) -> casadi.Sparsity:
        return list(self.outputs.values())[i]

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Any, res: Any) -> int:
        if res[-1] is not None:
            np.frombuffer(res[-1])[:] = self.evaluate(
                *(np.frombuffer(a) if a is not None else np.zeros(0) for a in arg)
            )
        return 0


def _instructions(program: Program) -> int:
    """Count the instructions of one evaluation of constraints, Jacobian and Hessian; functions that
    are not SX count zero.
    """
    return sum(
        block.count * f.function.n_instructions()
        for block in program.blocks
        for f in functions(block.kernel)
        if f.function.is_a("SXFunction")
    )


def _sparsity(pattern: Pattern, rows: int, columns: int) -> casadi.Sparsity:
    return casadi.Sparsity(rows, columns, pattern.starts.tolist(), pattern.rows.tolist())
