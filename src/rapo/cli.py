"""The command line: every subcommand is a frozen dataclass whose docstrings are its help."""

import json
import sys
from collections.abc import Sequence
from csv import DictWriter
from dataclasses import asdict, dataclass, fields
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rapo import demo
from rapo.algorithms import ALGORITHMS, find_algorithm
from rapo.bench import train as train_bench
from rapo.bench import world
from rapo.config import Settings, make_config
from rapo.errors import InputError, TrainingError
from rapo.files import check_writable, write_atomically
from rapo.options import options
from rapo.runs.nominal import Nominal, nominal
from rapo.runs.run import Run
from rapo.runs.start import SAVE_EVERY, resume, start
from rapo.world.streams import check_seed
from rapo.world.tasks import TASKS, make_task

if TYPE_CHECKING:
    from rapo.results.study import Study

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
class Options:
    """List the algorithms, or every option of one of them with its default."""

    algo: Annotated[str | None, tyro.conf.Positional] = None
    """An algorithm."""

    def run(self) -> None:
        """Print a table."""
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        if self.algo is None:
            table.add_column("algorithm", no_wrap=True)
            table.add_column("what it is")
            for name, algorithm in ALGORITHMS.items():
                table.add_row(name, algorithm.summary)
        else:
            algorithm = find_algorithm(self.algo)
            for column in ("option", "default"):
                table.add_column(column, no_wrap=True)
            table.add_column("what it does")
            for record in (Settings(), algorithm):
                for option in options(record).values():
                    table.add_row(option.name, option.shown, option.help)
        console.print(table)


@dataclass(frozen=True)
class Train:
    """Train a policy and write its run folder: configuration, metrics, TensorBoard events and checkpoints.

    Any option of the algorithm can be set by name, for example --set epsilon=0.2 kappa=0.5 models=8, and a
    budget can ramp, for example --set epsilon=0:0.2:0.5 from 0 to 0.2 over half of training;
    `rapo options rapo` lists them all. Ctrl-C saves; `rapo resume` goes on.
    """

    task: tyro.conf.Positional[str]
    """What to learn; `rapo tasks` lists them."""
    algo: str = "rapo"
    """How; `rapo options` lists the algorithms."""
    steps: int = 1_000_000
    """Environment steps to learn from; branches come on top of them."""
    seed: int = 0
    """Where all random numbers come from."""
    out: Path | None = None
    """The run folder; by default runs/TASK-ALGO-SEED."""
    set: tuple[str, ...] = ()
    """Options as NAME=VALUE."""
    save_every: int = SAVE_EVERY
    """Updates between checkpoints."""

    def run(self) -> None:
        """Train with a display, then say where the run is."""
        config = make_config(self.task, self.algo, steps=self.steps, seed=self.seed, options=_pairs(self.set))
        run = start(config, self.out, save_every=self.save_every)
        console.print(f"Run: {run.folder}", soft_wrap=True)


@dataclass(frozen=True)
class Resume:
    """Go on with a run that was interrupted, to the very numbers it would have had."""

    run_folder: tyro.conf.Positional[Path]
    """Its folder."""
    save_every: int = SAVE_EVERY
    """Updates between checkpoints."""

    def run(self) -> None:
        """Train what is left."""
        run = resume(self.run_folder, save_every=self.save_every)
        console.print(f"Run: {run.folder}", soft_wrap=True)


