"""How well the policy of a run carries the payload along the reference of the test.

It flies in two settings: `id`, whose dynamics are those of training, and `ood`, where payload, cable and
disturbances are beyond them. All episodes are stepped together in one batch. Every run flown with the same
seed and number of episodes meets the same dynamics, initial states, noise and disturbances. `tracking.csv` in
the run folder has a row for every episode, `paths.csv` the paths of the first few of each setting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Bools, Floats
from rapo.errors import InputError
from rapo.evaluation.evaluate import check_episodes, evaluate
from rapo.evaluation.measurement import Advance, Measurement, measure
from rapo.files import write_atomically
from rapo.heavy import pl
from rapo.ranges import EPISODES, check_ranges, check_seed
from rapo.runs.csv_table import read_table
from rapo.runs.run import Run
from rapo.tasks.quadrotor.episode_row import CLOCK, REFERENCE
from rapo.tasks.quadrotor.reference import SIZE as REFERENCE_SIZE
from rapo.world.engines import ENGINE
from rapo.world.find_task import TASKS
from rapo.world.streams import DYNAMICS, stream
from rapo.world.task import Data, Task

if TYPE_CHECKING:
    from rapo.tasks.quadrotor.payload_task import QuadrotorPayload

FILE, PATHS = "tracking.csv", "paths.csv"
SETTINGS = ("id", "ood")
DIGITS = 3
"""Decimals in both files: a hundredth of a millimetre of an error, a millimetre of a path."""
SHOWN, EVERY = 3, 5
"""Of how many episodes of each setting the path is kept, and how many steps lie between two of its points."""
SCHEMA = {
    "setting": str,
    "episode": int,
    "rmse_cm": float,
    "largest_cm": float,
    "crashed": bool,
    "diverged": bool,
    "length": int,
    "payload": float,
    "cable": float,
    "updates": int,
    "seed": int,
}
AXES = ("x", "y", "z")
PATHS_SCHEMA = {
    "setting": str,
    "episode": int,
    "step": int,
    **{name + axis: float for name in ("", "reference_") for axis in AXES},
}
AGAIN = "fly the run again with rapo eval tracking"


class FlightWatch:
    """Watches payloads along their references, `[n]` episodes at a time."""

    def __init__(self, task: Task, n: int, shown: list[int]) -> None:
        self._task, self._shown = task, shown
        self._total, self.largest = np.zeros(n), np.zeros(n)
        self._paths: list[Floats] = []

    def __call__(self, data: Data, running: Bools) -> None:
        """Look at every episode that still runs, before a step."""
        from rapo.tasks.quadrotor.following import at  # imported here: Numba is slow to load

        rows = data.userdata
        times = rows[:, CLOCK, None] * self._task.dt
        wanted = at(rows[:, REFERENCE : REFERENCE + REFERENCE_SIZE], times).position[:, 0]
        payload = data.qpos[:, 7:10]
        error = np.linalg.norm(payload - wanted, axis=1)
        np.add(self._total, error**2, out=self._total, where=running)
        np.maximum(self.largest, error, out=self.largest, where=running)
        self._paths.append(np.concatenate((payload, wanted), axis=1)[self._shown])

    def rmse(self, length: NDArray[np.int64]) -> Floats:
        """The root of the mean square error `[n]` of episodes of `length` `[n]` steps, in metres."""
        return np.sqrt(self._total / length)

    def paths(self) -> Floats:
        """Payload and reference `[steps, shown, 6]` of the shown ones, in metres."""
        return np.stack(self._paths)


@dataclass(frozen=True)
class FlightSettings:
    """How often the curve of the test is flown."""

    episodes: Annotated[int, EPISODES] = 20
    """Episodes in each of the two settings."""
    seed: int = 1000
    """Where initial states and dynamics come from."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_seed(self.seed)


def track(run: Run, *, threads: int = 0, advance: Advance = lambda: None, **changes: Any) -> pl.DataFrame:
    """Fly the policy of a run in both settings and write its tables; `advance` is called once a step.

    changes: any of `FlightSettings`.
    """
    return measure(TRACKING, run, TRACKING.choose(changes), threads=threads, advance=advance)


def _track(run: Run, chosen: FlightSettings, *, threads: int, advance: Advance) -> pl.DataFrame:
    trained = run.trained_policy()
    table, paths = fly(
        trackable(trained.task),
        trained.act,
        episodes=chosen.episodes,
        seed=chosen.seed,
        threads=threads,
        engine=trained.engine,
        advance=advance,
    )
    table = table.with_columns(pl.lit(trained.updates, pl.Int64).alias("updates"))
    write_atomically(run.folder / PATHS, paths.write_csv().encode())
    write_atomically(run.folder / FILE, table.write_csv().encode())
    return table


