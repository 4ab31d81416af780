"""One run of a grid: trained, then measured in every way the grid asks for, each unless it was done already.

What has been done is read from the run folder alone, so that a run can be taken up any number of times, by
any process: it goes on where the last one stopped, and a result that belongs to another policy is made again.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from traceback import extract_tb

from rapo.errors import BusyError, InputError, TrainingError
from rapo.evaluation.measurement import Measurement, measure, measurements_of
from rapo.files import write_atomically
from rapo.grids.grid_file import Grid, GridRun
from rapo.heavy import free_compiled
from rapo.runs.description import CONFIG, check_same, saved_updates
from rapo.runs.metrics import read_metrics
from rapo.runs.run import FAILURE, Run
from rapo.runs.start import SAVE_EVERY, resume, start

Watch = Callable[[str, int], Callable[[], None]]
"""Told which step begins and how often it advances at most; what it returns is called each time."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run of a grid."""

    run: GridRun
    done: tuple[str, ...]
    """What was done just now: trained, swept, searched and so on."""
    seconds: float
    failure: str | None = None
    """What went wrong, in a sentence."""


def unwatched(step: str, total: int) -> Callable[[], None]:
    """Show nothing."""
    return lambda: None


def do_run(
    planned: GridRun, grid: Grid, *, threads: int = 0, save_every: int = SAVE_EVERY, watch: Watch = unwatched
) -> Outcome:
    """Do what is left to do; what goes wrong is written to failure.txt and returned, not raised."""
    began, done = perf_counter(), []
    try:
        forget_failure(planned)
        if _train(planned, threads, save_every, watch):
            done.append("trained")
        made: set[str] = set()
        config = planned.config()
        run = Run(planned.folder, config.task, config.algorithm)
        for measurement, settings in _asked(planned, grid):
            outdated = not made.isdisjoint(measurement.after)
            if outdated or not measurement.is_done(planned.folder, settings, config.task, config.updates):
                advance = watch(f"to be {measurement.done}", measurement.steps(settings, config.task))
                measure(measurement, run, settings, threads=threads, advance=advance)
                made.add(measurement.name)
                done.append(measurement.done)
        forget_failure(planned)
    except BusyError as error:  # no failure of the run: who trains it may well succeed
        return Outcome(planned, tuple(done), perf_counter() - began, str(error))
    except Exception as error:
        failure = record_failure(planned, _sentence(error))
        return Outcome(planned, tuple(done), perf_counter() - began, failure)
    finally:
        free_compiled()
    return Outcome(planned, tuple(done), perf_counter() - began)


def state(planned: GridRun, grid: Grid) -> str:
    """How far a run is: waiting, training with its share, failed, unusable, or what was done to it last."""
    if (planned.folder / FAILURE).exists():
        return "failed"
    if not (planned.folder / CONFIG).exists():
        return "waiting"
    try:
        _check_config(planned)
        config = planned.config()
        if not _trained(planned):
            rows = read_metrics(planned.folder)
            return f"training {rows[-1]['update'] / config.updates if rows else 0:.0%}"
        last = "trained"
        for measurement, settings in _asked(planned, grid):
            if not measurement.is_done(planned.folder, settings, config.task, config.updates):
                break
            last = measurement.done
        return last
    except InputError:
        return "unusable"


def record_failure(planned: GridRun, sentence: str) -> str:
    """Leave a sentence in the run folder, if that is possible, and return it."""
    try:
        planned.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(planned.folder / FAILURE, f"{sentence}\n".encode())
    except (OSError, InputError):
        print(f"rapo: {planned.folder / FAILURE} can't be written", file=sys.stderr)
    return sentence


def forget_failure(planned: GridRun) -> None:
    """Take away the sentence of an earlier attempt."""
    (planned.folder / FAILURE).unlink(missing_ok=True)


def _asked(planned: GridRun, grid: Grid) -> list[tuple[Measurement, object]]:
    """The measurements that the grid makes of this run, with their settings, in their order."""
    known = measurements_of(planned.config().task)
    return [(known[name], known[name].choose(changes)) for name, changes in grid.measurements.items()]


def _train(planned: GridRun, threads: int, save_every: int, watch: Watch) -> bool:
    """Start, go on, or see that there is nothing to do: whether anything was done."""
    config = planned.config()
    if not (planned.folder / CONFIG).exists():
        advance = watch("training", config.updates)
        start(config, planned.folder, threads=threads, save_every=save_every, display=lambda _: advance())
        return True
    _check_config(planned)
    if _trained(planned):
        return False
    advance = watch("training", config.updates - saved_updates(planned.folder))
    resume(
        planned.folder,
        task=config.task,
        algo=config.algorithm,
        threads=threads,
        save_every=save_every,
        display=lambda _: advance(),
    )
    return True


def _check_config(planned: GridRun) -> None:
    """Refuse a folder that holds a run of other settings than the grid's."""
    config = planned.config()
    found = Run(planned.folder, config.task, config.algorithm).config().describe()
    check_same(f"folder '{planned.folder}' holds another run", found, config.describe())


def _trained(planned: GridRun) -> bool:
    return saved_updates(planned.folder) >= planned.config().updates


def _sentence(error: Exception) -> str:
    """What went wrong; for what nobody foresaw also where."""
    if isinstance(error, InputError | TrainingError):
        return str(error)
    where = extract_tb(error.__traceback__)[-1]
    said = " ".join(str(error).split()) or "no reason given"
    return f"{type(error).__name__} at {Path(where.filename).name}, line {where.lineno}: {said}"
