"""What an algorithm is: a record of five parts, each answering one question.

    dynamics   under which physics are episodes played, and which models make up the ensemble?
    targets    what is a step worth, given where it led and where the models say it might have led?
    counts     which trajectories does the policy learn from?
    mixture    how do the weights of the models move between updates?
    opponent   does anyone push back?

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


class Branches(NamedTuple):
    """Where B pairs lead under each of K models, valued by the critic. Rewards are in scaled units."""

    reward: Array
    """`[B, K]`."""
    terminated: Array
    """`[B, K]`."""
    next_value: Array
    """`[B, K]`."""
    valid: Array
    """`[B, K]`, simulated and not diverged; the rest means nothing."""
    shares: Array
    """`[B, K]`, the weight of each model in the target."""


class Steps(NamedTuple):
    """B = T N steps, row t N + n being step t of environment n. Rewards are in scaled units."""

    inputs: Array
    """`[B, observation + action]`, what is known before it: the normalised observation, then the action."""
    value: Array
    """`[B]`, the critic's value before the step."""
    reward: Array
    """`[B]`."""
    terminated: Array
    """`[B]`."""
    next_value: Array
    """`[B]`, the critic's value of where the step led."""
    played: Array
    """`[B, K]`, it was taken under this model of the ensemble, and the physics did not fail."""
    branches: Branches | None
    """Where the models lead, if the algorithm asked for it."""
    reward_scale: Array
    """`[]`, what a unit of scaled reward is in the task's own."""
    discount: float
    """gamma."""
    progress: Array
    """`[]`, the share of training done."""

    @property
    def taken(self) -> Array:
        """`[B]`, r + gamma (1 - d) V(s') of the step that was taken."""
        return branch_values(self.reward, self.terminated, self.next_value, self.discount)


class Trajectories(NamedTuple):
    """T steps of N environments; a trajectory is the part of an episode within them."""

    worth: Array
    """`[T, N]`, what each trajectory returned, at all of its steps."""
    ended: Array
    """`[T, N]`."""
    progress: Array
    """`[]`, the share of training done."""


class Mixture(NamedTuple):
    """The weights of K models; `memory` is whatever the reweighting remembers."""

    prior: Array
    """`[K]`."""
    weights: Array
    """`[K]`."""
    memory: Any


class Draws(Protocol):
    """How dynamics are drawn."""

    def ensemble(self, dynamics: Dynamics, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """On the host, once: the models `[K, P]` of the ensemble and their prior weights `[K]`."""
        ...

    def fresh(self, dynamics: Dynamics, models: Floats, weights: Floats) -> FreshDynamics | None:
        """On the host: what draws the dynamics of new episodes; None for nominal ones."""
        ...


class Targets(Protocol):
    """How one-step targets are made."""

    def init(self, key: Array, observation: int, action: int) -> Any:
        """What it learns, at first, given the sizes of observations and actions."""
        ...

    def shares(self, rng: np.random.Generator, weights: Array, rows: int) -> Array | None:
        """On the host: the weight `[rows, K]` of each model in each target; None where none are needed."""
        ...

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """One-step targets `[B]`, what it has learned, and what to report."""
        ...


class Counts(Protocol):
    """Which trajectories count."""

    def __call__(self, trajectories: Trajectories) -> Array:
        """Weights `[T, N]` of the steps, 0 for those not to learn from."""
        ...


class Reweighting(Protocol):
    """How the mixture moves."""

    def init(self, prior: Array) -> Mixture:
        """The mixture at first."""
        ...

    def scored(self, rows: int) -> int:
        """On the host: how many of the pairs must be branched under every model to score the models."""
        ...

    def __call__(self, mixture: Mixture, steps: Steps) -> tuple[Mixture, Report]:
        """The mixture after an update, and what to report."""
        ...


class Opponent(Protocol):
    """Who pushes back."""

    def bodies(self, task: Task) -> tuple[str, ...]:
        """On the host: which bodies may be pushed."""
        ...

    def size(self, task: Task) -> int:
        """On the host: how many numbers a push is."""
        ...

    def forces(self, task: Task, pushes: Singles) -> Floats:
        """On the host: forces `[N, bodies, 6]` for pushes `[N, size]`."""
        ...

    def learns(self, update: int) -> bool:
        """On the host: whether it is the opponent's turn to learn, and not the policy's."""
        ...


@dataclass(frozen=True)
class Algorithm:
    """A composition of parts, by name."""

    name: str
    summary: str
    """What it is, in a line."""
    dynamics: Draws
    targets: Targets
    counts: Counts
    mixture: Reweighting
    opponent: Opponent | None = None
