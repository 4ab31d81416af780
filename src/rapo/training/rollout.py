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

from rapo.arrays import Bools, Floats, Ids, Singles
from rapo.heavy import Array
from rapo.learner.networks import Policy
from rapo.learner.normalize import LIMIT, Running, deviation
from rapo.world.simulator import Simulator, Snapshot, Step


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
    centre: Array | None = None
    """`[T, N, P]`, the dynamics of the episodes in training half-widths, if the algorithm has
    sensitivities."""
    units: Array | None = None
    """`[T, N, P]`, the dynamics under which the steps were taken, likewise."""


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


class Probed(NamedTuple):
    """R steps of a rollout, each taken again under D other dynamics."""

    pairs: Array
    """`[R]`, numbers t N + n of the steps."""
    units: Array
    """`[R, D, P]`, the other dynamics, in training half-widths."""
    branches: BranchedSteps
    """`[R, D]`, where the steps led."""
    batches: Array
    """`[steps, rows]`, places in the memory of probes for each optimiser step of the network."""


Advance = Callable[[Floats, Singles, Floats, Floats], tuple[Step, Floats]]
"""Takes one step from observations, actions, controls and the dynamics of the episodes `[N, P]`: the step,
and the dynamics `[N, P]` under which it was taken."""


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

    @property
    def size(self) -> int:
        """How many numbers an observation has."""
        return len(self._centre)

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

    def __getitem__(self, rows: Ids) -> "Visited":
        forces = None if self.forces is None else self.forces[rows]
        return Visited(self.snapshot[rows], self.controls[rows], forces)


def collect(
    simulator: Simulator,
    policies: Sequence[Policy],
    observations: Running,
    rng: np.random.Generator,
    horizon: int,
    models: Floats,
    forces: Callable[[Singles], Floats] | None = None,
    keep: Ids | bool = False,
    advance: Advance | None = None,
    sensed: bool = False,
) -> tuple[Rollout, Visited | None]:
    """A rollout of `horizon` steps in which the first policy acts, and a second one, if any, pushes.

    models: those of the ensemble, `[K, P]`; forces: turns the second policy's actions into forces; keep:
    whether to return the pairs to branch from too, all of them or those numbers t N + n, ascending; advance:
    takes steps where not all of an episode is played under one model; sensed: whether to say under which
    dynamics steps were taken. Controls are clipped to what the actuators follow.
    """
    low, high = simulator.task.action_range
    units = simulator.task.dynamics.units
    players = [HostPolicy(policy, observations) for policy in policies]
    noise = [
        player.std * rng.standard_normal((horizon, simulator.num_envs, len(player.std)), np.float32)
        for player in players
    ]
    steps, acted, controls, pushes, snapshots, dynamics, unders = [], [], [], [], [], [], []
    seen = [simulator.observation]
    kept = _by_step(keep, horizon, simulator.num_envs)
    with one_thread():
        for t in range(horizon):
            if kept is not None and ((rows := kept[t]) is None or len(rows)):
                snapshots.append(simulator.snapshot(rows))
            dynamics.append(simulator.dynamics)
            actions = [player(seen[-1]) + z[t] for player, z in zip(players, noise, strict=True)]
            acted.append(actions)
            controls.append(np.minimum(np.maximum(actions[0], low), high))
            pushes.append(None if forces is None else forces(actions[1]))
            if advance is None:
                step, under = simulator.step(controls[-1], pushes[-1]), dynamics[-1]
            else:
                step, under = advance(seen[-1], actions[0], controls[-1], dynamics[-1])
            steps.append(step)
            unders.append(under)
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
        centre=for_device(units(np.stack(dynamics)).astype(np.float32)) if sensed else None,
        units=for_device(units(np.stack(unders)).astype(np.float32)) if sensed else None,
    )
    if kept is None:
        return rollout, None
    pairs = slice(None) if isinstance(keep, bool) else keep
    pushed = None if forces is None else np.concatenate(pushes)[pairs]
    return rollout, Visited(Snapshot.concatenate(snapshots), np.concatenate(controls)[pairs], pushed)


def _by_step(pairs: Ids | bool, horizon: int, num_envs: int) -> list[Ids | None] | None:
    """For every step t the numbers n among numbers t N + n, ascending, or None for all of a step."""
    if isinstance(pairs, bool):
        return [None for _ in range(horizon)] if pairs else None
    ends = np.searchsorted(pairs, np.arange(1, horizon) * num_envs)
    return [rows % num_envs for rows in np.split(pairs, ends)]


def branch(
    simulator: Simulator, visited: Visited, models: Floats, only: Bools | None = None
) -> BranchedSteps:
    """One step from every visited pair under each of K models, or where `only` `[B, K]` is True.

    models: `[K, P]`, or `[B, K, P]` for each pair its own.
    """
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
