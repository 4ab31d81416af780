"""Statements on policies and their worst cases: optimal policies, worst kernels, and gains of one policy."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np

from rapo.arrays import Floats
from rapo.tabular import (
    Mdp,
    evaluate,
    exact_value,
    occupancy,
    policy_iteration,
    random_mdp,
    value_iteration,
    worst_kernel,
)
from rapo.tabular.ensemble import divergence
from rapo.tabular.markov import average
from rapo.theory.statement import Finding, Statement, Verdict
from rapo.theory.statements.tilting import tilted
from rapo.theory.statements.worlds import BUDGETS, SHAPE, World, copies, fitted, interior, worlds

_FINE = 1e-10


def stationary_optimum(rng: np.random.Generator) -> Finding:
    """Look for a policy that beats the stationary deterministic one, in every larger class."""
    best, gain, policies = 0.0, -np.inf, 0
    for _ in range(5):
        mdp = random_mdp(rng, 3, 3, 3, 0.8)
        budget = rng.choice(BUDGETS)
        found = policy_iteration(fitted("small", mdp).mdp, budget, tolerance=_FINE)
        top, slack = found.value[:3], 2 * found.error + _FINE
        every = np.eye(3)[list(product(range(3), repeat=3))]
        mixed = rng.dirichlet(np.ones(3), (12, 3))
        for value in _values_of(mdp, np.concatenate([every, mixed]), budget):
            gain, best = max(gain, (value - top).max() - slack), max(best, (value - top).max())
            policies += 1
        turns = _two_turns(mdp)
        for value in _values_of(turns, rng.dirichlet(np.full(3, 0.3), (6, 6)), budget):
            gain, best = max(gain, (value[:3] - top).max() - slack), max(best, (value[:3] - top).max())
            policies += 1
        alternating = policy_iteration(fitted("turns", turns).mdp, budget, tolerance=_FINE)
        gain = max(gain, np.abs(alternating.value[:6] - np.tile(top, 2)).max() - slack)
    certified, ordinary = -np.inf, 0.0
    for world in worlds(rng):
        for budget in BUDGETS[:2]:
            found = policy_iteration(world.mdp, budget, tolerance=_FINE)
            kernel = worst_kernel(world.mdp, found.value, budget)
            # Whatever a policy remembers, in this one MDP it gets no more than the ordinary optimum.
            cap = value_iteration(world.mdp.under(kernel), 0.0, tolerance=_FINE)
            apart = np.abs(cap.value - found.value).max()
            ordinary = max(ordinary, apart)
            certified = max(certified, apart - cap.error - 2 * found.error)
            own = evaluate(world.mdp, found.policy, budget, tolerance=_FINE)
            gain = max(gain, np.abs(own.value - found.value).max() - own.error - found.error)
    return Finding(
        measured=f"best of {policies} others (all deterministic, random and alternating ones) gains "
        f"{best:.0e}; the ordinary optimum under the worst kernel, a cap for policies with a memory, is "
        f"{ordinary:.0e} away",
        predicted="0 up to certified errors",
        verdict=Verdict.of(gain <= 0 and certified <= 0),
        instances=policies,
    )


def attained(rng: np.random.Generator) -> Finding:
    """Values under the worst kernel, and under random kernels of the ball, some near to the worst one."""
    apart, beyond, deepest, below, unspent, kernels = 0.0, -np.inf, 0.0, -np.inf, 0.0, 0
    for world in worlds(rng):
        for budget in BUDGETS:
            policy = world.policy(rng)
            found = evaluate(world.mdp, policy, budget, tolerance=_FINE)
            worst = worst_kernel(world.mdp, found.value, budget)
            off = np.abs(exact_value(world.mdp.under(worst), policy) - found.value).max()
            apart = max(apart, off)
            beyond = max(beyond, off - 2 * found.error)
            inside = interior(world.mdp, found.value, budget)
            used = divergence(worst, world.mdp.probabilities)[inside]
            unspent = max(unspent, np.abs(used / budget - 1).max(initial=0))
            for number in range(6):
                kernel = _feasible(world, budget, rng, found.value if number % 2 else None)
                lower = (found.value - exact_value(world.mdp.under(kernel), policy)).max()
                deepest, below = max(deepest, lower), max(below, lower - found.error)
                kernels += 1
    return Finding(
        measured=f"value under the worst kernel within {apart:.0e}; none of {kernels} other kernels lower by "
        f"more than {max(deepest, 0):.0e}; KL within {unspent:.0e} of the budget where that does not allow "
        "the worst successor",
        predicted="0 up to certified errors",
        verdict=Verdict.of(beyond <= 0 and below <= 0 and unspent <= 1e-6),
        instances=kernels,
    )


def performance_difference(rng: np.random.Generator) -> Finding:
    """Both sides of the lemma for pairs of policies, with advantages and occupancies of either worst case."""
    shares, missed, equal, low, high, exact = list[float](), 0, -np.inf, -np.inf, -np.inf, -np.inf
    for world in worlds(rng, random=3):
        for budget in BUDGETS:
            best = policy_iteration(world.mdp, budget, tolerance=1e-6).policy
            policies = [world.mdp.distribution(p) for p in (best, world.actions(rng), world.policy(rng))]
            sides = [_WorstPolicyCase(world.mdp, world.initial, policy, budget) for policy in policies]
            for old, new in permutations(sides, 2):
                gain, written = new.total - old.total, new.gain_over(old, old.kernel)
                above = new.gain_over(old, old.kernel, under=old.kernel)
                slack = (old.error + new.error) * 2 / (1 - world.mdp.discount)
                shares.append(abs(gain - written) / abs(gain))
                missed += gain > slack and written < -slack
                equal = max(equal, abs(gain - written) - slack)
                low, high = max(low, written - gain - slack), max(high, gain - above - slack)
                exact = max(exact, abs(gain - new.gain_over(old, new.kernel)) - slack)
    return Finding(
        measured=f"sides differ by {np.median(shares):.1%} of the gain in the median of {len(shares)} pairs, "
        f"by {np.quantile(shares, 0.9):.0%} or more in a tenth; the right one is "
        f"{'never' if low <= 0 else 'sometimes'} above the left, and {missed} times negative in spite of a "
        "gain",
        predicted="0",
        verdict=Verdict.of(equal <= 0, low <= 0 and high <= 0 and exact <= 0),
        instances=len(shares),
        correction="The right side bounds the gain from below, so a positive one still means improvement; "
        "with the new policy's occupancy under the old worst kernel it bounds it from above; with advantages "
        "under the new worst kernel it is equal.",
        counterexample=_two_states(),
    )


class _WorstPolicyCase:
    """A policy under its worst kernel, and its gain over another policy by the lemma's formula."""

    def __init__(self, mdp: Mdp, initial: Floats, policy: Floats, budget: float) -> None:
        self.mdp, self.policy, self.initial = mdp, policy, initial
        found = evaluate(mdp, policy, budget, tolerance=_FINE)
        self.value, self.error = found.value, found.error
        self.kernel = worst_kernel(mdp, found.value, budget)
        self.total = float(initial @ found.value)

    def gain_over(self, old: "_WorstPolicyCase", kernel: Floats, under: Floats | None = None) -> float:
        """The mean of the old policy's advantages, computed under `kernel`, over this policy's occupancy.

        under: the kernel of the occupancy; this policy's worst one if not given.
        """
        ahead = (kernel * old.value[self.mdp.successors]).sum(axis=-1)
        advantage = self.mdp.rewards + self.mdp.discount * ahead - old.value[:, None]
        visits = occupancy(self.mdp.under(self.kernel if under is None else under), self.policy, self.initial)
        return float(visits @ average(self.policy, advantage)) / (1 - self.mdp.discount)


