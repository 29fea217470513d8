"""Named problems and systems, one family a file, each with its published answer and source."""

from trajopt.catalogue import Entry

CATALOGUE = {
    "block-move": Entry("problems.block_move:build", "classical", "rest to rest with the least effort"),
    "brachistochrone": Entry("problems.brachistochrone:build", "classical", "the fastest slide between two points"),
    "hypersensitive": Entry("problems.hypersensitive:build", "classical", "two thin boundary layers, a long rest between"),
    "lqr-scalar": Entry("problems.lqr_scalar:build", "classical", "scalar linear-quadratic regulator"),
    "vanderpol-bounded": Entry("problems.vanderpol_bounded:build", "classical", "Van der Pol oscillator, bounded control"),
    "double-integrator-minfuel": Entry(
        "problems.double_integrator_minfuel:build", "bang-bang", "rest to rest with the least fuel"
    ),
    "double-integrator-mintime": Entry("problems.double_integrator_mintime:build", "bang-bang", "rest to rest in the least time"),
    "moon-lander": Entry("problems.moon_lander:build", "bang-bang", "soft landing with the least fuel"),
    "robot-arm": Entry("problems.robot_arm:build", "bang-bang", "three joints, five switches, the least time"),
    "goddard-cops": Entry("problems.goddard:build", "singular arcs", "the highest flight of a sounding rocket"),
    "jacobson-singular": Entry(
        "problems.jacobson_singular:build", "singular arcs", "a regulator whose cost leaves the control out"
    ),
    "bryson-denham": Entry(
        "problems.bryson_denham:build", "state constraints", "bounce back before a wall with the least effort"
    ),
    "cart-pole": Entry("problems.cart_pole:build", "mechanisms", "swing up a pole on a cart"),
    "launch-vehicle": Entry("problems.launch_vehicle:build", "spaceflight", "the most mass into a transfer orbit, four phases"),
    "linear-tangent-steering": Entry(
        "problems.linear_tangent_steering:build", "spaceflight", "height and speed in the least time"
    ),
    "orbit-raising": Entry("problems.orbit_raising:build", "spaceflight", "the highest circular orbit by low thrust"),
}
