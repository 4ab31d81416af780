"""The robustness sweep of a run: one parameter at a time through its test range, the others nominal.

All settings and episodes of a policy are stepped together in one batch. Every setting, and every run swept
with the same seed, starts its episodes from the same initial states, so that differences are due to the
dynamics and the policy. The table is `sweep.csv` in the run folder, a row for every episode.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.evaluation.evaluate import evaluate
from rapo.files import write_atomically
from rapo.runs.csv_table import read_table
from rapo.runs.run import Run
from rapo.training.actor import actor
from rapo.world.dynamics import Dynamics

FILE = "sweep.csv"
EPISODES, SEED = 20, 1000
SCALES = 11
SCHEMA = {
    "parameter": pl.String,
    "scale": pl.Float64,
    "episode": pl.Int64,
    "return": pl.Float64,
    "length": pl.Int64,
    "terminated": pl.Boolean,
    "diverged": pl.Boolean,
    "updates": pl.Int64,
    "seed": pl.Int64,
}


def usual_scales(dynamics: Dynamics, parameter: str) -> Floats:
    """Values of a parameter `[n]` from one end of its test range to the other, the nominal one included."""
    known = dynamics[parameter]
    values = np.append(np.linspace(*known.test, SCALES), float(known.nominal or 0.0))
    return np.unique(values.round(9))


def settings(
    dynamics: Dynamics, parameters: Sequence[str] | None, scales: Sequence[float] | None
) -> list[tuple[str, float]]:
    """What to sweep: pairs of a parameter and its value."""
    parameters = (parameters,) if isinstance(parameters, str) else parameters
    names = dynamics.names if parameters is None else tuple(dict.fromkeys(parameters))
    if not names or (scales is not None and not len(scales)):
        raise InputError("a sweep over no parameters or no scales was asked for: give at least one of each")
    return [
        (name, float(value))
        for name in names
        for value in (usual_scales(dynamics, name) if scales is None else np.unique(scales))
    ]


def dynamics_of(dynamics: Dynamics, pairs: Sequence[tuple[str, float]]) -> tuple[Floats, NDArray[np.intp]]:
    """The distinct rows `[n, P]` that settings stand for, and which of them each setting is."""
    rows = np.concatenate([dynamics.sweep(name, [value]) for name, value in pairs])
    return np.unique(rows, axis=0, return_inverse=True)


def sweep(
    run: Run,
    *,
    parameters: Sequence[str] | None = None,
    scales: Sequence[float] | None = None,
    episodes: int = EPISODES,
    seed: int = SEED,
    threads: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> pl.DataFrame:
    """Sweep the policy of a run and write its table; `advance` is called once a step.

    What the table knows already of other parameters stays, if it is about the same policy and the same
    initial states.
    """
    training = run.trained(threads=1)
    task = training.config.task
    pairs = settings(task.dynamics, parameters, scales)
    distinct, place = dynamics_of(task.dynamics, pairs)
    policy = actor(task, training.learner)
    outcome = evaluate(task, policy, distinct, episodes=episodes, seed=seed, threads=threads, advance=advance)
    table = pl.DataFrame(
        {
            "parameter": np.repeat([name for name, _ in pairs], episodes),
            "scale": np.repeat([value for _, value in pairs], episodes),
            "episode": np.tile(np.arange(episodes), len(pairs)),
            "return": outcome.returned[place].ravel(),
            "length": outcome.length[place].ravel(),
            "terminated": outcome.terminated[place].ravel(),
            "diverged": outcome.diverged[place].ravel(),
            "updates": training.updates,
            "seed": seed,
        },
        schema=SCHEMA,
    )
    with suppress(InputError):  # a damaged table is replaced
        table = _with_others(table, read_sweep(run.folder), task.dynamics.names)
    write_atomically(run.folder / FILE, table.write_csv().encode())
    return table


def read_sweep(folder: Path) -> pl.DataFrame | None:
    """The table of a run, or None if it was not swept."""
    return read_table(folder / FILE, SCHEMA, "sweep the run again")


def _with_others(new: pl.DataFrame, old: pl.DataFrame | None, order: Sequence[str]) -> pl.DataFrame:
    """The new table and what the old one says of other parameters under the same conditions."""
    if old is None or not len(old):
        return new
    columns = ("updates", "seed")
    alike = all(old[c].unique().to_list() == new[c].unique().to_list() for c in columns)
    if not alike or old["episode"].n_unique() != new["episode"].n_unique():
        return new
    kept = old.filter(~pl.col("parameter").is_in(new["parameter"].unique().to_list()))
    place = {name: i for i, name in enumerate(order)}
    return pl.concat((kept, new)).sort(
        pl.col("parameter").replace_strict(place, default=len(place)), maintain_order=True
    )
