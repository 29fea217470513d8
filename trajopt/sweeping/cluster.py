"""A Dask cluster as the executor of a sweep, with checks of its connection and workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from typing import Any

from trajopt.errors import UsageError

# seconds for the scheduler to respond, for its first worker, and for lost workers to return
TIMEOUT = 8.0


@contextmanager
def connected(address: str) -> Iterator[Executor]:
    """Connect to a Dask scheduler and yield its executor; raise within seconds if it does not
    respond or has no workers.
    """
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise UsageError(
            "--cluster needs Dask, which is not installed", hint="pip install distributed"
        ) from error
    try:
        client = Client(address, timeout=TIMEOUT, name="trajopt")
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(
            "no cluster answers", got=address, expected="the address of a Dask scheduler"
        ) from error
    try:
        end = time.monotonic() + TIMEOUT
        while not _workers(client):
            if time.monotonic() > end:
                raise UsageError(
                    "the cluster has no workers", got=address, hint=f"dask worker {address}"
                )
            time.sleep(0.2)
        yield client.get_executor(pure=False, retries=0)
    finally:
        with suppress(Exception):  # the scheduler may be gone
            client.close(timeout=2)


def unavailable_reason(executor: Executor) -> str | None:
    """Return the failure of a cluster, or None; called repeatedly.

    Other executors have no failure.
    """
    client = getattr(executor, "_client", None)
    if client is None:
        return None
    try:
        alive = client.status == "running" and _workers(client)
        missing = (
            "the cluster has lost all workers"
            if client.status == "running"
            else "the connection to the scheduler of the cluster is lost"
        )
    except Exception:  # whatever Dask raises when its connection is lost
        alive, missing = False, "the connection to the scheduler of the cluster is lost"
    if alive:
        executor.__dict__.pop("_missing_since", None)
        return None
    since = executor.__dict__.setdefault("_missing_since", time.monotonic())
    return missing if time.monotonic() - since > TIMEOUT else None


def is_worker_lost(error: BaseException) -> bool:
    """True if an exception means that the worker died."""
    return type(error).__name__ in ("KilledWorker", "BrokenProcessPool")


def is_scheduler_lost(error: BaseException) -> bool:
    """True if an exception means that the scheduler is gone, which cancels its tasks."""
    return type(error).__name__ in (
        "CancelledError",
        "FutureCancelledError",
        "FuturesCancelledError",
        "CommClosedError",
    )


def _workers(client: Any) -> bool:
    return bool(client.nthreads())
