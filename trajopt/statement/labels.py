"""Labels of vector components in messages, tables, plots and files."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str, lines: bool = False) -> str:
    """Escape control and formatting characters; line breaks too, unless ``lines``.

    >>> printable("x\\x1b[2J\\n"), printable("a\\nb", lines=True) == "a\\nb", printable("λ/2")
    ('x\\\\x1b[2J\\\\n', True, 'λ/2')
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or (lines and c == "\n") else c.encode("unicode_escape").decode()
        for c in text
    )


def component_labels(name: str, size: int, components: Sequence[str] = ()) -> tuple[str, ...]:
    """Return one label for each component.

    >>> component_labels("x", 1), component_labels("r", 2), component_labels("torque", 2, ("hip",
    ...     "knee"))
    (('x',), ('r[0]', 'r[1]'), ('torque[hip]', 'torque[knee]'))
    """
    if components:
        return tuple(f"{name}[{component}]" for component in components)
    return (name,) if size == 1 else tuple(f"{name}[{i}]" for i in range(size))
