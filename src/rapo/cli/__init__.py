"""The command line: every subcommand is a frozen dataclass whose docstrings are its help."""

import sys
from collections.abc import Sequence
from typing import Annotated

import tyro

from rapo.cli.bench_command import Bench
from rapo.cli.demo_command import Demo
from rapo.cli.grid_command import Grid
from rapo.cli.list_command import Options, Tasks
from rapo.cli.measure_command import Eval, Search, Sweep
from rapo.cli.report_command import Report
from rapo.cli.theory_command import Theory
from rapo.cli.train_command import Resume, Train
from rapo.errors import InputError, TheoryError, TrainingError

Command = (
    Annotated[Tasks, tyro.conf.subcommand("tasks")]
    | Annotated[Options, tyro.conf.subcommand("options")]
    | Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Resume, tyro.conf.subcommand("resume")]
    | Annotated[Eval, tyro.conf.subcommand("eval")]
    | Annotated[Sweep, tyro.conf.subcommand("sweep")]
    | Annotated[Search, tyro.conf.subcommand("search")]
    | Annotated[Grid, tyro.conf.subcommand("grid")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Demo, tyro.conf.subcommand("demo")]
    | Annotated[Theory, tyro.conf.subcommand("theory")]
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
    except (TrainingError, TheoryError) as error:
        print(f"rapo: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt as interrupt:
        print(f"rapo: interrupted{f', {interrupt}' if str(interrupt) else ''}", file=sys.stderr)
        sys.exit(130)
