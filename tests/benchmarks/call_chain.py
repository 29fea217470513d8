"""Count the functions and files of the package that a command runs through.

python -m tests.benchmarks.call_chain [arguments of trajopt]
"""

import collections
import contextlib
import inspect
import sys
from pathlib import Path

import trajopt
from trajopt.__main__ import main

DEFAULT = ["solve", "goddard-cops", "--method", "both", "-q"]


def called(arguments):
    """(file, function) of every function of the package that a command calls."""
    root, seen = Path(trajopt.__file__).parent, set()

    def profile(frame, event, _):
        code = frame.f_code
        own = code.co_filename.startswith(str(root)) and not code.co_name.startswith("<")
        # class bodies are not functions
        if event == "call" and own and code.co_flags & inspect.CO_OPTIMIZED:
            seen.add((str(Path(code.co_filename).relative_to(root)), code.co_qualname))

    sys.argv = ["trajopt", *arguments]
    sys.setprofile(profile)
    with contextlib.suppress(SystemExit):
        main()
    sys.setprofile(None)
    return seen


if __name__ == "__main__":
    found = called(sys.argv[1:] or DEFAULT)
    files = collections.Counter(file for file, _ in found)
    print(f"{len(found)} functions in {len(files)} files")
    for file, count in sorted(files.items()):
        print(f"{count:5d}  {file}")
