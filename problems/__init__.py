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
    "lawden-transfer": Entry(
        "problems.lawden_transfer:build", "rocket", "limited power from circle to circle, Lawden's first integrals"
    ),
    "min-time-transfer": Entry("problems.min_time_transfer:build", "rocket", "the fastest way from circle to circle"),
    "min-fuel-transfer": Entry("problems.min_fuel_transfer:build", "rocket", "circle to circle in five burns and four coasts"),
    "many-revolutions": Entry("problems.many_revolutions:build", "rocket", "a low-thrust spiral of more than twenty turns"),
    "earth-mars": Entry("problems.earth_mars:build", "rocket", "limited power to Mars, in astronomical units and days"),
    "lawden-spiral": Entry("problems.lawden_spiral:build", "rocket", "an arc of Lawden's spiral, singular all along"),
    "lawden-spiral-flow": Entry(
        "problems.lawden_spiral:lawden_spiral", "rocket", "intermediate thrust on Lawden's spiral, the whole flow", "system"
    ),
    "impulsive-transfer": Entry("problems.impulsive_transfer:build", "rocket", "two impulses from low to high orbit, km and s"),
    "ascent": Entry("problems.ascent:build", "rocket", "from the Moon's ground into orbit along the primer vector, km and s"),
    "lawden-cauchy": Entry(
        "problems.lawden_cauchy:lawden_cauchy", "rocket", "a rocket's costate flow with disturbed first integrals", "system"
    ),
    "mass-spring-damper": Entry("problems.lecture:mass_spring_damper", "lecture", "a mass on a spring with a damper", "system"),
    "lcr-circuit": Entry("problems.lecture:lcr_circuit", "lecture", "inductor, capacitor and resistor in series", "system"),
    "pendulum": Entry("problems.lecture:pendulum", "lecture", "a point mass on a rod, in its angle", "system"),
    "pendulum-cartesian": Entry("problems.lecture:pendulum_cartesian", "lecture", "the same, its rod a constraint", "system"),
    "two-link-arm": Entry("problems.lecture:two_link_arm", "lecture", "two uniform rods in a vertical plane", "system"),
    "closed-four-link": Entry("problems.lecture:closed_four_link", "lecture", "two arms joined at their tips", "system"),
    "lorenz": Entry("problems.lecture:lorenz", "lecture", "Lorenz' three equations", "system"),
    "sleigh": Entry("problems.sleigh:sleigh", "stabilization", "Chaplygin's sleigh on an incline", "system"),
    "cart-slalom": Entry("problems.cart_slalom:cart_slalom", "stabilization", "a cart on a slalom track downhill", "system"),
    "turntable-ball": Entry("problems.turntable:turntable_ball", "stabilization", "a ball rolling on a turntable", "system"),
    "inverse-problem": Entry("problems.inverse_problem:inverse_problem", "stabilization", "a circle made attractive", "system"),
    "slalom-effort": Entry("problems.slalom_effort:build", "exoskeleton", "six gates in a given time with the least effort"),
    "slalom-time": Entry("problems.slalom_time:build", "exoskeleton", "six gates in the least time"),
    "exoskeleton-lift": Entry("problems.exoskeleton_lift:build", "exoskeleton", "lift the body against the slope"),
    "exoskeleton-assist": Entry("problems.exoskeleton_assist:build", "exoskeleton", "follow a wearer's squat"),
    "two-legged": Entry("problems.two_legged:build", "exoskeleton", "a step of seven links on two legs"),
    "snowboarder": Entry(
        "problems.snowboarder:snowboarder", "exoskeleton", "a three-link slalom by programme constraints", "system"
    ),
    "branched-arm": Entry("problems.branched_arm:build", "inverse dynamics", "the torques of a turning branched arm", "system"),
    "rider-loop": Entry("problems.rider_loop:build", "bike robot", "five links between pedal and handlebar", "system"),
    "wheelie-pd": Entry("problems.bike:wheelie_pd", "bike robot", "a wheelie by PD control, after a pull", "system"),
    "front-up-pd": Entry("problems.bike:front_up_pd", "bike robot", "a pull that lifts the front wheel", "system"),
    "daniel-pd": Entry("problems.bike:daniel_pd", "bike robot", "a hop on the rear wheel by PD control", "system"),
    "wheelie-entry": Entry("problems.bike:wheelie_entry", "bike robot", "into a wheelie with the least effort, two phases"),
    "wheelie-entry-time": Entry("problems.bike:wheelie_entry_time", "bike robot", "into a wheelie in the least time"),
    "wheelie-hold": Entry("problems.bike:wheelie_hold", "bike robot", "into a wheelie, held, to a standstill"),
    "daniel-jump": Entry("problems.bike:daniel_jump", "bike robot", "the highest hop on the rear wheel, with a tuck"),
    "platform-jump": Entry("problems.bike:platform_jump", "bike robot", "a hop onto a platform with the least effort"),
    "platform-highest": Entry("problems.bike:platform_highest", "bike robot", "the highest platform that a hop reaches"),
    "platform-strength": Entry("problems.bike:platform_strength", "bike robot", "the least torque limits for a platform of 1 m"),
    "platform-runup": Entry("problems.bike:platform_runup", "bike robot", "the least torque limits for 1 m with a run-up"),
    "platform-support": Entry(
        "problems.bike:platform_support", "bike robot", "the least torque limits for 1 m, front wheel first"
    ),
    "free-body": Entry("problems.multibody:free_body", "multibody", "a body thrown under gravity", "system"),
    "sprung-body": Entry("problems.multibody:sprung_body", "multibody", "a body on springs and dampers", "system"),
    "sprung-pair": Entry("problems.multibody:sprung_pair", "multibody", "two bodies joined by springs and dampers", "system"),
    "offset-body": Entry("problems.multibody:offset_body", "multibody", "a reference point off the mass centre", "system"),
    "double-pendulum": Entry("problems.multibody:double_pendulum", "multibody", "two hinged bars", "system"),
    "triple-pendulum": Entry("problems.multibody:triple_pendulum", "multibody", "three hinged bars", "system"),
    "disc-pendulum": Entry("problems.multibody:disc_pendulum", "multibody", "a bar on the rim of a turning disc", "system"),
    "inverted-pendulum": Entry("problems.multibody:inverted_pendulum", "multibody", "a bar on a shaken pivot", "system"),
    "mounted-pendulum": Entry("problems.multibody:mounted_pendulum", "multibody", "a pendulum on a fixed body", "system"),
    "welded-pendulum": Entry("problems.multibody:welded_pendulum", "multibody", "two bars fixed together", "system"),
    "two-link-robot": Entry("problems.multibody:two_link_robot", "multibody", "two links with motors", "system"),
    "ground-slider": Entry("problems.multibody:ground_slider", "multibody", "a block on an inclined rail", "system"),
    "body-slider": Entry("problems.multibody:body_slider", "multibody", "a collar on a swinging bar", "system"),
    "slider-crank": Entry("problems.multibody:slider_crank", "multibody", "crank, rod and piston", "system"),
    "bouncing-body": Entry("problems.rolling:bouncing_body", "multibody", "a disc that bounces, slides and rolls", "system"),
    "rolling-body": Entry("problems.rolling:rolling_body", "multibody", "a disc that slides, then rolls", "system"),
    "vehicle-flat": Entry("problems.rolling:vehicle_flat", "multibody", "a car on flat ground", "system"),
    "vehicle-slope": Entry("problems.rolling:vehicle_slope", "multibody", "a car on a slope", "system"),
}
