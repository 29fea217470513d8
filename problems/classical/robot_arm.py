"""Swing a robot arm of three joints between two rest positions in the least time (COPS, after
Moessner-Beigel).

The arm of length L slides through its joint by rho and turns by theta about the vertical and by phi
from it.
"""

from casadi import SX, cos, pi, sin, vertcat

from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Ground, Mark, Rod, Trail

REFERENCE = Reference(
    objective=9.14091174591,
    tolerance=2e-6,
    switches=(2.2852279365, 2.7960432, 4.5704558730, 6.3448685, 6.8556838094),
    structure="u1 switches at tf/4 and 3 tf/4, u3 at 2.7960432 and 6.3448685, u2 at tf/2",
    source="collocation and shooting on the switching structure; COPS 3.0 with 200 intervals: "
    "9.14138",
)


@settable
def build(
    L=setting(5.0, "1", "length of the arm", 1e-6),
    turn=setting(2 * pi / 3, "rad", "turn about the vertical axis"),
    limit=setting(1.0, "1", "bound of each control", 1e-6),
) -> Problem:
    ocp = Problem("robot-arm")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    rho = ph.state("rho", start=4.5, end=4.5, lower=0, upper=L)
    theta = ph.state("theta", start=0, end=turn, lower=-pi, upper=pi, unit="rad")
    phi = ph.state("phi", start=pi / 4, end=pi / 4, lower=0, upper=pi, unit="rad")
    rho_d = ph.state("rho_d", start=0, end=0)
    theta_d = ph.state("theta_d", start=0, end=0, unit="rad/s")
    phi_d = ph.state("phi_d", start=0, end=0, unit="rad/s")
    u1, u2, u3 = (ph.control(name, lower=-limit, upper=limit) for name in ("u1", "u2", "u3"))
    inertia_phi = ((L - rho) ** 3 + rho**3) / 3
    inertia_theta = inertia_phi * sin(phi) ** 2
    ph.dynamics({rho: rho_d, theta: theta_d, phi: phi_d})
    ph.dynamics({rho_d: u1 / L, theta_d: u2 / inertia_theta, phi_d: u3 / inertia_phi})
    ocp.minimize(ph.final(t))
    return ocp


def drawing(L=5.0) -> Drawing:
    """The arm through its joint: rho on the side of the hand, L - rho on the other."""
    rho, theta, phi = (SX.sym(name) for name in ("rho", "theta", "phi"))
    along = vertcat(sin(phi) * cos(theta), sin(phi) * sin(theta), cos(phi))
    floor = Ground(tuple((L * cos(a * pi / 48), L * sin(a * pi / 48), 0.0) for a in range(97)))
    arm = Rod((-(L - rho) * along, rho * along), 0, 5)
    shadow = Rod(((0, 0, 0), (rho * along[0], rho * along[1], 0)), 4, 1)
    return Drawing(
        (floor, shadow, Trail(rho * along), arm, Mark((0, 0, 0), 9, 5), Mark(rho * along, 10)),
        view=(-120.0, 30.0),
    )
