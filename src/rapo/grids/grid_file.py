"""Grid files: which runs an experiment is made of, read from TOML and checked before anything runs.

A grid is every task x algorithm x combination of options x seed. An option given as a list makes the grid
wider and is part of the name of the run's folder: OUT/TASK/ALGORITHM,option=value/seed-N.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, product
from math import prod
from pathlib import Path
from typing import Any

from rapo.algorithms import ALGORITHMS, find_algorithm
from rapo.errors import InputError, shown, unknown
from rapo.evaluation.measurement import Measurement, all_measurements, measurements_of
from rapo.ranges import check_seed
from rapo.training.config import Config, Settings, identity, make_config
from rapo.training.options import options, shown_value
from rapo.world.find_task import TASKS, find_task
from rapo.world.task import Task
from rapo.world.user_code import is_code

REQUIRED = ("tasks", "algorithms", "seeds", "steps")
KEYS = (*REQUIRED, "out", "options", "algorithm")
MOST_RUNS = 2_000
"""How many runs a grid may have."""


@dataclass(frozen=True)
class GridRun:
    """One run of a grid."""

    task: str
    algo: str
    steps: int
    seed: int
    options: Mapping[str, Any]
    """The options that the grid file sets."""
    group: str
    """Its algorithm, and the options that tell it from its neighbours: the same for all its seeds."""
    folder: Path

    @property
    def name(self) -> str:
        """How the run is called in a sentence."""
        return f"{self.group} on {self.task}, seed {self.seed}"

    def config(self) -> Config:
        """The configuration that the run is trained with."""
        return make_config(self.task, self.algo, steps=self.steps, seed=self.seed, options=self.options)


@dataclass(frozen=True)
class Grid:
    """All runs of an experiment, and how each is measured after training."""

    path: Path
    """The grid file."""
    out: Path
    runs: tuple[GridRun, ...]
    measurements: Mapping[str, Mapping[str, Any]]
    """What the file changes in the settings of each measurement that is made, by its name, in their order."""


def read_grid(path: str | Path) -> Grid:
    """The grid that a file describes, refused unless every run of it could start."""
    path = Path(path)
    try:
        said = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"grid '{path}' can't be read: {error.strerror}") from None
    except RecursionError:
        raise InputError(f"grid '{path}' is not a TOML file: it is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"grid '{path}' is not a TOML file: {error}") from None
    try:
        return _grid(path, said)
    except InputError as error:
        raise InputError(f"grid '{path}': {error}") from None


def _grid(path: Path, said: Mapping[str, Any]) -> Grid:
    for key in REQUIRED:
        if key not in said and not set(said) - set(KEYS):
            raise InputError(f"key {key} is missing: needed are {', '.join(REQUIRED)}")
    tasks = _tasks(said)
    known = all_measurements(list(tasks.values()))
    _check_keys("key", said, (*KEYS, *known))
    for key in REQUIRED:
        if key not in said:
            raise InputError(f"key {key} is missing: needed are {', '.join(REQUIRED)}")
    algorithms = _algorithms(said)
    seeds = _list("seeds", said["seeds"], "whole numbers")
    for seed in seeds:
        check_seed(_whole("seeds", seed, 0))
    steps = _whole("steps", said["steps"], 1)
    out = said.get("out", f"runs/{path.stem}")
    if not isinstance(out, str) or not out or not out.isprintable():
        raise InputError(f"key out is {shown(out)}: allowed is the name of a folder")
    chosen_by = _options(said, algorithms)
    _check_count(len(tasks) * len(seeds), chosen_by)
    runs = [
        GridRun(task, algo, steps, seed, chosen, group, Path(out) / kind.name / group / f"seed-{seed}")
        for task, kind in tasks.items()
        for algo, choices in chosen_by.items()
        for group, chosen in _combinations(find_algorithm(algo).name, choices)
        for seed in seeds
    ]
    _check_distinct(runs)
    return Grid(path, Path(out), tuple(runs), _measurements(said, list(tasks.values()), known))


def _options(said: Mapping[str, Any], algorithms: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What the file sets for each algorithm, lists still being lists."""
    shared, special = _table(said, "options"), _table(said, "algorithm")
    _check_keys("algorithm of this grid under [algorithm]", special, algorithms)
    known = {algo: {**options(Settings()), **options(find_algorithm(algo))} for algo in algorithms}
    _check_keys("option under [options]", shared, dict.fromkeys(chain(*known.values())))
    found: dict[str, dict[str, Any]] = {}
    for algo, names in known.items():
        own = _table(special, algo, "algorithm.")
        _check_keys(f"option under [algorithm.{algo}]", own, names)
        found[algo] = {**{name: value for name, value in shared.items() if name in names}, **own}
    return found


