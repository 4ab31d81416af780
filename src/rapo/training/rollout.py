"""Rollouts and branches: the only bridge between the simulators, in NumPy, and the learner, in JAX.

Policies are copied to the host once a rollout and act there, since a small network takes less time than a
call to the device; the rollout goes to the device at its end, all at once. The learner sees float32 arrays,
`[T, N, ...]` for steps and `[B, K, ...]` for branches.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from threadpoolctl import ThreadpoolController

from rapo.arrays import Bools, Floats, Singles
from rapo.heavy import Array
from rapo.learner.networks import Policy
from rapo.learner.normalize import LIMIT, Running, deviation
from rapo.world.simulator import Simulator, Snapshot


class Rollout(NamedTuple):
    """T steps of N environments."""

    observation: Array
    """`[T, N, observation]`, what the policy saw before each step."""
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
    played: Array
    """`[T, N, K]`, the episode is played under this model of the ensemble; no more than one is true."""


class BranchedSteps(NamedTuple):
    """Where B state-action pairs led under each of K models; only what is `valid` means anything."""

    observation: Array
    """`[B, K, observation]`."""
    reward: Array
    """`[B, K]`."""
    terminated: Array
    """`[B, K]`."""
    valid: Array
    """`[B, K]`, simulated and not diverged."""


class HostPolicy:
    """A policy on the host: observations in, mean actions out, computed in numbers of type `kind`."""

    def __init__(self, policy: Policy, observations: Running, kind: DTypeLike = np.float32) -> None:
        self._kind = kind
        *self._hidden, self._last = (
            (np.asarray(layer["kernel"], kind), np.asarray(layer["bias"], kind)) for layer in policy.mean
        )
        self._centre = np.asarray(observations.mean, np.float64)  # the type of observations
        self._deviation = np.asarray(deviation(observations), np.float64)
        self._limit = np.asarray(LIMIT, kind)
        self.std = np.exp(np.asarray(policy.log_std))
        """`[action]`, standard deviations of the actions."""

    def __call__(self, observation: Floats) -> Singles:
        """Mean actions `[..., action]` for observations `[..., observation]`.

        It computes in place where possible, since the physics between two calls leaves no cache warm.
        """
        x = observation - self._centre
        x /= self._deviation
        x = x.astype(self._kind)
        np.maximum(x, -self._limit, out=x)
        np.minimum(x, self._limit, out=x)
        for kernel, bias in self._hidden:
            x = x.dot(kernel)
            x += bias
            np.tanh(x, out=x)
        kernel, bias = self._last
        x = x.dot(kernel)
        x += bias
        return x


def one_thread() -> AbstractContextManager[Any]:
    """Keep NumPy's matrix products to one thread: more would spin on cores that the physics needs."""
    return _threads.limit(limits=1, user_api="blas")


_threads = ThreadpoolController()


@dataclass(frozen=True)
class Visited:
    """The B = T N state-action pairs of a rollout, as a simulator needs them to branch."""

    snapshot: Snapshot
    controls: Floats
    """`[B, action]`, actions clipped to what the actuators follow."""
    forces: Floats | None
    """`[B, bodies, 6]`, if an opponent pushed."""


def collect(
    simulator: Simulator,
    policies: Sequence[Policy],
    observations: Running,
    rng: np.random.Generator,
    horizon: int,
    models: Floats,
    forces: Callable[[Singles], Floats] | None = None,
    keep: bool = False,
) -> tuple[Rollout, Visited | None]:
    """A rollout of `horizon` steps in which the first policy acts, and a second one, if any, pushes.

    models: those of the ensemble, `[K, P]`; forces: turns the second policy's actions into forces. Controls
    are clipped to what the actuators follow. With `keep`, the pairs to branch from are returned too.
    """
    low, high = simulator.task.action_range
    players = [HostPolicy(policy, observations) for policy in policies]
    noise = [
        player.std * rng.standard_normal((horizon, simulator.num_envs, len(player.std)), np.float32)
        for player in players
    ]
    steps, acted, controls, pushes, snapshots, dynamics = [], [], [], [], [], []
    seen = [simulator.observation]
    with one_thread():
        for t in range(horizon):
            if keep:
                snapshots.append(simulator.snapshot())
            dynamics.append(simulator.dynamics)
            actions = [player(seen[-1]) + z[t] for player, z in zip(players, noise, strict=True)]
            acted.append(actions)
            controls.append(np.minimum(np.maximum(actions[0], low), high))
            pushes.append(None if forces is None else forces(actions[1]))
            steps.append(simulator.step(controls[-1], pushes[-1]))
            seen.append(steps[-1].observation)
    terminated = np.stack([step.terminated for step in steps])
    rollout = Rollout(
        observation=_singles(seen[:-1]),
        actions=tuple(_singles(each) for each in zip(*acted, strict=True)),
        reward=_singles([step.reward for step in steps]),
        next_observation=_singles([step.next_observation for step in steps]),
        terminated=for_device(terminated),
        ended=for_device(terminated | np.stack([step.truncated for step in steps])),
        valid=for_device(~np.stack([step.diverged for step in steps])),
        played=for_device((np.stack(dynamics)[:, :, None] == models).all(axis=-1)),
    )
    if not keep:
        return rollout, None
    pushed = None if forces is None else np.concatenate(pushes)
    return rollout, Visited(Snapshot.concatenate(snapshots), np.concatenate(controls), pushed)


def branch(simulator: Simulator, visited: Visited, models: Floats, only: Bools | None) -> BranchedSteps:
    """One step from every visited pair under each of K models `[K, P]`, or where `only` `[B, K]` is True."""
    branches = simulator.branch(visited.snapshot, visited.controls, models, only, visited.forces)
    return BranchedSteps(
        for_device(branches.observation.astype(np.float32)),
        for_device(branches.reward.astype(np.float32)),
        for_device(branches.terminated),
        for_device(branches.valid),
    )


def for_device(array: NDArray[Any]) -> Array:
    """The NumPy array itself, typed as JAX's: a compiled call moves it faster than `jnp.asarray` would."""
    return cast(Array, array)


def _singles(rows: Sequence[NDArray[Any]]) -> Array:
    return for_device(np.stack(rows, dtype=np.float32, casting="same_kind"))
