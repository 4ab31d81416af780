"""One update: from a learner, a rollout and its branches to the next learner, in a single compiled call.

robust Targets -> advantages -> which trajectories count -> PPO update -> Reweighting
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rapo.algorithms.spec import (
    Algorithm,
    Mixture,
    ProbedSteps,
    Report,
    Steered,
    Steps,
    Trajectories,
    ValuedBranches,
)
from rapo.algorithms.targets import Taken
from rapo.arrays import Floats
from rapo.heavy import Array, compiled, jax, jnp, optax
from rapo.learner import advantages as targets
from rapo.learner import networks, normalize
from rapo.learner import ppo_update as ppo
from rapo.learner.worst_trajectories import worth
from rapo.training.config import Config, Settings
from rapo.training.rollout import BranchedSteps, Probed, Rollout


class Player(NamedTuple):
    """The policy, or the opponent that some algorithms have: what it learns and its optimiser's state."""

    parameters: ppo.Parameters
    optimiser: optax.OptState


class Learner(NamedTuple):
    """All that is learned."""

    players: tuple[Player, ...]
    observations: normalize.Running
    rewards: normalize.RewardScale
    targets: Any
    """What the targets learn, such as AdvNet."""
    mixture: Mixture
    sensitivity: Any = ()
    """The network of sensitivities, if the algorithm has one."""
    steering: Any = ()
    """What steering learns, such as AdvNet, if steps are steered."""


def init(config: Config, prior: Floats) -> Learner:
    """The learner when training begins, given the prior weights `[K]` of the models."""
    settings, task, opponent = config.settings, config.task, config.algorithm.opponent
    key = jax.random.key(np.random.SeedSequence(config.seed).generate_state(1)[0])
    sizes = [task.action_size] + ([] if opponent is None else [opponent.size(task)])
    players = []
    for i, size in enumerate(sizes):
        policy_key, critic_key = jax.random.split(jax.random.fold_in(key, 1 + i))
        policy = networks.init_policy(policy_key, task.observation_size, size, settings.hidden)
        policy = policy._replace(log_std=policy.log_std + jnp.log(settings.first_std))
        critic = networks.init_critic(critic_key, task.observation_size, settings.hidden)
        parameters = ppo.Parameters(policy, critic)
        players.append(Player(parameters, ppo.init_optimiser(parameters, settings.ppo)))
    learner = Learner(
        players=tuple(players),
        observations=normalize.nothing_seen((task.observation_size,)),
        rewards=normalize.no_rewards(settings.num_envs),
        targets=config.algorithm.targets.init(
            jax.random.fold_in(key, 0), task.observation_size, task.action_size
        ),
        mixture=config.algorithm.mixture.init(jnp.asarray(prior, jnp.float32)),
    )
    inputs, algorithm = task.observation_size + task.action_size, config.algorithm
    if algorithm.sensitivity is not None:
        parameters, rows = len(task.dynamics.movable), config.steps_per_update
        first = algorithm.sensitivity.init(jax.random.fold_in(key, 3), inputs, parameters, rows)
        learner = learner._replace(sensitivity=first)
    if algorithm.steering is not None:
        first = algorithm.steering.init(jax.random.fold_in(key, 4), task.observation_size, task.action_size)
        learner = learner._replace(steering=first)
    return _strongly_typed(learner)


@compiled("algorithm", "settings", "who")
def learn(
    learner: Learner,
    rollout: Rollout,
    branches: BranchedSteps | None,
    shares: Array | None,
    shuffles: Array,
    progress: Array | float,
    probed: Probed | None = None,
    models: Array | None = None,
    *,
    algorithm: Algorithm,
    settings: Settings,
    who: int = 0,
) -> tuple[Learner, Report]:
    """The learner after one update from one rollout, and what to report.

    shares: `[B, K]`, the weight of each model in each target; shuffles: `[epochs, B]`, the order of the rows
    in each epoch; progress: `[]`, the share of training done; probed: what sensitivities learn from; models:
    `[K, P]`, those of the ensemble in training half-widths; who: which player learns, 0 the policy and 1 the
    opponent.
    """
    progress = jnp.asarray(progress)
    seen = rollout if who == 0 else opposed(rollout)
    player = learner.players[who]
    policy, critic = player.parameters
    rewards = normalize.observe_rewards(learner.rewards, rollout.reward, rollout.ended, settings.discount)

    def value(observation: Array) -> Array:
        return networks.value(critic, normalize.normalise(learner.observations, observation))

    observation = normalize.normalise(learner.observations, seen.observation)
    before, after = networks.value(critic, observation), value(seen.next_observation)
    steps = Steps(
        inputs=_rows(jnp.concatenate((observation, seen.actions[0]), axis=-1)),
        value=_rows(before),
        critic_norm=jnp.linalg.norm(critic[-1]["kernel"]),
        reward=_rows(seen.reward) / rewards.scale,
        terminated=_rows(seen.terminated),
        next_value=_rows(after),
        played=_rows(seen.played & seen.valid[..., None]),
        weights=learner.mixture.weights,
        branches=None if branches is None else _valued(branches, shares, value, rewards.scale),
        learned=None,
        centring=None,
        reward_scale=rewards.scale,
        discount=settings.discount,
        progress=progress,
    )
    sensed: _Sensed | None = None
    if who == 0:
        if probed is not None:
            sensed = _sense(learner, algorithm, rollout, steps, probed, models, value)
            steps = steps._replace(learned=sensed.learned, centring=sensed.centring)
        target, targets_state, report = algorithm.targets(learner.targets, steps)
        mixture, mixture_report = algorithm.mixture(learner.mixture, steps)
    else:  # an opponent learns from what happened, and leaves the policy's targets and mixture alone
        target, _, report = Taken()((), steps)
        targets_state, mixture, mixture_report = learner.targets, learner.mixture, {}
    target = jnp.where(seen.valid, target.reshape(before.shape), before)
    advantage, returns = targets.advantages(
        target, before, seen.ended, settings.discount, settings.gae_lambda
    )
    scaled = seen.reward / rewards.scale
    value_of = worth(scaled, after, seen.terminated, seen.ended, settings.discount)
    counts = algorithm.counts(Trajectories(value_of, seen.ended, progress)) * seen.valid
    batch = ppo.Batch(
        observation=_rows(observation),
        action=_rows(seen.actions[0]),
        log_probability=_rows(networks.log_probability(policy, observation, seen.actions[0])),
        advantage=_rows(advantage),
        returns=_rows(returns),
        weight=_rows(counts),
    )
    rate = settings.learning_rate * (1 - (1 - settings.final_rate) * progress)
    parameters, optimiser, update = ppo.update(
        player.parameters, player.optimiser, batch, shuffles, rate, settings.ppo
    )
    players = (*learner.players[:who], Player(parameters, optimiser), *learner.players[who + 1 :])
    learned = Learner(
        players,
        normalize.observe(learner.observations, rollout.observation),
        rewards,
        targets_state,
        mixture,
        learner.sensitivity if sensed is None else sensed.sensitivity,
        learner.steering if sensed is None else sensed.steering,
    )
    report |= mixture_report
    report |= {} if sensed is None else sensed.report
    report |= {
        "learns": jnp.asarray(who),
        "counted": counts.mean(),
        "target": target.mean() * rewards.scale,
        "value": before.mean() * rewards.scale,
        "explained_variance": targets.explained_variance(before, returns),
        "reward_scale": rewards.scale,
        "learning_rate": jnp.asarray(rate),
        "std": jnp.exp(parameters.policy.log_std).mean(),
        "policy_loss": update.policy_loss,
        "value_loss": update.value_loss,
        "entropy": update.entropy,
        "policy_kl": update.kl,
        "clip_fraction": update.clip_fraction,
        "gradient_norm": update.gradient_norm,
    }
    return _strongly_typed(learned), report


