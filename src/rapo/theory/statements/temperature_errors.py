"""Statements on the temperature of one row: how the dual depends on it, and what an error in it costs.

Values are measured in units of a row's spread, temperatures in units of 1 / spread or of the optimal one.
"""

import numpy as np

from rapo.arrays import Floats
from rapo.tabular.ensemble import divergence
from rapo.theory.statement import Finding, Rate, Statement, Verdict, curve, slope
from rapo.theory.statements import rows as row
from rapo.theory.statements import tilting
from rapo.theory.statements.rows import COUNT, ROUNDING, Rows, largest

DIFFERENCES = 1e-6
"""Allowed error of numerical derivatives: rounding of 1e-12 over steps of 1e-4, and some more for rows that
hardly determine a temperature."""


def identities(rng: np.random.Generator) -> Finding:
    """Numerical derivatives of a row's dual, KL and mean against their formulas, relative to the terms."""
    rows = row.draw(rng)
    values, p, budget = rows
    temperature = 10 ** rng.uniform(-1, 1, COUNT) / rows.spread
    here = tilting.tilted(values, p, temperature)
    step = 1e-3 * temperature
    kl = row.derivative(lambda t: tilting.tilted(values, p, t).kl, temperature, step)
    dual = row.derivative(lambda t: row.dual(values, p, t, budget), temperature, step)
    direction = rng.normal(size=values.shape)
    along = row.derivative(
        lambda x: tilting.tilted(values + x[:, None] * direction, p, temperature).soft,
        np.zeros(COUNT),
        1e-3 * rows.spread,
    )
    used = divergence(here.weights, p)
    log_partition = -temperature * here.soft
    wrong = {
        "dKL/deta = eta Var": np.abs(kl / (temperature * here.variance) - 1),
        "dual' = (budget - KL)/eta^2": np.abs(dual - (budget - used) / temperature**2)
        / ((budget + used) / temperature**2),
        "KL = -eta E_q V - log Z": np.abs(used + temperature * here.mean + log_partition)
        / (1 + temperature * np.abs(here.mean)),
        "gradient = tilted weights": np.abs(along - (here.weights * direction).sum(axis=1))
        / np.abs(direction).max(axis=1),
    }
    errors = {name: largest(error) for name, error in wrong.items()}
    name = max(errors, key=lambda key: errors[key])
    return Finding(
        measured=f"largest relative error of 4 identities {errors[name]:.0e} ({name})",
        predicted=f"0 up to the error of the differences, {DIFFERENCES:g}",
        verdict=Verdict.of(errors[name] < DIFFERENCES),
        instances=COUNT,
    )


def concavity(rng: np.random.Generator) -> Finding:
    """The dual's second derivative beyond its maximum, its single rise and fall, and concavity in 1/eta."""
    rows = row.draw(rng, 500)
    best = tilting.worst(*rows).temperature
    grid = best * np.geomspace(0.02, 100, 150)[:, None]
    tilted = tilting.tilted(rows.values, rows.weights, grid)
    dual = (tilted.soft - rows.budget / grid) / rows.spread
    convex = (tilting.curvature(tilted, grid, rows.budget) > 0).any(axis=0)
    # Far out the dual is flat to the last digit.
    steps = np.sign(np.where(np.abs(np.diff(dual, axis=0)) < 1e-14, 0, np.diff(dual, axis=0)))
    turns = (np.maximum.accumulate(-steps, axis=0) > 0) & (steps > 0)
    one, other = (best * 10 ** rng.uniform(-2, 2, (200, 500)) for _ in range(2))
    middle = 2 / (1 / one + 1 / other)
    at = [row.dual(rows.values, rows.weights, t, rows.budget) for t in (one, middle, other)]
    size = rows.spread + np.abs(at).max(axis=0)
    sag = largest((0.5 * (at[0] + at[2]) - at[1]) / size)
    return Finding(
        measured=f"second derivative positive somewhere beyond the maximum in {convex.mean():.0%} of rows; "
        f"{turns.sum()} second rises on {grid.size:,} temperatures; as a function of 1/eta below its chords "
        f"by {max(sag, 0):.0e} at most",
        predicted="negative everywhere",
        verdict=Verdict.of(not convex.any(), not turns.any() and sag < 1e-13),
        instances=500,
        correction="The dual rises to its one maximum and falls from there on, because KL grows with eta, so "
        "the maximum is unique; it is concave in 1/eta, not in eta.",
        counterexample=_two_values(),
    )


