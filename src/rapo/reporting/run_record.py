"""One run folder into a record: what a report knows of a run, with whatever pieces it has.

Only files are read, so that two hundred runs take seconds, runs of tasks and algorithms that are not built in
are welcome, and nothing is compiled. What is missing or damaged is noted and the rest goes on.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from rapo.errors import InputError
from rapo.evaluation.measurement import Measurement
from rapo.reporting.sweep_scores import Range, settings
from rapo.runs.description import CHECKPOINT, CONFIG, read_description, read_policy, saved_updates
from rapo.runs.json_lines import saved_mark, whole_lines
from rapo.runs.metrics import FILE as METRICS
from rapo.runs.run import FAILURE, code_flags
from rapo.training.config import changed_options, default_options, identity, origin_option, up_to_date

METRICS_SCHEMA: dict[str, Any] = {
    "update": pl.Int64,
    "steps": pl.Int64,
    "branch_steps": pl.Int64,
    "return": pl.Float64,
    "seconds_physics": pl.Float64,
    "seconds_branch": pl.Float64,
    "seconds_learning": pl.Float64,
    "divergences": pl.Int64,
    "eta_p10": pl.Float64,
    "eta_p50": pl.Float64,
    "eta_p90": pl.Float64,
    "kl": pl.Float64,
    "epsilon": pl.Float64,
    "mixture_entropy": pl.Float64,
    "mixture_kl": pl.Float64,
    "mixture": pl.List(pl.Float64),
    "sensitivity": pl.List(pl.Float64),
    "sensitivity_r2": pl.Float64,
}
NEEDED = ("update", "steps", "seconds_physics", "seconds_branch", "seconds_learning")


@dataclass(frozen=True, eq=False)
class RunRecord:
    """What a report knows of one run."""

    folder: Path
    task: str
    algo: str
    seed: int
    options: dict[str, Any]
    """All options."""
    changed: dict[str, Any]
    """The options that are not the defaults and change what is learned."""
    ranges: dict[str, Range]
    """What the task says of its parameters."""
    planned: int
    """Environment steps that it was asked to learn from, in whole updates."""
    kind: str
    """All that decides what the run learns but its seed: options, parts, dynamics and steps, as text."""
    metrics: pl.DataFrame
    """A row for each update."""
    learned: int | None = None
    """Steps that a policy has learned from, of which there is a file and no run."""
    flags: str = ""
    """What commands need to be told of it: where its task and algorithm are, if they are not built in."""
    movable: tuple[str, ...] = ()
    """The parameters that sensitivities are about, in their order in the metrics."""
    results: dict[str, Any] = field(default_factory=dict)
    """What was measured of the policy as it is now: the result of each measurement, by its name."""
    settings: pl.DataFrame | None = None
    """A row for each setting of its sweep."""
    compared: pl.DataFrame | None = None
    """Those of them that scores are taken from, the same for all runs of a task; None if it lacks some."""

    @property
    def steps(self) -> int:
        """Environment steps that it has learned from."""
        if self.learned is not None:
            return self.learned
        return int(self.metrics["steps"][-1]) if len(self.metrics) else 0

    @property
    def finished(self) -> bool:
        """Whether it has learned from all of them."""
        return self.steps >= self.planned


def read_run(folder: Path, measurements: Mapping[str, Measurement], notes: list[str]) -> RunRecord:
    """One run; pieces that can't be read are noted and count as missing."""
    record = _configured(folder)
    failure = read_failure(folder)
    if failure is not None:
        notes.append(f"Run '{folder}' failed: {failure}")
    with _noting(folder, notes):
        record = replace(record, metrics=read_metrics(folder))
    for measurement in measurements.values():
        with _noting(folder, notes):
            result = measurement.read(folder)
            if result is not None and _is_current(record, measurement, result, notes):
                record.results[measurement.name] = result
    if "sweep" in record.results:
        with _noting(folder, notes):
            record = _with_settings(record)
    if not record.finished and record.learned is None:
        notes.append(
            f"Run '{folder}' is not finished: it has learned from {record.steps:,} of {record.planned:,} "
            f"steps. Go on with: rapo resume {folder}{record.flags}"
        )
    return record


