"""Statements on balls other than KL's: what their worst weights look like, and why the paper prefers KL."""

import jax
import numpy as np

from rapo.arrays import Floats
from rapo.tabular import balls
from rapo.theory.statement import Finding, Statement, Verdict
from rapo.theory.statements import rows as row
from rapo.theory.statements import tilting
from rapo.theory.statements.rows import COUNT, largest

_chi_square = jax.jit(balls.chi_square)
_total_variation = jax.jit(balls.total_variation)


def chi_square_form(rng: np.random.Generator) -> Finding:
    """Worst weights of the chi-square ball: solved for, as the paper writes them, and with a shift."""
    rows = row.draw(rng)
    values, p = rows.values, rows.weights
    # The same share of the budget that allows the minimum, 1/mass - 1, as in the KL ball.
    budget = rows.budget / rows.ceiling * np.expm1(rows.ceiling)
    with jax.enable_x64(True):
        q = np.asarray(_chi_square(values, p, budget).weights)
    lowest = values.min(axis=1)
    written, shifted = (_at_budget(values, p, budget, cut) for cut in (np.maximum(lowest, 0), lowest))
    off = 0.5 * np.abs(written - q).sum(axis=1)
    corrected = largest(0.5 * np.abs(shifted - q).sum(axis=1))
    positive = lowest >= 0
    scores, even, small = np.array([[-2.0, -1.0]]), np.array([[0.5, 0.5]]), np.array([0.25])
    reached = _at_budget(scores, even, small, np.zeros(1))[0]
    right = _at_budget(scores, even, small, scores[:, 0])[0]
    return Finding(
        measured=f"out of reach in {(off > 1e-6).mean():.0%} of rows, by up to {off.max():.2f} in total "
        f"variation, and in {(off[positive] > 1e-6).mean():.0%} of the {positive.sum():,} without negative "
        f"scores; with a shift {corrected:.0e} off",
        predicted="0 off",
        verdict=Verdict.of(off.max() < 1e-6, corrected < 1e-6),
        instances=COUNT,
        correction="rho (1 - beta (h - c))_+ with c fixed by normalisation: a shift, not a factor. As "
        "written the weights change when a constant is added to all scores, "
        "and below 0 there is no beta for large budgets.",
        counterexample=f"Scores -2 and -1, even weights, budget {small[0]:g}: as written the weights reach "
        f"{reached[0]:.4f} and {reached[1]:.4f} at most (beta without bound), chi-square "
        f"{_divergence(reached, even[0]):.4f}; the worst within the budget are "
        f"{right[0]:.4f} and {right[1]:.4f}.",
    )


def _at_budget(values: Floats, p: Floats, budget: Floats, above: Floats) -> Floats:
    """Weights ~ p (cut - value)_+ `[n, K]` with the cut beyond `above` `[n]` that meets the budget.

    By bisection; where no cut meets the budget, the weights of the lowest cut.
    """

    def weights(logarithm: Floats) -> Floats:
        kept = p * np.maximum((above - values.min(axis=1) + np.exp(logarithm))[:, None] - height, 0)
        return kept / kept.sum(axis=1, keepdims=True)

    height = values - values.min(axis=1, keepdims=True)
    spread = np.ptp(values, axis=1)
    low, high = np.log(1e-9 * spread), np.log(1e9 * spread)
    for _ in range(70):
        middle = 0.5 * (low + high)
        over = _divergence(weights(middle), p) > budget
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return weights(high)


def _divergence(q: Floats, p: Floats) -> Floats:
    return ((q - p) ** 2 / p).sum(axis=-1)


def truncation(rng: np.random.Generator) -> Finding:
    """How many worst weights are 0 in the three balls, and how far they jump when scores move a little."""
    rows = row.draw(rng)
    share = rows.budget / rows.ceiling
    near = rows.values + 1e-9 * rows.spread[:, None] * rng.normal(size=rows.values.shape)
    below = {"chi-square": np.expm1(rows.ceiling), "total variation": -np.expm1(-rows.ceiling)}
    solved = {"KL": [tilting.worst(values, rows.weights, rows.budget) for values in (rows.values, near)]}
    with jax.enable_x64(True):
        for name, ball in (("chi-square", _chi_square), ("total variation", _total_variation)):
            budget = share * below[name]
            solved[name] = [
                jax.device_get(ball(values, rows.weights, budget)) for values in (rows.values, near)
            ]
    zero = {name: weights[0].weights == 0 for name, weights in solved.items()}
    # Double precision ends soon after exp(-700): further weights are 0 by rounding only.
    exponent = solved["KL"][0].temperature[:, None] * (rows.values - rows.values.min(axis=1, keepdims=True))
    zero["KL"] &= exponent < 700
    rows_with = {name: float(which.any(axis=1).mean()) for name, which in zero.items()}
    truncated = rows_with["chi-square"] > 0 and rows_with["total variation"] > 0
    jump = {name: largest(np.abs(two[0].weights - two[1].weights)) for name, two in solved.items()}
    return Finding(
        measured=f"rows with weights of 0: {_list(rows_with, '.0%')}; largest change of a weight when scores "
        f"move by 1e-9 of the spread: {_list(jump, '.0e')}",
        predicted="none with KL, some with the others",
        verdict=Verdict.of(rows_with["KL"] == 0 and truncated),
        instances=COUNT,
        correction="Truncated weights need not jump: chi-square's depend continuously on the scores, as KL's "
        "do; those of total variation do not.",
    )


def _list(figures: dict[str, float], form: str) -> str:
    return ", ".join(f"{name} {figure:{form}}" for name, figure in figures.items())


STATEMENTS = (
    Statement(
        "chi-square-form",
        "Worst weights of a chi-square ball",
        "App. B.5",
        "Within a chi-square ball the worst weights are proportional to rho (1 - beta h)_+.",
        Verdict.CORRECTED,
        chi_square_form,
    ),
    Statement(
        "truncation",
        "Truncated weights",
        "App. B.5",
        "Below the budget that allows the minimum KL leaves every outcome some weight, while chi-square and "
        "total variation take all of it from some.",
        Verdict.HOLDS,
        truncation,
    ),
)
