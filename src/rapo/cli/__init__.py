"""The command line: every subcommand is a frozen dataclass whose docstrings are its help."""

import sys
from collections.abc import Sequence
from typing import Annotated

import tyro

from rapo.cli.bench import Bench
from rapo.cli.demo import Demo
from rapo.cli.evidence import Eval, Search, Sweep
from rapo.cli.grid import Grid
from rapo.cli.report import Report
from rapo.cli.theory import Theory
from rapo.cli.train import Resume, Train
from rapo.cli.world import Options, Tasks
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
