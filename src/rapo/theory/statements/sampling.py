"""Statements about the worst expectation as it is estimated from m sampled next states (App. A.3 to A.5).

The paper replaces Z = E exp(-eta V) by the mean over m samples. Rows of two values make everything exact: how
often the lower one is drawn is binomial, so that biases and probabilities are finite sums without noise. A
row is given by the probability p of its lower value and its depth x = eta (high - low); with 0 for the higher
value Z = 1 + p (e^x - 1).
"""

import numpy as np

from rapo.arrays import Floats
from rapo.theory.statement import Finding, Statement, Verdict, curve
from rapo.theory.statements.rates import agree, rate
from rapo.theory.statements.tilting import tilted, worst

RATE_TOLERANCE = 0.05
"""How far a measured slope may be from its prediction: terms of higher order at the smallest sizes."""


def binomial(trials: int, probability: Floats) -> Floats:
    """`[n, trials + 1]`, how likely each count is for each probability `[n]`, strictly between 0 and 1."""
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])
    count = np.arange(trials + 1)
    choose = log_factorial[trials] - log_factorial - log_factorial[::-1]
    p = probability[:, None]
    return np.exp(choose + count * np.log(p) + (trials - count) * np.log1p(-p))


def log_partition(probability: Floats, depth: Floats) -> Floats:
    """`log Z` of two-value rows, for true or for sampled probabilities of the lower value."""
    return np.log1p(probability * np.expm1(depth))


def failure(samples: int, probability: Floats, depth: Floats, correction: Floats) -> Floats:
    """`[n]`, how likely `log Z_m + correction < log Z`: the corrected estimate errs upward, exactly.

    correction: `[n, m + 1]`, for each count of the lower value.
    """
    share = np.arange(samples + 1) / samples
    estimate = log_partition(share, depth[:, None]) + correction
    above = estimate < log_partition(probability, depth)[:, None] - 1e-12
    return np.sum(binomial(samples, probability) * above, axis=1)


def _fixed_temperature(samples: int, probability: Floats, depth: Floats) -> tuple[Floats, Floats]:
    """Bias and standard deviation `[n]` of `-log Z_m`, in units of 1 / temperature."""
    law = binomial(samples, probability)
    error = log_partition(probability, depth)[:, None] - log_partition(
        np.arange(samples + 1) / samples, depth[:, None]
    )
    bias = np.sum(law * error, axis=1)
    return bias, np.sqrt(np.sum(law * (error - bias[:, None]) ** 2, axis=1))


def _best_temperature(samples: list[int], probability: float, budget: float) -> Floats:
    """The bias for each number of samples of the worst expectation of 0 and -1, temperature included."""
    shares = np.concatenate([np.arange(m + 1) / m for m in samples])
    estimate = worst([0.0, -1.0], np.stack([1 - shares, shares], axis=-1), budget).value
    truth = worst([[0.0, -1.0]], [1 - probability, probability], budget).value
    ends = np.cumsum([m + 1 for m in samples])[:-1]
    laws = [binomial(m, np.array([probability]))[0] for m in samples]
    pairs = zip(laws, np.split(estimate, ends), strict=True)
    return np.array([np.sum(law * (part - truth)) for law, part in pairs])


def check_bias(rng: np.random.Generator) -> Finding:
    """Exact biases of two-value rows: their sign everywhere, their rates on one row."""
    rows = 200
    probability, depth = rng.uniform(0.01, 0.99, rows), rng.uniform(0.1, 6, rows)
    sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    biases = np.array([_fixed_temperature(m, probability, depth)[0] for m in sizes])

    likely, budgets = rng.uniform(0.05, 0.5, 12), rng.uniform(0.02, 0.5, 12)
    best = np.array([_best_temperature([4, 16, 64], p, b) for p, b in zip(likely, budgets, strict=True)])

    p, x, large = np.array([0.3]), np.array([1.5]), np.array(sizes[4:])
    bias, deviation = np.array([np.ravel(_fixed_temperature(m, p, x)) for m in large]).T
    z = 1 + p * np.expm1(x)
    predicted = (p * (1 - p) * np.expm1(x) ** 2 / (2 * z**2)) / large
    supremum = _best_temperature(list(large), 0.3, 0.1)
    exact = curve("Var / (2 m Z^2)", large, predicted, reference=True)
    rates = (
        rate("Bias of the sampled dual at one temperature", ("samples m", "bias"), large, bias, -1, exact),
        rate("Bias of the sampled dual at its best temperature", ("samples m", "bias"), large, supremum, -1),
        rate("Spread of the sampled dual", ("samples m", "standard deviation"), large, deviation, -0.5),
    )
    upward = bool(biases.min() > 0 and best.min() > 0)
    slopes = [r.slope for r in rates]
    return Finding(
        measured=f"smallest bias {biases.min():+.1e} at one temperature, {best.min():+.1e} at the best one; "
        f"slopes in m {slopes[0]:.2f}, {slopes[1]:.2f}; of the standard deviation {slopes[2]:.2f}",
        predicted="above 0; slopes -1, -1; -1/2",
        verdict=Verdict.of(upward and agree(rates, RATE_TOLERANCE)),
        instances=biases.size + best.size,
        rates=rates,
    )


