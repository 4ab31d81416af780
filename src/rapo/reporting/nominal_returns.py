"""What episodes under the nominal dynamics say: on the screen, as rows of a file, and in a report."""

from collections.abc import Sequence

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table as ScreenTable

from rapo.errors import InputError
from rapo.reporting.report_page import Block
from rapo.reporting.showing import Showing
from rapo.reporting.tables import Table
from rapo.runs.run import Run
from rapo.screen import number_table


def nominal_rows(run: Run, table: pl.DataFrame) -> pl.DataFrame:
    """One row: a run and its returns, episodes that diverged left out."""
    config, good = run.config(), table.filter(~pl.col("diverged"))
    if good.is_empty():
        raise InputError(
            f"all {len(table)} episodes of run '{run.folder}' diverged: there is nothing to report"
        )
    return pl.DataFrame(
        {
            "task": [config.task.name],
            "algo": [config.algorithm.name],
            "seed": [config.seed],
            "steps": [int(table["updates"][0]) * config.steps_per_update],
            "options": [config.changes],
            "episodes": [len(good)],
            "return_mean": [round(float(good["return"].to_numpy().mean()), 1)],
            "return_std": [round(float(good["return"].to_numpy().std()), 1)],
            "length_mean": [round(float(good["length"].to_numpy().mean()), 1)],
        }
    )


def shown_returns(measured: Sequence[tuple[Run, pl.DataFrame]]) -> ScreenTable:
    """A row for each run."""
    table = ScreenTable(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("task", "algo", "seed", "steps", "return", "deviation", "length", "other options"):
        table.add_column(column)
    for run, result in measured:
        row = nominal_rows(run, result).row(0, named=True)
        numbers = (f"{row[name]:,.0f}" for name in ("return_mean", "return_std", "length_mean"))
        table.add_row(
            row["task"], row["algo"], str(row["seed"]), f"{row['steps']:,}", *numbers, row["options"]
        )
    return table


def shown_random(measured: Sequence[tuple[Run, pl.DataFrame]]) -> ScreenTable:
    """What random actions return on the task of each run."""
    table = number_table("Random actions", ("run", "task"), ("return", "deviation", "length"))
    for run, result in measured:
        good = result.filter(~pl.col("diverged"))
        ends = (good["return"].mean(), good["return"].std(ddof=0), good["length"].mean())
        shown = ["" if x is None else f"{x:,.1f}" for x in ends]
        table.add_row(escape(str(run.folder)), run.config().task.name, *shown)
    return table


def nominal_blocks(showing: Showing) -> list[Block]:
    """The returns of every run that was played under the nominal dynamics alone."""
    rows = []
    for label, run, result in showing.results("nominal"):
        good = result.filter(~pl.col("diverged"))["return"].to_numpy()
        numbers = {"return mean": float(good.mean()), "return std": float(good.std())} if len(good) else {}
        rows.append({"algorithm": label, "seed": run.seed, "episodes": len(good), **numbers})
    if not rows:
        return []
    table = Table("nominal", "Returns under the nominal dynamics", pl.DataFrame(rows))
    return [Block("Under the nominal dynamics", table=table, files=showing.files(table))]
