"""Certify every planted wrong answer and its right twin.

    python -m tests.benchmarks.planted [NAME ...] [-v]

Prints each case that is not as it should be, and the counts; exit code 1 unless all are caught and
all twins pass.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from . import CASES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the certificates")
    options = parser.parse_args()
    missed, alarms, begun = [], [], time.process_time()
    chosen = [
        case
        for name, case in CASES.items()
        if not options.names or any(n in name for n in options.names)
    ]
    for case in chosen:
        start = time.process_time()
        try:
            wrong, right = case.certificates()
        except Exception:
            traceback.print_exc()
            missed.append(case.name)
            continue
        caught, passes = case.caught(wrong), case.passes(right)
        if not caught:
            missed.append(case.name)
        if not passes:
            alarms.append(case.name)
        verdict = (
            ""
            if caught and passes
            else f"   <-- {'' if caught else 'not caught '}{'' if passes else 'false alarm'}"
        )
        print(
            f"{case.kind:14} {case.name:44} {case.row:38} {time.process_time() - start:5.2f} "
            f"s{verdict}",
            flush=True,
        )
        for shown, certificate in ((not caught, wrong), (not passes, right)):
            if shown or options.verbose:
                print(certificate)
    print(f"{len(chosen)} wrong answers, {len(chosen) - len(missed)} caught; "
    f"{len(chosen) - len(alarms)} right twins pass; "
          f"{time.process_time() - begun:.0f} s of processor time")  # fmt: skip
    return 1 if missed or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
