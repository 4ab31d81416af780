"""How sensitivities are learned: which steps are probed, and the network that learns from the probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rapo.algorithms.spec import ProbedSteps, Report
from rapo.arrays import Floats, Ids
from rapo.errors import InputError
from rapo.heavy import Array, jnp
from rapo.learner import sensitivity
from rapo.learner.networks import HIDDEN
from rapo.learner.sensitivity import Sensitivities
from rapo.ranges import COUNT, LAYERS, POSITIVE, POSITIVE_SHARE, SHARE, TURNS, check_ranges


class ProbePlan(NamedTuple):
    """Which steps of a rollout are taken again, under which dynamics, and how the network learns from it."""

    pairs: Ids
    """`[R]`, numbers t N + n of the state-action pairs, ascending."""
    units: Floats
    """`[R, D, P]`, the dynamics of the probes, in units of the training half-widths."""
    batches: NDArray[np.int32]
    """`[steps, rows]`, places in the network's memory for each of its optimiser steps."""


@dataclass(frozen=True)
class Sensitivity:
    """A network that learns how the value of a step changes with each parameter, from a few probes."""

    probe_share: Annotated[float, POSITIVE_SHARE] = 0.125
    """Share of the steps of each update that are simulated again under other dynamics."""
    probes_each: Annotated[int, COUNT] = 1
    """Other dynamics, at random corners of the training box, under which each such pair is simulated."""
    sensitivity_hidden: Annotated[tuple[int, ...], LAYERS] = HIDDEN
    """Sizes of the hidden layers of the network of sensitivities."""
    sensitivity_rate: Annotated[float, POSITIVE] = 1e-3
    """Learning rate of the network of sensitivities."""
    sensitivity_steps: Annotated[int, TURNS] = 16
    """Optimiser steps of the network of sensitivities in every update."""
    sensitivity_rows: Annotated[int, COUNT] = 256
    """Probes in each of those optimiser steps, drawn from the memory."""
    probe_memory: Annotated[int, COUNT] = 16
    """Updates whose probes are kept in the memory."""
    r2_floor: Annotated[float, SHARE] = 0.1
    """Share of the variance of new probes that must be predicted, or the display warns that directions can't
    be trusted."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def check(self, names: tuple[str, ...], rows: int) -> None:
        """Refuse a task with nothing to probe, and fewer probes in an update of B = `rows` than
        parameters."""
        if not names:
            raise InputError(
                "sensitivities need parameters that can change within an episode and have a training range, "
                "and the task has none: choose --algo ppo"
            )
        probes = self._pairs(rows) * self.probes_each
        if probes < len(names):
            raise InputError(
                f"options probe_share and probes_each make {probes} probes of the {rows} steps of an update: "
                f"allowed are at least as many as there are parameters, here {len(names)}"
            )

    def init(self, key: Array, inputs: int, parameters: int, rows: int) -> Sensitivities:
        """A network that knows nothing yet."""
        hidden, remembered = self.sensitivity_hidden, self._remembered(rows)
        return sensitivity.init(key, inputs, parameters, hidden, remembered, self.sensitivity_rate)

    def corners(self, rng: np.random.Generator, parameters: int, rows: int) -> Floats:
        """On the host, once: the dynamics `[R, D, P]` of the probes, as many at a corner as opposite to
        it."""
        pairs = self._pairs(rows)
        signs = rng.choice(np.array([-1.0, 1.0]), (pairs * self.probes_each, parameters))
        signs[1::2] = -signs[: len(signs) // 2 * 2 : 2]
        return signs.reshape(pairs, self.probes_each, parameters)

    def plan(self, rng: np.random.Generator, corners: Floats, rows: int, num_envs: int) -> ProbePlan:
        """On the host: which of B = `rows` pairs are probed in this update: those of a few random steps.

        States of N environments at one step differ as much as those of different steps, and are cheaper to
        keep.
        """
        wanted = self._pairs(rows)
        steps = np.sort(rng.choice(rows // num_envs, -(-wanted // num_envs), replace=False))
        pairs = (steps[:, None] * num_envs + np.arange(num_envs)).reshape(-1)
        if len(pairs) > wanted:
            pairs = np.sort(rng.choice(pairs, wanted, replace=False))
        shape = self.sensitivity_steps, self.sensitivity_rows
        return ProbePlan(pairs, corners, rng.integers(self._remembered(rows), size=shape, dtype=np.int32))

    def _pairs(self, rows: int) -> int:
        """R, how many of B = `rows` pairs are probed."""
        return max(1, round(self.probe_share * rows))

    def _remembered(self, rows: int) -> int:
        return self._pairs(rows) * self.probes_each * self.probe_memory

    def __call__(
        self, state: Sensitivities, inputs: Array, probed: ProbedSteps, reward_scale: Array
    ) -> tuple[Array, Sensitivities, Report]:
        """Sensitivities `[B, P]` as they were in the rollout; then the network learns from the probes."""
        slopes = sensitivity.predict(state.layers, state.scale, inputs)
        probes = sensitivity.compare(
            inputs=inputs[probed.pairs].repeat(self.probes_each, axis=0),
            moves=probed.moves.reshape(-1, slopes.shape[1]),
            changes=probed.changes.reshape(-1),
            valid=probed.valid.reshape(-1),
        )
        learned = sensitivity.learn(state, probes, probed.batches, self.sensitivity_rate)
        return (
            slopes,
            learned,
            {
                "sensitivity": jnp.abs(slopes).mean(axis=0) * reward_scale,
                "sensitivity_r2": learned.r2,
                "sensitivity_poor": (learned.r2 < self.r2_floor).astype(jnp.float32),
            },
        )