class _Sensed(NamedTuple):
    """What sensitivities say of B steps, and what was learned of them."""

    learned: Array
    """`[B, K]`, the one-step value under each model."""
    centring: Array | None
    """`[B]`, the value at the mean dynamics of each step's law less that at the dynamics drawn from it."""
    sensitivity: Any
    steering: Any
    report: Report


def _sense(
    learner: Learner,
    algorithm: Algorithm,
    rollout: Rollout,
    steps: Steps,
    probed: Probed,
    models: Array | None,
    value: Callable[[Array], Array],
) -> _Sensed:
    """Sensitivities of the steps, as they were in the rollout; then they and the steering learn."""
    assert algorithm.sensitivity is not None
    assert models is not None
    assert rollout.units is not None
    assert rollout.centre is not None
    units, centre, pairs = _rows(rollout.units), _rows(rollout.centre), probed.pairs
    others = _valued(probed.branches, None, value, steps.reward_scale)
    there = others.value(steps.discount)
    known = ProbedSteps(
        pairs,
        probed.units - units[pairs][:, None],
        there - steps.taken[pairs][:, None],
        others.valid & _rows(rollout.valid)[pairs][:, None],
        probed.batches,
    )
    slopes, sensitivity, report = algorithm.sensitivity(
        learner.sensitivity, steps.inputs, known, steps.reward_scale
    )
    learned = steps.taken[:, None] + slopes @ models.T - jnp.sum(slopes * units, axis=1, keepdims=True)
    if algorithm.steering is None:
        return _Sensed(learned, None, sensitivity, (), report)
    envs = rollout.units.shape[1]
    steered = Steered(
        inputs=steps.inputs,
        slopes=slopes,
        centre=centre,
        tilted=jnp.tile(algorithm.steering.tilts(envs), len(units) // envs),
        models=models,
        weights=learner.mixture.weights,
        reward_scale=steps.reward_scale,
        progress=steps.progress,
    )
    mean, steering, said = algorithm.steering(learner.steering, steered)
    centring = jnp.sum(slopes * (mean - units), axis=1)
    return _Sensed(learned, centring, sensitivity, steering, report | said)


def opposed(rollout: Rollout) -> Rollout:
    """The rollout as the opponent sees it: pushes are the actions, and rewards the policy's, negated."""
    return rollout._replace(actions=rollout.actions[::-1], reward=-rollout.reward)


def _valued(
    branches: BranchedSteps, shares: Array | None, value: Callable[[Array], Array], scale: Array
) -> ValuedBranches:
    """Branches with the critic's values for observations, finite also where they are not valid."""
    valid = branches.valid
    return ValuedBranches(
        reward=jnp.where(valid, branches.reward, 0) / scale,
        terminated=branches.terminated,
        next_value=value(jnp.where(valid[..., None], branches.observation, 0)),
        valid=valid,
        shares=jnp.zeros(valid.shape) if shares is None else shares,
    )


def _strongly_typed(learner: Learner) -> Learner:
    """The same numbers without weak types, which would make JAX compile the next update anew."""
    return jax.tree.map(lambda x: jax.lax.convert_element_type(x, x.dtype), learner)


def _rows(x: Array) -> Array:
    """`[T, N, ...]` as `[B, ...]`."""
    return jnp.reshape(x, (-1, *x.shape[2:]))
