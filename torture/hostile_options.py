"""Hostile dictionaries of options: refused in a sentence, or trained for an update."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from rapo.errors import shown
from rapo.heavy import free_compiled
from rapo.runs.start import start
from rapo.training.config import make_config
from rapo.training.memory import GIB, check_memory, estimate
from torture.drawing import for_each
from torture.hostile import option_dictionaries
from torture.tally import Tally
from torture.worker import Worker

SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "epochs": 1, "minibatches": 2, "heatmap_every": 0}
LARGEST = GIB // 8
"""Bytes that a run may need to be trained here, so that others on the machine are not crowded out."""
SECONDS = 300
WHAT = "options that nobody should give; those accepted are trained for an update"
QUICKLY = "--xla_backend_optimization_level=0"
"""Compiles in half the time."""


def configure(given: tuple[str, dict[Any, Any]]) -> Any:
    """The configuration of a short run with these options, refused where no machine could hold it."""
    algo, chosen = given
    config = make_config("hopper", algo, steps=1, options={**SMALL, **chosen})
    check_memory(config)
    return config


def train(given: tuple[str, dict[Any, Any]]) -> None:
    """Train for an update with these options, unless that takes much memory."""
    config = configure(given)
    if sum(estimate(config).values()) > LARGEST:
        return
    folder = Path(tempfile.mkdtemp(prefix="rapo-torture-"))
    try:
        start(config, folder / "run", quiet=True)
    finally:
        shutil.rmtree(folder)
        free_compiled()


def torture(tries: int) -> Tally:
    """Try so many dictionaries."""
    tally = Tally(WHAT)
    worker = Worker(train, SECONDS, XLA_FLAGS=QUICKLY)
    for_each(option_dictionaries(), tries, lambda given: tally.count(worker(given), shown(given)[:500]))
    worker.close()
    return tally
