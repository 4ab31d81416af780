"""Four tiny statements about rows of numbers: what becomes of each is known."""

import numpy as np
import pytest

from rapo.theory.statement import Finding, Part, Rate, Statement, Verdict, curve, slope

SIZES = (16, 64, 256, 1024)


def mean_converges(rng):
    """The error of a mean falls with the square root of the number of draws."""
    errors = [float(np.sqrt(np.mean(rng.normal(size=(400, n)).mean(axis=1) ** 2))) for n in SIZES]
    found = slope(SIZES, errors)
    drawn = (
        curve("measured", SIZES, errors),
        curve("prediction", SIZES, np.power(SIZES, -0.5), reference=True),
    )
    rate = Rate("Error of a mean", "draws n", "error", drawn, found, -0.5)
    verdict = Verdict.of(abs(found + 0.5) < 0.1)
    return Finding(f"slope {found:.3f} over {len(SIZES)} sizes", "slope -0.5", verdict, 1600, rates=(rate,))


def median_is_the_mean(rng):
    """It is not, but it is never more than a standard deviation away."""
    rows = rng.exponential(size=(200, 9))
    apart = np.abs(np.median(rows, axis=1) - rows.mean(axis=1))
    example = np.array([0.0, 0.0, 1.0])
    return Finding(
        f"up to {apart.max():.3f} apart over 200 rows",
        "0",
        Verdict.of(bool((apart < 1e-12).all()), bool((apart <= rows.std(axis=1)).all())),
        200,
        "The two are at most a standard deviation apart.",
        f"row    (0, 0, 1)\nmedian {np.median(example):.4f}\nmean   {example.mean():.4f}",
    )


def mean_is_inside(rng):
    rows = rng.normal(size=(100, 5))
    mean = rows.mean(axis=1)
    inside = (rows.min(axis=1) <= mean) & (mean <= rows.max(axis=1))
    return Finding(f"{inside.sum()} of 100 rows", "all", Verdict.of(bool(inside.all())), 100)


def stops(rng):
    np.stack([rng.normal(size=3), rng.normal(size=4)])
    return Finding("never", "", Verdict.HOLDS, 1)


STATEMENTS = {
    name: Statement(name, title, where, claim, expected, check)
    for name, title, where, claim, expected, check in (
        ("mean-rate", "A mean converges", "Section 1", "It does.", Verdict.HOLDS, mean_converges),
        ("median", "Median and mean", "Section 2", "They are equal.", Verdict.CORRECTED, median_is_the_mean),
        ("inside", "A mean is inside", "Section 3", "Of its row.", Verdict.FAILS, mean_is_inside),
        ("stops", "A check that stops", "Section 4", "It can't be made.", Verdict.FAILS, stops),
    )
}


@pytest.fixture(scope="session")
def parts():
    """Two as expected, one that holds though it should not, and one whose check raises an error."""
    said = STATEMENTS.values()
    return (
        Part("first_part", "Means", "Of means", tuple(said)[:2]),
        Part("second_part", "More", "More of means", tuple(said)[2:]),
    )


@pytest.fixture
def small_theory(parts, monkeypatch):
    """`rapo.theory` with these statements alone."""
    monkeypatch.setattr("rapo.theory.PARTS", parts)
