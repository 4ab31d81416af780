"""Run folders into groups: runs that differ in nothing but their seed, scored over the same settings."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from rapo.algorithms import ALGORITHMS
from rapo.errors import InputError
from rapo.reporting.run_record import Record, read_run, usual_options
from rapo.runs.run import CONFIG
from rapo.tasks.quadrotor.flight_scores import conditions


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
    records = _with_changes(_with_common_settings(records, notes))
    _note_flights(records, notes)
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


def _with_common_settings(records: list[Record], notes: list[str]) -> list[Record]:
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
                )
        if len({record.conditions for record, _ in runs if record.folder in found}) > 1:
            notes.append(
                f"Runs on {task} were swept with different seeds or numbers of episodes, so not from the "
                "same initial states."
            )
    return [replace(record, compared=found.get(record.folder)) for record in records]


def _note_flights(records: list[Record], notes: list[str]) -> None:
    """Say where flights can't be compared."""
    for task in dict.fromkeys(record.task for record in records):
        flown = [r.tracking for r in records if r.task == task and r.tracking is not None]
        if len(conditions(flown)) > 1:
            notes.append(
                f"Runs on {task} were flown with different seeds or numbers of episodes, so not under the "
                "same dynamics."
            )


def _with_changes(records: list[Record]) -> list[Record]:
    """Say which options are not the defaults; an unknown algorithm's are those of its first run."""
    defaults = {name: usual_options(name) for name in ALGORITHMS}
    changed = []
    for record in records:
        base = defaults.setdefault(record.algo, record.options | usual_options(record.algo))
        differ = {k: v for k, v in record.options.items() if k not in base or base[k] != v}
        changed.append(replace(record, changed=differ))
    return changed


def _groups(records: list[Record], shared: Mapping[str, Any], notes: list[str]) -> tuple[Group, ...]:
    """Runs of one task by algorithm, options and planned steps."""
    found: dict[str, dict[int, Record]] = {}
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
        words = [f"{name}={_shown(v)}" for name, v in first.changed.items() if name not in shared]
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


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_shown, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
