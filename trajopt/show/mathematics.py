"""A problem as LaTeX, for notebooks and the documentation.

Expressions are written by ``trajopt.statement.expression_text`` and parsed again, so that there is
one notation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.statement.expression_text import Writer, elements, key, number
from trajopt.statement.printing import sides_of

if TYPE_CHECKING:
    from trajopt.statement.bounds import Bound
    from trajopt.statement.problem import Phase, Problem

WIDTH = 160  # characters of an expression; a longer one is named by the symbols that it depends on
ENDS = 4  # boundary values on a line
MOST_LINES, MOST_LONG = 40, 2  # lines and long expressions of a problem; others are shown as text
LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
GREEK = frozenset(LETTERS.split())
FUNCTIONS = {"sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh", "min", "max"}
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:e[+-]?\d+)?)|\x01(?P<symbol>\d+)\x02|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<mark><=|>=|==|!=|[-+*/^()\[\]|,<>]))"
)
RELATIONS = {"<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne", "<": "<", ">": ">"}


def problem_latex(problem: Problem) -> str | None:
    """Return the statement as LaTeX, or None if it is too long to be read as formulas.

    >>> from problems.classical.brachistochrone import build
    >>> print(problem_latex(build()).splitlines()[1])
    \\text{minimize}\\quad & t_f \\\\
    """
    page = _Page(problem)
    several = len(problem.phases) > 1
    lines = [page.objective()]
    for phase in problem.phases.values():
        head = rf"\text{{{_plain(phase.name)}}}" if several else r"\text{subject to}"
        rows = list(page.phase_rows(phase))
        lines += [rf"{head if k == 0 else ''}\quad & {row}" for k, row in enumerate(rows)]
    for condition in problem.conditions:
        for row in page.relations(condition.expression, condition.bound):
            lines.append(rf"\quad & {row}")
    for link in problem.links:
        what = ", ".join(name_latex(name) for name in link.continuous)
        between = rf"from {_plain(link.before)} to {_plain(link.after)}"
        if what:
            lines.append(rf"\quad & {what}\text{{ continuous {between}}}")
        for name, jump in link.jumps.items():
            change = ", ".join(page.text(e) for e in elements(jump))
            lines.append(rf"\quad & {name_latex(name)}\text{{ changes {between} by }}{change}")
    if len(lines) > MOST_LINES or page.long > MOST_LONG:
        return None
    return "$$\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}$$"


def name_latex(name: str) -> str:
    r"""Return the name of a variable as a symbol.

    >>> name_latex("theta"), name_latex("x_rate"), name_latex("torque[knee]"), name_latex("x")
    ('\\theta', 'x_{\\mathrm{rate}}', '\\mathrm{torque}_{\\mathrm{knee}}', 'x')
    """
    stem, _, inner = name.partition("[")
    stem, _, below = stem.partition("_")
    indices = [part for part in (below, inner.rstrip("]")) if part]
    index = f"_{{{', '.join(_symbol(part) for part in indices)}}}" if indices else ""
    return f"{_symbol(stem)}{index}"


def expression_latex(text: str, symbols: list[str]) -> str:
    r"""Return an expression in the notation of ``expression_text`` as LaTeX.

    Symbols stand as ``\x01number\x02`` in the text.

    >>> expression_latex("(2*sin(\x010\x02)^2 - 1)/\x011\x02", [r"\theta", "m"])
    '\\frac{2\\,\\sin(\\theta)^{2} - 1}{m}'
    """
    return _Parser(list(_tokens(text)), symbols).whole()


@dataclass
class _Page:
    """Writes the rows of a problem."""

    problem: Problem
    long: int = 0  # expressions that are too long to be written

    def __post_init__(self) -> None:
        self.symbols: list[str] = []
        self.names: dict[Any, str] = {}
        several = len(self.problem.phases) > 1
        for phase in self.problem.phases.values():
            of = rf"^{{\text{{{_plain(phase.name)}}}}}" if several else ""
            for declared in phase.declared.values():
                for symbol, ending in (
                    (declared.symbol, ""),
                    (declared.at_start, f"{of}(t_0)"),
                    (declared.at_end, f"{of}(t_f)"),
                ):
                    self._add(symbol, [f"{name_latex(x)}{ending}" for x in declared.labels])
            if phase.t is not None:
                for symbol, name in ((phase.t, "t"), (phase.t_start, "t_0"), (phase.t_end, "t_f")):
                    self._add(symbol, [f"{name}{'' if name == 't' else of}"])
        for parameter in self.problem.parameters.values():
            size = parameter.value.size
            name = name_latex(parameter.name)
            self._add(
                parameter.symbol, [name] if size == 1 else [f"{name}_{i}" for i in range(size)]
            )
        for variable in self.problem.variables.values():
            self._add(variable.symbol, [name_latex(label) for label in variable.labels])
        for phase in self.problem.phases.values():
            over = rf"_{{\text{{{_plain(phase.name)}}}}}" if several else ""
            for symbol, integrand in phase.integrals:
                self._add(symbol, [rf"\int{over} {self.text(integrand)}\,\mathrm{{d}}t"])

    def _add(self, symbol: Any, labels: list[str]) -> None:
        parts = elements(symbol)
        if len(parts) != len(labels):
            return
        for part, label in zip(parts, labels, strict=True):
            self.names[key(part)] = f"\x01{len(self.symbols)}\x02"
            self.symbols.append(label)

    def text(self, expression: Any) -> str:
        written = Writer(self.names, WIDTH).text(expression)
        if written is None:
            self.long += 1
            return r"f(\ldots)"
        return expression_latex(written, self.symbols)

    def objective(self) -> str:
        if self.problem.objective is None:
            return r"\text{find a motion}\quad & "
        verb = "minimize" if self.problem.sense > 0 else "maximize"
        return rf"\text{{{verb}}}\quad & {self.text(self.problem.objective)}"

    def phase_rows(self, phase: Phase) -> Iterator[str]:
        ends = []
        for state in phase.of_kind("state"):
            for k, label in enumerate(state.labels):
                name = name_latex(label)
                rate = "" if state.rate is None else self.text(elements(state.rate)[k])
                dot = rf"\dot{{{name}}}" if "_" not in name else f"({name})'"
                yield rf"{dot} = {rate}"
                for place, bound in (("t_0", state.start), ("t_f", state.end)):
                    if self.limits("", bound, k):
                        ends.append(f"{name}({place}) {self.limits('', bound, k)}")
        for first in range(0, len(ends), ENDS):
            yield r",\quad ".join(ends[first : first + ENDS])
        for _, residual in phase.algebraic_residuals:
            for row in elements(residual):
                yield f"{self.text(row)} = 0"
        for declared in phase.declared.values():
            for k, label in enumerate(declared.labels):
                row = self.limits(name_latex(label), declared.bound, k)
                if row:
                    yield row
        for path in phase.paths:
            yield from self.relations(path.expression, path.bound)
        if phase.end_time is not None:
            row = self.limits("t_f", phase.end_time, 0)
            if row:
                yield row

    def relations(self, column: Any, bound: Bound) -> Iterator[str]:
        for k, row in enumerate(elements(column)):
            yield self.limits(self.text(row), bound, k)

    def limits(self, text: str, bound: Bound, k: int) -> str:
        """Return a component of a quantity within its limits; empty without any."""
        sides = [self._side(side) for side in sides_of(bound)[k]]
        lower, upper = sides
        if lower is None and upper is None:
            return ""
        if lower == upper:
            return f"{text} = {lower}".strip()
        if upper is None:
            return rf"{text} \ge {lower}".strip()
        if lower is None:
            return rf"{text} \le {upper}".strip()
        if not text:
            return rf"\in [{lower}, {upper}]"
        return rf"{lower} \le {text} \le {upper}"

    def _side(self, side: float | str) -> str | None:
        if isinstance(side, str):
            return rf"\mathrm{{{_plain(side)}}}"
        return expression_latex(number(side), []) if np.isfinite(side) else None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"cannot read '{text[place:]}'")
        kind = found.lastgroup or ""
        yield kind, found.group(kind)
        place = found.end()


@dataclass
class _Parser:
    """Recursive descent; every method returns LaTeX without outer parentheses, and whether it had
    them.
    """

    tokens: list[tuple[str, str]]
    symbols: list[str]
    place: int = 0

    def whole(self) -> str:
        text = self.sum()
        if self.place < len(self.tokens):
            raise ValueError(f"cannot read '{self.tokens[self.place][1]}'")
        return text

    def next(self, *marks: str) -> str | None:
        """Return the next mark if it is one of these, and go past it."""
        if self.place < len(self.tokens):
            kind, text = self.tokens[self.place]
            if kind == "mark" and text in marks:
                self.place += 1
                return text
        return None

    def sum(self) -> str:
        parts = ["-" if self.next("-") else "", self.product()]
        while mark := self.next("+", "-", *RELATIONS):
            parts.append(f" {RELATIONS.get(mark, mark)} {self.product()}")
        return "".join(parts)

    def product(self) -> str:
        body, closed = self.power()
        text = _bracketed(body) if closed else body
        alone = closed
        while mark := self.next("*", "/"):
            after, closed = self.power()
            if mark == "/":
                text = rf"\frac{{{body if alone else text}}}{{{after}}}"
            else:
                shown = _bracketed(after) if closed else after
                text = rf"{text} \cdot {shown}" if shown[:1].isdigit() else rf"{text}\,{shown}"
            alone = False
        return text

    def power(self) -> tuple[str, bool]:
        base, closed = self.atom()
        if not self.next("^"):
            return base, closed
        exponent, _ = self.atom()
        return f"{_bracketed(base) if closed else base}^{{{exponent}}}", False

    def atom(self) -> tuple[str, bool]:
        if self.next("-"):
            body, closed = self.power()
            return f"-{_bracketed(body) if closed else body}", False
        if self.next("("):
            inner = self.arguments(")")
            return inner, True
        if self.next("["):
            return rf"\left[{self.arguments(']')}\right]", False
        if self.next("|"):
            inner = self.sum()
            self.next("|")
            return rf"\left|{inner}\right|", False
        if self.place >= len(self.tokens):
            raise ValueError("an operand is missing")
        kind, text = self.tokens[self.place]
        self.place += 1
        if kind == "symbol":
            return self.symbols[int(text)], False
        if kind == "number":
            return _number(text), False
        if kind == "word" and self.next("("):
            inner = self.arguments(")")
            if text == "sqrt":
                return rf"\sqrt{{{inner}}}", False
            name = rf"\{text}" if text in FUNCTIONS else rf"\operatorname{{{_plain(text)}}}"
            return f"{name}{_bracketed(inner)}", False
        if kind == "word":
            return name_latex(text), False
        raise ValueError(f"cannot read '{text}'")

    def arguments(self, end: str) -> str:
        parts = [self.sum()]
        while self.next(","):
            parts.append(self.sum())
        if not self.next(end):
            raise ValueError(f"'{end}' is missing")
        return ", ".join(parts)


def _bracketed(text: str) -> str:
    return rf"\left({text}\right)" if "frac" in text else f"({text})"


def _number(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else text


def _symbol(word: str) -> str:
    if word in GREEK:
        return rf"\{word}"
    return word if len(word) == 1 and word.isalnum() else rf"\mathrm{{{_plain(word)}}}"


def _plain(text: str) -> str:
    """Escape what has a meaning in LaTeX."""
    escaped = re.sub(r"([#$%&_{}])", r"\\\1", text.replace("\\", " "))
    return escaped.replace("^", r"\hat{}").replace("~", r"\sim ").replace(" ", r"\ ")
