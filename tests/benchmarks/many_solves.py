"""Solve a small program many times with the compiled method and check that memory does not grow.

python tests/benchmarks/many_solves.py 10000
"""

import resource
import sys

import casadi
import numpy as np

from trajopt.nlp.interior_point import Compiled
from trajopt.nlp.program import Block, Program, make_kernel
from trajopt.nlp.sparse_rows import SparseRows

MOST = 4096  # kB that the peak may grow: pages that the allocator keeps


def program():
    """Hock and Schittkowski 71: bounds, an equation and an inequality."""
    x = casadi.SX.sym("x", 4)
    rows = casadi.vertcat(x[0] * x[1] * x[2] * x[3], casadi.sumsqr(x))
    kernel = make_kernel(
        "nlp", x, casadi.SX(0, 1), casadi.SX(0, 1), rows, x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]
    )
    block = Block(kernel, 1, unit(4), np.zeros((0, 1)), unit(2), np.ones(1))
    nothing = SparseRows(np.zeros(5, dtype=int), np.zeros(0, dtype=int), np.zeros(0), 2)
    limits = np.ones(4), np.full(4, 5.0), np.array([25.0, 40.0]), np.array([np.inf, 40.0])
    return Program((block,), nothing, *limits, np.array([1.0, 5.0, 5.0, 1.0]), np.zeros(0))


def unit(size):
    return SparseRows(np.arange(size + 1), np.arange(size), np.ones(size), size)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    count, p = int(sys.argv[1]), program()
    for _ in range(200):
        Compiled().run(p)
    before = peak()
    for _ in range(count):
        result, _ = Compiled().run(p)
        assert abs(result.f - 17.0140172891) < 1e-8
    grown = peak() - before
    print(f"{count} solves: the peak of memory grew by {grown} kB")
    sys.exit(grown > MOST)


if __name__ == "__main__":
    main()
