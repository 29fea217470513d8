"""Classical problems of optimal control with known answers; see ``README.md``."""

from problems.on_demand import on_demand
from trajopt.catalogue import Entry

CATALOGUE = {
    "block-move": Entry(
        "problems.classical.block_move:build", "classical", "rest to rest with the least effort"
    ),
    "brachistochrone": Entry(
        "problems.classical.brachistochrone:build",
        "classical",
        "the fastest slide between two points",
    ),
    "hypersensitive": Entry(
        "problems.classical.hypersensitive:build",
        "classical",
        "two thin boundary layers, a long rest between",
    ),
    "lqr-scalar": Entry(
        "problems.classical.lqr_scalar:build", "classical", "scalar linear-quadratic regulator"
    ),
    "vanderpol-bounded": Entry(
        "problems.classical.vanderpol_bounded:build",
        "classical",
        "Van der Pol oscillator, bounded control",
    ),
    "double-integrator-minfuel": Entry(
        "problems.classical.double_integrator_minfuel:build",
        "bang-bang",
        "rest to rest with the least fuel",
    ),
    "double-integrator-mintime": Entry(
        "problems.classical.double_integrator_mintime:build",
        "bang-bang",
        "rest to rest in the least time",
    ),
    "moon-lander": Entry(
        "problems.classical.moon_lander:build", "bang-bang", "soft landing with the least fuel"
    ),
    "robot-arm": Entry(
        "problems.classical.robot_arm:build",
        "bang-bang",
        "three joints, five switches, the least time",
    ),
    "goddard-cops": Entry(
        "problems.classical.goddard:build",
        "singular arcs",
        "the highest flight of a sounding rocket",
    ),
    "jacobson-singular": Entry(
        "problems.classical.jacobson_singular:build",
        "singular arcs",
        "a regulator whose cost leaves the control out",
    ),
    "bryson-denham": Entry(
        "problems.classical.bryson_denham:build",
        "state constraints",
        "bounce back before a wall with the least effort",
    ),
    "biped-step": Entry(
        "problems.classical.biped_step:build",
        "mechanisms",
        "a step of five links with the least torques",
    ),
    "cart-pole": Entry(
        "problems.classical.cart_pole:build", "mechanisms", "swing up a pole on a cart"
    ),
    "launch-vehicle": Entry(
        "problems.classical.launch_vehicle:build",
        "spaceflight",
        "the most mass into a transfer orbit, four phases",
    ),
    "linear-tangent-steering": Entry(
        "problems.classical.linear_tangent_steering:build",
        "spaceflight",
        "height and speed in the least time",
    ),
    "orbit-raising": Entry(
        "problems.classical.orbit_raising:build",
        "spaceflight",
        "the highest circular orbit by low thrust",
    ),
}

__getattr__, __dir__ = on_demand(__name__)
