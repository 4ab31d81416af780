"""Running a grid: one run after the other in this process, or as many at once as Ray has cores.

    read_grid -> run_grid -> a run folder for every cell, and how each came out

Whatever stops a grid, running it again does what is left: finished runs are skipped, interrupted ones go on,
failed ones are tried again.
"""

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rapo.errors import InputError, Interrupted
from rapo.grids.grid_file import Cell, Grid, read_grid
from rapo.grids.grid_run import Outcome, Watch, record_failure, run_cell, state
from rapo.grids.ray_pool import Died, each
from rapo.runs.display import duration, progress_bar
from rapo.runs.start import SAVE_EVERY, check_interval

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
    """Train, sweep and search every run that is not finished; return how each came out, in the grid's order.

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
                    outcomes[outcome.cell.folder] = outcome
                    finished(outcome)
        except KeyboardInterrupt:
            raise Interrupted(
                f"{len(outcomes)} of {len(grid.cells)} runs are done, and what the others have is saved: "
                f"go on with rapo grid {grid.path}"
            ) from None
    return [outcomes[cell.folder] for cell in grid.cells]


def status(grid: Grid) -> Table:
    """How far every run is, as a table: seeds side by side, or counted where there are many."""
    groups: dict[tuple[str, str], dict[int, str]] = {}
    for cell in grid.cells:
        groups.setdefault((cell.task, cell.group), {})[cell.seed] = state(cell, grid)
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
        table.add_row(Text(outcome.cell.name), Text(outcome.failure or ""))
    return table if failed else None


def _here(grid: Grid, save_every: int, watches: Callable[[Cell], Watch]) -> Generator[Outcome]:
    for cell in grid.cells:
        yield run_cell(cell, grid, save_every=save_every, watch=watches(cell))


def _on_ray(grid: Grid, address: str | None, save_every: int) -> Generator[Outcome]:
    plain = replace(grid, cells=())
    jobs = [(replace(cell, folder=cell.folder.absolute()), plain, save_every) for cell in grid.cells]
    for place, result in each(_work, jobs, address):
        cell = grid.cells[place]
        if isinstance(result, Died):
            yield Outcome(cell, (), 0.0, record_failure(cell, result.why))
        else:
            yield replace(result, cell=cell)


def _work(job: tuple[Cell, Grid, int]) -> Outcome:
    """What a worker of Ray does."""
    cell, grid, save_every = job
    return run_cell(cell, grid, threads=1, save_every=save_every)


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
) -> Iterator[tuple[Callable[[Cell], Watch], Callable[[Outcome], None]]]:
    """What tells of the step that a cell is at, and of every cell that is finished.

    A line for each run that is done; on a terminal, below them, a bar over the runs and one over the step.
    """
    console = console or Console(quiet=True)
    with progress_bar(console, disable=not console.is_terminal) as progress:
        runs = progress.add_task("all runs", total=len(grid.cells))
        step = progress.add_task("", visible=False)

        def watches(cell: Cell) -> Watch:
            def watch(name: str, total: int) -> Callable[[], None]:
                progress.reset(step, total=total, description=f"{cell.name}: {name}", visible=True)
                return lambda: progress.advance(step)

            return watch

        def finished(outcome: Outcome) -> None:
            progress.update(step, visible=False)
            progress.advance(runs)
            console.print(Text(f"{outcome.cell.name}: {_said(outcome)}"), soft_wrap=True)

        yield watches, finished


def _said(outcome: Outcome) -> str:
    if outcome.failure is not None:
        return f"failed: {outcome.failure}"
    return f"{', '.join(outcome.done)} in {duration(outcome.seconds)}" if outcome.done else "was finished"
