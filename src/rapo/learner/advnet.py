"""AdvNet: a small network that predicts the dual temperature of a state-action pair.

The network's output is in units of one over `scale`, a typical spread of branch values, so that it need not
follow the growth of the values. Following the paper's appendix, AdvNet lowers the value the policy learns
from until the budget stops it: loss = mean(y) + lambda mean(relu(KL - epsilon)^2), where y falls as the
temperature grows. (The paper's main text keeps the offset -epsilon/eta inside y; minimising that drives the
temperature to 0 and the target to minus infinity.) The penalty is taken before the projection, after which no
temperature exceeds the budget.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from rapo.heavy import Array, jax, jnp, optax
from rapo.learner.networks import HIDDEN, Layers, forward, init_layers
from rapo.learner.tilted_laws import Law

LARGEST = 100.0
"""The largest temperature AdvNet gives, in units of one over the scale."""

Projection = Literal["feasible", "tight"]
Loss = Literal["surrogate", "supervised"]


class TiltedRows(NamedTuple):
    """A batch of laws to tilt, with what AdvNet sees and learns from."""

    inputs: Array
    """`[B, inputs]`, observations, with or without the actions."""
    law: Law
    """What is tilted in each row: branch values with their weights, or a box of dynamics."""
    budget: Array
    """`[]`, epsilon, the KL budget of a row."""
    scale: Array
    """`[]`, a typical spread of the values of a row."""
    exact: Array
    """`[B]`, eta*, the exact temperature of every row."""


def init(key: Array, inputs: int, hidden: tuple[int, ...] = HIDDEN, first: float = 0.1) -> Layers:
    """A network whose first predictions are about `first`, so that it starts close to no tilt."""
    layers = init_layers(key, inputs, 1, hidden, gain=0.01)
    layers[-1]["bias"] = jnp.full(1, jnp.log(jnp.expm1(first)))
    return layers


def predict(layers: Layers, inputs: Array, scale: Array) -> Array:
    """Temperatures `[B]` for inputs `[B, inputs]`: not negative, and at most LARGEST over the scale."""
    return jnp.minimum(jax.nn.softplus(forward(layers, inputs)[..., 0]), LARGEST) / scale


def project(predicted: Array, exact: Array, projection: Projection = "feasible") -> Array:
    """Temperatures `[B]` within the budget, with the gradient of the predicted ones (straight through)."""
    allowed = exact if projection == "tight" else jnp.minimum(predicted, exact)
    return predicted + jax.lax.stop_gradient(allowed - predicted)


def loss(
    layers: Layers,
    batch: TiltedRows,
    *,
    kind: Loss = "surrogate",
    projection: Projection = "feasible",
    lowers: Literal["soft", "tilted"] = "tilted",
    penalty: float = 10.0,
) -> Array:
    """What AdvNet minimises, `[]`; values are in units of the scale, so that `penalty` needs no tuning."""
    predicted = predict(layers, batch.inputs, batch.scale)
    if kind == "supervised":
        wanted = jnp.minimum(batch.exact, LARGEST / batch.scale)
        return jnp.mean((predicted - wanted) ** 2) * batch.scale**2
    value = batch.law.soft if lowers == "soft" else batch.law.tilted
    used = batch.law.kl(predicted)
    over = jnp.maximum(used - batch.budget, 0)
    lowered = value(project(predicted, batch.exact, projection))
    return jnp.mean(lowered) / batch.scale + penalty * jnp.mean(over**2)


def update(
    layers: Layers,
    optimiser: optax.GradientTransformation,
    state: optax.OptState,
    batch: TiltedRows,
    steps: int,
    **options: Any,
) -> tuple[Layers, optax.OptState, Array]:
    """Layers and optimiser state after some steps on one batch, and the loss before the last step."""

    def once(carry: Any, _: None) -> tuple[Any, Array]:
        layers, state = carry
        value, gradient = jax.value_and_grad(loss)(layers, batch, **options)
        updates, state = optimiser.update(gradient, state, layers)
        return (optax.apply_updates(layers, updates), state), value

    (layers, state), losses = jax.lax.scan(once, (layers, state), length=steps)
    return layers, state, losses[-1]
