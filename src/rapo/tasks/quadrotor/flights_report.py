"""What flights add to a report: errors and crashes of every group, and typical paths beside the reference."""

from collections.abc import Sequence
from typing import Any

from rapo.reporting.report_page import Block
from rapo.reporting.showing import Showing
from rapo.reporting.tables import Table, estimate_columns, make_table
from rapo.tasks.quadrotor import flight_figures, flight_scores
from rapo.tasks.quadrotor.flight_scores import TRIALS, Tracked
from rapo.tasks.quadrotor.flights import SETTINGS

ABOUT = (
    "How closely the payload follows the reference of the test, with payload, cable and disturbances as in "
    "training (ID) and beyond (OOD). RMSE: the mean over the flights that succeeded among the first "
    f"{TRIALS} of each run, with a bootstrap interval, flights drawn anew within each run. Crashes: the "
    "share of all flights, with Wilson's interval. The curves are the first OOD flight of the run of each "
    "group whose OOD RMSE is the median; a cross is a crash."
)


def tracking_blocks(showing: Showing) -> list[Block]:
    """The flights of all groups of a task; nothing where none was flown."""
    comparison, looks, output = showing.comparison, showing.looks, showing.output
    groups = [(m.label, m.group.runs) for m in comparison.groups]
    flown = flight_scores.flights(groups)
    if flown.is_empty():
        return []
    found = flight_scores.drawn(flown, flight_scores.typical_paths(groups, flown, output.notes))
    files: tuple[str, ...] = ()
    if found:
        for name, draw in (("paths", flight_figures.paths), ("over-time", flight_figures.over_time)):
            files += output.figure(comparison.task, name, draw(flight_scores.beside(found), looks))
    table = tracking_table(flight_scores.summaries(flown, showing.seed))
    every = Table("flights", "Every flight", flown)
    return [
        Block(
            "Flights along the test curve",
            ABOUT,
            figure=flight_figures.interactive(found, looks),
            table=table,
            files=(*files, *showing.files(table, every)),
        )
    ]


def tracking_table(found: Sequence[Tracked]) -> Table | None:
    """Errors and crashes along the reference of the test."""
    rows = []
    for t in found:
        row: dict[str, Any] = {"algorithm": t.label, "runs": t.runs}
        for setting in SETTINGS:
            row |= estimate_columns(f"RMSE {setting.upper()} (cm)", t.rmse[setting])
        for setting in SETTINGS:
            row |= estimate_columns(f"crashes {setting.upper()} (%)", t.crashes[setting])
        for setting in SETTINGS:
            row[f"flights {setting.upper()}"] = t.rmse[setting].runs
        rows.append(row | {"diverged": t.diverged})
    unseen = ("flights ID", "flights OOD", *(() if any(t.diverged for t in found) else ("diverged",)))
    return make_table("tracking", "Errors and crashes along the reference of the test", rows, unseen)
