"""The simulator on CPU threads: `Simulator` for MuJoCo through mjbatch.

Environments live in one batch and branches in another, so branching can't disturb the environments.
Results depend on the seed alone: not on the number of threads, nor on the chunk size.
"""

from collections import deque
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rapo.arrays import Bools, Floats, Ids
from rapo.errors import InputError
from rapo.ranges import check_seed
from rapo.world.arguments import (
    body_ids,
    check_counts,
    check_snapshot,
    checked_actions,
    checked_dynamics,
    checked_forces,
    checked_mask,
    checked_states,
)
from rapo.world.physics import Physics
from rapo.world.simulator import Branches, Divergence, FreshDynamics, Snapshot, Step
from rapo.world.step_reader import Reader, Reading
from rapo.world.streams import DYNAMICS, STATES, stream
from rapo.world.task import Data, States, Task

KEPT_DIVERGENCES = 16
"""How many of the latest divergences are kept to be reproduced."""

Array = TypeVar("Array", bound=np.ndarray)


class MujocoSimulator:
    """N environments of a task; see `rapo.world.simulator.Simulator` for the verbs.

    dynamics: `[N, P]` or `[P]` parameter values, nominal if not given; fresh: draws the dynamics of every
    later episode, and of the first episodes too if `dynamics` is not given; force_bodies: bodies that `step`
    may push; threads: 0 means all cores; chunk: how many branches are simulated at a time, but at least one
    for each model.
    """

    def __init__(
        self,
        task: Task,
        num_envs: int,
        *,
        seed: int,
        dynamics: ArrayLike | None = None,
        fresh: FreshDynamics | None = None,
        force_bodies: Sequence[str] = (),
        threads: int = 0,
        chunk: int = 4096,
    ) -> None:
        check_counts(num_envs, threads, chunk)
        self.task = task
        self.num_envs = num_envs
        self.fresh = fresh
        self.divergences = 0
        self.diverged_cases: deque[Divergence] = deque(maxlen=KEPT_DIVERGENCES)
        self._force_bodies = body_ids(task.model, force_bodies)
        self._threads = threads
        self._chunk = chunk
        self._seed = check_seed(seed)
        self._dynamics = task.dynamics.nominal(num_envs)
        self._physics = Physics(task, num_envs, threads)
        self._read = Reader(task, threads)
        self._physics.set_dynamics(self._dynamics)
        self._branching: Physics | None = None
        self._branching_models = np.empty((0, len(task.dynamics)))
        self._all: Ids = np.arange(num_envs)
        self._moving: Ids | None = None
        self._none: Bools = _read_only(np.zeros(num_envs, bool))
        self._memory = np.empty((num_envs, task.memory_size))
        self._observation = np.empty((num_envs, task.observation_size))
        self._elapsed = np.zeros(num_envs, np.int64)
        self._clock = 0
        self.reset(dynamics)

    @property
    def observation(self) -> Floats:
        """What the policy acts on now, `[N, observation]`, read-only."""
        return self._observation

    @property
    def data(self) -> Data:
        """The fields that the task reads, of all environments, as they are now: not to be written."""
        return self._physics.data

    @property
    def dynamics(self) -> Floats:
        """The parameter values in force, `[N, P]`."""
        return self._dynamics.copy()

    def reset(self, dynamics: ArrayLike | None = None, states: States | None = None) -> Floats:
        """Start every episode anew, under other dynamics and from given states where they are given."""
        states = None if states is None else checked_states(states, self.task, self.num_envs)
        if dynamics is not None:
            self._dynamics = checked_dynamics(dynamics, self.task, self.num_envs)
            self._physics.set_dynamics(self._dynamics)
        memory, observation = np.empty_like(self._memory), np.empty_like(self._observation)
        self._begin(self._all, memory, observation, self.fresh if dynamics is None else None, states)
        self._moved_on(memory, observation, np.zeros(self.num_envs, np.int64))
        self._moving = None
        return self._observation

    def retire(self, rows: Bools) -> None:
        """Stop these environments `[N]`: `step` does not move them until a reset or a restore."""
        moving = self._all if self._moving is None else self._moving
        self._moving = moving[~rows[moving]]

    def step(self, actions: ArrayLike, forces: ArrayLike | None = None) -> Step:
        """Take one step with actions `[N, action]` and forces `[N, bodies, 6]` on the named bodies."""
        actions = checked_actions(actions, self.task, self.num_envs)
        forces = checked_forces(forces, len(self._force_bodies), self.num_envs)
        self._physics.keep()
        try:
            return self._step(actions, forces)
        except BaseException:
            self._physics.load(self._physics.kept())
            raise

    def _step(self, actions: Floats, forces: Floats | None) -> Step:
        """Take one step; if anything is raised, only the physics has changed, and `step` puts it back."""
        task, physics = self.task, self._physics
        before = task.drive(physics.data, actions)
        if forces is not None:
            physics.xfrc_applied[:, self._force_bodies] += forces
        failed = physics.step(task.frame_skip, self._moving, before)
        if forces is not None:
            physics.xfrc_applied[:, self._force_bodies] = 0
        read = self._read(physics.data, self._memory, actions)
        memory, next_observation, reward, terminated, _ = read
        elapsed = self._elapsed + 1
        truncated = elapsed >= task.time_limit
        diverged = _diverged(failed, read)
        if diverged is not None:
            self._record(diverged, actions, forces)
            next_observation[diverged] = self._observation[diverged]
            reward[diverged] = 0
            terminated &= ~diverged
            truncated |= diverged
        observation = next_observation
        (ids,) = (terminated | truncated).nonzero()
        if len(ids):
            observation = next_observation.copy()
            _read_only(next_observation)
            elapsed[ids] = 0
            self._begin(ids, memory, observation, self.fresh)
        self._moved_on(memory, observation, elapsed)
        return Step(
            observation,
            next_observation,
            reward,
            terminated,
            truncated,
            self._none if diverged is None else diverged,
        )

    def snapshot(self) -> Snapshot:
        """A copy of the full state."""
        return self._snapshot(self._physics.save())

    def restore(self, snapshot: Snapshot) -> Floats:
        """Go on from a snapshot of N rows exactly as after it was taken; return the observations."""
        check_snapshot(snapshot, self.task, self._physics.size)
        if len(snapshot) != self.num_envs:
            raise InputError(
                f"a snapshot of {len(snapshot)} rows was given to {self.num_envs} environments: "
                "restoring needs one row for each"
            )
        if not np.array_equal(snapshot.dynamics, self._dynamics):
            self._dynamics = checked_dynamics(snapshot.dynamics, self.task, self.num_envs)
            self._physics.set_dynamics(self._dynamics)
        self._physics.load(snapshot.physics)
        self._memory = snapshot.memory.copy()
        self._observation = _read_only(snapshot.observation.copy())
        self._elapsed = snapshot.elapsed.copy()
        self._seed, self._clock = int(snapshot.seed[0]), int(snapshot.clock[0])
        self._moving = None
        return self._observation

    def branch(
        self,
        snapshot: Snapshot,
        actions: ArrayLike,
        models: ArrayLike,
        only: ArrayLike | None = None,
        forces: ArrayLike | None = None,
    ) -> Branches:
        """From B pairs of a snapshot row and an action `[B, action]`, one step under each of K models."""
        check_snapshot(snapshot, self.task, self._physics.size)
        task, pairs = self.task, len(snapshot)
        models = task.dynamics.check(models)
        k = len(models)
        actions = checked_actions(actions, task, pairs)
        forces = checked_forces(forces, len(self._force_bodies), pairs)
        mask = checked_mask(only, pairs, k)
        observation = np.empty((pairs, k, task.observation_size))
        reward = np.empty((pairs, k))
        terminated = np.empty((pairs, k), bool)
        diverged = np.zeros((pairs, k), bool)
        at_a_time = max(1, min(self._chunk // k, pairs))
        physics = self._branching_physics(models, at_a_time)
        for start in range(0, pairs, at_a_time):
            chunk = slice(start, min(start + at_a_time, pairs))
            rows = chunk.stop - chunk.start
            used = slice(0, rows * k)
            physics.load(snapshot.physics[chunk], copies=k)
            data = physics.data.rows(used)
            memory, taken = (np.repeat(x[chunk], k, axis=0) for x in (snapshot.memory, actions))
            before = task.drive(data, taken)
            if forces is not None:
                pushed = physics.xfrc_applied[used].reshape(rows, k, -1, 6)
                pushed[:, :, self._force_bodies] += forces[chunk, None]
            failed = physics.step(task.frame_skip, _selected(mask, chunk, physics.n), before)
            read = self._read(data, memory, taken)
            observation[chunk] = read.observation.reshape(rows, k, -1)
            reward[chunk], terminated[chunk] = (s.reshape(rows, k) for s in (read.reward, read.terminated))
            bad = _diverged(None if failed is None else failed[used], read)
            if bad is not None:
                diverged[chunk] = bad.reshape(rows, k)
        diverged &= mask
        valid = mask & ~diverged
        observation[~valid] = np.nan
        reward[~valid] = np.nan
        terminated &= valid
        return Branches(observation, reward, terminated, valid, diverged)

    def _begin(
        self,
        ids: Ids,
        memory: Floats,
        observation: Floats,
        fresh: FreshDynamics | None,
        states: States | None = None,
    ) -> None:
        """Start new episodes in environments `ids`, and write their rows of memory and observation."""
        if fresh is not None:
            rows = self.task.dynamics.check(fresh(len(ids), stream(self._seed, self._clock, DYNAMICS)))
            if len(rows) != len(ids):
                raise InputError(f"fresh returned {len(rows)} rows of dynamics: it was asked for {len(ids)}")
            self._dynamics[ids] = rows
            self._physics.set_dynamics(rows, ids)
        if states is None:
            states = self.task.begin(self._dynamics[ids], stream(self._seed, self._clock, STATES))
        self._physics.place(ids, states)
        data = self._physics.data.rows(ids)
        memory[ids] = self.task.remember(data)
        observation[ids] = self.task.observe(data)

    def _moved_on(self, memory: Floats, observation: Floats, elapsed: NDArray[np.int64]) -> None:
        """Make these the current rows, and advance the clock of the random streams."""
        self._memory, self._observation, self._elapsed = memory, _read_only(observation), elapsed
        self._clock += 1

    def _snapshot(self, state: Floats) -> Snapshot:
        return Snapshot(
            task=self.task.name,
            physics=state,
            memory=self._memory.copy(),
            observation=self._observation,
            dynamics=self._dynamics.copy(),
            elapsed=self._elapsed.copy(),
            seed=np.full(self.num_envs, self._seed),
            clock=np.full(self.num_envs, self._clock),
        )

    def _record(self, diverged: Bools, actions: Floats, forces: Floats | None) -> None:
        """Count the diverged environments `[N]`, and keep what reproduces them."""
        self.divergences += int(diverged.sum())
        before = self._snapshot(self._physics.kept())
        for i in np.flatnonzero(diverged)[:KEPT_DIVERGENCES].tolist():
            force = None if forces is None else forces[i].copy()
            self.diverged_cases.append(Divergence(i, before[i], actions[i].copy(), force))

    def _branching_physics(self, models: Floats, at_a_time: int) -> Physics:
        """Simulations for branches, number j under model j mod K; kept while the models stay the same."""
        needed = at_a_time * len(models)
        physics = self._branching
        if physics is None or physics.n < needed or physics.n % len(models):
            physics = Physics(self.task, needed, self._threads)
        elif np.array_equal(models, self._branching_models):
            return physics
        physics.set_dynamics(np.tile(models, (physics.n // len(models), 1)))
        self._branching, self._branching_models = physics, models.copy()
        return physics


def _read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _diverged(failed: Bools | None, read: Reading) -> Bools | None:
    """Which rows `[n]` failed in the engine or are not finite; None if all rows are fine."""
    if failed is None and read.finite:
        return None
    bad = ~(np.isfinite(read.observation).all(axis=1) & np.isfinite(read.reward))
    if failed is not None:
        bad |= failed
    return bad if bad.any() else None


def _selected(mask: Bools, chunk: slice, n: int) -> Ids | None:
    """The numbers of the simulations to step for a chunk of rows of `mask`; None if all n are."""
    selected = mask[chunk].reshape(-1)
    return None if len(selected) == n and selected.all() else np.flatnonzero(selected)
