"""What a report over many runs costs: seconds and memory of the command, from start to page.

One small run is trained, swept and searched for real; the others are copies of it under other seeds and other
algorithms' names, as long as real ones: a report reads files and does not mind.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from rapo.algorithms import ALGORITHMS
from rapo.evaluation.search import search
from rapo.evaluation.sweep import sweep
from rapo.runs.run import CONFIG
from rapo.runs.start import train

UPDATES = 489
"""As many as a million steps take."""
_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Runs a command and prints its peak memory: a child begins with its parent's, so a small process asks."""
SMALL = {"num_envs": 4, "horizon": 8, "epochs": 1, "minibatches": 2, "models": 8}


@dataclass(frozen=True)
class Row:
    """One line of the benchmark."""

    runs: int
    seconds: float
    peak_gib: float
    """Of memory, at most."""
    page_mb: float


def measure(runs: int, updates: int = UPDATES) -> Row:
    """Report so many runs in a process of its own."""
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
        return Row(runs, seconds, int(said.stdout) / 2**20, (out / "index.html").stat().st_size / 1e6)
