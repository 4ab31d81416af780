"""How the weights of the models move between updates: not at all, or toward the models that hurt most."""

from dataclasses import dataclass
from typing import Annotated, Literal

from rapo.algorithms.spec import Mixture, Report, Steps
from rapo.heavy import Array, jnp
from rapo.learner import boltzmann, budget
from rapo.learner.advantages import branch_values
from rapo.learner.budget import Budget
from rapo.ranges import COUNT, POSITIVE, POSITIVE_SHARE, check_ranges


@dataclass(frozen=True)
class Fixed:
    """The weights of the models stay at the prior."""

    def init(self, prior: Array) -> Mixture:
        """A mixture `[K]` that is the prior."""
        return Mixture(prior, prior, ())

    def scored(self, rows: int) -> int:
        """0: nothing is scored."""
        return 0

    def __call__(self, mixture: Mixture, steps: Steps) -> tuple[Mixture, Report]:
        """The same mixture, and what to report."""
        return mixture, _report(mixture)


@dataclass(frozen=True)
class Boltzmann:
    """The weights move to w ~ rho exp(-beta h): prior rho, scores h, and beta from the KL budget kappa."""

    kappa: Budget = Budget(0.1)
    """KL budget of the mixture."""
    score: Literal["value", "branch", "advantage", "played", "learned"] = "branch"
    """What a model is scored by: in branches under it, the value of the next state (value), the one-step
    value with reward and termination (branch), or its gain over V(s) (advantage); the one-step values of
    episodes played under it (played); or those that learned sensitivities predict under it (learned)."""
    score_rate: Annotated[float, POSITIVE_SHARE] = 0.2
    """Rate at which the moving average of the models' scores follows; 1 keeps only those of the last update.
    With score=played it should be low: an update has few episodes of each model."""
    fastest: Annotated[float, POSITIVE_SHARE] = 1.0
    """How far the weights of the mixture may move in an update, in total variation."""
    scored_rows: Annotated[int, COUNT] = 256
    """State-action pairs of each update that are branched under every model to score the models; it has no
    effect with samples=all, where every pair is, nor with score=played or score=learned, which need no
    branches."""
    mixture_adapts: Annotated[float, POSITIVE] | None = None
    """Rate of Robbins-Monro steps on the mixture's temperature beta; none solves for beta in every update."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def init(self, prior: Array) -> Mixture:
        """A mixture `[K]` that is the prior, with no scores yet."""
        return Mixture(prior, prior, (boltzmann.no_scores(len(prior)), jnp.ones(()), jnp.zeros(())))

    def scored(self, rows: int) -> int:
        """`scored_rows` pairs at most; 0 where models are scored without branches."""
        return 0 if self.score in ("played", "learned") else min(rows, self.scored_rows)

    def __call__(self, mixture: Mixture, steps: Steps) -> tuple[Mixture, Report]:
        """Score the models, then tilt the prior by the scores: the new mixture and what to report."""
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
        """Values that score the models, and which of them count: `[B, K]`, or fewer if alike for all.

        Branches score all models on the same rows, so that no model looks bad for having met harder states.
        But a branch can't change what the state itself shows of its model, such as a length: there only
        episodes played under a model say how hard it is.
        """
        if self.score == "played":
            return steps.taken[:, None], steps.played
        if self.score == "learned":
            assert steps.learned is not None
            return steps.learned, jnp.ones((1, 1), bool)
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
