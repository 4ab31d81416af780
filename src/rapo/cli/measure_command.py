"""`rapo eval`, `rapo sweep` and `rapo search`: how trained policies do."""

from collections.abc import Sequence
from csv import DictWriter
from dataclasses import asdict, dataclass, fields
from io import StringIO
from math import isfinite, isnan
from pathlib import Path
from typing import Literal

import polars as pl
import tyro
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from rapo.errors import InputError
from rapo.evaluation import search as searching
from rapo.evaluation import sweep as sweeping
from rapo.evaluation.evaluate import check_episodes
from rapo.evaluation.nominal import Nominal, nominal
from rapo.files import check_writable, write_atomically
from rapo.reporting.sweep_scores import Range, scores, settings
from rapo.runs.run import Run
from rapo.screen import console, number_table, progress_bar
from rapo.world.streams import check_seed

MOST_SCALES = 1000


@dataclass(frozen=True)
class Eval:
    """Evaluate trained policies with their mean actions.

    `nominal`: whole episodes under the nominal dynamics, the same initial states for every run.
    `quadrotor`: the payload along the reference of the test, with payload, cable and disturbances as in
    training (ID) and beyond (OOD), the same for every run: errors, crashes and figures. Every flight goes
    into the run folder as tracking.csv, the paths of some as paths.csv. A file that --csv wrote, given
    instead of runs, makes the same table and figures again.
    """

    what: tyro.conf.Positional[Literal["nominal", "quadrotor"]]
    """Under which dynamics."""
    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or for quadrotor one file that --csv wrote."""
    episodes: int = 20
    """Episodes of each, for quadrotor in each of its two settings."""
    seed: int = 1000
    """Where initial states come from, and for quadrotor the dynamics."""
    csv: Path | None = None
    """Also write the table to this file; for quadrotor every flight, and beside it FILE-paths.csv."""
    out: Path | None = None
    """For quadrotor: a folder for figures (PDF and PNG) of paths in space and over time."""
    classical: bool = False
    """For quadrotor: also fly a classical controller, which is told payload and cable."""

    def run(self) -> None:
        """Evaluate run by run with a progress bar, then print the table."""
        check_episodes(self.episodes)
        check_seed(self.seed)
        if self.what == "quadrotor":
            self._fly()
        else:
            self._nominal()

    def _fly(self) -> None:
        from rapo.reporting.report_folder import prepared
        from rapo.tasks.quadrotor import (
            flights_command as quadrotor,  # imported here: statistics are slow to import
        )
        from rapo.tasks.quadrotor.flight_scores import paths_file, read_flight_paths, write_flights

        table = next((path for path in self.runs if path.is_file()), None)
        if table is None:
            runs = quadrotor.of_one_task(_trained(self.runs) if self.runs or not self.classical else ())
            for path in () if self.csv is None else (self.csv, paths_file(self.csv)):
                check_writable(path)
            if self.out is not None:
                prepared(self.out, "figures", ())
            found = [quadrotor.fly(runs, self.episodes, self.seed)] if runs else []
            if self.classical:
                found.append(quadrotor.fly_classical(self.episodes, self.seed))
            flown, paths = (pl.concat(each) for each in zip(*found, strict=True))
        elif len(self.runs) > 1 or self.csv is not None or self.classical:
            raise InputError(
                f"table '{table}' was given with other runs, --csv or --classical: give it alone, or runs"
            )
        else:
            flown = quadrotor.known(table, self.episodes, self.seed)
            paths = None if self.out is None else read_flight_paths(table)
        quadrotor.show(flown)
        if self.csv is not None and paths is not None:
            write_flights(self.csv, flown, paths)
        if self.out is not None and paths is not None:
            quadrotor.draw(flown, paths, prepared(self.out, "figures", ()))

    def _nominal(self) -> None:
        if self.out is not None or self.classical:
            raise InputError("--out or --classical was given: only quadrotor has figures and a controller")
        runs = _trained(self.runs)
        if self.csv is not None:
            check_writable(self.csv)
        rows: list[Nominal] = []
        with progress_bar() as progress:
            bar = progress.add_task("evaluating", total=len(runs))
            for run in runs:
                rows.append(nominal(run, self.episodes, self.seed))
                progress.advance(bar)
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for column in ("task", "algo", "seed", "steps", "return", "deviation", "length", "other options"):
            table.add_column(column)
        for row in rows:
            numbers = (row.return_mean, row.return_std, row.length_mean)
            table.add_row(
                row.task,
                row.algo,
                str(row.seed),
                f"{row.steps:,}",
                *(f"{x:,.0f}" for x in numbers),
                row.options,
            )
        console.print(table)
        if self.csv is not None:
            text = StringIO()
            writer = DictWriter(text, [field.name for field in fields(Nominal)], lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
            write_atomically(self.csv, text.getvalue().encode())


@dataclass(frozen=True)
class Sweep:
    """Sweep trained policies over the test ranges: one parameter at a time, the others nominal.

    All settings and episodes of a policy are stepped together, from the same initial states for every
    setting and every run. The table of every episode is written into the run folder as sweep.csv.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders."""
    episodes: int = sweeping.EPISODES
    """Episodes of each setting."""
    param: tuple[str, ...] = ()
    """Only these parameters; what is known of the others stays."""
    scales: tuple[str, ...] = ()
    """Values of the parameters, each a number or FROM:TO:STEP, for example 0.5:1.5:0.1; by default 11 over
    the test range of each."""
    seed: int = sweeping.SEED
    """Where the initial states come from."""

    def run(self) -> None:
        """Sweep run by run with a progress bar, then print a table of means."""
        runs = _trained(self.runs)
        check_episodes(self.episodes)
        check_seed(self.seed)
        chosen = self.param or None
        values = _scales(self.scales) or None
        tasks = [run.config().task.tested() for run in runs]
        for task in tasks:
            sweeping.dynamics_of(task.dynamics, sweeping.settings(task.dynamics, chosen, values))
        table = number_table("Mean return", ("run", "parameter"), ("nominal", "ID", "OOD", "worst", "at"))
        with progress_bar() as progress:
            for run, task in zip(runs, tasks, strict=True):
                bar = progress.add_task(f"sweeping {escape(run.folder.name)}", total=task.time_limit)
                swept = sweeping.sweep(
                    run,
                    parameters=chosen,
                    scales=values,
                    episodes=self.episodes,
                    seed=self.seed,
                    advance=lambda: progress.advance(bar),  # noqa: B023
                )
                progress.update(bar, completed=task.time_limit)
                ranges = {p.name: Range(float(p.nominal or 0), p.train) for p in task.dynamics}
                rows = settings(swept, ranges)
                for name in swept["parameter"].unique(maintain_order=True):
                    found = scores(rows.filter(pl.col("parameter") == name))
                    numbers = (found.nominal, found.inside, found.outside, found.worst)
                    worst_at = f"{found.worst_at[1]:g}" if found.worst_at else ""
                    shown = ["" if isnan(x) else f"{x:,.0f}" for x in numbers]
                    table.add_row(escape(str(run.folder)), name, *shown, worst_at)
        console.print(table)


@dataclass(frozen=True)
class Search:
    """Find the worst dynamics for trained policies in the whole test box, by CMA-ES.

    What is found, its return with a 95% interval and how far that is below the worst setting of the sweep
    are written into the run folder as search.json. A run that was not swept yet is swept first.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders."""
    generations: int = searching.GENERATIONS
    """Generations of CMA-ES."""
    population: int = searching.POPULATION
    """Points in each."""
    episodes: int = searching.EPISODES
    """Episodes at each point."""
    final_episodes: int = searching.FINAL_EPISODES
    """Episodes, from other initial states, that the return is reported from."""
    seed: int = searching.SEED
    """Where points and initial states come from."""

    def run(self) -> None:
        """Search run by run with a progress bar, then print what was found."""
        runs = _trained(self.runs)
        columns = ("return", "95% interval", "axis worst", "below it")
        table = number_table("Worst dynamics found", ("run", "dynamics"), columns)
        with progress_bar() as progress:
            for run in runs:
                bar = progress.add_task(f"searching {escape(run.folder.name)}", total=self.generations + 3)
                found = searching.search(
                    run,
                    generations=self.generations,
                    population=self.population,
                    episodes=self.episodes,
                    final_episodes=self.final_episodes,
                    seed=self.seed,
                    advance=lambda: progress.advance(bar),  # noqa: B023
                )
                table.add_row(
                    escape(str(run.folder)),
                    ", ".join(f"{name} {value:.3g}" for name, value in found.point.items()),
                    f"{found.returned:,.0f}",
                    f"{found.low:,.0f} to {found.high:,.0f}",
                    f"{found.axis.returned:,.0f} ({found.axis.parameter} {found.axis.scale:g})",
                    f"{found.below:,.0f}",
                )
        console.print(table)


def _trained(folders: Sequence[Path]) -> list[Run]:
    """The runs of these folders, refused before any work if one of them has nothing to evaluate."""
    if not folders:
        raise InputError("no runs were given: give the folders of one or more")
    runs = [Run(folder) for folder in folders]
    for run in runs:
        run.config()
        run.check_trained()
    return runs


def _scales(texts: Sequence[str]) -> list[float]:
    """Numbers from texts such as 0.8 and 0.5:1.5:0.1, both ends included."""
    values: list[float] = []
    for text in texts:
        try:
            numbers = [float(part) for part in text.split(":")]
        except ValueError:
            numbers = []
        if not all(map(isfinite, numbers)) or len(numbers) not in (1, 3):
            raise InputError(f"scales '{text}' were given: allowed are a number or FROM:TO:STEP")
        if len(numbers) == 3:
            first, last, step = numbers
            if step <= 0 or last < first or (last - first) / step > MOST_SCALES:
                raise InputError(
                    f"scales '{text}' were given: FROM must not be above TO, and STEP must be above 0 and "
                    f"lead there in at most {MOST_SCALES} steps"
                )
            count = int((last - first) / step + 1e-6) + 1
            numbers = [round(first + i * step, 9) for i in range(count)]
        values += numbers
    return values
