"""Statements on the worst expectation of one row: its dual, when the budget is used up, and entropic risk.

Rows stand for the next-state values of one pair of state and action under the nominal kernel. Everything is
measured in units of a row's spread, from its lowest to its highest value.
"""

import numpy as np

from rapo.arrays import Floats
from rapo.tabular.ensemble import divergence
from rapo.theory.statement import Finding, Rate, Statement, Verdict, curve, slope
from rapo.theory.statements import rows as row
from rapo.theory.statements import tilting
from rapo.theory.statements.rows import COUNT, OUTCOMES, ROUNDING, Rows, largest


def duality(rng: np.random.Generator) -> Finding:
    """The worst expectation, its dual and random points of the ball, which must not lie below it."""
    rows = row.draw(rng, beyond=0.2)
    solved = tilting.worst(*rows)
    excess = largest(divergence(solved.weights, rows.weights) - rows.budget)
    gap = largest(np.abs(_maximum(rows) - solved.value) / rows.spread)
    some = Rows(rows.values[::5], rows.weights[::5], rows.budget[::5])
    others = row.within(rng, some, 50)
    below = largest((solved.value[::5] - (others * some.values).sum(axis=-1)) / some.spread)
    return Finding(
        measured=f"largest gap {gap:.0e} of the spread; budget exceeded by {max(excess, 0):.0e} at most; "
        f"best of {others[..., 0].size:,} other points of the balls {-below:.0e} above",
        predicted="0, 0 and nothing below, up to rounding",
        verdict=Verdict.of(gap < 100 * ROUNDING and excess < 100 * ROUNDING and below < ROUNDING),
        instances=COUNT,
    )


def _maximum(rows: Rows) -> Floats:
    """The dual's maximum `[n]` over the temperature, by golden section on its logarithm."""
    golden = (np.sqrt(5) - 1) / 2
    # Where the budget allows the minimum, the dual approaches it as the temperature grows without end.
    low, high = np.log(1e-6 / rows.spread), np.log(1e13 / rows.spread)

    def value(at: Floats) -> Floats:
        return row.dual(rows.values, rows.weights, np.exp(at), rows.budget)

    for _ in range(50):
        left, right = high - golden * (high - low), low + golden * (high - low)
        rises = value(left) < value(right)
        low, high = np.where(rises, left, low), np.where(rises, high, right)
    return value(0.5 * (low + high))


def tightness(rng: np.random.Generator) -> Finding:
    """Whether the worst case uses all its budget, and the limit of KL as the temperature grows."""
    rows = row.draw(rng, beyond=0.3)
    solved = tilting.worst(*rows)
    inside = rows.budget < rows.ceiling
    unused = np.abs(solved.kl / rows.budget - 1)
    above = solved.value[~inside] - rows.values[~inside].min(axis=1)
    gaps = np.sort(rows.values, axis=1) - rows.values.min(axis=1, keepdims=True)
    sharp = 100 / np.where(gaps > 0, gaps, np.inf).min(axis=1)
    limit = largest(np.abs(tilting.tilted(rows.values, rows.weights, sharp).kl - rows.ceiling))
    two, even, budget = np.array([0.0, 1.0]), np.array([0.5, 0.5]), 1.0
    reached = tilting.tilted(np.tile(two, (3, 1)), even, np.array([1.0, 10.0, 100.0])).kl
    worst = tilting.worst(two, even, budget)
    return Finding(
        measured=f"budget met to {largest(unused[inside]):.0e} in {inside.sum():,} rows; in "
        f"{(~inside).sum():,} others up to {largest(unused):.0%} is left, "
        f"and KL at high temperatures is {limit:.0e} from its limit",
        predicted="KL = budget, and KL without bound",
        verdict=Verdict.of(
            as_written=largest(unused) < 1e-9,
            corrected=largest(unused[inside]) < 1e-9 and largest(np.abs(above)) == 0 and limit < 1e-9,
        ),
        instances=COUNT,
        correction="KL grows with the temperature up to log(1 / mass of the lowest value) and no further. "
        "Below that the budget is met at one temperature; from there on the worst expectation is the "
        "minimum, and the dual approaches it without attaining it.",
        counterexample=f"Values 0 and 1, even weights, budget {budget:g}: KL is {reached[0]:.4f}, "
        f"{reached[1]:.4f} and {reached[2]:.4f} at temperatures 1, 10 and 100, never above log 2 = "
        f"{np.log(2):.4f}; the worst expectation is {worst.value:g}, with {worst.kl:.4f} of the budget.",
    )


