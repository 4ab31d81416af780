"""How the mixture of models moves between updates: not at all, or toward those that hurt most."""

from dataclasses import dataclass
from math import inf
from typing import Literal

from rapo.algorithms.spec import Mixture, Report, Steps
from rapo.errors import InputError
from rapo.heavy import Array, jnp
from rapo.learner import boltzmann, budget
from rapo.learner.advantages import branch_values
from rapo.learner.budget import Budget


@dataclass(frozen=True)
class Fixed:
    """The weights stay at the prior."""

    def init(self, prior: Array) -> Mixture:
        """The prior."""
        return Mixture(prior, prior, ())

    def scored(self, rows: int) -> int:
        """None."""
        return 0

    def __call__(self, mixture: Mixture, steps: Steps) -> tuple[Mixture, Report]:
        """The same again."""
        return mixture, _report(mixture)


@dataclass(frozen=True)
class Boltzmann:
    """w ~ rho exp(-beta h), with beta from the model-level budget kappa."""

    kappa: Budget = Budget(0.1)
    """KL budget of the mixture."""
    score: Literal["value", "branch", "advantage", "played"] = "branch"
    """What h is: in branches the value of the next state, with reward and ending too, or what is gained over
    V(s); or what the steps of episodes played under a model were worth."""
    score_rate: float = 0.2
    """How fast the moving average of the scores follows; 1 forgets all earlier ones. Episodes say less in an
    update than branches do: they need a rate low enough to average over several of them."""
    fastest: float = 1.0
    """How far the weights may move in an update, in total variation."""
    scored_rows: int = 256
    """Pairs branched under every model to score them, where that takes branches and the targets do not ask
    for all anyway."""
    mixture_adapts: float | None = None
    """Rate of Robbins-Monro steps on beta; None solves for it."""

    def __post_init__(self) -> None:
        if not 0 < self.score_rate <= 1 or not 0 < self.fastest <= 1 or self.scored_rows < 1:
            raise InputError(
                f"score_rate {self.score_rate:g}, fastest {self.fastest:g} and scored_rows "
                f"{self.scored_rows} were given: the first two are above 0, up to 1, the last at least 1"
            )
        if self.mixture_adapts is not None and not 0 < self.mixture_adapts < inf:
            raise InputError(f"mixture_adapts is {self.mixture_adapts:g}: it must be above 0 and finite")

    def init(self, prior: Array) -> Mixture:
        """The prior, with nothing known of the models."""
        return Mixture(prior, prior, (boltzmann.no_scores(len(prior)), jnp.ones(()), jnp.zeros(())))

    def scored(self, rows: int) -> int:
        """Some of the pairs, unless episodes say it all."""
        return 0 if self.score == "played" else min(rows, self.scored_rows)

    def __call__(self, mixture: Mixture, steps: Steps) -> tuple[Mixture, Report]:
        """Score the models, then tilt the prior."""
        scores, beta, updates = mixture.memory
        scores = boltzmann.observe(scores, *self._values(steps), self.score_rate)
        kappa = self.kappa.at(steps.progress)
        average = scores.average
        if self.mixture_adapts is None:
            found = boltzmann.reweight(mixture.prior, average, kappa)
        else:
            found = boltzmann.at_temperature(mixture.prior, average, beta)
            beta = budget.adapt(beta, found.kl, kappa, updates, self.mixture_adapts)
        weights = boltzmann.limit(mixture.weights, found.weights, self.fastest)
        moved = Mixture(mixture.prior, weights, (scores, beta, updates + 1))
        return moved, {"beta": found.temperature, **_report(moved)}

    def _values(self, steps: Steps) -> tuple[Array, Array]:
        """What the models are scored by, and where it counts: `[B, K]`, or `[B, 1]` if alike for all.

        Branches score all models on the same rows, so that none looks bad for having met harder states. But
        what a state shows of its model, such as a length, no branch can change: then episodes have to tell.
        """
        if self.score == "played":
            return steps.taken[:, None], steps.played
        branches = steps.branches
        assert branches is not None
        everywhere = branches.valid.all(axis=1, keepdims=True)
        if self.score == "value":
            return jnp.where(branches.terminated, 0.0, branches.next_value), everywhere
        values = branch_values(branches.reward, branches.terminated, branches.next_value, steps.discount)
        return values - steps.value[:, None] if self.score == "advantage" else values, everywhere


def _report(mixture: Mixture) -> Report:
    w, rho = mixture.weights, mixture.prior
    log = jnp.log(jnp.where(w > 0, w, 1))
    return {
        "mixture": w,
        "mixture_entropy": -jnp.sum(w * log),
        "mixture_kl": jnp.sum(jnp.where(w > 0, w * (log - jnp.log(jnp.where(rho > 0, rho, 1))), 0)),
    }