def _two_values() -> str:
    """The row of two values whose dual is convex beyond its maximum."""
    two, even, budget = np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.1
    best = float(tilting.worst(two, even, budget).temperature)
    grid = np.linspace(best, 10 * best, 1000)
    second = tilting.curvature(tilting.tilted(np.tile(two, (1000, 1)), even, grid), grid, budget)
    bend = grid[np.argmax(second > 0)]
    ends = np.array([6.0, 9.0, 12.0])
    low, middle, high = row.dual(np.tile(two, (3, 1)), even, ends, budget)
    return (
        f"Values 0 and 1, even weights, budget {budget:g}: maximum at {best:.3f}, convex from {bend:.2f} on; "
        f"the dual at 6, 9 and 12 is {low:.4f}, {middle:.4f} and {high:.4f}, "
        f"the chord's middle {(low + high) / 2:.4f}."
    )


def value_error(rng: np.random.Generator) -> Finding:
    """The dual's loss at a wrong temperature against the bound, and how it shrinks with the error."""
    rows = row.draw(rng)
    best, given, loss = _wrong(rng, rows)
    error = (given - best) ** 2 * rows.spread**2 / 8
    bound = error / np.minimum(given, best)
    sharper = error / given
    rate = effect_of_errors(rows, best, {"dual": 2})
    return Finding(
        measured=f"loss at most {largest(loss / bound):.3f} of the bound, {largest(loss / sharper):.3f} with "
        f"the temperature itself in the place of the smaller one; slope {rate.slope:.2f}",
        predicted="at most 1; slope 2",
        # Errors of up to 3% bend the line by about as much.
        verdict=Verdict.of(largest((loss - bound) / rows.spread) < ROUNDING and abs(rate.slope - 2) < 0.03),
        instances=COUNT,
        correction="The bound is true although its proof is not (it drops a term that is positive below the "
        "optimum): integrate (budget - KL)/eta^2 with dKL/deta at most eta spread^2/4.",
        rates=(rate,),
    )


def kl_residual(rng: np.random.Generator) -> Finding:
    """Bounds on the error of a temperature, and on what it costs, from how far its KL is from the budget."""
    rows = row.draw(rng)
    best, given, loss = _wrong(rng, rows)
    share = np.linspace(0, 1, 50)[:, None]
    variance = tilting.tilted(rows.values, rows.weights, best + share * (given - best)).variance.min(axis=0)
    residual = np.abs(rows.budget - tilting.tilted(rows.values, rows.weights, given).kl)
    smaller = np.minimum(best, given)
    # Sharp tilts leave no variance, and bounds without end: compare products, not quotients.
    ratio = np.abs(given - best) * smaller * variance / residual
    cost = loss * 8 * smaller**3 * variance**2 / (rows.spread * residual) ** 2
    return Finding(
        measured=f"error at most {largest(ratio):.3f} of its bound, loss {largest(cost):.3f} of its own",
        predicted="at most 1 and 1",
        # Small errors meet the bound but for what rounding leaves of the residual.
        verdict=Verdict.of(largest(ratio) < 1 + 1e-6 and largest(cost) < 1 + 1e-6),
        instances=COUNT,
    )


def smoothness(rng: np.random.Generator) -> Finding:
    """Derivatives of the optimal temperature: from the equation KL = budget, and numerical ones."""
    values, p, budget = rows = row.draw(rng)
    best = tilting.worst(*rows).temperature
    at = tilting.tilted(values, p, best)
    exponent = best[:, None] * (values - at.mean[:, None])
    change = rng.normal(size=values.shape) / best[:, None]
    lean = rng.normal(size=p.shape)
    lean -= (p * lean).sum(axis=1, keepdims=True)
    # eta Var deta + eta Cov_q(eta V, dV) - E_q[(eta V - E_q eta V + 1) dlog p] = dbudget
    sources = {
        "values": -best * (at.weights * exponent * change).sum(axis=1),
        "weights": (at.weights * (exponent + 1) * lean).sum(axis=1),
        "budget": budget,
    }

    def moved(source: str, by: Floats) -> Floats:
        leaning = p * np.exp(by[:, None] * lean) if source == "weights" else p
        return tilting.worst(
            values + by[:, None] * change if source == "values" else values,
            leaning / leaning.sum(axis=1, keepdims=True),
            budget * (1 + by) if source == "budget" else budget,
        ).temperature

    errors = []
    for source, effect in sources.items():
        predicted = effect / (best * at.variance)
        # A step that moves the temperature by a ten-thousandth at most, however steep it is.
        step = 1e-4 / (1 + np.abs(predicted) / best)
        found = row.derivative(lambda by, source=source: moved(source, by), np.zeros(COUNT), step)
        errors.append(largest(np.abs(found - predicted) / (best + np.abs(predicted))))
    return Finding(
        measured=f"largest relative error {errors[0]:.0e} in the values, {errors[1]:.0e} in the weights, "
        f"{errors[2]:.0e} in the budget",
        predicted=f"0 up to the error of the differences, {DIFFERENCES:g}",
        verdict=Verdict.of(max(errors) < DIFFERENCES),
        instances=COUNT,
    )


