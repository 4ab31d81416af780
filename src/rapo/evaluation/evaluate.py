"""What a policy is worth: whole episodes with its mean actions, under given dynamics, stepped together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rapo.arrays import Bools, Floats
from rapo.errors import InputError
from rapo.training.rollout import one_thread
from rapo.world.engines import ENGINE, make_simulator
from rapo.world.find_task import as_task
from rapo.world.streams import STATES, stream
from rapo.world.task import Data, States, Task


@dataclass(frozen=True)
class Evaluated:
    """Some episodes under each of n rows of dynamics."""

    returned: Floats
    """`[n, episodes]`, the sum of rewards."""
    length: NDArray[np.int64]
    """`[n, episodes]`, how many steps each episode had."""
    terminated: Bools
    """`[n, episodes]`, ended by the task, and not by the time limit."""
    diverged: Bools
    """`[n, episodes]`, cut off because the physics failed: not to be averaged in."""

    @property
    def means(self) -> Floats:
        """`[n]`, the mean return of the episodes that did not diverge; NaN where all did."""
        good = ~self.diverged
        total = np.sum(self.returned, axis=1, where=good)
        return np.divide(total, good.sum(axis=1), out=np.full(len(total), np.nan), where=good.any(axis=1))


def evaluate(
    task: str | Task | type[Task],
    policy: Callable[[Floats], NDArray[np.floating]],
    dynamics: ArrayLike,
    *,
    episodes: int = 1,
    seed: int,
    threads: int = 0,
    engine: str = ENGINE,
    advance: Callable[[], None] = lambda: None,
    watch: Callable[[Data, Bools], None] = lambda data, running: None,
) -> Evaluated:
    """Episodes of the task as it is tested, under each row of `dynamics` `[n, P]`, drawn alike for each.

    dynamics: also `[n, episodes, P]`, if the episodes of a setting differ in theirs; policy: controls for the
    observations of episodes that still run, row by row; seed: where the initial states come from;
    engine: what simulates; advance: called once for every step of them all; watch: called before every step
    with the state of all episodes `[n * episodes]`, and which of them still run.
    """
    check_episodes(episodes)
    task, dynamics = as_task(task).tested(), np.asarray(dynamics, np.float64)
    if dynamics.ndim == 3 and dynamics.shape[1] == episodes:
        rows = task.dynamics.check(dynamics.reshape(-1, dynamics.shape[2]))
    else:
        rows = np.repeat(task.dynamics.check(dynamics), episodes, axis=0)
    n = len(rows)
    simulator = make_simulator(task, n, engine=engine, seed=seed, dynamics=rows, threads=threads)
    simulator.reset(states=initial_states(task, rows, episodes, seed))
    returned, length = np.zeros(n), np.zeros(n, np.int64)
    running, terminated, diverged = np.ones(n, bool), np.zeros(n, bool), np.zeros(n, bool)
    controls, ids = np.zeros((n, task.action_size)), np.arange(n)
    with one_thread():
        while len(ids):
            watch(simulator.data, running)
            controls[ids] = _actions(policy(simulator.observation[ids]), len(ids), task)
            step = simulator.step(controls)
            returned += np.where(running, step.reward, 0)
            length += running
            terminated |= running & step.terminated
            diverged |= running & step.diverged
            if step.done.any():
                simulator.retire(step.done)
                running &= ~step.done
                ids = np.flatnonzero(running)
            advance()
    shape = (n // episodes, episodes)
    return Evaluated(
        returned.reshape(shape), length.reshape(shape), terminated.reshape(shape), diverged.reshape(shape)
    )


def _actions(acted: ArrayLike, rows: int, task: Task) -> Floats:
    """What a policy returned for so many observations `[rows, action]`, refused if it is something else."""
    try:
        return np.broadcast_to(np.asarray(acted, np.float64), (rows, task.action_size))
    except (TypeError, ValueError):
        shape = getattr(acted, "shape", None)
        what = f"a {type(acted).__name__}" if shape is None else f"actions of shape {shape}"
        raise InputError(
            f"the policy returned {what} for {rows} observations of task '{task.name}': allowed are actions "
            f"of shape ({rows}, {task.action_size})"
        ) from None


def initial_states(task: Task, rows: Floats, episodes: int, seed: int) -> States:
    """Where episodes under dynamics `rows` `[n * episodes, P]` begin: drawn alike for each n settings."""
    drawn = [
        task.begin(rows[i : i + episodes], stream(seed, 0, STATES)) for i in range(0, len(rows), episodes)
    ]
    qpos, qvel, userdata = zip(*drawn, strict=True)
    carried = None if userdata[0] is None else np.concatenate(userdata)
    return States(np.concatenate(qpos), np.concatenate(qvel), carried)


def check_episodes(episodes: int) -> None:
    """Refuse a number of episodes that is none."""
    if not isinstance(episodes, int | np.integer) or episodes < 1:
        raise InputError(f"{episodes} episodes were asked for: it must be at least 1")
