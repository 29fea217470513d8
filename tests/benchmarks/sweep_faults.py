"""Sweeps under faults, with real processes. One command each:

``python tests/benchmarks/sweep_faults.py kills [KILLS] [ROWS] [SEED]``
    A sweep of 200 rows on two workers, killed 50 times at random moments and begun again: no row
    lost, doubled or stale.
``python tests/benchmarks/sweep_faults.py cluster``
    The same on a Dask cluster started from a shell: one worker is killed, then the scheduler, then
    the sweep goes on elsewhere.
``python tests/benchmarks/sweep_faults.py full``
    A disk that is full: a small tmpfs where that may be mounted, otherwise a limit on the size of
    files (RLIMIT_FSIZE).
``python tests/benchmarks/sweep_faults.py two``
    Two sweeps in one folder at once.
``python tests/benchmarks/sweep_faults.py many [ROWS]``
    10,000 rows of x' = u, each solved alone, on two workers: rows a second, memory of the
    coordinating process, size of the folder, time to resume with nothing to do.

Each prints what it saw and ends with exit code 1 if that is not as it should be.
"""

from __future__ import annotations

import csv
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trajopt import load
from trajopt.sweeping.journal import read_progress
from trajopt.sweeping.workers import resident

MODEL = """
from trajopt import Problem


def build(a=1.0) -> Problem:
    ocp = Problem("row")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=a), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2))
    return ocp
"""
TRAJOPT = [sys.executable, "-m", "trajopt"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def command(rows: int, *options: str) -> list[str]:
    """A sweep over a = 1 ... rows; the answer of each is a * a."""
    return [
        *TRAJOPT,
        "sweep",
        "./model.py:build",
        "--over",
        f"a=1:{rows}:{rows}",
        "--save",
        "rows",
        "--single",
        "-q",
        *options,
    ]


def begun(rows: int, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(rows, *options), env=ENVIRONMENT, stderr=subprocess.PIPE)


def finished(folder: Path = Path("rows")) -> dict[float, float]:
    """a -> objective of all rows in the journal."""
    if not (folder / "sweep.sqlite").exists():
        return {}
    return {
        row.settings["a"]: row.figures["objective"]
        for row in read_progress(folder).rows.values()
        if row.success
    }


def wrong(rows: int) -> list[str]:
    """What is not as it should be in a complete folder: journal, table and files have every row
    once, with its own answer.
    """
    found = []
    journal = finished()
    expected = {float(a): float(a * a) for a in range(1, rows + 1)}
    if set(journal) != set(expected) or any(
        abs(journal[a] - v) > 1e-6 * v for a, v in expected.items()
    ):
        found.append("the journal")
    with open("rows/family.csv") as file:
        table = [(float(row["a"]), float(row["objective"])) for row in csv.DictReader(file)]
    if sorted(a for a, _ in table) != sorted(expected) or any(
        abs(o - expected[a]) > 1e-6 * o for a, o in table
    ):
        found.append("the table")
    for a in expected:
        if abs(load(f"rows/a={a:g}.nc")["x"](1.0) - a) > 1e-6 * a:
            found.append(f"the file of a = {a:g}")
    if list(Path("rows").glob(".*.part")):
        found.append("files that were left half written")
    return found


def kills(count: int, rows: int, seed: int) -> list[str]:
    """Kill and resume; the number of rows in the journal never falls, and what was solved is not
    solved again.
    """
    rng, trouble, killed, seen = random.Random(seed), [], 0, {}
    while killed < count:
        options = ["--again"] if len(seen) == rows else []
        if options:
            seen = {}
        sweep = begun(rows, "--workers", "2", *options)
        try:
            sweep.wait(rng.uniform(0.5, 6.0))
        except subprocess.TimeoutExpired:
            children = [
                int(c)
                for path in Path(f"/proc/{sweep.pid}/task").glob("*/children")
                for c in path.read_text().split()
            ]
            sweep.send_signal(
                rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            )
            killed += 1
            sweep.wait()
            end = time.monotonic() + 5.0
            while any(resident(child) for child in children) and time.monotonic() < end:
                time.sleep(0.02)
            if any(resident(child) for child in children):
                trouble.append("processes outlived their parent")
        sweep.communicate()
        now = (
            {}
            if options
            else {row.file: row.ended for row in read_progress(Path("rows")).rows.values()}
            if Path("rows").is_dir()
            else {}
        )
        if not options and any(now.get(file) != ended for file, ended in seen.items()):
            trouble.append("rows were lost or solved again")
        seen = now
    if subprocess.run(command(rows, "--workers", "2"), env=ENVIRONMENT).returncode:
        trouble.append("the last resume failed")
    return trouble + wrong(rows)


def cluster() -> list[str]:
    """Dask from a shell: a worker dies, then the scheduler."""
    rows, trouble = 120, []
    port = random.Random(os.getpid()).randrange(20000, 40000)
    address = f"tcp://127.0.0.1:{port}"
    dask = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        str(port),
        "--host",
        "127.0.0.1",
        "--no-dashboard",
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": ENVIRONMENT}
    worker = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        address,
        "--nthreads",
        "1",
        "--no-dashboard",
        "--local-directory",
        "dask",
    ]
    none = subprocess.run(
        command(3, "--cluster", address), env=ENVIRONMENT, capture_output=True, text=True
    )
    trouble += (
        []
        if none.returncode == 2 and "no cluster answers" in none.stderr
        else ["a missing cluster is not reported"]
    )
    scheduler = subprocess.Popen(dask, **quiet)
    time.sleep(4)
    began = time.monotonic()
    none = subprocess.run(
        command(3, "--cluster", address), env=ENVIRONMENT, capture_output=True, text=True
    )
    trouble += (
        []
        if none.returncode == 2 and "no workers" in none.stderr
        else [f"missing workers are not reported: {none.stderr}"]
    )
    print(f"a cluster without workers is reported after {time.monotonic() - began:.0f} s")
    workers = [subprocess.Popen(worker, **quiet, start_new_session=True) for _ in range(2)]
    sweep = begun(rows, "--cluster", address)
    _until(lambda: len(finished()) >= 15, 120)
    os.killpg(workers[0].pid, signal.SIGKILL)
    print(f"a worker killed after {len(finished())} rows")
    before = len(finished())
    _until(lambda: len(finished()) >= before + 15, 120)
    scheduler.kill()
    print(f"the scheduler killed after {len(finished())} rows")
    began = time.monotonic()
    said = sweep.communicate(timeout=120)[1].decode()
    later, lines = time.monotonic() - began, said.strip().splitlines()[-3:]
    print(f"the sweep ended {later:.0f} s later with exit code {sweep.returncode}: {lines}")
    trouble += (
        []
        if sweep.returncode == 1 and "scheduler" in said
        else ["a lost scheduler is not reported"]
    )
    os.killpg(workers[1].pid, signal.SIGKILL)
    for process in (scheduler, *workers):
        process.wait()
    kept = {row.file: row.ended for row in read_progress(Path("rows")).rows.values()}
    if subprocess.run(command(rows, "--workers", "2"), env=ENVIRONMENT).returncode:
        trouble.append("the sweep did not go on")
    now = {row.file: row.ended for row in read_progress(Path("rows")).rows.values()}
    if any(now[file] != ended for file, ended in kept.items()):
        trouble.append("rows were solved again")
    return trouble + wrong(rows)


