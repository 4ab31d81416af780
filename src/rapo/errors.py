"""What can go wrong with a user's input, said in one sentence.

Every `InputError` names the thing, the value it had and what is allowed; the command line prints it
without a traceback and exits with status 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches

LISTED = 12
"""How many of the known names an error lists."""


class InputError(ValueError):
    """Something the user gave can't be used; no file was changed."""


class BusyError(InputError):
    """A folder can't be used because another process is working in it."""


class TrainingError(RuntimeError):
    """Training can't go on; what was saved before is intact."""


class TheoryError(RuntimeError):
    """A statement of the theory did not turn out as expected; what was found has been shown and written."""


class Interrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C; everything is saved, and the message says how to go on."""


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a `name` that is not among the `known` names of its `kind`, with the nearest one."""
    known = list(known)
    near = [k for k in known if k.lower() == name.lower()] or get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"did you mean '{near[0]}'? " if near else ""
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return InputError(f"unknown {kind} '{name}': {hint}allowed are {', '.join(known[:LISTED])}{more}")
