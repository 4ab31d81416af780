"""What critics expect over the scales of every parameter as training goes on: means over seeds, kept small.

A heatmap in results/ has every other scale that runs record, and some `UPDATES` moments of training.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evidence.read import rows
from rapo.reporting.over_training import heatmap_panels
from rapo.reporting.run_record import METRICS_SCHEMA, RunRecord
from rapo.reporting.sweep_scores import Range
from rapo.runs.heatmap_recorder import read_heatmap
from rapo.runs.run import Run
from rapo.world.find_task import find_task

FILE = "heatmaps.csv"
SHOWN = ("rapo", "rapo-mixture", "rapo-no-boltzmann")
"""The algorithms whose heatmaps are kept: what the paper compares."""
UPDATES = 24
EVERY = 2
"""Of the scales that are recorded, one in so many is kept."""


def heatmap_rows(runs: Sequence[Run]) -> pl.DataFrame | None:
    """The mean over runs that differ in nothing but their seed; None where they recorded nothing alike."""
    recorded = [{r["update"]: r for r in read_heatmap(run.folder)} for run in runs]
    common = sorted(set.intersection(*(set(each) for each in recorded)))
    if not common:
        return None
    config = runs[0].config()
    chosen = sorted({common[round(i * (len(common) - 1) / (UPDATES - 1))] for i in range(UPDATES)})
    said: list[dict[str, Any]] = []
    for update in chosen:
        first = recorded[0][update]
        for name, scales in first["scales"].items():
            for i in range(0, len(scales), EVERY):
                values = [each[update]["values"][name][i] for each in recorded]
                said.append(
                    {
                        "task": config.task.name,
                        "algorithm": config.algorithm.name,
                        "options": config.changes,
                        "planned": config.updates * config.steps_per_update,
                        "seeds": len(runs),
                        "steps": first["steps"],
                        "parameter": name,
                        "scale": scales[i],
                        "value": round(sum(values) / len(values), 3),
                    }
                )
    return pl.DataFrame(said)


def panels(task: str, algo: str, planned: int) -> list[dict[str, Any]]:
    """A panel for each parameter, as reports have them; none where there are no rows."""
    records = _records(task, algo, planned)
    if not records:
        return []
    ranges = {p.name: Range(float(p.nominal or 0), p.train) for p in find_task(task)().dynamics}
    run = RunRecord(
        Path(task) / algo,
        task,
        algo,
        seed=0,
        options={},
        changed={},
        ranges=ranges,
        planned=planned,
        kind=algo,
        metrics=pl.DataFrame(schema=METRICS_SCHEMA),
        results={"heatmap": records},
    )
    return heatmap_panels(run)


def floors(task: str, algo: str, planned: int) -> tuple[float, float, float] | None:
    """The lowest value over all scales at first and in the end, and the nominal value in the end."""
    records = _records(task, algo, planned)
    if not records:
        return None
    first, last = (min(min(values) for values in records[i]["values"].values()) for i in (0, -1))
    name, scales = next(iter(records[-1]["scales"].items()))
    nominal = min(range(len(scales)), key=lambda i: abs(scales[i] - 1))
    return first, last, records[-1]["values"][name][nominal]


def lengths(task: str) -> list[int]:
    """The planned steps of the runs whose heatmaps of a task are kept, the longest first."""
    table = rows(FILE)
    if table is None:
        return []
    return sorted(table.filter(pl.col("task") == task)["planned"].unique(), reverse=True)


def _records(task: str, algo: str, planned: int) -> list[dict[str, Any]]:
    table = rows(FILE)
    if table is None:
        return []
    table = table.filter(
        (pl.col("task") == task)
        & (pl.col("algorithm") == algo)
        & (pl.col("planned") == planned)
        & (pl.col("options") == "")
    )
    records = []
    for (steps,), at in table.group_by("steps", maintain_order=True):
        by = {str(name): each for (name,), each in at.group_by("parameter", maintain_order=True)}
        records.append(
            {
                "steps": steps,
                "scales": {name: each["scale"].to_list() for name, each in by.items()},
                "values": {name: each["value"].to_list() for name, each in by.items()},
            }
        )
    return records
