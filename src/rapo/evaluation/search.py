"""The worst dynamics for a run in the whole test box, not only on its axes, found by CMA-ES.

Every generation is one batch of episodes, all points from the same initial states. The best points found
compete once more with the worst setting of the sweep on fresh initial states, and the winner's return is then
measured on yet others, so that what is reported is not merely the luckiest draw of the search.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.evaluation.evaluate import Evaluated, evaluate
from rapo.evaluation.measurement import Advance, Measurement, measure
from rapo.evaluation.sweep import read_sweep, sweep
from rapo.files import write_atomically
from rapo.heavy import pl
from rapo.ranges import EPISODES, TURNS, Within, check_ranges, check_seed
from rapo.runs.run import Run
from rapo.world.streams import STATES, stream
from rapo.world.task import Task

FILE = "search.json"
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
    settings: int
    """How many settings, all inside the test box, it is the worst of."""


@dataclass(frozen=True)
class SearchSettings:
    """How hard to search."""

    generations: Annotated[int, TURNS] = 20
    """Generations of CMA-ES."""
    population: Annotated[int, Within(4, 10_000)] = 16
    """Points in each generation."""
    episodes: Annotated[int, EPISODES] = 8
    """Episodes at each point."""
    final_episodes: Annotated[int, Within(2, 10_000)] = 100
    """Episodes, from other initial states, that the return is reported from."""
    seed: int = 2000
    """Where points and initial states come from."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_seed(self.seed)

    @property
    def evaluations(self) -> int:
        """Episodes before the final: of all generations, then of the best points again."""
        points = self.generations * self.population
        return points * self.episodes + (min(FINALISTS, points) + 1) * self.final_episodes


@dataclass(frozen=True)
class Found:
    """The worst dynamics found for a policy."""

    updates: int
    """Updates that the policy had learned for when it was searched."""
    effort: SearchSettings
    """The settings of the search."""
    evaluations: int
    """Episodes spent on searching, the final not counted."""
    episodes: int
    """Of the final, those that diverged not counted."""
    point: dict[str, float]
    """The worst dynamics, a value for each parameter."""
    returned: float
    """Mean return under the worst dynamics."""
    low: float
    """Lower end of the 95% interval of that return."""
    high: float
    """Upper end of the 95% interval of that return."""
    axis: Axis
    below: float
    """How far this is below the worst setting of the sweep."""


def search(
    run: Run | str | Path, *, threads: int = 0, advance: Advance = lambda: None, **changes: Any
) -> Found:
    """Search with `generations` times `population` times `episodes` episodes, and write what was found.

    changes: any of `SearchSettings`. A run that was not swept since it last learned is swept first;
    `advance` is called after each of `generations` + 3 parts.
    """
    return measure(SEARCH, run, SEARCH.choose(changes), threads=threads, advance=advance)


def _search(run: Run, effort: SearchSettings, *, threads: int, advance: Advance) -> Found:
    trained = run.trained_policy()
    task = trained.task
    parameter, scale, settings = _worst(_sweep(run, trained.updates, threads), task)
    on_axis = task.dynamics.sweep(parameter, [scale])
    advance()

    def play(rows: Floats, number: int, purpose: int) -> Evaluated:
        own = int(stream(effort.seed, purpose, STATES).integers(2**62))
        engine = trained.engine
        return evaluate(task, trained.act, rows, episodes=number, seed=own, threads=threads, engine=engine)

    points = np.concatenate((_candidates(task, play, effort, advance), on_axis))
    again = play(points, effort.final_episodes, 1).means
    if np.isnan(again).all():
        raise InputError(
            f"every episode of run '{run.folder}' diverged where it does worst: nothing is known"
        )
    worst = points[[int(np.nanargmin(again))]]
    advance()
    final = play(np.concatenate((worst, on_axis)), effort.final_episodes, 2)
    (found, lowest, highest), axis = (_interval(final, i, run) for i in (0, 1))
    result = Found(
        updates=trained.updates,
        effort=effort,
        evaluations=effort.evaluations,
        episodes=int((~final.diverged[0]).sum()),
        point=dict(zip(task.dynamics.names, worst[0].tolist(), strict=True)),
        returned=found,
        low=lowest,
        high=highest,
        axis=Axis(parameter, scale, *axis, settings),
        below=axis[0] - found,
    )
    write_atomically(run.folder / FILE, (json.dumps(asdict(result), indent=1) + "\n").encode())
    advance()
    return result


