"""How tries came out: with the result there should be, in one sentence, or in any other way."""

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rapo.errors import BEGINNING, ENDING, InputError, TrainingError

SOUND = "sound"
"""The result is the one there should be."""
REFUSED = "refused"
"""One sentence said what is wrong."""
LONGEST = BEGINNING + ENDING + len(" ... ")
"""Characters of a sentence, at most."""


@dataclass
class Tally:
    """How many tries of one kind came out how."""

    what: str
    """What was done to the program, in words."""
    sound: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    """What else has happened, each time that it did."""

    @property
    def tries(self) -> int:
        """How often it was tried."""
        return self.sound + self.refused + len(self.wrong)

    def figures(self) -> dict[str, str | int]:
        """The numbers, as JSON holds them."""
        numbers = {"tries": self.tries, "sound": self.sound, "refused": self.refused}
        return {"what": self.what, **numbers, "wrong": len(self.wrong)}

    def count(self, outcome: str, told: object = "") -> None:
        """Count a try; `told` says which one it was, should it be looked at again."""
        if outcome == SOUND:
            self.sound += 1
        elif outcome == REFUSED:
            self.refused += 1
        else:
            self.wrong.append(f"{told}: {outcome}")
            print(f"wrong: {self.wrong[-1]}", flush=True)
        if self.tries % 100 == 0:
            print(self, flush=True)

    def __str__(self) -> str:
        told = f"{self.sound:,} sound, {self.refused:,} refused, {len(self.wrong):,} wrong"
        return f"{self.what}: {told} of {self.tries:,}"


def outcome(work: Callable[[Any], object], given: Any) -> str:
    """What comes of `work(given)`: sound if it returns, refused if it raises a sentence, else what it did."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("default", UserWarning)  # notes to the user
            work(given)
    except (InputError, TrainingError) as error:
        return judged(str(error))
    except Exception:
        return "".join(traceback.format_exc()[-2_000:])
    return SOUND


def judged(said: str) -> str:
    """Refused, if what was said is one sentence of bounded length; else what was said."""
    return REFUSED if said and "\n" not in said and len(said) <= LONGEST else f"no sentence: {said[:500]}"
