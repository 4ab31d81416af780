"""A task with a measurement of its own: how often does a Hopper that carries a load fall?"""

from dataclasses import dataclass
from typing import Annotated

import polars as pl

from rapo import Measurement, evaluate
from rapo.files import write_atomically
from rapo.ranges import COUNT, POSITIVE, check_ranges
from rapo.reporting.report_page import Block
from rapo.reporting.tables import Table
from rapo.runs.csv_table import read_table
from rapo.tasks.hopper import Hopper

FILE = "endurance.csv"
COLUMNS = {"episode": int, "length": int, "fell": bool, "load": float, "updates": int}


@dataclass(frozen=True)
class EnduranceSettings:
    """How often, and under which load."""

    episodes: Annotated[int, COUNT] = 20
    """Episodes of each run."""
    load: Annotated[float, POSITIVE] = 1.4
    """How many times as heavy the robot is."""

    def __post_init__(self):
        check_ranges(self)


def measure(run, settings, *, threads, advance):
    """Play the policy of a run with the load, and write a row for every episode."""
    trained = run.trained_policy()
    loaded = trained.task.dynamics.sweep("mass", [settings.load])
    played = evaluate(
        trained.task,
        trained.act,
        loaded,
        episodes=settings.episodes,
        seed=0,
        threads=threads,
        advance=advance,
    )
    rows = {"episode": range(settings.episodes), "length": played.length[0], "fell": played.terminated[0]}
    table = pl.DataFrame({**rows, "load": settings.load, "updates": trained.updates}, schema=COLUMNS)
    write_atomically(run.folder / FILE, table.write_csv().encode())
    return table


def read(folder):
    """The table in a run folder, None if there is none."""
    return read_table(folder / FILE, COLUMNS, "measure the run again with rapo eval endurance")


def covers(table, settings, task):
    """Whether a table is what these settings ask for."""
    return len(table) == settings.episodes and set(table["load"]) == {settings.load}


def blocks(showing):
    """What a report shows: the share of episodes in which each run fell."""
    found = [
        {"algorithm": label, "seed": run.seed, "fell": table["fell"].mean(), "steps": table["length"].mean()}
        for label, run, table in showing.results("endurance")
    ]
    if not found:
        return []
    table = Table("endurance", "Falls under a load", pl.DataFrame(found))
    return [Block("Endurance", "How often the loaded robot fell.", table=table, files=showing.files(table))]


ENDURANCE = Measurement(
    name="endurance",
    done="loaded",
    summary="Count how often a robot that carries a load falls.",
    settings=EnduranceSettings,
    files={FILE: "length and end of every episode under the load"},
    measure=measure,
    read=read,
    updates=lambda table: int(table["updates"][0]),
    covers=covers,
    steps=lambda settings, task: task.time_limit,
    blocks=blocks,
)


class LoadedHopper(Hopper):
    """Gymnasium's Hopper, measured under a load too."""

    name = "loaded-hopper"
    measurements = (ENDURANCE,)
