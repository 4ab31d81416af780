"""Statements on the targets that AdvNet's temperatures give the critic, and on the loss of AdvNet itself.

Rows are those of `rapo.theory.statements.rows`. In place of a network every row has a temperature of its own,
which descends AdvNet's loss.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rapo.arrays import Floats
from rapo.theory.statement import Finding, Statement, Verdict, slope
from rapo.theory.statements import rows as row
from rapo.theory.statements import tilting
from rapo.theory.statements.rates import rate
from rapo.theory.statements.rows import COUNT, OUTCOMES, Rows, largest
from rapo.theory.statements.temperature_errors import effect_of_errors


def other_targets(rng: np.random.Generator) -> Finding:
    """How the three forms of the target move with an error in the temperature."""
    rows = row.draw(rng)
    best = tilting.worst(*rows).temperature
    effect = effect_of_errors(rows, best, {"soft": 1, "tilted": 1, "dual": 2})
    slopes = [slope(points.x, points.y) for points in effect.curves if not points.reference]
    two, even, budget, wrong = np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.1, 1.1
    right = tilting.worst(two, even, budget)
    at = tilting.tilted(two, even, wrong * right.temperature)
    exact = tilting.tilted(two, even, right.temperature)
    dual = at.soft - budget / (wrong * right.temperature)
    linear = [abs(s - 1) < 0.05 for s in slopes[:2]]
    return Finding(
        measured=f"slopes {slopes[0]:.2f} for the entropic risk, {slopes[1]:.2f} for the tilted mean, "
        f"{slopes[2]:.2f} for the dual",
        predicted="slope 2",
        verdict=Verdict.of(all(abs(s - 2) < 0.05 for s in slopes), all(linear) and abs(slopes[2] - 2) < 0.05),
        instances=COUNT,
        correction="The error enters quadratically into the dual, offset included. The tilted mean moves at "
        "the rate -Var_q(V), the entropic risk without the offset at -KL/eta^2: to first order.",
        counterexample=f"Values 0 and 1, even weights, budget {budget:g}, a temperature {wrong - 1:.0%} too "
        f"high: the dual is {right.value - dual:.5f} off, the tilted mean {right.value - at.mean:.5f}, the "
        f"entropic risk {exact.soft - at.soft:.5f}.",
        rates=(effect,),
    )


def without_offset(rng: np.random.Generator) -> Finding:
    """The entropic risk at the optimal temperature against the worst expectation."""
    rows = row.draw(rng)
    solved = tilting.worst(*rows)
    here = tilting.tilted(rows.values, rows.weights, solved.temperature)
    over = (here.soft - solved.value) / rows.spread
    offset = rows.budget / solved.temperature / rows.spread
    wrong = largest(np.abs(over - offset))
    tilted = largest(np.abs(here.mean - solved.value) / rows.spread)
    two, even, budget = np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.1
    small = tilting.worst(two, even, budget)
    soft = tilting.tilted(two, even, small.temperature).soft
    return Finding(
        measured=f"entropic risk above the worst expectation in {(over > 1e-9).mean():.0%} of rows, by "
        f"{over.mean():.3f} of the spread on average; less budget/eta it is {wrong:.0e} off, the tilted mean "
        f"{tilted:.0e}",
        predicted="0 off",
        verdict=Verdict.of(largest(np.abs(over)) < 1e-9, max(wrong, tilted) < 1e-9),
        instances=COUNT,
        correction="At the optimal temperature the entropic risk is too high by budget/eta; less that, or as "
        "the tilted mean, it is the worst expectation.",
        counterexample=f"Values 0 and 1, even weights, budget {budget:g}: worst expectation "
        f"{small.value:.4f}, entropic risk {soft:.4f} at temperature {small.temperature:.3f}.",
    )


def loss(rng: np.random.Generator) -> Finding:
    """Where gradient descent on AdvNet's loss ends, with and without the offset inside the target."""
    rows = _standard(rng, 100)
    best = tilting.worst(*rows).temperature
    penalty, floors = 100.0, (1e-2, 1e-3)
    descents = (
        _Descent(0.5, True, floors[0]),
        *(_Descent(start, keep, floors[1]) for start, keep in _STARTS),
    )
    coarse, kept, below, above = _descend(rows, best, penalty, descents)
    at_floor = [(end <= 1.01 * floor).mean() for end, floor in zip((coarse, kept), floors, strict=True)]
    resting = _resting(rows, best, penalty)
    apart = largest(np.abs(np.stack([below, above]) / resting - 1))
    penalties = np.geomspace(1e3, 1e6, 7)
    excess = np.array([_excess(rows, _resting(rows, best, each)).mean() for each in penalties])
    title, axes = (
        "Budget exceeded at the end of AdvNet's descent, offset dropped",
        ("penalty", "mean KL / budget - 1"),
    )
    found = rate(title, axes, penalties, excess, -1)
    first, low, lower = rows.budget[0], *(_dual(rows, share * best)[0] for share in (0.1, 0.01))
    return Finding(
        measured=f"offset kept: {at_floor[0]:.0%} and {at_floor[1]:.0%} of rows end at the lowest "
        f"temperature allowed, {floors[0]:g} and {floors[1]:g}; dropped: from either side within {apart:.1%} "
        f"of one that exceeds the budget by {_excess(rows, resting).mean():.0%}, "
        f"slope {found.slope:.2f} in the penalty",
        predicted="the optimal temperature",
        verdict=Verdict.of(
            as_written=largest(np.abs(kept / best - 1)) < 0.05,
            corrected=apart < 0.05 and abs(found.slope + 1) < 0.05,
        ),
        instances=len(best),
        correction="The dual is largest at the optimal temperature, so that minimising it drives the "
        "temperature to 0 and the target to minus infinity. Without the offset the target falls as the "
        "temperature grows, and the penalty stops it above the budget, "
        "by about KL/(2 lambda eta^3 Var), provided KL still grows there: its limit bounds the penalty too.",
        counterexample=f"Values -1 and 1, even weights, budget {first:g}, penalty {penalty:g}, from half the "
        f"optimal {best[0]:.3f}: the temperature ends at {kept[0]:.3f}, the lowest allowed, with the offset "
        f"and at {below[0]:.3f} without; the dual is {low:.2f} at a tenth of the optimal one and {lower:.1f} "
        "at a hundredth.",
        rates=(found,),
    )


