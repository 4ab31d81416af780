"""`rapo train` and `rapo resume`."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated

import tyro

from rapo.cli.own_code import own_code
from rapo.errors import InputError
from rapo.runs.start import SAVE_EVERY, as_origin, resume, start
from rapo.screen import console
from rapo.training.config import make_config
from rapo.world.engines import ENGINE


def whole_steps(words: Sequence[str]) -> int:
    """A number of steps from text such as 1000000, 1_000_000 or 1e6."""
    number = float(words[0].replace("_", ""))
    if not isfinite(number) or number != int(number):
        raise ValueError(f"{words[0]} is no whole number")
    return int(number)


Steps = Annotated[
    int,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: whole_steps(words),
        is_instance=lambda given: isinstance(given, int),
        str_from_instance=lambda given: [str(given)],
    ),
]
"""Steps on the command line: also 1e6."""


@dataclass(frozen=True)
class TrainCommand:
    """Train a policy and write its run folder: configuration, metrics, TensorBoard events and checkpoints.

    Any option of the algorithm can be set by name, for example --set epsilon=0.2 kappa=0.5 models=8, and a
    budget can ramp, for example --set epsilon=0:0.2:0.5 from 0 to 0.2 over half of training;
    `rapo options rapo` lists them all. Ctrl-C saves; `rapo resume` goes on. With --from, a policy that was
    trained before, by PPO for example, is trained further.
    """

    task: tyro.conf.Positional[str]
    """What to learn: one of `rapo tasks`, or a task of your own as FILE:CLASS."""
    algo: str = "rapo"
    """How: one of `rapo options`, or an algorithm of your own as FILE:NAME."""
    steps: Steps = 1_000_000
    """Environment steps to learn from; branches come on top of them."""
    seed: int = 0
    """The seed of all random numbers of the run."""
    out: Path | None = None
    """The run folder; by default runs/TASK-ALGO-SEED."""
    set: tuple[str, ...] = ()
    """Options as NAME=VALUE."""
    save_every: int = SAVE_EVERY
    """Updates between checkpoints."""
    engine: str = ENGINE
    """The engine that simulates: cpu is MuJoCo on CPU threads."""
    origin: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """A run whose policy, critic and normalisers training begins with, under other settings or dynamics or
    with another algorithm."""
    from_task: str | None = None
    """The task of that run as FILE:CLASS, where it is another one and not built in."""
    from_algo: str | None = None
    """The algorithm of that run as FILE:NAME, where it is another one and not built in."""

    def run(self) -> None:
        """Train with a display, then say where the run is."""
        config = make_config(
            self.task,
            self.algo,
            steps=self.steps,
            seed=self.seed,
            engine=self.engine,
            options=pairs(self.set),
        )
        taken = config.updates * config.steps_per_update
        if taken != self.steps:
            console.print(
                f"Training takes {taken:,} steps: whole updates of {config.steps_per_update:,} each.",
                soft_wrap=True,
                highlight=False,
            )
        origin = as_origin(self.origin, config, *own_code(self.from_task, self.from_algo))
        run = start(config, self.out, save_every=self.save_every, origin=origin)
        console.print(f"Run: {run.folder}", soft_wrap=True, markup=False)


@dataclass(frozen=True)
class ResumeCommand:
    """Go on with a run that was interrupted, to the very numbers it would have had."""

    run_folder: tyro.conf.Positional[Path]
    """The run folder."""
    task: str | None = None
    """The task of the run as FILE:CLASS, where it is not built in."""
    algo: str | None = None
    """The algorithm of the run as FILE:NAME, where it is not built in."""
    save_every: int = SAVE_EVERY
    """Updates between checkpoints."""

    def run(self) -> None:
        """Train what is left."""
        task, algo = own_code(self.task, self.algo)
        run = resume(self.run_folder, task=task, algo=algo, save_every=self.save_every)
        console.print(f"Run: {run.folder}", soft_wrap=True, markup=False)


def pairs(given: Sequence[str]) -> dict[str, str]:
    """Options as NAME=VALUE, by name."""
    found: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"option '{pair}' has no value: give it as NAME=VALUE")
        if name in found:
            raise InputError(
                f"option '{name}' was given as {found[name]} and as {value}: allowed is one value"
            )
        found[name] = value
    return found
