"""What a measurement of a trained policy is: a record that commands, grids and reports go through.

A measurement says what its settings are, how a run is measured, which files it leaves in the run folder, how
they are read, whether they are of the policy as it is now, and what it adds to a report. The built-in ones
are sweep, search, nominal, random, heatmap and stills; a task brings its own in `Task.measurements`. Nothing
else has to be changed for a new one: `rapo eval`, grid files, `rapo grid --status` and `rapo report` are
loops over records.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rapo.errors import InputError, unknown
from rapo.files import check_writable
from rapo.training.options import with_options
from rapo.world.find_task import TASKS
from rapo.world.task import Task

if TYPE_CHECKING:
    from rich.table import Table

    from rapo.heavy import pl
    from rapo.runs.run import Run

Advance = Callable[[], None]
"""Called whenever a measurement has come a step further."""


@dataclass(frozen=True)
class NoSettings:
    """The settings of a measurement that has none."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One way of measuring the policy of a run; what `measure` returns and `read` reads is the result."""

    name: str
    """What users call it: `rapo eval NAME`, and the table [NAME] of a grid file."""
    done: str
    """What is said of a run that was measured: it was swept, searched, flown."""
    summary: str
    """What is measured, in a line or a few: the help of its command."""
    settings: type[Any] = NoSettings
    """A frozen dataclass whose fields all have defaults: the same for command line, grid file and Python."""
    files: Mapping[str, str]
    """What it leaves in the run folder: the name of each file, and what is in it."""
    measure: Callable[..., Any] | str | None
    """Called as `measure(run, settings, threads=..., advance=...)`: writes the files and returns the result.

    None for what is recorded while a run learns. Where it is, as module:function, for what has to be drawn.
    """
    read: Callable[[Path], Any]
    """The result in a run folder, None if there is none; an InputError says that it is damaged."""
    whole: Callable[[Path], bool] = lambda folder: True
    """Whether the other files of the result are there; an InputError says that one is damaged."""
    updates: Callable[[Any], int | None] = lambda result: None
    """After how many updates the policy of a result was measured; None if that does not matter."""
    covers: Callable[[Any, Any, Task], bool] = lambda result, settings, task: True
    """Whether a result holds all that these settings ask for."""
    check: Callable[[Any, Task], None] = lambda settings, task: None
    """Refuses settings that do not fit a task, or a task that can't be measured, with an InputError."""
    steps: Callable[[Any, Task], int] = lambda settings, task: 1
    """How often `advance` is called, at most."""
    conditions: Callable[[Any], Hashable] = lambda result: None
    """What must be the same for the results of two runs to be compared, such as seed and episodes."""
    after: tuple[str, ...] = ()
    """Measurements that this one builds on: it is made again when one of them was."""
    in_grids: bool = True
    """Whether a grid makes it without being asked for it."""
    show: Callable[[Sequence[tuple[Run, Any]]], Table] | str | None = None
    """What the command prints: a table for runs and their results."""
    rows: Callable[[Run, Any], pl.DataFrame] | str | None = None
    """What `--csv` writes: the rows for a run and its result."""
    blocks: Callable[[Any], Sequence[Any]] | str | None = None
    """What it adds to a report: called with a `rapo.reporting.showing.Showing`, it returns blocks.

    Functions that show may be given as module:function, so that nothing that draws is loaded to measure.
    """
    command: str | None = None
    """Where its own command is, as module:class, if it has more than the usual one."""

    def __post_init__(self) -> None:
        for each in fields(self.settings):
            try:
                self.settings()
            except TypeError:
                raise InputError(
                    f"the settings of measurement '{self.name}' can't be made without '{each.name}': "
                    "every field must have a default"
                ) from None

    def choose(self, changes: Mapping[str, Any]) -> Any:
        """The settings with some of them changed, refused where there is no such setting or value."""
        return with_options(self.settings(), f"measurement '{self.name}'", changes)

    def hint(self, folder: Path | str) -> str:
        """The command that measures a run in this way."""
        return (
            f"rapo {self.name if self.name in TOP_LEVEL else f'eval {self.name}'} {shlex.quote(str(folder))}"
        )

    def is_done(self, folder: Path, settings: Any, task: Task, updates: int) -> bool:
        """Whether a run folder holds what the settings ask for, of the policy after so many updates."""
        with suppress(InputError):  # a damaged result is made again
            result = self.read(folder)
            return (
                result is not None
                and self.updates(result) in (None, updates)
                and self.covers(result, settings, task)
                and self.whole(folder)
            )
        return False


TOP_LEVEL = ("sweep", "search")
"""Measurements whose command is `rapo NAME`; all others, and these too, are `rapo eval NAME`."""

_BUILT_IN = (
    "rapo.evaluation.sweep:SWEEP",
    "rapo.evaluation.search:SEARCH",
    "rapo.evaluation.nominal:NOMINAL",
    "rapo.evaluation.random_actions:RANDOM",
    "rapo.evaluation.heatmap:HEATMAP",
    "rapo.evaluation.stills:STILLS",
)


def built_in() -> tuple[Measurement, ...]:
    """The measurements that every task has."""
    return tuple(load_name(where) for where in _BUILT_IN)


def measurements_of(task: Task | type[Task] | None) -> dict[str, Measurement]:
    """The measurements of a task by name: the built-in ones, then its own."""
    own = () if task is None else task.measurements
    found: dict[str, Measurement] = {}
    for measurement in (*built_in(), *own):
        if measurement.name in found:
            raise InputError(
                f"measurement '{measurement.name}' of task '{task.name if task else ''}' is there twice: "
                "give each a name of its own"
            )
        found[measurement.name] = measurement
    return found


def all_measurements(tasks: Sequence[Task | type[Task]] = ()) -> dict[str, Measurement]:
    """The measurements of all built-in tasks and of `tasks`, by name."""
    found: dict[str, Measurement] = {}
    for task in (*TASKS.values(), *tasks):
        found |= measurements_of(task)
    return found


def find_measurement(name: str, task: Task) -> Measurement:
    """The measurement of a task called `name`."""
    known = measurements_of(task)
    if name not in known:
        raise unknown(f"measurement of task '{task.name}'", name, known)
    return known[name]


def measure(
    measurement: Measurement,
    run: Run | str | Path,
    settings: Any = None,
    *,
    threads: int = 0,
    advance: Advance = lambda: None,
) -> Any:
    """Measure a run and return the result; its files are in the run folder then."""
    from rapo.runs.run import Run

    run = Run(Path(run)) if isinstance(run, str | Path) else run
    if measurement.measure is None:
        raise InputError(f"measurement '{measurement.name}' is recorded while a run learns: it can't be made")
    settings = measurement.settings() if settings is None else settings
    measurement.check(settings, run.config().task)
    for file in measurement.files:
        check_writable(run.folder / file)
    return load_name(measurement.measure)(run, settings, threads=threads, advance=advance)


def load_name(where: Any) -> Any:
    """What module:name stands for; anything that is no text as it is."""
    if not isinstance(where, str):
        return where
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
