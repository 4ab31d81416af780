"""The simulator on CPU threads: `Simulator` for MuJoCo through mjbatch.

Environments live in one batch and branches in another, so branching can't disturb the environments.
Results depend on the seed alone: not on the number of threads, nor on the chunk size.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
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
    checked_choice,
    checked_dynamics,
    checked_forces,
    checked_mask,
    checked_models,
    checked_states,
)
from rapo.world.branching import Fan, as_branches, diverged_rows
from rapo.world.physics import Physics
from rapo.world.simulator import Branches, Choice, Divergence, FreshDynamics, Snapshot, Step
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
        self._fan: Fan | None = None
        self._fixed = np.array([not p.within_episode for p in task.dynamics], bool)
        self._borrowed = False
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
        """The parameter values of the episodes, `[N, P]`, in force unless a step is given its own."""
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

    def step(
        self,
        actions: ArrayLike,
        forces: ArrayLike | None = None,
        dynamics: ArrayLike | None = None,
    ) -> Step:
        """Take one step with actions `[N, action]` and forces `[N, bodies, 6]` on the named bodies.

        dynamics: `[N, P]` or `[P]`, in force for this step only; by default those of the episodes.
        """
        actions = checked_actions(actions, self.task, self.num_envs)
        forces = checked_forces(forces, len(self._force_bodies), self.num_envs)
        if dynamics is not None:
            dynamics = checked_dynamics(dynamics, self.task, self.num_envs)
            self._refuse_moved(dynamics, self._dynamics)
        self._physics.keep()
        try:
            self._put_in_force(dynamics)
            failed, read = self._step(actions, forces)
            rows = self._dynamics if dynamics is None else dynamics
            return self._finish(actions, forces, rows, read, diverged_rows(failed, read))
        except BaseException:
            self._physics.load(self._physics.kept())
            raise

    def _put_in_force(self, dynamics: Floats | None) -> None:
        """Put rows `[N, P]` into the physics for a step, or those of the episodes back."""
        if dynamics is not None or self._borrowed:
            self._borrowed = True
            self._physics.set_dynamics(self._dynamics if dynamics is None else dynamics, remember=True)
            self._borrowed = dynamics is not None

    def _refuse_moved(self, dynamics: Floats, own: Floats) -> None:
        """Refuse dynamics `[..., P]` that change what an episode keeps from its `own` to its end."""
        moved = self._fixed & (dynamics != own)
        if moved.any():
            name = self.task.dynamics.names[np.argwhere(moved)[0][-1]]
            raise InputError(
                f"parameter '{name}' was given another value for a step than its episode has: "
                "it can't change within an episode"
            )

    def _step(self, actions: Floats, forces: Floats | None) -> tuple[Bools | None, Reading]:
        """Advance the physics by one step: which simulations `[N]` failed, and what was read off them."""
        task, physics = self.task, self._physics
        before = task.drive(physics.data, actions)
        if forces is not None:
            physics.xfrc_applied[:, self._force_bodies] += forces
        failed = physics.step(task.frame_skip, self._moving, before)
        if forces is not None:
            physics.xfrc_applied[:, self._force_bodies] = 0
        return failed, self._read(physics.data, self._memory, actions)

    def _finish(
        self, actions: Floats, forces: Floats | None, rows: Floats, read: Reading, diverged: Bools | None
    ) -> Step:
        """Make a step under dynamics `rows` of what was read, and begin new episodes where one ended."""
        memory, next_observation, reward, terminated, _ = read
        elapsed = self._elapsed + 1
        truncated = elapsed >= self.task.time_limit
        if diverged is not None:
            self._record(diverged, actions, forces, rows)
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

    def step_among(self, actions: ArrayLike, models: ArrayLike, choose: Choice) -> Step:
        """Take one step under each of K models, and go on from the branch that `choose` picks."""
        if self._moving is not None:
            raise InputError("step_among was called while environments are retired: reset them first")
        n = self.num_envs
        actions = checked_actions(actions, self.task, n)
        rows = checked_models(models, self.task, n)
        k = rows.shape[-2]
        self._refuse_moved(rows, self._dynamics[:, None])
        fan = self._branching()
        fan.prepare(rows, n)
        self._physics.keep()
        mask = np.ones((n, k), bool)
        read, diverged = fan.step(self._physics.kept(), self._memory, actions, mask)
        picked = checked_choice(choose(as_branches(read, diverged, mask)), n, k)
        chosen = self._all * k + picked
        one = Reading(
            read.memory[chosen],
            read.observation[chosen],
            read.reward[chosen],
            read.terminated[chosen],
            read.finite,
        )
        try:
            self._physics.adopt(fan.physics, chosen)
            self._borrowed = True
            taken = rows[picked] if rows.ndim == 2 else rows[self._all, picked]
            return self._finish(actions, None, taken, one, None if diverged is None else diverged[chosen])
        except BaseException:
            self._physics.load(self._physics.kept())
            raise

    def snapshot(self, rows: Ids | None = None) -> Snapshot:
        """A copy of the full state, of all environments or of some `rows`."""
        return self._snapshot(self._physics.save(rows), rows)

    def restore(self, snapshot: Snapshot) -> Floats:
        """Go on from a snapshot of N rows exactly as after it was taken; return the observations."""
        check_snapshot(snapshot, self.task, self._physics.size)
        if len(snapshot) != self.num_envs:
            raise InputError(
                f"a snapshot of {len(snapshot)} rows was given to {self.num_envs} environments: "
                "restoring needs one row for each"
            )
        self._dynamics = checked_dynamics(snapshot.dynamics, self.task, self.num_envs)
        self._physics.set_dynamics(self._dynamics)
        self._borrowed = False
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
        rows = checked_models(models, task, pairs)
        k = rows.shape[-2]
        actions = checked_actions(actions, task, pairs)
        forces = checked_forces(forces, len(self._force_bodies), pairs)
        mask = checked_mask(only, pairs, k)
        at_a_time = max(1, min(self._chunk // k, pairs))
        fan, parts = self._branching(), []
        for start in range(0, pairs, at_a_time):
            chunk = slice(start, min(start + at_a_time, pairs))
            fan.prepare(rows if rows.ndim == 2 else rows[chunk], min(at_a_time, pairs - start))
            pushed = None if forces is None else forces[chunk]
            read, diverged = fan.step(
                snapshot.physics[chunk], snapshot.memory[chunk], actions[chunk], mask[chunk], pushed
            )
            parts.append(as_branches(read, diverged, mask[chunk]))
        return Branches.concatenate(parts)

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
        if fresh is not None or self._borrowed:
            self._physics.set_dynamics(self._dynamics[ids], ids)
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

    def _snapshot(self, state: Floats, rows: Ids | None = None) -> Snapshot:
        every = self._all if rows is None else rows
        return Snapshot(
            task=self.task.name,
            physics=state,
            memory=self._memory[every],
            observation=self._observation if rows is None else self._observation[rows],
            dynamics=self._dynamics[every],
            elapsed=self._elapsed[every],
            seed=np.full(len(every), self._seed),
            clock=np.full(len(every), self._clock),
        )

    def _record(self, diverged: Bools, actions: Floats, forces: Floats | None, rows: Floats) -> None:
        """Count the diverged environments `[N]`, and keep what reproduces them, dynamics `rows` included."""
        self.divergences += int(diverged.sum())
        before = replace(self._snapshot(self._physics.kept()), dynamics=rows.copy())
        for i in np.flatnonzero(diverged)[:KEPT_DIVERGENCES].tolist():
            force = None if forces is None else forces[i].copy()
            self.diverged_cases.append(Divergence(i, before[i], actions[i].copy(), force))

    def _branching(self) -> Fan:
        """The simulations in which branches are taken, made when they are first needed."""
        if self._fan is None:
            self._fan = Fan(self.task, self._read, self._force_bodies, self._threads)
        return self._fan


def _read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array
