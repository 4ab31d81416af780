"""Where the dual temperature of a step comes from: AdvNet, a root finder, or one number that adapts.

Each takes an `advnet.Branched` batch, in which the exact temperature of every row is known already, and gives
temperatures `[B]`, what it has learned, and what to report. `iterations` is how long the root finder runs.
"""

from dataclasses import dataclass
from math import inf
from typing import Any, Literal

from rapo.algorithms.spec import Report
from rapo.errors import InputError
from rapo.heavy import Array, jnp, optax
from rapo.learner import advnet, budget, dual
from rapo.learner.networks import HIDDEN


@dataclass(frozen=True)
class Exact:
    """The root finder's answer for every row."""

    iterations: int = dual.ITERATIONS
    """How long it runs: a few make the paper's cheaper form, which need not meet the budget."""

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InputError(f"{self.iterations} iterations were asked for: allowed are whole numbers from 1")

    def init(self, key: Array, observation: int, action: int) -> Any:
        """Nothing to learn."""
        return ()

    def __call__(self, state: Any, batch: advnet.Branched) -> tuple[Array, Any, Report]:
        """eta*."""
        return batch.exact, state, {}


@dataclass(frozen=True)
class AdvNet:
    """A network predicts the temperature of every pair; the budget bounds it."""

    advnet_hidden: tuple[int, ...] = HIDDEN
    """Sizes of its hidden layers."""
    advnet_action: bool = True
    """Whether it sees the action too, and not only the observation."""
    advnet_rate: float = 1e-3
    """Its learning rate."""
    advnet_steps: int = 5
    """Its optimiser steps in every update."""
    advnet_loss: advnet.Loss = "surrogate"
    """Lower the target until the penalty stops it, or regress on the exact temperature."""
    advnet_lowers: Literal["tilted", "soft"] = "tilted"
    """What it lowers: the tilted mean or the entropic risk."""
    projection: advnet.Projection = "feasible"
    """At most the exact temperature, or always the exact one."""
    penalty: float = 10.0
    """Price of exceeding the budget."""
    iterations: int = dual.ITERATIONS
    """How long the root finder behind the projection runs."""

    def __post_init__(self) -> None:
        least = min(self.advnet_steps, self.iterations, *self.advnet_hidden)
        if least < 1 or not 0 < self.advnet_rate < inf or not 0 <= self.penalty < inf:
            raise InputError(
                f"advnet_hidden {list(self.advnet_hidden)}, advnet_steps {self.advnet_steps}, advnet_rate "
                f"{self.advnet_rate:g}, penalty {self.penalty:g} and iterations {self.iterations} were "
                "given: allowed is a penalty from 0, a rate above 0, the others from 1"
            )

    def init(self, key: Array, observation: int, action: int) -> Any:
        """A network close to no tilt."""
        layers = advnet.init(key, observation + action * self.advnet_action, self.advnet_hidden)
        return layers, optax.adam(self.advnet_rate).init(layers)

    def __call__(self, state: Any, batch: advnet.Branched) -> tuple[Array, Any, Report]:
        """Predict and project; then learn."""
        layers, optimiser = state
        batch = batch._replace(inputs=batch.inputs[:, : len(layers[0]["kernel"])])
        predicted = advnet.predict(layers, batch.inputs, batch.scale)
        layers, optimiser, loss = advnet.update(
            layers,
            optax.adam(self.advnet_rate),
            optimiser,
            batch,
            self.advnet_steps,
            kind=self.advnet_loss,
            projection=self.projection,
            lowers=self.advnet_lowers,
            penalty=self.penalty,
        )
        report = {
            "advnet_loss": loss,
            "advnet_eta": jnp.mean(predicted * batch.scale),
            "advnet_over": jnp.mean(predicted > batch.exact),
        }
        return advnet.project(predicted, batch.exact, self.projection), (layers, optimiser), report


@dataclass(frozen=True)
class Adaptive:
    """One temperature for all rows, moved by Robbins-Monro steps until the budget is met on average."""

    adapt_rate: float = 0.5
    """Size of the first steps."""
    iterations: int = dual.ITERATIONS
    """How long the root finder runs that says what the worst case would be."""

    def __post_init__(self) -> None:
        if not 0 < self.adapt_rate < inf or self.iterations < 1:
            raise InputError(
                f"adapt_rate {self.adapt_rate:g} and {self.iterations} iterations were given: "
                "the rate is above 0 and finite, and iterations at least 1"
            )

    def init(self, key: Array, observation: int, action: int) -> Any:
        """A temperature of one over the spread."""
        return jnp.ones(()), jnp.zeros(())

    def __call__(self, state: Any, batch: advnet.Branched) -> tuple[Array, Any, Report]:
        """The temperature as it is; then adapt it."""
        eta, updates = state
        temperature = jnp.full(len(batch.values), eta / batch.scale)
        used = dual.kl(batch.values, batch.weights, temperature).mean()
        return temperature, (budget.adapt(eta, used, batch.budget, updates, self.adapt_rate), updates + 1), {}
