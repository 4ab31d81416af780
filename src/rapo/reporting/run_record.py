"""One run folder into a record: what a report knows of a run, with whatever pieces it has.

Only files are read, so that two hundred runs take seconds, runs of tasks and algorithms that are not built in
are welcome, and nothing is compiled. What is missing or damaged is noted and the rest goes on.
"""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from rapo.algorithms import ALGORITHMS
from rapo.errors import InputError
from rapo.evaluation.search import Found, read_search
from rapo.evaluation.sweep import read_sweep
from rapo.reporting.run_files import MEASURED, read_failure, read_metrics
from rapo.reporting.sweep_scores import Range, settings
from rapo.runs.checkpoint import read_facts
from rapo.runs.heatmap import FILE as HEATMAP
from rapo.runs.run import CHECKPOINT, CONFIG
from rapo.tasks.quadrotor.flights import read_tracking
from rapo.training.config import Settings
from rapo.training.options import values


@dataclass(frozen=True, eq=False)
class Record:
    """What a report knows of one run."""

    folder: Path
    task: str
    algo: str
    seed: int
    options: dict[str, Any]
    """All of them."""
    changed: dict[str, Any]
    """Those that are not the defaults."""
    ranges: dict[str, Range]
    """What the task says of its parameters."""
    planned: int
    """Environment steps that it was asked to learn from, in whole updates."""
    metrics: pl.DataFrame
    """A row for each update."""
    settings: pl.DataFrame | None = None
    """A row for each setting of its sweep."""
    compared: pl.DataFrame | None = None
    """Those of them that scores are taken from, the same for all runs of a task; None if it lacks some."""
    conditions: tuple[int, int] | None = None
    """Seed and episodes of the sweep."""
    kind: str = ""
    """All that decides what the run does but its seed: options, parts, dynamics and steps, as text."""
    found: Found | None = None
    """The worst case that a search found."""
    tracking: pl.DataFrame | None = None
    """A row for every episode along the reference of the test."""
    heatmap: bool = False
    """Whether one was recorded."""

    @property
    def steps(self) -> int:
        """Environment steps that it has learned from."""
        return int(self.metrics["steps"][-1]) if len(self.metrics) else 0

    @property
    def finished(self) -> bool:
        """Whether it has learned from all of them."""
        return self.steps >= self.planned


def read_run(folder: Path, notes: list[str]) -> Record:
    """One run; pieces that can't be read are noted and count as missing."""
    try:
        said = json.loads((folder / CONFIG).read_bytes())
        options = usual_options(str(said["algo"])) | dict(said["options"])
        per_update = int(options["num_envs"]) * int(options["horizon"])
        record = Record(
            folder,
            str(said["task"]),
            str(said["algo"]),
            int(said["seed"]),
            options,
            {},
            {
                str(name): Range(float(p["nominal"]), (float(p["train"][0]), float(p["train"][1])))
                for name, p in said["dynamics"].items()
            },
            -(-int(said["steps"]) // per_update) * per_update,
            pl.DataFrame(schema=MEASURED),
            heatmap=(folder / HEATMAP).is_file(),
        )
        decided = (record.algo, options, said.get("parts"), said["dynamics"], record.planned)
        record = replace(record, kind=json.dumps(decided, sort_keys=True))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        raise InputError(f"{CONFIG} of run '{folder}' is damaged: it can't be read") from None
    failure = read_failure(folder)
    if failure is not None:
        notes.append(f"Run '{folder}' failed: {failure}")
    for read in (_add_metrics, _add_sweep, _add_search, _add_tracking):
        try:
            record = read(record, notes)
        except InputError as error:
            notes.append(f"A part of run '{folder}' was left out: {error}.")
    if not record.finished:
        notes.append(
            f"Run '{folder}' is not finished: it has learned from {record.steps:,} of {record.planned:,} "
            f"steps. Go on with: rapo resume {folder}"
        )
    return record


def _add_metrics(record: Record, _: list[str]) -> Record:
    return replace(record, metrics=read_metrics(record.folder))


def _add_sweep(record: Record, notes: list[str]) -> Record:
    sweep = read_sweep(record.folder)
    if sweep is None or not len(sweep):
        return record
    for name in sweep["parameter"].unique():
        if name not in record.ranges:
            raise InputError(
                f"the sweep of '{record.folder}' has parameter '{name}': "
                f"allowed are {', '.join(record.ranges)}"
            )
    if not _is_current(record, int(sweep["updates"][0]), "swept", notes):
        return record
    conditions = int(sweep["seed"][0]), sweep["episode"].n_unique()
    return replace(record, settings=settings(sweep, record.ranges), conditions=conditions)


def _add_search(record: Record, notes: list[str]) -> Record:
    found = read_search(record.folder)
    if found is None or not _is_current(record, found.updates, "searched", notes):
        return record
    return replace(record, found=found)


def _add_tracking(record: Record, notes: list[str]) -> Record:
    table = read_tracking(record.folder)
    if table is None or not len(table) or not _is_current(record, int(table["updates"][0]), "flown", notes):
        return record
    return replace(record, tracking=table)


def _is_current(record: Record, updates: int, done: str, notes: list[str]) -> bool:
    """Whether what was done is about the policy as it is now; noted if it is not."""
    learned = int(record.metrics["update"][-1]) if len(record.metrics) else 0
    with suppress(InputError):
        if (record.folder / CHECKPOINT).is_file():
            learned = int(read_facts(record.folder / CHECKPOINT)["counters"]["updates"])
    if updates == learned or not learned:
        return True
    again = {"swept": "sweep", "searched": "search", "flown": "eval quadrotor"}[done]
    notes.append(
        f"Run '{record.folder}' was {done} after {updates:,} updates and has learned from {learned:,}: "
        f"that was left out. Do it again with: rapo {again} {record.folder}"
    )
    return False


def usual_options(algo: str) -> dict[str, Any]:
    """The options of an algorithm and their defaults, as far as it is known."""
    known = ALGORITHMS.get(algo)
    return values(Settings()) | ({} if known is None else values(known))
