"""How the policy of a run does where it was trained to do well: under the nominal dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rapo.evaluation.evaluate import evaluate
from rapo.evaluation.measurement import Advance, Measurement, measure
from rapo.files import write_atomically
from rapo.heavy import pl
from rapo.ranges import EPISODES, check_ranges, check_seed
from rapo.runs.csv_table import read_table
from rapo.runs.run import Run
from rapo.world.task import Task

FILE = "nominal.csv"
SCHEMA = {
    "episode": int,
    "return": float,
    "length": int,
    "terminated": bool,
    "diverged": bool,
    "updates": int,
    "seed": int,
}


@dataclass(frozen=True)
class NominalSettings:
    """How often the nominal setting is played."""

    episodes: Annotated[int, EPISODES] = 20
    """Episodes of each run."""
    seed: int = 1000
    """Where the initial states come from."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_seed(self.seed)


def nominal(
    run: Run | str | Path, *, threads: int = 0, advance: Advance = lambda: None, **changes: Any
) -> pl.DataFrame:
    """Play the policy of a run under the nominal dynamics and write its table, a row for every episode.

    changes: any of `NominalSettings`; advance: called once a step.
    """
    return measure(NOMINAL, run, NOMINAL.choose(changes), threads=threads, advance=advance)


def _nominal(run: Run, chosen: NominalSettings, *, threads: int, advance: Advance) -> pl.DataFrame:
    trained = run.trained_policy()
    outcome = evaluate(
        trained.task,
        trained.act,
        trained.task.dynamics.nominal(),
        episodes=chosen.episodes,
        seed=chosen.seed,
        threads=threads,
        engine=trained.engine,
        advance=advance,
    )
    table = pl.DataFrame(
        {
            "episode": np.arange(chosen.episodes),
            "return": outcome.returned[0],
            "length": outcome.length[0],
            "terminated": outcome.terminated[0],
            "diverged": outcome.diverged[0],
            "updates": trained.updates,
            "seed": chosen.seed,
        },
        schema=SCHEMA,
    )
    write_atomically(run.folder / FILE, table.write_csv().encode())
    return table


def read_nominal(folder: Path) -> pl.DataFrame | None:
    """The table of a run, or None if it was not played under the nominal dynamics."""
    return read_table(folder / FILE, SCHEMA, "play the run again", "eval nominal")


def _covers(table: pl.DataFrame, chosen: NominalSettings, task: Task) -> bool:
    return set(table["seed"]) == {chosen.seed} and set(table["episode"]) == set(range(chosen.episodes))


NOMINAL = Measurement(
    name="nominal",
    done="evaluated",
    summary="""Play whole episodes under the nominal dynamics, from the same initial states for every run.

    The table of every episode is written into the run folder as nominal.csv.
    """,
    settings=NominalSettings,
    files={FILE: "the return of every episode under the nominal dynamics"},
    measure=_nominal,
    read=read_nominal,
    updates=lambda table: int(table["updates"][0]) if len(table) else None,
    covers=_covers,
    steps=lambda chosen, task: task.tested().time_limit,
    conditions=lambda table: (int(table["seed"][0]), len(table)) if len(table) else None,
    in_grids=False,
    show="rapo.reporting.nominal_returns:shown_returns",
    rows="rapo.reporting.nominal_returns:nominal_rows",
    blocks="rapo.reporting.nominal_returns:nominal_blocks",
)
