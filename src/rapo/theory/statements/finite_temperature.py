"""Statements about the temperature that K drawn models ask for: where it is, and what it loses (App. F.3).

Phi(beta) = -1/beta (log Z(beta) + kappa) is the dual of the mixture's problem; beta* maximises that of the
family of `rapo.theory.statements.finite_ensemble`, beta_K that of K models drawn from it.
"""

import numpy as np

from rapo.arrays import Floats
from rapo.theory.statement import Finding, Statement, Verdict, curve
from rapo.theory.statements.finite_ensemble import (
    DRAWS,
    KAPPA,
    RATE_TOLERANCE,
    ROUNDING,
    SIZES,
    WINDOW,
    best_temperature,
    dual,
    family,
    rms,
    score,
)
from rapo.theory.statements.rates import agree, rate
from rapo.theory.statements.tilting import curvature, tilted, worst


def check_concavity(rng: np.random.Generator) -> Finding:
    """The second derivative of the dual of random ensembles on both sides of its maximum."""
    count, models = 300, 6
    scores, prior = rng.uniform(0, 1, (count, 1, models)), rng.dirichlet(np.ones(models), (count, 1))
    budget = rng.uniform(0.05, 0.5, (count, 1))
    grid = np.linspace(*WINDOW, 40)
    tilt = tilted(scores, prior, grid)
    claimed = -tilt.variance.min(axis=1, keepdims=True) / WINDOW[1]
    second = curvature(tilt, grid, budget)
    inside = tilt.kl <= budget
    excess = second - claimed
    left = float(np.max(np.where(inside, excess, -np.inf)))
    rises = np.diff(dual(grid, tilt, budget), axis=1)
    one_peak = bool(np.all(np.diff(np.sign(rises), axis=1) <= 0))

    beta, kappa = np.linspace(0.5, 4, 71), 0.1
    pair = tilted([0.0, 1.0], [0.5, 0.5], beta)
    at = curvature(pair, beta, kappa)[-1]
    mu = pair.variance.min() / beta[-1]
    return Finding(
        measured=f"Phi'' is above -sigma^2 / B in {np.mean(excess > ROUNDING):.0%} of the window, and "
        f"positive in {np.mean(second > 0):.0%}; where KL <= kappa it is below by {-left:.0e} or more",
        predicted="nowhere",
        verdict=Verdict.of(bool(excess.max() <= ROUNDING), left <= ROUNDING and one_peak),
        instances=second.size,
        correction="Phi'' <= -sigma^2 / B up to the maximum, where KL <= kappa; beyond it the second term "
        "changes its sign, and all that is left is that Phi falls: it has one peak",
        counterexample=f"two models, scores 0 and 1, equally likely, kappa = {kappa:g}, window "
        f"[{beta[0]:g}, {beta[-1]:g}]: at beta = {beta[-1]:g} KL is {pair.kl[-1]:.3f} and Phi'' = "
        f"{at:+.4f}, not below -sigma^2 / B = {-mu:.4f}",
    )


def _temperatures(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """For each size `[n]` and draw: how far beta_K is from beta*, and how much lower Phi is there."""
    best = best_temperature()
    distance, gap = np.empty((2, len(SIZES), DRAWS))
    for i, size in enumerate(SIZES):
        drawn = best_temperature(score(rng.random((DRAWS, size))), np.array(1 / size))
        distance[i] = drawn - best
        gap[i] = dual(best, family(best)) - dual(drawn, family(drawn))
    return distance, gap


def check_argmax(rng: np.random.Generator) -> Finding:
    """How far the best temperature of K models is from that of the family."""
    distance, _ = _temperatures(rng)
    y = np.array([rms(row) for row in distance])
    argued = curve(
        "slope -1/4: as far as the proof goes", SIZES, y[0] * (SIZES / SIZES[0]) ** -0.25, reference=True
    )
    axes = ("models K", "distance of the temperatures, root mean square")
    rates = (rate("Best temperature of K models", axes, SIZES, y, -0.5, argued),)
    return Finding(
        measured=f"slope {rates[0].slope:.2f} of the distance to beta* = {float(best_temperature()):.3f}",
        predicted="-1/2 as stated (-1/4 as far as the proof goes)",
        verdict=Verdict.of(agree(rates, RATE_TOLERANCE)),
        instances=distance.size,
        rates=rates,
    )


def check_value_gap(rng: np.random.Generator) -> Finding:
    """What is lost at the best temperature of K models, against multiples of its squared distance."""
    distance, gap = _temperatures(rng)
    grid = np.linspace(*WINDOW, 400)
    tilt = family(grid)
    mu = tilt.variance.min() / WINDOW[1]
    steepest = np.abs(curvature(tilt, grid, KAPPA)).max()
    lower, upper = 0.5 * mu * distance**2, 0.5 * steepest * distance**2
    y = gap.mean(axis=1)
    axes = ("models K", "mean loss of the dual")
    rates = (rate("Loss of the dual at the temperature of K models", axes, SIZES, y, -1),)

    beta, kappa, scores = np.linspace(0.5, 4, 200), 0.1, np.array([0.0, 1.0])
    law = np.array([[0.5, 0.5], [2 / 3, 1 / 3]])
    right, drawn = worst(scores, law, kappa).temperature
    fair, ends = tilted(scores, law[0], beta), np.array([right, drawn])
    lost = -np.diff(dual(ends, tilted(scores, law[0], ends), kappa))[0]
    half = 0.5 * fair.variance.min() / beta[-1]
    return Finding(
        measured=f"slope {rates[0].slope:.2f}; above mu/2 |beta_K - beta*|^2 in "
        f"{np.mean(gap > lower + 1e-14):.0%} of the draws, above L/2 |beta_K - beta*|^2 in "
        f"{np.mean(gap > upper + 1e-14):.0%}",
        predicted="-1; in none",
        verdict=Verdict.of(
            bool(np.all(gap <= lower + 1e-14)),
            bool(np.all(gap <= upper + 1e-14)) and agree(rates, RATE_TOLERANCE),
        ),
        instances=gap.size,
        correction="strong concavity bounds the loss from below by mu/2 |beta_K - beta*|^2; from above it "
        "is bounded by L/2 |beta_K - beta*|^2 with L the largest |Phi''|, so that the order 1 / K is right",
        counterexample=f"scores 0 and 1, equally likely, kappa = {kappa:g}, window [{beta[0]:g}, "
        f"{beta[-1]:g}]; K = 3 models drawn, one of them with score 1: beta* = {right:.3f}, beta_K = "
        f"{drawn:.3f}, the loss is {lost:.4f}, above mu/2 |beta_K - beta*|^2 = "
        f"{half * (drawn - right) ** 2:.5f}",
        rates=rates,
    )


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        name="ensemble-concavity",
        title="Strong concavity of the dual",
        where="App. F.3",
        claim="On the whole window the second derivative of the dual is at most -sigma^2 / B.",
        expected=Verdict.CORRECTED,
        check=check_concavity,
    ),
    Statement(
        name="ensemble-temperature",
        title="Best temperature of K models",
        where="App. F.3",
        claim="The best temperature of K models is off by the order of K^(-1/2).",
        expected=Verdict.HOLDS,
        check=check_argmax,
    ),
    Statement(
        name="ensemble-value-gap",
        title="Loss at the temperature of K models",
        where="App. F.3",
        claim="The dual loses at most mu/2 |beta_K - beta*|^2 at the temperature of K models, of the order "
        "1 / K.",
        expected=Verdict.CORRECTED,
        check=check_value_gap,
    ),
)
