"""The run folder: everything needed to understand, resume, evaluate or deploy a run.

config.json               the resolved configuration
metrics.jsonl             a line for every update
tensorboard/              the same, for TensorBoard
checkpoint.safetensors    all state, to resume from and to take the policy from
failure.txt               why a run of a grid failed, if it did

Measurements leave files of their own: `files` of each `rapo.evaluation.measurement.Measurement` names them.
"""

import fcntl
import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Protocol
from warnings import warn

import numpy as np

from rapo.algorithms.spec import Algorithm
from rapo.errors import BusyError, InputError, Interrupted, TrainingError
from rapo.files import write_atomically
from rapo.runs.checkpoint import read_checkpoint, write_checkpoint
from rapo.runs.description import (
    CHECKPOINT,
    CONFIG,
    check_same,
    config_file,
    read_description,
    read_policy,
    saved_facts,
    saved_updates,
)
from rapo.runs.heatmap_recorder import FILE as HEATMAP
from rapo.runs.heatmap_recorder import Heatmap
from rapo.runs.interrupt import interrupts
from rapo.runs.json_lines import Mark
from rapo.runs.metrics import FILE as METRICS
from rapo.runs.metrics import MetricsWriter, read_metrics
from rapo.runs.state import gather, restore
from rapo.runs.trained_policy import TrainedPolicy
from rapo.training.actor import Actor, actor
from rapo.training.config import Config, make_config, up_to_date
from rapo.training.loop import Training
from rapo.world.engines import ENGINE
from rapo.world.fingerprint import check_unchanged, fingerprint
from rapo.world.task import Task

FAILURE = "failure.txt"
KINDS = {"task": "task", "algo": "algorithm"}


class Display(Protocol):
    """Shows how a run is doing."""

    def __call__(self, metrics: Mapping[str, Any], /) -> None:
        """Take in the metrics of one update."""
        ...


