"""`rapo tasks` and `rapo options`: what there is to choose from."""

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from rapo.algorithms import ALGORITHMS, find_algorithm
from rapo.errors import InputError
from rapo.screen import console, number_table
from rapo.training.config import Settings
from rapo.training.options import options
from rapo.world.find_task import TASKS, find_task, make_task
from rapo.world.parameter_effects import parameter_effects
from rapo.world.task import Task

EFFECTS = ("next state, in typical steps", "reward")
SIGNS = {"scale": "*", "add": "+", "set": "=", "read": "!"}


@dataclass(frozen=True)
class TasksCommand:
    """List the tasks, and what may be uncertain about the physics of each.

    Training draws parameters from the first range; evaluation sweeps the second. `rapo tasks TASK --check`
    tries which of a task's parameters change anything.
    """

    task: Annotated[str | None, tyro.conf.Positional] = None
    """One task: a name, or a task of your own as FILE:CLASS; without it, the built-in ones are listed."""
    check: bool = False
    """Step the task under both ends of every test range, and say which parameters change nothing."""

    def run(self) -> None:
        """Print the table."""
        if self.check:
            if self.task is None:
                raise InputError("--check needs a task: give one, as in rapo tasks hopper --check")
            _print_effects(make_task(self.task))
            return
        tasks = TASKS if self.task is None else {self.task: find_task(self.task)}
        table = Table(
            box=SIMPLE_HEAD,
            pad_edge=False,
            caption="* scales the model's own values, + adds to them, = replaces them; ! is the task's own",
        )
        for column in ("task and parameter", "touches", "nominal", "training", "test"):
            table.add_column(column)
        for name, task in tasks.items():
            table.add_row(f"[bold]{name}[/]", "", "", "", "")
            for i, p in enumerate(task.parameters):
                nominal = {"scale": 1.0, "add": 0.0}.get(p.apply) if p.nominal is None else p.nominal
                table.add_row(
                    f"  {p.name}",
                    f"{SIGNS[p.apply]} {', '.join(p.fields)}".strip(),
                    "the model's" if nominal is None else f"{nominal:g}",
                    *(f"{low:g} to {high:g}" for low, high in (p.train, p.test)),
                    end_section=i == len(task.parameters) - 1,
                )
        console.print(table)


def _print_effects(task: Task) -> None:
    """What each parameter changes, and those that change nothing."""
    table = number_table(f"{task.name}: one step under both ends of each test range", ("parameter",), EFFECTS)
    effects = parameter_effects(task)
    for effect in effects:
        table.add_row(effect.name, f"{effect.moved:.2g}", f"{effect.reward:.2g}")
    console.print(table)
    for effect in effects:
        if effect.nothing:
            friction = "geom_friction" in effect.fields
            why = ": MuJoCo takes the larger friction of two geoms in contact" if friction else ""
            console.print(f"Parameter '{effect.name}' changes nothing{why}.", soft_wrap=True)
    for parameter in task.dynamics:
        if not parameter.within_episode:
            console.print(f"Parameter '{parameter.name}' can't change within an episode: it was not tried.")
    if effects and not any(effect.nothing for effect in effects):
        console.print("Every parameter that was tried changes something.")


@dataclass(frozen=True)
class OptionsCommand:
    """List the algorithms, or every option of one of them with its default and the values it may have."""

    algo: Annotated[str | None, tyro.conf.Positional] = None
    """The algorithm whose options to list; without it, the algorithms are listed."""

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
            table.add_column("allowed", min_width=20)
            table.add_column("what it does")
            for record in (Settings(), algorithm):
                for option in options(record).values():
                    row = (option.name, option.shown, option.allowed, option.help)
                    table.add_row(*map(Text, row))  # as Text, or ":end:" would be shown as an emoji
        console.print(table)
