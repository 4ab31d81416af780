"""Training that begins where another run ended: with its networks and normalisers, and new settings."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from rapo.errors import InputError
from rapo.heavy import jax, jnp
from rapo.learner import ppo_update
from rapo.runs.run import Run
from rapo.training.config import Config
from rapo.training.loop import Training
from rapo.training.update import Learner, Player


def training_from(config: Config, origin: Run, threads: int = 0) -> Training:
    """A new training run with the policy, critic and normalisers of `origin` as it last saved.

    Optimisers, the adversary and the mixture begin anew. The configuration remembers where it began.
    """
    before = origin.trained(threads=1)
    _check_fits(config, before, origin)
    learned = before.learner
    player = learned.players[0]
    said = {
        "task": before.config.task.name,
        "algo": before.config.algorithm.name,
        "seed": before.config.seed,
        "steps": before.steps,
        "sha256": _digest((player.parameters, learned.observations, learned.rewards.running)),
    }
    training = Training(replace(config, started_from=said), threads)
    training.learner = _taken_over(training.learner, learned, config)
    return training


def _check_fits(config: Config, before: Training, origin: Run) -> None:
    """Refuse networks of other sizes than those that are to be trained."""
    for what, was, now in (
        ("observation size", before.config.task.observation_size, config.task.observation_size),
        ("action size", before.config.task.action_size, config.task.action_size),
        ("option hidden", before.config.settings.hidden, config.settings.hidden),
    ):
        if was != now:
            raise InputError(
                f"training can't begin from run '{origin.folder}': its {what} is {was}, and that of the new "
                f"run is {now}"
            )


def _taken_over(new: Learner, old: Learner, config: Config) -> Learner:
    parameters = old.players[0].parameters
    player = Player(parameters, ppo_update.init_optimiser(parameters, config.settings.ppo))
    sums = jnp.zeros(config.settings.num_envs)
    return new._replace(
        players=(player, *new.players[1:]),
        observations=old.observations,
        rewards=old.rewards._replace(returns=sums),
    )


def _digest(tree: Any) -> str:
    digest = sha256()
    for leaf in jax.tree.leaves(tree):
        digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()
