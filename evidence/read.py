"""Rows of a results file into comparisons: the same numbers that a report makes of run folders."""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from rapo.errors import InputError
from rapo.reporting.comparison import Comparison, compare_groups
from rapo.reporting.groups import Group
from rapo.reporting.run_record import METRICS_SCHEMA, RunRecord
from rapo.reporting.sweep_scores import Range
from rapo.reporting.yardstick import CLOSE
from rapo.world.find_task import find_task

RESULTS = Path(__file__).parents[1] / "results"
TASKS = ("hopper", "walker2d", "halfcheetah", "ant")


def rows(name: str) -> pl.DataFrame | None:
    """The rows of a file in results/, options as text; None if there is no such file yet."""
    path = RESULTS / name
    return _read(path) if path.exists() else None


def comparisons(name: str) -> list[Comparison]:
    """Of each task in a file of sweeps: its algorithms, with their options, measured over their seeds."""
    path = RESULTS / name
    return _compared(path, path.stat().st_mtime_ns) if path.exists() else []


@cache
def _compared(path: Path, _changed: int) -> list[Comparison]:
    """The comparisons of a file as it was when it last changed: made once, since all parts ask for them."""
    table = _read(path)
    rng = np.random.default_rng(0)
    tasks = [task for task in TASKS if task in set(table["task"])]
    return [compare_groups(t, _groups(t, table.filter(pl.col("task") == t)), rng) for t in tasks]


def _read(path: Path) -> pl.DataFrame:
    table = pl.read_csv(path)
    return table.with_columns(pl.col("options").fill_null("")) if "options" in table.columns else table


def _groups(task: str, table: pl.DataFrame) -> tuple[Group, ...]:
    ranges = {p.name: Range(float(p.nominal or 0), p.train) for p in find_task(task)().dynamics}
    points = pl.Series([ranges[name].trained(x) for name, x in table.select("parameter", "scale").rows()])
    table = table.with_columns(
        points.alias("trained"),
        ((pl.col("scale") - 1).abs() <= CLOSE).alias("nominal"),
        pl.lit(0).alias("diverged"),
    )
    groups = []
    for (algo, options), of_group in table.group_by("algorithm", "options", maintain_order=True):
        label = f"{algo} {options}".strip()
        runs = [
            _record(task, str(algo), label, int(str(seed)), ranges, of_run)
            for (seed,), of_run in of_group.sort("seed", maintain_order=True).group_by(
                "seed", maintain_order=True
            )
        ]
        groups.append(Group(label, str(algo), tuple(runs)))
    return tuple(groups)


def _record(
    task: str, algo: str, label: str, seed: int, ranges: dict[str, Range], settings: pl.DataFrame
) -> RunRecord:
    if settings.select("parameter", "scale").is_duplicated().any():
        raise InputError(f"{label} on {task}, seed {seed}, has a setting twice: gather its rows once")
    return RunRecord(
        Path(f"{task}/{label}/seed-{seed}"),
        task,
        algo,
        seed,
        options={},
        changed={},
        ranges=ranges,
        planned=int(settings["steps"][0]),
        kind=label,
        metrics=pl.DataFrame(schema=METRICS_SCHEMA),
        settings=settings,
        compared=settings,
    )
