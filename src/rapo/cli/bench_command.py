"""`rapo bench`: how fast the package is, part by part."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from rapo.errors import InputError, unknown
from rapo.files import check_writable

if TYPE_CHECKING:
    from rapo.bench.measuring import MeasuringRow
    from rapo.bench.report_cost import ReportRow
    from rapo.bench.starting import StartRow
    from rapo.bench.stepping import SteppingRow
    from rapo.bench.updating import UpdateRow
    from rapo.bench.value_iteration import ValueIterationRow
    from rapo.tabular.operator import Ball


@dataclass(frozen=True)
class BenchCommand:
    """Measure speed as a ratio to something plain that does the same work, both taking turns.

    `world`: steps per second of `step` and of `branch` (16 models) beside raw mjbatch stepping the same
    model from the same states for the same number of substeps; at 64 environments also Gymnasium's
    SyncVectorEnv and, where installed, EnvPool.
    `wrapped`: steps per second of environments of Gymnasium as tasks, 64 at a time, observed and scored in
    batches or through their own functions, beside raw mjbatch and Gymnasium's SyncVectorEnv.
    `train`: seconds of a whole update beside those of an update of PPO and those that raw mjbatch needs for
    the physics in it, and the shares of the dual solve and of AdvNet.
    `evidence`: seconds of a sweep beside those of the raw physics in it, and seconds of a row of the value
    heatmaps beside those of the updates between two rows.
    `report`: seconds and memory of a report over many runs.
    `tabular`: seconds of a sweep of robust value iteration (1,000 states, 10 actions, 50 successors) beside
    those of an ordinary one.
    `start`: seconds of commands that should answer at once (help, version, lists, a wrong option) beside
    those of `python -c pass`.
    """

    what: tyro.conf.Positional[Literal["world", "wrapped", "train", "evidence", "report", "tabular", "start"]]
    """Which part to measure."""
    tasks: tuple[str, ...] | None = None
    """Which tasks; by default the four of Gymnasium, and the quadrotor for world; Hopper for evidence.
    For wrapped, ids such as Swimmer-v5; by default those that are known in batches."""
    algos: tuple[str, ...] = ("rapo", "ppo")
    """Which algorithms (train, evidence); for train with options as in rapo,law=models,models=64."""
    step: tuple[int, ...] = (64, 4096)
    """How many environments to step (world)."""
    branch: tuple[int, ...] = (64, 4096, 32768)
    """How many branches to take, in multiples of the 16 models (world)."""
    episodes: int = 20
    """Episodes of each setting of the sweep (evidence)."""
    runs: int = 200
    """How many runs to report (report)."""
    seconds: float | None = None
    """How long to measure each row, about; by default 20 for train, 60 for evidence, 8 for the others. The
    report is measured once."""
    json: Path | None = None
    """Also write the rows to this file."""

    def run(self) -> None:
        """Measure row by row with a progress bar, then print the table and write the file."""
        from rapo.screen import write_rows

        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"{self.seconds:g} seconds were asked for: it must be above 0")
        if self.json is not None:
            check_writable(self.json)
        measures: dict[str, Callable[[], Sequence[Any]]] = {
            "world": self._world,
            "wrapped": self._wrapped,
            "train": self._train,
            "evidence": self._evidence,
            "report": self._report,
            "tabular": self._tabular,
            "start": self._start,
        }
        rows = measures[self.what]()
        if self.json is not None:
            write_rows(self.json, rows)

    def _world(self) -> "list[SteppingRow]":
        from rapo.bench.stepping import MODELS, measure_branch, measure_step
        from rapo.cli.bench_tables import world_table
        from rapo.screen import console, progress_bar
        from rapo.world.find_task import LOCOMOTION, make_task

        chosen = (*LOCOMOTION, "quadrotor-payload") if self.tasks is None else self.tasks
        tasks = [make_task(name) for name in chosen]
        for n in (*self.step, *self.branch):
            if n < 1 or (n in self.branch and n % MODELS):
                raise InputError(
                    f"{n} simulations were asked for: allowed are whole numbers from 1, for branch in "
                    f"multiples of {MODELS}"
                )
        jobs = [(measure_step, n) for n in self.step]
        jobs += [(measure_branch, n) for n in self.branch]
        rows: list[SteppingRow] = []
        with progress_bar() as progress:
            bar = progress.add_task("world", total=len(tasks) * len(jobs))
            for task in tasks:
                for measure, simulations in jobs:
                    progress.update(bar, description=f"{task.name}, {simulations} simulations")
                    rows.append(measure(task, simulations, self.seconds or 8.0))
                    progress.advance(bar)
        console.print(world_table(rows))
        return rows

    def _wrapped(self) -> "list[SteppingRow]":
        from rapo.bench.stepping import measure_wrapped
        from rapo.cli.bench_tables import world_table
        from rapo.screen import console, progress_bar
        from rapo.tasks.wrapped.batched import BATCHED

        for name in self.tasks or ():
            if name not in BATCHED:
                raise unknown("environment that is known in batches", name, BATCHED)
        rows: list[SteppingRow] = []
        with progress_bar() as progress:
            for name in progress.track(self.tasks or tuple(BATCHED), description="wrapped"):
                rows += measure_wrapped(name, self.seconds or 8.0)
        console.print(world_table(rows))
        return rows

    def _train(self) -> "list[UpdateRow]":
        from rapo.bench.updating import measure, parse_algo
        from rapo.cli.bench_tables import train_table
        from rapo.screen import console, progress_bar
        from rapo.training.config import make_config
        from rapo.world.find_task import LOCOMOTION

        pairs = [(task, algo) for task in self.tasks or LOCOMOTION for algo in self.algos]
        if not pairs:
            raise InputError("no tasks or no algorithms were given: give at least one of each")
        for task, algo in pairs:
            name, options = parse_algo(algo)
            make_config(task, name, options=options)
        rows: list[UpdateRow] = []
        with progress_bar() as progress:
            bar = progress.add_task("train", total=len(pairs))
            for task, algo in pairs:
                progress.update(bar, description=f"{algo} on {task}")
                rows.append(measure(task, algo, self.seconds or 20.0))
                progress.advance(bar)
        console.print(train_table(rows))
        return rows

    def _evidence(self) -> "list[MeasuringRow]":
        from rapo.bench.measuring import measure_heatmap, measure_sweep
        from rapo.cli.bench_tables import evidence_table
        from rapo.evaluation.evaluate import check_episodes
        from rapo.screen import console, progress_bar
        from rapo.training.config import make_config
        from rapo.world.find_task import make_task

        seconds = self.seconds or 60.0
        check_episodes(self.episodes)
        jobs: list[tuple[str, Callable[[], MeasuringRow]]] = []
        for task in self.tasks or ("hopper",):
            make_task(task)
            jobs.append((f"sweep of {task}", partial(measure_sweep, task, self.episodes, seconds)))
            for algo in self.algos:
                make_config(task, algo)
                jobs.append(
                    (f"heatmap of {algo} on {task}", partial(measure_heatmap, task, algo, seconds / 2))
                )
        rows: list[MeasuringRow] = []
        with progress_bar() as progress:
            bar = progress.add_task("evidence", total=len(jobs))
            for name, measure in jobs:
                progress.update(bar, description=name)
                rows.append(measure())
                progress.advance(bar)
        console.print(evidence_table(rows))
        return rows

    def _report(self) -> "list[ReportRow]":
        from rapo.bench.report_cost import measure
        from rapo.cli.bench_tables import report_table
        from rapo.screen import console

        if self.runs < 1:
            raise InputError(f"{self.runs} runs were asked for: it must be at least 1")
        with console.status(f"a report over {self.runs} runs"):
            row = measure(self.runs)
        console.print(report_table(row))
        return [row]

    def _tabular(self) -> "list[ValueIterationRow]":
        from rapo.bench.value_iteration import measure
        from rapo.cli.bench_tables import tabular_table
        from rapo.screen import console, progress_bar
        from rapo.tabular.operator import BALLS

        rows: list[ValueIterationRow] = []
        with progress_bar() as progress:
            jobs: list[tuple[Ball, bool]] = [("kl", True), *((ball, False) for ball in BALLS)]
            for ball, anew in progress.track(jobs, description="tabular"):
                rows.append(measure(ball, self.seconds or 8.0, anew))
        console.print(tabular_table(rows))
        return rows

    def _start(self) -> "list[StartRow]":
        from rapo.bench.starting import COMMANDS, measure
        from rapo.cli.bench_tables import start_table
        from rapo.screen import console

        with console.status("starting each command by turns"):
            rows = measure((self.seconds or 8.0) * len(COMMANDS))
        console.print(start_table(rows))
        return rows
