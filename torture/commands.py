"""Commands of `rapo`, each in a process of its own."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from torture.tally import SOUND, judged

SETTINGS = ("num_envs=4", "horizon=16", "epochs=1", "minibatches=2", "hidden=8", "heatmap_every=5")
"""Of runs that are small, but for which all files are written."""


def started(*words: Any, first: str = "") -> subprocess.Popen[str]:
    """A command that is running; first: code that its process runs before anything else."""
    code = f"{first}\nfrom rapo.cli import main\nmain()"
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> str:
    """How a command came out, as `torture.tally.outcome` says it."""
    _, said = process.communicate()
    if process.returncode == 0:
        return SOUND if not said else f"status 0, and said {said[:2_000]}"
    if process.returncode in (1, 2):
        return judged(said.rstrip("\n"))
    return f"status {process.returncode}, and said {said[-2_000:]}"


def train(folder: Path, algo: str, updates: int, *more: str) -> tuple[Any, ...]:
    """The words that train a small run."""
    steps = updates * 64
    words = ("train", "hopper", "--algo", algo, "--steps", steps, "--out", folder, *more)
    return (*words, "--set", *SETTINGS, *(["models=3"] if algo.startswith("rapo") else []))


def train_or_resume(folder: Path, algo: str, updates: int, *more: str) -> tuple[Any, ...]:
    """The words that bring a run to its end, whatever there is of it."""
    there = (folder / "config.json").exists()
    return ("resume", folder, *more) if there else train(folder, algo, updates, *more)
