"""What `rapo bench` prints: a table for each part that it measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from rapo.screen import number_table

if TYPE_CHECKING:
    from rapo.bench.measuring import MeasuringRow
    from rapo.bench.report_cost import ReportRow
    from rapo.bench.starting import StartRow
    from rapo.bench.stepping import SteppingRow
    from rapo.bench.updating import UpdateRow
    from rapo.bench.value_iteration import ValueIterationRow


def world_table(rows: Sequence[SteppingRow]) -> Table:
    """Steps per second, ours and those of raw mjbatch, Gymnasium and EnvPool."""
    numbers = ("number", "rapo", "raw", "ratio", "Gymnasium", "EnvPool")
    table = number_table("Environment steps per second", ("task", "what"), numbers)
    for row in rows:
        peers = ("" if r is None else f"{r:,.0f}" for r in (row.gymnasium_rate, row.envpool_rate))
        table.add_row(
            row.task,
            row.what,
            f"{row.simulations:,}",
            f"{row.rate:,.0f}",
            f"{row.raw_rate:,.0f}",
            f"{row.ratio:.2f}",
            *peers,
        )
    return table


def train_table(rows: Sequence[UpdateRow]) -> Table:
    """Seconds of updates, and what share of them the robust parts take."""
    numbers = ("update", "beside PPO", "beside raw physics", "dual solve", "AdvNet", "solved rows/s")
    table = number_table("Seconds of an update", ("task", "algo"), numbers)
    for row in rows:
        table.add_row(
            row.task,
            row.algo,
            f"{row.seconds:.3f}",
            f"{row.beside_ppo:.2f}",
            f"{row.ratio:.2f}",
            f"{row.share_dual:.1%}",
            f"{row.share_advnet:.1%}",
            "" if row.solver_rows_per_second is None else f"{row.solver_rows_per_second:,.0f}",
        )
    return table


def evidence_table(rows: Sequence[MeasuringRow]) -> Table:
    """Seconds of sweeps and of rows of heatmaps."""
    columns = ("seconds", "beside", "ratio", "steps")
    table = number_table(
        "Evidence: seconds beside raw physics, or beside training", ("task", "what"), columns
    )
    for row in rows:
        numbers = (f"{row.seconds:.3f}", f"{row.beside_seconds:.3f}", f"{row.ratio:.3f}", f"{row.steps:,}")
        table.add_row(row.task, row.what, *numbers)
    return table


def report_table(row: ReportRow) -> Table:
    """Seconds, memory and size of one report."""
    table = number_table("A report", (), ("runs", "seconds", "peak memory", "page"))
    table.add_row(str(row.runs), f"{row.seconds:.1f}", f"{row.peak_gib:.2f} GiB", f"{row.page_mb:.1f} MB")
    return table


def tabular_table(rows: Sequence[ValueIterationRow]) -> Table:
    """Milliseconds of robust and of ordinary sweeps of value iteration."""
    numbers = ("robust ms", "ordinary ms", "ratio", "rows/s")
    table = number_table("A sweep of value iteration", ("ball",), numbers)
    for row in rows:
        milliseconds = (f"{1e3 * s:.2f}" for s in (row.seconds, row.plain_seconds))
        table.add_row(row.ball, *milliseconds, f"{row.ratio:.1f}", f"{row.rows_per_second:,.0f}")
    return table


def start_table(rows: Sequence[StartRow]) -> Table:
    """Seconds of commands beside those of `python -c pass`."""
    numbers = ("seconds", "python -c pass", "ratio")
    table = number_table("From the start of a command to its end", ("command",), numbers)
    for row in rows:
        table.add_row(row.command, f"{row.seconds:.3f}", f"{row.pass_seconds:.3f}", f"{row.ratio:.1f}")
    return table
