"""Run folders one of whose files was damaged: the same results as before, or one sentence."""

import json
import shutil
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from rapo.errors import InputError
from rapo.evaluation.search import search
from rapo.evaluation.sweep import sweep
from rapo.heavy import free_compiled
from rapo.reporting.groups import load
from rapo.reporting.report_folder import prepared
from rapo.reporting.write_report import measured, write
from rapo.runs.description import CHECKPOINT, CONFIG
from rapo.runs.run import Run
from rapo.runs.start import resume, start
from rapo.training.config import make_config
from torture.comparison import difference
from torture.drawing import for_each
from torture.hostile import Draw, altered, damaged
from torture.tally import Tally
from torture.worker import Worker

UPDATES, SAVED = 6, 4
"""Updates of the run, and after how many of them it was saved before it was stopped."""
SECONDS = 300
LEARNED = "a damaged file of what a run has learned"
MEASURED = "a damaged table of a measurement, whose other numbers are taken as they are"
LEARNED_FILES = (CONFIG, CHECKPOINT, "metrics.jsonl", "heatmap.jsonl")
"""Files whose content is known by its digest, or from the checkpoint."""
MEASURED_FILES = ("sweep.csv", "search.json", "random.csv")
"""Results of measurements: nothing knows their numbers, so that others in their place are taken for them."""
SMALL: dict[str, Any] = {
    "num_envs": 4,
    "horizon": 16,
    "epochs": 1,
    "minibatches": 2,
    "hidden": 8,
    "models": 3,
    "heatmap_every": 2,
}


class Damage(NamedTuple):
    """What happens to a run folder, and what is done with it then."""

    home: Path
    """Where `prepare` has put the folders `run` and `whole` and the expected results."""
    file: str
    content: bytes | None
    """What the file holds now; None means that a folder has its name."""
    action: str
    """A key of ACTIONS."""


def prepare(home: Path) -> None:
    """Make a run that was trained to its end, the same one stopped and measured, and what comes of it."""
    config = make_config("hopper", "rapo", steps=64 * UPDATES, options=SMALL)
    start(config, home / "whole", quiet=True, threads=1)

    def stop(metrics: Any) -> None:
        if metrics["update"] > SAVED:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        start(config, home / "run", save_every=SAVED, display=stop, threads=1)
    sweep(home / "run", episodes=1, scales=(0.5, 0.8, 1.0), threads=1)
    search(home / "run", generations=1, population=4, episodes=1, final_episodes=2, threads=1)
    expected = {}
    for action in ACTIONS:
        copy = home / action
        shutil.copytree(home / "run", copy)
        expected[action] = ACTIONS[action](copy, home)
    assert expected["resume"] is None
    (home / "expected.json").write_text(json.dumps(expected))


def _resume(run: Path, home: Path) -> Any:
    """What has become other than in the run that was never stopped."""
    resume(run, quiet=True, threads=1)
    return difference(run, home / "whole")


def _act(run: Path, home: Path) -> Any:
    policy = Run(run).policy()
    return policy(np.linspace(-1, 1, 22).reshape(2, 11)).tolist()


def _sweep(run: Path, home: Path) -> Any:
    more: Any = {"parameters": ("torque",), "scales": (1.0, 1.1), "replace": True}
    return sweep(run, episodes=1, threads=1, **more).write_csv()


def _report(run: Path, home: Path) -> Any:
    """The tables of a report, and its notes."""
    out = prepared(run / "report")
    loaded = load([run])
    write(loaded, measured(loaded, 0), out, 0)
    tables = {path.name: path.read_text() for path in sorted((out / "tables").glob("*.csv"))}
    return json.loads(json.dumps([tables, loaded.notes]).replace(str(run), "RUN"))


ACTIONS = {"resume": _resume, "act": _act, "sweep": _sweep, "report": _report}
"""What is done with a run, and returns what can be compared."""


def attempt(damage: Damage) -> None:
    """Do it with a copy of the run that has this damage, and compare what comes of it."""
    folder = Path(tempfile.mkdtemp(prefix="rapo-torture-"))
    try:
        copy = folder / damage.action
        shutil.copytree(damage.home / "run", copy)
        (copy / damage.file).unlink()
        if damage.content is None:
            (copy / damage.file).mkdir()
        else:
            (copy / damage.file).write_bytes(damage.content)
        found = ACTIONS[damage.action](copy, damage.home)
        expected = json.loads((damage.home / "expected.json").read_text())[damage.action]
        if found == expected or damage.file in MEASURED_FILES:
            return
        if damage.action == "report" and found[1] != expected[1]:
            raise InputError("a note of the report")
        raise AssertionError(f"another result: {str(found)[:1_000]}")
    finally:
        shutil.rmtree(folder)
        free_compiled()


@st.composite
def damages(draw: Draw, home: Path, files: tuple[str, ...]) -> Damage:
    """Something that may happen to one of these files, and what is done then."""
    file = draw(st.sampled_from(files))
    action = draw(st.sampled_from(sorted(ACTIONS)))
    content = (home / "run" / file).read_bytes()
    if not draw(st.integers(0, 31)):
        return Damage(home, file, None, action)
    if file.endswith(".json") and draw(st.booleans()):
        return Damage(home, file, json.dumps(draw(altered(json.loads(content)))).encode(), action)
    return Damage(home, file, draw(damaged(content)), action)


def torture(what: str, files: tuple[str, ...], tries: int) -> Tally:
    """Try so many damages of these files, which is what `what` says."""
    tally, worker = Tally(what), Worker(attempt, SECONDS)
    with tempfile.TemporaryDirectory(prefix="rapo-torture-") as name:
        prepare(Path(name))
        for_each(damages(Path(name), files), tries, partial(_count, tally, worker))
    worker.close()
    return tally


def _count(tally: Tally, worker: Worker, damage: Damage) -> None:
    shown = "a folder" if damage.content is None else repr(damage.content[:2_000])
    tally.count(worker(damage), f"{damage.action} with {damage.file} {shown}")
