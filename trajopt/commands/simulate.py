"""``simulate``: integrate a named system forward in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from trajopt.commands.building import build_system, read_settings
from trajopt.commands.exit_codes import SOLVED
from trajopt.commands.outputs import Outputs
from trajopt.commands.plot import Subject, draw_run
from trajopt.commands.solve import write_animation
from trajopt.commands.terminal import console, number, progress_bar, say_written, text_table
from trajopt.errors import SimulationError, TrajoptError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from trajopt.integrate.global_error import GlobalError
    from trajopt.integrate.simulation import Simulation
    from trajopt.integrate.stabilize import Stabilization


@dataclass(frozen=True)
class SimulateOptions:
    """The options of ``simulate``."""

    integrator: str = "dop853"
    step: float | None = None
    tolerance: float | None = None
    until: float | None = None
    stabilize: str | None = None
    gain: float | tuple[float, ...] | None = None
    quiet: bool = False
    error_bound: bool = False


def parse_gain(text: str | None) -> float | tuple[float, ...] | None:
    """Parse ``--gain``: a number, or one for each row of the deviations.

    >>> parse_gain("10"), parse_gain("1,1000")
    (10.0, (1.0, 1000.0))
    """
    if text is None:
        return None
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"--gain {text}", expected="a number, or several with commas, as in 1,1000"
        ) from error
    return values[0] if len(values) == 1 else values


def run_simulate(
    name: str, settings: Mapping[str, Any], run: SimulateOptions, outputs: Outputs
) -> int:
    """Simulate, print the result, write the files."""
    outputs.check()
    if run.gain is not None and run.stabilize is None:
        raise UsageError("--gain needs a stabilization", hint="--stabilize baumgarte")
    subject = Subject(name, settings, "system")
    if outputs.plot is not None:
        subject.check(outputs.kind)
    with outputs.clean_standard_output():
        simulation = _simulate(name, settings, run, animated=outputs.animate is not None)
        found = _global_error(simulation) if run.error_bound else None
        if not run.quiet:
            print_simulation(simulation, error=outputs.json_on_standard_output)
            if found is not None:
                _print_global_error(found, error=outputs.json_on_standard_output)
        _write(simulation, outputs, run, subject)
    from trajopt.files.simulation_files import simulation_summary

    bounded = {} if found is None else {"global_error": asdict(found)}
    outputs.write_json(simulation_summary(simulation) | bounded)
    say_written(outputs.named.values(), run.quiet)
    _check_invariants(simulation, name)
    return SOLVED


def _global_error(simulation: Simulation) -> GlobalError:
    from trajopt.integrate.global_error import global_error

    return global_error(simulation)


def _print_global_error(found: GlobalError, error: bool) -> None:
    console(error=error).print(
        f"  global error {found.error:.3g}, bound {found.bound:.3g} "
        f"(L = {found.lipschitz:.4g} 1/s, B = {found.local:.3g} 1/s, sampled along the motion)"
    )


def _check_invariants(simulation: Simulation, name: str) -> None:
    """Raise if an invariant shows that the steps were unstable; the files are written for
    inspection.
    """
    from trajopt.integrate.simulation import lost_invariants

    for invariant, (drift, size) in lost_invariants(simulation).items():
        step = simulation.integrator.fixed_step
        hint = "a smaller --tolerance, or --stabilize baumgarte"
        if step is not None:
            hint = (
                f"--step {step / 10:g}, an implicit integrator (--integrator radau), or "
                "--stabilize baumgarte"
            )
        raise SimulationError(
            f"the motion of '{name}' is not one of the system: its invariant '{invariant}' is lost",
            got=f"a drift of {drift:.1e}, {drift / size:.0e} times its size at the start",
            expected="a drift that is small beside its size",
            hint=hint,
        )


def chosen_stabilization(
    name: str | None, gain: float | tuple[float, ...] | None
) -> Stabilization | None:
    """Return a stabilization by name, by a file of matrices, or by a law in a Python file."""
    from trajopt.integrate.integrator_names import stabilization

    if name in (None, "none"):
        return None
    from_file = name.endswith(".toml") or ".py" in name
    if from_file and gain is not None:
        raise UsageError(f"--stabilize {name} has its own gains", hint="omit --gain")
    if name.endswith(".toml"):
        from trajopt.integrate.law_files import load_law

        return load_law(name)
    if ".py" in name:
        from trajopt.catalogue import builder
        from trajopt.integrate.reactions import NonlinearLaw

        return NonlinearLaw(builder(name))
    return stabilization(name, gain)


def _simulate(
    name: str, settings: Mapping[str, Any], run: SimulateOptions, animated: bool = False
) -> Simulation:
    from trajopt.integrate.integrator_names import integrator
    from trajopt.integrate.simulation import simulate

    method = integrator(run.integrator, run.step, run.tolerance)
    stabilizer = chosen_stabilization(run.stabilize, run.gain)
    system = build_system(name, settings)
    if animated and system.drawing is None:
        raise UsageError(
            f"'{name}' has no drawing to animate", expected="a System with drawing=Drawing(...)"
        )
    with progress_bar(f"simulating {name}", run.quiet) as show:
        return simulate(system, method, run.until, stabilizer, progress=show)


def _write(
    simulation: Simulation, outputs: Outputs, run: SimulateOptions, subject: Subject
) -> None:
    from trajopt.files.simulation_files import save_simulation, simulation_to_csv

    if outputs.save is not None:
        save_simulation(simulation, outputs.save, read_settings(subject.build, subject.settings))
    if outputs.csv is not None:
        simulation_to_csv(simulation, outputs.csv)
    if outputs.plot is not None:
        draw_run(
            simulation,
            outputs.kind,
            outputs.plot,
            subject,
            lambda: compared(simulation, subject, run),
        )
    if outputs.animate is not None:
        write_animation(simulation, simulation.system.drawing, outputs.animate, run.quiet)


def compared(
    simulation: Simulation, subject: Subject, run: SimulateOptions
) -> dict[str, Simulation]:
    """Return a run with and one without stabilization; the missing one is simulated."""
    usual = "minimum-norm" if simulation.system.through_reactions is None else "baumgarte"
    other = replace(run, stabilize=usual if simulation.stabilization is None else None, gain=None)
    label = "not stabilized"
    try:
        beside = _simulate(subject.name, subject.settings, other)
    except TrajoptError as error:
        console(error=True, quiet=run.quiet).print(
            f"  no second run to compare with: {error.what}", style="yellow"
        )
        return {
            label
            if simulation.stabilization is None
            else simulation.stabilization.label: simulation
        }
    plain, stabilized = (
        (simulation, beside) if simulation.stabilization is None else (beside, simulation)
    )
    return {
        label: plain,
        usual if stabilized.stabilization is None else stabilized.stabilization.label: stabilized,
    }


def print_simulation(simulation: Simulation, error: bool = False) -> None:
    """Print the final state, the outputs, the drift of invariants and the events."""
    screen = console(error=error)
    stabilizer = "" if simulation.stabilization is None else f", {simulation.stabilization.label}"
    screen.print(
        f"{simulation.system.name}: t = {simulation.t[-1]:.8g} s after {len(simulation.t) - 1} "
        "steps",
        style="bold green",
    )
    screen.print(f"  {simulation.integrator.label}{stabilizer}")
    states = text_table("state", "start", "end", "unit", right=("start", "end"))
    for i, state in enumerate(simulation.system.states):
        size = float(abs(simulation.x[:, i]).max())
        states.add(
            state.name,
            number(simulation.x[0, i], size=size),
            number(simulation.x[-1, i], size=size),
            state.unit,
        )
    states.print(screen)
    _print_outputs(simulation, screen)
    if simulation.drift:
        drifts = text_table(
            "invariant", "largest drift", "at the end", right=("largest drift", "at the end")
        )
        for name, drift in simulation.drift.items():
            drifts.add(name, f"{drift.max:.2e}", f"{drift.end:.2e}")
        drifts.print(screen)
    for event in simulation.events[:10]:
        screen.print(f"  event '{event.name}' at {event.time:.8g} s")
    if len(simulation.events) > 10:
        screen.print(f"  and {len(simulation.events) - 10} more events")


def _print_outputs(simulation: Simulation, screen: Console) -> None:
    """Print final value and range of energies, reactions and torques."""
    from trajopt.files.simulation_files import output_columns

    columns = output_columns(simulation.refined())
    if not columns:
        return
    outputs = text_table(
        "output", "end", "minimum", "maximum", "unit", right=("end", "minimum", "maximum")
    )
    for name, (values, unit) in columns.items():
        size = float(abs(values).max())
        outputs.add(
            name,
            *(
                number(float(value), size=size)
                for value in (values[-1], values.min(), values.max())
            ),
            unit,
        )
    outputs.print(screen)
