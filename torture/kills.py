"""Runs killed at random moments: gone on with, they end as one that was never killed."""

import random
import tempfile
import time
from itertools import cycle
from pathlib import Path

from torture.commands import ended, started, train, train_or_resume
from torture.comparison import difference
from torture.tally import SOUND, Tally

ALGORITHMS = ("rapo", "ppo", "rapo-paper", "rarl")
UPDATES = 60


def torture(kills: int) -> Tally:
    """Kill so many times, each run until it is finished; a try is a kill."""
    tally = Tally("SIGKILL at a random moment")
    rng = random.Random(0)
    with tempfile.TemporaryDirectory(prefix="rapo-torture-") as name:
        folder = Path(name)
        whole: dict[str, float] = {}
        for number, algo in enumerate(cycle(ALGORITHMS)):
            if algo not in whole:
                began = time.perf_counter()
                came = ended(started(*train(folder / algo, algo, UPDATES)))
                assert came == SOUND, came
                whole[algo] = time.perf_counter() - began
            run = folder / f"{algo}-{number}"
            killed = _killed(run, algo, whole[algo], kills - tally.tries, rng)
            came = ended(started(*train_or_resume(run, algo, UPDATES)))
            other = None if came != SOUND else difference(run, folder / algo)
            for _ in range(killed):
                tally.count(came if other is None else f"another {other}", run.name)
            if tally.tries == kills:
                return tally
    raise AssertionError


def _killed(run: Path, algo: str, seconds: float, most: int, rng: random.Random) -> int:
    """Train a run that is killed again and again, each time within so many seconds; return how often."""
    for killed in range(most):
        process = started(*train_or_resume(run, algo, UPDATES, "--save-every", str(rng.randint(1, 9))))
        time.sleep(rng.uniform(0, seconds))
        process.kill()
        process.communicate()
        if process.returncode == 0:
            return killed
    return most
