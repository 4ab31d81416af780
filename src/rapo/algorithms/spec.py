"""What an algorithm is: a record of parts, each answering one question.

    dynamics   under which physics are episodes played, and which models make up the ensemble?
    targets    what is a step worth, given where it led and where the models say it might have led?
    counts     which trajectories does the policy learn from?
    mixture    how do the weights of the models move between updates?
    opponent   does an adversary push the robot?
    sensitivity   how does the value of a step change with each uncertain parameter?
    steering   under which physics is each single step of an episode taken?
    choosing   or else, from which of several simulated steps does an episode go on?

A part is a frozen dataclass: its fields are its options. Its methods are pure JAX and run inside the one
compiled update, unless their docstring says "on the host". Whatever a part learns or remembers is a pytree
that it makes in `init` and hands on; the train state keeps it. A new algorithm is `dataclasses.replace` of an
old one, or a few lines with a part of its own.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from rapo.arrays import Bools, Floats, Ids, Singles
from rapo.heavy import Array
from rapo.learner.advantages import branch_values
from rapo.world.dynamics import Dynamics
from rapo.world.simulator import FreshDynamics
from rapo.world.task import Task

Report = dict[str, Array]
"""What goes into the metrics: scalars, or one number for each model or parameter."""


class ValuedBranches(NamedTuple):
    """Where B pairs lead under each of K models, valued by the critic. Rewards are in scaled units."""

    reward: Array
    """`[B, K]`."""
    terminated: Array
    """`[B, K]`."""
    next_value: Array
    """`[B, K]`."""
    valid: Array
    """`[B, K]`, simulated and not diverged; where it is False the other fields mean nothing."""
    shares: Array
    """`[B, K]`, the weight of each model in the target."""

    def value(self, discount: float) -> Array:
        """`[B, K]`, r + gamma (1 - d) V(s') of each branch."""
        return branch_values(self.reward, self.terminated, self.next_value, discount)


class ProbedSteps(NamedTuple):
    """R of the steps, each taken again under D other dynamics. Values are in scaled units."""

    pairs: Array
    """`[R]`, which of the B steps they are."""
    moves: Array
    """`[R, D, P]`, from the dynamics of the step to those of the probe, in training half-widths."""
    changes: Array
    """`[R, D]`, the value under the dynamics of the probe less that of the step."""
    valid: Array
    """`[R, D]`, whether both were simulated and did not diverge."""
    batches: Array
    """`[steps, rows]`, places in the memory of probes for each optimiser step of the network."""


class Steered(NamedTuple):
    """What decides the dynamics of N steps: dynamics are in units of the training half-widths."""

    inputs: Array
    """`[N, observation + action]`, known before the step: the normalised observation, then the action."""
    slopes: Array
    """`[N, P]`, how the value of the step changes with each parameter."""
    centre: Array
    """`[N, P]`, the dynamics of the episode."""
    tilted: Array
    """`[N]`, whether the step is tilted at all."""
    models: Array
    """`[K, P]`, the models of the ensemble."""
    weights: Array
    """`[K]`, the weights of the models."""
    reward_scale: Array
    """`[]`, one unit of scaled reward in the task's own units."""
    progress: Array
    """`[]`, the share of training done."""


class Steps(NamedTuple):
    """B = T N steps, row t N + n being step t of environment n. Rewards are in scaled units."""

    inputs: Array
    """`[B, observation + action]`, known before the step: the normalised observation, then the action."""
    value: Array
    """`[B]`, the critic's value before the step."""
    critic_norm: Array
    """`[]`, the Euclidean norm of the weights of the critic's last layer."""
    reward: Array
    """`[B]`."""
    terminated: Array
    """`[B]`."""
    next_value: Array
    """`[B]`, the critic's value of where the step led."""
    played: Array
    """`[B, K]`, whether the step was taken under this model of the ensemble, and the physics did not fail."""
    weights: Array
    """`[K]`, the weights of the models."""
    branches: ValuedBranches | None
    """Where the steps lead under the models, if the algorithm asked for branches."""
    learned: Array | None
    """`[B, K]`, the one-step value under each model by learned sensitivities, if the algorithm has any."""
    centring: Array | None
    """`[B]`, by how much the value at the mean dynamics of the step's law is above that at the dynamics drawn
    from it, by learned sensitivities; None if steps are not steered."""
    reward_scale: Array
    """`[]`, one unit of scaled reward in the task's own units."""
    discount: float
    """gamma."""
    progress: Array
    """`[]`, the share of training done."""

    @property
    def taken(self) -> Array:
        """`[B]`, r + gamma (1 - d) V(s') of the step that was taken."""
        return branch_values(self.reward, self.terminated, self.next_value, self.discount)


class Trajectories(NamedTuple):
    """T steps of N environments; a trajectory is the part of an episode that lies within them."""

    worth: Array
    """`[T, N]`, the return of the trajectory that each step belongs to."""
    ended: Array
    """`[T, N]`, whether an episode ended with this step."""
    progress: Array
    """`[]`, the share of training done."""


class Mixture(NamedTuple):
    """The weights of K models."""

    prior: Array
    """`[K]`, the weights at first."""
    weights: Array
    """`[K]`, the weights now."""
    memory: Any
    """What the reweighting remembers from one update to the next."""


class Draws(Protocol):
    """Under which dynamics episodes are played, and which models make up the ensemble."""

    def ensemble(self, dynamics: Dynamics, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """On the host, once: the models `[K, P]` of the ensemble and their prior weights `[K]`."""
        ...

    def fresh(self, dynamics: Dynamics, models: Floats, weights: Floats) -> FreshDynamics | None:
        """On the host: a function that draws the dynamics of new episodes; None leaves them nominal."""
        ...


class Targets(Protocol):
    """How one-step targets are made, and what is learned for that."""

    def init(self, key: Array, observation: int, action: int) -> Any:
        """What the targets learn, at first, given the sizes of observations and actions."""
        ...

    def shares(self, rng: np.random.Generator, weights: Array, rows: int) -> Array | None:
        """On the host: the weight `[rows, K]` of each model in each target; None takes no branches."""
        ...

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """One-step targets `[B]`, what the targets have learned by then, and what to report."""
        ...


class Counts(Protocol):
    """Which trajectories the policy learns from."""

    def __call__(self, trajectories: Trajectories) -> Array:
        """Weights `[T, N]` of the steps, 0 for those not to learn from."""
        ...


class Reweighting(Protocol):
    """How the weights of the models move between updates."""

    def init(self, prior: Array) -> Mixture:
        """The mixture at first, given the prior weights `[K]`."""
        ...

    def scored(self, rows: int) -> int:
        """On the host: how many of the pairs must be branched under every model to score the models."""
        ...

    def __call__(self, mixture: Mixture, steps: Steps) -> tuple[Mixture, Report]:
        """The mixture after an update, and what to report."""
        ...


class Opponent(Protocol):
    """An adversary that pushes the robot."""

    def bodies(self, task: Task) -> tuple[str, ...]:
        """On the host: the names of the bodies that may be pushed."""
        ...

    def size(self, task: Task) -> int:
        """On the host: how many numbers make up a push."""
        ...

    def forces(self, task: Task, pushes: Singles) -> Floats:
        """On the host: forces `[N, bodies, 6]` for pushes `[N, size]`."""
        ...

    def learns(self, update: int) -> bool:
        """On the host: whether the opponent learns in this update, instead of the policy."""
        ...


class LearnedSensitivity(Protocol):
    """How the value of a step changes with each uncertain parameter, as learned from probes."""

    def check(self, names: tuple[str, ...], rows: int) -> None:
        """On the host: refuse what can't be probed, given the names of P parameters and B = `rows`."""
        ...

    def init(self, key: Array, inputs: int, parameters: int, rows: int) -> Any:
        """What is learned, at first."""
        ...

    def corners(self, rng: np.random.Generator, parameters: int, rows: int) -> Floats:
        """On the host, once: the dynamics `[R, D, P]` of the probes, in training half-widths."""
        ...

    def plan(self, rng: np.random.Generator, corners: Floats, rows: int, num_envs: int) -> Any:
        """On the host: which of B = `rows` pairs of N environments are probed in this update, a
        `ProbePlan`."""
        ...

    def __call__(
        self, state: Any, inputs: Array, probed: ProbedSteps, reward_scale: Array
    ) -> tuple[Array, Any, Report]:
        """Sensitivities `[B, P]`, what has been learned by then, and what to report."""
        ...


class Steering(Protocol):
    """Under which dynamics each single step is taken."""

    def init(self, key: Array, observation: int, action: int) -> Any:
        """What steering learns, at first."""
        ...

    def tilts(self, num_envs: int) -> Bools:
        """On the host: which of N environments are tilted, `[N]`."""
        ...

    def end(self, progress: float) -> float | None:
        """On the host: how far dynamics are drawn from 0, in training half-widths; None if among models."""
        ...

    def acting(self, state: Any) -> Any:
        """What of the state `draw` needs: little, since it is called at every step."""
        ...

    def draw(self, acting: Any, steered: Steered, uniforms: Array) -> Array:
        """Dynamics `[N, P]` for the next step; uniforms: `[N, 2 P + 1]`, random numbers in [0, 1)."""
        ...

    def __call__(self, state: Any, steered: Steered) -> tuple[Array, Any, Report]:
        """The mean dynamics `[B, P]` of the laws of B steps, what has been learned, and what to report."""
        ...


class Choosing(Protocol):
    """From which of several simulated branches each environment goes on."""

    def candidates(self, rng: np.random.Generator, weights: Floats, rows: int) -> Ids | None:
        """On the host: the models `[N, m]` under which each environment is simulated; None means all."""
        ...

    def chances(self, values: Array, weights: Array, progress: Array) -> Array:
        """The chance `[N, m]` of going on from each branch, given their values and models' weights `[N,
        m]`."""
        ...


@dataclass(frozen=True)
class Algorithm:
    """A composition of parts, by name."""

    name: str
    summary: str
    """What the algorithm is, in a line."""
    dynamics: Draws
    targets: Targets
    counts: Counts
    mixture: Reweighting
    opponent: Opponent | None = None
    sensitivity: LearnedSensitivity | None = None
    steering: Steering | None = None
    choosing: Choosing | None = None
    source: str = field(default="", compare=False)
    """Where it was loaded from, as FILE:NAME or MODULE:NAME; empty for one that no name stands for."""
