"""What `rapo eval quadrotor` does: flies runs, or takes up a table of flights, and shows what came of it."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rich.markup import escape
from rich.table import Table

from rapo.errors import InputError
from rapo.files import write_atomically
from rapo.reporting.groups import Group, load
from rapo.runs.run import Run
from rapo.screen import console, number_table, progress_bar
from rapo.tasks.quadrotor import flights as tracking
from rapo.tasks.quadrotor.classical import classical_controller
from rapo.tasks.quadrotor.flight_scores import (
    TRIALS,
    Tracked,
    beside,
    conditions,
    drawn,
    flights,
    labelled,
    read_flights,
    summaries,
    typical_paths,
    words,
)
from rapo.tasks.quadrotor.flights import SETTINGS, track, trackable
from rapo.tasks.quadrotor.payload_task import InformedQuadrotorPayload

CLASSICAL = "classical"


def of_one_task(runs: Sequence[Run]) -> Sequence[Run]:
    """The runs, refused unless all are of the same task and can fly."""
    names = list(dict.fromkeys(trackable(run.config().task).name for run in runs))
    if len(names) > 1:
        raise InputError(f"runs of {' and '.join(names)} were given: allowed is one task in one table")
    return runs


def fly_classical(episodes: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fly the classical controller, which is told payload and cable: the table of its flights, and a path."""
    task = InformedQuadrotorPayload()
    with progress_bar() as progress:
        bar = progress.add_task(f"flying {CLASSICAL}", total=task.tested().time_limit)
        table, paths = tracking.fly(
            task,
            classical_controller(task),
            episodes=episodes,
            seed=seed,
            advance=lambda: progress.advance(bar),
        )
    return labelled(table, CLASSICAL), labelled(paths, CLASSICAL)


def fly(runs: Sequence[Run], episodes: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fly runs of one task with a progress bar for each: the table of all flights, and typical paths."""
    steps = runs[0].config().task.tested().time_limit
    with progress_bar() as progress:
        for run in runs:
            bar = progress.add_task(f"flying {escape(run.folder.name)}", total=steps)
            track(run, episodes=episodes, seed=seed, advance=lambda: progress.advance(bar))  # noqa: B023
            progress.update(bar, completed=steps)
    loaded = load([run.folder for run in runs])
    notes = list(loaded.notes)
    (groups,) = loaded.tasks.values()
    algos = [group.algo for group in groups]
    named = [(g.algo if algos.count(g.algo) == 1 else g.label, g.runs) for g in groups]
    flown = flights(named)
    paths = typical_paths(named, flown, notes)
    for note in notes:
        console.print(note, soft_wrap=True, markup=False, highlight=False)
    return flown, paths


def known(path: Path, episodes: int, seed: int) -> pl.DataFrame:
    """A table of flights that was written before, refused if other flights were asked for."""
    flown = read_flights(path)
    found = sorted(conditions([flown]))
    if found != [(seed, episodes)]:
        ways = " and ".join(f"--seed {s} --episodes {e}" for s, e in found)
        raise InputError(
            f"table '{path}' is of {ways}, and --seed {seed} --episodes {episodes} were asked for: "
            "ask for the same, or fly the runs again"
        )
    return flown


def show(flown: pl.DataFrame) -> None:
    """Print errors and crashes of every algorithm."""
    found = summaries(flown)
    console.print(_table(found, flown["episode"].n_unique()))
    for tracked in found:
        if tracked.diverged:
            console.print(
                f"{tracked.diverged} flights of {tracked.label} ended in failed physics: they are neither "
                "crashes nor successes.",
                markup=False,
                highlight=False,
            )


def draw(flown: pl.DataFrame, paths: pl.DataFrame, out: Path) -> None:
    """Write the figures into a folder, and say where they are."""
    from rapo.reporting import print_figures as figures  # imported here: plotting is slow to import
    from rapo.reporting.colours import looks

    chosen = beside(drawn(flown, paths))
    if not chosen:
        raise InputError("the paths are of other flights than the table: fly the runs again")
    look = looks(Group(flight.label, flight.label.split()[0], ()) for flight in chosen)
    for name, make in (("paths", figures.paths), ("over-time", figures.over_time)):
        for kind, content in figures.rendered(make(chosen, look)).items():
            write_atomically(out / f"quadrotor-{name}.{kind}", content)
    console.print(f"Figures: {out}", soft_wrap=True, markup=False)


def _table(found: Sequence[Tracked], episodes: int) -> Table:
    """Estimates with their intervals below them."""
    title = "Flights along the test curve"
    columns = ("runs", *(f"{what} {s.upper()}" for what in ("RMSE", "crashes") for s in SETTINGS))
    table = number_table(title, ("algorithm",), columns)
    table.leading = 1
    table.caption = (
        f"RMSE in cm over the flights among the first {min(TRIALS, episodes)} of each run that succeeded; "
        f"crashes in all {episodes} that did not diverge; 95% intervals of these runs, not of other seeds."
    )
    for t in found:
        cells = [(*words(t.rmse[s], 1), f"{t.rmse[s].runs} flights") for s in SETTINGS]
        cells += [words(t.crashes[s], 0, "%") for s in SETTINGS]
        shown = ("\n".join((value, *(f"[dim]{x}[/dim]" for x in more if x))) for value, *more in cells)
        table.add_row(escape(t.label), str(t.runs), *shown)
    return table
