"""Forces of RARL's adversary."""

import jax.numpy as jnp
import numpy as np
import pytest

from rapo.algorithms.rarl import bounded_forces, force_limit
from rapo.training.rollout import Rollout
from rapo.training.update import opposed
from rapo.world.find_task import make_task


def test_forces_are_bounded_and_act_along_the_named_axes_only():
    pushes = np.array([[0.5, -3.0, 1e9, -0.25]], np.float32)
    applied = bounded_forces(pushes, bodies=2, axes=(0, 2), limit=4.0)
    # Pushes are clipped to 1 and scaled by the limit: body 0 along x and z, then body 1.
    np.testing.assert_allclose(applied, [[[2, 0, -4, 0, 0, 0], [4, 0, -1, 0, 0, 0]]])


def test_the_limit_is_a_share_of_the_weight():
    task = make_task("hopper")
    weight = task.model.body_mass.sum() * 9.81
    assert force_limit(task, 0.1) == pytest.approx(0.1 * weight)


def test_the_adversary_loses_what_the_policy_gains():
    zeros = jnp.zeros((2, 3))
    rollout = Rollout(
        zeros[..., None],
        (zeros[..., None], zeros[..., None] + 1),
        zeros + 5,
        zeros[..., None],
        *[zeros > 1] * 4,
    )
    seen = opposed(rollout)
    assert float(seen.reward.mean()) == -5
    assert float(seen.actions[0].mean()) == 1
