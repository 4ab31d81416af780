"""The worst dynamics for a run in the whole test box, not only on its axes, found by CMA-ES.

Every generation is one batch of episodes, all points from the same initial states. The best points found
compete once more with the worst setting of the sweep on fresh initial states, and the winner's return is then
measured on yet others, so that what is reported is not merely the luckiest draw of the search.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path

import numpy as np
import polars as pl
from cmaes import CMA
from scipy import stats

from rapo.errors import InputError
from rapo.files import write_atomically
from rapo.runs.evaluate import Evaluated, actor, check_episodes, evaluate
from rapo.runs.run import Run
from rapo.runs.sweep import read_sweep, sweep
from rapo.world.streams import check_seed
from rapo.world.task import Floats, Task

FILE = "search.json"
GENERATIONS, POPULATION, EPISODES, FINAL_EPISODES, SEED = 20, 16, 8, 100, 2000
FINALISTS = 8
FIRST_SPREAD = 0.3
"""Standard deviation of the first generation, as a share of the box."""


@dataclass(frozen=True)
class Axis:
    """The worst setting of the sweep, measured on the initial states of the final."""

    parameter: str
    scale: float
    returned: float
    low: float
    high: float


@dataclass(frozen=True)
class Found:
    """The worst dynamics found for a policy."""

    updates: int
    """What the policy had learned from."""
    seed: int
    """Of the search."""
    evaluations: int
    """Episodes spent on searching, the final not counted."""
    episodes: int
    """Of the final, those that diverged not counted."""
    point: dict[str, float]
    """The dynamics, by parameter."""
    returned: float
    """Mean return there."""
    low: float
    """Lower end of its 95% interval."""
    high: float
    """Upper end."""
    axis: Axis
    below: float
    """How far this is below the worst setting of the sweep."""


def search(
    run: Run,
    *,
    generations: int = GENERATIONS,
    population: int = POPULATION,
    episodes: int = EPISODES,
    final_episodes: int = FINAL_EPISODES,
    seed: int = SEED,
    threads: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Found:
    """Search with `generations` times `population` times `episodes` episodes, and write what was found.

    A run that was not swept since it last learned is swept first; `advance` is called after each of
    `generations` + 3 parts.
    """
    for what, number, least in (
        ("generations", generations, 1),
        ("points in a generation", population, 4),
        ("episodes in the final", final_episodes, 2),
    ):
        if number < least:
            raise InputError(f"{number} {what} were asked for: it must be at least {least}")
    check_episodes(episodes)
    check_seed(seed)
    training = run.trained(threads=1)
    task, policy = training.config.task, actor(training.config.task, training.learner)
    table = read_sweep(run.folder)
    if table is None or table["updates"].unique().to_list() != [training.updates]:
        table = sweep(run, threads=threads)
    advance()

    def play(rows: Floats, number: int, seed: int) -> Evaluated:
        return evaluate(task, policy, rows, episodes=number, seed=seed, threads=threads)

    points = _candidates(task, play, generations, population, episodes, seed, advance)
    parameter, scale = _worst(table)
    on_axis = task.dynamics.sweep(parameter, [scale])
    again = play(np.concatenate((points, on_axis)), final_episodes, seed + 1).means
    worst = np.concatenate((points, on_axis))[[int(np.nanargmin(again))]]
    advance()
    final = play(np.concatenate((worst, on_axis)), final_episodes, seed + 2)
    (found, low, high), axis = (_interval(final, i, run) for i in (0, 1))
    result = Found(
        updates=training.updates,
        seed=seed,
        evaluations=planned_evaluations(generations, population, episodes, final_episodes),
        episodes=int((~final.diverged[0]).sum()),
        point=dict(zip(task.dynamics.names, worst[0].tolist(), strict=True)),
        returned=found,
        low=low,
        high=high,
        axis=Axis(parameter, scale, *axis),
        below=axis[0] - found,
    )
    write_atomically(run.folder / FILE, (json.dumps(asdict(result), indent=1) + "\n").encode())
    advance()
    return result


def planned_evaluations(generations: int, population: int, episodes: int, final_episodes: int) -> int:
    """Episodes that a search spends before its final: on its generations, then on its best points again."""
    points = generations * population
    return points * episodes + (min(FINALISTS, points) + 1) * final_episodes


def read_search(folder: Path) -> Found | None:
    """What was found for a run, or None if nothing was searched for."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        said = json.loads(path.read_bytes())
        found = Found(**{**said, "axis": Axis(**said["axis"])})
        numbers = (found.updates, found.evaluations, found.returned, found.low, found.high, found.below)
        if all(map(isfinite, (*numbers, *found.point.values(), found.axis.scale, found.axis.returned))):
            return found
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise InputError(f"file '{path}' is damaged: search again")


def _candidates(
    task: Task,
    play: Callable[[Floats, int, int], Evaluated],
    generations: int,
    population: int,
    episodes: int,
    seed: int,
    advance: Callable[[], None],
) -> Floats:
    """The worst points met on the way, `[finalists, P]`."""
    low, high = task.dynamics.box("test")
    free = high > low
    optimiser = CMA(
        mean=np.full(int(free.sum()), 0.5),
        sigma=FIRST_SPREAD,
        bounds=np.tile((0.0, 1.0), (int(free.sum()), 1)),
        seed=seed % 2**32,
        population_size=population,
    )
    met, returned = [], []
    for _ in range(generations):
        asked = np.array([optimiser.ask() for _ in range(population)])
        rows = np.tile(low, (population, 1))
        rows[:, free] = low[free] + asked * (high - low)[free]
        means = play(rows, episodes, seed).means
        means = np.where(np.isnan(means), np.inf, means)  # physics that fails proves nothing
        optimiser.tell([(x, float(y)) for x, y in zip(asked, means, strict=True)])
        met.append(rows)
        returned.append(means)
        advance()
    order = np.argsort(np.concatenate(returned), kind="stable")[:FINALISTS]
    return np.concatenate(met)[order]


def _worst(table: pl.DataFrame) -> tuple[str, float]:
    """The setting of a sweep with the lowest mean return."""
    means = table.filter(~pl.col("diverged")).group_by("parameter", "scale", maintain_order=True)
    lowest = means.agg(pl.col("return").mean()).sort("return", maintain_order=True)
    if not len(lowest):
        raise InputError("all episodes of the sweep diverged: there is nothing to compare with")
    return lowest["parameter"][0], lowest["scale"][0]


def _interval(outcome: Evaluated, row: int, run: Run) -> tuple[float, float, float]:
    """Mean return and its 95% interval over the episodes of a row."""
    good = outcome.returned[row][~outcome.diverged[row]]
    if len(good) < 2:
        raise InputError(f"fewer than two episodes of run '{run.folder}' did not diverge: give it more")
    mean = float(good.mean())
    half = float(stats.t.ppf(0.975, len(good) - 1) * good.std(ddof=1) / np.sqrt(len(good)))
    return mean, mean - half, mean + half
