"""Every statement of the paper, part by part, and what becomes of it when it is computed.

    import rapo.theory

    for one in rapo.theory.check_all(names=["duality"]):
        print(one.statement.title, one.verdict, one.finding.measured)

A part is a module of this package that ends in `STATEMENTS`, and a line of `TITLES`.
"""

from collections.abc import Callable, Sequence
from importlib import import_module

from rapo.theory.check import Checked, check, find
from rapo.theory.statement import Curve, Finding, Part, Rate, Statement, Verdict

__all__ = [
    "PARTS",
    "STATEMENTS",
    "Checked",
    "Curve",
    "Finding",
    "Part",
    "Rate",
    "Statement",
    "Verdict",
    "check_all",
]

TITLES: dict[str, str] = {}
"""Modules by name, and what each is about."""

PARTS = tuple(
    Part(name, title, import_module(f"{__name__}.{name}").STATEMENTS) for name, title in TITLES.items()
)
STATEMENTS: tuple[Statement, ...] = tuple(statement for part in PARTS for statement in part.statements)


def check_all(
    seed: int = 0,
    names: Sequence[str] | None = None,
    *,
    progress: Callable[[Statement, int], None] = lambda statement, done: None,
) -> list[Checked]:
    """Check all statements, or those with these names, in the order of the parts.

    progress: called before each, with the statement and how many were checked before it.
    """
    checked: list[Checked] = []
    for statement in find(names, PARTS):
        progress(statement, len(checked))
        checked.append(check(statement, seed))
    return checked
