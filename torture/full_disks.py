"""Disks that fill up: a sentence, and once there is room again, the results are the same.

Where this process may mount, the disk is a small tmpfs; elsewhere a limit on the size of files stands in.
"""

import random
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rapo.files import LEAST_FREE
from torture.commands import ended, started, train, train_or_resume
from torture.comparison import difference
from torture.tally import REFUSED, SOUND, Tally

ALGO, UPDATES = "rapo", 30
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"


def torture(tries: int) -> list[Tally]:
    """Try so often: half with a disk that is full, half with files that can't grow; tries of both."""
    disks = Tally("a disk that fills up while a run is trained, then has room again")
    limits = Tally("files that can't grow while a run is trained, then can again")
    rng = random.Random(0)
    with tempfile.TemporaryDirectory(prefix="rapo-torture-") as name:
        folder = Path(name)
        came = ended(started(*train(folder / "whole", ALGO, UPDATES)))
        assert came == SOUND, came
        for number in range(tries):
            if number % 2 and may_mount(folder):
                _on_a_disk(disks, folder, number, rng)
            else:
                _under_a_limit(limits, folder, number, rng)
    return [tally for tally in (disks, limits) if tally.tries]


def may_mount(folder: Path) -> bool:
    """Whether this process may mount a disk."""
    try:
        with disk(folder / "try", LEAST_FREE):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextmanager
def disk(folder: Path, size: int) -> Generator[None]:
    """A disk of so many bytes, mounted as the folder."""
    folder.mkdir(exist_ok=True)
    _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield
    finally:
        _run("umount", str(folder))


def _on_a_disk(tally: Tally, folder: Path, number: int, rng: random.Random) -> None:
    size = LEAST_FREE + rng.randrange(400_000)
    with disk(folder / "disk", size):
        run = folder / "disk" / "run"
        came = ended(started(*train(run, ALGO, UPDATES, "--save-every", "1")))
        if came == REFUSED:
            _run("mount", "-o", "remount,size=1g", str(folder / "disk"))
            came = _gone_on_with(run, folder / "whole")
        tally.count(came, f"try {number}, {size} bytes")


def _under_a_limit(tally: Tally, folder: Path, number: int, rng: random.Random) -> None:
    size = int(10 ** rng.uniform(2, 5))
    run = folder / "run"
    came = ended(started(*train(run, ALGO, UPDATES, "--save-every", "1"), first=LIMITED.format(size)))
    if came == REFUSED:
        came = _gone_on_with(run, folder / "whole")
    tally.count(came, f"try {number}, {size} bytes")
    shutil.rmtree(run, ignore_errors=True)


def _gone_on_with(run: Path, whole: Path) -> str:
    """Refused before and the same in the end, or what is wrong."""
    came = ended(started(*train_or_resume(run, ALGO, UPDATES)))
    other = None if came != SOUND else difference(run, whole)
    return f"another {other}" if other is not None else REFUSED if came == SOUND else f"afterwards: {came}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
