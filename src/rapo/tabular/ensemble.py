"""The exact worst case over an ensemble of models and over the outcomes of each, within KL budgets.

There are K models with a prior rho, and T outcomes of each: model k has outcome t, with return R[k, t], with
probability P[k, t]. An adversary picks another mixture w of the models and another law Q[k] of the outcomes
of each model. By the chain rule the KL of its choice is KL(w || rho) + sum_k w_k KL(Q[k] || P[k]).

`joint` gives the adversary one budget for both, so that models and outcomes are tilted at one temperature.
`split` is what RAPO solves: one budget for the mixture and one for the outcomes of each model. The value of
`split` is never below that of `joint` with the sum of both budgets. The worst case over models alone is
`rapo.robust_value` of their mean returns.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.learner.budget import check_budget
from rapo.robust import robust_value


@dataclass(frozen=True)
class WorstCase:
    """The worst mixture of models and the worst outcomes of each, and the mean return under them."""

    value: float
    """The lowest mean return that the budgets allow."""
    weights: Floats
    """`[K]`, the mixture w."""
    laws: Floats
    """`[K, T]`, the laws Q of the outcomes; P for a model without weight in the mixture."""
    model_temperature: float
    """beta, the temperature of the tilt of the mixture."""
    outcome_temperature: Floats
    """`[K]`, eta, the temperature of the tilt of each model's outcomes."""
    model_kl: float
    """KL(w || rho)."""
    outcome_kl: float
    """The mean of KL(Q[k] || P[k]) over the mixture."""

    @property
    def kl(self) -> float:
        """The KL of the joint law of model and outcome: the sum of both parts."""
        return self.model_kl + self.outcome_kl


def joint(returns: ArrayLike, laws: ArrayLike, prior: ArrayLike, budget: float) -> WorstCase:
    """The worst case within one KL budget over models and outcomes, both tilted at one temperature.

    returns, laws: `[K, T]`, of each outcome of each model; prior: `[K]`.
    """
    returns, laws, prior = _ensemble(returns, laws, prior)
    budget = check_budget(budget, "the KL budget")
    both = prior[:, None] * laws
    worst = robust_value(returns.ravel(), both.ravel(), budget=budget)
    tilted = worst.weights.reshape(both.shape)
    weights = tilted.sum(axis=1)
    kept = weights > 0
    tilted = np.where(kept[:, None], tilted / np.where(kept, weights, 1)[:, None], laws)
    temperature = float(worst.temperature)
    return WorstCase(
        value=float(worst.value),
        weights=weights,
        laws=tilted,
        model_temperature=temperature,
        outcome_temperature=np.full(len(prior), temperature),
        model_kl=float(divergence(weights, prior)),
        outcome_kl=float(weights @ divergence(tilted, laws)),
    )


def split(
    returns: ArrayLike, laws: ArrayLike, prior: ArrayLike, model_budget: float, outcome_budget: float
) -> WorstCase:
    """The worst mixture within `model_budget` of models whose outcomes are the worst within `outcome_budget`.

    returns, laws: `[K, T]`, of each outcome of each model; prior: `[K]`.
    """
    returns, laws, prior = _ensemble(returns, laws, prior)
    outcomes = robust_value(returns, laws, budget=check_budget(outcome_budget, "the outcome budget"))
    models = robust_value(outcomes.value, prior, budget=check_budget(model_budget, "the model budget"))
    return WorstCase(
        value=float(models.value),
        weights=models.weights,
        laws=outcomes.weights,
        model_temperature=float(models.temperature),
        outcome_temperature=outcomes.temperature,
        model_kl=float(models.kl),
        outcome_kl=float(models.weights @ outcomes.kl),
    )


def divergence(law: ArrayLike, base: ArrayLike) -> Floats:
    """KL(law || base) `[...]` of distributions `[..., T]`, infinite where only the law is above 0."""
    law, base = np.broadcast_arrays(np.asarray(law, np.float64), np.asarray(base, np.float64))
    possible = law > 0
    with np.errstate(divide="ignore"):
        ratio = np.log(np.where(possible, law, 1)) - np.log(np.where(possible, base, 1))
    return np.maximum(np.sum(law * ratio, axis=-1), 0)


def _ensemble(returns: ArrayLike, laws: ArrayLike, prior: ArrayLike) -> tuple[Floats, Floats, Floats]:
    returns = np.asarray(returns, np.float64)
    if returns.ndim != 2 or not returns.size or not np.isfinite(returns).all():
        raise InputError(
            f"returns of shape {returns.shape} were given: allowed are finite numbers [models, outcomes]"
        )
    return (
        returns,
        _distributions(laws, returns.shape, "laws"),
        _distributions(prior, returns.shape[:1], "prior"),
    )


def _distributions(given: ArrayLike, shape: tuple[int, ...], name: str) -> Floats:
    given = np.asarray(given, np.float64)
    if given.shape != shape:
        raise InputError(f"{name} of shape {given.shape} were given: allowed is {shape}, to fit the returns")
    sums = given.sum(axis=-1, keepdims=True)
    wrong = (given < 0).any(axis=-1) | ~(np.abs(sums[..., 0] - 1) <= 1e-6)
    if wrong.any():
        row = f" in row {int(np.argmax(wrong))}" if given.ndim > 1 else ""
        entries = np.atleast_2d(given)[int(np.argmax(wrong))]
        raise InputError(
            f"the distribution '{name}'{row} has the smallest number {entries.min():g} and the sum "
            f"{entries.sum():g}: allowed are numbers from 0 with sum 1"
        )
    return given / sums
