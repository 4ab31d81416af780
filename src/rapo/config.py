"""What a training run is made of: task, algorithm, settings, steps and seed.

The default settings were chosen by runs of PPO on Hopper and Walker2d: `results/base-learner.csv`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from operator import index
from typing import Any, SupportsIndex

from rapo.algorithms import find_algorithm
from rapo.algorithms.draws import Ensemble
from rapo.algorithms.mixture import Boltzmann
from rapo.algorithms.spec import Algorithm
from rapo.errors import InputError
from rapo.learner.networks import HIDDEN
from rapo.learner.ppo import Settings as PpoSettings
from rapo.options import parts, values, with_options
from rapo.world.streams import check_seed
from rapo.world.task import Task
from rapo.world.tasks import make_task


@dataclass(frozen=True)
class Settings:
    """How every algorithm collects and learns."""

    num_envs: int = 32
    """Environments stepped together."""
    horizon: int = 64
    """Steps of each environment between updates."""
    discount: float = 0.99
    """gamma, what a reward is worth one step later."""
    gae_lambda: float = 0.95
    """How far advantages look ahead beyond one-step targets."""
    learning_rate: float = 3e-4
    """Adam's, at first."""
    final_rate: float = 0.0
    """The share of it that is left at the end; it falls linearly."""
    hidden: tuple[int, ...] = HIDDEN
    """Sizes of the hidden layers of policy and critic."""
    first_std: float = 1.0
    """Standard deviation of the first actions, in units of the action."""
    heatmap_every: int = 40
    """Updates between two rows of the value heatmaps; 0 means none."""
    ppo: PpoSettings = field(default_factory=PpoSettings)
    """The PPO update."""

    def __post_init__(self) -> None:
        for name, value in (("num_envs", self.num_envs), ("horizon", self.horizon)):
            if value < 1:
                raise InputError(f"option {name} is {value}: it must be at least 1")
        if self.heatmap_every < 0:
            raise InputError(f"option heatmap_every is {self.heatmap_every}: it must not be negative")
        for name, value, high in (
            ("discount", self.discount, 1 - 1e-9),
            ("gae_lambda", self.gae_lambda, 1.0),
            ("final_rate", self.final_rate, 1.0),
        ):
            if not 0 <= value <= high:
                raise InputError(f"option {name} is {value:g}: allowed is 0 to {'below ' * (high < 1)}1")
        if (
            not 0 < self.learning_rate < inf
            or not 0 < self.first_std < inf
            or min(self.hidden, default=1) < 1
        ):
            raise InputError(
                f"learning_rate {self.learning_rate:g}, first_std {self.first_std:g} and hidden "
                f"{list(self.hidden)} were given: all must be above 0 and finite"
            )
        if self.ppo.minibatches > self.num_envs * self.horizon:
            raise InputError(
                f"{self.ppo.minibatches} minibatches were asked of {self.num_envs * self.horizon} steps: "
                "allowed are at most as many as num_envs x horizon"
            )


@dataclass(frozen=True)
class Config:
    """Everything that decides what a run does."""

    task: Task
    algorithm: Algorithm
    settings: Settings
    steps: int
    """Environment steps to learn from, rounded up to whole updates."""
    seed: int

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.steps < 1:
            raise InputError(f"{self.steps} steps were asked for: it must be at least 1")
        draws, mixture = self.algorithm.dynamics, self.algorithm.mixture
        nominal = isinstance(draws, Ensemble) and draws.rollout == "nominal"
        if nominal and isinstance(mixture, Boltzmann) and mixture.score == "played":
            raise InputError(
                "score=played needs episodes played under the models, and rollout is nominal: "
                "allowed is rollout=mixture, or another score"
            )

    @property
    def steps_per_update(self) -> int:
        """Environment steps between two updates."""
        return self.settings.num_envs * self.settings.horizon

    @property
    def updates(self) -> int:
        """How many updates the run takes."""
        return -(-self.steps // self.steps_per_update)

    def describe(self) -> dict[str, Any]:
        """The resolved configuration, as JSON can hold it."""
        return {
            "task": self.task.name,
            "algo": self.algorithm.name,
            "steps": self.steps,
            "seed": self.seed,
            "options": {**values(self.settings), **values(self.algorithm)},
            "parts": parts(self.algorithm),
            "dynamics": {
                p.name: {
                    "fields": list(p.fields),
                    "apply": p.apply,
                    "nominal": p.nominal,
                    "train": list(p.train),
                }
                for p in self.task.dynamics
            },
        }


def make_config(
    task: str | Task,
    algo: str | Algorithm = "rapo",
    *,
    steps: SupportsIndex = 1_000_000,
    seed: SupportsIndex = 0,
    options: Mapping[str, Any] | None = None,
) -> Config:
    """A configuration with the defaults of its task and algorithm where nothing else is said."""
    task = make_task(task) if isinstance(task, str) else task
    algorithm = find_algorithm(algo) if isinstance(algo, str) else algo
    if not isinstance(task, Task) or not isinstance(algorithm, Algorithm):
        raise InputError(
            f"task {task!r} and algorithm {algorithm!r} were given: allowed are names, "
            "or a Task and an Algorithm"
        )
    try:
        whole_steps, whole_seed = index(steps), index(seed)
    except TypeError:
        raise InputError(
            f"steps {steps!r} and seed {seed!r} were given: both must be whole numbers"
        ) from None
    settings = with_options(Settings(), f"task '{task.name}'", task.options)
    both = with_options(_Both(settings, algorithm), f"algorithm '{algorithm.name}'", options or {})
    return Config(task, both.algorithm, both.settings, whole_steps, whole_seed)


@dataclass(frozen=True)
class _Both:
    settings: Settings
    algorithm: Algorithm
