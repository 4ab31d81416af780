"""Statements on the robust Bellman operator: contraction, monotonicity, translation and its fixed point."""

import numpy as np

from rapo.arrays import Floats
from rapo.tabular import Solved, backup, evaluate, policy_iteration, value_iteration
from rapo.tabular.markov import average
from rapo.theory.statement import Curve, Finding, Rate, Statement, Verdict, curve, slope
from rapo.theory.statements.worlds import BUDGETS, ROUNDING, World, worlds

_FINE = 1e-10
_SWEEPS = 50
_MIDDLE = BUDGETS[1]


def contraction(rng: np.random.Generator) -> Finding:
    """Distances of two value functions before and after the operator of the best action, or of a policy."""
    largest, excess, pairs = 0.0, -np.inf, 0
    for world in worlds(rng):
        gamma = world.mdp.discount
        for budget in BUDGETS:
            for scale in (0.01, 1.0, 100.0):
                first = world.values(rng, 10)
                second = first + world.values(rng, scale) + rng.choice([0, scale])
                apart = np.abs(first - second).max()
                rounding = 2 * ROUNDING * np.abs([first, second]).max() / apart
                for one, other in _images(world, (first, second), budget, rng):
                    ratio = np.abs(one - other).max() / apart
                    largest = max(largest, ratio / gamma)
                    excess = max(excess, ratio - gamma - rounding)
                    pairs += 1
    return Finding(
        measured=f"largest ratio of distances {largest:.6f} times the discount, over {pairs} pairs",
        predicted="1 times the discount",
        verdict=Verdict.of(excess <= 0),
        instances=pairs,
    )


def monotonicity(rng: np.random.Generator) -> Finding:
    """Raise the values of some states; the operator's result must not fall in any state."""
    deepest, excess, pairs = 0.0, -np.inf, 0
    for world in worlds(rng):
        for budget in BUDGETS:
            for scale in (0.01, 1.0, 10.0):
                low = world.values(rng, 10)
                high = low + np.abs(world.values(rng, scale)) * (world.values(rng) > 0)
                for one, other in _images(world, (low, high), budget, rng):
                    fall = float((one - other).max())
                    deepest = max(deepest, fall)
                    excess = max(excess, fall - 2 * ROUNDING * np.abs([low, high]).max())
                    pairs += 1
    return Finding(
        measured=f"deepest fall {deepest:.0e} over {pairs} pairs",
        predicted="0 up to rounding",
        verdict=Verdict.of(excess <= 0),
        instances=pairs,
    )


def translation(rng: np.random.Generator) -> Finding:
    """Add a constant to all values; the operator's result must rise by the discount times the constant."""
    largest, excess, pairs = 0.0, -np.inf, 0
    for world in worlds(rng):
        for budget in BUDGETS:
            for constant in rng.choice([-1, 1], 3) * 10 ** rng.uniform(-3, 3, 3):
                value = world.values(rng, 10)
                for one, other in _images(world, (value, value + constant), budget, rng):
                    off = float(np.abs(other - one - world.mdp.discount * constant).max())
                    largest = max(largest, off)
                    excess = max(excess, off - 2 * ROUNDING * np.abs([value, value + constant]).max())
                    pairs += 1
    return Finding(
        measured=f"largest deviation {largest:.0e} over {pairs} shifts by up to 1000",
        predicted="0 up to rounding",
        verdict=Verdict.of(excess <= 0),
        instances=pairs,
    )


