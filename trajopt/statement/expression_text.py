"""CasADi expressions in mathematical notation: infix text, with named subexpressions
for long ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi

Names = Mapping[Any, str]
SUM, PRODUCT, POWER, ATOM = range(4)  # operator precedence

_INFIX = {
    casadi.OP_LT: "<",
    casadi.OP_LE: "<=",
    casadi.OP_EQ: "==",
    casadi.OP_NE: "!=",
    casadi.OP_AND: "and",
    casadi.OP_OR: "or",
}
_NAMES = (
    "exp log sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2 hypot floor "
    "ceil sign erf erfinv "
    "log1p expm1 fmod remainder copysign not norm2 norm1 dot"
)
_FUNCTIONS = {getattr(casadi, f"OP_{name.upper()}"): name for name in _NAMES.split()} | {
    casadi.OP_FMIN: "min",
    casadi.OP_FMAX: "max",
}


@dataclass(frozen=True)
class Text:
    """An expression as text with its sign separate.

    A sum is a tuple of signed terms, so that a sign can be distributed.
    """

    body: str
    binding: int = ATOM
    negative: bool = False
    terms: tuple[tuple[bool, str], ...] = ()

    @staticmethod
    def sum(terms: tuple[tuple[bool, str], ...]) -> Text:
        """Return a sum, with a positive term first if there is one."""
        first = next((i for i, (negative, _) in enumerate(terms) if not negative), 0)
        ordered = (terms[first], *terms[:first], *terms[first + 1 :])
        body = "".join(f" {'-' if negative else '+'} {term}" for negative, term in ordered)
        return Text(("-" if ordered[0][0] else "") + body[3:], SUM, terms=ordered)

    def __str__(self) -> str:
        return f"-{self.body}" if self.negative else self.body

    def negated(self) -> Text:
        if self.terms:
            return Text.sum(tuple((not negative, term) for negative, term in self.terms))
        return Text(self.body, self.binding, not self.negative)

    def as_terms(self) -> tuple[tuple[bool, str], ...]:
        return self.terms or ((self.negative, self.body),)

    def within(self, binding: int) -> str:
        """Return the signed text, in parentheses if its precedence is lower than ``binding``."""
        return f"({self})" if self.negative or self.binding < binding else self.body

    def unsigned(self, binding: int) -> str:
        """Return the same without the sign."""
        return f"({self.body})" if self.binding < binding else self.body


@dataclass
class Writer:
    """Converts scalar expressions to text.

    ``names`` maps the ``key`` of a symbol to its text; a component of an MX vector has the key
    (vector, index). Expressions longer than ``width`` characters are not written in place.
    """

    names: Names = field(default_factory=dict)
    width: int = 100

    def text(self, expression: Any) -> str | None:
        """Return the expression on one line, or None if it is too long.

        >>> h, v = casadi.SX.sym("h"), casadi.SX.sym("v")
        >>> Writer().text(-(v**2) * casadi.exp(-500 * (h - 1)) - -0.4 / h)
        '0.4/h - v^2*exp(-500*(h - 1))'
        """
        if _larger(expression, 2 * self.width) or self._length(expression) > 2 * self.width:
            return None
        written = str(_written([expression], self.names, set(), {})[key(expression)])
        return written if len(written) <= self.width else None

    def definitions(self, expressions: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return name and text of each expression, preceded by shared and long subexpressions."""
        order = _postorder(expressions.values())
        uses: dict[int, int] = {}
        for node in order:
            for child in _children(node):
                uses[key(child)] = uses.get(key(child), 0) + 1
        shared = {node_key for node_key, count in uses.items() if count > 1}
        named: dict[int, tuple[str, str]] = {}
        texts = _written(expressions.values(), self.names, shared, named, self.width)
        return [*named.values(), *[(name, str(texts[key(e)])) for name, e in expressions.items()]]

    def _length(self, expression: Any) -> int:
        """Estimate the number of characters of the expression."""
        lengths: dict[int, int] = {}
        for node in _postorder([expression]):
            below = sum(lengths[key(child)] + 2 for child in _children(node))
            lengths[key(node)] = min(below, 10**6) if below else len(_leaf(node, self.names).body)
        return lengths[key(expression)]


def number(value: float) -> str:
    """Format a number with six digits, and simple multiples of pi by name.

    >>> number(math.pi / 2), number(-2 * math.pi), number(9.80665), number(1e-3)
    ('pi/2', '-2*pi', '9.80665', '0.001')
    """
    for divisor in (1, 2, 3, 4, 6, 9, 12, 18):
        times = value * divisor / math.pi
        if value != 0 and abs(times) < 13 and abs(times - round(times)) < 1e-12:
            whole = {1: "", -1: "-"}.get(round(times), f"{round(times)}*")
            return f"{whole}pi" + (f"/{divisor}" if divisor > 1 else "")
    return f"{value:.6g}"


def key(expression: Any) -> int:
    """Return a hash that identifies a scalar expression."""
    if isinstance(expression, casadi.SX):
        return int(casadi.SX.element_hash(expression))
    return int(casadi.MX.__hash__(expression))


def elements(column: Any) -> list[Any]:
    """Return the scalar entries of a column."""
    return [column[i] for i in range(column.numel())] if column.numel() != 1 else [column]


def operations(expressions: Iterable[Any]) -> int:
    """Count the operations of the expressions."""
    return sum(1 for node in _postorder(expressions) if node.n_dep())


