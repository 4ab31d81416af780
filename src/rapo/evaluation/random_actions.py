"""What random actions return under the nominal dynamics: where a report counts from if returns are below 0.

It belongs to the task and not to the policy, and takes a few episodes: every sweep measures it too.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.evaluation.evaluate import evaluate
from rapo.evaluation.measurement import Advance, Measurement
from rapo.files import write_atomically
from rapo.heavy import pl
from rapo.ranges import EPISODES, check_ranges, check_seed
from rapo.runs.csv_table import read_table
from rapo.runs.run import Run
from rapo.world.streams import ACTING, stream
from rapo.world.task import Task

FILE = "random.csv"
SCHEMA = {"episode": int, "return": float, "length": int, "diverged": bool, "seed": int}


@dataclass(frozen=True)
class RandomSettings:
    """How often random actions are played."""

    episodes: Annotated[int, EPISODES] = 20
    """Episodes."""
    seed: int = 1000
    """Where actions and initial states come from."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_seed(self.seed)


def ensure_random_returns(run: Run, task: Task, engine: str, chosen: RandomSettings, threads: int) -> None:
    """Measure random actions, unless the run folder has them."""
    with suppress(InputError):  # a damaged table is made again
        table = read_random(run.folder)
        if table is not None and _covers(table, chosen, task):
            return
    _write(run, task, engine, chosen, threads, lambda: None)


def _measure(run: Run, chosen: RandomSettings, *, threads: int, advance: Advance) -> pl.DataFrame:
    trained = run.trained_policy()
    return _write(run, trained.task, trained.engine, chosen, threads, advance)


def _write(
    run: Run, task: Task, engine: str, chosen: RandomSettings, threads: int, advance: Advance
) -> pl.DataFrame:
    rng = stream(chosen.seed, 0, ACTING)
    low, high = task.bounded_actions

    def act(observations: Floats) -> Floats:
        return rng.uniform(low, high, (len(observations), task.action_size))

    nominal = task.dynamics.nominal()
    counts: Any = {"episodes": chosen.episodes, "seed": chosen.seed, "threads": threads}
    outcome = evaluate(task, act, nominal, engine=engine, advance=advance, **counts)
    table = pl.DataFrame(
        {
            "episode": np.arange(chosen.episodes),
            "return": outcome.returned[0],
            "length": outcome.length[0],
            "diverged": outcome.diverged[0],
            "seed": chosen.seed,
        },
        schema=SCHEMA,
    )
    write_atomically(run.folder / FILE, table.write_csv().encode())
    return table


def read_random(folder: Path) -> pl.DataFrame | None:
    """The table of a run, or None if random actions were not played on its task."""
    return read_table(folder / FILE, SCHEMA, "play them again", "eval random")


def _covers(table: pl.DataFrame, chosen: RandomSettings, task: Task) -> bool:
    return set(table["seed"]) == {chosen.seed} and set(table["episode"]) == set(range(chosen.episodes))


RANDOM = Measurement(
    name="random",
    done="compared with random actions",
    summary="""Play random actions under the nominal dynamics: what a policy has to beat.

    The actions are uniform between the limits of the actuators. The table of every episode is written into
    the run folder as random.csv. A sweep does it too.
    """,
    settings=RandomSettings,
    files={FILE: "the return of every episode of random actions"},
    measure=_measure,
    read=read_random,
    covers=_covers,
    steps=lambda chosen, task: task.tested().time_limit,
    in_grids=False,
    show="rapo.reporting.nominal_returns:shown_random",
)