@dataclass(frozen=True)
class Eval:
    """Evaluate trained policies with their mean actions.

    `nominal`: whole episodes under the nominal dynamics, the same initial states for every run.
    """

    what: tyro.conf.Positional[Literal["nominal"]]
    """Under which dynamics."""
    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders."""
    episodes: int = 20
    """Episodes of each."""
    seed: int = 1000
    """Where the initial states come from."""
    csv: Path | None = None
    """Also write the table to this file."""

    def run(self) -> None:
        """Evaluate run by run with a progress bar, then print the table."""
        if not self.runs:
            raise InputError("no runs were given: give the folders of one or more")
        if self.episodes < 1:
            raise InputError(f"{self.episodes} episodes were asked for: it must be at least 1")
        check_seed(self.seed)
        if self.csv is not None:
            check_writable(self.csv)
        runs = [Run(folder) for folder in self.runs]
        for run in runs:
            run.config()
        rows: list[Nominal] = []
        with _progress() as progress:
            bar = progress.add_task("evaluating", total=len(runs))
            for run in runs:
                rows.append(nominal(run, self.episodes, self.seed))
                progress.advance(bar)
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for column in ("task", "algo", "seed", "steps", "return", "deviation", "length", "other options"):
            table.add_column(column)
        for row in rows:
            numbers = (row.return_mean, row.return_std, row.length_mean)
            table.add_row(
                row.task,
                row.algo,
                str(row.seed),
                f"{row.steps:,}",
                *(f"{x:,.0f}" for x in numbers),
                row.options,
            )
        console.print(table)
        if self.csv is not None:
            text = StringIO()
            writer = DictWriter(text, [field.name for field in fields(Nominal)], lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
            write_atomically(self.csv, text.getvalue().encode())


@dataclass(frozen=True)
class Report:
    """Write a report of runs: which policy should I trust, and how far?

    One page with everything in it, that opens from disk; beside it figures for print (PDF and PNG) and the
    tables as CSV. Runs of one algorithm that differ in nothing but their seed are taken together.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders that hold them."""
    out: Path = Path("report")
    """The folder of the report."""
    seed: int = 0
    """Where the bootstrap's random numbers come from."""

    def run(self) -> None:
        """Read run by run with a progress bar, then say what was found and where it is."""
        from rapo.results.load import find_runs, load  # imported here: plotting is slow to import
        from rapo.results.output import prepared
        from rapo.results.report import measured, write

        check_seed(self.seed)
        runs = find_runs(self.runs)
        prepared(self.out)
        with _progress() as progress:
            bar = progress.add_task("reading", total=len(runs))
            loaded = load(runs, lambda: progress.advance(bar))
        with console.status("writing"):
            studies = measured(loaded, self.seed)
            page = write(loaded, studies, self.out, self.seed)
        for study in studies:
            console.print(_report_table(study))
        for note in loaded.notes[:5]:
            console.print(note, soft_wrap=True, markup=False, highlight=False)
        if len(loaded.notes) > 5:
            console.print(f"{len(loaded.notes) - 5} more notes are on the page.")
        console.print(f"Report: {page}", soft_wrap=True, markup=False)


@dataclass(frozen=True)
class Demo:
    """Train RAPO and PPO on Hopper, about two minutes each, and print how they do under other physics.

    A demo that was interrupted goes on where it was; one that was finished is measured again.
    """

    steps: int = demo.STEPS
    """Environment steps of each."""
    seed: int = 0
    """Where all random numbers come from."""
    out: Path = Path("runs/demo")
    """Where the two runs go."""
    figure: Path | None = None
    """Also draw the returns, to this file (PNG, PDF or SVG)."""
    json: Path | None = None
    """Also write the returns to this file."""

    def run(self) -> None:
        """Train, measure, print."""
        for path in (self.figure, self.json):
            if path is not None:
                check_writable(path)
        if self.figure is not None and self.figure.suffix not in (".png", ".pdf", ".svg"):
            raise InputError(f"figure '{self.figure}' was asked for: allowed are .png, .pdf and .svg")
        curves: list[demo.Curve] = []
        for algo in demo.ALGORITHMS:
            run = demo.train_or_go_on(algo, self.steps, self.seed, self.out / algo)
            with _progress() as progress:
                bar = progress.add_task(f"measuring {algo}", total=run.config().task.time_limit)
                curves += demo.measure(run, algo, self.seed, lambda: progress.advance(bar))  # noqa: B023
                progress.update(bar, completed=run.config().task.time_limit)
        title = f"Hopper after {self.steps:,} steps, mean return"
        table = _number_table(title, ("",), ("nominal", "perturbed", "worst"))
        for algo in demo.ALGORITHMS:
            table.add_row(algo, *(f"{x:,.0f}" for x in demo.summary(curves, algo)))
        console.print(table)
        scales = ", ".join(f"{x:g}" for x in demo.SCALES if x != 1)
        console.print(
            f"Perturbed: mass, inertia, friction and torque, one at a time, scaled by {scales}; "
            f"{demo.EPISODES} episodes each.",
            soft_wrap=True,
        )
        if self.json is not None:
            _write_rows(self.json, curves)
        if self.figure is not None:
            write_atomically(self.figure, demo.draw(curves, self.figure.suffix[1:]))
            console.print(f"Figure: {self.figure}", soft_wrap=True)