def symbol_names(expression: Any, names: Names) -> list[str]:
    """Return the names of the symbols of an expression, sorted."""
    found = set()
    for symbol in casadi.symvar(expression):
        label = names.get(key(symbol), symbol.name())
        found.add(label)
    return sorted(found)


def _children(node: Any) -> list[Any]:
    if _leaf_like(node):
        return []
    if node.op() == -1 and node.n_dep() == 1:  # one output of a function call
        node = node.dep(0)
    return [node.dep(i) for i in range(node.n_dep())]


def _leaf_like(node: Any) -> bool:
    return node.n_dep() == 0 or (
        isinstance(node, casadi.MX)
        and node.op() == casadi.OP_GETNONZEROS
        and node.dep(0).is_symbolic()
    )


def _larger(expression: Any, nodes: int) -> bool:
    """True if an expression has more than ``nodes`` nodes, and so at least as many characters."""
    seen: set[int] = set()
    stack = [expression]
    while stack and len(seen) <= nodes:
        node = stack.pop()
        if key(node) not in seen:
            seen.add(key(node))
            stack += _children(node)
    return len(seen) > nodes


def _postorder(expressions: Iterable[Any]) -> list[Any]:
    """Return every node once, after its dependencies."""
    order, seen = [], set()
    stack = [(e, False) for e in reversed(list(expressions))]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif key(node) not in seen:
            seen.add(key(node))
            stack.append((node, True))
            stack += [(child, False) for child in reversed(_children(node))]
    return order


def _written(
    expressions: Iterable[Any],
    names: Names,
    shared: set[int],
    named: dict[int, tuple[str, str]],
    width: int | None = None,
) -> dict[int, Text]:
    """Return the text of every node; ``named`` collects the named subexpressions."""
    expressions = list(expressions)
    outputs = {key(e) for e in expressions}
    texts: dict[int, Text] = {}
    for node in _postorder(expressions):
        children = [texts[key(child)] for child in _children(node)]
        text = _combined(node, children) if children else _leaf(node, names)
        worth = len(text.body) > 12 and key(node) in shared
        if (
            children
            and key(node) not in outputs
            and (worth or (width is not None and len(text.body) > width))
        ):
            name = f"a{len(named) + 1}"
            named[key(node)] = (name, str(text))
            text = Text(name)
        texts[key(node)] = text
    return texts


def _leaf(node: Any, names: Names) -> Text:
    if key(node) in names:
        return Text(names[key(node)])
    if isinstance(node, casadi.MX) and node.n_dep():  # a component of a vector
        index = node.info().get("slice", {}).get("start", "...")
        return Text(names.get((key(node.dep(0)), index), f"{node.dep(0).name()}[{index}]"))
    if node.is_symbolic():
        return Text(node.name())
    if node.is_constant() and node.numel() == 1:
        value = float(node)
        return Text(
            number(abs(value)), PRODUCT if number(abs(value)).count("pi") else ATOM, value < 0
        )
    return Text(str(node))


def _combined(node: Any, parts: list[Text]) -> Text:
    op = node.op()
    if op in (casadi.OP_ADD, casadi.OP_SUB):
        second = parts[1].negated() if op == casadi.OP_SUB else parts[1]
        return Text.sum(parts[0].as_terms() + second.as_terms())
    if op in (casadi.OP_MUL, casadi.OP_DIV, casadi.OP_TWICE, casadi.OP_INV):
        return _product(op, parts)
    if op == casadi.OP_NEG:
        return parts[0].negated()
    if op == casadi.OP_SQ:
        return Text(f"{parts[0].unsigned(ATOM)}^2", POWER)
    if op in (casadi.OP_POW, casadi.OP_CONSTPOW):
        return Text(f"{parts[0].within(ATOM)}^{parts[1].within(ATOM)}", POWER)
    if op == casadi.OP_FABS:
        return Text(f"|{parts[0].body}|")
    if op in _INFIX:
        return Text(f"({parts[0]} {_INFIX[op]} {parts[1]})")
    if op == casadi.OP_IF_ELSE_ZERO:
        return Text(
            f"[{str(parts[0]).removeprefix('(').removesuffix(')')}]*{parts[1].within(PRODUCT)}",
            PRODUCT,
        )
    if op in _FUNCTIONS:
        return Text(f"{_FUNCTIONS[op]}({', '.join(str(p) for p in parts)})")
    if op == -1 and node.dep(0).is_call():
        return Text(f"{node.dep(0).which_function().name()}({', '.join(str(p) for p in parts)})")
    if len(parts) == 1:
        return parts[0]
    return Text(f"({', '.join(str(p) for p in parts)})")


def _product(op: int, parts: list[Text]) -> Text:
    if op == casadi.OP_TWICE:
        parts = [Text("2"), parts[0]]
    if op == casadi.OP_INV:
        parts = [Text("1"), parts[0]]
    negative = parts[0].negative != parts[1].negative
    if op in (casadi.OP_DIV, casadi.OP_INV):
        return Text(f"{parts[0].unsigned(PRODUCT)}/{parts[1].unsigned(POWER)}", PRODUCT, negative)
    if parts[1].body.replace(".", "").isdigit() and not parts[0].body.replace(".", "").isdigit():
        parts = [parts[1], parts[0]]
    return Text(f"{parts[0].unsigned(PRODUCT)}*{parts[1].unsigned(PRODUCT)}", PRODUCT, negative)
