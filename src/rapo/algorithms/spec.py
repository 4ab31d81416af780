"""What an algorithm is: a record of five parts, each answering one question.

    dynamics   under which physics are episodes played, and which models make up the ensemble?
    targets    what is a step worth, given where it led and where the models say it might have led?
    counts     which trajectories does the policy learn from?
    mixture    how do the weights of the models move between updates?
    opponent   does an adversary push the robot?

A part is a frozen dataclass: its fields are its options. Its methods are pure JAX and run inside the one
compiled update, unless their docstring says "on the host". Whatever a part learns or remembers is a pytree
that it makes in `init` and hands on; the train state keeps it. A new algorithm is `dataclasses.replace` of an
old one, or a few lines with a part of its own.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from rapo.arrays import Floats, Singles
from rapo.heavy import Array
from rapo.learner.advantages import branch_values
from rapo.world.dynamics import Dynamics
from rapo.world.simulator import FreshDynamics
from rapo.world.task import Task

Report = dict[str, Array]
"""What goes into the metrics: scalars, or one number for each model."""


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


class Steps(NamedTuple):
    """B = T N steps, row t N + n being step t of environment n. Rewards are in scaled units."""

    inputs: Array
    """`[B, observation + action]`, known before the step: the normalised observation, then the action."""
    value: Array
    """`[B]`, the critic's value before the step."""
    reward: Array
    """`[B]`."""
    terminated: Array
    """`[B]`."""
    next_value: Array
    """`[B]`, the critic's value of where the step led."""
    played: Array
    """`[B, K]`, whether the step was taken under this model of the ensemble, and the physics did not fail."""
    branches: ValuedBranches | None
    """Where the steps lead under the models, if the algorithm asked for branches."""
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