def hard_minimum(rng: np.random.Generator) -> Finding:
    """The budget at which the minimum of m samples is allowed, samples drawn with repetition or without."""
    models = rng.normal(size=(COUNT, OUTCOMES))
    drawn = rng.integers(0, OUTCOMES, (COUNT, OUTCOMES))
    samples = np.where(np.arange(COUNT)[:, None] % 2, np.take_along_axis(models, drawn, axis=1), models)
    lowest = samples.min(axis=1)
    shared = (samples == lowest[:, None]).sum(axis=1)
    m = OUTCOMES

    def allowed(budget: Floats) -> np.ndarray:
        return tilting.worst(samples, 1 / m, budget).value == lowest

    all_alike = np.full(COUNT, np.log(m))
    as_written = ~allowed(0.999 * all_alike) & allowed(1.001 * all_alike)
    need = np.log(m / shared)
    corrected = ~allowed(0.999 * need) & allowed(1.001 * need)
    tie = np.array([0.0, 0.0, 1.0])
    small = tilting.worst(tie, 1 / 3, 1.001 * np.log(3 / 2))
    single = shared == 1
    return Finding(
        measured=f"log {m} is needed in {as_written[single].mean():.0%} of {single.sum():,} rows with one "
        f"lowest sample, in {as_written[~single].mean():.0%} of {(~single).sum():,} with more than one",
        predicted=f"log {m} = {np.log(m):.3f} is needed",
        verdict=Verdict.of(bool(as_written.all()), bool(corrected.all())),
        instances=COUNT,
        correction="log(m / t), where t of the m samples share the lowest value, as they do where a model is "
        "drawn twice; log m where they are all different.",
        counterexample=f"Samples 0, 0 and 1: a budget of log(3/2) = {np.log(1.5):.4f} gives {small.value:g}, "
        f"the minimum, far below log 3 = {np.log(3):.4f}.",
    )


def entropic_risk(rng: np.random.Generator) -> Finding:
    """Properties of the entropic risk: the largest violation of each, in units of a row's spread."""
    rows = row.draw(rng)
    values, p, spread = rows.values, rows.weights, rows.spread
    temperature = 10 ** rng.uniform(-2, 2, COUNT) / spread
    here = tilting.tilted(values, p, temperature)
    constant = rng.normal(size=COUNT) * spread
    other = values + rng.normal(size=values.shape) * spread[:, None] * 10 ** rng.uniform(-3, 0, (COUNT, 1))
    elsewhere = tilting.tilted(other, p, temperature).soft
    higher = tilting.tilted(np.maximum(values, other), p, temperature).soft
    sharper = tilting.tilted(values, p, temperature * 10 ** rng.uniform(0, 1, COUNT)).soft
    mean = (p * values).sum(axis=1)
    others = rng.dirichlet(np.full(OUTCOMES, 0.5), (50, COUNT))
    penalised = (others * values).sum(axis=-1) + divergence(others, p) / temperature
    attained = here.mean + divergence(here.weights, p) / temperature
    moved = tilting.tilted(values + constant[:, None], p, temperature).soft
    broken = {
        "translation": np.abs(moved - here.soft - constant),
        "Lipschitz": np.abs(here.soft - elsewhere) - np.abs(values - other).max(axis=1),
        "monotone": np.maximum(here.soft, elsewhere) - higher,
        "falls with the temperature": sharper - here.soft,
        "at most the mean": here.soft - mean,
        "at least the minimum": values.min(axis=1) - here.soft,
        "penalised minimum": (here.soft - penalised).max(axis=0),
        "attained": np.abs(attained - here.soft),
    }
    worst = {name: largest(by / spread) for name, by in broken.items()}
    name = max(worst, key=lambda key: worst[key])
    return Finding(
        measured=f"largest violation of {len(worst)} properties {max(worst[name], 0):.0e} ({name})",
        predicted="0 up to rounding",
        verdict=Verdict.of(worst[name] < 10 * ROUNDING),
        instances=COUNT,
    )


