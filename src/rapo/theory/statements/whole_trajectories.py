"""Statements about tilted steps along a trajectory: KL of the whole, and visits (section 4.4, App. E).

Chains of a few states under a fixed policy: kernels `[..., S, S]`, values and tests `[..., S]`. Short
paths are enumerated; how often states are visited is a linear solve.
"""

import itertools

import numpy as np

from rapo.arrays import Floats
from rapo.tabular.ensemble import divergence
from rapo.theory.statement import Finding, Statement, Verdict, curve
from rapo.theory.statements.rates import agree, rate
from rapo.theory.statements.tilting import distributions, tilted, worst

ROUNDING = 1e-11
"""Allowed error of sums over a few hundred paths."""
RATE_TOLERANCE = 0.05
"""How far a measured slope may be from its prediction: terms of higher order at the largest sizes."""
DISCOUNT = 0.8


def values(kernel: Floats, rewards: Floats, discount: Floats | float) -> Floats:
    """`[..., S]`, the discounted sum of rewards `[..., S]` from each state on."""
    system = np.eye(kernel.shape[-1]) - discount * kernel
    return np.asarray(np.linalg.solve(system, rewards[..., None])[..., 0], np.float64)


def occupancy(kernel: Floats, discount: float) -> Floats:
    """`[..., S]`, the discounted share of time in each state, from state 0 on."""
    start = np.zeros(kernel.shape[:-1])
    start[..., 0] = 1 - discount
    return values(np.swapaxes(kernel, -1, -2), start, discount)


def path_kl(law: Floats, base: Floats, steps: int) -> Floats:
    """`[...]`, the KL of all paths of so many steps from state 0, one by one."""
    total = np.zeros(law.shape[:-2])
    for path in itertools.product(range(law.shape[-1]), repeat=steps):
        here, there = (0, *path[:-1]), path
        q, p = (np.prod(x[..., here, there], axis=-1) for x in (law, base))
        total += q * np.log(q / p)
    return total


def step_kl(law: Floats, base: Floats, steps: int) -> Floats:
    """`[steps, ...]`, the mean KL of each step under `law`, from state 0 on."""
    each = divergence(law, base)
    where = np.zeros_like(each)
    where[..., 0] = 1
    means = []
    for _ in range(steps):
        means.append(np.sum(where * each, axis=-1))
        where = np.einsum("...s,...st->...t", where, law)
    return np.array(means)


def check_steps(rng: np.random.Generator) -> Finding:
    """KLs of paths of fixed and of random length against sums of the KLs of their steps."""
    count, states, horizon = 40, 2, 8
    law, base = distributions(rng, count, states, states), distributions(rng, count, states, states)
    discount = rng.uniform(0.5, 0.99, count)
    means = step_kl(law, base, horizon)
    fixed = np.array([path_kl(law, base, n) for n in range(1, horizon + 1)])
    power = discount ** np.arange(horizon)[:, None]
    claimed = np.abs(fixed[-1] - np.sum(power * means, axis=0))
    plain = np.abs(fixed - np.cumsum(means, axis=0)).max()
    stops = power * (1 - discount)
    stops[-1] = power[-1]
    random = np.abs(np.sum(stops * fixed, axis=0) - np.sum(power * means, axis=0)).max()
    most = divergence(law, base).max(axis=-1)
    forever = values(law, divergence(law, base), discount[:, None, None])[..., 0]
    within = np.max(forever * (1 - discount) / most)
    corrected = plain <= ROUNDING and random <= ROUNDING and within <= 1 + ROUNDING

    fair, bent, gamma = np.full((2, 2), 0.5), np.array([[0.75, 0.25]] * 2), 0.9
    once, twice = (float(path_kl(bent, fair, n)) for n in (1, 2))
    return Finding(
        measured=f"KL of {horizon} steps less the discounted sum up to {claimed.max():.2f}; less the plain "
        f"sum {plain:.0e}; of paths that end at random {random:.0e} less the discounted sum, at most "
        f"{within:.2f} of d / (1 - gamma)",
        predicted="0; 0; 0, at most 1",
        verdict=Verdict.of(bool(claimed.max() <= ROUNDING), bool(corrected)),
        instances=count,
        correction="the KL of paths of a given length is the plain sum over their steps, without bound as "
        "they get longer; the discounted sum is the KL of paths that go on after each step with "
        "probability gamma, and with a budget d for each step that is at most d / (1 - gamma)",
        counterexample=f"a fair coin and one bent to 3/4, thrown twice: the KL is {twice:.4f}, twice the "
        f"{once:.4f} of one throw; the discounted sum with gamma = {gamma:g} is {(1 + gamma) * once:.4f}",
    )


