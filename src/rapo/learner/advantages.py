"""One-step targets from branches, and advantages from targets.

A plain PPO target is that of one branch, the step that was taken. Truncated steps need no special bootstrap:
their next states are known.
"""

from rapo.heavy import Array, jax, jnp


def branch_values(reward: Array, terminated: Array, next_value: Array, discount: float) -> Array:
    """G = r + gamma (1 - d) V(s') of every branch, all `[..., K]`.

    The paper tilts V(s') alone, with the reward and the termination of the step that was taken: give those,
    as `[..., 1]`, for the paper's form. In tasks whose reward depends on s' the adversary should choose the
    reward too, so give that of each branch.
    """
    return reward + discount * jnp.where(terminated, 0.0, next_value)


def advantages(
    target: Array, value: Array, ended: Array, discount: float, decay: float
) -> tuple[Array, Array]:
    """Generalised advantages and returns `[T, N]` from one-step targets y and values V, both `[T, N]`.

    A_t = (y_t - V_t) + gamma lambda A_{t+1}, cut where an episode `ended` `[T, N]`, for whatever reason.
    """

    def step(later: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, end = row
        now = delta + discount * decay * jnp.where(end, 0.0, later)
        return now, now

    start = jnp.zeros_like(value[0])
    _, advantage = jax.lax.scan(step, start, (target - value, ended), reverse=True)
    return advantage, advantage + value


def explained_variance(value: Array, returns: Array) -> Array:
    """The share `[]`, at most 1, of the variance of returns `[T, N]` that values `[T, N]` explain."""
    return 1 - jnp.var(returns - value) / jnp.maximum(jnp.var(returns), jnp.finfo(returns.dtype).tiny)
