"""Exported policies where runs are expected: what is measured is the file itself.

A policy that comes with the package is such a file too, by a name such as zoo:hopper-rapo.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from rapo.algorithms.spec import Algorithm
from rapo.deploy.array_file import read_arrays
from rapo.deploy.onnx_file import OnnxPolicy
from rapo.deploy.portable_policy import PortablePolicy
from rapo.errors import InputError, unknown
from rapo.files import write_atomically
from rapo.runs.description import POLICY, ZOO, is_policy, read_policy
from rapo.runs.run import Run, trained_runs
from rapo.runs.trained_policy import TrainedPolicy
from rapo.training.loop import Training
from rapo.world.fingerprint import check_unchanged
from rapo.world.task import Task

ZOO_FOLDER = Path(__file__).with_name("policies")
"""Where the policies are that come with the package."""
ZOO_SUFFIX = ".safetensors"
ZOO_RESULTS = Path("runs/zoo")
"""Where what is measured of them goes, each into a folder of its own."""


@dataclass(frozen=True)
class PolicyFile(Run):
    """A policy on disk, without the run it came from; what is measured goes into `folder`."""

    file: Path = Path()

    def described(self) -> dict[str, Any]:
        """The configuration of the run that the policy came from."""
        return self.read().facts["config"]

    @property
    def _described_by(self) -> str:
        """Where the configuration is, in words."""
        return f"configuration of policy '{self.file}'"

    def check_trained(self) -> None:
        """Refuse a file that is no policy, or whose task is not the one it was trained on."""
        self.trained_policy()

    def updates(self) -> int:
        """After how many updates of its run the policy was exported."""
        return int(self.read().facts["updates"])

    def training(self, threads: int = 0) -> Training:
        """A policy alone can't be trained further."""
        raise InputError(f"policy '{self.file}' is only a policy: training goes on from a run folder")

    def trained_policy(self) -> TrainedPolicy:
        """The policy of the file."""
        policy = self.read()
        facts, config = policy.facts, self.config()
        if facts["task"] != config.task.name:
            raise InputError(
                f"policy '{self.file}' is of task '{facts['task']}': it is of no use for '{config.task.name}'"
            )
        check_unchanged(
            f"task '{config.task.name}' of policy '{self.file}'", facts["fingerprint"], config.task
        )
        return TrainedPolicy(config.task, policy, int(facts["updates"]), config.engine)

    def read(self) -> PortablePolicy | OnnxPolicy:
        """What the file holds."""
        return OnnxPolicy(self.file) if self.file.suffix == ".onnx" else read_arrays(self.file)


def policy_file(path: str | Path, task: Task | None = None, algo: Algorithm | None = None) -> PolicyFile:
    """A policy file as a run: what is measured goes into a folder beside it.

    path: a file, or the name of a policy of the zoo, as zoo:hopper-rapo; of those, what is measured goes into
    a folder in runs/zoo. The name of the folder ends in a digest of the file, so that what was measured of
    one policy is never taken for that of another.
    """
    found = _opened(Path(path), task, algo)
    found.trained_policy()
    _prepare(found, str(path))
    return found


def policy_folder(path: Path) -> Path:
    """The folder of what is measured of a policy file, as a report takes it; its task is not needed."""
    found = _opened(path, None, None)
    _prepare(found, str(path))
    return found.folder


def _opened(path: Path, task: Task | None, algo: Algorithm | None) -> PolicyFile:
    file, beside = _zoo_file(path) if str(path).startswith(ZOO) else (path, path)
    try:
        digest = sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"policy '{path}' can't be read: {error.strerror}") from None
    return PolicyFile(beside.with_name(f"{beside.name}-{digest[:8]}"), task, algo, file)


def _prepare(found: PolicyFile, named: str) -> None:
    """Make the folder of a policy, with what reports read of it."""
    facts = found.read().facts
    said = {"policy": named, "config": facts["config"], "steps": facts["steps"]}
    try:
        found.folder.mkdir(parents=found.file.parent == ZOO_FOLDER, exist_ok=True)
    except OSError as error:
        raise InputError(f"folder '{found.folder}' can't be made: {error.strerror}") from None
    write_atomically(found.folder / POLICY, (json.dumps(said, indent=1) + "\n").encode())


def _zoo_file(path: Path) -> tuple[Path, Path]:
    """The file of a policy of the zoo, and where it would be if it were the user's."""
    name = str(path).removeprefix(ZOO)
    known = sorted(file.stem for file in ZOO_FOLDER.glob(f"*{ZOO_SUFFIX}"))
    if name not in known:
        raise unknown("policy of the zoo", name, known)
    return ZOO_FOLDER / f"{name}{ZOO_SUFFIX}", ZOO_RESULTS / name


def named_runs(paths: Sequence[Path], task: Task | None = None, algo: Algorithm | None = None) -> list[Run]:
    """The runs of these folders and the policies of these names, in order.

    The folder of what was measured of a policy stands for the policy.
    """
    paths = [path if (said := read_policy(path)) is None else Path(said["policy"]) for path in paths]
    folders = [path for path in paths if not is_policy(path)]
    runs = {run.folder: run for run in trained_runs(folders, task, algo)} if folders or not paths else {}
    return [runs[path] if path in runs else policy_file(path, task, algo) for path in paths]