def penalty(rng: np.random.Generator) -> Finding:
    """What the penalty on KL says of temperatures that were projected to the budget first."""
    rows = _standard(rng, 500)
    best = tilting.worst(*rows).temperature
    given = best * 10 ** rng.uniform(0.1, 1, len(best))
    over = {
        name: np.maximum(tilting.tilted(rows.values, rows.weights, temperature).kl / rows.budget - 1, 0)
        for name, temperature in (("after", np.minimum(given, best)), ("before", given))
    }
    return Finding(
        measured=f"KL over the budget in {(over['after'] > 1e-9).mean():.0%} of rows after the projection, "
        f"in {(over['before'] > 1e-9).mean():.0%} before it, by {over['before'].mean():.0%} on average",
        predicted="over the budget in all rows, whose temperatures are too high",
        verdict=Verdict.of(bool((over["after"] > 1e-9).all()), bool((over["before"] > 1e-9).all())),
        instances=len(best),
        correction="After the projection the penalty is 0, and so is its gradient: it teaches AdvNet nothing "
        "and has to be taken before.",
        counterexample=f"Values -1 and 1, even weights, budget {rows.budget[0]:g}, temperature "
        f"{given[0]:.3f}, optimal {best[0]:.3f}: KL is {over['before'][0]:.0%} over the budget before the "
        f"projection, {over['after'][0]:.0%} after it.",
    )


class _Descent(NamedTuple):
    """A way down the loss."""

    start: float
    """In units of the optimal temperature."""
    offset: bool
    """Whether -budget/eta is part of the target."""
    floor: float
    """The lowest temperature allowed."""


