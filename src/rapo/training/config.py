"""What decides a training run: task, algorithm, settings, steps, seed and engine.

The default settings were chosen by runs of PPO on Hopper and Walker2d; HalfCheetah and Ant have some of their
own, in `Task.options`, chosen by runs on these: `results/base-learner.csv`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Annotated, Any, SupportsIndex

from rapo.algorithms import ALGORITHMS, find_algorithm
from rapo.algorithms.spec import Algorithm
from rapo.errors import InputError, shown
from rapo.learner.networks import HIDDEN
from rapo.learner.ppo_update import PpoSettings
from rapo.ranges import COUNT, DISCOUNT, LAYERS, NOT_NEGATIVE, POSITIVE, SHARE, check_ranges, check_seed
from rapo.training.combinations import check_combination
from rapo.training.given_models import with_given_models
from rapo.training.options import NOT_LEARNED, options, parts, shown_value, values, with_options
from rapo.world.engines import ENGINE, check_engine
from rapo.world.find_task import TASKS, find_task
from rapo.world.task import Task

MOST_STEPS = 10**15


@dataclass(frozen=True)
class Settings:
    """The settings that all algorithms share."""

    num_envs: Annotated[int, COUNT] = 32
    """Environments stepped together."""
    horizon: Annotated[int, COUNT] = 64
    """Steps of each environment between two updates."""
    discount: Annotated[float, DISCOUNT] = 0.99
    """Discount factor gamma: what a reward is worth one step later."""
    gae_lambda: Annotated[float, SHARE] = 0.95
    """lambda of generalised advantages: 0 uses one-step targets only, 1 sums them up to the end."""
    learning_rate: Annotated[float, POSITIVE] = 3e-4
    """Adam's learning rate when training begins."""
    final_rate: Annotated[float, SHARE] = 0.0
    """Share of the learning rate that is left when training ends; the rate falls linearly."""
    hidden: Annotated[tuple[int, ...], LAYERS] = HIDDEN
    """Sizes of the hidden layers of policy and critic."""
    first_std: Annotated[float, POSITIVE] = 1.0
    """Standard deviation of the policy's actions when training begins, in units of the action."""
    heatmap_every: Annotated[int, NOT_NEGATIVE] = field(default=40, metadata=NOT_LEARNED)
    """Updates between two rows of the value heatmaps; 0 means no heatmaps."""
    ppo: PpoSettings = field(default_factory=PpoSettings)
    """The PPO update."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.ppo.minibatches > self.num_envs * self.horizon:
            raise InputError(
                f"option minibatches is {self.ppo.minibatches}: allowed are at most num_envs x horizon, here "
                f"{self.num_envs * self.horizon}"
            )


@dataclass(frozen=True)
class Config:
    """Everything that decides the numbers of a run."""

    task: Task
    algorithm: Algorithm
    settings: Settings
    steps: int
    """Environment steps to learn from, rounded up to whole updates."""
    seed: int
    engine: str = ENGINE
    """The name of the engine that simulates."""
    started_from: Mapping[str, Any] | None = None
    """Task, algorithm, seed, steps and digest of the run whose networks training began with, if any."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_engine(self.engine)
        if self.started_from is not None and not {"task", "algo", "seed"} <= set(self.started_from):
            raise InputError("started_from does not name the task, algo and seed of a run")
        if not 1 <= self.steps <= MOST_STEPS:
            raise InputError(
                f"{shown(self.steps)} steps were asked for: allowed are whole numbers from 1 to "
                f"{MOST_STEPS:,}"
            )
        check_combination(self.algorithm, self.task, self.steps_per_update)

    @property
    def steps_per_update(self) -> int:
        """Environment steps between two updates."""
        return self.settings.num_envs * self.settings.horizon

    @property
    def updates(self) -> int:
        """How many updates the run takes."""
        return -(-self.steps // self.steps_per_update)

    @property
    def changed(self) -> dict[str, Any]:
        """The options that are not the defaults of task and algorithm."""
        said = self.describe()
        own = {} if said["algo"] in ALGORITHMS else values(self.algorithm)  # those of one's own are not known
        defaults = own | default_options(said["task"], said["algo"], said["task_options"])
        return changed_options(said["options"], defaults)

    @property
    def changes(self) -> str:
        """The same as they would be set, and where its networks came from, if they are not its own."""
        changed = self.changed | origin_option({"started_from": self.started_from})
        return " ".join(f"{name}={shown_value(value)}" for name, value in changed.items())

    def describe(self) -> dict[str, Any]:
        """The resolved configuration, as JSON can hold it."""
        return {
            "task": self.task.name,
            "algo": self.algorithm.name,
            "steps": self.steps,
            "seed": self.seed,
            "engine": self.engine,
            "started_from": None if self.started_from is None else dict(self.started_from),
            "options": {**values(self.settings), **values(self.algorithm)},
            "task_options": dict(self.task.options),
            "task_source": self.task.source,
            "algo_source": self.algorithm.source or None,
            "parts": parts(self.algorithm),
            "movable": [self.task.dynamics.names[i] for i in self.task.dynamics.movable],
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
    engine: str = ENGINE,
    options: Mapping[str, Any] | None = None,
    started_from: Mapping[str, Any] | None = None,
) -> Config:
    """A configuration: `options` where they are given, else the defaults of the task and the algorithm."""
    kind = find_task(task) if isinstance(task, str) else task
    algorithm = find_algorithm(algo) if isinstance(algo, str) else algo
    if isinstance(task, type) or not (isinstance(task, str | Task)):
        raise InputError(
            f"task {shown(task)} was given: allowed are the name of one, or an instance of rapo.Task"
        )
    if not isinstance(algorithm, Algorithm):
        raise InputError(
            f"algorithm {shown(algo)} was given: allowed are the name of one, or a rapo.Algorithm"
        )
    if not isinstance(options, Mapping | None):
        raise InputError(f"options {shown(options)} were given: allowed is a mapping of names to values")
    whole_steps, whole_seed = _whole("steps", steps), _whole("seed", seed)
    usual = _Both(with_options(Settings(), f"task '{kind.name}'", kind.options), algorithm)
    made = kind() if isinstance(kind, type) else kind
    chosen = with_given_models(options or {}, made.dynamics)
    _refuse_misplaced(chosen, usual)
    both = with_options(usual, f"algorithm '{algorithm.name}'", chosen)
    return Config(made, both.algorithm, both.settings, whole_steps, whole_seed, engine, started_from)


def default_options(task: str, algo: str, task_options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The options of a run of this task and algorithm if the user gives none, as JSON can hold them.

    task_options: the task's own defaults, needed for a task that is not built in. For an algorithm that is
    not built in, only the settings that all algorithms share are returned.
    """
    if task_options is None:
        task_options = TASKS[task].options if task in TASKS else {}
    settings = with_options(Settings(), f"task '{task}'", task_options)
    return values(settings) | (values(ALGORITHMS[algo]) if algo in ALGORITHMS else {})


def changed_options(chosen: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run that differ from the defaults and change what is learned."""
    unchanging = {name for name, option in options(Settings()).items() if not option.learned}
    return {
        name: value
        for name, value in chosen.items()
        if name not in unchanging and (name not in defaults or defaults[name] != value)
    }


def origin_option(described: Mapping[str, Any]) -> dict[str, str]:
    """Where the networks of a run came from, as one more of its options; nothing if they are its own."""
    origin = described.get("started_from")
    return {} if origin is None else {"from": f"{origin['task']}-{origin['algo']}"}


RENAMED = {
    name: name.replace("rapo", "rapo-paper") for name in ("rapo", "rapo-no-advnet", "rapo-no-boltzmann")
}
"""What algorithms of branch targets are called since `rapo` has tilted rollouts."""


def up_to_date(described: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a run of an earlier version, with the names and options of this one."""
    now = dict(described)
    parts = now.get("parts")
    if isinstance(parts, Mapping) and "targets" in parts and parts["targets"] == "Robust":
        now["algo"] = RENAMED.get(now.get("algo", ""), now.get("algo"))
    known, given = ALGORITHMS.get(str(now.get("algo"))), now.get("options")
    if known is not None and isinstance(given, Mapping):
        now["options"] = values(known) | dict(given)
    return now


NOT_IDENTITY = ("task_options", "task_source", "algo_source", "movable")
"""What a description says for its readers: it does not decide the numbers of a run."""


def identity(described: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a run's description that decides its numbers: two runs with the same one are repetitions.

    A description without an engine is of a run of the default engine, one without an origin of a run that
    began with new networks.
    """
    known: dict[str, Any] = {"engine": ENGINE, "started_from": None, **up_to_date(described)}
    unchanging = [name for name, option in options(Settings()).items() if not option.learned]
    chosen = {name: value for name, value in known["options"].items() if name not in unchanging}
    return {name: value for name, value in known.items() if name not in NOT_IDENTITY} | {"options": chosen}


def _whole(what: str, given: SupportsIndex) -> int:
    try:
        return index(given)
    except TypeError:
        raise InputError(f"{what} {shown(given)} were given: allowed are whole numbers") from None


@dataclass(frozen=True)
class _Both:
    settings: Settings
    algorithm: Algorithm


def _refuse_misplaced(chosen: Mapping[str, Any], usual: _Both) -> None:
    """Refuse what is no option, or an option of other algorithms only, by saying where it belongs."""
    known = options(usual)
    for name in chosen:
        if name in known:
            continue
        if name in ("task", "algo", "steps", "seed", "engine"):
            raise InputError(
                f"'{name}' was given as an option: it is an argument, --{name} on the command line"
            )
        owners = [algo for algo, record in ALGORITHMS.items() if name in options(record)]
        if owners:
            named = ", ".join(owners[:3]) + (f" and {len(owners) - 3} more" if len(owners) > 3 else "")
            raise InputError(
                f"option '{name}' is not one of algorithm '{usual.algorithm.name}': it is one of {named}"
            )
