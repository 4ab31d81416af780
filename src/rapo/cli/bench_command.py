"""`rapo bench`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import tyro
from rich.table import Table

from rapo.bench import measuring as evidence
from rapo.bench import report_cost as report
from rapo.bench import stepping as world
from rapo.bench import updating as train_bench
from rapo.bench import value_iteration as tabular
from rapo.errors import InputError
from rapo.evaluation.evaluate import check_episodes
from rapo.files import check_writable
from rapo.screen import console, number_table, progress_bar, write_rows
from rapo.tabular.operator import BALLS, Ball
from rapo.tasks.quadrotor.payload_task import QuadrotorPayload
from rapo.training.config import make_config
from rapo.world.find_task import LOCOMOTION, make_task

MEASURED = (*LOCOMOTION, QuadrotorPayload.name)


@dataclass(frozen=True)
class Bench:
    """Measure speed as a ratio to raw physics, both taking turns in this process.

    `world`: steps per second of `step` and of `branch` (16 models) beside raw mjbatch stepping the same
    model from the same states for the same number of substeps; at 64 environments also Gymnasium's
    SyncVectorEnv and, where installed, EnvPool.
    `train`: seconds of a whole update beside the seconds raw mjbatch needs for the physics in it, and the
    shares of the dual solve and of AdvNet.
    `evidence`: seconds of a sweep beside those of the raw physics in it, and seconds of a row of the value
    heatmaps beside those of the updates between two of them.
    `report`: seconds and memory of a report over many runs.
    `tabular`: seconds of a sweep of robust value iteration (1,000 states, 10 actions, 50 successors) beside
    those of an ordinary one.
    """

    what: tyro.conf.Positional[Literal["world", "train", "evidence", "report", "tabular"]]
    """Which part to measure."""
    tasks: tuple[str, ...] | None = None
    """Which tasks; by default all kinds for world, Hopper and Walker2d for train, Hopper for evidence."""
    algos: tuple[str, ...] = ("rapo", "ppo")
    """Which algorithms (train, evidence)."""
    step: tuple[int, ...] = (64, 4096)
    """How many environments to step (world)."""
    branch: tuple[int, ...] = (64, 4096, 32768)
    """How many branches to take, in multiples of the 16 models (world)."""
    episodes: int = 20
    """Episodes of each setting of the sweep (evidence)."""
    runs: int = 200
    """How many runs to report (report)."""
    seconds: float | None = None
    """How long to measure each row, about; by default 40 for train, 60 for evidence, 8 for the others."""
    json: Path | None = None
    """Also write the rows to this file."""

    def run(self) -> None:
        """Measure row by row with a progress bar, then print the table and write the file."""
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"{self.seconds:g} seconds were asked for: it must be above 0")
        if self.json is not None:
            check_writable(self.json)
        rows = {
            "world": self._world,
            "train": self._train,
            "evidence": self._evidence,
            "report": self._report,
            "tabular": self._tabular,
        }[self.what]()
        if self.json is not None:
            write_rows(self.json, rows)

    def _world(self) -> list[world.Row]:
        tasks = [make_task(name) for name in (MEASURED if self.tasks is None else self.tasks)]
        for n in (*self.step, *self.branch):
            if n < 1 or (n in self.branch and n % world.MODELS):
                raise InputError(
                    f"{n} simulations were asked for: allowed are whole numbers from 1, for branch in "
                    f"multiples of {world.MODELS}"
                )
        jobs = [(world.measure_step, n) for n in self.step]
        jobs += [(world.measure_branch, n) for n in self.branch]
        rows: list[world.Row] = []
        with progress_bar() as progress:
            bar = progress.add_task("world", total=len(tasks) * len(jobs))
            for task in tasks:
                for measure, simulations in jobs:
                    progress.update(bar, description=f"{task.name}, {simulations} simulations")
                    rows.append(measure(task, simulations, self.seconds or 8.0))
                    progress.advance(bar)
        console.print(_world_table(rows))
        return rows

    def _train(self) -> list[train_bench.Row]:
        pairs = [(task, algo) for task in self.tasks or ("hopper", "walker2d") for algo in self.algos]
        if not pairs:
            raise InputError("no tasks or no algorithms were given: give at least one of each")
        for task, algo in pairs:
            make_config(task, algo)
        rows: list[train_bench.Row] = []
        with progress_bar() as progress:
            bar = progress.add_task("train", total=len(pairs))
            for task, algo in pairs:
                progress.update(bar, description=f"{algo} on {task}")
                rows.append(train_bench.measure(task, algo, self.seconds or 40.0))
                progress.advance(bar)
        console.print(_train_table(rows))
        return rows

    def _report(self) -> list[report.Row]:
        if self.runs < 1:
            raise InputError(f"{self.runs} runs were asked for: it must be at least 1")
        with console.status(f"a report over {self.runs} runs"):
            row = report.measure(self.runs)
        table = number_table("A report", (), ("runs", "seconds", "peak memory", "page"))
        table.add_row(str(row.runs), f"{row.seconds:.1f}", f"{row.peak_gib:.2f} GiB", f"{row.page_mb:.1f} MB")
        console.print(table)
        return [row]

    def _tabular(self) -> list[tabular.Row]:
        rows: list[tabular.Row] = []
        with progress_bar() as progress:
            jobs: list[tuple[Ball, bool]] = [("kl", True), *((ball, False) for ball in BALLS)]
            for ball, anew in progress.track(jobs, description="tabular"):
                rows.append(tabular.measure(ball, self.seconds or 8.0, anew))
        numbers = ("robust ms", "ordinary ms", "ratio", "rows/s")
        table = number_table("A sweep of value iteration", ("ball",), numbers)
        for row in rows:
            milliseconds = (f"{1e3 * s:.2f}" for s in (row.seconds, row.plain_seconds))
            table.add_row(row.ball, *milliseconds, f"{row.ratio:.1f}", f"{row.rows_per_second:,.0f}")
        console.print(table)
        return rows

    def _evidence(self) -> list[evidence.Row]:
        seconds = self.seconds or 60.0
        check_episodes(self.episodes)
        jobs: list[tuple[str, Callable[[], evidence.Row]]] = []
        for task in self.tasks or ("hopper",):
            make_task(task)
            jobs.append((f"sweep of {task}", partial(evidence.measure_sweep, task, self.episodes, seconds)))
            for algo in self.algos:
                make_config(task, algo)
                measure = partial(evidence.measure_heatmap, task, algo, seconds / 2)
                jobs.append((f"heatmap of {algo} on {task}", measure))
        rows: list[evidence.Row] = []
        with progress_bar() as progress:
            bar = progress.add_task("evidence", total=len(jobs))
            for name, measure in jobs:
                progress.update(bar, description=name)
                rows.append(measure())
                progress.advance(bar)
        console.print(_evidence_table(rows))
        return rows


def _world_table(rows: Sequence[world.Row]) -> Table:
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


def _train_table(rows: Sequence[train_bench.Row]) -> Table:
    numbers = ("update", "raw physics", "ratio", "dual solve", "AdvNet", "solved rows/s")
    table = number_table("Seconds of an update", ("task", "algo"), numbers)
    for row in rows:
        table.add_row(
            row.task,
            row.algo,
            f"{row.seconds:.3f}",
            f"{row.raw_seconds:.3f}",
            f"{row.ratio:.2f}",
            f"{row.share_dual:.1%}",
            f"{row.share_advnet:.1%}",
            "" if row.solver_rows_per_second is None else f"{row.solver_rows_per_second:,.0f}",
        )
    return table


def _evidence_table(rows: Sequence[evidence.Row]) -> Table:
    columns = ("seconds", "beside", "ratio", "steps")
    table = number_table(
        "Evidence: seconds beside raw physics, or beside training", ("task", "what"), columns
    )
    for row in rows:
        numbers = (f"{row.seconds:.3f}", f"{row.beside_seconds:.3f}", f"{row.ratio:.3f}", f"{row.steps:,}")
        table.add_row(row.task, row.what, *numbers)
    return table
