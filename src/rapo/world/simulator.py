"""What a simulator is, for every engine: three verbs, `step`, `snapshot` and `branch`.

The learner knows this protocol and the records below, and no engine. Rows are environments; all arrays
are NumPy, float64 unless said otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rapo.arrays import Bools, Floats, Ids
from rapo.errors import InputError
from rapo.world.task import Data, States, Task

FreshDynamics = Callable[[int, np.random.Generator], Floats]
"""Draws dynamics `[n, P]` for n environments that start an episode, from the generator it is given."""


class Step(NamedTuple):
    """What one step of N environments gave. Finished environments have been reset already."""

    observation: Floats
    """What the policy acts on next, `[N, observation]`: the first of a new episode where one ended."""
    next_observation: Floats
    """Where the step itself led, `[N, observation]`: the last of the episode where one ended."""
    reward: Floats
    """`[N]`; 0 where the simulation diverged."""
    terminated: Bools
    """`[N]`, the task ended the episode."""
    truncated: Bools
    """`[N]`, the time limit or a divergence cut the episode off."""
    diverged: Bools
    """`[N]`, the physics failed: the step is not to be learned from, and next_observation is the one
    before it."""

    @property
    def done(self) -> Bools:
        """`[N]`, an episode ended here, for whatever reason."""
        return self.terminated | self.truncated


@dataclass(frozen=True)
class Snapshot:
    """The full state of environments, one row each; rows can be selected and put together."""

    task: str
    """The name of their task."""
    physics: Floats
    """`[B, state]`, the engine's own state, then what episodes carry along."""
    memory: Floats
    """`[B, memory]`, what the task remembers for the reward of the next step."""
    observation: Floats
    """`[B, observation]`, what the policy sees."""
    dynamics: Floats
    """`[B, P]`, the parameter values of the episodes."""
    elapsed: NDArray[np.int64]
    """`[B]`, steps since the episode began."""
    seed: NDArray[np.int64]
    """`[B]`, the seed of the simulator."""
    clock: NDArray[np.int64]
    """`[B]`, how often the simulator has moved on: with the seed, it picks the next random streams."""

    def __len__(self) -> int:
        return len(self.physics)

    def __getitem__(self, rows: int | slice | NDArray[np.intp] | Bools) -> "Snapshot":
        rows = slice(rows, rows + 1 or None) if isinstance(rows, int) else rows
        return replace(self, **{name: array[rows] for name, array in self.arrays().items()})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that have a row for each environment, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "task"}

    @staticmethod
    def concatenate(snapshots: Sequence["Snapshot"]) -> "Snapshot":
        """The rows of several snapshots of one task, one after the other."""
        tasks = {snapshot.task for snapshot in snapshots}
        if len(tasks) != 1:
            raise InputError(f"snapshots of {len(tasks)} tasks were given: allowed are snapshots of one task")
        names = snapshots[0].arrays()
        return Snapshot(
            tasks.pop(), **{name: np.concatenate([getattr(s, name) for s in snapshots]) for name in names}
        )


@dataclass(frozen=True)
class Branches:
    """Where B state-action pairs lead under each of K models."""

    observation: Floats
    """`[B, K, observation]`; NaN where not valid."""
    reward: Floats
    """`[B, K]`; NaN where not valid."""
    terminated: Bools
    """`[B, K]`; False where not valid."""
    valid: Bools
    """`[B, K]`, simulated and not diverged."""
    diverged: Bools
    """`[B, K]`, simulated, but the physics failed."""

    @staticmethod
    def concatenate(parts: Sequence["Branches"]) -> "Branches":
        """The branches of several lots of pairs under as many models, one lot after the other."""
        names = [f.name for f in fields(Branches)]
        return Branches(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


@dataclass(frozen=True)
class Divergence:
    """A simulation that failed, with what is needed to make it fail again."""

    environment: int
    """The number of its environment."""
    snapshot: Snapshot
    """One row: the environment before the step."""
    action: Floats
    """`[action]`, the action of the step."""
    force: Floats | None
    """`[bodies, 6]`, the forces of the step, if there were any."""


Choice = Callable[[Branches], Ids]
"""Picks one of K branches for each of N environments, `[N]`, given where they lead."""


class Simulator(Protocol):
    """N environments of one task, each under its own dynamics."""

    @property
    def task(self) -> Task:
        """The task that is simulated."""
        ...

    @property
    def num_envs(self) -> int:
        """N, the number of environments."""
        ...

    @property
    def observation(self) -> Floats:
        """What the policy acts on now, `[N, observation]`."""
        ...

    @property
    def dynamics(self) -> Floats:
        """The parameter values of the episodes, `[N, P]`, in force unless a step is given its own."""
        ...

    @property
    def data(self) -> Data:
        """The fields that the task reads, of all environments, as they are now: not to be written."""
        ...

    fresh: FreshDynamics | None
    """Draws the dynamics of every episode that begins from now on; None leaves them as they are."""
    divergences: int
    """How many environment steps have diverged so far; a run that resumes sets it."""

    @property
    def diverged_cases(self) -> Sequence[Divergence]:
        """The latest divergences, with what reproduces them."""
        ...

    def reset(self, dynamics: ArrayLike | None = None, states: States | None = None) -> Floats:
        """Start every episode anew, under other dynamics where given; return the observations.

        states: qpos `[N, nq]` and qvel `[N, nv]` to start from, and userdata if the task keeps any; drawn by
        the task where they are not given.
        """
        ...

    def retire(self, rows: Bools) -> None:
        """Stop these environments `[N]`: `step` does not move them until a reset or a restore."""
        ...

    def step(
        self,
        actions: ArrayLike,
        forces: ArrayLike | None = None,
        dynamics: ArrayLike | None = None,
    ) -> Step:
        """Take one step with actions `[N, action]` and forces `[N, bodies, 6]` on the named bodies.

        A force is three components of force and three of torque, in the world frame, at the body's centre
        of mass; it acts for this step only. So do dynamics `[N, P]`: without them, steps are taken under the
        dynamics of the episodes.
        """
        ...

    def step_among(self, actions: ArrayLike, models: ArrayLike, choose: Choice) -> Step:
        """Take one step with actions `[N, action]` under each of K models, and go on from one of them.

        models: `[K, P]` for all environments, or `[N, K, P]` for each its own; choose: picks a branch for
        each environment. The episodes keep their dynamics.
        """
        ...

    def snapshot(self, rows: Ids | None = None) -> Snapshot:
        """A copy of the full state, of all environments or of some `rows`."""
        ...

    def restore(self, snapshot: Snapshot) -> Floats:
        """Go on from a snapshot of N rows exactly as after it was taken; return the observations."""
        ...

    def branch(
        self,
        snapshot: Snapshot,
        actions: ArrayLike,
        models: ArrayLike,
        only: ArrayLike | None = None,
        forces: ArrayLike | None = None,
    ) -> Branches:
        """From B pairs of a snapshot row and an action `[B, action]`, one step under each of K models.

        models: `[K, P]` dynamics, or `[B, K, P]` for each pair its own; only: `[B, K]` bool, which pairs to
        simulate (default: all); forces: `[B, bodies, 6]`, shared by the branches of a pair. The environments
        stay as they are.
        """
        ...
