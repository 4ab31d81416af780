"""Checks of what callers give a simulator: arrays in the form it needs, or an error of one sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rapo.arrays import Bools, Floats, Ids
from rapo.errors import InputError, unknown
from rapo.heavy import mujoco
from rapo.world.simulator import Snapshot
from rapo.world.step_reader import finite
from rapo.world.task import States, Task


def check_counts(num_envs: int, threads: int, chunk: int) -> None:
    """Refuse impossible numbers of environments, threads and branches in a chunk."""
    for what, value, least in (
        ("environments", num_envs, 1),
        ("threads", threads, 0),
        ("branches in a chunk", chunk, 1),
    ):
        if not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{value} {what} were asked for: allowed are whole numbers from {least}")


def body_ids(model: mujoco.MjModel, names: Sequence[str]) -> Ids:
    """The row numbers of the named bodies in the model."""
    known = [model.body(i).name for i in range(model.nbody)]
    names = (names,) if isinstance(names, str) else names
    for name in names:
        if name not in known:
            raise unknown("body", name, known[1:])
    return np.array([known.index(name) for name in names], np.intp)


def checked_dynamics(dynamics: ArrayLike, task: Task, num_envs: int) -> Floats:
    """Dynamics `[num_envs, P]`, given as one row for each environment or one row for all."""
    rows = task.dynamics.check(dynamics)
    if len(rows) not in (1, num_envs):
        raise InputError(
            f"{len(rows)} rows of dynamics were given for {num_envs} environments: "
            "give one for all or one for each"
        )
    return rows.copy() if len(rows) == num_envs else np.repeat(rows, num_envs, axis=0)


def checked_models(models: ArrayLike, task: Task, rows: int) -> Floats:
    """Models `[K, P]` for all of some rows, or `[rows, K, P]` for each its own."""
    given = np.asarray(models, np.float64)
    if given.ndim < 3:
        return task.dynamics.check(given)
    if given.ndim > 3 or len(given) != rows or not given.shape[1]:
        raise InputError(
            f"models of shape {given.shape} were given for {rows} states: "
            f"allowed are [models, {len(task.dynamics)}] or [{rows}, models, {len(task.dynamics)}]"
        )
    return task.dynamics.check(given.reshape(-1, given.shape[-1])).reshape(given.shape)


def checked_choice(picked: ArrayLike, rows: int, k: int) -> Ids:
    """The branch `[rows]` that each environment goes on from, refused unless it is one of k."""
    ids = np.asarray(picked)
    if ids.shape != (rows,) or ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= k:
        raise InputError(
            f"choose returned {ids.dtype} of shape {ids.shape}: allowed are whole numbers from 0 to {k - 1}, "
            f"one for each of {rows} environments"
        )
    return ids.astype(np.intp)


def checked_states(states: States, task: Task, num_envs: int) -> States:
    """The states in which every environment begins, checked for shape and finite values."""
    given = tuple(_numbers("states", x) for x in states if x is not None)
    model, carried = task.model, task.userdata_size
    sizes = (model.nq, model.nv, carried) if carried else (model.nq, model.nv)
    wanted = tuple((num_envs, size) for size in sizes)
    shapes = tuple(x.shape for x in given)
    if shapes != (wanted if states.userdata is not None else wanted[:2]):
        what = "qpos, qvel and userdata" if carried else "qpos and qvel"
        raise InputError(f"states of shapes {shapes} were given: allowed are {what}, {wanted}")
    if not all(map(finite, given)):
        raise InputError("states were given that are not all finite: allowed are finite numbers")
    return States(*given)


def checked_actions(actions: ArrayLike, task: Task, rows: int) -> Floats:
    """Actions `[rows, action]`, checked for shape and finite values."""
    actions = _numbers("actions", actions)
    wanted = (rows, task.action_size)
    if actions.shape != wanted:
        raise InputError(f"actions of shape {actions.shape} were given: allowed is {wanted}")
    if not finite(actions):
        row, column = np.argwhere(~np.isfinite(actions))[0]
        raise InputError(
            f"action {column} of row {row} is {actions[row, column]}: allowed are finite numbers"
        )
    return actions


def checked_forces(forces: ArrayLike | None, bodies: int, rows: int) -> Floats | None:
    """Forces `[rows, bodies, 6]`, checked for shape and finite values, or None if none are given."""
    if forces is None:
        return None
    forces = _numbers("forces", forces)
    wanted = (rows, bodies, 6)
    if forces.shape != wanted:
        raise InputError(
            f"forces of shape {forces.shape} were given: allowed is {wanted}, one row for each of "
            "force_bodies"
        )
    if not finite(forces):
        row = np.argwhere(~np.isfinite(forces))[0][0]
        raise InputError(f"forces of row {row} are not all finite: allowed are finite numbers")
    return forces


def checked_mask(only: ArrayLike | None, pairs: int, k: int) -> Bools:
    """Which branches `[pairs, k]` to simulate: `only` those, or all if it is None."""
    if only is None:
        return np.ones((pairs, k), bool)
    mask = np.asarray(only)
    if mask.shape != (pairs, k) or mask.dtype != bool:
        raise InputError(
            f"only has shape {mask.shape} and type {mask.dtype}: allowed is bool of shape {(pairs, k)}, "
            "a row for each state-action pair and a column for each model"
        )
    return mask


def check_snapshot(snapshot: Snapshot, task: Task, size: int) -> None:
    """Refuse a snapshot that is not of this task or does not have `size` numbers of physics in a row."""
    rows = len(snapshot)
    wanted = {
        "physics": (rows, size),
        "memory": (rows, task.memory_size),
        "observation": (rows, task.observation_size),
        "dynamics": (rows, len(task.dynamics)),
        "elapsed": (rows,),
        "seed": (rows,),
        "clock": (rows,),
    }
    if snapshot.task != task.name or not rows:
        raise InputError(
            f"a snapshot of {rows} rows of task '{snapshot.task}' was given: "
            f"allowed are rows of '{task.name}', at least one"
        )
    for name, array in snapshot.arrays().items():
        if array.shape != wanted[name]:
            raise InputError(
                f"{name} of a snapshot has shape {array.shape}: "
                f"task '{task.name}' needs {wanted[name]} for {rows} rows"
            )


def _numbers(what: str, given: ArrayLike) -> Floats:
    """A contiguous float64 array of what was given."""
    try:
        return np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} can't be read as numbers: give an array of them") from None
