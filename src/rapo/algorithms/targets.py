"""How one-step targets are made: from the step taken, or the plain or tilted mean of its branches."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from rapo.algorithms.spec import Report, Steps
from rapo.algorithms.temperature import Adaptive, AdvNet, Exact, temperature_report
from rapo.errors import InputError
from rapo.heavy import Array, jax, jnp
from rapo.learner import advnet, dual
from rapo.learner.advantages import branch_values
from rapo.learner.budget import Budget
from rapo.learner.tilted_laws import FiniteLaw
from rapo.ranges import COUNT, NOT_NEGATIVE, Within, check_ranges


@dataclass(frozen=True)
class Taken:
    """Plain targets of the step that was taken: y = r + gamma (1 - d) V(s')."""

    def init(self, key: Array, observation: int, action: int) -> Any:
        """Nothing to learn."""
        return ()

    def shares(self, rng: np.random.Generator, weights: Array, rows: int) -> Array | None:
        """None: the targets need no branches."""
        return None

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """The plain targets `[B]`."""
        return steps.taken, state, {}


@dataclass(frozen=True)
class CriticNorm(Taken):
    """RNAC's targets for an integral probability metric: lower by how steep the critic is in its last
    layer."""

    radius: Annotated[float, NOT_NEGATIVE] = 0.001
    """Size of the uncertainty set: the target falls by gamma times radius times the norm of the critic's last
    layer."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """The lowered targets `[B]`."""
        fall = steps.discount * self.radius * jax.lax.stop_gradient(steps.critic_norm)
        lowered = jnp.where(steps.terminated, 0.0, fall)
        return steps.taken - lowered, state, {"robust_gap": lowered.mean() * steps.reward_scale}


@dataclass(frozen=True)
class Steady(Taken):
    """Plain targets of steered steps, optionally with the noise of drawing dynamics taken out."""

    centred: bool = False
    """Whether targets are moved, by learned sensitivities, from the dynamics that a step drew to the mean of
    the law that it drew from: the same expectation with less variance."""

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """The plain targets `[B]`, moved to the mean dynamics where asked for."""
        if not self.centred or steps.centring is None:
            return steps.taken, state, {}
        alive = jnp.where(steps.terminated, 0.0, steps.centring)
        return steps.taken + alive, state, {"centring": jnp.abs(alive).mean() * steps.reward_scale}


@dataclass(frozen=True)
class Mean:
    """Targets that are the mean over the branches of every model."""

    samples: Annotated[int, COUNT] | Literal["all"] = "all"
    """How many models are drawn for the target of each step; all takes every model with its exact weight."""
    branch_value: Literal["own", "paper"] = "own"
    """Which reward and termination the value of a branch has: its own, or, as in the paper, those of the step
    that was taken."""
    branches: Literal["simulated", "learned"] = "simulated"
    """Where the values of branches come from: simulated steps, or learned sensitivities, which need a
    fraction of the physics; with those, values of branches that are simulated anyway are taken as they
    are."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.branches == "learned" and (self.samples != "all" or self.branch_value != "own"):
            raise InputError(
                f"option branches is learned with samples {self.samples} and branch_value "
                f"{self.branch_value}: allowed with it are samples all and branch_value own"
            )

    def init(self, key: Array, observation: int, action: int) -> Any:
        """Nothing to learn."""
        return ()

    def shares(self, rng: np.random.Generator, weights: Array, rows: int) -> Array | None:
        """Weights `[rows, K]` of the models: exact, or the shares of a few draws; None if all are learned."""
        if self.branches == "learned":
            return None
        if self.samples == "all":
            return jnp.broadcast_to(weights, (rows, len(weights)))
        key = jax.random.key(rng.integers(2**32, dtype=np.uint32))
        return dual.draw(key, weights, rows, self.samples)

    def values(self, steps: Steps) -> tuple[Array, Array]:
        """Branch values and weights, both `[B, K]`; where no branch is valid, the step that was taken."""
        branches = steps.branches
        if self.branches == "learned":
            assert steps.learned is not None
            values = steps.learned
            if branches is not None:
                values = jnp.where(branches.valid, branches.value(steps.discount), values)
            return values, jnp.broadcast_to(steps.weights, values.shape)
        assert branches is not None
        taken = steps.taken[:, None]
        values = branches.value(steps.discount)
        if self.branch_value == "paper":
            reward, terminated = steps.reward[:, None], steps.terminated[:, None]
            values = branch_values(reward, terminated, branches.next_value, steps.discount)
        weights = jnp.where(branches.valid, branches.shares, 0)
        total = weights.sum(axis=1, keepdims=True)
        weights = jnp.where(total > 0, weights / jnp.where(total > 0, total, 1), 1 / weights.shape[1])
        return jnp.where(branches.valid & (total > 0), values, taken), weights

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """The mean targets `[B]`."""
        values, weights = self.values(steps)
        mean = jnp.sum(weights * values, axis=1)
        return mean, state, {"branch_spread": FiniteLaw(values, weights).spread().mean() * steps.reward_scale}


@dataclass(frozen=True)
class Robust(Mean):
    """Targets tilted toward the worse branches, within a KL budget of epsilon at every step.

    Reported temperatures are in units of one over the mean spread of a row, and 100 at most.
    """

    epsilon: Budget = Budget(0.1)
    """KL budget of a step."""
    temperature: AdvNet | Exact | Adaptive = AdvNet()
    """Where the temperature of the tilt comes from."""
    target: dual.Target = "tilted"
    """The target made of the branches: tilted mean, entropic risk, dual bound, minimum or plain mean."""
    around: Literal["branches", "taken"] = "branches"
    """What the target is lowered from, by as much as the tilt lowers the mean of the branches: that mean, or
    the value of the step that was taken, which has the right model of what stays through an episode, such as
    a load."""
    correction: Annotated[float, Within(0, 1, open_low=True, open_high=True)] | None = None
    """Lower the entropic risk of a few samples by its likely error, so that it is too high with at most this
    probability; only with target=soft and a number of samples. none does not lower it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.correction is not None and (self.samples == "all" or self.target != "soft"):
            raise InputError(
                f"option correction is {self.correction:g} with target {self.target} and samples "
                f"{self.samples}: allowed is a correction with target soft and a number of samples"
            )

    def init(self, key: Array, observation: int, action: int) -> Any:
        """What the temperature learns, at first."""
        return self.temperature.init(key, observation, action)

    def __call__(self, state: Any, steps: Steps) -> tuple[Array, Any, Report]:
        """The robust targets `[B]`."""
        values, weights = self.values(steps)
        epsilon = self.epsilon.at(steps.progress)
        worst = dual.solve(values, weights, epsilon, self.temperature.iterations)
        law = FiniteLaw(values, weights)
        spread = law.spread()
        scale = jnp.maximum(spread.mean(), 1e-6)
        batch = advnet.TiltedRows(steps.inputs, law, epsilon, scale, worst.temperature)
        temperature, state, report = self.temperature(state, batch)
        if self.correction is None or self.samples == "all":
            target = dual.target(values, weights, temperature, epsilon, self.target)
        else:
            target = dual.conservative(values, weights, temperature, self.samples, self.correction)
        tilted = dual.target(values, weights, temperature, epsilon, "tilted")
        mean = jnp.sum(weights * values, axis=1)
        report |= {
            "epsilon": epsilon,
            **temperature_report(temperature, scale),
            "kl": dual.kl(values, weights, temperature).mean(),
            "duality_gap": (tilted - worst.value - worst.gap).mean() * steps.reward_scale,
            "branch_spread": spread.mean() * steps.reward_scale,
            "robust_gap": (mean - target).mean() * steps.reward_scale,
        }
        if self.around == "taken":
            target += steps.taken - mean
        return jax.lax.stop_gradient(target), state, report
