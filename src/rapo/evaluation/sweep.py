"""The robustness sweep of a run: one parameter at a time through its test range, the others nominal.

All settings and episodes of a policy are stepped together in one batch. Every setting, and every run swept
with the same seed, starts its episodes from the same initial states, so that differences are due to the
dynamics and the policy. The table is `sweep.csv` in the run folder, a row for every episode. What random
actions return under the nominal dynamics, for comparison, is put beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import floor, isfinite, log10
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.evaluation.evaluate import evaluate
from rapo.evaluation.measurement import Advance, Measurement, measure
from rapo.evaluation.random_actions import RandomSettings, ensure_random_returns
from rapo.files import one_at_a_time, write_atomically
from rapo.heavy import pl
from rapo.ranges import EPISODES, check_ranges, check_seed
from rapo.runs.csv_table import read_table
from rapo.runs.description import CONFIG
from rapo.runs.run import Run
from rapo.world.dynamics import Dynamics
from rapo.world.task import Task

FILE = "sweep.csv"
SCALES = 11
"""Values of a parameter over its test range where none are given."""
MOST_SCALES = 1000
"""Values that FROM:TO:STEP may stand for."""
SCHEMA = {
    "parameter": str,
    "scale": float,
    "episode": int,
    "return": float,
    "length": int,
    "terminated": bool,
    "diverged": bool,
    "updates": int,
    "seed": int,
}


@dataclass(frozen=True)
class SweepSettings:
    """What to sweep, and how often each setting is played."""

    episodes: Annotated[int, EPISODES] = 20
    """Episodes of each setting."""
    parameters: tuple[str, ...] | None = None
    """Only these parameters; what is known of the others stays. None means all."""
    scales: tuple[float | str, ...] | None = None
    """Values of the parameters, each a number or FROM:TO:STEP, for example 0.5:1.5:0.1. None means 11 over
    the test range of each, and the nominal one."""
    seed: int = 1000
    """Where the initial states come from."""
    beyond: bool = False
    """Whether values outside of the test range are allowed."""
    replace: bool = False
    """Whether the new table takes the place of the old one, of which nothing is kept."""

    def __post_init__(self) -> None:
        for name in ("parameters", "scales"):
            value = getattr(self, name)
            if isinstance(value, str | float | int):
                object.__setattr__(self, name, (value,))
            elif value is not None and not len(value):
                raise InputError(f"option {name} is empty: give at least one, or leave it out")
        check_ranges(self)
        check_seed(self.seed)
        self.values()

    def values(self) -> list[float] | None:
        """The scales as numbers; None if none are given."""
        return None if self.scales is None else [x for each in self.scales for x in _numbers(each)]


def usual_scales(dynamics: Dynamics, parameter: str) -> Floats:
    """Values of a parameter `[n]` from one end of its test range to the other, the nominal one included."""
    known = dynamics[parameter]
    low, high = known.test
    digits = 9 - floor(log10(high - low)) if high > low else 15
    between = np.round(np.linspace(low, high, SCALES), digits)[1:-1]
    return np.unique([low, *between.tolist(), high, round(float(known.nominal or 0.0), digits)])


def settings(dynamics: Dynamics, chosen: SweepSettings | None = None) -> list[tuple[str, float]]:
    """What to sweep: pairs of a parameter and its value."""
    chosen = SweepSettings() if chosen is None else chosen
    names = dynamics.names if chosen.parameters is None else tuple(dict.fromkeys(chosen.parameters))
    if not names:
        raise InputError("a sweep over no parameters was asked for: the task must name at least one")
    given = chosen.values()
    return [
        (name, float(value))
        for name in names
        for value in (usual_scales(dynamics, name) if given is None else np.unique(given))
    ]


def dynamics_of(dynamics: Dynamics, pairs: Sequence[tuple[str, float]]) -> tuple[Floats, NDArray[np.intp]]:
    """The distinct rows `[n, P]` that settings stand for, and which of them each setting is."""
    rows = np.concatenate([dynamics.sweep(name, [value]) for name, value in pairs])
    return np.unique(rows, axis=0, return_inverse=True)


def sweep(
    run: Run | str | Path, *, threads: int = 0, advance: Advance = lambda: None, **changes: Any
) -> pl.DataFrame:
    """Sweep the policy of a run and write its table; `advance` is called once a step.

    changes: any of `SweepSettings`. What the table knows already of other settings stays, if it is about
    the same policy and the same initial states.
    """
    return measure(SWEEP, run, SWEEP.choose(changes), threads=threads, advance=advance)


def _sweep(run: Run, chosen: SweepSettings, *, threads: int, advance: Advance) -> pl.DataFrame:
    trained, episodes = run.trained_policy(), chosen.episodes
    dynamics = trained.task.dynamics
    _refuse_loss(run, _known(run), chosen, trained.updates, trained.task)
    ensure_random_returns(run, trained.task, trained.engine, RandomSettings(episodes, chosen.seed), threads)
    pairs = settings(dynamics, chosen)
    distinct, place = dynamics_of(dynamics, pairs)
    outcome = evaluate(
        trained.task,
        trained.act,
        distinct,
        episodes=episodes,
        seed=chosen.seed,
        threads=threads,
        engine=trained.engine,
        advance=advance,
    )
    table = pl.DataFrame(
        {
            "parameter": np.repeat([name for name, _ in pairs], episodes),
            "scale": np.repeat([value for _, value in pairs], episodes),
            "episode": np.tile(np.arange(episodes), len(pairs)),
            "return": outcome.returned[place].ravel(),
            "length": outcome.length[place].ravel(),
            "terminated": outcome.terminated[place].ravel(),
            "diverged": outcome.diverged[place].ravel(),
            "updates": trained.updates,
            "seed": chosen.seed,
        },
        schema=SCHEMA,
    )
    config = run.folder / CONFIG  # the folder itself is locked while a run trains
    with one_at_a_time(config if config.is_file() else run.folder):
        table = table if chosen.replace else _with_others(table, _known(run), dynamics.names)
        write_atomically(run.folder / FILE, table.write_csv().encode())
    return table


def _known(run: Run) -> pl.DataFrame | None:
    """What the table of a run says already; nothing if it is damaged."""
    with suppress(InputError):
        return read_sweep(run.folder)
    return None


def _refuse_loss(run: Run, old: pl.DataFrame | None, chosen: SweepSettings, updates: int, task: Task) -> None:
    """Refuse to replace rows of the same policy that were made with more episodes or at other settings."""
    if old is None or not len(old) or _updates(old) != updates or chosen.replace:
        return
    seed, episodes = int(old["seed"][0]), old["episode"].n_unique()
    if (seed, episodes) == (chosen.seed, chosen.episodes):
        return  # the rows of other settings stay
    others = set(zip(old["parameter"], old["scale"], strict=True)) - set(settings(task.dynamics, chosen))
    if others or seed != chosen.seed or episodes > chosen.episodes:
        count = len(old.select("parameter", "scale").unique())
        raise InputError(
            f"{FILE} of run '{run.folder}' has {count} settings of {episodes} episodes from seed {seed}, "
            f"which {chosen.episodes} episodes from seed {chosen.seed} would replace: sweep with --episodes "
            f"{episodes} --seed {seed} to add to them, or with --replace"
        )


def read_sweep(folder: Path) -> pl.DataFrame | None:
    """The table of a run, or None if it was not swept."""
    return read_table(folder / FILE, SCHEMA, "sweep the run again")


def _with_others(new: pl.DataFrame, old: pl.DataFrame | None, order: Sequence[str]) -> pl.DataFrame:
    """The new table and what the old one says of other settings under the same conditions."""
    if old is None or not len(old):
        return new
    columns = ("updates", "seed")
    alike = all(old[c].unique().to_list() == new[c].unique().to_list() for c in columns)
    if not alike or old["episode"].n_unique() != new["episode"].n_unique():
        return new
    kept = old.join(new.select("parameter", "scale").unique(), ("parameter", "scale"), "anti")
    place = {name: i for i, name in enumerate(order)}
    return pl.concat((kept, new)).sort(
        pl.col("parameter").replace_strict(place, default=len(place)), "scale", "episode", maintain_order=True
    )


def _numbers(scale: float | str) -> list[float]:
    """The numbers that a scale stands for: itself, or FROM:TO:STEP with both ends."""
    if isinstance(scale, int | float):
        numbers = [float(scale)]
    else:
        try:
            numbers = [float(part) for part in scale.split(":")]
        except ValueError:
            numbers = []
    if not all(map(isfinite, numbers)) or len(numbers) not in (1, 3):
        raise InputError(f"scales '{scale}' were given: allowed are a number or FROM:TO:STEP")
    if len(numbers) == 1:
        return numbers
    first, last, step = numbers
    if step <= 0 or last < first or (last - first) / step > MOST_SCALES:
        raise InputError(
            f"scales '{scale}' were given: FROM must not be above TO, and STEP must be above 0 and lead "
            f"there in at most {MOST_SCALES} steps"
        )
    return [round(first + i * step, 9) for i in range(int((last - first) / step + 1e-6) + 1)]


def _check(chosen: SweepSettings, task: Task) -> None:
    for name, value in settings(task.dynamics, chosen):
        task.dynamics.sweep(name, [value])
        low, high = task.dynamics[name].test
        slack = 1e-9 * (high - low)
        if not chosen.beyond and not low - slack <= value <= high + slack:
            raise InputError(
                f"scale {value:g} of '{name}' lies outside of its test range, {low:g} to {high:g}: allow it "
                "with --beyond"
            )


def _covers(table: pl.DataFrame, chosen: SweepSettings, task: Task) -> bool:
    return (
        len(table) > 0
        and set(table["seed"]) == {chosen.seed}
        and set(table["episode"]) == set(range(chosen.episodes))
        and set(settings(task.dynamics, chosen)) <= set(zip(table["parameter"], table["scale"], strict=True))
    )


def _updates(table: pl.DataFrame) -> int | None:
    return int(table["updates"][0]) if len(table) else None


def _conditions(table: pl.DataFrame) -> tuple[int, int] | None:
    return (int(table["seed"][0]), table["episode"].n_unique()) if len(table) else None


SWEEP = Measurement(
    name="sweep",
    done="swept",
    summary="""Sweep trained policies over the test ranges: one parameter at a time, the others nominal.

    All settings and episodes of a policy are stepped together, from the same initial states for every
    setting and every run. The table of every episode is written into the run folder as sweep.csv.
    """,
    settings=SweepSettings,
    files={FILE: "the return of every episode of every setting"},
    measure=_sweep,
    read=read_sweep,
    updates=_updates,
    covers=_covers,
    check=_check,
    steps=lambda chosen, task: task.tested().time_limit,
    conditions=_conditions,
    show="rapo.reporting.sweep_scores:shown_sweeps",
    rows="rapo.reporting.sweep_scores:swept_rows",
    blocks="rapo.reporting.sections:sweep_blocks",
)