def fly(
    task: QuadrotorPayload,
    policy: Callable[[Floats], NDArray[np.floating]],
    *,
    episodes: int = 20,
    seed: int = 1000,
    threads: int = 0,
    engine: str = ENGINE,
    advance: Callable[[], None] = lambda: None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fly any policy in both settings: a table of its episodes, columns of `SCHEMA`, and paths of some.

    An error is the distance of the payload from the reference before every step. A crash ends an episode, and
    what came before it is what its row is about.
    """
    check_episodes(episodes)
    dynamics = np.stack([task.setting(s, episodes, stream(check_seed(seed), 0, DYNAMICS)) for s in SETTINGS])
    first = range(min(SHOWN, episodes))
    shown = [(setting, episode) for setting in range(len(SETTINGS)) for episode in first]
    flights = FlightWatch(task, len(SETTINGS) * episodes, [s * episodes + e for s, e in shown])
    outcome = evaluate(
        task,
        policy,
        dynamics,
        episodes=episodes,
        seed=seed,
        threads=threads,
        engine=engine,
        advance=advance,
        watch=flights,
    )
    table = pl.DataFrame(
        {
            "setting": np.repeat(SETTINGS, episodes),
            "episode": np.tile(np.arange(episodes), len(SETTINGS)),
            "rmse_cm": 100 * flights.rmse(outcome.length.ravel()),
            "largest_cm": 100 * flights.largest,
            "crashed": outcome.terminated.ravel(),
            "diverged": outcome.diverged.ravel(),
            "length": outcome.length.ravel(),
            **{name: dynamics[..., task.dynamics.column(name)].ravel() for name in ("payload", "cable")},
            "updates": 0,
            "seed": seed,
        },
        schema=SCHEMA,
    )
    points = flights.paths()
    paths = [_path(SETTINGS[s], e, points[: outcome.length[s, e], i]) for i, (s, e) in enumerate(shown)]
    return _rounded(table), _rounded(pl.concat(paths))


def trackable(task: Task) -> QuadrotorPayload:
    """The task, refused unless it has a reference to follow in both settings."""
    from rapo.tasks.quadrotor.payload_task import QuadrotorPayload

    if not isinstance(task, QuadrotorPayload) or not set(SETTINGS) <= set(task.settings):
        known = [name for name, kind in TASKS.items() if issubclass(kind, QuadrotorPayload)]
        raise InputError(
            f"task '{task.name}' has no reference to follow in the settings {' and '.join(SETTINGS)}: "
            f"allowed are {', '.join(known)}"
        )
    return task


def read_tracking(folder: Path) -> pl.DataFrame | None:
    """The table of a run, or None if it was not flown."""
    return _of_settings(folder / FILE, SCHEMA)


def read_paths(folder: Path) -> pl.DataFrame | None:
    """The paths of a run, or None if it was not flown."""
    return _of_settings(folder / PATHS, PATHS_SCHEMA)


def _of_settings(path: Path, schema: dict[str, type]) -> pl.DataFrame | None:
    """A table whose rows are all of the two settings."""
    table = read_table(path, schema, AGAIN)
    if table is not None and not set(table["setting"]) <= set(SETTINGS):
        raise InputError(f"table '{path}' is damaged: {AGAIN}")
    return table


def _path(setting: str, episode: int, points: Floats) -> pl.DataFrame:
    """Some of the points `[steps, 6]` of an episode, the first and the last one among them."""
    steps = np.unique(np.append(np.arange(0, len(points), EVERY), len(points) - 1))
    numbers = dict(zip(list(PATHS_SCHEMA)[3:], points[steps].T, strict=True))
    return pl.DataFrame(
        {"setting": [setting] * len(steps), "episode": episode, "step": steps, **numbers}, schema=PATHS_SCHEMA
    )


def _rounded(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(pl.Float64).round(DIGITS))


def _check(chosen: FlightSettings, task: Task) -> None:
    trackable(task)


def _covers(table: pl.DataFrame, chosen: FlightSettings, task: Task) -> bool:
    return (
        set(table["seed"]) == {chosen.seed}
        and set(table["setting"]) == set(SETTINGS)
        and set(table["episode"]) == set(range(chosen.episodes))
    )


TRACKING = Measurement(
    name="tracking",
    done="flown",
    summary="""Fly the payload along the reference of the test: errors, crashes and figures.

    Payload, cable and disturbances are as in training (ID) and beyond (OOD), the same for every run. Every
    flight goes into the run folder as tracking.csv, the paths of some as paths.csv.
    """,
    settings=FlightSettings,
    files={FILE: "a row for every flight along the reference of the test", PATHS: "the paths of some"},
    measure=_track,
    read=read_tracking,
    whole=lambda folder: read_paths(folder) is not None,
    updates=lambda table: int(table["updates"][0]) if len(table) else None,
    covers=_covers,
    check=_check,
    steps=lambda chosen, task: task.tested().time_limit,
    conditions=lambda table: (int(table["seed"][0]), table["episode"].n_unique()) if len(table) else None,
    in_grids=False,
    blocks="rapo.tasks.quadrotor.flights_report:tracking_blocks",
    command="rapo.tasks.quadrotor.flights_command:FlightsCommand",
)