def fixed_point(rng: np.random.Generator) -> Finding:
    """Value iteration, policy iteration and the greedy policy's value agree; sweeps approach them."""
    apart, beyond, late, curves, solved = 0.0, -np.inf, -np.inf, list[Curve](), 0
    for world in worlds(rng, random=3):
        gamma = world.mdp.discount
        for budget in BUDGETS[:2]:
            swept = value_iteration(world.mdp, budget, tolerance=_FINE)
            found = policy_iteration(world.mdp, budget, tolerance=_FINE)
            greedy = evaluate(world.mdp, swept.policy, budget, tolerance=_FINE)
            near = np.abs(found.value - swept.value).max()
            own = np.abs(greedy.value - swept.value).max()
            apart, solved = max(apart, near, own), solved + 1
            beyond = max(beyond, near - found.error - swept.error)
            # An action that is best for values that are off by e costs at most 2 e gamma / (1 - gamma).
            beyond = max(beyond, own - greedy.error - swept.error * (1 + 2 * gamma / (1 - gamma)))
        if len(curves) < 4:
            end = policy_iteration(world.mdp, _MIDDLE, tolerance=_FINE)
            # From above in every state: where errors cancel, sweeps are quicker than the discount.
            curves.insert(0, _distances(world, end.value + np.abs(world.values(rng, 30)), end))
            for line in (curves[0], _distances(world, world.values(rng, 30), end)):
                late = max(late, float(np.max(np.array(line.y) - np.array(line.x))))
    powers = np.array(curves[0].x)
    settled = slice(len(powers) // 2, None)
    rate = Rate(
        "Value iteration shrinks the distance by the discount in every sweep",
        "discount to the power of the sweeps",
        "distance to the fixed point, as a share of the first",
        (*curves, curve("the discount's power", powers, powers, reference=True)),
        slope(powers[settled], curves[0].y[settled]),
        1.0,
    )
    return Finding(
        measured=f"value iteration, policy iteration and the greedy policy agree to {apart:.0e} in {solved} "
        f"cases; distances exceed the discount's power by {max(late, 0):.0e}",
        predicted=f"certified errors of {_FINE:.0e}; 0 up to rounding",
        verdict=Verdict.of(beyond <= 0 and late <= ROUNDING),
        instances=solved,
        rates=(rate,),
    )


def _distances(world: World, start: Floats, end: Solved) -> Curve:
    """Distances to the fixed point, as shares of the first, sweep by sweep until rounding hides them."""
    value, distances = start, np.zeros(_SWEEPS)
    for sweep in range(_SWEEPS):
        distances[sweep] = np.abs(value - end.value).max()
        value = backup(world.mdp, value, _MIDDLE).max(axis=1)
    powers = world.mdp.discount ** np.arange(_SWEEPS)
    seen = distances > 100 * end.error
    # The fixed point is known within its error only, and that is what distances may be off by.
    return curve(world.name, powers[seen], (distances[seen] - end.error) / (distances[0] + end.error))


def _images(
    world: World, values: tuple[Floats, Floats], budget: float, rng: np.random.Generator
) -> list[tuple[Floats, Floats]]:
    """Two value functions under the operator of the best action, and under that of a random policy."""
    policy = world.policy(rng)
    pairs = [backup(world.mdp, value, budget) for value in values]
    best, own = [one.max(axis=1) for one in pairs], [average(policy, one) for one in pairs]
    return [(best[0], best[1]), (own[0], own[1])]


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        name="contraction",
        title="The robust operator is a contraction",
        where="Sec. 3, App. A.5 and G.1",
        claim="The robust operators of a policy and of the best action bring any two value functions closer "
        "in the largest difference, by the discount at least.",
        expected=Verdict.HOLDS,
        check=contraction,
    ),
    Statement(
        name="monotonicity",
        title="Monotonicity",
        where="App. G.1",
        claim="Where values are higher in every state, so are their images under the robust operator.",
        expected=Verdict.HOLDS,
        check=monotonicity,
    ),
    Statement(
        name="translation",
        title="Translation",
        where="App. G.1",
        claim="Adding a constant to all values adds the discount times that constant to their images.",
        expected=Verdict.HOLDS,
        check=translation,
    ),
    Statement(
        name="fixed-point",
        title="One fixed point, and value iteration finds it",
        where="Sec. 3 and App. G.1",
        claim="The robust operator has one fixed point, and value iteration from any start approaches it by "
        "the discount in every sweep.",
        expected=Verdict.HOLDS,
        check=fixed_point,
    ),
)