def cumulants(rng: np.random.Generator) -> Finding:
    """What the entropic risk's expansion to third order leaves out, as the temperature falls."""
    rows = row.draw(rng)
    values = (rows.values - rows.values.min(axis=1, keepdims=True)) / rows.spread[:, None]
    mean = (rows.weights * values).sum(axis=1)
    m2, m3, m4, m5 = ((rows.weights * (values - mean[:, None]) ** n).sum(axis=1) for n in (2, 3, 4, 5))
    temperatures = np.geomspace(0.02, 0.2, 9)
    left = np.array(
        [
            np.abs(
                tilting.tilted(values, rows.weights, np.full(COUNT, t)).soft
                - (mean - t / 2 * m2 + t**2 / 6 * m3 - t**3 / 24 * (m4 - 3 * m2**2))
            ).mean()
            for t in temperatures
        ]
    )
    following = np.abs(m5 - 10 * m3 * m2).mean() / 120 * temperatures**4
    measured = slope(temperatures, left)
    share = left[0] / following[0]
    rate = Rate(
        "Remainder of the cumulant expansion",
        "temperature, in units of one over the spread",
        "mean remainder, in units of the spread",
        (
            curve("measured", temperatures, left),
            curve("next term of the expansion, slope 4", temperatures, following, reference=True),
        ),
        measured,
        4,
    )
    return Finding(
        measured=f"slope {measured:.2f}; remainder {share:.3f} of the next term at the lowest temperature",
        predicted="slope 4, and 1",
        # The term after the next is a share of about the temperature of it.
        verdict=Verdict.of(abs(measured - 4) < temperatures[-1] and abs(share - 1) < 2 * temperatures[0]),
        instances=COUNT,
        rates=(rate,),
    )


STATEMENTS = (
    Statement(
        "duality",
        "Duality",
        "Sec. 4.1, App. A.1",
        "The worst expectation over a KL ball is the supremum over the temperature of the entropic risk less "
        "budget over temperature.",
        Verdict.HOLDS,
        duality,
    ),
    Statement(
        "tightness",
        "Tightness of the budget",
        "App. A.2, B.5, C.3, C.4",
        "KL of the tilted weights grows without bound with the temperature, so that at the optimal one it "
        "equals the budget.",
        Verdict.CORRECTED,
        tightness,
    ),
    Statement(
        "hard-minimum",
        "Price of the hard minimum",
        "Sec. 4.1, App. C.1",
        "The minimum over m samples is out of reach of budgets below log m.",
        Verdict.CORRECTED,
        hard_minimum,
    ),
    Statement(
        "entropic-risk",
        "Entropic risk",
        "App. A.2, A.5, B.3",
        "Entropic risk moves with added constants, is monotone and 1-Lipschitz, falls with the temperature "
        "from the mean towards the minimum, and is the KL-penalised minimum, attained by the tilted weights.",
        Verdict.HOLDS,
        entropic_risk,
    ),
    Statement(
        "cumulants",
        "Cumulant expansion",
        "App. A.5",
        "Entropic risk is mean - eta/2 variance + eta^2/6 k3 - eta^3/24 k4, with a remainder of order eta^4.",
        Verdict.HOLDS,
        cumulants,
    ),
)
