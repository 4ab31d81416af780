"""The complete state of a training run as named arrays and counters, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rapo.errors import InputError
from rapo.heavy import jax, jnp
from rapo.training.loop import Training
from rapo.world.simulator import Snapshot

WEIGHTS = "learner.mixture.weights"


def gather(training: Training) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """All arrays and counters of a training run that it needs to go on."""
    arrays = {f"learner{path}": np.asarray(leaf) for path, leaf in _leaves(training)}
    arrays |= {f"simulator.{name}": rows for name, rows in training.simulator.snapshot().arrays().items()}
    arrays |= {
        "models": training.models,
        "episodes.returned": training.episodes.returned,
        "episodes.length": training.episodes.length,
    }
    counters = {
        "updates": training.updates,
        "branch_steps": training.branch_steps,
        "branch_divergences": training.branch_divergences,
        "divergences": training.simulator.divergences,
    }
    return arrays, counters


def restore(training: Training, arrays: Mapping[str, np.ndarray], counters: Mapping[str, Any]) -> None:
    """Put arrays and counters back into a training run, which then goes on exactly as before."""
    present, counted = gather(training)
    for name in counted:
        if name not in counters:
            raise InputError(
                f"counter '{name}' of the checkpoint is missing: allowed are whole numbers from 0"
            )
    if counters["updates"] > training.config.updates:
        raise InputError(
            f"counter 'updates' of the checkpoint is {counters['updates']}: the run has only "
            f"{training.config.updates}"
        )
    for name, array in present.items():
        if name not in arrays or arrays[name].shape != array.shape or arrays[name].dtype != array.dtype:
            raise InputError(
                f"'{name}' of the checkpoint does not fit this run, which has {array.dtype} of shape "
                f"{array.shape}: it was written by another version"
            )
        _check_numbers(name, arrays[name])
    weights = arrays[WEIGHTS]
    if (weights < 0).any() or abs(weights.sum() - 1) > 1e-3:
        raise InputError(f"'{WEIGHTS}' of the checkpoint are no weights of models: they don't add up to 1")
    training.config.task.dynamics.check(arrays["models"])
    leaves = [jnp.asarray(arrays[f"learner{path}"]) for path, _ in _leaves(training)]
    training.learner = jax.tree.unflatten(jax.tree.structure(training.learner), leaves)
    training.models = arrays["models"]
    rows = {name: arrays[f"simulator.{name}"] for name in training.simulator.snapshot().arrays()}
    training.simulator.restore(Snapshot(training.config.task.name, **rows))
    training.simulator.divergences = counters["divergences"]
    training.episodes.returned[:] = arrays["episodes.returned"]
    training.episodes.length[:] = arrays["episodes.length"]
    training.updates, training.branch_steps = counters["updates"], counters["branch_steps"]
    training.branch_divergences = counters["branch_divergences"]
    training.move_mixture()


def _check_numbers(name: str, array: np.ndarray) -> None:
    """Refuse numbers that no run saves: those that are not finite, and counts below 0."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"'{name}' of the checkpoint has numbers that are not finite: it was altered")
    if array.dtype.kind == "i" and (array < 0).any():
        raise InputError(f"'{name}' of the checkpoint has numbers below 0: it was altered")


def _leaves(training: Training) -> list[tuple[str, Any]]:
    leaves = jax.tree_util.tree_flatten_with_path(training.learner)[0]
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]
