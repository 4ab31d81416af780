"""The benchmark of the simulator: environment steps per second of `step` and `branch` beside raw mjbatch.

For every timed call raw mjbatch steps the task's model from the same states for the same number of substeps
under the same dynamics. The two take turns, so that a noisy machine slows both alike.
"""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter

import gymnasium
import numpy as np

from rapo.arrays import Floats
from rapo.bench import FEWEST_TURNS, put_states, raw_batch, take_turns, timed, typical
from rapo.tasks.locomotion import Locomotion
from rapo.tasks.quadrotor.classical import classical_controller
from rapo.tasks.quadrotor.episode_row import OBSERVATION
from rapo.tasks.quadrotor.payload_task import InformedQuadrotorPayload, QuadrotorPayload
from rapo.tasks.wrapped.wrapping import wrap
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.simulator import Snapshot
from rapo.world.task import Task

MODELS = 16
PEER_SIMULATIONS = 64


@dataclass(frozen=True)
class SteppingRow:
    """One line of the benchmark; rates are environment steps per second."""

    task: str
    simulations: int
    """How many environments `step` steps, or how many branches `branch` takes."""
    what: str
    """`step` or `branch`; of a wrapped environment how it is observed and scored."""
    rate: float
    """Of the simulator of `rapo.world`."""
    raw_rate: float
    """Of raw mjbatch."""
    ratio: float
    """`rate` over `raw_rate`."""
    gymnasium_rate: float | None = None
    """Of Gymnasium's SyncVectorEnv, where it was measured."""
    envpool_rate: float | None = None
    """Of EnvPool, where it is installed and was measured."""


def measure_step(task: Task, simulations: int, seconds: float) -> SteppingRow:
    """`step` of so many nominal environments with `usual_actions`, beside raw mjbatch."""
    simulator = MujocoSimulator(task, simulations, seed=0)
    raw = raw_batch(task, simulator.dynamics)
    actions = usual_actions(simulator)
    for _ in range(200 if simulations <= 256 else 3):
        simulator.step(usual_actions(simulator))

    def copy_state() -> None:
        put_states(raw, simulator.snapshot().physics)
        actions[...] = usual_actions(simulator)

    turns = take_turns(
        seconds,
        copy_state,
        lambda: timed(lambda: raw.step(nstep=task.frame_skip)),
        lambda: timed(lambda: simulator.step(actions)),
    )
    peers = (None, None)
    if simulations == PEER_SIMULATIONS and isinstance(task, Locomotion):
        given = task.gymnasium_id, task.action_size, simulations, seconds / 2
        peers = gymnasium_rate(*given), envpool_rate(*given)
    return _row(task, simulations, "step", turns, *peers)


def measure_wrapped(environment: str, seconds: float) -> list[SteppingRow]:
    """`step` of 64 wrapped environments in batches and through their own functions, beside Gymnasium's."""
    rows: list[SteppingRow] = []
    for batched, way in ((True, "batched"), (False, "own functions")):
        task = wrap(environment, batched=batched)
        beside = gymnasium_rate(environment, task.action_size, PEER_SIMULATIONS, seconds / 2)
        row = measure_step(task, PEER_SIMULATIONS, seconds)
        rows.append(replace(row, what=way, gymnasium_rate=beside))
    return rows


def usual_actions(simulator: MujocoSimulator) -> Floats:
    """Actions `[N, action]` for a usual load of physics: zeros, or a controller's if a quadrotor must fly."""
    if isinstance(simulator.task, QuadrotorPayload):
        told = simulator.dynamics[:, :2]
        seen = np.concatenate((simulator.observation[:, :OBSERVATION], told), axis=1)
        return _pilot()(seen)
    return np.zeros((simulator.num_envs, simulator.task.action_size))


@cache
def _pilot() -> Callable[[Floats], Floats]:
    return classical_controller(InformedQuadrotorPayload())


def measure_branch(task: Task, simulations: int, seconds: float) -> SteppingRow:
    """`branch` into so many simulations, 16 models for each pair of state and action, beside raw mjbatch."""
    pairs = simulations // MODELS
    rng = np.random.default_rng(0)
    simulator = MujocoSimulator(task, min(pairs, 64), seed=0)
    snapshot, actions = _wander(simulator, pairs, rng)
    models = task.dynamics.ensemble(MODELS, rng, over="test")
    raw = raw_batch(task, np.tile(models, (pairs, 1)))
    raw_ctrl = raw.bind("ctrl")
    simulator.branch(snapshot, actions, models)

    def copy_state() -> None:
        put_states(raw, np.repeat(snapshot.physics, MODELS, axis=0))
        if isinstance(task, Locomotion):
            raw_ctrl[...] = np.repeat(actions, MODELS, axis=0)

    turns = take_turns(
        seconds,
        copy_state,
        lambda: timed(lambda: raw.step(nstep=task.frame_skip)),
        lambda: timed(lambda: simulator.branch(snapshot, actions, models)),
    )
    return _row(task, simulations, "branch", turns)


def gymnasium_rate(name: str, action_size: int, simulations: int, seconds: float) -> float:
    """Steps per second of Gymnasium's `SyncVectorEnv` with zero actions."""
    envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(name)] * simulations)
    envs.reset(seed=0)
    actions = np.zeros((simulations, action_size), np.float32)
    rate = _rate(lambda: envs.step(actions), simulations, seconds)
    envs.close()
    return rate


def envpool_rate(name: str, action_size: int, simulations: int, seconds: float) -> float | None:
    """Steps per second of EnvPool with zero actions, or None where it is not installed."""
    if importlib.util.find_spec("envpool") is None:
        return None
    import envpool  # pyright: ignore[reportMissingImports]

    envs = envpool.make_gymnasium(name, num_envs=simulations)
    envs.reset()
    actions = np.zeros((simulations, action_size))
    return _rate(lambda: envs.step(actions), simulations, seconds)


def _wander(simulator: MujocoSimulator, pairs: int, rng: np.random.Generator) -> tuple[Snapshot, Floats]:
    """So many states that random actions lead to, and a random action for each."""
    task, snapshots = simulator.task, []
    while sum(map(len, snapshots)) < pairs:
        snapshots.append(simulator.snapshot())
        noise = rng.uniform(-1, 1, (simulator.num_envs, task.action_size))
        simulator.step(np.clip(usual_actions(simulator) + noise, *task.action_range))
    return Snapshot.concatenate(snapshots)[:pairs], rng.uniform(-1, 1, (pairs, task.action_size))


def _rate(call: Callable[[], object], simulations: int, seconds: float) -> float:
    call()
    turns, start = 0, perf_counter()
    while turns < FEWEST_TURNS or perf_counter() - start < seconds:
        call()
        turns += 1
    return simulations * turns / (perf_counter() - start)


def _row(
    task: Task,
    simulations: int,
    what: str,
    turns: Sequence[tuple[float, float]],
    gymnasium_rate: float | None = None,
    envpool_rate: float | None = None,
) -> SteppingRow:
    raw_seconds, our_seconds = typical(turns)
    rate, raw_rate = simulations / our_seconds, simulations / raw_seconds
    return SteppingRow(
        task.name, simulations, what, rate, raw_rate, rate / raw_rate, gymnasium_rate, envpool_rate
    )