def check_occupancy(rng: np.random.Generator) -> Finding:
    """How the tested occupancy moves with each budget, and with an error of the temperature."""
    count, states, models = 40, 6, 4
    base, rewards = distributions(rng, count, states, states), rng.uniform(0, 1, (count, states))
    test = rng.uniform(-1, 1, (count, states))

    def moved(kernel: Floats, reference: Floats) -> Floats:
        """`[n]`, the change of the mean test, as a geometric mean over chains."""
        change = np.sum(test * (occupancy(kernel, DISCOUNT) - occupancy(reference, DISCOUNT)), axis=-1)
        return np.exp(np.mean(np.log(np.abs(change)), axis=-1))

    sizes = np.geomspace(1e-7, 1e-4, 6)
    trajectory = moved(robust_kernel(base, rewards, sizes), base)

    each = distributions(rng, count, models, states, states)
    scores = values(each, rewards[:, None], DISCOUNT)[..., 0]
    mixtures = worst(scores, np.full(models, 1 / models), sizes[:, None]).weights
    model = moved(np.einsum("nck,ckst->ncst", mixtures, each), each.mean(axis=1))

    errors = np.geomspace(1e-4, 1e-1, 6)
    value = values(base, rewards, DISCOUNT)[..., None, :]
    wrong = tilted(value, base, errors[:, None, None]).weights
    without = moved(wrong, base)
    robust = robust_kernel(base, rewards, np.array([0.05]))[0]
    value = values(robust, rewards, DISCOUNT)[..., None, :]
    right = worst(value, base, 0.05).temperature
    with_budget = moved(tilted(value, base, right + errors[:, None, None]).weights, robust)

    axis = "change of the occupancy"
    one = curve("slope 1", errors, without[-1] * errors / errors[-1], reference=True)
    beside = curve("measured at epsilon = 0.05", errors, with_budget)
    rates = (
        rate("Occupancy and the temperature's error", ("error delta", axis), errors, without, 2, one, beside),
        rate("Occupancy and the trajectory budget", ("epsilon", axis), sizes, trajectory, 0.5),
        rate("Occupancy and the model budget", ("kappa", axis), sizes, model, 0.5),
    )
    linear = np.polyfit(np.log(errors), np.log([without, with_budget]).T, 1)[0]
    budgets = agree(rates[1:], RATE_TOLERANCE)

    bad = [float(tilted([0.0, 1.0], [0.5, 0.5], d).weights[0] - 0.5) * DISCOUNT for d in (0.1, 0.01)]
    return Finding(
        measured=f"slopes {rates[1].slope:.2f} in epsilon, {rates[2].slope:.2f} in kappa, {linear[0]:.2f} "
        f"in the temperature's error delta ({linear[1]:.2f} at epsilon = 0.05)",
        predicted="1/2, 1/2, 2",
        verdict=Verdict.of(
            budgets and agree(rates[:1], RATE_TOLERANCE),
            bool(budgets and np.abs(linear - 1).max() <= RATE_TOLERANCE),
        ),
        instances=count * (2 * len(sizes) + 2 * len(errors)),
        correction="the last term is c5 delta: the value at a wrong temperature is off by delta^2 only, "
        "because it is at a maximum there; the tilted kernel, and so the occupancy, moves in proportion to "
        "delta",
        counterexample="a state that leads to a lasting 0 or a lasting 1, equally likely; epsilon = kappa "
        f"= 0, gamma = {DISCOUNT:g}: at temperature 0.1 in place of 0 the share of time in the worse one is "
        f"off by {bad[0]:.5f}, at 0.01 by {bad[1]:.5f}: a tenth, not a hundredth",
        rates=rates,
    )


def robust_kernel(base: Floats, rewards: Floats, budgets: Floats) -> Floats:
    """`[n, c, S, S]`, the worst kernels of c chains within n budgets, by value and kernel in turns."""
    kernel = np.repeat(base[None], len(budgets), axis=0)
    for _ in range(20):
        before = kernel
        value = values(kernel, rewards, DISCOUNT)
        kernel = worst(value[..., None, :], base, budgets[:, None, None]).weights
        if np.abs(kernel - before).max() <= 1e-14:
            break
    return kernel


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        name="step-budget",
        title="Trajectory KL and the KL of its steps",
        where="App. E.5",
        claim="The KL of trajectory laws is the discounted sum of the KLs of their steps.",
        expected=Verdict.CORRECTED,
        check=check_steps,
    ),
    Statement(
        name="surrogate-occupancy",
        title="Surrogate occupancy",
        where="Section 4.4",
        claim="The two budgets and a temperature error delta contribute terms of the order of sqrt(kappa), "
        "sqrt(epsilon) and delta^2 to how far the surrogate occupancy is off; each is measured alone, and "
        "those of finite ensembles and samples are statements of their own.",
        expected=Verdict.CORRECTED,
        check=check_occupancy,
    ),
)
