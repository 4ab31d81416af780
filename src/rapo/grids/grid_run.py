"""One run of a grid: trained, swept, searched and flown, each unless it was done already.

What has been done is read from the run folder alone, so that a cell can be run any number of times, by any
process: it goes on where the last one stopped, and a result that belongs to another policy is made again.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from inspect import signature
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import Any

from rapo.errors import BusyError, InputError, TrainingError
from rapo.evaluation.search import Effort, read_search, search
from rapo.evaluation.sweep import read_sweep, settings, sweep
from rapo.files import write_atomically
from rapo.grids.grid_file import Cell, Grid
from rapo.runs.checkpoint import read_facts
from rapo.runs.metrics import read_metrics
from rapo.runs.run import CHECKPOINT, CONFIG, Run, check_same
from rapo.runs.start import SAVE_EVERY, resume, start
from rapo.tasks.quadrotor.flights import SETTINGS, read_paths, read_tracking, track

FAILURE = "failure.txt"
Watch = Callable[[str, int], Callable[[], None]]
"""Told which step begins and how often it advances at most; what it returns is called each time."""


@dataclass(frozen=True)
class Outcome:
    """What became of a cell."""

    cell: Cell
    done: tuple[str, ...]
    """What was done just now: trained, swept, searched, flown."""
    seconds: float
    failure: str | None = None
    """What went wrong, in a sentence."""


def unwatched(step: str, total: int) -> Callable[[], None]:
    """Show nothing."""
    return lambda: None


def run_cell(
    cell: Cell, grid: Grid, *, threads: int = 0, save_every: int = SAVE_EVERY, watch: Watch = unwatched
) -> Outcome:
    """Do what is left to do; what goes wrong is written to failure.txt and returned, not raised."""
    began, done = perf_counter(), []
    try:
        forget_failure(cell)
        if _train(cell, threads, save_every, watch):
            done.append("trained")
        run = Run(cell.folder)
        if not _swept(cell, grid):
            advance = watch("sweeping", run.config().task.tested().time_limit)
            sweep(run, **grid.sweep, threads=threads, advance=advance)
            done.append("swept")
        if grid.search is not None and ("swept" in done or not _searched(cell, grid)):
            advance = watch("searching", _with_defaults(search, grid.search)["generations"] + 3)
            search(run, **grid.search, threads=threads, advance=advance)
            done.append("searched")
        if grid.tracking is not None and not _flown(cell, grid):
            advance = watch("flying", run.config().task.tested().time_limit)
            track(run, **grid.tracking, threads=threads, advance=advance)
            done.append("flown")
        forget_failure(cell)
    except BusyError as error:  # no failure of the run: who trains it may well succeed
        return Outcome(cell, tuple(done), perf_counter() - began, str(error))
    except Exception as error:
        return Outcome(cell, tuple(done), perf_counter() - began, record_failure(cell, _sentence(error)))
    return Outcome(cell, tuple(done), perf_counter() - began)


def state(cell: Cell, grid: Grid) -> str:
    """How far a cell is: waiting, training with its share, failed, unusable, or what was done to it last."""
    if (cell.folder / FAILURE).exists():
        return "failed"
    if not (cell.folder / CONFIG).exists():
        return "waiting"
    try:
        _check_config(cell)
        if not _trained(cell):
            rows = read_metrics(cell.folder)
            return f"training {rows[-1]['update'] / cell.config().updates if rows else 0:.0%}"
        if not _swept(cell, grid):
            return "trained"
        if grid.search is not None and not _searched(cell, grid):
            return "swept"
        if grid.tracking is not None and _flown(cell, grid):
            return "flown"
        return "swept" if grid.search is None else "searched"
    except InputError:
        return "unusable"


def record_failure(cell: Cell, sentence: str) -> str:
    """Leave a sentence in the run folder, if that is possible, and return it."""
    try:
        cell.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(cell.folder / FAILURE, f"{sentence}\n".encode())
    except (OSError, InputError):
        print(f"rapo: {cell.folder / FAILURE} can't be written", file=sys.stderr)
    return sentence


def forget_failure(cell: Cell) -> None:
    """Take away the sentence of an earlier attempt."""
    (cell.folder / FAILURE).unlink(missing_ok=True)


def _train(cell: Cell, threads: int, save_every: int, watch: Watch) -> bool:
    """Start, go on, or see that there is nothing to do: whether anything was done."""
    config = cell.config()
    if not (cell.folder / CONFIG).exists():
        advance = watch("training", config.updates)
        start(config, cell.folder, threads=threads, save_every=save_every, display=lambda _: advance())
        return True
    _check_config(cell)
    if _trained(cell):
        return False
    advance = watch("training", config.updates - _updates(cell.folder))
    resume(cell.folder, threads=threads, save_every=save_every, display=lambda _: advance())
    return True


def _check_config(cell: Cell) -> None:
    """Refuse a folder that holds a run of other settings than the grid's."""
    run = Run(cell.folder)
    check_same(f"folder '{cell.folder}' holds another run", run.config().describe(), cell.config().describe())


def _trained(cell: Cell) -> bool:
    return _updates(cell.folder) >= cell.config().updates


def _updates(folder: Path) -> int:
    """How many updates the policy of a run has learned for."""
    path = folder / CHECKPOINT
    return read_facts(path)["counters"]["updates"] if path.exists() else 0


def _swept(cell: Cell, grid: Grid) -> bool:
    """Whether the sweep that the grid asks for has been made, of the policy as it is in the end."""
    try:
        table = read_sweep(cell.folder)
    except InputError:  # a damaged table is made again
        return False
    if table is None or not len(table):
        return False
    config, wanted = cell.config(), _with_defaults(sweep, grid.sweep)
    pairs = settings(config.task.dynamics, wanted["parameters"], wanted["scales"])
    return (
        set(table["updates"]) == {config.updates}
        and set(table["seed"]) == {wanted["seed"]}
        and set(table["episode"]) == set(range(wanted["episodes"]))
        and set(pairs) <= set(zip(table["parameter"], table["scale"], strict=True))
    )


def _searched(cell: Cell, grid: Grid) -> bool:
    """Whether the search that the grid asks for has been made, of the policy as it is in the end."""
    try:
        found = read_search(cell.folder)
    except InputError:
        return False
    wanted = _with_defaults(search, grid.search or {})
    effort = Effort(*(wanted[field.name] for field in fields(Effort)))
    return found is not None and (found.updates, found.effort) == (cell.config().updates, effort)


def _flown(cell: Cell, grid: Grid) -> bool:
    """Whether the flights that the grid asks for have been made, by the policy as it is in the end."""
    try:
        table, paths = read_tracking(cell.folder), read_paths(cell.folder)
    except InputError:
        return False
    if table is None or paths is None:
        return False
    wanted = _with_defaults(track, grid.tracking or {})
    return (
        set(table["updates"]) == {cell.config().updates}
        and set(table["seed"]) == {wanted["seed"]}
        and set(table["setting"]) == set(SETTINGS)
        and set(table["episode"]) == set(range(wanted["episodes"]))
    )


def _with_defaults(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: given.get(name, parameter.default) for name, parameter in signature(function).parameters.items()
    }


def _sentence(error: Exception) -> str:
    """What went wrong; for what nobody foresaw also where."""
    if isinstance(error, InputError | TrainingError):
        return str(error)
    where = extract_tb(error.__traceback__)[-1]
    said = " ".join(str(error).split()) or "no reason given"
    return f"{type(error).__name__} at {Path(where.filename).name}, line {where.lineno}: {said}"
