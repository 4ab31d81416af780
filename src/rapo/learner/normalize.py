"""Running means and variances, kept in the train state, so that a checkpoint holds all that was learned."""

from typing import NamedTuple

from rapo.heavy import Array, compiled, jax, jnp

_LEAST = 1e-8
LIMIT = 10.0
"""How many standard deviations an observation may differ from the mean."""


class Running(NamedTuple):
    """Number, mean and sum of squared deviations of all rows seen."""

    seen: Array
    """`[]`, how many."""
    mean: Array
    """`[size]`, or `[]`."""
    squares: Array
    """Like the mean."""

    @property
    def variance(self) -> Array:
        """1 before anything was seen."""
        return _variance(self)


@compiled()
def _variance(running: Running) -> Array:
    """Compiled, since a policy on the host asks for it outside of any other compiled call."""
    return jnp.where(running.seen > 0, running.squares / jnp.maximum(running.seen, 1), 1.0)


def nothing_seen(shape: tuple[int, ...] = ()) -> Running:
    """Statistics of no rows."""
    return Running(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))


def observe(running: Running, rows: Array) -> Running:
    """Take in rows `[..., *shape]`, each weighing as much as every earlier one."""
    rows = rows.reshape(-1, *running.mean.shape)
    n = rows.shape[0]
    mean = rows.mean(axis=0)
    seen = running.seen + n
    shift = mean - running.mean
    squares = running.squares + ((rows - mean) ** 2).sum(axis=0) + shift**2 * running.seen * n / seen
    return Running(seen, running.mean + shift * n / seen, squares)


def deviation(running: Running) -> Array:
    """What rows are divided by, `[size]`."""
    return jnp.sqrt(running.variance + _LEAST)


def normalise(running: Running, rows: Array) -> Array:
    """Rows in standard units, clipped to `LIMIT`."""
    return jnp.clip((rows - running.mean) / deviation(running), -LIMIT, LIMIT)


class RewardScale(NamedTuple):
    """What rewards are divided by: the standard deviation of discounted returns so far."""

    returns: Array
    """`[N]`, the discounted sum of rewards that each environment carries."""
    running: Running

    @property
    def scale(self) -> Array:
        """`[]`."""
        return jnp.sqrt(self.running.variance + _LEAST)


def no_rewards(num_envs: int) -> RewardScale:
    """The scale before any reward: 1."""
    return RewardScale(jnp.zeros(num_envs), nothing_seen())


def observe_rewards(scale: RewardScale, rewards: Array, ended: Array, discount: float) -> RewardScale:
    """Take in rewards and ends of episodes, both `[T, N]`."""

    def step(carried: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, end = row
        carried = discount * carried + reward
        return jnp.where(end, 0.0, carried), carried

    returns, seen = jax.lax.scan(step, scale.returns, (rewards, ended))
    return RewardScale(returns, observe(scale.running, seen))
