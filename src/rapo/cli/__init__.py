"""The command line: every command is a frozen dataclass whose docstrings are its help.

A command is imported when it is asked for, so that help, lists and errors answer at once.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from rapo import __version__
from rapo.cli.stopping import INTERRUPTED, leave, stop_on_interrupt
from rapo.errors import InputError, TheoryError, TrainingError, unknown

ABOUT = "Policies that keep working when the physics changes."
COMMANDS = {
    "tasks": ("rapo.cli.list_command:TasksCommand", "list the tasks and what is uncertain about each"),
    "options": ("rapo.cli.list_command:OptionsCommand", "list the algorithms, or the options of one"),
    "new": ("rapo.cli.new_command:NewCommand", "write a small working robot, to be changed into yours"),
    "train": ("rapo.cli.train_command:TrainCommand", "train a policy and write its run folder"),
    "resume": ("rapo.cli.train_command:ResumeCommand", "go on with a run that was interrupted"),
    "sweep": ("", "returns over the test range of each parameter"),
    "search": ("", "the worst dynamics in the whole test box"),
    "eval": ("", "any measurement: nominal, sweep, search, stills, tracking"),
    "grid": (
        "rapo.cli.grid_command:GridCommand",
        "train and measure tasks x algorithms x seeds",
    ),
    "export": ("rapo.cli.export_command:ExportCommand", "write a policy as a file for the robot"),
    "zoo": ("rapo.cli.zoo_command:ZooCommand", "list the trained policies that come with rapo"),
    "video": ("rapo.cli.video_command:VideoCommand", "film policies under changed physics"),
    "play": ("rapo.cli.play_command:PlayCommand", "watch a policy in a window, and move its physics"),
    "report": ("rapo.cli.report_command:ReportCommand", "one page: which policy to trust, and how far"),
    "demo": ("rapo.cli.demo_command:DemoCommand", "RAPO and PPO on Hopper, trained, swept and reported"),
    "theory": ("rapo.cli.theory_command:TheoryCommand", "check the statements of the paper"),
    "bench": ("rapo.cli.bench_command:BenchCommand", "measure speed as ratios"),
}
"""Where each command is, and what it does; measurements have their commands from their records."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        stop_on_interrupt()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            if not given or given[0] in ("-h", "--help"):
                _show_commands()
            elif given[0] == "--version":
                print(f"rapo {__version__}")
            else:
                _run(*_chosen(given))
    except InputError as error:
        print(f"rapo: {error}", file=sys.stderr)
        sys.exit(2)
    except (TrainingError, TheoryError) as error:
        print(f"rapo: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt as interrupt:
        print(f"rapo: interrupted{f', {interrupt}' if str(interrupt) else ''}", file=sys.stderr)
        if arguments is None:
            leave()
        sys.exit(INTERRUPTED)
    if not given:
        sys.exit(2)
    if given[0] in ("-h", "--help"):
        sys.exit(0)


def _chosen(given: list[str]) -> tuple[Any, str, list[str]]:
    """The command that the first words name, those words, and the rest."""
    name, *rest = given
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
    where, _ = COMMANDS[name]
    if not where:
        from rapo.cli.measure_command import command_of, help_of_all

        if name == "eval":
            if not rest or rest[0] in ("-h", "--help"):
                print(help_of_all(rest))
                sys.exit(0 if rest else 2)
            name, *rest = rest
            return command_of(name, rest), f"eval {name}", rest
        return command_of(name, rest), name, rest
    module, _, kind = where.partition(":")
    return getattr(import_module(module), kind), name, rest


def _show_warning(message: Warning | str, *_: Any) -> None:
    """A warning in one line, without the code that gave it."""
    print(f"rapo: note: {message}", file=sys.stderr)


def _run(command: Any, name: str, arguments: list[str]) -> None:
    import tyro

    if name == "train":
        _refuse_flags_that_are_options(command, arguments)
    tyro.cli(command, args=arguments, prog=f"rapo {name}").run()


def _refuse_flags_that_are_options(command: Any, arguments: Sequence[str]) -> None:
    """Refuse --learning-rate and the like with the way to set that option."""
    from dataclasses import fields

    from rapo.algorithms import ALGORITHMS
    from rapo.training.config import Settings
    from rapo.training.options import options

    own = {field.name for field in fields(command)}
    flags = [word[2:].partition("=")[0].replace("-", "_") for word in arguments if word.startswith("--")]
    every = {name for record in (Settings(), *ALGORITHMS.values()) for name in options(record)}
    for flag in flags:
        if flag in every and flag not in own:
            raise InputError(f"--{flag.replace('_', '-')} is an option: set it with --set {flag}=VALUE")


def _show_commands() -> None:
    print(f"{ABOUT}\n\nusage: rapo COMMAND ...    or rapo --version\n")
    for name, (_, summary) in COMMANDS.items():
        print(f"  {name:<9}{summary}")
    print("\nrapo COMMAND --help explains a command.")
