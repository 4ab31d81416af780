"""Run folders into groups: runs that differ in nothing but their seed, scored over the same settings."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from rapo.algorithms import ALGORITHMS
from rapo.errors import InputError
from rapo.evaluation.measurement import Measurement, all_measurements
from rapo.reporting.run_record import RunRecord, read_run
from rapo.runs.description import CONFIG, POLICY
from rapo.training.config import changed_options, default_options
from rapo.training.options import shown_value
from rapo.world.task import Task


@dataclass(frozen=True, eq=False)
class Group:
    """The runs of one algorithm with one set of options on one task, by seed."""

    label: str
    algo: str
    runs: tuple[RunRecord, ...]

    @property
    def finished(self) -> list[RunRecord]:
        """The runs that are finished; all of them where none is."""
        return [run for run in self.runs if run.finished] or list(self.runs)


@dataclass(frozen=True, eq=False)
class Loaded:
    """All that a report is made from."""

    tasks: dict[str, tuple[Group, ...]]
    """The groups of runs, by task."""
    shared: dict[str, Any]
    """Options that are not the defaults and the same in every run."""
    notes: tuple[str, ...]
    """What was missing, damaged or left out, a sentence each."""
    measurements: Mapping[str, Measurement]
    """The measurements that run folders were searched for, by name."""


def find_runs(folders: Iterable[str | Path]) -> list[Path]:
    """Run folders among the given ones and anywhere inside of them, each once."""
    found: dict[Path, Path] = {}
    given = [Path(folder) for folder in folders]
    if not given:
        raise InputError("no runs were given: give the folders of one or more, or a folder that holds them")
    for folder in given:
        if not folder.is_dir():
            raise InputError(f"'{folder}' is not a folder: give a run, or a folder that holds runs")
        whole = any((folder / name).is_file() for name in (CONFIG, POLICY))
        inside = [folder] if whole else sorted(p.parent for p in folder.rglob(CONFIG))
        if not inside:
            raise InputError(f"folder '{folder}' holds no run: a run is a folder with a {CONFIG}")
        for run in inside:
            found.setdefault(run.resolve(), run)
    return list(found.values())


def load(
    runs: Iterable[Path], advance: Callable[[], None] = lambda: None, tasks: Sequence[type[Task] | Task] = ()
) -> Loaded:
    """Read run folders; `advance` is called after each; tasks: those that are not built in, if any."""
    records: list[RunRecord] = []
    notes: list[str] = []
    measurements = all_measurements(tasks)
    for folder in runs:
        try:
            records.append(read_run(folder, measurements, notes))
        except InputError as error:
            notes.append(f"Run '{folder}' was left out: {error}.")
        advance()
    if not records:
        raise InputError(f"no run could be read: {notes[0] if notes else 'none was given'}")
    records.sort(key=lambda r: (r.task, _rank(r.algo), r.algo, _named(r.options), r.seed, str(r.folder)))
    records = _of_unknown_algorithms(_with_common_settings(records, notes))
    _note_conditions(records, measurements, notes)
    shared = {
        name: value
        for name, value in records[0].changed.items()
        if all(r.changed.get(name) == value for r in records)
    }
    found = {
        task: _groups([r for r in records if r.task == task], shared, notes)
        for task in dict.fromkeys(r.task for r in records)
    }
    return Loaded(found, shared, tuple(notes), measurements)


def _with_common_settings(records: list[RunRecord], notes: list[str]) -> list[RunRecord]:
    """Let the runs of a task be scored over the same settings: those that most of them were swept at."""
    found: dict[Path, pl.DataFrame] = {}
    for task in dict.fromkeys(record.task for record in records):
        runs = [(r, r.settings) for r in records if r.task == task and r.settings is not None]
        points = Counter(frozenset(zip(t["parameter"], t["scale"], strict=True)) for _, t in runs)
        usual = max(points, key=lambda each: (points[each], len(each)), default=frozenset())
        for record, table in runs:
            own = list(zip(table["parameter"], table["scale"], strict=True))
            if usual <= set(own):
                kept = pl.Series([point in usual for point in own], dtype=pl.Boolean)
                found[record.folder] = table.filter(kept)
            else:
                notes.append(
                    f"Run '{record.folder}' was not swept at all the {len(usual)} settings of other runs on "
                    f"{task} and is not ranked with them. Sweep it again with: rapo sweep {record.folder}"
                    f"{record.flags}"
                )
    return [replace(record, compared=found.get(record.folder)) for record in records]


def _note_conditions(
    records: list[RunRecord], measurements: Mapping[str, Measurement], notes: list[str]
) -> None:
    """Say where results of the runs of a task can't be compared."""
    for task in dict.fromkeys(record.task for record in records):
        for name, measurement in measurements.items():
            results = [
                r.results[name]
                for r in records
                if r.task == task and name in r.results and (name != "sweep" or r.compared is not None)
            ]
            if len({measurement.conditions(result) for result in results}) > 1:
                notes.append(
                    f"Runs on {task} were {measurement.done} with different seeds or numbers of episodes, so "
                    "not under the same conditions."
                )


def _of_unknown_algorithms(records: list[RunRecord]) -> list[RunRecord]:
    """Say what differs between runs of an algorithm that is not built in: the first one has the defaults."""
    firsts: dict[str, dict[str, Any]] = {}
    found = []
    for record in records:
        if record.algo not in ALGORITHMS:
            first = firsts.setdefault(record.algo, record.options)
            defaults = first | default_options(record.task, record.algo)
            record = replace(record, changed=changed_options(record.options, defaults))
        found.append(record)
    return found


def _groups(records: list[RunRecord], shared: Mapping[str, Any], notes: list[str]) -> tuple[Group, ...]:
    """Runs of one task by algorithm, options and planned steps."""
    found: dict[str, dict[int, RunRecord]] = {}
    for record in records:
        runs = found.setdefault(record.kind, {})
        rival = runs.get(record.seed)
        if rival is not None:
            record, left = (record, rival) if record.steps > rival.steps else (rival, record)
            notes.append(
                f"Run '{left.folder}' was left out: '{record.folder}' has the same options and the same seed."
            )
        runs[record.seed] = record
    groups: list[Group] = []
    firsts = [next(iter(runs.values())) for runs in found.values()]
    for first, runs in zip(firsts, found.values(), strict=True):
        words = [f"{name}={shown_value(v)}" for name, v in first.changed.items() if name not in shared]
        alike = [r for r in firsts if (r.algo, r.options) == (first.algo, first.options)]
        if len({r.planned for r in alike}) > 1:
            words.append(f"steps={first.planned}")
        label = " ".join([first.algo, *words])
        others = sum(group.label == label or group.label.startswith(f"{label} (") for group in groups)
        if others:  # other parts, or other ranges of the dynamics
            label = f"{label} ({others + 1})"
            notes.append(f"'{label}' has other parts or other ranges of the dynamics: see {first.folder}.")
        groups.append(Group(label, first.algo, tuple(runs[seed] for seed in sorted(runs))))
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
