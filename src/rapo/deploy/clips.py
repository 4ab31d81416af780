"""What films show: episodes of policies under some dynamics, as the poses that the robots go through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rapo.arrays import Bools, Floats
from rapo.errors import InputError, unknown
from rapo.evaluation.evaluate import evaluate
from rapo.evaluation.search import read_search
from rapo.evaluation.sweep import usual_scales
from rapo.runs.run import Run, hint
from rapo.world.dynamics import Dynamics
from rapo.world.task import Data, Task


@dataclass(frozen=True)
class Clip:
    """One episode of a policy."""

    task: Task
    run_name: str
    dynamics_name: str
    """Under which dynamics, in words."""
    dynamics: Floats
    """`[P]`, the parameter values."""
    poses: Floats
    """`[T, nq]`, the pose before every step."""
    returned: float
    terminated: bool
    """Whether the task ended the episode before its time was up."""
    diverged: bool
    """Whether the episode was cut off because the physics failed."""

    @property
    def name(self) -> str:
        """What is shown: the run, and under which dynamics."""
        return f"{self.run_name}, {self.dynamics_name}"

    def pose(self, time: float) -> Floats:
        """The pose `[nq]` at some time in seconds, the last one after the end."""
        return self.poses[min(int(time / self.task.dt + 1e-9), len(self.poses) - 1)]


def clips(
    runs: Sequence[Run],
    *,
    dynamics: Mapping[str, float] | None = None,
    worst: bool = False,
    sweep: str | None = None,
    seed: int = 1000,
    threads: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> list[list[Clip]]:
    """A row of clips for each run, all from the same initial state.

    dynamics: parameter values, the others nominal; worst: at the point that `rapo search` found for the run;
    sweep: a parameter, of which both ends of its test range and the nominal value are shown.
    """
    if worst + (sweep is not None) + bool(dynamics) > 1:
        raise InputError("several dynamics were asked for: allowed is one of --dynamics, --worst and --sweep")
    return [_row(run, dynamics or {}, worst, sweep, seed, threads, advance) for run in runs]


def _row(
    run: Run,
    given: Mapping[str, float],
    worst: bool,
    sweep: str | None,
    seed: int,
    threads: int,
    advance: Callable[[], None],
) -> list[Clip]:
    trained = run.trained_policy()
    task = trained.task
    if sweep is not None:
        _check_names(task.dynamics, (sweep,))
        values = usual_scales(task.dynamics, sweep)
        nominal = float(task.dynamics[sweep].nominal or 0)
        shown = np.unique((values[0], nominal, values[-1]))
        rows = task.dynamics.sweep(sweep, shown)
        names = [f"{sweep} {value:g}" for value in shown]
    elif worst:
        found = read_search(run.folder)
        if found is None or found.updates != trained.updates:
            raise InputError(
                f"run '{run.folder}' was not searched since it last learned: find its worst with "
                f"{hint('search', run.folder)}"
            )
        rows = np.array([[found.point[name] for name in task.dynamics.names]])
        names = ["worst: " + said_dynamics(task.dynamics, rows[0])]
    else:
        _check_names(task.dynamics, tuple(given))
        rows = task.dynamics.nominal()
        for name, value in given.items():
            rows[:, task.dynamics.column(name)] = value
        names = [said_dynamics(task.dynamics, rows[0])]
    poses: list[Floats] = []
    lengths = np.zeros(len(rows), int)

    def watch(data: Data, running: Bools) -> None:
        nonlocal lengths
        poses.append(data.qpos.copy())
        lengths += running

    done = evaluate(
        task,
        trained.act,
        rows,
        seed=seed,
        threads=threads,
        engine=trained.engine,
        watch=watch,
        advance=advance,
    )
    every = np.stack(poses, axis=1)
    label = run.folder.name
    return [
        Clip(
            task.tested(),
            label,
            names[i],
            rows[i],
            every[i, : lengths[i]],
            float(done.returned[i, 0]),
            bool(done.terminated[i, 0]),
            bool(done.diverged[i, 0]),
        )
        for i in range(len(rows))
    ]


def _check_names(dynamics: Dynamics, names: Sequence[str]) -> None:
    for name in names:
        if name not in dynamics.names:
            raise unknown("parameter", name, dynamics.names)


def said_dynamics(dynamics: Dynamics, row: Floats) -> str:
    """The values that are not nominal, in words."""
    pairs = zip(dynamics.names, row.tolist(), dynamics.nominal()[0].tolist(), strict=True)
    changed = [f"{name} {value:.3g}" for name, value, nominal in pairs if value != nominal]
    return ", ".join(changed) or "nominal"
