"""AdvNet: a small network that predicts the dual temperature of a state-action pair.

Its output is in units of one over `scale`, a typical spread of branch values, so that it need not follow
the growth of the values. Following the paper's appendix, it lowers the value the policy learns from until
the budget stops it: loss = mean(y) + lambda mean(relu(KL - epsilon)^2), where y falls as the temperature
grows. (The paper's main text keeps the offset -epsilon/eta inside y; minimising that drives the temperature
to 0 and the target to minus infinity.) The penalty is taken before the projection: after it there is nothing
left to penalise.
"""

from itertools import pairwise
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from rapo.learner import dual

Layers = list[dict[str, Array]]
Projection = Literal["feasible", "tight"]
Loss = Literal["surrogate", "supervised"]


class Branched(NamedTuple):
    """A batch of branch values with what AdvNet may know of them."""

    inputs: Array
    """`[B, inputs]`, observations, with or without the actions."""
    values: Array
    """`[B, K]`."""
    weights: Array
    """`[B, K]` or `[K]`."""
    budget: Array
    """`[]`, epsilon."""
    scale: Array
    """`[]`, a typical spread of a row of values."""
    exact: Array
    """`[B]`, eta* of every row."""


def init(key: Array, inputs: int, hidden: tuple[int, ...] = (64, 64), first: float = 0.1) -> Layers:
    """A tanh network whose first predictions are about `first`, so that it starts close to no tilt."""
    sizes = (inputs, *hidden, 1)
    layers = []
    for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        last = i == len(hidden)
        gain = 0.01 if last else 1.0
        layers.append(
            {
                "kernel": jax.nn.initializers.orthogonal(gain)(
                    jax.random.fold_in(key, i), (fan_in, fan_out), jnp.float32
                ),
                "bias": jnp.full(fan_out, jnp.log(jnp.expm1(first)) if last else 0.0),
            }
        )
    return layers


def predict(layers: Layers, inputs: Array, scale: Array, largest: float = 100.0) -> Array:
    """Temperatures `[B]`, not negative, at most `largest` over the scale."""
    x = inputs
    for layer in layers[:-1]:
        x = jnp.tanh(x @ layer["kernel"] + layer["bias"])
    raw = jax.nn.softplus(x @ layers[-1]["kernel"] + layers[-1]["bias"])[..., 0]
    return jnp.minimum(raw, largest) / scale


def project(predicted: Array, exact: Array, projection: Projection = "feasible") -> Array:
    """Temperatures `[B]` within the budget, with the gradient of the predicted ones (straight through)."""
    allowed = exact if projection == "tight" else jnp.minimum(predicted, exact)
    return predicted + jax.lax.stop_gradient(allowed - predicted)


def loss(
    layers: Layers,
    batch: Branched,
    *,
    kind: Loss = "surrogate",
    projection: Projection = "feasible",
    lowers: Literal["soft", "tilted"] = "tilted",
    penalty: float = 10.0,
) -> Array:
    """What AdvNet minimises; values are measured in units of the scale, so that `penalty` needs no tuning."""
    predicted = predict(layers, batch.inputs, batch.scale)
    if kind == "supervised":
        return jnp.mean((predicted - batch.exact) ** 2) * batch.scale**2
    value = _soft if lowers == "soft" else _tilted
    used = dual.kl(batch.values, batch.weights, predicted)
    over = jnp.maximum(used - batch.budget, 0)
    lowered = value(batch.values, batch.weights, project(predicted, batch.exact, projection))
    return jnp.mean(lowered) / batch.scale + penalty * jnp.mean(over**2)


def update(
    layers: Layers,
    optimiser: optax.GradientTransformation,
    state: optax.OptState,
    batch: Branched,
    steps: int,
    **options: Any,
) -> tuple[Layers, optax.OptState, Array]:
    """A few optimiser steps on one batch; returns the loss before the last of them too."""

    def once(carry: Any, _: None) -> tuple[Any, Array]:
        layers, state = carry
        value, gradient = jax.value_and_grad(loss)(layers, batch, **options)
        updates, state = optimiser.update(gradient, state, layers)
        return (optax.apply_updates(layers, updates), state), value

    (layers, state), losses = jax.lax.scan(once, (layers, state), length=steps)
    return layers, state, losses[-1]


def _soft(values: Array, weights: Array, temperature: Array) -> Array:
    return dual.soft(values, weights, temperature)


def _tilted(values: Array, weights: Array, temperature: Array) -> Array:
    return jnp.sum(dual.tilt(values, weights, temperature) * values, axis=-1)
