"""The bridge between host and device, and the only one: policies act in a simulator, branches come back.

Every step crosses twice, observations in and actions out; everything else waits for the end of the rollout
and crosses at once. The learner sees float32 arrays, `[T, N, ...]` for steps and `[B, K, ...]` for branches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from rapo.learner.networks import Policy, forward
from rapo.learner.normalize import Running, normalise
from rapo.world.simulator import Simulator, Snapshot
from rapo.world.task import Bools, Floats

Singles = NDArray[np.float32]


class Rollout(NamedTuple):
    """T steps of N environments."""

    observation: Array
    """`[T, N, observation]`, what was acted on."""
    actions: tuple[Array, ...]
    """`[T, N, action]` of each player, as drawn: before they were clipped or became forces."""
    reward: Array
    """`[T, N]`."""
    next_observation: Array
    """`[T, N, observation]`, where each step led."""
    terminated: Array
    """`[T, N]`, the task ended the episode."""
    ended: Array
    """`[T, N]`, the episode ended, for whatever reason."""
    valid: Array
    """`[T, N]`, the physics did not fail."""


class Branched(NamedTuple):
    """Where B pairs led under each of K models; anything where not valid."""

    observation: Array
    """`[B, K, observation]`."""
    reward: Array
    """`[B, K]`."""
    terminated: Array
    """`[B, K]`."""
    valid: Array
    """`[B, K]`, simulated and not diverged."""


@dataclass(frozen=True)
class Visited:
    """The B = T N pairs of a rollout as the simulator knows them, to branch from."""

    snapshot: Snapshot
    controls: Floats
    """`[B, action]`."""
    forces: Floats | None
    """`[B, bodies, 6]`."""


def collect(
    simulator: Simulator,
    policies: Sequence[Policy],
    observations: Running,
    key: Array,
    horizon: int,
    forces: Callable[[Singles], Floats] | None = None,
    keep: bool = False,
) -> tuple[Rollout, Visited | None]:
    """Let the first policy act for `horizon` steps, and a second one push: `forces` says how.

    Controls are clipped to what the actuators follow. With `keep`, the pairs can be branched from.
    """
    low, high = simulator.task.action_range
    noise = [
        np.asarray(jax.random.normal(player_key, (horizon, simulator.num_envs, len(policy.log_std))))
        for player_key, policy in zip(jax.random.split(key, len(policies)), policies, strict=True)
    ]
    steps, acted, controls, pushes, snapshots = [], [], [], [], []
    seen = [simulator.observation]
    for t in range(horizon):
        if keep:
            snapshots.append(simulator.snapshot())
        actions = [np.asarray(a) for a in _act(policies, observations, seen[-1], [z[t] for z in noise])]
        acted.append(actions)
        controls.append(np.clip(actions[0], low, high))
        pushes.append(None if forces is None else forces(actions[1]))
        steps.append(simulator.step(controls[-1], pushes[-1]))
        seen.append(steps[-1].observation)
    terminated = np.stack([step.terminated for step in steps])
    rollout = Rollout(
        observation=_on_device(seen[:-1]),
        actions=tuple(_on_device(each) for each in zip(*acted, strict=True)),
        reward=_on_device([step.reward for step in steps]),
        next_observation=_on_device([step.next_observation for step in steps]),
        terminated=jnp.asarray(terminated),
        ended=jnp.asarray(terminated | np.stack([step.truncated for step in steps])),
        valid=jnp.asarray(~np.stack([step.diverged for step in steps])),
    )
    if not keep:
        return rollout, None
    pushed = None if forces is None else np.concatenate(pushes)
    return rollout, Visited(Snapshot.concatenate(snapshots), np.concatenate(controls), pushed)


def branch(simulator: Simulator, visited: Visited, models: Floats, only: Bools | None) -> Branched:
    """One step from every visited pair under each of K models `[K, P]`, or `only` some `[B, K]`."""
    branches = simulator.branch(visited.snapshot, visited.controls, models, only, visited.forces)
    return Branched(
        jnp.asarray(branches.observation, jnp.float32),
        jnp.asarray(branches.reward, jnp.float32),
        jnp.asarray(branches.terminated),
        jnp.asarray(branches.valid),
    )


@jax.jit
def _act(
    policies: Sequence[Policy], observations: Running, observation: Array, noise: Sequence[Array]
) -> list[Array]:
    seen = normalise(observations, observation)
    return [
        forward(policy.mean, seen) + jnp.exp(policy.log_std) * z
        for policy, z in zip(policies, noise, strict=True)
    ]


def _on_device(rows: Sequence[NDArray]) -> Array:
    return jnp.asarray(np.stack(rows), jnp.float32)
