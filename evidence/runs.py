"""`python -m evidence.runs [FILE...]`: trains and measures what experiments lack, and gathers their rows.

Without arguments all experiments, one after the other; with --gather only the rows of runs that are there.
"""

import sys
from pathlib import Path

import polars as pl

from evidence.heatmaps import FILE, SHOWN, heatmap_rows
from evidence.plan import EXPERIMENTS, GRIDS, Experiment
from evidence.read import RESULTS
from rapo.errors import unknown
from rapo.evaluation.measurement import all_measurements, load_name
from rapo.files import write_atomically
from rapo.grids.grid_file import Grid, GridRun, read_grid
from rapo.grids.runner import run_grid
from rapo.runs.run import Run
from rapo.screen import console

SEARCHES = "worst-cases.csv"
ONE_RUN = ("task", "algorithm", "options", "steps", "seed")
"""What tells runs apart in files of sweeps and searches."""
ONE_GROUP = ("task", "algorithm", "options", "planned")
"""What tells groups of runs apart in the file of heatmaps."""


def make(experiment: Experiment, *, train: bool = True) -> None:
    """Do the runs of an experiment that are missing, on all cores, and gather the rows of all."""
    for name in experiment.grids:
        grid = read_grid(GRIDS / f"{name}.toml")
        if train:
            run_grid(grid, ray=True, console=console)
        gather(grid, "sweep", RESULTS / experiment.file)
        if experiment.searched:
            gather(grid, "search", RESULTS / SEARCHES)
        gather_heatmaps(grid)


def gather(grid: Grid, name: str, file: Path) -> None:
    """Put the rows of a measurement of a grid's finished runs into a file, in place of older ones."""
    measurement = all_measurements()[name]
    found = []
    for planned in grid.runs:
        run = _finished(planned)
        result = None if run is None else measurement.read(planned.folder)
        if result is not None:
            found.append(load_name(measurement.rows)(run, result))
    if not found:
        return
    _put(file, pl.concat(found, how="diagonal"), ONE_RUN)
    console.print(f"{len(found)} runs of {grid.path.name}: {file.name}", soft_wrap=True, markup=False)


def gather_heatmaps(grid: Grid) -> None:
    """Put the mean heatmaps over the finished seeds of each group that is shown into their file."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for planned in grid.runs:
        run = _finished(planned)
        if run is not None and planned.algo in SHOWN:
            groups.setdefault((planned.task, planned.group), []).append(run)
    found = [table for runs in groups.values() if (table := heatmap_rows(runs)) is not None]
    if found:
        _put(RESULTS / FILE, pl.concat(found), ONE_GROUP)


def _put(file: Path, new: pl.DataFrame, alike: tuple[str, ...]) -> None:
    """Write rows in the place of those of the same runs, beside those of others."""
    keys = [c for c in alike if c in new.columns]
    if file.exists():
        old = pl.read_csv(file, schema_overrides=dict(new.schema)).with_columns(
            pl.col(pl.String).fill_null("")
        )
        new = pl.concat((old.join(new.select(keys).unique(), keys, "anti"), new), how="diagonal_relaxed")
    write_atomically(file, new.sort(keys, maintain_order=True).write_csv().encode())


def _finished(planned: GridRun) -> Run | None:
    config = planned.config()
    run = Run(planned.folder, config.task, config.algorithm)
    return run if run.folder.is_dir() and run.updates() >= config.updates else None


def main(words: list[str]) -> None:
    """Make the experiments that are named by their files, or all of them."""
    known = {experiment.file: experiment for experiment in EXPERIMENTS}
    chosen = [word for word in words if word != "--gather"]
    for word in chosen:
        if word not in known:
            raise unknown("experiment", word, known)
    for file in chosen or known:
        make(known[file], train="--gather" not in words)


if __name__ == "__main__":
    main(sys.argv[1:])
