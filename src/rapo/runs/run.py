"""The run folder: everything needed to understand, resume, evaluate or deploy a run.

config.json               the resolved configuration
metrics.jsonl             a line for every update
tensorboard/              the same, for TensorBoard
checkpoint.safetensors    all state, to resume from and to take the policy from
"""

import fcntl
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from rapo.algorithms.spec import Algorithm
from rapo.config import Config, make_config
from rapo.errors import InputError, Interrupted, TrainingError
from rapo.files import write_atomically
from rapo.runs.checkpoint import read_checkpoint, write_checkpoint
from rapo.runs.evaluate import Actor, actor
from rapo.runs.interrupt import interrupts
from rapo.runs.metrics import MetricsWriter, read_metrics
from rapo.runs.state import gather, restore
from rapo.train import Training
from rapo.world.task import Task

CONFIG, CHECKPOINT = "config.json", "checkpoint.safetensors"


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

    def config(self) -> Config:
        """What the run was made with."""
        path = self.folder / CONFIG
        if not path.is_file():
            raise InputError(f"folder '{self.folder}' is not a run: it has no {CONFIG}")
        try:
            said = json.loads(path.read_bytes())
            task = said["task"] if self.task is None else self.task
            algo = said["algo"] if self.algo is None else self.algo
            return make_config(
                task, algo, steps=said["steps"], seed=said["seed"], options=dict(said["options"])
            )
        except InputError as error:
            raise InputError(f"{CONFIG} of run '{self.folder}' can't be used: {error}") from None
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{CONFIG} of run '{self.folder}' is damaged: it can't be read") from None

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of every update so far."""
        return read_metrics(self.folder)

    def training(self, threads: int = 0) -> Training:
        """The run as it was when it last saved, ready to go on."""
        config = self.config()
        arrays, facts = read_checkpoint(self.folder / CHECKPOINT)
        if facts["config"] != config.describe():
            was, now = facts["config"], config.describe()
            differs = next((key for key in was if was[key] != now.get(key)), "algo")
            raise InputError(
                f"checkpoint of run '{self.folder}' belongs to another run: its {differs} is "
                f"{_short(was[differs])}, and that of {CONFIG} is {_short(now.get(differs))}"
            )
        training = Training(config, threads)
        restore(training, arrays, facts["counters"])
        return training

    def policy(self) -> Actor:
        """The policy as it was when the run last saved: call it with observations `[N, observation]`."""
        training = self.training(threads=1)
        return actor(training.config.task, training.learner)


def create(config: Config, folder: Path) -> Run:
    """A folder for a new run, refused where anything is there already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"run folder '{folder}' exists and is not empty: give another one, or go on with "
            f"rapo resume {folder}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"run folder '{folder}' can't be made: {error.strerror}") from None
    text = json.dumps(config.describe(), indent=1) + "\n"
    write_atomically(folder / CONFIG, text.encode())
    return Run(folder, config.task, config.algorithm)


def save(training: Training, folder: Path) -> None:
    """Write a checkpoint."""
    arrays, counters = gather(training)
    write_checkpoint(
        folder / CHECKPOINT, arrays, {"config": training.config.describe(), "counters": counters}
    )


def drive(training: Training, folder: Path, display: Display, save_every: int) -> None:
    """Train to the end, writing metrics and checkpoints; Ctrl-C saves, then raises Interrupted."""
    with _alone(folder), interrupts() as interrupted, _metrics(folder, training.updates) as write:
        if not training.updates:
            save(training, folder)
        while not training.finished:
            metrics = training.update()
            check_finite(metrics, folder)
            write(metrics)
            display(metrics)
            if training.finished or interrupted() or training.updates % save_every == 0:
                save(training, folder)
            if interrupted():
                raise Interrupted(f"saved after {training.steps:,} steps: go on with rapo resume {folder}")


def check_finite(metrics: Mapping[str, Any], folder: Path) -> None:
    """Stop a run whose numbers have gone wrong, before they are saved."""
    for name, value in metrics.items():
        numbers = value if isinstance(value, list) else [value]
        if any(isinstance(x, float) and not isfinite(x) for x in numbers):
            raise TrainingError(
                f"{name} is {value} at update {metrics['update']}: the last good checkpoint is "
                f"'{folder / CHECKPOINT}'; a lower learning_rate may help"
            )


@contextmanager
def _metrics(folder: Path, updates: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    writer = MetricsWriter(folder, updates)
    try:
        yield writer.write
    finally:
        writer.close()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from training in the same folder; the lock dies with the process."""
    with (folder / CONFIG).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"run '{folder}' is being trained by another process: wait for it") from None
        yield


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
