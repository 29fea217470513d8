"""A Dask cluster as the executor of a sweep: whether it answers, has workers, and still does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from typing import Any

from trajopt.errors import UsageError

PATIENCE = 8.0  # seconds for a scheduler to answer, for its first worker to come, and for lost ones to come back


@contextmanager
def connected(address: str) -> Iterator[Executor]:
    """The executor of a Dask scheduler; errors for one that does not answer or has no workers come within seconds."""
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise UsageError("--cluster needs Dask, which is not installed", hint="pip install distributed") from error
    try:
        client = Client(address, timeout=PATIENCE, name="trajopt")
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError("no cluster answers", got=address, expected="the address of a Dask scheduler") from error
    try:
        end = time.monotonic() + PATIENCE
        while not _workers(client):
            if time.monotonic() > end:
                raise UsageError("the cluster has no workers", got=address, hint=f"dask worker {address}")
            time.sleep(0.2)
        yield client.get_executor(pure=False, retries=0)
    finally:
        with suppress(Exception):  # a scheduler that has gone cannot be taken leave of
            client.close(timeout=2)


def complaint(executor: Executor) -> str | None:
    """Why a cluster cannot go on; None while it can, or where the executor is another one. Asked again and again."""
    client = getattr(executor, "_client", None)
    if client is None:
        return None
    try:
        alive = client.status == "running" and _workers(client)
        missing = "the cluster has no workers any more" if client.status == "running" else "the scheduler of the cluster has gone"
    except Exception:  # whatever Dask raises when its connection is lost
        alive, missing = False, "the scheduler of the cluster has gone"
    if alive:
        executor.__dict__.pop("_missing_since", None)
        return None
    since = executor.__dict__.setdefault("_missing_since", time.monotonic())
    return missing if time.monotonic() - since > PATIENCE else None


def is_lost(error: BaseException) -> bool:
    """Whether an exception says that the worker died, not that the row failed."""
    return type(error).__name__ in ("KilledWorker", "BrokenProcessPool")


def is_gone(error: BaseException) -> bool:
    """Whether an exception says that the scheduler has gone: it cancels what it was given."""
    return type(error).__name__ in ("CancelledError", "FutureCancelledError", "FuturesCancelledError", "CommClosedError")


def _workers(client: Any) -> bool:
    return bool(client.nthreads())