def _two_states() -> str:
    """The smallest case: all chances even, and a budget that allows the worse of two states."""
    mdp = Mdp.dense(np.full((2, 2, 2), 0.5), [[0.0, 1.0], [0.5, 0.5]], 0.5)
    mdp, first = fitted("two states", mdp).mdp, np.eye(SHAPE[0])[0]
    old, new = (
        _WorstPolicyCase(mdp, first, mdp.distribution(np.full(SHAPE[0], action)), budget=1.0)
        for action in (0, 1)
    )
    return (
        "Two states, every step leads to either with probability 1/2, budget 1, discount 1/2; the first, "
        "where it starts, pays 0 under the old policy and 1 under the new, the second pays 1/2: the gain is "
        f"{new.total:g} - {old.total:g} = {new.total - old.total:g}, the right side is "
        f"{new.gain_over(old, old.kernel):g}, and {new.gain_over(old, old.kernel, under=old.kernel):g} with "
        "the occupancy under the old worst kernel."
    )


def _values_of(mdp: Mdp, policies: Floats, budget: float) -> Floats:
    """Robust values `[n, S]` of policies `[n, S, A]`, several solved at once as copies side by side."""
    many = SHAPE[0] // mdp.states
    values = []
    for first in range(0, len(policies), many):
        part = policies[first : first + many]
        world = fitted("copies", copies(mdp, len(part)))
        whole = np.zeros(SHAPE[:2])
        whole[: world.size, : mdp.actions] = part.reshape(-1, mdp.actions)
        found = evaluate(world.mdp, whole[world.origin], budget, tolerance=_FINE)
        values.append(found.value[: world.size].reshape(len(part), mdp.states))
    return np.concatenate(values)


