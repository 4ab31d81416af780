"""Training for a long time: the memory of the process does not grow."""

import signal
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rapo.runs.metrics import FILE as METRICS
from rapo.runs.run import Run
from torture.commands import SETTINGS, started

MIB = 1 << 20
WARM = 100
"""Updates after which everything is loaded, compiled and allocated, heatmaps too."""
ALLOWED = 32.0
"""MiB that the process may grow by from one to the other."""


class Growth(NamedTuple):
    """What memory a training process took."""

    minutes: float
    """For how long it was looked at."""
    updates: int
    """Updates in that time."""
    first_mib: float
    """Resident memory in the second fifth of the time, the median, in MiB: the first gives back what
    compilation took."""
    last_mib: float
    """Resident memory in the last fifth."""

    @property
    def is_wrong(self) -> bool:
        """Whether the process grew."""
        return self.last_mib - self.first_mib > ALLOWED


def torture(minutes: float) -> Growth:
    """Train `rapo` on Hopper in small updates for so long, then press Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="rapo-torture-") as name:
        run = Path(name) / "run"
        process = started("train", "hopper", "--steps", 10**12, "--out", run, "--set", *SETTINGS)
        while _updates(run) < WARM:
            assert process.poll() is None, process.communicate()
            time.sleep(1)
        before, looks = _updates(run), list[float]()
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            looks.append(resident(process.pid))
            time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        assert process.returncode == 130, said
        updates = len(Run(run).metrics()) - before
    fifth = max(1, len(looks) // 5)
    first, last = median(looks[fifth : 2 * fifth] or looks), median(looks[-fifth:])
    return Growth(minutes, updates, round(first, 1), round(last, 1))


def _updates(run: Path) -> int:
    path = run / METRICS
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def resident(process: int) -> float:
    """The resident memory of a process in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / MIB
