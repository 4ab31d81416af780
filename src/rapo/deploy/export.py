"""From a run to a file for the robot, checked against the policy that was trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.deploy.array_file import read_arrays, write_arrays
from rapo.deploy.extras import needed
from rapo.deploy.onnx_file import OnnxPolicy, write_onnx
from rapo.deploy.policy_file import PolicyFile, named_runs
from rapo.deploy.portable_policy import PortablePolicy, portable
from rapo.errors import InputError
from rapo.evaluation.evaluate import evaluate
from rapo.files import check_writable
from rapo.heavy import jnp
from rapo.learner import networks, normalize
from rapo.runs.run import Run
from rapo.training.actor import actor
from rapo.training.loop import Training
from rapo.world.task import Task

Act = Callable[[Floats], NDArray[np.floating]]
"""Actions `[N, action]` for observations `[N, observation]`."""
OBSERVATIONS, TOLERANCE = 10_000, 1e-5
CALLS = 500


@dataclass(frozen=True)
class Exported:
    """A file that was written, and how it was checked."""

    path: Path
    observations: int
    """How many observations, visited by the policy under random dynamics, the file was checked on."""
    difference: float
    """The largest difference of an action from that of the trained policy."""
    microseconds: float
    """What one call with one observation takes, in the middle of many."""


def export(run: Run | str | Path, out: str | Path) -> Exported:
    """Write the policy of a run as `out`, an .onnx file or a .safetensors file of plain arrays.

    run: also a .safetensors file, or the name of a policy of the zoo, as zoo:hopper-rapo.
    The file is read back and compared with the trained policy on observations that the policy visits; one
    that differs by more than 1e-5, or by more than 1e-5 of the largest action where that is above 1, is not
    kept.
    """
    (run,), path = [run] if isinstance(run, Run) else named_runs([Path(run)]), Path(out)
    write, read = _format(path)
    target = check_writable(path)
    carried, trained, visited = _policy_of(run)
    checked = target.with_name(f".{target.name}.checked{path.suffix}")
    try:
        write(carried, checked)
        policy = read(checked)
        found = np.concatenate([policy(rows) for rows in np.array_split(visited, 10)])
        wanted = trained(visited)
        difference, allowed = (
            float(np.abs(found - wanted).max()),
            TOLERANCE * max(1.0, float(np.abs(wanted).max())),
        )
        if not difference <= allowed:
            raise InputError(
                f"policy '{path}' differs from the trained one by {difference:.2g}: at most {allowed:.2g} is "
                "allowed, so it was not written"
            )
        checked.replace(target)
    finally:
        checked.unlink(missing_ok=True)
    return Exported(path, len(visited), difference, _latency(policy, visited[:1]))


def _format(path: Path) -> tuple[Callable[..., None], Callable[[Path], Callable[..., Any]]]:
    formats = {".onnx": (write_onnx, OnnxPolicy), ".safetensors": (write_arrays, read_arrays)}
    if path.suffix not in formats:
        raise InputError(f"policy '{path}' can't be written: names must end in {' or '.join(formats)}")
    if path.suffix == ".onnx":
        for module in ("onnx", "onnxruntime"):
            needed(module, "onnx")
    return formats[path.suffix]


def _policy_of(run: Run) -> tuple[PortablePolicy, Act, Floats]:
    """A policy as it is written, as it acts where it is, and observations that it visits."""
    if isinstance(run, PolicyFile):
        policy = run.read()
        if not isinstance(policy, PortablePolicy):
            raise InputError(
                f"policy '{run.file}' can't be exported again: allowed are run folders, .safetensors "
                "files and the zoo"
            )
        return policy, policy, _visited(run.trained_policy().task, policy)
    training = run.trained(threads=1)
    task = training.config.task
    visited = _visited(task, actor(task, training.learner))
    return portable(run, training), lambda rows: _trained(training, rows), visited


def _visited(task: Task, act: Act) -> Floats:
    """Observations `[10,000, observation]` that a policy visits, under dynamics of the training ranges."""
    seen: list[Floats] = []
    episodes = max(20, -(-2 * OBSERVATIONS // task.tested().time_limit))
    rows = task.dynamics.uniform(episodes, np.random.default_rng(0))

    def watched(observation: Floats) -> NDArray[np.floating]:
        seen.append(observation.copy())
        return act(observation)

    for seed in range(1000):
        evaluate(task, watched, rows, seed=seed)
        if sum(map(len, seen)) >= OBSERVATIONS:
            break
    every = np.concatenate(seen)
    return every[np.linspace(0, len(every) - 1, min(OBSERVATIONS, len(every))).astype(int)]


def _trained(training: Training, observation: Floats) -> NDArray[np.float32]:
    """What the policy itself does, computed by JAX."""
    learner = training.learner
    seen = normalize.normalise(learner.observations, jnp.asarray(observation, jnp.float32))
    mean = networks.forward(learner.players[0].parameters.policy.mean, seen)
    return np.clip(np.asarray(mean), *training.config.task.action_range)


def _latency(policy: Callable[[Floats], Any], one: Floats) -> float:
    times = []
    for _ in range(CALLS):
        began = perf_counter()
        policy(one)
        times.append(perf_counter() - began)
    return float(np.median(times)) * 1e6