def _check_count(each: int, options: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a grid of too many runs without making them; each: runs of one choice of all options."""
    choices = [
        [len(value) for value in chosen.values() if isinstance(value, list)] for chosen in options.values()
    ]
    count = each * sum(prod(lengths) for lengths in choices)
    if count > MOST_RUNS:
        raise InputError(f"the file describes {count:,} runs: allowed are at most {MOST_RUNS:,}, so split it")


def _combinations(algo: str, choices: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every combination of the listed options, with the name of its folder."""
    listed = {
        name: _list(f"option {name}", value, "values")
        for name, value in choices.items()
        if isinstance(value, list)
    }
    found = []
    for values in product(*listed.values()):
        chosen = dict(zip(listed, values, strict=True))
        name = ",".join([algo, *(f"{option}={_in_folder(value)}" for option, value in chosen.items())])
        found.append((name, {**choices, **chosen}))
    return found


def _check_distinct(runs: Iterable[GridRun]) -> None:
    """Refuse what could not start, and runs that are the same but for their name, or by their name."""
    folders: set[Path] = set()
    seen: dict[str, str] = {}
    for run in runs:
        described = repr(identity(run.config().describe()))
        if run.folder in folders or described in seen:
            raise InputError(
                f"the runs '{seen.get(described, run.group)}' and '{run.group}' are the same: "
                "the values in the list of an option must differ"
            )
        folders.add(run.folder)
        seen[described] = run.group


def _tasks(said: Mapping[str, Any]) -> dict[str, type[Task]]:
    """The classes of the tasks of a grid, by the names that the file has for them."""
    if "tasks" not in said:
        return {}
    names = _list("tasks", said["tasks"], "names")
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"key tasks has {shown(name)} in it: allowed are {', '.join(TASKS)}, or FILE:CLASS"
            )
    return {name: find_task(name) for name in names}


def _algorithms(said: Mapping[str, Any]) -> list[str]:
    """The algorithms of a grid, each a built-in one or FILE:NAME."""
    names = _list("algorithms", said["algorithms"], "names")
    for name in names:
        if not isinstance(name, str):
            known = ", ".join(ALGORITHMS)
            raise InputError(f"key algorithms has {shown(name)} in it: allowed are {known}, or FILE:NAME")
        if not is_code(name):
            _check_keys("name under algorithms", [name], ALGORITHMS)
        find_algorithm(name)
    return names


def _measurements(
    said: Mapping[str, Any], tasks: Sequence[type[Task]], known: Mapping[str, Measurement]
) -> dict[str, dict[str, Any]]:
    """The measurements that a grid makes, asked for or not, with what the file changes in their settings."""
    found: dict[str, dict[str, Any]] = {}
    for name, measurement in known.items():
        lacking = [task.name for task in tasks if name not in measurements_of(task)]
        wanted = said.get(name, {} if measurement.in_grids and not lacking else False)
        if wanted is False:
            continue
        if not isinstance(wanted, dict):
            raise InputError(f"key {name} is {shown(wanted)}: allowed is a table, or false to leave it out")
        if measurement.measure is None:
            raise InputError(f"key {name} was given: it is recorded while a run learns, and can't be made")
        _check_keys(f"key under [{name}]", wanted, [field.name for field in fields(measurement.settings)])
        try:
            settings = measurement.choose(wanted)
            for task in tasks:
                if task.name not in lacking:
                    measurement.check(settings, task())
        except InputError as error:
            raise InputError(f"table [{name}]: {error}") from None
        if lacking:
            raise InputError(f"key {name} was given: task '{lacking[0]}' has no such measurement")
        found[name] = wanted
    return found


def _check_keys(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in given:
        if name not in known:
            raise unknown(kind, name, known)


def _table(said: Mapping[str, Any], key: str, within: str = "") -> Mapping[str, Any]:
    value = said.get(key, {})
    if not isinstance(value, dict):
        raise InputError(f"key {within}{key} is {shown(value)}: allowed is a table, [{within}{key}]")
    return value


def _list(what: str, value: Any, of: str) -> list[Any]:
    what = what if what.startswith("option") else f"key {what}"
    if not isinstance(value, list) or not value:
        raise InputError(f"{what} is {shown(value)}: allowed is a list of {of} with at least one in it")
    if len(value) > MOST_RUNS:
        raise InputError(f"{what} has {len(value):,} values: allowed are at most {MOST_RUNS:,}")
    for i, item in enumerate(value):
        if item in value[:i]:
            hint = f'; for one value of several numbers write "{item},{item}"' if "option" in what else ""
            raise InputError(f"{what} has {shown(item)} twice: every value may be there once{hint}")
    return value


def _whole(key: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"key {key} is {shown(value)}: allowed are whole numbers from {least}")
    return value


def _in_folder(value: Any) -> str:
    """A value as it can stand in the name of a folder."""
    return re.sub(r"[^A-Za-z0-9._+-]", "-", shown_value(value))
