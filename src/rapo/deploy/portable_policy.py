"""A policy as plain arrays, with everything that a robot needs to use it, and what it was trained on.

x = clip((observation - centre) / deviation, -limit, limit)
x = tanh(x @ kernel_i + bias_i)            for every hidden layer i
action = clip(x @ kernel_last + bias_last, low, high)
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np

from rapo import __version__
from rapo.arrays import Floats, Singles
from rapo.errors import InputError
from rapo.evaluation.search import read_search
from rapo.evaluation.sweep import read_sweep
from rapo.learner.normalize import LIMIT, deviation
from rapo.reporting.sweep_scores import ranges_of, scores, settings
from rapo.runs.run import Run
from rapo.training.config import Config
from rapo.training.loop import Training
from rapo.training.options import shown_value
from rapo.world.fingerprint import fingerprint
from rapo.world.task import Task

FORMAT = 1
"""Grows whenever older files can no longer be read."""


@dataclass(frozen=True)
class PortablePolicy:
    """A trained policy with its normaliser and the range of its actions, in single precision."""

    centre: Singles
    """`[observation]`, the mean of the observations of training."""
    deviation: Singles
    """`[observation]`, their standard deviation."""
    layers: tuple[tuple[Singles, Singles], ...]
    """Kernel `[in, out]` and bias `[out]` of every layer."""
    low: Singles
    """`[action]`, the smallest actions; minus infinity where there is no limit."""
    high: Singles
    """`[action]`, the largest actions."""
    facts: dict[str, Any]
    """What the policy is for and where it is from, as JSON can hold it."""

    def __call__(self, observation: Floats) -> Singles:
        """Actions `[N, action]` for observations `[N, observation]`."""
        x = (np.asarray(observation, np.float32) - self.centre) / self.deviation
        x = np.clip(x, -LIMIT, LIMIT)
        *hidden, (kernel, bias) = self.layers
        for weights, offset in hidden:
            x = np.tanh(x @ weights + offset)
        return np.clip(x @ kernel + bias, self.low, self.high)


def portable(run: Run, training: Training) -> PortablePolicy:
    """The policy of a run, given the training as it was when the run last saved."""
    learner, task = training.learner, training.config.task
    low, high = task.action_range
    return PortablePolicy(
        _singles(learner.observations.mean),
        _singles(deviation(learner.observations)),
        tuple(
            (_singles(x["kernel"]), _singles(x["bias"])) for x in learner.players[0].parameters.policy.mean
        ),
        _singles(low),
        _singles(high),
        _facts(run, training, task),
    )


def _singles(array: Any) -> Singles:
    return np.array(array, np.float32)


def _facts(run: Run, training: Training, task: Task) -> dict[str, Any]:
    config, described = training.config, training.config.describe()
    return {
        "format": FORMAT,
        "rapo": __version__,
        "run": run.folder.resolve().name,
        "task": task.name,
        "algorithm": config.algorithm.name,
        "seed": config.seed,
        "steps": training.steps,
        "updates": training.updates,
        "command": train_command(config),
        "figures": measured_figures(run, training.updates, task),
        "control_rate_hz": 1 / task.dt,
        "observation": [
            {"name": name, "size": size, "unit": unit} for name, size, unit in task.checked_observed()
        ],
        "action": _actions(task),
        "dynamics": {p.name: {**described["dynamics"][p.name], "test": list(p.test)} for p in task.dynamics},
        "config": described,
        "fingerprint": fingerprint(task),
    }


def train_command(config: Config) -> str:
    """The command that trains such a run."""
    words = ["rapo", "train", config.task.source or config.task.name]
    words += ["--algo", config.algorithm.source or config.algorithm.name]
    words += ["--steps", str(config.steps), "--seed", str(config.seed)]
    words += ["--from", "RUN"] if config.started_from is not None else []
    changed = [f"{name}={shown_value(value)}" for name, value in config.changed.items()]
    return shlex.join([*words, *(["--set", *changed] if changed else [])])


def measured_figures(run: Run, updates: int, task: Task) -> dict[str, Any]:
    """What sweep and search of the run say of its policy as it is now; what was not measured is left out."""
    found: dict[str, Any] = {}
    with suppress(InputError):  # a damaged result counts as none
        swept = read_sweep(run.folder)
        if swept is not None and len(swept) and set(swept["updates"]) == {updates}:
            measured = asdict(scores(settings(swept, ranges_of(task.dynamics))))
            means = {name: measured[name] for name in ("nominal", "inside", "outside", "worst")}
            found = {name: round(value, 1) for name, value in means.items() if isfinite(value)}
            found |= {"worst_at": measured["worst_at"], "episodes": swept["episode"].n_unique()}
    with suppress(InputError):
        searched = read_search(run.folder)
        if searched is not None and searched.updates == updates:
            found["searched"] = round(searched.returned, 1)
            found["searched_at"] = {name: round(value, 3) for name, value in searched.point.items()}
    return found


def _actions(task: Task) -> list[dict[str, Any]]:
    """Name and range of every action; an end is None where there is no limit."""
    names = [task.model.actuator(i).name or f"actuator {i}" for i in range(task.action_size)]
    ends = zip(*(end.tolist() for end in task.action_range), strict=True)
    finite = ([x if isfinite(x) else None for x in pair] for pair in ends)
    return [
        {"name": name, "low": low, "high": high, "unit": "control"}
        for name, (low, high) in zip(names, finite, strict=True)
    ]
