"""Named problems and systems, one folder a family, each with its page, models, statements, pictures
and published answers.
"""

from problems import (
    bike,
    classical,
    exoskeleton,
    lecture,
    multibody,
    robots,
    rocket,
    stabilization,
)

FAMILIES = (classical, rocket, lecture, stabilization, exoskeleton, bike, multibody, robots)

CATALOGUE = {name: entry for family in FAMILIES for name, entry in family.CATALOGUE.items()}
