"""The PPO update: clipped surrogate, value loss and entropy over epochs of minibatches, in one compiled call.

It knows nothing of robustness: advantages and returns come from whatever targets an algorithm makes, and
`weight` says which samples count (none of a diverged step, only the worst trajectories for EPOpt).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from rapo.learner import networks
from rapo.learner.networks import Layers, Policy


@dataclass(frozen=True)
class Settings:
    """How to update."""

    epochs: int = 10
    """Passes over the batch."""
    minibatches: int = 32
    """Parts a batch is shuffled into, each one optimiser step."""
    clip: float = 0.2
    """How far the probability of an action may move before it no longer pays."""
    value_cost: float = 0.5
    """Weight of the value loss."""
    entropy_bonus: float = 0.0
    """Weight of the entropy."""
    gradient_limit: float = 0.5
    """Largest norm of a gradient."""
    target_kl: float | None = None
    """Skip the rest of an update once the policy has moved further than this; None means never."""


class Parameters(NamedTuple):
    """What PPO learns."""

    policy: Policy
    critic: Layers


class Batch(NamedTuple):
    """B samples of a rollout."""

    observation: Array
    """`[B, observation]`, normalised."""
    action: Array
    """`[B, action]`."""
    log_probability: Array
    """`[B]`, of the action when it was taken."""
    advantage: Array
    """`[B]`."""
    returns: Array
    """`[B]`, what the critic learns."""
    weight: Array
    """`[B]`, 0 for samples that do not count."""


class Report(NamedTuple):
    """Means over the steps of an update, all `[]`."""

    policy_loss: Array
    value_loss: Array
    entropy: Array
    kl: Array
    """How far the policy has moved, estimated from the samples."""
    clip_fraction: Array
    gradient_norm: Array


def make_optimiser(learning_rate: optax.ScalarOrSchedule, settings: Settings) -> optax.GradientTransformation:
    """Adam on clipped gradients."""
    return optax.chain(
        optax.clip_by_global_norm(settings.gradient_limit), optax.adam(learning_rate, eps=1e-5)
    )


def loss(parameters: Parameters, batch: Batch, settings: Settings) -> tuple[Array, Report]:
    """What an optimiser step lowers; advantages are in standard units of the batch."""
    total = jnp.maximum(batch.weight.sum(), 1e-8)

    def mean(x: Array) -> Array:
        return jnp.sum(batch.weight * x) / total

    centred = batch.advantage - mean(batch.advantage)
    advantage = centred / (jnp.sqrt(mean(centred**2)) + 1e-8)
    log_ratio = (
        networks.log_probability(parameters.policy, batch.observation, batch.action) - batch.log_probability
    )
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip)
    policy_loss = -mean(jnp.minimum(ratio * advantage, clipped * advantage))
    value_loss = 0.5 * mean((networks.value(parameters.critic, batch.observation) - batch.returns) ** 2)
    entropy = networks.entropy(parameters.policy)
    whole = policy_loss + settings.value_cost * value_loss - settings.entropy_bonus * entropy
    report = Report(
        policy_loss=policy_loss,
        value_loss=value_loss,
        entropy=entropy,
        kl=mean(ratio - 1 - log_ratio),
        clip_fraction=mean((jnp.abs(ratio - 1) > settings.clip).astype(ratio.dtype)),
        gradient_norm=jnp.zeros(()),
    )
    return whole, report


def update(
    parameters: Parameters,
    optimiser: optax.GradientTransformation,
    state: optax.OptState,
    batch: Batch,
    key: Array,
    settings: Settings,
) -> tuple[Parameters, optax.OptState, Report]:
    """All epochs over one batch; rows that do not fill a minibatch are left out of that epoch."""
    rows = len(batch.advantage)
    size = rows // settings.minibatches

    def shuffled(key: Array) -> Array:
        order = jax.random.permutation(key, rows)[: size * settings.minibatches]
        return order.reshape(settings.minibatches, size)

    orders = jax.vmap(shuffled)(jax.random.split(key, settings.epochs)).reshape(-1, size)

    def step(carry: Any, order: Array) -> tuple[Any, tuple[Report, Array]]:
        parameters, state, going = carry
        minibatch = jax.tree.map(lambda x: x[order], batch)
        (_, report), gradient = jax.value_and_grad(loss, has_aux=True)(parameters, minibatch, settings)
        if settings.target_kl is not None:
            going = going & (report.kl <= settings.target_kl)
        changes, new_state = optimiser.update(gradient, state, parameters)
        moved = optax.apply_updates(parameters, changes), new_state
        parameters, state = jax.tree.map(
            lambda new, old: jnp.where(going, new, old), moved, (parameters, state)
        )
        report = report._replace(gradient_norm=optax.tree.norm(gradient))
        return (parameters, state, going), (report, going)

    (parameters, state, _), (reports, went) = jax.lax.scan(
        step, (parameters, state, jnp.asarray(True)), orders
    )
    steps = jnp.maximum(went.sum(), 1)
    report = jax.tree.map(lambda x: jnp.sum(jnp.where(went, x, 0)) / steps, reports)
    return parameters, state, report
