"""The statement on how far a policy's robust value lies below its nominal one: bound, constant and slope."""

import numpy as np

from rapo.arrays import Floats
from rapo.tabular import Mdp, evaluate, exact_value, occupancy
from rapo.tabular.markov import average
from rapo.theory.statement import Curve, Finding, Rate, Statement, Verdict, curve, slope
from rapo.theory.statements.worlds import BUDGETS, World, fitted, oscillation, worlds

_FINE = 1e-10
_FINER = 1e-11


def value_drop(rng: np.random.Generator) -> Finding:
    """Drops of policies' values against the bound with the paper's constant, and with a better one."""
    drops, excess, cases = [0.0, 0.0], [-np.inf, -np.inf], 0
    for world in worlds(rng):
        gamma, rewards = world.mdp.discount, world.mdp.rewards[world.mdp.allowed]
        for policy in (world.policy(rng), world.actions(rng)):
            nominal = exact_value(world.mdp, policy)
            for budget in BUDGETS:
                robust = evaluate(world.mdp, policy, budget, tolerance=_FINE)
                fall = nominal - robust.value
                ranges = oscillation(nominal), oscillation(robust.value), oscillation(rewards) / (1 - gamma)
                for number, constant in enumerate((2 * budget, budget / 2)):
                    bounds = gamma / (1 - gamma) * np.sqrt(constant) * np.array(ranges)
                    over = max(fall.max() - bounds.min(), -fall.min()) - 2 * robust.error
                    excess[number] = max(excess[number], over)
                    drops[number] = max(drops[number], fall.max() / bounds.min())
                cases += 1
    rate, off = _rate(rng)
    note = (
        f"With sqrt(budget/2), which Pinsker's inequality gives, drops are up to {drops[1]:.2f} of the "
        f"bound, and {_even_chances():.4f} of it for even chances between two states that pay 0 and 1: no "
        "constant is better."
    )
    return Finding(
        measured=f"drops up to {drops[0]:.2f} of the bound over {cases} cases; slope {rate.slope:.3f} for "
        f"small budgets, leading term off by {off:.1%}",
        predicted="at most 1; slope 0.5; sqrt(2 budget) gamma/(1-gamma) times the mean spread of next values",
        verdict=Verdict.of(excess[0] <= 0 and abs(rate.slope - 0.5) < 0.01 and off < 0.01),
        instances=cases,
        correction=note if excess[1] <= 0 else "",
        rates=(rate,),
    )


def _rate(rng: np.random.Generator) -> tuple[Rate, float]:
    """The mean drop over budgets, and how far the leading term is off at the smallest of them."""
    budgets, lines, off = 10.0 ** np.arange(-7, 1), list[Curve](), 0.0
    for world in reversed(worlds(rng, random=1)):
        policy = world.policy(rng)
        nominal = exact_value(world.mdp, policy)
        values = [evaluate(world.mdp, policy, budget, tolerance=_FINER).value for budget in budgets]
        falls = [max(float(world.initial @ (nominal - value)), 1e-300) for value in values]
        line = _leading(world, policy, nominal) * np.sqrt(budgets)
        off = max(off, abs(falls[0] / line[0] - 1))
        lines.append(curve(world.name, budgets, falls))
        lines.append(curve(f"{world.name}, leading term", budgets, line, reference=True))
    small = slice(0, 4)
    rate = Rate(
        "The value drop grows with the square root of the budget",
        "KL budget of a step",
        "nominal less robust value, mean over states",
        (*lines[::2], lines[1]),
        slope(budgets[small], lines[0].y[small]),
        0.5,
    )
    return rate, off


def _leading(world: World, policy: Floats, nominal: Floats) -> float:
    """The factor of sqrt(budget) in the mean drop for small budgets."""
    rows, p = nominal[world.mdp.successors], world.mdp.probabilities
    mean = (p * rows).sum(axis=-1, keepdims=True)
    spread = np.sqrt((p * (rows - mean) ** 2).sum(axis=-1))
    gamma, visits = world.mdp.discount, occupancy(world.mdp, policy, world.initial)
    return float(np.sqrt(2) * gamma / (1 - gamma) * visits @ average(policy, spread))


def _even_chances() -> float:
    """The drop as a share of the bound with sqrt(budget/2) between states that pay 0 and 1: all of it."""
    budget, discount = 1e-6, 0.9
    world = fitted("even chances", Mdp.dense(np.full((2, 1, 2), 0.5), [[0.0], [1.0]], discount))
    policy = np.zeros(world.mdp.states, int)
    nominal = exact_value(world.mdp, policy)
    fall = nominal - evaluate(world.mdp, policy, budget, tolerance=_FINER).value
    return float(fall.max() / (discount / (1 - discount) * oscillation(nominal) * np.sqrt(budget / 2)))


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        name="value-drop",
        title="The value drop and its square root",
        where="Sec. 4.4 and App. G.4",
        claim="A policy's robust value lies below its nominal one, by at most gamma/(1-gamma) times the "
        "range of its values times sqrt(2 budget).",
        expected=Verdict.HOLDS,
        check=value_drop,
    ),
)
