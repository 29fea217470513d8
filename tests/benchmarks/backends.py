"""The compiled interior-point method beside IPOPT, program by program on the same meshes, over named problems.

    python tests/benchmarks/backends.py [--seconds S] [NAME ...]

Every program of a solve with IPOPT is also solved by the compiled method alone. Columns: programs; how many of them the compiled
method left to IPOPT; the largest relative difference of objectives where both solved; processor time of both in seconds, without
building the problem; their ratio; iterations of both.
"""

import argparse
import time
from dataclasses import dataclass, field

import numpy as np

from trajopt import builder, named_problems, solve
from trajopt.direct.collocation import Collocation
from trajopt.nlp.backends import Ipopt, Outcome
from trajopt.nlp.interior_point import FINAL, Compiled


@dataclass(frozen=True)
class Both:
    """A backend that solves with IPOPT and records what the compiled method makes of the same program."""

    ipopt: Ipopt = field(default_factory=Ipopt)
    rows: list = field(default_factory=list)
    name: str = "both"

    def tightened(self, tolerance):
        return Both(self.ipopt.tightened(tolerance), self.rows)

    def solve(self, program, warm=None, *rest):
        began = time.process_time()
        reference = self.ipopt.solve(program, warm, *rest)
        middle = time.process_time()
        compiled, report = Compiled(self.ipopt.tolerance, self.ipopt.max_iterations).run(program, warm, *rest)
        after = time.process_time() - middle
        self.rows.append((reference, compiled, report, middle - began, after))
        return reference


def difference(reference, compiled):
    """Relative, of the objectives; nothing where one has none."""
    if reference.outcome is not Outcome.SOLVED or compiled.outcome is not Outcome.SOLVED:
        return 0.0
    return abs(reference.f - compiled.f) / max(abs(reference.f), 1e-8)


def compare(name, verbose):
    both = Both()
    solve(builder(name)(), Collocation(backend=both))
    rows = both.rows
    for reference, compiled, report, slow, fast in rows if verbose else ():
        print(
            f"    ipopt {reference.message} {reference.iterations} {reference.f:.10g} {slow:.3f} s; compiled {compiled.message}"
            f" {compiled.iterations} {compiled.f:.10g} {fast:.3f} s, error {report.error:.1e},"
            f" {report.restorations} restorations, {report.factorizations} factorizations, {report.delayed} delayed"
        )
    left = sum(c.outcome not in FINAL for _, c, *_ in rows)
    worst = max((difference(r, c) for r, c, *_ in rows), default=0.0)
    slow, fast = sum(r[3] for r in rows), sum(r[4] for r in rows)
    iterations = [sum(r[k].iterations for r in rows) for k in (0, 1)]
    print(
        f"{name:28} {len(rows):4} {left:4} {worst:9.1e} {slow:8.2f} {fast:8.2f} {fast / max(slow, 1e-9):6.2f} {iterations[0]:6}"
        f" {iterations[1]:6}",
        flush=True,
    )
    return len(rows), left, slow, fast, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    names = options.names or [name for name, entry in named_problems().items() if entry.kind == "problem"]
    totals = np.array([compare(name, options.verbose) for name in names])
    programs, left, slow, fast = totals[:, :4].sum(axis=0)
    print(f"together: {programs:.0f} programs, {left:.0f} left to IPOPT, {fast:.2f} s beside {slow:.2f} s", end="")
    print(f" ({fast / slow:.2f}), largest difference {totals[:, 4].max():.1e}")


if __name__ == "__main__":
    main()
