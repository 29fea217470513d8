"""Systems with stabilized constraints; see ``README.md``."""

from problems.on_demand import on_demand
from trajopt.catalogue import Entry

CATALOGUE = {
    "sleigh": Entry(
        "problems.stabilization.sleigh:sleigh",
        "stabilization",
        "Chaplygin's sleigh on an incline",
        "system",
    ),
    "cart-slalom": Entry(
        "problems.stabilization.cart_slalom:cart_slalom",
        "stabilization",
        "a cart on a slalom track downhill",
        "system",
    ),
    "turntable-ball": Entry(
        "problems.stabilization.turntable:turntable_ball",
        "stabilization",
        "a ball rolling on a turntable",
        "system",
    ),
    "inverse-problem": Entry(
        "problems.stabilization.inverse_problem:inverse_problem",
        "stabilization",
        "a circle made attractive",
        "system",
    ),
    "inverse-field": Entry(
        "problems.stabilization.inverse_problem:inverse_field",
        "stabilization",
        "the motions of a given q' = w(q) made attractive",
        "system",
    ),
}

__getattr__, __dir__ = on_demand(__name__)
