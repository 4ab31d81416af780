"""What the trajectories within a rollout are worth, and which of them are the worst."""

from rapo.heavy import Array, jax, jnp


def worth(reward: Array, next_value: Array, terminated: Array, ended: Array, discount: float) -> Array:
    """The return `[T, N]` of the trajectory that each step belongs to, from the trajectory's first step on.

    Trajectories are the pieces of episodes that lie within the rollout. To one that the rollout's end or a
    time limit cuts off, the critic's value of where it led is added: `next_value` `[T, N]`. All arguments are
    `[T, N]`.
    """
    completed = jnp.where(terminated, 0.0, next_value)
    cut = ended.at[-1].set(True)

    def back(later: Array, row: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        gained, end, rest = row
        now = gained + discount * jnp.where(end, rest, later)
        return now, now

    _, to_go = jax.lax.scan(back, jnp.zeros_like(reward[0]), (reward, cut, completed), reverse=True)
    first = jnp.concatenate([jnp.ones_like(cut[:1]), cut[:-1]])

    def forth(score: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        begins, here = row
        score = jnp.where(begins, here, score)
        return score, score

    return jax.lax.scan(forth, to_go[0], (first, to_go))[1]


def among_worst(score: Array, ended: Array, fraction: Array | float) -> Array:
    """Which steps `[T, N]` belong to the worst `fraction` of trajectories, at least one of them.

    score: `[T, N]`, the same at all steps of a trajectory.
    """
    last = ended.at[-1].set(True)
    number = jnp.maximum(jnp.ceil(fraction * last.sum() - 1e-4), 1)
    ends = jnp.where(last, score, jnp.inf).reshape(-1)
    rank = jnp.zeros(ends.shape, jnp.int32).at[jnp.argsort(ends)].set(jnp.arange(len(ends)))
    kept = ((rank < number) & last.reshape(-1)).reshape(score.shape)

    def back(later: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        end, keep = row
        now = jnp.where(end, keep, later)
        return now, now

    return jax.lax.scan(back, jnp.zeros_like(kept[0]), (last, kept), reverse=True)[1]
