"""Where the dual temperature of a step comes from: AdvNet, a root finder, or one number that adapts.

Each takes an `advnet.TiltedRows` batch, which has the exact temperature of every row already, and gives
temperatures `[B]`, what it has learned, and what to report. `iterations` are those of the root finder.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from rapo.algorithms.spec import Report
from rapo.heavy import Array, jnp, optax
from rapo.learner import advnet, budget, dual
from rapo.learner.networks import HIDDEN
from rapo.ranges import LAYERS, NOT_NEGATIVE, POSITIVE, TURNS, check_ranges


@dataclass(frozen=True)
class Exact:
    """The exact temperature of every row, from a root finder."""

    iterations: Annotated[int, TURNS] = dual.ITERATIONS
    """Iterations of the root finder: a few make the paper's cheaper form, which need not meet the budget."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def init(self, key: Array, observation: int, action: int) -> Any:
        """Nothing to learn."""
        return ()

    def acting(self, state: Any) -> Any:
        """What of the state predictions need."""
        return state

    def predict(self, acting: Any, batch: advnet.TiltedRows) -> Array:
        """The exact temperatures eta* `[B]`."""
        return batch.exact

    def __call__(self, state: Any, batch: advnet.TiltedRows) -> tuple[Array, Any, Report]:
        """The exact temperatures eta* `[B]`."""
        return batch.exact, state, {}


@dataclass(frozen=True)
class AdvNet:
    """A network predicts the temperature of every state-action pair, and the KL budget bounds it."""

    advnet_hidden: Annotated[tuple[int, ...], LAYERS] = HIDDEN
    """Sizes of AdvNet's hidden layers."""
    advnet_action: bool = True
    """Whether AdvNet sees the action beside the observation."""
    advnet_rate: Annotated[float, POSITIVE] = 1e-3
    """AdvNet's learning rate."""
    advnet_steps: Annotated[int, TURNS] = 5
    """AdvNet's optimiser steps in every update."""
    advnet_loss: advnet.Loss = "surrogate"
    """What AdvNet learns from: lowering the target against the penalty, or regression on the exact
    temperature."""
    advnet_lowers: Literal["tilted", "soft"] = "tilted"
    """What AdvNet's surrogate loss lowers: the tilted mean or the entropic risk."""
    projection: advnet.Projection = "feasible"
    """What AdvNet's temperatures become: at most the exact ones (feasible), or the exact ones (tight)."""
    penalty: Annotated[float, NOT_NEGATIVE] = 10.0
    """Price in AdvNet's surrogate loss of exceeding the KL budget."""
    iterations: Annotated[int, TURNS] = dual.ITERATIONS
    """Iterations of the root finder that finds the exact temperatures."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def init(self, key: Array, observation: int, action: int) -> Any:
        """A network whose first temperatures are small, and the state of its optimiser."""
        layers = advnet.init(key, observation + action * self.advnet_action, self.advnet_hidden)
        return layers, optax.adam(self.advnet_rate).init(layers)

    def acting(self, state: Any) -> Any:
        """What of the state predictions need: the network."""
        return state[0]

    def predict(self, acting: Any, batch: advnet.TiltedRows) -> Array:
        """Temperatures `[B]` as predicted, within the budget."""
        predicted = advnet.predict(acting, batch.inputs[:, : len(acting[0]["kernel"])], batch.scale)
        return advnet.project(predicted, batch.exact, self.projection)

    def __call__(self, state: Any, batch: advnet.TiltedRows) -> tuple[Array, Any, Report]:
        """Temperatures `[B]` as predicted, within the budget; then the network learns from the batch."""
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

    adapt_rate: Annotated[float, POSITIVE] = 0.5
    """Size of the first Robbins-Monro steps on the temperature."""
    iterations: Annotated[int, TURNS] = dual.ITERATIONS
    """Iterations of the root finder that finds the exact worst case, to report it."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def init(self, key: Array, observation: int, action: int) -> Any:
        """A temperature of 1 in units of one over the spread of a row, and no updates yet."""
        return jnp.ones(()), jnp.zeros(())

    def acting(self, state: Any) -> Any:
        """What of the state predictions need: the temperature."""
        return state[0]

    def predict(self, acting: Any, batch: advnet.TiltedRows) -> Array:
        """The one temperature for all rows `[B]`."""
        return jnp.full(batch.exact.shape, acting / batch.scale)

    def __call__(self, state: Any, batch: advnet.TiltedRows) -> tuple[Array, Any, Report]:
        """The one temperature for all rows `[B]`; then it is adapted to the KL that was used."""
        eta, updates = state
        temperature = self.predict(eta, batch)
        used = batch.law.kl(temperature).mean()
        return temperature, (budget.adapt(eta, used, batch.budget, updates, self.adapt_rate), updates + 1), {}


def temperature_report(temperature: Array, scale: Array) -> Report:
    """What to report of temperatures `[B]`: in units of one over the `scale` `[]`, cut off at the largest."""
    shown = jnp.minimum(temperature * scale, advnet.LARGEST)
    low, middle, high = jnp.quantile(shown, jnp.array([0.1, 0.5, 0.9]))
    return {"eta_mean": shown.mean(), "eta_p10": low, "eta_p50": middle, "eta_p90": high}
