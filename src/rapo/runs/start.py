"""Start a run, or go on with one."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console

from rapo.algorithms.spec import Algorithm
from rapo.errors import InputError
from rapo.runs.display import shown
from rapo.runs.origin import training_from
from rapo.runs.run import Display, Run, alone, create, drive, save
from rapo.training.config import Config, make_config
from rapo.training.loop import Training
from rapo.world.engines import ENGINE
from rapo.world.task import Task

SAVE_EVERY = 25


def train(
    task: str | Task,
    algo: str | Algorithm = "rapo",
    *,
    steps: int = 1_000_000,
    seed: int = 0,
    out: str | Path | None = None,
    save_every: int = SAVE_EVERY,
    quiet: bool = False,
    threads: int = 0,
    engine: str = ENGINE,
    start_from: str | Path | Run | None = None,
    **options: Any,
) -> Run:
    """Train a policy and return the run, whose folder is `out`, or one named after what is trained.

    options: any option of the algorithm, such as `epsilon=0.2` or `num_envs=64`; `rapo options` lists them.
    save_every: updates between checkpoints; quiet: show nothing; threads: 0 means all cores;
    engine: what simulates; start_from: another run, whose policy, critic and normalisers training begins
    with.
    """
    config = make_config(task, algo, steps=steps, seed=seed, engine=engine, options=options)
    return start(
        config, out, save_every=save_every, quiet=quiet, threads=threads, origin=as_origin(start_from, config)
    )


def as_origin(
    given: str | Path | Run | None,
    config: Config,
    task: Task | None = None,
    algo: Algorithm | None = None,
) -> Run | None:
    """A run to start from.

    task, algo: those of the run, where they are not built in; those of the new run serve, if they have the
    same name.
    """
    if given is None or isinstance(given, Run):
        return given
    said = Run(Path(given)).described()
    if task is None and said.get("task_source") and said.get("task") == config.task.name:
        task = config.task
    if algo is None and said.get("algo_source") and said.get("algo") == config.algorithm.name:
        algo = config.algorithm
    for kind, known in (("task", task), ("algo", algo)):
        if known is None and (source := said.get(f"{kind}_source")):
            raise InputError(
                f"training can't begin from run '{given}': its {kind} '{said.get(kind)}' is not built in, "
                f"name it with --from-{kind} {source}"
            )
    return Run(Path(given), task, algo)


def start(
    config: Config,
    out: str | Path | None = None,
    *,
    save_every: int = SAVE_EVERY,
    quiet: bool = False,
    threads: int = 0,
    display: Display | None = None,
    origin: Run | None = None,
) -> Run:
    """`train` for a configuration that is made already; `display` replaces the usual one.

    origin: a run whose policy, critic and normalisers training begins with.
    """
    check_interval(save_every)
    name = f"{config.task.name}-{config.algorithm.name}-{config.seed}"
    training = Training(config, threads) if origin is None else training_from(config, origin, threads)
    config = training.config
    run = create(config, Path("runs") / name if out is None else Path(out))
    with alone(run.folder), _display(config, quiet, display) as shows:
        if origin is not None:
            save(training, run.folder)  # so that the run no longer needs the other one
        drive(training, run.folder, shows, save_every)
    return run


def resume(
    folder: str | Path,
    *,
    task: Task | None = None,
    algo: Algorithm | None = None,
    save_every: int = SAVE_EVERY,
    quiet: bool = False,
    threads: int = 0,
    display: Display | None = None,
) -> Run:
    """Go on with a run that was interrupted, to the numbers it would have had; return it.

    task, algo: needed where they are not built in; display: replaces the usual one.
    """
    check_interval(save_every)
    run = Run(Path(folder), task, algo)
    with alone(run.folder):
        training = run.training(threads)
        with _display(training.config, quiet, display) as shows:
            drive(training, run.folder, shows, save_every)
    return run


def check_interval(updates: int) -> None:
    """Refuse an interval between checkpoints that is none."""
    if not isinstance(updates, int) or updates < 1:
        raise InputError(f"{updates} updates between checkpoints were asked for: it must be at least 1")


def _display(config: Config, quiet: bool, other: Display | None) -> AbstractContextManager[Display]:
    if quiet or other is not None:
        return nullcontext(other or (lambda _: None))
    return shown(config, Console())
