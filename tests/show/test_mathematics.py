"""Problems as LaTeX: every expression of the notation, and every short named problem."""

import re

import casadi
import pytest

from trajopt import Problem, builder, free, named_problems
from trajopt.show.mathematics import expression_latex, name_latex, problem_latex

QUICK = ("brachistochrone", "goddard-cops", "moon-lander", "cart-pole", "biped-step", "tennis")


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("2*a", r"2\,a"),
        ("a*2", r"a \cdot 2"),
        ("-(a + b)^2", r"-(a + b)^{2}"),
        ("a/b*c", r"\frac{a}{b}\,c"),
        ("a*b/(2*c)", r"\frac{a\,b}{2\,c}"),
        ("(a + b)/c", r"\frac{a + b}{c}"),
        ("(a + b)*c/d", r"\frac{(a + b)\,c}{d}"),
        ("sqrt(a^2 + 1)", r"\sqrt{a^{2} + 1}"),
        ("a^(-1.5)", r"a^{-1.5}"),
        ("|a - b|", r"\left|a - b\right|"),
        ("1.5e-08*pi/2", r"\frac{1.5 \cdot 10^{-8}\,\pi}{2}"),
        ("max(a, atan2(b, c))", r"\max(a, \operatorname{atan2}(b, c))"),
        ("[a < 2]*b", r"\left[a < 2\right]\,b"),
    ],
)
def test_notation(text, latex):
    assert expression_latex(text, []) == latex


def test_unknown_signs_are_refused():
    with pytest.raises(ValueError, match="cannot read"):
        expression_latex("a ? b", [])


def test_names_with_signs_of_latex_are_escaped():
    assert name_latex("cost_%") == r"\mathrm{cost}_{\mathrm{\%}}"
    assert name_latex("torque[left knee]") == r"\mathrm{torque}_{\mathrm{left\ knee}}"


def test_everything_of_a_statement_is_in_the_formulas():
    ocp = Problem("two arcs")
    mass, spare = ocp.parameter("mass", 2.0), ocp.variable("spare", lower=0, upper=3)
    phases = []
    for name in ("up & down", "rest"):
        ph = ocp.phase(name)
        ph.time(end=free(1, 2))
        x = ph.state("x", start=free(0, 1), end=casadi.pi)
        u, z = ph.control("u", lower=-1), ph.algebraic("z")
        ph.require(z**2 == x + 1)
        ph.dynamics({x: u / mass + z})
        ph.path(x**2 + u**2 <= 4)
        phases.append(ph)
    ocp.connect(*phases)
    ocp.require(phases[1].final(x) - spare >= 0)
    ocp.maximize(phases[0].integral(phases[0].declared["u"].symbol) + spare)
    text = problem_latex(ocp)
    for part in (
        r"\text{maximize}\quad & \int_{\text{up\ \&\ down}} u\,\mathrm{d}t + \mathrm{spare}",
        r"\dot{x} = \frac{u}{\mathrm{mass}} + z",
        r"x(t_0) \in [0, 1],\quad x(t_f) = \pi",
        r"x^{2} + u^{2} \le 4",
        r"x, t\text{ continuous from up\ \&\ down to rest}",
        r"1 \le t_f \le 2",
    ):
        assert part in text
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize("name", sorted(set(QUICK) & set(named_problems())))
def test_named_problems_have_balanced_formulas_or_none(name):
    text = problem_latex(builder(name)())
    if text is not None:
        assert text.count("{") == text.count("}")
        assert not re.search(r"[\x00-\x08]", text)
