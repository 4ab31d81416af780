"""What the critic expects under other dynamics while a run learns: V_u(alpha) for every parameter.

At update u, from states the policy has just visited, one step with its mean action is taken under each of 41
scales of each parameter; V_u(alpha) is the mean of reward + gamma V_u(next state), in units of return. The
run folder keeps a line for every recorded update in `heatmap.jsonl`.
"""

from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from rapo.errors import InputError
from rapo.heavy import Array, compiled
from rapo.learner import networks, normalize
from rapo.runs.json_lines import Lines, Mark, read_lines
from rapo.training.actor import actor
from rapo.training.loop import Training
from rapo.training.update import Learner
from rapo.world.engines import make_simulator

FILE = "heatmap.jsonl"
SCALES = 41
CHUNK = 1024
STATES = 16
"""States averaged over; the same ones for every scale, so that a few are enough."""


def read_heatmap(folder: Path) -> list[dict[str, Any]]:
    """The recorded updates of a run, first to last: `scales` and `values` by parameter."""
    rows = read_lines(folder / FILE)
    if not all(map(_is_record, rows)):
        raise InputError(f"heatmap '{folder / FILE}' is damaged: every line must be one record, in JSON")
    return rows


def _is_record(row: dict[str, Any]) -> bool:
    """Whether a line says the steps, and as many values as scales for the same parameters."""
    try:
        return (
            isinstance(row["steps"], int)
            and row["scales"].keys() == row["values"].keys()
            and all(len(row["values"][name]) == len(scales) > 1 for name, scales in row["scales"].items())
            and all(isfinite(x) for scales in row["scales"].values() for x in scales)
            and all(x is None or isfinite(x) for values in row["values"].values() for x in values)
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return False


class Heatmap:
    """Records into the folder of a run while it learns."""

    def __init__(self, training: Training, folder: Path) -> None:
        """Go on after the updates that `training` has had."""
        task = training.config.task
        self._lines = Lines(folder / FILE, training.updates)
        self._every = training.config.settings.heatmap_every if len(task.dynamics) else 0
        self._scales = {p.name: np.linspace(*p.test, SCALES).round(9) for p in task.dynamics}
        rows = [task.dynamics.sweep(name, values) for name, values in self._scales.items()]
        self._models = np.concatenate((*rows, task.dynamics.nominal(0)))
        self.simulated = len(self._models) * min(STATES, training.config.settings.num_envs)
        """Simulated steps of one row."""
        self._simulator = make_simulator(
            task, 1, engine=training.config.engine, seed=0, threads=training.threads, chunk=CHUNK
        )

    def __call__(self, training: Training) -> None:
        """Record this update, if it is one of those to record."""
        if not self._every or training.updates % self._every:
            return
        values = self._values(training)
        self._lines.write(
            {
                "update": training.updates,
                "steps": training.steps,
                "scales": {name: scales.tolist() for name, scales in self._scales.items()},
                "values": dict(zip(self._scales, values, strict=True)),
            }
        )

    @property
    def mark(self) -> Mark:
        """What the lines are by now."""
        return self._lines.mark

    def sync(self) -> None:
        """Wait until all lines are on disk."""
        self._lines.sync()

    def close(self) -> None:
        """Finish the file."""
        self._lines.close()

    def _values(self, training: Training) -> list[list[float | None]]:
        """V_u for each scale of each parameter; None where no simulation went well."""
        settings = training.config.settings
        pairs = training.simulator.snapshot()[:STATES]
        controls = actor(training.config.task, training.learner)(pairs.observation)
        led = self._simulator.branch(pairs, controls, self._models)
        after = np.asarray(_expected(training.learner, np.nan_to_num(led.observation)))
        total = led.reward + settings.discount * np.where(led.terminated, 0, after)
        mean = [float(x[ok].mean()) if ok.any() else None for x, ok in zip(total.T, led.valid.T, strict=True)]
        return [mean[i : i + SCALES] for i in range(0, len(mean), SCALES)]


@compiled()
def _expected(learner: Learner, observation: Array) -> Array:
    """What the critic expects of observations `[..., observation]`, in units of return."""
    seen = normalize.normalise(learner.observations, observation)
    return networks.value(learner.players[0].parameters.critic, seen) * learner.rewards.scale
