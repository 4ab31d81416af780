"""Small tanh networks as plain lists of layers, and the Gaussian policy built from one."""

from itertools import pairwise
from typing import NamedTuple

from rapo.heavy import Array, jax, jnp

Layers = list[dict[str, Array]]
"""A network: `kernel` `[in, out]` and `bias` `[out]` of each layer, first to last."""

HIDDEN = (64, 64)
"""Sizes of the hidden layers where nothing else is said."""


class Policy(NamedTuple):
    """A Gaussian over actions whose mean is a network and whose spread does not depend on the state."""

    mean: Layers
    log_std: Array
    """`[action]`, the logarithm of the standard deviation of each action."""


def init_layers(key: Array, inputs: int, outputs: int, hidden: tuple[int, ...], gain: float) -> Layers:
    """A network of orthogonal kernels with gain sqrt(2), in the last layer `gain`, and zero biases."""
    sizes = (inputs, *hidden, outputs)
    return [
        {
            "kernel": jax.nn.initializers.orthogonal(gain if i == len(hidden) else 2**0.5)(
                jax.random.fold_in(key, i), shape, jnp.float32
            ),
            "bias": jnp.zeros(shape[1]),
        }
        for i, shape in enumerate(pairwise(sizes))
    ]


def forward(layers: Layers, inputs: Array) -> Array:
    """The network's outputs `[..., out]` for inputs `[..., in]`."""
    x = inputs
    for layer in layers[:-1]:
        x = jnp.tanh(x @ layer["kernel"] + layer["bias"])
    return x @ layers[-1]["kernel"] + layers[-1]["bias"]


def init_policy(key: Array, observation: int, action: int, hidden: tuple[int, ...] = HIDDEN) -> Policy:
    """A policy that at first acts around 0 with standard deviation 1."""
    return Policy(init_layers(key, observation, action, hidden, gain=0.01), jnp.zeros(action))


def init_critic(key: Array, observation: int, hidden: tuple[int, ...] = HIDDEN) -> Layers:
    """A critic: a network with one output, the value."""
    return init_layers(key, observation, 1, hidden, gain=1.0)


def value(critic: Layers, observation: Array) -> Array:
    """The critic's values `[...]` of observations `[..., observation]`."""
    return forward(critic, observation)[..., 0]


def log_probability(policy: Policy, observation: Array, action: Array) -> Array:
    """The logarithm `[...]` of the probability density of actions `[..., action]` given observations."""
    z = (action - forward(policy.mean, observation)) * jnp.exp(-policy.log_std)
    return jnp.sum(-0.5 * z**2 - policy.log_std - 0.5 * jnp.log(2 * jnp.pi), axis=-1)


def entropy(policy: Policy) -> Array:
    """The entropy `[]` of the distribution of actions, the same in every state."""
    return jnp.sum(policy.log_std + 0.5 * jnp.log(2 * jnp.pi * jnp.e))
