"""The command line: every subcommand is a frozen dataclass whose docstrings are its help."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rapo import demo
from rapo.bench import world
from rapo.errors import InputError
from rapo.files import check_writable, write_atomically
from rapo.world.streams import check_seed
from rapo.world.tasks import TASKS, make_task

console = Console()


@dataclass(frozen=True)
class Tasks:
    """List the tasks, and what may be uncertain about the physics of each.

    Training draws parameters from the first range; evaluation sweeps the second.
    """

    def run(self) -> None:
        """Print the table."""
        table = Table(
            box=SIMPLE_HEAD, pad_edge=False, caption="* scales the model's own values, = replaces them"
        )
        for column in ("task", "parameter", "touches", "nominal", "training", "test"):
            table.add_column(column)
        for name in TASKS:
            dynamics = make_task(name).dynamics
            for i, p in enumerate(dynamics):
                table.add_row(
                    "" if i else name,
                    p.name,
                    f"{'*' if p.apply == 'scale' else '='} {', '.join(p.fields)}",
                    f"{p.nominal:g}",
                    *(f"{low:g} to {high:g}" for low, high in (p.train, p.test)),
                    end_section=i == len(dynamics) - 1,
                )
        console.print(table)


@dataclass(frozen=True)
class Demo:
    """Step 64 Hoppers under 64 different dynamics and print how long they stay up."""

    steps: int = 1000
    """Steps of each Hopper."""
    envs: int = 64
    """How many Hoppers; at least 3, one for each third of a parameter's range."""
    seed: int = 0
    """Where all random numbers come from."""
    figure: Path | None = None
    """Also draw how their heights part, to this file (PNG, PDF or SVG)."""

    def run(self) -> None:
        """Simulate with a progress bar, then print the table."""
        if self.envs < len(demo.THIRDS) or self.steps < 1:
            raise InputError(
                f"{self.envs} Hoppers and {self.steps} steps were asked for: at least 3 and 1 are needed"
            )
        check_seed(self.seed)
        if self.figure is not None:
            check_writable(self.figure)
            if self.figure.suffix not in (".png", ".pdf", ".svg"):
                raise InputError(f"figure '{self.figure}' was asked for: allowed are .png, .pdf and .svg")
        with _progress() as progress:
            bar = progress.add_task(f"{self.envs} Hoppers", total=self.steps)
            outcome = demo.run(self.steps, self.envs, self.seed, lambda: progress.advance(bar))
        table = Table(title="Steps until a fall (and return), by third of each parameter's test range")
        table.add_column("parameter")
        for third in demo.THIRDS:
            table.add_column(third, justify="right")
        for name, lengths, returns in zip(
            outcome.names, outcome.episode_length, outcome.episode_return, strict=True
        ):
            pairs = zip(lengths, returns, strict=True)
            table.add_row(name, *(f"{x:.1f} ({r:.1f})" if isfinite(x) else "-" for x, r in pairs))
        console.print(table)
        rate = outcome.steps / outcome.seconds
        console.print(
            f"{outcome.steps:,} steps in {outcome.seconds:.1f} s ({rate:,.0f} steps/s), "
            f"{outcome.divergences} diverged."
        )
        if self.figure is not None:
            kind = self.figure.suffix[1:]
            write_atomically(self.figure, demo.draw(self.envs, self.seed, kind))
            console.print(f"Figure: {self.figure}")


@dataclass(frozen=True)
class Bench:
    """Measure speed as a ratio to raw physics, both taking turns in this process.

    `world`: steps per second of `step` and of `branch` (16 models) beside raw mjbatch stepping the same
    model from the same states for the same number of substeps; at 64 environments also Gymnasium's
    SyncVectorEnv and, where installed, EnvPool.
    """

    what: tyro.conf.Positional[Literal["world"]]
    """Which part to measure."""
    tasks: tuple[str, ...] = tuple(TASKS)
    """Which tasks."""
    step: tuple[int, ...] = (64, 4096)
    """How many environments to step."""
    branch: tuple[int, ...] = (64, 4096, 32768)
    """How many branches to take, in multiples of the 16 models."""
    seconds: float = 8.0
    """How long to measure each row, about."""
    json: Path | None = None
    """Also write the rows to this file."""

    def run(self) -> None:
        """Measure row by row with a progress bar, then print the table and write the file."""
        tasks = [make_task(name) for name in self.tasks]
        if not self.seconds > 0:
            raise InputError(f"{self.seconds:g} seconds were asked for: it must be above 0")
        if self.json is not None:
            check_writable(self.json)
        for n in (*self.step, *self.branch):
            if n < 1 or (n in self.branch and n % world.MODELS):
                raise InputError(
                    f"{n} simulations were asked for: allowed are whole numbers from 1, for branch in "
                    f"multiples of {world.MODELS}"
                )
        jobs = [(world.measure_step, n) for n in self.step]
        jobs += [(world.measure_branch, n) for n in self.branch]
        rows: list[world.Row] = []
        with _progress() as progress:
            bar = progress.add_task("world", total=len(tasks) * len(jobs))
            for task in tasks:
                for measure, simulations in jobs:
                    progress.update(bar, description=f"{task.name}, {simulations} simulations")
                    rows.append(measure(task, simulations, self.seconds))
                    progress.advance(bar)
        console.print(_bench_table(rows))
        if self.json is not None:
            text = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
            write_atomically(self.json, text.encode())


Command = (
    Annotated[Tasks, tyro.conf.subcommand("tasks")]
    | Annotated[Demo, tyro.conf.subcommand("demo")]
    | Annotated[Bench, tyro.conf.subcommand("bench")]
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    command = tyro.cli(
        Command,  # pyright: ignore[reportArgumentType]
        args=arguments,
        prog="rapo",
        description="Policies that keep working when the physics changes.",
    )
    try:
        command.run()
    except InputError as error:
        print(f"rapo: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("rapo: interrupted", file=sys.stderr)
        sys.exit(130)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def _bench_table(rows: Sequence[world.Row]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title="Environment steps per second")
    for column in ("task", "what"):
        table.add_column(column)
    for column in ("number", "rapo", "raw", "ratio", "Gymnasium", "EnvPool"):
        table.add_column(column, justify="right")
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
