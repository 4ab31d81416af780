"""What searches found: on the screen and as rows of a file."""

from collections.abc import Sequence

import polars as pl
from rich.markup import escape
from rich.table import Table as ScreenTable

from rapo.evaluation.search import Found
from rapo.runs.run import Run
from rapo.screen import number_table


def shown_searches(measured: Sequence[tuple[Run, Found]]) -> ScreenTable:
    """A row for each run: the worst dynamics, the return there, and the worst setting of the sweep."""
    columns = ("return", "95% interval", "axis worst", "below it")
    table = number_table("Worst dynamics found", ("run", "dynamics"), columns)
    for run, found in measured:
        table.add_row(
            escape(str(run.folder)),
            ", ".join(f"{name} {value:.3g}" for name, value in found.point.items()),
            f"{found.returned:,.0f}",
            f"{found.low:,.0f} to {found.high:,.0f}",
            f"{found.axis.returned:,.0f} ({found.axis.parameter} {found.axis.scale:g})",
            f"{found.below:,.0f}",
        )
    return table


def searched_rows(run: Run, found: Found) -> pl.DataFrame:
    """One row: the run, the dynamics that were found, and the return there."""
    config = run.config()
    return pl.DataFrame(
        {
            "task": [config.task.name],
            "algorithm": [config.algorithm.name],
            "seed": [config.seed],
            "steps": [found.updates * config.steps_per_update],
            **{name: [round(value, 4)] for name, value in found.point.items()},
            "return": [round(found.returned, 1)],
            "low": [round(found.low, 1)],
            "high": [round(found.high, 1)],
            "axis": [f"{found.axis.parameter} {found.axis.scale:g}"],
            "axis_return": [round(found.axis.returned, 1)],
            "episodes": [found.episodes],
        }
    )
