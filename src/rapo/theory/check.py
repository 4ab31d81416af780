"""Checking statements: each with its own random numbers, and an error in one check does not stop the others.

The random numbers come from the seed and the statement's name, so that a statement gives the same figures
alone and among all others.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from traceback import extract_tb

import numpy as np

from rapo.errors import InputError, unknown
from rapo.ranges import check_seed
from rapo.theory.statement import Finding, Part, Statement, Verdict

STOPPED = "could not be checked"
"""Shown in place of a verdict if a check raised an error."""
SHORT = 200
"""Characters of an error's message that are kept."""


@dataclass(frozen=True)
class Checked:
    """A statement and what its check found."""

    statement: Statement
    finding: Finding
    seconds: float
    as_expected: bool
    """Whether the verdict is the expected one; False if the check raised an error."""
    stopped: bool = False
    """Whether the check raised an error; `finding` then says which."""

    @property
    def verdict(self) -> str:
        """The verdict in words, or `STOPPED`."""
        return STOPPED if self.stopped else self.finding.verdict

    @property
    def wrong(self) -> bool:
        """Whether the statement was found not to hold as it is written."""
        return not self.stopped and self.finding.verdict is not Verdict.HOLDS

    @property
    def surprise(self) -> str:
        """The verdict that was expected, in words; empty if the verdict is as expected."""
        return "" if self.as_expected else f"expected: {self.statement.expected}"


def check(statement: Statement, seed: int = 0) -> Checked:
    """Check one statement with random numbers from the seed and the statement's name."""
    stream = np.random.SeedSequence(check_seed(seed), spawn_key=tuple(statement.name.encode()))
    started = perf_counter()
    try:
        finding = statement.check(np.random.default_rng(stream))
    except Exception as error:
        nothing = Finding(f"The check stopped: {_reason(error)}", "", Verdict.FAILS, 0)
        return Checked(statement, nothing, perf_counter() - started, as_expected=False, stopped=True)
    seconds = perf_counter() - started
    return Checked(statement, finding, seconds, finding.verdict is statement.expected)


def check_each(
    statements: Iterable[Statement], seed: int, progress: Callable[[Statement, int], None]
) -> list[Checked]:
    """Check statements one after the other.

    progress: called before each check, with the statement and how many were checked before it.
    """
    checked: list[Checked] = []
    for statement in statements:
        progress(statement, len(checked))
        checked.append(check(statement, seed))
    return checked


def find(names: Sequence[str] | None, parts: Iterable[Part]) -> list[Statement]:
    """The statements with these names, or all if none is given, in the order of the parts."""
    known = {statement.name: statement for part in parts for statement in part.statements}
    for name in names or ():
        if name not in known:
            raise unknown("statement", name, known)
    if not known:
        raise InputError("there are no statements to check: add a module of them to rapo.theory")
    return [statement for name, statement in known.items() if not names or name in names]


def counts(checked: Iterable[Checked]) -> dict[str, int]:
    """How many statements have each verdict, the best verdict first, without those that none has."""
    verdicts = [one.verdict for one in checked]
    return {word: n for word in (*Verdict, STOPPED) if (n := verdicts.count(word))}


def totals(checked: Sequence[Checked]) -> str:
    """How many statements have each verdict, in a sentence."""
    many = f"{len(checked)} {'statement' if len(checked) == 1 else 'statements'}"
    parts = [f"{n} {plural(word, n)}" for word, n in counts(checked).items()]
    surprises = sum(not one.as_expected for one in checked)
    ending = (
        f"{surprises} not as expected"
        if surprises
        else "as expected"
        if len(checked) == 1
        else "all as expected"
    )
    return f"{many}: {', '.join(parts)}; {ending}."


def plural(word: str, n: int) -> str:
    """A verdict as it is said of `n` statements."""
    if n == 1:
        return word
    return word.replace("holds", "hold").replace("does not", "do not")


def _reason(error: Exception) -> str:
    """An error in one line: its kind, its message and the place."""
    message = " ".join(str(error).split())
    if len(message) > SHORT:
        message = f"{message[:SHORT]}..."
    last = extract_tb(error.__traceback__)[-1]
    place = last.filename.replace("\\", "/").rpartition("/")[2]
    return f"{type(error).__name__}{': ' if message else ''}{message} ({place}, line {last.lineno})"
