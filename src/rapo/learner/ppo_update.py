"""The PPO update: clipped surrogate, value loss and entropy over epochs of minibatches, in one compiled call.

The update knows nothing of robustness: advantages and returns come from whatever targets an algorithm makes,
and `weight` says which samples count (no diverged steps, and only the worst trajectories for EPOpt).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from rapo.heavy import Array, jax, jnp, optax
from rapo.learner import networks
from rapo.learner.networks import Layers, Policy
from rapo.ranges import COUNT, FINITE, POSITIVE, TURNS, check_ranges

UNROLLED = 4
"""Optimiser steps compiled as one piece, since a loop copies all parameters in each turn."""


@dataclass(frozen=True)
class PpoSettings:
    """The settings of the PPO update."""

    epochs: Annotated[int, TURNS] = 8
    """Passes over the batch in an update."""
    minibatches: Annotated[int, COUNT] = 32
    """Parts into which a batch is shuffled in every epoch; each is one optimiser step."""
    clip: Annotated[float, POSITIVE] = 0.2
    """How far from 1 the ratio of an action's new to its old probability may move before the loss is flat."""
    value_cost: Annotated[float, FINITE] = 0.5
    """Weight of the value loss."""
    entropy_bonus: Annotated[float, FINITE] = 0.0
    """Weight of the policy's entropy."""
    gradient_limit: Annotated[float, POSITIVE] = 0.5
    """Largest norm of a gradient; longer gradients are scaled down to it."""
    target_kl: Annotated[float, POSITIVE] | None = None
    """Once the policy has moved further than this KL divergence, the rest of the update is skipped; none
    means never."""

    def __post_init__(self) -> None:
        check_ranges(self)


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
    """`[B]`, log-probability of the action when it was taken."""
    advantage: Array
    """`[B]`."""
    returns: Array
    """`[B]`, the values that the critic learns."""
    weight: Array
    """`[B]`, 0 for samples that do not count."""


class UpdateReport(NamedTuple):
    """What an update was like: means over its optimiser steps, all `[]`."""

    policy_loss: Array
    value_loss: Array
    entropy: Array
    kl: Array
    """KL divergence of the policy from that before the update, estimated from the samples."""
    clip_fraction: Array
    gradient_norm: Array


def make_optimiser(settings: PpoSettings) -> optax.GradientTransformation:
    """Adam on clipped gradients with a learning rate of 1, for all parameters in one row."""
    return optax.chain(optax.clip_by_global_norm(settings.gradient_limit), optax.scale_by_adam(eps=1e-5))


def init_optimiser(parameters: Parameters, settings: PpoSettings) -> optax.OptState:
    """The optimiser's first state, for all parameters in one row: many small arrays take a third longer."""
    return make_optimiser(settings).init(jax.flatten_util.ravel_pytree(parameters)[0])


def standardise(batch: Batch) -> Batch:
    """The batch with its advantages in standard units of the samples that count."""
    total = jnp.maximum(batch.weight.sum(), 1e-8)
    centred = batch.advantage - jnp.sum(batch.weight * batch.advantage) / total
    deviation = jnp.sqrt(jnp.sum(batch.weight * centred**2) / total)
    return batch._replace(advantage=centred / (deviation + 1e-8))


def loss(parameters: Parameters, batch: Batch, settings: PpoSettings) -> tuple[Array, UpdateReport]:
    """The loss `[]` that an optimiser step lowers, and its parts to report."""
    total = jnp.maximum(batch.weight.sum(), 1e-8)

    def mean(x: Array) -> Array:
        return jnp.sum(batch.weight * x) / total

    log_ratio = (
        networks.log_probability(parameters.policy, batch.observation, batch.action) - batch.log_probability
    )
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip)
    policy_loss = -mean(jnp.minimum(ratio * batch.advantage, clipped * batch.advantage))
    value_loss = 0.5 * mean((networks.value(parameters.critic, batch.observation) - batch.returns) ** 2)
    entropy = networks.entropy(parameters.policy)
    whole = policy_loss + settings.value_cost * value_loss - settings.entropy_bonus * entropy
    report = UpdateReport(
        policy_loss=policy_loss,
        value_loss=value_loss,
        entropy=entropy,
        kl=mean(ratio - 1 - log_ratio),
        clip_fraction=mean((jnp.abs(ratio - 1) > settings.clip).astype(ratio.dtype)),
        gradient_norm=jnp.zeros(()),
    )
    return whole, report


def spread(shuffled: Array, weight: Array, minibatches: int) -> Array:
    """Row numbers `[minibatches, rows]` of an epoch from `shuffled` `[B]`, those that count spread evenly.

    Rows left over, too few for every minibatch to get one more, are dropped: first those that do not count.
    """
    counts = weight[shuffled] > 0
    place = jnp.where(counts, jnp.cumsum(counts) - 1, counts.sum() + jnp.cumsum(~counts) - 1)
    order = jnp.zeros_like(shuffled).at[place].set(shuffled, unique_indices=True)
    return deal(order, minibatches)


def deal(order: Array, minibatches: int) -> Array:
    """Row numbers `[B]` dealt out to minibatches `[minibatches, rows]`, one after the other."""
    size = len(order) // minibatches
    return order[: size * minibatches].reshape(size, minibatches).T


def update(
    parameters: Parameters,
    state: optax.OptState,
    batch: Batch,
    shuffles: Array,
    learning_rate: Array | float,
    settings: PpoSettings,
) -> tuple[Parameters, optax.OptState, UpdateReport]:
    """Parameters and optimiser state after all epochs over one batch, and what to report.

    shuffles: `[epochs, B]`, the order of the batch's rows in each epoch.
    """
    optimiser = make_optimiser(settings)
    row, as_parameters = jax.flatten_util.ravel_pytree(parameters)
    batch = standardise(batch)
    orders = jax.lax.cond(
        jnp.all(batch.weight > 0),  # as nearly always
        jax.vmap(lambda row: deal(row, settings.minibatches)),
        jax.vmap(lambda row: spread(row, batch.weight, settings.minibatches)),
        shuffles,
    )
    orders = orders.reshape(-1, orders.shape[-1])

    def step(carry: Any, order: Array) -> tuple[Any, tuple[UpdateReport, Array]]:
        row, state, going = carry
        minibatch = jax.tree.map(lambda x: x[order], batch)
        (_, report), gradient = jax.value_and_grad(
            lambda row: loss(as_parameters(row), minibatch, settings), has_aux=True
        )(row)
        report = report._replace(gradient_norm=optax.tree.norm(gradient))
        change, moved_state = optimiser.update(gradient, state, row)
        moved = optax.apply_updates(row, optax.tree.scale(-learning_rate, change)), moved_state
        if settings.target_kl is not None:
            going = going & (report.kl <= settings.target_kl)
            moved = jax.tree.map(lambda new, old: jnp.where(going, new, old), moved, (row, state))
        return (*moved, going), (report, going)

    (row, state, _), (reports, went) = jax.lax.scan(
        step, (row, state, jnp.asarray(True)), orders, unroll=UNROLLED
    )
    steps = jnp.maximum(went.sum(), 1)
    report = jax.tree.map(lambda x: jnp.sum(jnp.where(went, x, 0)) / steps, reports)
    return as_parameters(row), state, report
