"""Running a grid: one run after the other in this process, or as many at once as Ray has cores.

    read_grid -> run_grid -> a run folder for every run, and how each came out

Whatever stops a grid, running it again does what is left: finished runs are skipped, interrupted ones go on,
failed ones are tried again.
"""

import os
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rapo.errors import InputError, Interrupted
from rapo.grids.grid_file import Grid, GridRun, read_grid
from rapo.grids.grid_run import Outcome, Watch, do_run, record_failure, state
from rapo.grids.ray_pool import Died, each
from rapo.runs.start import SAVE_EVERY, check_interval
from rapo.screen import duration, progress_bar
from rapo.world.user_code import absolute_code

__all__ = ["Grid", "Outcome", "failures", "read_grid", "run_grid", "status"]

SEED_COLUMNS = 10
"""With more seeds than that, the status counts them instead."""


def run_grid(
    grid: Grid,
    *,
    ray: bool = False,
    address: str | None = None,
    console: Console | None = None,
    save_every: int = SAVE_EVERY,
) -> list[Outcome]:
    """Train and measure every run that is not finished; return how each came out, in the grid's order.

    ray: on Ray, on this machine or on the cluster at `address`, which must see the same folders.
    console: where to show progress; nowhere by default.
    """
    check_interval(save_every)
    _check_out(grid)
    outcomes: dict[Path, Outcome] = {}
    with _shown(grid, console) as (watches, finished):
        ran = _on_ray(grid, address, save_every) if ray else _here(grid, save_every, watches)
        try:
            with closing(ran):
                for outcome in ran:
                    outcomes[outcome.run.folder] = outcome
                    finished(outcome)
        except KeyboardInterrupt:
            raise Interrupted(
                f"{len(outcomes)} of {len(grid.runs)} runs are done, and what the others have is saved: "
                f"go on with rapo grid {grid.path}"
            ) from None
    return [outcomes[run.folder] for run in grid.runs]


def status(grid: Grid) -> Table:
    """How far every run is, as a table: seeds side by side, or counted where there are many."""
    groups: dict[tuple[str, str], dict[int, str]] = {}
    for run in grid.runs:
        groups.setdefault((run.task, run.group), {})[run.seed] = state(run, grid)
    seeds = list(next(iter(groups.values())))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("task")
    table.add_column("runs", no_wrap=True)
    counted = len(seeds) > SEED_COLUMNS
    for column in [f"{len(seeds)} seeds"] if counted else [f"seed {seed}" for seed in seeds]:
        table.add_column(column)
    before = ""
    for (task, group), states in groups.items():
        counts = Counter(word.split()[0] for word in states.values())
        summary = ", ".join(f"{number} {word}" for word, number in counts.items())
        table.add_row("" if task == before else task, group, *([summary] if counted else states.values()))
        before = task
    return table


def failures(outcomes: Sequence[Outcome]) -> Table | None:
    """What failed and why, as a table; None if nothing did."""
    failed = [outcome for outcome in outcomes if outcome.failure is not None]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title="Failed")
    table.add_column("run")
    table.add_column("why")
    for outcome in failed:
        table.add_row(Text(outcome.run.name), Text(outcome.failure or ""))
    return table if failed else None


def _here(grid: Grid, save_every: int, watches: Callable[[GridRun], Watch]) -> Generator[Outcome]:
    for run in grid.runs:
        yield do_run(run, grid, save_every=save_every, watch=watches(run))


def _on_ray(grid: Grid, address: str | None, save_every: int) -> Generator[Outcome]:
    plain = replace(grid, runs=())
    jobs = [
        (
            replace(
                run,
                task=absolute_code(run.task),
                algo=absolute_code(run.algo),
                folder=run.folder.absolute(),
            ),
            plain,
            save_every,
        )
        for run in grid.runs
    ]
    for place, result in each(_work, jobs, address):
        run = grid.runs[place]
        if isinstance(result, Died):
            yield Outcome(run, (), 0.0, record_failure(run, result.why))
        else:
            yield replace(result, run=run)


def _work(job: tuple[GridRun, Grid, int]) -> Outcome:
    """What a worker of Ray does."""
    run, grid, save_every = job
    return do_run(run, grid, threads=1, save_every=save_every)


def _check_out(grid: Grid) -> None:
    """Refuse a folder that can't be written to before anything runs."""
    try:
        grid.out.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"folder '{grid.out}' for the runs can't be made: {why}") from None
    if not os.access(grid.out, os.W_OK | os.X_OK):
        raise InputError(f"folder '{grid.out}' for the runs can't be written to: give another one as out")


@contextmanager
def _shown(
    grid: Grid, console: Console | None
) -> Generator[tuple[Callable[[GridRun], Watch], Callable[[Outcome], None]]]:
    """What tells of the step that a run is at, and of every run that is finished.

    A line for each run that is done; on a terminal, below them, a bar over the runs and one over the step.
    """
    console = console or Console(quiet=True)
    with progress_bar(console, disable=not console.is_terminal) as progress:
        runs = progress.add_task("all runs", total=len(grid.runs))
        step = progress.add_task("", visible=False)

        def watches(run: GridRun) -> Watch:
            def watch(name: str, total: int) -> Callable[[], None]:
                progress.reset(step, total=total, description=f"{run.name}: {name}", visible=True)
                return lambda: progress.advance(step)

            return watch

        def finished(outcome: Outcome) -> None:
            progress.update(step, visible=False)
            progress.advance(runs)
            console.print(Text(f"{outcome.run.name}: {_said(outcome)}"), soft_wrap=True)

        yield watches, finished


def _said(outcome: Outcome) -> str:
    if outcome.failure is not None:
        return f"failed: {outcome.failure}"
    return f"{', '.join(outcome.done)} in {duration(outcome.seconds)}" if outcome.done else "was finished"