def read_metrics(folder: Path) -> pl.DataFrame:
    """The metrics of all updates, columns of `METRICS_SCHEMA`; no rows where there are none yet."""
    path = folder / METRICS
    if not path.is_file():
        return pl.DataFrame(schema=METRICS_SCHEMA)
    whole = b"".join(line + b"\n" for line in whole_lines(path, saved_mark(path)) if line.strip())
    if not whole:
        return pl.DataFrame(schema=METRICS_SCHEMA)
    damaged = InputError(f"metrics '{path}' are damaged: every line must be those of one update, in JSON")
    try:
        table = pl.read_ndjson(whole, schema=METRICS_SCHEMA)
    except PolarsError:
        raise damaged from None
    numbered = table["update"].to_list() == list(range(1, len(table) + 1))
    if not numbered or table.select(pl.any_horizontal(pl.col(NEEDED).is_null().any())).item():
        raise damaged
    return table


def read_failure(folder: Path) -> str | None:
    """Why a run of a grid failed."""
    path = folder / FAILURE
    return " ".join(path.read_text(errors="replace").split()) if path.is_file() else None


class _noting(suppress):  # noqa: N801
    """Notes an InputError and goes on."""

    def __init__(self, folder: Path, notes: list[str]) -> None:
        super().__init__(InputError)
        self._folder, self._notes = folder, notes

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        """Note what was wrong."""
        if isinstance(error, InputError):
            self._notes.append(f"A part of run '{self._folder}' was left out: {error}.")
        return super().__exit__(kind, error, trace)


def _configured(folder: Path) -> RunRecord:
    """What the configuration of a run says."""
    try:
        policy = read_policy(folder)
        said = up_to_date(read_description(folder) if policy is None else policy["config"])
        task, algo = str(said["task"]), str(said["algo"])
        defaults = default_options(task, algo, said.get("task_options"))
        options = defaults | dict(said["options"])
        per_update = int(options["num_envs"]) * int(options["horizon"])
        planned = -(-int(said["steps"]) // per_update) * per_update
        decided = identity(said | {"options": options, "steps": planned, "seed": None})
        if decided["started_from"] is not None:  # repetitions begin from other seeds of one kind of run
            decided["started_from"] = decided["started_from"] | {"seed": None, "sha256": None}
        return RunRecord(
            folder,
            task,
            algo,
            int(said["seed"]),
            options,
            changed_options(options, defaults) | origin_option(said),
            {
                str(name): Range(float(p["nominal"]), (float(p["train"][0]), float(p["train"][1])))
                for name, p in said["dynamics"].items()
            },
            planned,
            json.dumps(decided, sort_keys=True),
            pl.DataFrame(schema=METRICS_SCHEMA),
            None if policy is None else policy["steps"],
            code_flags(said),
            tuple(str(name) for name in said.get("movable", ())),
        )
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise InputError(f"{CONFIG} of run '{folder}' is damaged: it can't be read") from None


def _with_settings(record: RunRecord) -> RunRecord:
    sweep = record.results["sweep"]
    if not len(sweep):
        return record
    for name in sweep["parameter"].unique():
        if name not in record.ranges:
            del record.results["sweep"]
            raise InputError(
                f"the sweep of '{record.folder}' has parameter '{name}': "
                f"allowed are {', '.join(record.ranges)}"
            )
    return replace(record, settings=settings(sweep, record.ranges))


def _is_current(record: RunRecord, measurement: Measurement, result: Any, notes: list[str]) -> bool:
    """Whether a result is about the policy as it is now; noted if it is not."""
    updates = measurement.updates(result)
    learned = int(record.metrics["update"][-1]) if len(record.metrics) else 0
    with suppress(InputError):
        if (record.folder / CHECKPOINT).exists():
            learned = saved_updates(record.folder)
    if updates in (None, learned) or not learned:
        return True
    notes.append(
        f"Run '{record.folder}' was {measurement.done} after {updates:,} updates and has learned from "
        f"{learned:,}: that was left out. Do it again with: {measurement.hint(record.folder)}{record.flags}"
    )
    return False
