"""`rapo eval tracking`: flies runs, or takes up a table of flights, and shows what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from rapo.errors import InputError
from rapo.evaluation.measurement import load_name
from rapo.files import check_writable, write_atomically
from rapo.runs.description import is_policy
from rapo.runs.run import Run
from rapo.screen import console, number_table, progress_bar
from rapo.tasks.quadrotor.flights import SETTINGS, FlightSettings, fly, track, trackable

if TYPE_CHECKING:
    from rich.table import Table

    from rapo.heavy import pl
    from rapo.tasks.quadrotor.flight_scores import Tracked

CLASSICAL = "classical"


@dataclass(frozen=True)
class FlightsCommand:
    """Fly the payload of quadrotor runs along the reference of the test: errors, crashes and figures.

    Payload, cable and disturbances are as in training (ID) and beyond (OOD), the same for every run. Every
    flight goes into the run folder as tracking.csv, the paths of some as paths.csv. A file that --csv wrote,
    given instead of runs, makes the same table and figures again.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders or exported policies, or one file that --csv wrote."""
    settings: Annotated[FlightSettings, tyro.conf.arg(name="")] = field(default_factory=FlightSettings)
    """How often the curve of the test is flown."""
    csv: Path | None = None
    """Also write every flight to this file, and beside it the typical paths to FILE-paths.csv."""
    out: Path | None = None
    """A folder for figures (PDF and PNG) of paths in space and over time."""
    classical: bool = False
    """Also fly a classical controller, which is told payload and cable."""

    def run(self) -> None:
        """Fly run by run with a progress bar, then print the table and write what was asked for."""
        from rapo.reporting.report_folder import prepared  # imported here: plotting is slow to import
        from rapo.tasks.quadrotor.flight_scores import paths_file, read_flight_paths, write_flights

        table = next((path for path in self.runs if path.is_file() and not is_policy(path)), None)
        if table is None:
            named_runs = load_name("rapo.deploy.policy_file:named_runs")
            runs = _of_one_task(named_runs(self.runs) if self.runs or not self.classical else ())
            for path in () if self.csv is None else (self.csv, paths_file(self.csv)):
                check_writable(path)
            if self.out is not None:
                prepared(self.out, "figures", ())
            flown, paths = self._fly(runs)
        elif len(self.runs) > 1 or self.csv is not None or self.classical:
            raise InputError(
                f"table '{table}' was given with other runs, --csv or --classical: give it alone, or runs"
            )
        else:
            flown = _known(table, self.settings)
            paths = None if self.out is None else read_flight_paths(table)
        _show(flown)
        if self.csv is not None and paths is not None:
            write_flights(self.csv, flown, paths)
        if self.out is not None and paths is not None:
            _draw(flown, paths, prepared(self.out, "figures", ()))

    def _fly(self, runs: Sequence[Run]) -> "tuple[pl.DataFrame, pl.DataFrame]":
        """The flights of all runs, and of the classical controller where it is asked for; and paths."""
        from rapo.heavy import pl

        found = [_fly_runs(runs, self.settings)] if runs else []
        if self.classical:
            found.append(_fly_classical(self.settings))
        flown, paths = (pl.concat(each) for each in zip(*found, strict=True))
        return flown, paths


def _of_one_task(runs: Sequence[Run]) -> Sequence[Run]:
    """The runs, refused unless all are of the same task and can fly."""
    names = list(dict.fromkeys(trackable(run.config().task).name for run in runs))
    if len(names) > 1:
        raise InputError(f"runs of {' and '.join(names)} were given: allowed is one task in one table")
    return runs


def _fly_classical(settings: FlightSettings) -> "tuple[pl.DataFrame, pl.DataFrame]":
    """The flights of the classical controller, which is told payload and cable, and a path."""
    from rapo.tasks.quadrotor.classical import classical_controller
    from rapo.tasks.quadrotor.flight_scores import labelled
    from rapo.tasks.quadrotor.payload_task import InformedQuadrotorPayload

    task = InformedQuadrotorPayload()
    with progress_bar() as progress:
        bar = progress.add_task(f"flying {CLASSICAL}", total=task.tested().time_limit)
        table, paths = fly(
            task,
            classical_controller(task),
            episodes=settings.episodes,
            seed=settings.seed,
            advance=lambda: progress.advance(bar),
        )
    return labelled(table, CLASSICAL), labelled(paths, CLASSICAL)


def _fly_runs(runs: Sequence[Run], settings: FlightSettings) -> "tuple[pl.DataFrame, pl.DataFrame]":
    """Fly runs of one task with a progress bar for each: the table of all flights, and typical paths."""
    from rich.markup import escape

    from rapo.reporting.groups import load
    from rapo.tasks.quadrotor.flight_scores import flights, typical_paths

    steps = runs[0].config().task.tested().time_limit
    with progress_bar() as progress:
        for run in runs:
            bar = progress.add_task(f"flying {escape(run.folder.name)}", total=steps)
            advance = lambda: progress.advance(bar)  # noqa: B023, E731
            track(run, episodes=settings.episodes, seed=settings.seed, advance=advance)
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


def _known(path: Path, settings: FlightSettings) -> "pl.DataFrame":
    """A table of flights that was written before, refused if other flights were asked for."""
    from rapo.tasks.quadrotor.flight_scores import conditions, read_flights

    flown = read_flights(path)
    found = sorted(conditions([flown]))
    if found != [(settings.seed, settings.episodes)]:
        ways = " and ".join(f"--seed {s} --episodes {e}" for s, e in found)
        raise InputError(
            f"table '{path}' is of {ways}, and --seed {settings.seed} --episodes {settings.episodes} were "
            "asked for: ask for the same, or fly the runs again"
        )
    return flown


def _show(flown: "pl.DataFrame") -> None:
    """Print errors and crashes of every algorithm."""
    from rapo.tasks.quadrotor.flight_scores import summaries

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


def _draw(flown: "pl.DataFrame", paths: "pl.DataFrame", out: Path) -> None:
    """Write the figures into a folder, and say where they are."""
    from rapo.reporting.colours import looks
    from rapo.reporting.groups import Group
    from rapo.reporting.print_figures import rendered
    from rapo.tasks.quadrotor import flight_figures
    from rapo.tasks.quadrotor.flight_scores import beside, drawn

    chosen = beside(drawn(flown, paths))
    if not chosen:
        raise InputError("the paths are of other flights than the table: fly the runs again")
    look = looks(Group(flight.label, flight.label.split()[0], ()) for flight in chosen)
    for name, make in (("paths", flight_figures.paths), ("over-time", flight_figures.over_time)):
        for kind, content in rendered(make(chosen, look)).items():
            write_atomically(out / f"quadrotor-{name}.{kind}", content)
    console.print(f"Figures: {out}", soft_wrap=True, markup=False)


def _table(found: "Sequence[Tracked]", episodes: int) -> "Table":
    """Estimates with their intervals below them."""
    from rich.markup import escape

    from rapo.tasks.quadrotor.flight_scores import TRIALS, words

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