@dataclass(frozen=True)
class Run:
    """A run on disk; `task` and `algo` are needed for those that are not built in."""

    folder: Path
    task: Task | None = None
    algo: Algorithm | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def described(self) -> dict[str, Any]:
        """What the run says of itself, as it was written and as its checkpoint knows it."""
        return read_description(self.folder)

    def config(self) -> Config:
        """What the run was made with."""
        written = self.described()
        try:
            said = up_to_date(written)
            task = said["task"] if self.task is None else self.task
            algo = said["algo"] if self.algo is None else self.algo
            for given, kind, flag in ((self.task, "task", "--task"), (self.algo, "algo", "--algo")):
                source = said.get(f"{kind}_source")
                if given is None and source:
                    raise InputError(
                        f"{KINDS[kind]} '{said[kind]}' is not built in: name it with {flag} {source}"
                    )
            return make_config(
                task,
                algo,
                steps=said["steps"],
                seed=said["seed"],
                engine=said.get("engine", ENGINE),
                options=dict(said["options"]),
                started_from=said.get("started_from"),
            )
        except InputError as error:
            raise InputError(f"{self._described_by} can't be used: {error}") from None
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
            raise InputError(f"{self._described_by} is damaged: it can't be read") from None

    @property
    def _described_by(self) -> str:
        """Where the configuration is, in words."""
        return f"{CONFIG} of run '{self.folder}'"

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of every update so far."""
        return read_metrics(self.folder)

    def updates(self) -> int:
        """After how many updates the run last saved."""
        return saved_updates(self.folder)

    def training(self, threads: int = 0) -> Training:
        """The run as it was when it last saved, ready to go on; from the start if it never came to that."""
        config = self.config()
        if not (self.folder / CHECKPOINT).exists():
            if config.started_from is not None:
                raise InputError(
                    f"run '{self.folder}' was stopped before it saved the networks it began with: remove the "
                    "folder and start it again"
                )
            return Training(config, threads)
        arrays, _ = read_checkpoint(self.folder / CHECKPOINT)
        facts = saved_facts(self.folder)
        assert facts is not None
        whose = f"checkpoint of run '{self.folder}' belongs to another run"
        check_same(whose, facts["config"], config.describe())
        self._check_task(facts.get("task"), config.task)
        training = Training(config, threads)
        restore(training, arrays, facts["counters"])
        return training

    def _check_task(self, was: Any, task: Task) -> None:
        """Refuse a task that has changed since the checkpoint, and warn if only its file has."""
        whose = f"task '{task.name}' of run '{self.folder}'"
        if isinstance(was, dict) and not check_unchanged(whose, was, task) and task.source is not None:
            warn(f"file of {whose} has changed since the run was trained, and does the same", stacklevel=3)

    def check_trained(self) -> None:
        """Refuse a run that never saved: it has no policy to look at."""
        if config_file(self.folder).exists() and not (self.folder / CHECKPOINT).exists():
            with alone(self.folder):  # refused while another process trains
                pass
            hint = resume_hint(self.folder, self.task, self.algo)
            raise InputError(f"run '{self.folder}' has no checkpoint yet: go on with {hint}")

    def trained(self, threads: int = 0) -> Training:
        """The run as it was when it last saved, refused if it never did."""
        self.check_trained()
        return self.training(threads)

    def policy(self) -> Actor:
        """The policy as it was when the run last saved: call it with observations `[N, observation]`."""
        training = self.trained(threads=1)
        return actor(training.config.task, training.learner)

    def trained_policy(self) -> TrainedPolicy:
        """The policy as it was when the run last saved, as measurements need it."""
        training = self.trained(threads=1)
        config = training.config
        act = actor(config.task, training.learner)
        return TrainedPolicy(config.task, act, training.updates, config.engine)


def resume_hint(folder: Path, task: Task | None, algo: Algorithm | None = None) -> str:
    """The command that goes on with a run."""
    named = {"task_source": task and task.source, "algo_source": algo and algo.source}
    return f"rapo resume {folder}{code_flags(named)}"


def hint(words: str, folder: Path) -> str:
    """The command `rapo WORDS` for a run, or for what was measured of a policy, with all that it needs."""
    described: Mapping[str, Any] = {}
    with suppress(InputError):
        policy = read_policy(folder)
        described = read_description(folder) if policy is None else policy["config"]
    return f"rapo {words} {folder}{code_flags(described)}"


def code_flags(described: Mapping[str, Any]) -> str:
    """The flags that name the code of a run, as commands need them; none if all of it is built in."""
    sources = ((kind, described.get(f"{kind}_source")) for kind in KINDS)
    return "".join(f" --{kind} {source}" for kind, source in sources if source)


def trained_runs(
    folders: Sequence[Path], task: Task | None = None, algo: Algorithm | None = None
) -> list[Run]:
    """The runs of these folders, refused before any work if one of them has no policy to measure.

    task, algo: of runs whose task or algorithm is not built in.
    """
    if not folders:
        raise InputError("no runs were given: give the folders of one or more")
    runs = [Run(folder, task, algo) for folder in folders]
    for run in runs:
        run.config()
        run.check_trained()
    return runs


def create(config: Config, folder: Path) -> Run:
    """A folder for a new run, refused where anything is there already, hidden files apart."""
    try:
        if folder.exists() and (not folder.is_dir() or any(p.name[0] != "." for p in folder.iterdir())):
            raise InputError(
                f"run folder '{folder}' exists and is not empty: give another one, or go on with "
                f"{resume_hint(folder, config.task, config.algorithm)}"
            )
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        why = getattr(error, "strerror", None) or error
        raise InputError(f"run folder '{folder}' can't be made: {why}") from None
    text = json.dumps(config.describe(), indent=1) + "\n"
    write_atomically(folder / CONFIG, text.encode())
    return Run(folder, config.task, config.algorithm)


def save(training: Training, folder: Path, lines: Mapping[str, Mark] | None = None) -> None:
    """Write a checkpoint, unless anything in it has gone wrong.

    lines: what the tables of the run hold by now, by their files.
    """
    arrays, counters = gather(training)
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise _went_wrong(name, "not finite", training.updates, folder)
    config = training.config
    facts = {
        "config": config.describe(),
        "counters": counters,
        "task": fingerprint(config.task),
        "lines": {name: asdict(mark) for name, mark in (lines or {}).items()},
    }
    write_checkpoint(folder / CHECKPOINT, arrays, facts)


def drive(training: Training, folder: Path, display: Display, save_every: int) -> None:
    """Train to the end, writing metrics and checkpoints; Ctrl-C saves, then raises Interrupted."""
    with (
        closing(MetricsWriter(folder, training.updates)) as writer,
        closing(Heatmap(training, folder)) as heatmap,
        interrupts() as interrupted,
    ):
        while not training.finished:
            before = training.simulator.divergences
            metrics = training.update()
            check_finite(metrics, folder)
            if training.simulator.divergences - before == training.config.steps_per_update:
                raise _nothing_left(training, folder)
            writer.write(metrics)
            heatmap(training)
            display(metrics)
            if training.finished or interrupted() or training.updates % save_every == 0:
                writer.sync()
                heatmap.sync()
                save(training, folder, {METRICS: writer.mark, HEATMAP: heatmap.mark})
            if interrupted():
                hint = resume_hint(folder, training.config.task, training.config.algorithm)
                raise Interrupted(f"saved after {training.steps:,} steps: go on with {hint}")


def _nothing_left(training: Training, folder: Path) -> TrainingError:
    """The error for an update all of whose steps diverged, with the last case of it."""
    case, dynamics = training.simulator.diverged_cases[-1], training.config.task.dynamics
    values = zip(dynamics.names, case.snapshot.dynamics[0].tolist(), strict=True)
    said = ", ".join(f"{name} {value:.3g}" for name, value in values)
    return TrainingError(
        f"run '{folder}' stopped: every step of update {training.updates} diverged, so physics, "
        f"observation or reward was not finite; one of them was environment {case.environment} ({said}) with "
        f"action {np.round(case.action, 3).tolist()}"
    )


def check_finite(metrics: Mapping[str, Any], folder: Path) -> None:
    """Stop a run whose numbers have gone wrong, before they are saved."""
    for name, value in metrics.items():
        numbers = value if isinstance(value, list) else [value]
        if any(isinstance(x, float) and not isfinite(x) for x in numbers):
            raise _went_wrong(name, value, metrics["update"], folder)


def _went_wrong(name: str, value: Any, update: int, folder: Path) -> TrainingError:
    saved = folder / CHECKPOINT
    kept = f"the last good checkpoint is '{saved}'" if saved.exists() else "there is no checkpoint yet"
    return TrainingError(f"{name} is {value} at update {update}: {kept}; a lower learning_rate may help")


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """Keep others from training in the same folder; the lock dies with the process.

    It is the folder that is locked: files in it may be replaced meanwhile.
    """
    config_file(folder)
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        raise BusyError(f"run '{folder}' is being trained by another process: wait for it") from None
    except OSError as error:
        warn(f"run '{folder}' can't be locked: {error.strerror}; train it in one process only", stacklevel=3)
    try:
        yield
    finally:
        os.close(opened)
