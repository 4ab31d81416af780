"""Trained policies that come with the package, by names such as zoo:hopper-rapo.

Each is a file that `rapo export` wrote, from a run that was swept: what it was trained with and
what was measured of it is in the file. `rapo zoo --add RUN` puts one there.
"""

from __future__ import annotations

from pathlib import Path

from rapo.deploy.array_file import read_arrays
from rapo.deploy.export import export
from rapo.deploy.policy_file import ZOO_FOLDER, ZOO_SUFFIX
from rapo.deploy.portable_policy import PortablePolicy, measured_figures
from rapo.errors import InputError
from rapo.runs.run import Run
from rapo.world.find_task import TASKS


def zoo() -> dict[str, PortablePolicy]:
    """The policies that come with the package, by name, in the order of the tasks."""
    order = {name: i for i, name in enumerate(TASKS)}
    found = {path.stem: read_arrays(path) for path in sorted(ZOO_FOLDER.glob(f"*{ZOO_SUFFIX}"))}
    return dict(sorted(found.items(), key=lambda each: order[each[1].facts["task"]]))


def add_to_zoo(run: Run, folder: Path = ZOO_FOLDER) -> Path:
    """Export the policy of a run into the zoo, in the place of an older one of its task and algorithm.

    Refused unless the run is finished and swept, and its command says all that it was trained with.
    """
    training = run.trained(threads=1)
    config = training.config
    if config.task.source or config.algorithm.source or config.started_from is not None:
        raise InputError(
            f"run '{run.folder}' can't go into the zoo: allowed are runs of built-in tasks and algorithms "
            "that began with new networks"
        )
    if not training.finished:
        raise InputError(
            f"run '{run.folder}' can't go into the zoo: it has learned from {training.steps:,} of "
            f"{config.steps:,} steps"
        )
    if "worst" not in measured_figures(run, training.updates, config.task):
        raise InputError(
            f"run '{run.folder}' can't go into the zoo: measure its policy first, with rapo sweep "
            f"{run.folder}"
        )
    return export(run, folder / f"{config.task.name}-{config.algorithm.name}{ZOO_SUFFIX}").path