def _wrong(rng: np.random.Generator, rows: Rows) -> tuple[Floats, Floats, Floats]:
    """Optimal temperatures, wrong ones up to 30 times higher or lower, and what the dual loses by these."""
    best = tilting.worst(*rows).temperature
    given = best * 10 ** rng.uniform(-1.5, 1.5, len(best))
    loss = row.dual(rows.values, rows.weights, best, rows.budget) - row.dual(
        rows.values, rows.weights, given, rows.budget
    )
    return best, given, loss


def effect_of_errors(rows: Rows, best: Floats, kinds: dict[str, int]) -> Rate:
    """Mean change of targets as the relative error of the temperature shrinks, with lines of known slopes.

    kinds: targets, "dual", "soft" or "tilted", and the slope to draw beside each.
    """
    errors = np.geomspace(3e-4, 3e-2, 9)
    names = {"dual": "dual", "soft": "entropic risk", "tilted": "tilted mean"}

    def targets(temperature: Floats) -> dict[str, Floats]:
        tilted = tilting.tilted(rows.values, rows.weights, temperature)
        offset = rows.budget / temperature
        return {"dual": tilted.soft - offset, "soft": tilted.soft, "tilted": tilted.mean}

    exact, moved = targets(best), [targets(best * (1 + error)) for error in errors]
    curves, lines = [], {}
    for kind, order in kinds.items():
        mean = np.array([(np.abs(wrong[kind] - exact[kind]) / rows.spread).mean() for wrong in moved])
        curves.append(curve(names[kind], errors, mean))
        line = mean[0] * (errors / errors[0]) ** order
        lines[order] = curve(f"slope {order}", errors, line, reference=True)
    title = "Effect of an error in the temperature"
    axes = ("relative error of the temperature", "mean change, in units of the spread")
    return Rate(title, *axes, (*curves, *lines.values()), slope(curves[0].x, curves[0].y), 2)


STATEMENTS = (
    Statement(
        "tilt-identities",
        "Identities of the tilt",
        "App. A.2, A.3, C.4",
        "KL grows with the temperature at the rate eta Var, the dual at (budget - KL)/eta^2; KL is -eta "
        "times the tilted mean less log Z; and the gradient of the entropic risk is the tilted weights.",
        Verdict.HOLDS,
        identities,
    ),
    Statement(
        "dual-concavity",
        "Concavity of the dual",
        "App. C.2, C.4, C.5",
        "The dual is strictly concave in the temperature.",
        Verdict.CORRECTED,
        concavity,
    ),
    Statement(
        "temperature-error",
        "Temperature error in the dual",
        "Sec. 4.1, App. C.5",
        "A temperature that is off costs the dual at most spread^2/(8 eta_min) times the error squared.",
        Verdict.HOLDS,
        value_error,
    ),
    Statement(
        "kl-residual",
        "KL residual as a measure of error",
        "App. C.5",
        "The unused or exceeded part of the budget, over eta_min and the least tilted variance, bounds the "
        "error of the temperature, and its square the loss.",
        Verdict.HOLDS,
        kl_residual,
    ),
    Statement(
        "temperature-smoothness",
        "Smoothness of the optimal temperature",
        "App. C.4",
        "The optimal temperature is a differentiable function of values, weights and budget, where it is "
        "neither 0 nor infinite.",
        Verdict.HOLDS,
        smoothness,
    ),
)