@dataclass(frozen=True)
class Bench:
    """Measure speed as a ratio to raw physics, both taking turns in this process.

    `world`: steps per second of `step` and of `branch` (16 models) beside raw mjbatch stepping the same
    model from the same states for the same number of substeps; at 64 environments also Gymnasium's
    SyncVectorEnv and, where installed, EnvPool.
    `train`: seconds of a whole update beside the seconds raw mjbatch needs for the physics in it, and the
    shares of the dual solve and of AdvNet.
    """

    what: tyro.conf.Positional[Literal["world", "train"]]
    """Which part to measure."""
    tasks: tuple[str, ...] | None = None
    """Which tasks; by default all for world, Hopper and Walker2d for train."""
    algos: tuple[str, ...] = ("rapo", "ppo")
    """Which algorithms (train)."""
    step: tuple[int, ...] = (64, 4096)
    """How many environments to step (world)."""
    branch: tuple[int, ...] = (64, 4096, 32768)
    """How many branches to take, in multiples of the 16 models (world)."""
    seconds: float | None = None
    """How long to measure each row, about; by default 8 for world, 40 for train."""
    json: Path | None = None
    """Also write the rows to this file."""

    def run(self) -> None:
        """Measure row by row with a progress bar, then print the table and write the file."""
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"{self.seconds:g} seconds were asked for: it must be above 0")
        if self.json is not None:
            check_writable(self.json)
        rows = self._world() if self.what == "world" else self._train()
        if self.json is not None:
            _write_rows(self.json, rows)

    def _world(self) -> list[world.Row]:
        tasks = [make_task(name) for name in (TASKS if self.tasks is None else self.tasks)]
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
        with _progress() as progress:
            bar = progress.add_task("train", total=len(pairs))
            for task, algo in pairs:
                progress.update(bar, description=f"{algo} on {task}")
                rows.append(train_bench.measure(task, algo, self.seconds or 40.0))
                progress.advance(bar)
        console.print(_train_table(rows))
        return rows


Command = (
    Annotated[Tasks, tyro.conf.subcommand("tasks")]
    | Annotated[Options, tyro.conf.subcommand("options")]
    | Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Resume, tyro.conf.subcommand("resume")]
    | Annotated[Eval, tyro.conf.subcommand("eval")]
    | Annotated[Report, tyro.conf.subcommand("report")]
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
    except TrainingError as error:
        print(f"rapo: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt as interrupt:
        print(f"rapo: interrupted{f', {interrupt}' if str(interrupt) else ''}", file=sys.stderr)
        sys.exit(130)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def _number_table(title: str, names: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table: columns of names, then columns of numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title)
    for column in names:
        table.add_column(column)
    for column in numbers:
        table.add_column(column, justify="right")
    return table


def _write_rows(path: Path, rows: Sequence[Any]) -> None:
    """Dataclasses as a JSON file."""
    text = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
    write_atomically(path, text.encode())


def _world_table(rows: Sequence[world.Row]) -> Table:
    numbers = ("number", "rapo", "raw", "ratio", "Gymnasium", "EnvPool")
    table = _number_table("Environment steps per second", ("task", "what"), numbers)
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
    table = _number_table("Seconds of an update", ("task", "algo"), numbers)
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


def _report_table(study: "Study") -> Table:
    """The scores of every group, the best outside of the training range first, those not swept last."""
    from rapo.results.words import number

    numbers = ("seeds", "nominal", "ID", "OOD IQM", "95% interval", "worst")
    table = _number_table(f"Returns on {study.task}", ("algorithm",), numbers)
    for m in study.ordered:
        iqm = m.outside_iqm
        table.add_row(
            escape(m.label),
            str(m.seeds),
            *(number(found.value) for found in (m.nominal, m.inside, iqm)),
            f"{number(iqm.low)} to {number(iqm.high)}" if iqm.known else "-",
            number(m.worst.value),
        )
    return table


def _pairs(given: Sequence[str]) -> dict[str, str]:
    """Options as NAME=VALUE, by name."""
    for pair in given:
        if "=" not in pair:
            raise InputError(f"option '{pair}' has no value: give it as NAME=VALUE")
    return dict(pair.split("=", 1) for pair in given)
