"""What can go wrong with a user's input, said in one sentence.

Every `InputError` names the thing, the value it had and what is allowed; the command line prints it
without a traceback and exits with status 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches

LISTED = 12
"""How many of the known names an error lists."""
BEGINNING, ENDING = 500, 300
"""Of a longer sentence, the characters that are kept: it begins with the thing and ends with what is
allowed."""


def in_one_sentence(said: object) -> str:
    """Text that may hold anything that a user gave, on one line and of bounded length."""
    text = str(said)
    if len(text) > BEGINNING + ENDING:
        text = f"{text[:BEGINNING]} ... {text[-ENDING:]}"
    return "".join(c if c.isprintable() else " " for c in text)


def shown(value: object) -> str:
    """A value as Python writes it, for an error; one that Python can't write is described."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        what = "a number of too many digits" if isinstance(value, int) else f"a {type(value).__name__}"
        return what if isinstance(value, int) else f"{what} that is nested too deeply"


class InputError(ValueError):
    """Something the user gave can't be used; no file was changed."""

    def __init__(self, sentence: object) -> None:
        super().__init__(in_one_sentence(sentence))


class BusyError(InputError):
    """A folder can't be used because another process is working in it."""


class TrainingError(RuntimeError):
    """Training can't go on; what was saved before is intact."""

    def __init__(self, sentence: object) -> None:
        super().__init__(in_one_sentence(sentence))


class TheoryError(RuntimeError):
    """A statement of the theory did not turn out as expected; what was found has been shown and written."""


class Interrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C; everything is saved, and the message says how to go on."""


def unknown(kind: str, name: object, known: Iterable[str]) -> InputError:
    """The error for a `name` that is not among the `known` names of its `kind`, with the nearest one."""
    known, name = list(known), str(name)
    near = [k for k in known if k.lower() == name.lower()] or get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"did you mean '{near[0]}'? " if near else ""
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return InputError(f"unknown {kind} '{name}': {hint}allowed are {', '.join(known[:LISTED])}{more}")
