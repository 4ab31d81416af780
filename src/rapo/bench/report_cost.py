"""The benchmark of reports: seconds and memory of `rapo report` over many runs.

One run with small batches is trained, swept and searched. All other runs are copies of its folder with
another seed or algorithm in the config: `rapo report` reads files only, so that copies cost what runs would.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from rapo.algorithms import ALGORITHMS
from rapo.evaluation.search import search
from rapo.evaluation.sweep import sweep
from rapo.runs.description import CONFIG
from rapo.runs.start import train

UPDATES = 489
"""Updates of each run: as many as a million steps take with the usual settings."""
_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A script that runs a command and prints the command's peak memory.

A script of its own, because a process that is started inherits the peak of the one that starts it.
"""
SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "epochs": 1, "minibatches": 2, "models": 8}
"""Options of the run that is trained."""


@dataclass(frozen=True)
class ReportRow:
    """One line of the benchmark: a report over some number of runs."""

    runs: int
    seconds: float
    """From the start of the command to its end."""
    peak_gib: float
    """The most memory that the command used at a time."""
    page_mb: float
    """Size of the page."""


def measure(runs: int, updates: int = UPDATES) -> ReportRow:
    """Run `rapo report` over so many runs of so many updates, as a process of its own."""
    with TemporaryDirectory() as name:
        folder, out = Path(name) / "runs", Path(name) / "report"
        first = train("hopper", "rapo", steps=32 * updates, out=folder / "0", quiet=True, **SMALL)
        sweep(first)
        search(first, generations=1, population=4, episodes=1, final_episodes=4)
        said = json.loads((first.folder / CONFIG).read_text())
        names = list(ALGORITHMS)
        for i in range(1, runs):
            shutil.copytree(first.folder, folder / str(i))
            changed = said | {"seed": i // len(names), "algo": names[i % len(names)]}
            (folder / str(i) / CONFIG).write_text(json.dumps(changed))
        command = [sys.executable, "-m", "rapo", "report", str(folder), "--out", str(out)]
        start = perf_counter()
        said = subprocess.run([sys.executable, "-c", _PEAK, *command], check=True, stdout=subprocess.PIPE)
        seconds = perf_counter() - start
        return ReportRow(runs, seconds, int(said.stdout) / 2**20, (out / "index.html").stat().st_size / 1e6)
