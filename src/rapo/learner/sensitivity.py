"""Sensitivities: how much the value of a step changes with each uncertain parameter, by a small network.

The value of a step is nearly linear in the parameters, G(s, a, u) = G0 + g(s, a) . u, with u in units of the
training half-widths. A probe is the same step under other dynamics: it tells g . d for the unit direction d
between the two dynamics. The network learns g from the probes of the last updates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rapo.heavy import Array, jax, jnp, optax
from rapo.learner.networks import Layers, forward, init_layers

NEAREST = 0.1
"""Dynamics closer than this to those of the step itself, in training half-widths, tell nothing."""
LARGEST = 10.0
"""Rises further from 0 than so many typical ones are cut off: they are falls, where a value ends."""
SMOOTHING = 0.05
"""The share of the newest update in moving averages."""


class Probes(NamedTuple):
    """E steps taken again under other dynamics."""

    inputs: Array
    """`[E, inputs]`, observations and actions."""
    directions: Array
    """`[E, P]`, unit vectors from the dynamics of the step to those of the probe."""
    rises: Array
    """`[E]`, the change in value divided by the distance between the dynamics."""
    usable: Array
    """`[E]`, whether both steps went well and their dynamics differ."""


class Sensitivities(NamedTuple):
    """The network, what it learns from, and how well it does."""

    layers: Layers
    optimiser: optax.OptState
    memory: Probes
    """The probes of the last updates, oldest first."""
    scale: Array
    """`[]`, the typical size of a rise: the network's outputs are in units of it."""
    r2: Array
    """`[]`, a moving average of the share of the rises' variance that is predicted before it is learned
    from."""
    updates: Array
    """`[]`, how often the network has learned."""


def init(
    key: Array, inputs: int, parameters: int, hidden: tuple[int, ...], remembered: int, rate: float
) -> Sensitivities:
    """A network that predicts no sensitivity, with a memory of so many empty places."""
    layers = init_layers(key, inputs, parameters, hidden, gain=0.01)
    empty = Probes(
        jnp.zeros((remembered, inputs)),
        jnp.zeros((remembered, parameters)),
        jnp.zeros(remembered),
        jnp.zeros(remembered, bool),
    )
    return Sensitivities(
        layers, optax.adam(rate).init(layers), empty, jnp.zeros(()), jnp.zeros(()), jnp.zeros(())
    )


def predict(layers: Layers, scale: Array, inputs: Array) -> Array:
    """Sensitivities g `[..., P]` for inputs `[..., inputs]`, by a network and the scale of its outputs."""
    return forward(layers, inputs) * scale


def compare(inputs: Array, moves: Array, changes: Array, valid: Array) -> Probes:
    """Probes from the moves `[E, P]` between dynamics and the changes `[E]` in value."""
    distance = jnp.sqrt(jnp.sum(moves**2, axis=-1))
    usable = valid & (distance > NEAREST)
    distance = jnp.where(usable, distance, 1)
    return Probes(inputs, moves / distance[:, None], jnp.where(usable, changes, 0) / distance, usable)


def explained(state: Sensitivities, probes: Probes) -> Array:
    """The share `[]` of the rises' squares that the network predicts: 1 at best, 0 for no better than 0."""
    wanted = _cut(probes.rises, state.scale)
    error = jnp.sum(predict(state.layers, state.scale, probes.inputs) * probes.directions, axis=-1) - wanted
    total = jnp.sum(jnp.where(probes.usable, wanted**2, 0))
    return 1 - jnp.sum(jnp.where(probes.usable, error**2, 0)) / jnp.where(total > 0, total, 1)


def learn(state: Sensitivities, probes: Probes, batches: Array, rate: float) -> Sensitivities:
    """The state after new probes; batches: `[steps, rows]`, the places in the memory of each Adam step."""
    size = jnp.sum(jnp.where(probes.usable, probes.rises**2, 0)) / jnp.maximum(probes.usable.sum(), 1)
    share = jnp.maximum(SMOOTHING, 1 / (1 + state.updates))
    scale = jnp.sqrt((1 - share) * state.scale**2 + share * size)
    r2 = (1 - share) * state.r2 + share * jnp.maximum(explained(state, probes), -1)
    memory = jax.tree.map(lambda old, new: jnp.concatenate((old, new))[len(new) :], state.memory, probes)
    wanted = _cut(memory.rises, scale) / jnp.where(scale > 0, scale, 1)
    optimiser = optax.adam(rate)

    def loss(layers: Layers, rows: Array) -> Array:
        found = jnp.sum(forward(layers, memory.inputs[rows]) * memory.directions[rows], axis=-1)
        return jnp.mean(jnp.where(memory.usable[rows], (found - wanted[rows]) ** 2, 0))

    def once(carry: Any, rows: Array) -> tuple[Any, None]:
        layers, moments = carry
        updates, moments = optimiser.update(jax.grad(loss)(layers, rows), moments)
        return (optax.apply_updates(layers, updates), moments), None

    (layers, moments), _ = jax.lax.scan(once, (state.layers, state.optimiser), batches)
    return Sensitivities(layers, moments, memory, scale, r2, state.updates + 1)


def _cut(rises: Array, scale: Array) -> Array:
    limit = jnp.where(scale > 0, LARGEST * scale, jnp.inf)
    return jnp.clip(rises, -limit, limit)
