"""Under which dynamics each single step is taken: steps drawn from a law that is tilted toward the worse
ones.

The value of a step under dynamics u is G0 + g . u, by learned sensitivities g. Each step of each environment
is taken under dynamics drawn from the tilted law: so whole trajectories move under the worst kernel within
the budget, and the critic learns the robust value from plain targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from rapo.algorithms.spec import Report, Steered
from rapo.algorithms.temperature import Adaptive, AdvNet, Exact, temperature_report
from rapo.arrays import Bools
from rapo.heavy import Array, jnp
from rapo.learner import advnet, box_tilt, dual
from rapo.learner.budget import Budget
from rapo.learner.tilted_laws import BoxLaw, FiniteLaw, Law
from rapo.ranges import SHARE, check_ranges

EVERY = 4
"""The temperature learns from one row in so many, that is from one environment in four."""
ITERATIONS = 6
"""Iterations of the root finder: enough for single precision, and few, since it is called at every step."""


class SteeringState(NamedTuple):
    """What steering learns: the temperature's own state, and the scale that temperatures are in."""

    temperature: Any
    scale: Array
    """`[]`, a typical spread of the values of a step."""


@dataclass(frozen=True)
class TiltedSteps:
    """Every step is taken under dynamics drawn from the tilted law, within a KL budget of epsilon."""

    law: Literal["box", "models", "corner"] = "box"
    """What is tilted: the uniform law on a box of dynamics, or the mixture of the models; corner takes the
    worst corner of the box and needs no budget."""
    epsilon: Budget = Budget(1.5)
    """KL budget of a step; it has no effect with law=corner."""
    reach: Budget = Budget(1.0)
    """Half the width of the box, in units of the training half-widths; beyond 1 it leaves the training
    ranges. It has no effect with law=models."""
    box_around: Literal["range", "model"] = "range"
    """What the box lies around: the middle of the training ranges, or the model of the episode, cut off at
    the training ranges. With range and law=box or corner, the mixture of models is only reported."""
    tilted_share: Annotated[float, SHARE] = 1.0
    """Share of the environments whose steps are tilted; the others stay under the model of their episode."""
    directions: Literal["learned", "random"] = "learned"
    """Which way steps are tilted: as the sensitivities say, or, as a control, with random signs."""
    temperature: AdvNet | Exact | Adaptive = AdvNet(iterations=ITERATIONS)
    """Where the temperature of the tilt comes from."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def init(self, key: Array, observation: int, action: int) -> SteeringState:
        """What steering learns, at first."""
        return SteeringState(self.temperature.init(key, observation, action), jnp.ones(()))

    def tilts(self, num_envs: int) -> Bools:
        """Which of N environments are tilted, `[N]`."""
        return np.arange(num_envs) < round(self.tilted_share * num_envs)

    def end(self, progress: float) -> float | None:
        """On the host: how far dynamics are drawn from 0, in training half-widths; None if among models."""
        return None if self.law == "models" else max(1.0, float(self.reach.at(progress)))

    def acting(self, state: SteeringState) -> SteeringState:
        """What of the state `draw` needs."""
        return state._replace(temperature=self.temperature.acting(state.temperature))

    def draw(self, acting: SteeringState, steered: Steered, uniforms: Array) -> Array:
        """Dynamics `[N, P]`, in training half-widths, for a step; uniforms: `[N, 2 P + 1]` in [0, 1)."""
        size = steered.slopes.shape[1]
        if self.directions == "random":
            signs = jnp.where(uniforms[:, size:-1] < 0.5, -1.0, 1.0)
            steered = steered._replace(slopes=jnp.abs(steered.slopes) * signs)
        middle, half = self._box(steered)
        if self.law == "corner":
            drawn = middle - half * jnp.sign(steered.slopes)
        else:
            law = self._law(steered, half)
            temperature = self.temperature.predict(acting.temperature, self._rows(law, steered, acting.scale))
            if isinstance(law, BoxLaw):
                z = box_tilt.law(law.slopes, temperature)
                drawn = middle + half * box_tilt.draw(z, uniforms[:, :size])
            else:
                q = dual.tilt(law.values, law.weights, temperature)
                up_to = q @ jnp.triu(jnp.ones((q.shape[1], q.shape[1])))  # XLA's cumsum takes much longer
                picked = jnp.sum(up_to <= uniforms[:, -1:], axis=1)
                drawn = steered.models[jnp.minimum(picked, len(steered.models) - 1)]
        return jnp.where(steered.tilted[:, None], drawn, steered.centre)

    def __call__(self, state: SteeringState, steered: Steered) -> tuple[Array, SteeringState, Report]:
        """The mean dynamics `[B, P]` of the laws of B steps; then the temperature learns from some of them.

        What is reported is of those few steps too: means of all of them would take longer than learning.
        """
        lower, plain, *_ = self._tilted(state, steered)
        mean = self._mean(lower, plain, steered)
        few = steered._replace(
            inputs=steered.inputs[::EVERY],
            slopes=steered.slopes[::EVERY],
            centre=steered.centre[::EVERY],
            tilted=steered.tilted[::EVERY],
        )
        lower, plain, temperature, law = self._tilted(state, few)
        report = self._report(lower, plain, few)
        if law is None or temperature is None:
            return mean, state, report
        _, half = self._box(steered)
        spread = self._law(steered, half).spread().mean()
        scale = jnp.maximum(spread, 1e-6)
        _, learned, said = self.temperature(state.temperature, self._rows(law, few, scale))
        report |= said | {
            "epsilon": self.epsilon.at(steered.progress),
            **temperature_report(temperature, scale),
            "kl": law.kl(temperature).mean(),
            "branch_spread": spread * steered.reward_scale,
        }
        return mean, SteeringState(learned, scale), report

    def _tilted(
        self, state: SteeringState, steered: Steered
    ) -> tuple[Array, Array, Array | None, Law | None]:
        """Mean dynamics `[B, P]` of the tilted laws and of the plain ones, the temperatures and the laws."""
        middle, half = self._box(steered)
        if self.law == "corner":
            return middle - half * jnp.sign(steered.slopes), middle, None, None
        law = self._law(steered, half)
        acting = self.temperature.acting(state.temperature)
        temperature = self.temperature.predict(acting, self._rows(law, steered, state.scale))
        if isinstance(law, BoxLaw):
            z = box_tilt.law(law.slopes, temperature)
            return middle + half * box_tilt.mean(z), middle, temperature, law
        mean = dual.tilt(law.values, law.weights, temperature) @ steered.models
        plain = jnp.broadcast_to(steered.weights @ steered.models, mean.shape)
        return mean, plain, temperature, law

    def _box(self, steered: Steered) -> tuple[Array, Array]:
        """Middle and half-widths `[N, P]` of the box that each step draws from."""
        reach = self.reach.at(steered.progress)
        centre = steered.centre if self.box_around == "model" else jnp.zeros_like(steered.centre)
        end = jnp.maximum(reach, 1)
        low, high = jnp.maximum(centre - reach, -end), jnp.minimum(centre + reach, end)
        return (low + high) / 2, (high - low) / 2

    def _law(self, steered: Steered, half: Array) -> Law:
        if self.law == "models":
            return FiniteLaw(steered.slopes @ steered.models.T, steered.weights)
        return BoxLaw(steered.slopes * half)

    def _rows(self, law: Law, steered: Steered, scale: Array) -> advnet.TiltedRows:
        epsilon = self.epsilon.at(steered.progress)
        exact = law.exact(epsilon, self.temperature.iterations)
        return advnet.TiltedRows(steered.inputs, law, epsilon, scale, exact)

    def _mean(self, mean: Array, plain: Array, steered: Steered) -> Array:
        """The mean dynamics `[B, P]`, where the direction was not random and the environment was tilted."""
        mean = plain if self.directions == "random" else mean
        return jnp.where(steered.tilted[:, None], mean, steered.centre)

    def _report(self, mean: Array, plain: Array, steered: Steered) -> Report:
        """How far the mean moved in tilted environments: random directions lead nowhere on average."""
        shift = jnp.zeros_like(mean) if self.directions == "random" else mean - plain
        shift = jnp.where(steered.tilted[:, None], shift, 0)
        share = jnp.maximum(steered.tilted.mean(), 1e-6)
        return {
            "tilt": shift.mean(axis=0) / share,
            "robust_gap": -jnp.sum(steered.slopes * shift, axis=1).mean() / share * steered.reward_scale,
        }
