"""Child processes that end with their parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # of Linux' prctl: a signal when the parent ends


def end_with_parent(parent: int) -> None:
    """End this process when its parent, the process of that number, ends for whatever reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended before
            os._exit(1)
