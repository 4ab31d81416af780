"""How closely runs carry their payload along the reference of the test: errors, crashes and typical paths.

Everything is taken from one table of flights, a row for every episode of every run, and from the paths of a
few of them. They come from run folders, or from two files that hold what several run folders said, so that
a table and its figures can be made again without the runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.files import write_atomically
from rapo.reporting.run_record import RunRecord
from rapo.reporting.statistics import Interval, pooled_mean, share
from rapo.runs.csv_table import read_table
from rapo.tasks.quadrotor import flights as tracking
from rapo.tasks.quadrotor.episode_row import SUBSTEPS, TIMESTEP
from rapo.tasks.quadrotor.flights import AXES, SETTINGS

TRIALS = 10
"""Episodes of each run and setting that errors are taken from; crashes are counted in all of them."""
SETTING, EPISODE = "ood", 0
"""The flight that is drawn."""
BESIDE = (("rapo", "rapo-paper"), ("ppo-dr",))
"""The algorithms that are drawn where both are there; of the first, whichever is there first."""
_WHOSE = {"algo": pl.String, "run_seed": pl.Int64}
SCHEMA = {**_WHOSE, "steps": pl.Int64, **tracking.SCHEMA}
PATHS_SCHEMA = {**_WHOSE, **tracking.PATHS_SCHEMA}

Named = Sequence[tuple[str, Sequence[RunRecord]]]
"""Runs by the label of their group."""


@dataclass(frozen=True)
class Tracked:
    """A group in numbers, each by setting; NaN where no episode says anything."""

    label: str
    runs: int
    rmse: dict[str, Interval]
    """Of the payload's position in cm: the mean over the flights that succeeded, of the first trials of each
    run. The interval is that of a bootstrap that draws flights anew within each run."""
    crashes: dict[str, Interval]
    """In percent of all episodes but those that diverged, with Wilson's interval."""
    diverged: int
    """Episodes in which the physics failed, which are neither successes nor crashes."""


@dataclass(frozen=True, eq=False)
class Flight:
    """A path to draw, in seconds and metres."""

    label: str
    time: Floats
    """`[n]`."""
    payload: Floats
    """`[n, 3]`."""
    reference: Floats
    """`[n, 3]`."""
    crashed: bool
    """Whether the flight ends with a crash."""


def flights(groups: Named) -> pl.DataFrame:
    """A row for every episode of every run that was flown, columns of `SCHEMA`."""
    tables = [
        table.select(pl.lit(label).alias("algo"), _number("run_seed", r.seed), _number("steps", r.steps), "*")
        for label, runs in groups
        for r in runs
        if (table := r.results.get("tracking")) is not None and len(table)
    ]
    return pl.concat(tables) if tables else pl.DataFrame(schema=SCHEMA)


def labelled(table: pl.DataFrame, label: str) -> pl.DataFrame:
    """A table of flights, or of paths, of a policy that was not learned, with the columns that runs have."""
    whose = [pl.lit(label).alias("algo"), _number("run_seed", 0)]
    return table.select(*whose, *((_number("steps", 0),) if "updates" in table.columns else ()), "*")


def summaries(flown: pl.DataFrame, seed: int = 0) -> list[Tracked]:
    """Every group in the order of the table; `seed` of the bootstrap, which starts anew for each of them."""
    groups = flown.partition_by("algo", as_dict=True, maintain_order=True)
    return [measure(label, rows, np.random.default_rng(seed)) for (label,), rows in groups.items()]


def measure(label: str, flown: pl.DataFrame, rng: np.random.Generator) -> Tracked:
    """One group, from the flights of its runs."""
    runs = flown.partition_by("run_seed", maintain_order=True)
    crashes = {}
    for setting in SETTINGS:
        counted = flown.filter(~pl.col("diverged"), pl.col("setting") == setting)
        found = share(int(counted["crashed"].sum()), len(counted))
        crashes[setting] = Interval(100 * found.value, 100 * found.low, 100 * found.high, found.runs)
    return Tracked(
        label,
        len(runs),
        {setting: pooled_mean([_errors(run, setting) for run in runs], rng) for setting in SETTINGS},
        crashes,
        int(flown["diverged"].sum()),
    )


def words(found: Interval, digits: int, unit: str = "") -> tuple[str, str]:
    """An estimate and the interval around it as they are written, with what is not known left out."""
    if not isfinite(found.value):
        return "-", ""
    value, low, high = (f"{x:.{digits}f}{unit}" for x in (found.value, found.low, found.high))
    return value, f"{low} to {high}" if found.known else ""


