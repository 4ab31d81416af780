"""Run folders into records, and records into groups: runs that differ in nothing but their seed.

Only files are read, so that two hundred runs take seconds, runs of tasks and algorithms that are not built in
are welcome, and nothing is compiled. What is missing or damaged is noted and the rest goes on.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from rapo.algorithms import ALGORITHMS
from rapo.config import Settings
from rapo.errors import InputError
from rapo.options import values
from rapo.results.pieces import MEASURED, read_failure, read_metrics
from rapo.results.sweeps import Range, settings
from rapo.runs.heatmap import FILE as HEATMAP
from rapo.runs.run import CONFIG
from rapo.runs.search import Found, read_search
from rapo.runs.sweep import read_sweep


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
    found: Found | None = None
    """The worst case that a search found."""
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


@dataclass(frozen=True, eq=False)
class Group:
    """The runs of one algorithm with one set of options on one task, by seed."""

    label: str
    algo: str
    runs: tuple[Record, ...]

    @property
    def finished(self) -> list[Record]:
        """The runs that are finished; all of them where none is."""
        return [run for run in self.runs if run.finished] or list(self.runs)


@dataclass(frozen=True, eq=False)
class Loaded:
    """All that a report is made from."""

    tasks: dict[str, tuple[Group, ...]]
    """Groups by task."""
    shared: dict[str, Any]
    """Options that are not the defaults and the same in every run."""
    notes: tuple[str, ...]
    """What was missing, damaged or left out, a sentence each."""


def find_runs(folders: Iterable[str | Path]) -> list[Path]:
    """Run folders among the given ones and anywhere inside of them, each once."""
    found: dict[Path, Path] = {}
    given = [Path(folder) for folder in folders]
    if not given:
        raise InputError("no runs were given: give the folders of one or more, or a folder that holds them")
    for folder in given:
        if not folder.is_dir():
            raise InputError(f"'{folder}' is not a folder: give a run, or a folder that holds runs")
        inside = [folder] if (folder / CONFIG).is_file() else sorted(p.parent for p in folder.rglob(CONFIG))
        if not inside:
            raise InputError(f"folder '{folder}' holds no run: a run is a folder with a {CONFIG}")
        for run in inside:
            found.setdefault(run.resolve(), run)
    return list(found.values())


def load(runs: Iterable[Path], advance: Callable[[], None] = lambda: None) -> Loaded:
    """Read run folders; `advance` is called after each."""
    records: list[Record] = []
    notes: list[str] = []
    for folder in runs:
        try:
            records.append(read_run(folder, notes))
        except InputError as error:
            notes.append(f"Run '{folder}' was left out: {error}.")
        advance()
    if not records:
        raise InputError(f"no run could be read: {notes[0] if notes else 'none was given'}")
    records.sort(key=lambda r: (r.task, _rank(r.algo), r.algo, _named(r.options), r.seed, str(r.folder)))
    records = _with_changes(records)
    shared = {
        name: value
        for name, value in records[0].changed.items()
        if all(r.changed.get(name) == value for r in records)
    }
    tasks = {
        task: _groups([r for r in records if r.task == task], shared, notes)
        for task in dict.fromkeys(r.task for r in records)
    }
    return Loaded(tasks, shared, tuple(notes))


def read_run(folder: Path, notes: list[str]) -> Record:
    """One run; pieces that can't be read are noted and count as missing."""
    try:
        said = json.loads((folder / CONFIG).read_bytes())
        options = dict(said["options"])
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
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, ZeroDivisionError):
        raise InputError(f"{CONFIG} of run '{folder}' is damaged: it can't be read") from None
    failure = read_failure(folder)
    if failure is not None:
        notes.append(f"Run '{folder}' failed: {failure}")
    for read in (_add_metrics, _add_sweep, _add_search):
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
    learned = int(record.metrics["update"][-1]) if len(record.metrics) else 0
    updates = int(sweep["updates"][0])
    if updates < learned:
        notes.append(
            f"Run '{record.folder}' was swept after {updates:,} updates and has learned from {learned:,}: "
            f"sweep it again with: rapo sweep {record.folder}"
        )
    return replace(record, settings=settings(sweep, record.ranges))


def _add_search(record: Record, _: list[str]) -> Record:
    return replace(record, found=read_search(record.folder))


def _with_changes(records: list[Record]) -> list[Record]:
    """Say which options are not the defaults; an unknown algorithm's are those of its first run."""
    usual = values(Settings())
    defaults = {name: usual | values(algorithm) for name, algorithm in ALGORITHMS.items()}
    changed = []
    for record in records:
        base = defaults.setdefault(record.algo, record.options | usual)
        differ = {k: v for k, v in record.options.items() if k not in base or base[k] != v}
        changed.append(replace(record, changed=differ))
    return changed


def _groups(records: list[Record], shared: Mapping[str, Any], notes: list[str]) -> tuple[Group, ...]:
    """Runs of one task by algorithm, options and planned steps."""
    found: dict[tuple[str, str, int], dict[int, Record]] = {}
    for record in records:
        runs = found.setdefault((record.algo, _named(record.options), record.planned), {})
        rival = runs.get(record.seed)
        if rival is not None:
            record, left = (record, rival) if record.steps > rival.steps else (rival, record)
            notes.append(
                f"Run '{left.folder}' was left out: '{record.folder}' has the same options and the same seed."
            )
        runs[record.seed] = record
    groups = []
    for (algo, options, planned), runs in found.items():
        first = next(iter(runs.values()))
        words = [f"{name}={_shown(v)}" for name, v in first.changed.items() if name not in shared]
        if any(a == algo and o == options and p != planned for a, o, p in found):
            words.append(f"steps={planned}")
        groups.append(Group(" ".join([algo, *words]), algo, tuple(runs[seed] for seed in sorted(runs))))
    return tuple(groups)


def _rank(algo: str) -> int:
    """Built-in algorithms in the order in which they are listed, then all others."""
    names = list(ALGORITHMS)
    return names.index(algo) if algo in names else len(names)


def _named(options: Mapping[str, Any]) -> str:
    """Options as text that sorts small numbers before large ones."""
    return json.dumps(
        {
            k: f"{v:015.6f}" if isinstance(v, int | float) and not isinstance(v, bool) else v
            for k, v in options.items()
        },
        sort_keys=True,
        default=str,
    )


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_shown, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
