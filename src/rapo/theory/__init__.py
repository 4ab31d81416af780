"""The statements of the paper, each checked by computing it on random and on classic problems.

    import rapo.theory

    for one in rapo.theory.check_all(names=["duality"]):
        print(one.statement.title, one.verdict, one.finding.measured)

The modules of `rapo.theory.statements` have the statements. `PARTS` groups them; to add a module, add its
name to a part.
"""

from collections.abc import Callable, Sequence
from importlib import import_module

from rapo.theory.check import Checked, check_each, find
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


def _part(name: str, short: str, title: str, *modules: str) -> Part:
    """A part with the statements of one module, or of several that belong together."""
    found = (import_module(f"{__name__}.statements.{module}").STATEMENTS for module in modules)
    return Part(name, short, title, tuple(one for statements in found for one in statements))


PARTS = (
    _part("expectation", "Expectation", "The worst expectation in a KL ball", "expectation"),
    _part(
        "temperature", "Temperature", "The temperature, and what an error in it costs", "temperature_errors"
    ),
    _part("advnet", "AdvNet", "AdvNet: its targets and its losses", "learned_temperature"),
    _part("balls", "Other balls", "Balls other than KL's", "other_balls"),
    _part("operator", "Operator", "The robust Bellman operator", "contraction", "approximate"),
    _part("policies", "Policies", "Policies and their worst cases", "policies", "value_drop"),
    _part("sampling", "Sampling", "The dual from samples", "sampling"),
    _part("mixtures", "Mixtures", "Mixtures of models", "mixtures"),
    _part(
        "joint_budget",
        "Joint budget",
        "One budget for models and trajectories",
        "joint_budget",
        "whole_trajectories",
    ),
    _part(
        "finite_ensemble",
        "Finite ensembles",
        "K models in place of a family",
        "finite_ensemble",
        "finite_temperature",
        "finite_operator",
    ),
)
STATEMENTS = tuple(statement for part in PARTS for statement in part.statements)


def check_all(
    seed: int = 0,
    names: Sequence[str] | None = None,
    *,
    progress: Callable[[Statement, int], None] = lambda statement, done: None,
) -> list[Checked]:
    """Check all statements, or those with these names, in the order of the parts.

    progress: called before each check, with the statement and how many were checked before it.
    """
    return check_each(find(names, PARTS), seed, progress)
