"""What a task is, in a few numbers, so that a run notices when its task has changed under it.

A checkpoint keeps the fingerprint of the task that it learned: digests of the model's arrays, and what a few
fixed actions lead to. A policy is not used, nor trained further, on a task that has another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rapo.errors import InputError
from rapo.heavy import mujoco
from rapo.world.engines import make_simulator
from rapo.world.task import Task
from rapo.world.user_code import digest_of, file_of

GROUPS = {
    "body": "the bodies of its model (masses, inertias, places)",
    "dof": "the joints of its model (damping, armature)",
    "jnt": "the joints of its model",
    "geom": "the geoms of its model (shapes, frictions)",
    "site": "the sites of its model",
    "actuator": "the actuators of its model",
    "sensor": "the sensors of its model",
    "tendon": "the tendons of its model",
    "eq": "the constraints of its model",
    "pair": "the contact pairs of its model",
    "opt": "the options of its model (timestep, gravity, solver)",
    "qpos0": "the pose that its model begins in",
}
"""Parts of a model that decide what it does, by the first word of their arrays' names."""
LOOKS = ("rgba", "matid", "group", "user", "plugin")
"""Words in the names of arrays that do not change what a model does."""
BEHAVIOUR = {
    "terminated": "when its episodes end",
    "reward": "its reward",
    "observation": "what it observes",
}
"""What a few steps show of a task. Ends come first: an episode that ends earlier is observed anew."""
STEPS, CLOSE = 4, 1e-6

_known: WeakKeyDictionary[Task, dict[str, Any]] = WeakKeyDictionary()


def fingerprint(task: Task) -> dict[str, Any]:
    """What decides a task's numbers, as JSON can hold it; `file` is the digest of the task's Python file."""
    if task not in _known:
        _known[task] = {
            "mujoco": mujoco.__version__,
            "file": digest_of(file_of(type(task))),
            "model": _digests(task.model),
            "behaviour": _behaviour(task),
        }
    return _known[task]


def check_unchanged(whose: str, was: Mapping[str, Any], task: Task) -> bool:
    """Refuse a task that is not as it `was`; return whether its Python file is still the same.

    whose: whose task it is, the beginning of the error. A model compiled by another version of MuJoCo is
    compared by what it does only.
    """
    now = fingerprint(task)
    for changed in _changes(was, now):
        raise InputError(
            f"{whose} has changed since the run was trained, in {changed}: train a new run, or use the files "
            "as they were"
        )
    return was.get("file") == now["file"]


def _changes(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    try:
        if was["mujoco"] == now["mujoco"]:
            for group, digest in now["model"].items():
                if was["model"].get(group) != digest:
                    yield GROUPS[group]
        for name, words in BEHAVIOUR.items():
            before, after = (np.asarray(x["behaviour"][name], np.float64) for x in (was, now))
            if before.shape != after.shape or not np.allclose(before, after, CLOSE, CLOSE, equal_nan=True):
                yield words
    except (LookupError, TypeError, ValueError, AttributeError):
        raise InputError("the checkpoint describes its task in a way that can't be read") from None


def _digests(model: mujoco.MjModel) -> dict[str, str]:
    """A short digest for each part of a model, in single precision: all machines compile the same one."""
    found = {group: sha256() for group in GROUPS}
    for name in sorted(dir(model)):
        group = name.split("_")[0]
        array = getattr(model, name) if group in found else None
        if isinstance(array, np.ndarray) and not any(word in name.split("_") for word in LOOKS):
            _add(found[group], name, array)
    for name in sorted(dir(model.opt)):
        value = getattr(model.opt, name)
        if not name.startswith("_") and isinstance(value, int | float | np.ndarray):
            _add(found["opt"], name, np.asarray(value))
    return {group: digest.hexdigest()[:12] for group, digest in found.items()}


def _add(digest: Any, name: str, array: NDArray[Any]) -> None:
    numbers = array.astype(np.float32) if array.dtype == np.float64 else array
    digest.update(f"{name} {numbers.shape}".encode())
    digest.update(np.ascontiguousarray(numbers).tobytes())


def _behaviour(task: Task) -> dict[str, list[float]]:
    """What a few steps lead to, from the nominal dynamics and both corners of the training ranges."""
    low, high = (np.array([p.train[end] for p in task.dynamics], np.float64) for end in (0, 1))
    rows = np.stack((task.dynamics.nominal()[0], low, high))
    simulator = make_simulator(task, len(rows), seed=0, dynamics=rows, threads=1)
    smallest, largest = (np.clip(end, -1, 1) for end in task.action_range)
    found: dict[str, list[float]] = {name: [] for name in BEHAVIOUR}
    for step in range(STEPS):
        share = 0.5 + 0.4 * np.sin(1 + step + np.arange(len(rows))[:, None] + np.arange(task.action_size))
        taken = simulator.step(smallest + share * (largest - smallest))
        weights = np.cos(np.arange(task.observation_size))
        found["observation"] += (taken.next_observation @ weights).tolist()
        found["reward"] += taken.reward.tolist()
        found["terminated"] += taken.terminated.astype(float).tolist()
    return found
