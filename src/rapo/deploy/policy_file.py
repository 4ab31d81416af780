"""Exported policies where runs are expected: what is measured is the file itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from rapo.algorithms.spec import Algorithm
from rapo.deploy.array_file import read_arrays
from rapo.deploy.onnx_file import OnnxPolicy
from rapo.errors import InputError
from rapo.runs.run import Run, trained_runs
from rapo.runs.trained_policy import TrainedPolicy
from rapo.training.loop import Training
from rapo.world.fingerprint import check_unchanged
from rapo.world.task import Task

SUFFIXES = (".onnx", ".safetensors")


@dataclass(frozen=True)
class PolicyFile(Run):
    """A policy on disk, without the run it came from; what is measured goes into `folder`."""

    file: Path = Path()

    def described(self) -> dict[str, Any]:
        """The configuration of the run that the policy came from."""
        return self._read().facts["config"]

    def check_trained(self) -> None:
        """Refuse a file that is no policy, or whose task is not the one it was trained on."""
        self.trained_policy()

    def updates(self) -> int:
        """After how many updates of its run the policy was exported."""
        return int(self._read().facts["updates"])

    def training(self, threads: int = 0) -> Training:
        """A policy alone can't be trained further."""
        raise InputError(f"policy '{self.file}' is only a policy: training goes on from a run folder")

    def trained_policy(self) -> TrainedPolicy:
        """The policy of the file."""
        policy = self._read()
        facts, config = policy.facts, self.config()
        if facts["task"] != config.task.name:
            raise InputError(
                f"policy '{self.file}' is of task '{facts['task']}': it is of no use for '{config.task.name}'"
            )
        check_unchanged(
            f"task '{config.task.name}' of policy '{self.file}'", facts["fingerprint"], config.task
        )
        return TrainedPolicy(config.task, policy, int(facts["updates"]), config.engine)

    def _read(self) -> Any:
        return OnnxPolicy(self.file) if self.file.suffix == ".onnx" else read_arrays(self.file)


def policy_file(path: Path, task: Task | None = None, algo: Algorithm | None = None) -> PolicyFile:
    """A policy file as a run: what is measured goes into a folder beside it.

    The name of the folder ends in a digest of the file, so that what was measured of one policy is never
    taken for that of another.
    """
    try:
        digest = sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"policy '{path}' can't be read: {error.strerror}") from None
    found = PolicyFile(path.with_name(f"{path.name}-{digest[:8]}"), task, algo, path)
    found.trained_policy()
    try:
        found.folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"folder '{found.folder}' can't be made: {error.strerror}") from None
    return found


def named_runs(paths: Sequence[Path], task: Task | None = None, algo: Algorithm | None = None) -> list[Run]:
    """The runs of these folders and the policies of these files, in order."""
    folders = [path for path in paths if path.suffix not in SUFFIXES]
    runs = {run.folder: run for run in trained_runs(folders, task, algo)} if folders or not paths else {}
    return [runs[path] if path in runs else policy_file(path, task, algo) for path in paths]
