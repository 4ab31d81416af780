"""How one-step targets are made: from the step that was taken, or from branches, plainly or tilted."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rapo.algorithms.spec import Report, Steps
from rapo.algorithms.temperature import Adaptive, AdvNet, Exact
from rapo.errors import InputError
from rapo.heavy import Array, jax, jnp
from rapo.learner import advnet, dual
from rapo.learner.advantages import branch_values
from rapo.learner.budget import Budget


@dataclass(frozen=True)
class Taken:
    """y = r + gamma (1 - d) V(s') of the step that was taken."""

    def init(self, key: Array, observation: int, action: int) -> Any:
        """Nothing to learn."""
        return ()

    def shares(self, rng: np.random.Generator, weights: Array, rows: int) -> Array | None:
        """No branches."""
        return None

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """The plain target."""
        return steps.taken, state, {}


@dataclass(frozen=True)
class Mean:
    """The plain mean over the branches of every model."""

    samples: int | Literal["all"] = "all"
    """How many models are drawn for each step; `all` takes every one with its exact weight."""
    branch_value: Literal["own", "paper"] = "own"
    """Whose reward and ending a branch has: its own, or, as in the paper, those of the step taken."""

    def __post_init__(self) -> None:
        if self.samples != "all" and self.samples < 1:
            raise InputError(
                f"{self.samples} samples of the ensemble were asked for: allowed are all, or 1 up"
            )

    def init(self, key: Array, observation: int, action: int) -> Any:
        """Nothing to learn."""
        return ()

    def shares(self, rng: np.random.Generator, weights: Array, rows: int) -> Array | None:
        """The weights themselves, or the shares of a few draws."""
        if self.samples == "all":
            return jnp.broadcast_to(weights, (rows, len(weights)))
        key = jax.random.key(rng.integers(2**32, dtype=np.uint32))
        return dual.draw(key, weights, rows, self.samples)

    def values(self, steps: Steps) -> tuple[Array, Array]:
        """Branch values and weights, both `[B, K]`; a row without a valid branch is what was taken."""
        branches = steps.branches
        assert branches is not None
        taken = steps.taken[:, None]
        reward, terminated = branches.reward, branches.terminated
        if self.branch_value == "paper":
            reward, terminated = steps.reward[:, None], steps.terminated[:, None]
        values = branch_values(reward, terminated, branches.next_value, steps.discount)
        weights = jnp.where(branches.valid, branches.shares, 0)
        total = weights.sum(axis=1, keepdims=True)
        weights = jnp.where(total > 0, weights / jnp.where(total > 0, total, 1), 1 / weights.shape[1])
        return jnp.where(branches.valid & (total > 0), values, taken), weights

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """The mean target."""
        values, weights = self.values(steps)
        mean = jnp.sum(weights * values, axis=1)
        return mean, state, {"branch_spread": _spread(values, weights).mean() * steps.reward_scale}


@dataclass(frozen=True)
class Robust(Mean):
    """Branches tilted toward the worse ones, within a KL budget of epsilon at every step.

    Reported temperatures are in units of one over the mean spread of a row, and 100 at most.
    """

    epsilon: Budget = Budget(0.1)
    """KL budget of a step."""
    temperature: AdvNet | Exact | Adaptive = AdvNet()
    """Where the temperature of the tilt comes from."""
    target: dual.Target = "tilted"
    """What is made of the tilt: its mean, the entropic risk, the dual bound; or plain minimum or mean."""
    around: Literal["branches", "taken"] = "branches"
    """What the tilt is taken off: the mean of the branches, or the step that was taken. A load that stays and
    shows through an episode is right in the step taken, and wrong in most branches."""
    correction: float | None = None
    """Lower the entropic risk of m samples by its likely error, to fail with at most this probability."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.correction is not None and not (
            0 < self.correction < 1 and self.samples != "all" and self.target == "soft"
        ):
            raise InputError(
                f"correction {self.correction:g} was asked for with target {self.target} and samples "
                f"{self.samples}: it is a probability between 0 and 1, for target soft and some samples"
            )

    def init(self, key: Array, observation: int, action: int) -> Any:
        """What the temperature learns."""
        return self.temperature.init(key, observation, action)

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """The robust target."""
        values, weights = self.values(steps)
        epsilon = self.epsilon.at(steps.progress)
        worst = dual.solve(values, weights, epsilon, self.temperature.iterations)
        spread = _spread(values, weights)
        scale = jnp.maximum(spread.mean(), 1e-6)
        batch = advnet.Branched(steps.inputs, values, weights, epsilon, scale, worst.temperature)
        temperature, state, report = self.temperature(state, batch)
        if self.correction is None or self.samples == "all":
            target = dual.target(values, weights, temperature, epsilon, self.target)
        else:
            target = dual.conservative(values, weights, temperature, self.samples, self.correction)
        tilted = dual.target(values, weights, temperature, epsilon, "tilted")
        mean = jnp.sum(weights * values, axis=1)
        shown = jnp.minimum(temperature * scale, advnet.LARGEST)
        low, middle, high = jnp.quantile(shown, jnp.array([0.1, 0.5, 0.9]))
        report |= {
            "epsilon": epsilon,
            "eta_mean": shown.mean(),
            "eta_p10": low,
            "eta_p50": middle,
            "eta_p90": high,
            "kl": dual.kl(values, weights, temperature).mean(),
            "duality_gap": (tilted - worst.value - worst.gap).mean() * steps.reward_scale,
            "branch_spread": spread.mean() * steps.reward_scale,
            "robust_gap": (mean - target).mean() * steps.reward_scale,
        }
        if self.around == "taken":
            target += steps.taken - mean
        return jax.lax.stop_gradient(target), state, report


def _spread(values: Array, weights: Array) -> Array:
    """Standard deviation `[B]` of every row."""
    mean = jnp.sum(weights * values, axis=1, keepdims=True)
    return jnp.sqrt(jnp.sum(weights * (values - mean) ** 2, axis=1))