_STARTS = ((0.5, True), (0.5, False), (2.0, False))


def _standard(rng: np.random.Generator, count: int) -> Rows:
    """Rows of standard deviation 1, the units that AdvNet works in, the first of them -1 and 1.

    Their values are well apart, temperatures at most 2, and budgets at most half of what allows the minimum:
    where KL hardly grows any more, as between two low values that are close, no penalty stops a descent.
    """
    values = np.arange(OUTCOMES) + rng.uniform(-0.3, 0.3, (count, OUTCOMES))
    p = rng.dirichlet(np.full(OUTCOMES, 2), count)
    values[0], p[0] = np.arange(OUTCOMES) % 2, 1 / OUTCOMES
    mean = (p * values).sum(axis=1, keepdims=True)
    values = (values - mean) / np.sqrt((p * (values - mean) ** 2).sum(axis=1, keepdims=True))
    budget = tilting.tilted(values, p, 10 ** rng.uniform(-0.5, 0.3, count)).kl
    budget = np.minimum(budget, 0.5 * tilting.ceiling(values, p))
    budget[0] = 0.1
    return Rows(values, p, budget)


def _dual(rows: Rows, temperature: Floats) -> Floats:
    return row.dual(rows.values, rows.weights, temperature, rows.budget)


def gradient(rows: Rows, temperature: Floats, penalty: float, offset: ArrayLike) -> Floats:
    """Of y + penalty (KL - budget)_+^2 with respect to the temperature's logarithm, `[..., n]`."""
    tilted = tilting.tilted(rows.values, rows.weights, temperature)
    over = np.maximum(tilted.kl - rows.budget, 0)
    pull = (np.where(offset, rows.budget, 0) - tilted.kl) / temperature
    return pull + 2 * penalty * over * temperature**2 * tilted.variance


def _descend(rows: Rows, best: Floats, penalty: float, descents: tuple[_Descent, ...]) -> Floats:
    """Where gradient descent on the temperature's logarithm, its steps clipped, ends: `[descents, n]`."""
    start, offset, floor = (np.array(column)[:, None] for column in zip(*descents, strict=True))
    logarithm = np.log(start * best)
    for _ in range(2000):
        step = 0.01 * np.clip(gradient(rows, np.exp(logarithm), penalty, offset), -1, 1)
        logarithm = np.maximum(logarithm - step, np.log(floor))
    return np.exp(logarithm)


def _resting(rows: Rows, best: Floats, penalty: float) -> Floats:
    """The temperature `[n]` above the optimal one where target and penalty are in balance, by bisection."""
    low, high = best, 2 * best
    for _ in range(50):
        middle = 0.5 * (low + high)
        falls = gradient(rows, middle, penalty, False) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    return high


def _excess(rows: Rows, temperature: Floats) -> Floats:
    return tilting.tilted(rows.values, rows.weights, temperature).kl / rows.budget - 1


STATEMENTS = (
    Statement(
        "target-error",
        "Temperature error in the targets",
        "Sec. 4.1, App. C.5 (iii)",
        "An error of the temperature enters the robust target quadratically, whichever form the target has.",
        Verdict.CORRECTED,
        other_targets,
    ),
    Statement(
        "target-offset",
        "Target without the offset",
        "App. C.4, Alg. 4 and 5",
        "At the optimal temperature the entropic risk, without -budget/eta, is the worst expectation.",
        Verdict.CORRECTED,
        without_offset,
    ),
    Statement(
        "advnet-loss",
        "AdvNet's loss",
        "Sec. 4.1, Alg. 2",
        "Minimising the dual plus a penalty on KL above the budget leads to the optimal temperature.",
        Verdict.CORRECTED,
        loss,
    ),
    Statement(
        "advnet-penalty",
        "AdvNet's penalty",
        "Alg. 2, Alg. 5",
        "The penalty on KL above the budget, after the projection to it, holds AdvNet's temperature back.",
        Verdict.CORRECTED,
        penalty,
    ),
)
