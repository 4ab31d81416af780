"""Commands that a reader of the report can copy: they name its runs where they lie."""

import shlex
from collections.abc import Iterable

from rapo.reporting.run_record import RunRecord

LISTED = 6
"""Runs that one command names, at most."""


def measuring(words: str, runs: Iterable[RunRecord]) -> str:
    """The command `rapo WORDS RUN...` for these runs, between backquotes."""
    runs = list(runs)
    alike = [run for run in runs if run.flags == runs[0].flags][:LISTED]
    folders = " ".join(shlex.quote(str(run.folder)) for run in alike)
    more = f" (and so for {len(runs) - len(alike)} more runs)" if len(runs) > len(alike) else ""
    return f"`rapo {words} {folders}{alike[0].flags}`{more}"


def training(algo: str, run: RunRecord, options: str = "") -> str:
    """The command that trains another algorithm on the task of a run, between backquotes."""
    words = run.flags.split()
    task = words[words.index("--task") + 1] if "--task" in words else run.task
    return f"`rapo train {task} --algo {algo}{options}`"