def typical(flown: pl.DataFrame) -> dict[str, int]:
    """By label: the seed of the run whose mean error is the median (the better one of two); worst are those
    in which no flight succeeded."""
    found: dict[str, list[tuple[float, int]]] = {}
    for (label, seed), rows in flown.partition_by("algo", "run_seed", as_dict=True).items():
        errors = _errors(rows, SETTING)
        found.setdefault(label, []).append((float(errors.mean()) if len(errors) else inf, seed))
    return {label: sorted(each)[(len(each) - 1) // 2][1] for label, each in found.items()}


def typical_paths(groups: Named, flown: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """The path of one flight of the typical run of every group, columns of `PATHS_SCHEMA`.

    notes: where to say which paths can't be read.
    """
    seeds, found = typical(flown), [pl.DataFrame(schema=PATHS_SCHEMA)]
    for label, run in ((label, run) for label, runs in groups for run in runs):
        if seeds.get(label) != run.seed:
            continue
        try:
            paths = tracking.read_paths(run.folder)
        except InputError as error:
            notes.append(f"A part of run '{run.folder}' was left out: {error}.")
            continue
        if paths is not None:
            chosen = paths.filter(pl.col("setting") == SETTING, pl.col("episode") == EPISODE)
            found.append(chosen.select(pl.lit(label).alias("algo"), _number("run_seed", run.seed), "*"))
    return pl.concat(found)


def drawn(flown: pl.DataFrame, paths: pl.DataFrame) -> list[Flight]:
    """What the paths show, in the order of the table."""
    found = []
    for label, seed in typical(flown).items():
        alike = {"setting": SETTING, "episode": EPISODE, "algo": label, "run_seed": seed}
        same = [pl.col(name) == value for name, value in alike.items()]
        points, row = paths.filter(*same).sort("step"), flown.filter(*same)
        if len(points) and len(row):
            time = points["step"].to_numpy() * SUBSTEPS * TIMESTEP
            payload, reference = (
                points.select(f"{name}{axis}" for axis in AXES).to_numpy() for name in ("", "reference_")
            )
            found.append(Flight(label, time, payload, reference, bool(row["crashed"][0])))
    return found


def beside(found: Sequence[Flight]) -> list[Flight]:
    """The flights of the algorithms that are compared first, if they are there; all of them otherwise."""
    algos = {flight.label.split()[0] for flight in found}
    wanted = [next((name for name in names if name in algos), None) for names in BESIDE]
    first = [next((f for f in found if f.label.split()[0] == name), None) for name in wanted]
    pair = [flight for flight in first if flight is not None]
    return pair if len(pair) == len(BESIDE) else list(found)


def write_flights(path: Path, flown: pl.DataFrame, paths: pl.DataFrame) -> None:
    """Write the table, and beside it the paths."""
    write_atomically(paths_file(path), paths.write_csv().encode())
    write_atomically(path, flown.write_csv().encode())


def read_flights(path: Path) -> pl.DataFrame:
    """The table of flights that `write_flights` wrote."""
    return _read(path, SCHEMA, path)


def read_flight_paths(path: Path) -> pl.DataFrame:
    """The paths beside a table that was written."""
    return _read(paths_file(path), PATHS_SCHEMA, path)


def paths_file(path: Path) -> Path:
    """Where the paths lie that belong to a table."""
    return path.with_name(f"{path.stem}-paths{path.suffix}")


def conditions(flown: Iterable[pl.DataFrame]) -> set[tuple[int, int]]:
    """The different seeds and numbers of episodes that tables were flown with."""
    counts = (table.group_by("seed", "setting").agg(pl.col("episode").n_unique()) for table in flown)
    return {(seed, episodes) for each in counts for seed, _, episodes in each.rows()}


def _read(file: Path, schema: dict[str, Any], path: Path) -> pl.DataFrame:
    """A file that was written with the table at `path`."""
    again = f"write it again with rapo eval tracking RUN --csv {path}"
    table = read_table(file, schema, again)
    if table is None or not len(table):
        raise InputError(f"table '{file}' is not there or empty: {again}")
    return table


def _errors(run: pl.DataFrame, setting: str) -> Floats:
    """The errors of one run in the first trials of a setting that succeeded, `[n]`, in cm."""
    good = ~pl.col("crashed") & ~pl.col("diverged") & (pl.col("episode") < TRIALS)
    return run.filter(good, pl.col("setting") == setting)["rmse_cm"].to_numpy()


def _number(name: str, value: int) -> pl.Expr:
    return pl.lit(value, pl.Int64).alias(name)
