"""The demonstration: 64 Hoppers, one stream of actions, 64 different physics.

Every robot gets the same random actions, so whatever differs between them is the dynamics.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from time import perf_counter

import numpy as np

from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.task import Floats
from rapo.world.tasks import make_task

THIRDS = ("low", "middle", "high")


@dataclass(frozen=True)
class Outcome:
    """What the demonstration measured."""

    names: tuple[str, ...]
    """The parameters, P of them."""
    episode_length: Floats
    """`[P, 3]`, mean steps until a fall in the low, middle and high third of each parameter's values."""
    episode_return: Floats
    """`[P, 3]`, mean return of those episodes."""
    steps: int
    """Environment steps simulated."""
    seconds: float
    """How long that took."""
    divergences: int
    """Environment steps in which the physics failed."""


def run(steps: int, num_envs: int, seed: int, advance: Callable[[], None]) -> Outcome:
    """Step `num_envs` Hoppers under as many dynamics; `advance` is called once a step."""
    task = make_task("hopper")
    rng = np.random.default_rng(seed)
    models = task.dynamics.ensemble(num_envs, rng, over="test")
    simulator = MujocoSimulator(task, num_envs, seed=seed, dynamics=models)
    episodes, total_length, total_return = np.zeros((3, num_envs))
    length, gain = np.zeros((2, num_envs))
    start = perf_counter()
    for _ in range(steps):
        result = simulator.step(np.tile(rng.uniform(-1, 1, task.action_size), (num_envs, 1)))
        length += 1
        gain += result.reward
        done = result.done
        episodes[done] += 1
        total_length[done] += length[done]
        total_return[done] += gain[done]
        length[done] = gain[done] = 0
        advance()
    seconds = perf_counter() - start
    third = np.argsort(np.argsort(models, axis=0), axis=0) * len(THIRDS) // num_envs

    def mean(total: Floats) -> Floats:
        """Per episode, over the robots of each third of each parameter; NaN where none fell."""
        sums = [
            [[x[third[:, p] == t].sum() for t in range(len(THIRDS))] for p in range(len(task.dynamics))]
            for x in (total, episodes)
        ]
        return np.divide(*sums, out=np.full_like(sums[0], np.nan), where=np.array(sums[1]) > 0)

    return Outcome(
        names=task.dynamics.names,
        episode_length=mean(total_length),
        episode_return=mean(total_return),
        steps=steps * num_envs,
        seconds=seconds,
        divergences=simulator.divergences,
    )


def draw(num_envs: int, seed: int, kind: str) -> bytes:
    """A figure (png, pdf or svg): one start and one stream of actions, and how the heights part."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    task = make_task("hopper")
    rng = np.random.default_rng(seed)
    models = task.dynamics.ensemble(num_envs, rng, over="test")
    simulator = MujocoSimulator(task, num_envs, seed=seed)
    simulator.restore(replace(simulator.snapshot()[np.zeros(num_envs, np.intp)], dynamics=models))
    heights = [simulator.observation[:, 0]]
    alive = np.ones(num_envs, bool)
    while alive.any() and len(heights) < 100:
        result = simulator.step(np.tile(rng.uniform(-1, 1, task.action_size), (num_envs, 1)))
        heights.append(np.where(alive, result.next_observation[:, 0], np.nan))
        alive &= ~result.done
    times = np.arange(len(heights)) * task.dt
    figure, axes = pyplot.subplots(figsize=(8, 4), dpi=130, layout="constrained")
    torque = models[:, task.dynamics.column("torque")]
    colours = pyplot.get_cmap("viridis")
    low, high = task.dynamics["torque"].test
    norm = Normalize(low, high)
    for i in np.argsort(torque):
        axes.plot(times, np.array(heights)[:, i], color=colours(norm(torque[i])), linewidth=1)
    axes.set(xlabel="seconds", ylabel="height of the torso (m)")
    axes.set_title(f"{num_envs} Hoppers: one start, one stream of actions, {num_envs} different physics")
    axes.spines[["top", "right"]].set_visible(False)
    figure.colorbar(ScalarMappable(norm, colours), ax=axes, label="torque scale")
    content = BytesIO()
    figure.savefig(content, format=kind)
    pyplot.close(figure)
    return content.getvalue()
