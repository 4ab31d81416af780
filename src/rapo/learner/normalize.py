"""Running means and variances of observations and returns, kept in the learner's state."""

from typing import NamedTuple

from rapo.heavy import Array, compiled, jax, jnp

_LEAST = 1e-8
LIMIT = 10.0
"""Normalised observations are clipped to this many standard deviations."""


class Running(NamedTuple):
    """Number, mean and sum of squared deviations of all rows seen."""

    seen: Array
    """`[]`, the number of rows seen."""
    mean: Array
    """`[size]`, or `[]`, the mean of the rows."""
    squares: Array
    """Of the mean's shape, the sum of squared deviations from the mean."""

    @property
    def variance(self) -> Array:
        """The variance of the rows, in the mean's shape; 1 before any row was seen."""
        return _variance(self)


@compiled()
def _variance(running: Running) -> Array:
    """The variance in a compiled call of its own, for a policy on the host, which is outside of any other."""
    return jnp.where(running.seen > 0, running.squares / jnp.maximum(running.seen, 1), 1.0)


def nothing_seen(shape: tuple[int, ...] = ()) -> Running:
    """Statistics of no rows."""
    return Running(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))


def observe(running: Running, rows: Array) -> Running:
    """The statistics after rows `[..., *shape]` more, all rows counting alike."""
    rows = rows.reshape(-1, *running.mean.shape)
    n = rows.shape[0]
    mean = rows.mean(axis=0)
    seen = running.seen + n
    shift = mean - running.mean
    squares = running.squares + ((rows - mean) ** 2).sum(axis=0) + shift**2 * running.seen * n / seen
    return Running(seen, running.mean + shift * n / seen, squares)


def deviation(running: Running) -> Array:
    """The standard deviation `[size]` that rows are divided by, never 0."""
    return jnp.sqrt(running.variance + _LEAST)


def normalise(running: Running, rows: Array) -> Array:
    """Rows `[..., size]` in standard units, clipped to `LIMIT`."""
    return standardise(running.mean, deviation(running), rows)


def standardise(mean: Array, spread: Array, rows: Array) -> Array:
    """Rows `[..., size]` in units of a standard deviation from a mean, both `[size]`, clipped to `LIMIT`."""
    return jnp.clip((rows - mean) / spread, -LIMIT, LIMIT)


class RewardScale(NamedTuple):
    """The scale that rewards are divided by: the standard deviation of discounted returns so far."""

    returns: Array
    """`[N]`, the discounted sum of the rewards of each environment's running episode."""
    running: Running
    """Statistics of those sums, after every step."""

    @property
    def scale(self) -> Array:
        """`[]`, the standard deviation of the returns, never 0."""
        return jnp.sqrt(self.running.variance + _LEAST)


def no_rewards(num_envs: int) -> RewardScale:
    """The scale before any reward: 1."""
    return RewardScale(jnp.zeros(num_envs), nothing_seen())


def observe_rewards(scale: RewardScale, rewards: Array, ended: Array, discount: float) -> RewardScale:
    """The scale after rewards and ends of episodes, both `[T, N]`, more."""

    def step(carried: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, end = row
        carried = discount * carried + reward
        return jnp.where(end, 0.0, carried), carried

    returns, seen = jax.lax.scan(step, scale.returns, (rewards, ended))
    return RewardScale(returns, observe(scale.running, seen))