def check_correction(rng: np.random.Generator) -> Finding:
    """How likely the corrected estimate is above the truth, against how likely it may be."""
    rows = 300
    probability = np.exp(rng.uniform(np.log(0.002), np.log(0.9), rows))
    depth = rng.uniform(0.1, 12, rows)
    settings = [(m, allowed) for m in (4, 16, 64, 256) for allowed in (0.01, 0.05, 0.2)]
    papers, ours = [], []
    for m, xi in settings:
        papers.append(failure(m, probability, depth, _papers_correction(m, xi)) / xi)
        ours.append(failure(m, probability, depth, hoeffding_correction(m, xi, depth)) / xi)

    p, x, samples, allowed = np.array([0.01]), np.array([10.0]), 16, 0.05
    wrong = failure(samples, p, x, _papers_correction(samples, allowed))[0]
    unseen = binomial(samples, p)[0, 0]
    correction = _papers_correction(samples, allowed)
    cautious = hoeffding_correction(samples, allowed, x)[0, 0]
    return Finding(
        measured=f"errs upward with up to {np.max(papers):.3g} times the probability allowed; "
        f"with Hoeffding's correction {np.max(ours):.2g} times",
        predicted="at most 1 times",
        verdict=Verdict.of(np.max(papers) <= 1, np.max(ours) <= 1),
        instances=rows * len(settings),
        correction="the correction must know the range R of exp(-eta V): -1/eta log(Z_m + R sqrt(log(1/xi) "
        "/ 2m)), as safe as less -log(1 - t)/eta with t = R sqrt(log(1/xi) / 2m) / Z, infinite from t = 1; "
        "no multiple of sqrt(log(1/xi) / m) does for every V. (The paper's inequality bounds the "
        "estimate from below; what is conservative is a bound from above, with log(1 - t) in place of "
        "log(1 + t).)",
        counterexample=f"V = {-x[0]:g} with probability {p[0]:g}, else 0; eta = 1, m = {samples}, xi = "
        f"{allowed:g}: with probability {unseen:.3f} no sample shows it and the corrected estimate is "
        f"{-correction:.2f}, with Hoeffding's correction {-cautious:.2f}, the truth "
        f"{-log_partition(p, x)[0]:.2f}; in all it errs upward with probability {wrong:.3f}",
    )


def check_concentration(rng: np.random.Generator) -> Finding:
    """The 95% quantile of the error of the sampled entropic risk on random rows within [-M, M]."""
    rows, values, draws, size = 30, 6, 400, 1.0
    v = rng.uniform(-size, size, (rows, values))
    v[:, 0], v[:, 1] = -size, size
    weights = rng.dirichlet(np.ones(values), rows)
    eta = rng.uniform(0.25, 2.5, rows)
    truth = tilted(v, weights, eta).log_partition
    samples = np.array([16, 64, 256, 1024, 4096])
    quantile = np.empty((len(samples), rows))
    for i, m in enumerate(samples):
        shares = rng.multinomial(m, weights[:, None], size=(rows, draws)) / m
        estimate = np.log(np.sum(shares * np.exp(-eta[:, None] * v)[:, None], axis=-1))
        quantile[i] = np.quantile(np.abs(estimate - truth[:, None]), 0.95, axis=1) / eta
    order = np.exp(2 * eta * size) / (eta * np.sqrt(samples)[:, None])
    ratio = float(np.max(quantile / order))
    limit = float(np.sqrt(np.log(2 / 0.05) / 2))
    typical = np.exp(np.log(quantile).mean(axis=1))
    axes = ("samples m", "95% quantile of the error, geometric mean over rows")
    rates = (rate("Error of the sampled entropic risk", axes, samples, typical, -0.5),)
    return Finding(
        measured=f"95% quantile at most {ratio:.2f} e^(2 eta M) / (eta sqrt m); slope in m "
        f"{rates[0].slope:.2f}",
        predicted=f"at most {limit:.2f} (Hoeffding); slope -1/2",
        verdict=Verdict.of(ratio <= limit and agree(rates, RATE_TOLERANCE)),
        instances=rows * len(samples) * draws,
        rates=rates,
    )


def hoeffding_correction(samples: int, allowed: float, depth: Floats) -> Floats:
    """`[n, m + 1]`, log(Z_m + R sqrt(log(1/xi) / 2m)) - log Z_m, for each count of the lower value."""
    known = np.expm1(depth)[:, None] * np.sqrt(-np.log(allowed) / (2 * samples))
    share = np.arange(samples + 1) / samples
    return np.log1p(known * np.exp(-log_partition(share, depth[:, None])))


def _papers_correction(samples: int, allowed: float) -> Floats:
    return np.sqrt(-np.log(allowed) / samples)


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        name="sampled-dual-bias",
        title="The sampled dual errs upward",
        where="App. A.3",
        claim="With m sampled next states the dual is too high on average, at one temperature and at the "
        "best one.",
        expected=Verdict.HOLDS,
        check=check_bias,
    ),
    Statement(
        name="sampled-dual-correction",
        title="The correction for the upward bias",
        where="App. A.4",
        claim="Less sqrt(log(1/xi) / m) / eta, the sampled dual is above the truth with probability xi at "
        "most.",
        expected=Verdict.CORRECTED,
        check=check_correction,
    ),
    Statement(
        name="sampled-risk-concentration",
        title="Concentration of the sampled entropic risk",
        where="App. A.5",
        claim="For values in [-M, M] the error of m samples is of the order e^(2 eta M) / (eta sqrt m).",
        expected=Verdict.HOLDS,
        check=check_concentration,
    ),
)
