"""Stills of the policy of a run as a measurement: a strip of pictures in the run folder, shown in reports.

Drawing takes MuJoCo's renderer, which is the business of `rapo.deploy`; here is what is asked for and what is
read back. What the strip shows is said in the text of the PNG itself, so that the two can't part.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rapo.errors import InputError
from rapo.evaluation.measurement import Measurement
from rapo.ranges import POSITIVE, check_ranges, check_seed
from rapo.runs.run import hint

FILE = "stills.png"
FILM = "film.mp4"
"""The film that `rapo video RUN` leaves in a run folder, which reports show too."""
TEXT = "rapo"
"""The text of the PNG that says what is in it."""


@dataclass(frozen=True)
class StillsSettings:
    """What part of an episode is shown."""

    seconds: Annotated[float, POSITIVE] = 20
    """The strip ends after so many seconds at the latest."""
    seed: int = 1000
    """Where the initial state comes from."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_seed(self.seed)


@dataclass(frozen=True)
class Stills:
    """A strip of pictures, a line for each of some dynamics."""

    updates: int
    """Updates that the policy had learned for when it was drawn."""
    seconds: float
    """The longest time that was asked for."""
    seed: int
    """Where the initial state came from."""
    lines: tuple[str, ...]
    """What each line shows: the dynamics and the return."""
    png: bytes
    """The picture."""


def read_stills(folder: Path) -> Stills | None:
    """The strip in a run folder, or None if there is none."""
    path = folder / FILE
    if not path.is_file():
        return None
    from PIL import Image  # imported here: it is slow to load and seldom needed

    try:
        with Image.open(path, formats=("PNG",)) as picture:
            said = json.loads(picture.info[TEXT])
            picture.verify()
        lines = tuple(map(str, said["lines"]))
        return Stills(
            int(said["updates"]), float(said["seconds"]), int(said["seed"]), lines, path.read_bytes()
        )
    except (OSError, SyntaxError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
        raise InputError(
            f"stills '{path}' are damaged: draw them again with {hint('eval stills', folder)}"
        ) from None


STILLS = Measurement(
    name="stills",
    done="drawn",
    summary="""Draw stills of trained policies, under the nominal and under the worst dynamics.

    The worst dynamics are those that `rapo search` has found, if it has looked. The strip is written into the
    run folder as stills.png, and shown in reports. No display is needed.
    """,
    settings=StillsSettings,
    files={FILE: "a strip of pictures of the policy"},
    measure="rapo.deploy.draw_stills:draw_stills",
    read=read_stills,
    updates=lambda found: found.updates,
    covers=lambda found, chosen, task: (found.seconds, found.seed) == (chosen.seconds, chosen.seed),
    steps=lambda chosen, task: 2 * task.tested().time_limit,
    after=("search",),
    in_grids=False,
    blocks="rapo.reporting.stills_shown:stills_blocks",
)