def _two_turns(mdp: Mdp) -> Mdp:
    """The same MDP for policies that alternate: each state once for even steps and once for odd ones."""
    twice = copies(mdp, 2)
    return replace(twice, successors=(twice.successors + mdp.states) % twice.states)


def _feasible(world: World, budget: float, rng: np.random.Generator, near: Floats | None) -> Floats:
    """A random kernel `[S, A, M]` in the ball: tilted along noise, or along `near` values with some noise.

    As far as the budget allows, or a part of the way, by bisection on the KL of each pair.
    """
    p = world.mdp.probabilities
    direction = rng.normal(size=p.shape)
    if near is not None:
        rows = near[world.mdp.successors]
        direction = rows / max(rows.std(), 1e-12) + rng.choice([0.01, 0.3]) * direction
    goal = budget * rng.choice([1.0, rng.random()])
    low, high = np.full(p.shape[:2], 1e-12), np.full(p.shape[:2], 1e4)
    for _ in range(40):
        middle = (low + high) / 2
        over = tilted(direction, p, middle).kl > goal
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return tilted(direction, p, low).weights


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        name="stationary-optimum",
        title="A stationary deterministic policy is optimal",
        where="Sec. 3 and App. G.2",
        claim="Some policy that depends on the state alone, without chance, has the highest robust value in "
        "every state among all policies, those with a memory included.",
        expected=Verdict.HOLDS,
        check=stationary_optimum,
    ),
    Statement(
        name="worst-kernel",
        title="A stationary worst-case kernel attains the value",
        where="Sec. 3 and App. G.2",
        claim="For each policy there is one kernel in the ball under which its ordinary value is its robust "
        "value in every state.",
        expected=Verdict.HOLDS,
        check=attained,
    ),
    Statement(
        name="performance-difference",
        title="The robust performance difference lemma",
        where="Sec. 3, Sec. 4.4 and App. G.3",
        claim="The gain in robust return of a new policy over an old one equals the old one's robust "
        "advantages, averaged over the robust occupancy of the new one, over 1 - gamma.",
        expected=Verdict.CORRECTED,
        check=performance_difference,
    ),
)
