"""Grid files: which runs an experiment is made of, read from TOML and checked before anything runs.

A grid is every task x algorithm x combination of options x seed. An option given as a list makes the grid
wider and is part of the name of the run's folder: OUT/TASK/ALGORITHM,option=value/seed-N.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

from rapo.algorithms import ALGORITHMS, find_algorithm
from rapo.errors import InputError, unknown
from rapo.tasks.quadrotor.flights import trackable
from rapo.training.config import Config, Settings, make_config
from rapo.training.options import options
from rapo.world.find_task import TASKS, make_task
from rapo.world.streams import check_seed

REQUIRED = ("tasks", "algorithms", "seeds", "steps")
KEYS = (*REQUIRED, "out", "options", "algorithm", "sweep", "search", "tracking")
SWEEP = ("episodes", "seed", "parameters", "scales")
SEARCH = ("generations", "population", "episodes", "final_episodes", "seed")
TRACKING = ("episodes", "seed")

LEAST = {"population": 4, "final_episodes": 2}
"""What CMA-ES and an interval need at least."""


@dataclass(frozen=True)
class Cell:
    """One run of a grid."""

    task: str
    algo: str
    steps: int
    seed: int
    options: Mapping[str, Any]
    """Those that the grid sets."""
    group: str
    """Its algorithm, and the options that tell it from its neighbours: the same for all its seeds."""
    folder: Path

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return f"{self.group} on {self.task}, seed {self.seed}"

    def config(self) -> Config:
        """What it is trained with."""
        return make_config(self.task, self.algo, steps=self.steps, seed=self.seed, options=self.options)


@dataclass(frozen=True)
class Grid:
    """All runs of an experiment, and how each is measured after training."""

    path: Path
    """The file it was read from."""
    out: Path
    cells: tuple[Cell, ...]
    sweep: Mapping[str, Any]
    """Settings of the sweep other than its defaults."""
    search: Mapping[str, Any] | None
    """Settings of the search other than its defaults; None leaves it out."""
    tracking: Mapping[str, Any] | None = None
    """Settings of the flights along the reference of the test other than their defaults; None: no flights."""


def read_grid(path: str | Path) -> Grid:
    """The grid that a file describes, refused unless every run of it could start."""
    path = Path(path)
    try:
        said = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"grid '{path}' can't be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"grid '{path}' is not a TOML file: {error}") from None
    try:
        return _grid(path, said)
    except InputError as error:
        raise InputError(f"grid '{path}': {error}") from None


def _grid(path: Path, said: Mapping[str, Any]) -> Grid:
    _check_keys("key", said, KEYS)
    for key in REQUIRED:
        if key not in said:
            raise InputError(f"key {key} is missing: needed are {', '.join(REQUIRED)}")
    tasks, algorithms = _names(said, "tasks", TASKS), _names(said, "algorithms", ALGORITHMS)
    seeds = _list("seeds", said["seeds"], "whole numbers")
    for seed in seeds:
        check_seed(_whole("seeds", seed, 0))
    steps = _whole("steps", said["steps"], 1)
    out = said.get("out", f"runs/{path.stem}")
    if not isinstance(out, str) or not out:
        raise InputError(f"key out is {out!r}: allowed is the name of a folder")
    cells = [
        Cell(task, algo, steps, seed, chosen, group, Path(out) / task / group / f"seed-{seed}")
        for task in tasks
        for algo, choices in _options(said, algorithms).items()
        for group, chosen in _combinations(algo, choices)
        for seed in seeds
    ]
    _check_distinct(cells)
    return Grid(path, Path(out), tuple(cells), _sweep(said, tasks), _search(said), _tracking(said, tasks))


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
        name = ",".join([algo, *(f"{option}={_shown(value)}" for option, value in chosen.items())])
        found.append((name, {**choices, **chosen}))
    return found


def _check_distinct(cells: Iterable[Cell]) -> None:
    """Refuse what could not start, and runs that are the same but for their name, or by their name."""
    folders: set[Path] = set()
    seen: dict[str, str] = {}
    for cell in cells:
        described = repr(cell.config().describe())
        if cell.folder in folders or described in seen:
            raise InputError(
                f"the runs '{seen.get(described, cell.group)}' and '{cell.group}' are the same: "
                "the values in the list of an option must differ"
            )
        folders.add(cell.folder)
        seen[described] = cell.group


def _sweep(said: Mapping[str, Any], tasks: Sequence[str]) -> dict[str, Any]:
    table = _table(said, "sweep")
    _check_keys("key under [sweep]", table, SWEEP)
    _check_numbers("sweep", table)
    if "parameters" in table:
        for task in tasks:
            _names(table, "parameters", make_task(task).dynamics.names, "sweep.")
    if "scales" in table:
        scales = _list("sweep.scales", table["scales"], "numbers")
        if any(isinstance(x, bool) or not isinstance(x, int | float) for x in scales):
            raise InputError(f"key sweep.scales is {scales!r}: allowed is a list of numbers")
        for dynamics in (make_task(task).dynamics for task in tasks):
            for name in table.get("parameters", dynamics.names):
                try:
                    dynamics.sweep(name, scales)
                except InputError as error:
                    raise InputError(f"key sweep.scales is {scales!r}: {error}") from None
    return dict(table)


def _search(said: Mapping[str, Any]) -> dict[str, Any] | None:
    if said.get("search") is False:
        return None
    if not isinstance(said.get("search", {}), dict):
        raise InputError(f"key search is {said['search']!r}: allowed is a table, or false to leave it out")
    table = _table(said, "search")
    _check_keys("key under [search]", table, SEARCH)
    _check_numbers("search", table)
    return dict(table)


def _tracking(said: Mapping[str, Any], tasks: Sequence[str]) -> dict[str, Any] | None:
    if "tracking" not in said:
        return None
    table = _table(said, "tracking")
    _check_keys("key under [tracking]", table, TRACKING)
    _check_numbers("tracking", table)
    for task in tasks:
        try:
            trackable(make_task(task))
        except InputError as error:
            raise InputError(f"key tracking was given: {error}") from None
    return dict(table)


def _check_numbers(key: str, table: Mapping[str, Any]) -> None:
    for name, value in table.items():
        if name == "seed":
            check_seed(_whole(f"{key}.seed", value, 0))
        elif name not in ("parameters", "scales"):
            _whole(f"{key}.{name}", value, LEAST.get(name, 1))


def _check_keys(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in given:
        if name not in known:
            raise unknown(kind, name, known)


def _table(said: Mapping[str, Any], key: str, within: str = "") -> Mapping[str, Any]:
    value = said.get(key, {})
    if not isinstance(value, dict):
        raise InputError(f"key {within}{key} is {value!r}: allowed is a table, [{within}{key}]")
    return value


def _names(said: Mapping[str, Any], key: str, known: Iterable[str], within: str = "") -> list[str]:
    names = _list(f"{within}{key}", said[key], "names")
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"key {within}{key} has {name!r} in it: allowed are {', '.join(known)}")
    _check_keys(f"name under {within}{key}", names, known)
    return names


def _list(what: str, value: Any, of: str) -> list[Any]:
    what = what if what.startswith("option") else f"key {what}"
    if not isinstance(value, list) or not value:
        raise InputError(f"{what} is {value!r}: allowed is a list of {of} with at least one in it")
    for i, item in enumerate(value):
        if item in value[:i]:
            hint = f'; for one value of several numbers write "{item},{item}"' if "option" in what else ""
            raise InputError(f"{what} has {item!r} twice: every value may be there once{hint}")
    return value


def _whole(key: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"key {key} is {value!r}: allowed are whole numbers from {least}")
    return value


def _shown(value: Any) -> str:
    """A value as it can stand in the name of a folder."""
    text = "-".join(map(str, value)) if isinstance(value, list) else str(value)
    return re.sub(r"[^A-Za-z0-9._+-]", "-", text.lower() if isinstance(value, bool) else text)