def full() -> list[str]:
    """A disk that fills up while a sweep runs; afterwards there is room, and it goes on."""
    rows, trouble = 60, []
    Path("rows").mkdir()
    mounted = (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", "rows"], capture_output=True
        ).returncode
        == 0
    )
    print(
        "on a tmpfs of 600 kB"
        if mounted
        else "with files of at most 12 kB (no tmpfs may be mounted here)"
    )
    limit = None if mounted else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12000, 12000))
    sweep = subprocess.run(
        command(rows, "--workers", "2"),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    print(f"exit code {sweep.returncode}: {sweep.stderr.strip().splitlines()[-2:]}")
    words = ("No space left", "File too large", "disk is full", "disk I/O error")
    if sweep.returncode not in (1, 2) or not any(word in sweep.stderr for word in words):
        trouble.append("a full disk is not reported")
    kept = finished()
    print(f"{len(kept)} rows kept")
    if mounted:
        shutil.copytree("rows", "copy")
        subprocess.run(["umount", "rows"], check=True)
        os.rmdir("rows")
        os.rename("copy", "rows")
    if subprocess.run(command(rows, "--workers", "2"), env=ENVIRONMENT).returncode:
        trouble.append("the sweep did not go on")
    return trouble + wrong(rows)


def two() -> list[str]:
    """Two sweeps at once: one works, the other says who does."""
    first, second = begun(40), begun(40)
    ends = [(sweep.communicate()[1].decode(), sweep.returncode) for sweep in (first, second)]
    print(f"exit codes {[code for _, code in ends]}")
    trouble = [] if sorted(code for _, code in ends) == [0, 2] else ["both worked or none did"]
    refused = next((said for said, code in ends if code == 2), "")
    return (
        trouble
        + (
            []
            if "another sweep works" in refused and "process" in refused
            else ["the other is not named"]
        )
        + wrong(40)
    )


def processor_time(process: int) -> float:
    """Seconds that a process itself has used; 0 where that cannot be known."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def many(rows: int) -> list[str]:
    """Speed and size of a large sweep."""
    began = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    sweep = begun(rows, "--workers", "2")
    most, own = 0, 0.0
    while sweep.poll() is None:
        most, own = max(most, resident(sweep.pid)), max(own, processor_time(sweep.pid))
        time.sleep(0.2)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size = sum(entry.stat().st_blocks * 512 for entry in os.scandir("rows"))
    began = time.perf_counter()
    resumed = subprocess.run(command(rows, "--workers", "2"), env=ENVIRONMENT).returncode
    idle = time.perf_counter() - began
    pace = (
        f"{rows / seconds:.1f} rows a second; {used:.0f} s of processor time: "
        f"{2 * rows / used:.0f} a second on two free cores"
    )
    print(
        f"{rows} rows in {seconds:.0f} s: {pace} ({1e3 * own / rows:.1f} ms a row in the "
        "coordinating process)"
    )
    print(
        f"coordinating process {most / 2**20:.0f} MiB; folder {size / 2**20:.0f} MiB; resumed in "
        f"{idle:.2f} s"
    )
    told = [sweep.returncode == 0, resumed == 0, len(finished()) == rows]
    limits = [rows / seconds >= 60, most < 200 * 2**20, size < 300 * 2**20 * rows / 10000, idle < 2]
    names = ("exit code", "exit code of the resume", "rows", "speed", "memory", "size", "resume")
    return [name for name, good in zip(names, [*told, *limits], strict=True) if not good]


def _until(condition, seconds: float) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it did not happen in time")
        time.sleep(0.05)


def main() -> int:
    what, numbers = sys.argv[1], [int(a) for a in sys.argv[2:]]
    defaults = {"kills": (50, 200, 0), "many": (10000,)}.get(what, ())
    with tempfile.TemporaryDirectory(dir=os.environ.get("SWEEP_FOLDER")) as folder:
        os.chdir(folder)
        Path("model.py").write_text(MODEL)
        trouble = {"kills": kills, "cluster": cluster, "full": full, "two": two, "many": many}[
            what
        ](*numbers, *defaults[len(numbers) :])
        os.chdir("/")
    print("wrong: " + ", ".join(trouble) if trouble else f"{what}: as it should be")
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
