"""`rapo sweep`, `rapo search` and `rapo eval NAME`: a command for every measurement, made from its record."""

import inspect
from collections.abc import Sequence
from dataclasses import field, make_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import tyro

from rapo.cli.own_code import ALGO, TASK, own_code
from rapo.deploy.policy_file import named_runs
from rapo.errors import unknown
from rapo.evaluation.measurement import Measurement, all_measurements, load_name, measure
from rapo.files import check_writable, write_atomically
from rapo.runs.run import Run
from rapo.screen import console, progress_bar
from rapo.world.find_task import find_task

CSV = "Also write the rows of all runs to this file."
MISSING = "Measure only runs that were not measured so yet; of the others, read what they hold."


def command_of(name: str, words: Sequence[str]) -> type[Any]:
    """The command of a measurement; `words` follow its name, and may name a task with --task."""
    known = _known(words)
    if name not in known:
        raise unknown("measurement", name, known)
    measurement = known[name]
    return _usual_command(measurement) if measurement.command is None else load_name(measurement.command)


def help_of_all(words: Sequence[str]) -> str:
    """Which measurements there are."""
    lines = [
        "usage: rapo eval MEASUREMENT RUN ...",
        "",
        "Measure trained policies with their mean actions. What is measured goes into the run folder.",
        "",
        *(f"  {m.name:<10} {inspect.cleandoc(m.summary).splitlines()[0]}" for m in _known(words).values()),
        "",
        "rapo eval MEASUREMENT --help explains one. A task of your own brings its own measurements:",
        "name it with --task FILE:CLASS.",
    ]
    return "\n".join(lines)


def _known(words: Sequence[str]) -> dict[str, Measurement]:
    """The measurements that can be made, by name, those of a task that is named with --task included."""
    own = [find_task(task) for flag, task in pairwise(words) if flag == "--task"]
    return {name: m for name, m in all_measurements(own).items() if m.measure is not None}


def _usual_command(measurement: Measurement) -> type[Any]:
    """A command whose options are the settings of the measurement."""
    settings = Annotated[measurement.settings, tyro.conf.arg(name="")]
    command = make_dataclass(
        f"{measurement.name.title().replace('-', '')}Command",
        [
            (
                "runs",
                Annotated[
                    tuple[Path, ...],
                    tyro.conf.Positional,
                    tyro.conf.arg(help="Run folders, or exported policies."),
                ],
            ),
            ("settings", settings, field(default_factory=measurement.settings)),
            ("missing", Annotated[bool, tyro.conf.arg(help=MISSING)], field(default=False)),
            ("csv", Annotated[Path | None, tyro.conf.arg(help=CSV)], field(default=None)),
            ("task", Annotated[str | None, tyro.conf.arg(help=TASK)], field(default=None)),
            ("algo", Annotated[str | None, tyro.conf.arg(help=ALGO)], field(default=None)),
        ],
        namespace={"run": lambda self: _measure(measurement, self)},
        frozen=True,
    )
    command.__doc__ = inspect.cleandoc(measurement.summary)
    return command


def _measure(measurement: Measurement, asked: Any) -> None:
    """Measure run by run with a progress bar, then print the table and write the file."""
    from rich.markup import escape

    runs = named_runs(asked.runs, *own_code(asked.task, asked.algo))
    if asked.csv is not None:
        check_writable(asked.csv)
    tasks = [run.config().task for run in runs]
    for task in tasks:
        measurement.check(asked.settings, task)
    measured: list[tuple[Run, Any]] = []
    with progress_bar() as progress:
        for run, task in zip(runs, tasks, strict=True):
            steps = measurement.steps(asked.settings, task)
            bar = progress.add_task(f"{measurement.name} of {escape(run.folder.name)}", total=steps)
            if asked.missing and measurement.is_done(run.folder, asked.settings, task, run.updates()):
                result = measurement.read(run.folder)
            else:
                advance = lambda: progress.advance(bar)  # noqa: B023, E731
                result = measure(measurement, run, asked.settings, advance=advance)
            measured.append((run, result))
            progress.update(bar, completed=steps)
    if measurement.show is not None:
        console.print(load_name(measurement.show)(measured))
    else:
        files = ", ".join(measurement.files)
        for run in runs:
            console.print(f"{measurement.name}: {run.folder} ({files})", soft_wrap=True, markup=False)
    if asked.csv is not None:
        _write_rows(measurement, measured, asked.csv)


def _write_rows(measurement: Measurement, measured: Sequence[tuple[Run, Any]], path: Path) -> None:
    from rapo.errors import InputError
    from rapo.heavy import pl

    if measurement.rows is None:
        raise InputError(f"--csv was given: measurement '{measurement.name}' has no rows to write")
    rows = [load_name(measurement.rows)(run, result) for run, result in measured]
    write_atomically(path, pl.concat(rows, how="diagonal").write_csv().encode())