def read_search(folder: Path) -> Found | None:
    """What was found for a run, or None if nothing was searched for."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        said = json.loads(path.read_bytes())
        parts: dict[str, Any] = {"axis": Axis(**said["axis"]), "effort": SearchSettings(**said["effort"])}
        found = Found(**{**said, **parts})
        numbers = (found.updates, found.evaluations, found.returned, found.low, found.high, found.below)
        if all(map(isfinite, (*numbers, *found.point.values(), found.axis.scale, found.axis.returned))):
            return found
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        pass
    raise InputError(f"file '{path}' is damaged: search again")


def _candidates(
    task: Task,
    play: Callable[[Floats, int, int], Evaluated],
    effort: SearchSettings,
    advance: Advance,
) -> Floats:
    """The worst points met on the way, `[finalists, P]`."""
    from cmaes import CMA  # imported here: with the scipy it needs, it is slow to import and seldom needed

    low, high = task.dynamics.box("test")
    free = high > low
    optimiser = CMA(
        mean=np.full(int(free.sum()), 0.5),
        sigma=FIRST_SPREAD,
        bounds=np.tile((0.0, 1.0), (int(free.sum()), 1)),
        seed=effort.seed % 2**32,
        population_size=effort.population,
    )
    met, returned = [], []
    for _ in range(effort.generations):
        asked = np.array([optimiser.ask() for _ in range(effort.population)])
        rows = np.tile(low, (effort.population, 1))
        rows[:, free] = low[free] + asked * (high - low)[free]
        means = play(rows, effort.episodes, 0).means
        means = np.where(np.isnan(means), np.inf, means)  # physics that fails proves nothing
        optimiser.tell([(x, float(y)) for x, y in zip(asked, means, strict=True)])
        met.append(rows)
        returned.append(means)
        advance()
    order = np.argsort(np.concatenate(returned), kind="stable")[:FINALISTS]
    return np.concatenate(met)[order]


def _sweep(run: Run, updates: int, threads: int) -> pl.DataFrame:
    """The sweep of the policy as it is now, made if there is none."""
    with suppress(InputError):
        table = read_sweep(run.folder)
        if table is not None and table["updates"].unique().to_list() == [updates]:
            return table
    return sweep(run, threads=threads)


def _worst(table: pl.DataFrame, task: Task) -> tuple[str, float, int]:
    """The setting of a sweep, inside the test box, with the lowest mean return, and of how many."""
    test = {p.name: p.test for p in task.dynamics}
    means = table.filter(~pl.col("diverged")).group_by("parameter", "scale", maintain_order=True)
    lowest = means.agg(pl.col("return").mean()).sort("return", maintain_order=True)
    rows = [(name, x) for name, x, _ in lowest.iter_rows() if test[name][0] <= x <= test[name][1]]
    if not rows:
        raise InputError(
            "no episode of the sweep that did not diverge lies in the test ranges: sweep the run again"
        )
    return *rows[0], len(rows)


def _interval(outcome: Evaluated, row: int, run: Run) -> tuple[float, float, float]:
    """Mean return and its 95% interval over the episodes of a row."""
    from scipy.stats import t  # imported here: it is slow to import and seldom needed

    good = outcome.returned[row][~outcome.diverged[row]]
    if len(good) < 2:
        raise InputError(f"fewer than two episodes of run '{run.folder}' did not diverge: give it more")
    mean = float(good.mean())
    half = float(t.ppf(0.975, len(good) - 1) * good.std(ddof=1) / np.sqrt(len(good)))
    return mean, mean - half, mean + half


def _check(effort: SearchSettings, task: Task) -> None:
    low, high = task.dynamics.box("test")
    if not (high > low).any():
        raise InputError(
            f"the test ranges of task '{task.name}' are single points: there is nothing to search"
        )


SEARCH = Measurement(
    name="search",
    done="searched",
    summary="""Find the worst dynamics for trained policies in the whole test box, by CMA-ES.

    What is found, its return with a 95% interval and how far that is below the worst setting of the sweep
    are written into the run folder as search.json. A run that was not swept yet is swept first.
    """,
    settings=SearchSettings,
    files={FILE: "the worst dynamics that were found, and the return there"},
    measure=_search,
    read=read_search,
    updates=lambda found: found.updates,
    covers=lambda found, effort, task: found.effort == effort,
    check=_check,
    steps=lambda effort, task: effort.generations + 3,
    after=("sweep",),
    show="rapo.reporting.worst_cases:shown_searches",
    rows="rapo.reporting.worst_cases:searched_rows",
    blocks="rapo.reporting.sections:search_blocks",
)
