"""Statements about robust Bellman operators of K drawn models: fixed points and policies (App. F.5 and F.6).

The next state is a function of state, action and a model omega, uniform on [0, 1]: each pair (s, a) cuts a
circle into arcs, one for each next state, and omega falls into one. The family's kernel `[S, A, S]` holds the
lengths of the arcs, the kernel of K models the shares of models that fall there. For every pair the mixture
of models is the worst within a KL budget; its temperature is not bounded unless a window is named.
"""

import numpy as np

from rapo.arrays import Floats
from rapo.theory.statement import Finding, Statement, Verdict
from rapo.theory.statements.rates import agree, rate
from rapo.theory.statements.tilting import tilted, worst
from rapo.theory.statements.whole_trajectories import values

DISCOUNT, KAPPA = 0.5, 0.1
STATES, ACTIONS = 6, 3
SIZES, DRAWS = np.array([64, 256, 1024, 4096]), 40
SWEEPS = 27
"""Sweeps of value iteration, after which the start no longer matters: 0.5^27 is below 1e-8."""
RATE_TOLERANCE = 0.1
"""How far a measured slope may be from its prediction: four times its sampling error with 40 draws."""
ROUNDING = 1e-7
"""Allowed error of fixed points: what `SWEEPS` sweeps leave of the start."""
SHORT = 0.01
"""How much less the sure state pays than a won gamble, in the counterexample."""


def arcs(rng: np.random.Generator) -> Floats:
    """`[S, A, S + 1]`, where the arcs of each pair begin and end on a circle of length 1."""
    lengths = rng.dirichlet(np.ones(STATES), (STATES, ACTIONS))
    ends = np.concatenate([np.zeros((STATES, ACTIONS, 1)), np.cumsum(lengths, axis=-1)], axis=-1)
    return rng.random((STATES, ACTIONS, 1)) + ends


def drawn_kernels(edges: Floats, omega: Floats) -> Floats:
    """`[n, S, A, S]`, the shares of models `[n, K]` in each arc."""
    turns, place = np.divmod(edges, 1)
    before = np.stack([np.searchsorted(np.sort(row), place) for row in omega])
    return np.diff(turns + before / omega.shape[1], axis=-1)


def backup(kernel: Floats, rewards: Floats, value: Floats) -> Floats:
    """`[..., S, A]`, reward and discounted worst expectation of values `[..., S]`."""
    return rewards + DISCOUNT * worst(value[..., None, None, :], kernel, KAPPA).value


def solve(kernel: Floats, rewards: Floats, start: Floats) -> Floats:
    """`[..., S]`, the fixed point of the robust operator, by sweeps from values `[S]`."""
    value = np.broadcast_to(start, kernel.shape[:-2])
    for _ in range(SWEEPS):
        value = backup(kernel, rewards, value).max(axis=-1)
    return value


def evaluate(kernel: Floats, rewards: Floats, policy: np.ndarray) -> Floats:
    """`[n, S]`, robust values of policies `[n, S]`, by solving for worst kernel and value in turns."""
    states = np.arange(kernel.shape[0])
    base, reward = kernel[states, policy], rewards[states, policy]
    value = values(base, reward, DISCOUNT)
    for _ in range(6):
        value = values(worst(value[..., None, :], base, KAPPA).weights, reward, DISCOUNT)
    return value


def check_operator(rng: np.random.Generator) -> Finding:
    """The operator of K models applied to the family's value, and its fixed point, against the family's."""
    edges, rewards = arcs(rng), rng.uniform(0, 1, (STATES, ACTIONS))
    truth = np.diff(edges, axis=-1)
    best = solve(truth, rewards, np.zeros(STATES))
    kernels = np.stack([drawn_kernels(edges, rng.random((DRAWS, size))) for size in SIZES])
    operator = np.abs(backup(kernels, rewards, best).max(axis=-1) - best).max(axis=-1)
    fixed = np.abs(solve(kernels, rewards, best) - best).max(axis=-1)
    ratio = np.max(fixed * (1 - DISCOUNT) / operator)

    window = np.geomspace(0.5, 50, 40)
    logs = [tilted(best, k[..., None, :], window).log_partition for k in (kernels, truth)]
    drawn, whole = ((rewards + DISCOUNT * np.max(-(x + KAPPA) / window, axis=-1)).max(axis=-1) for x in logs)
    partition = np.abs(logs[0] - logs[1]).max(axis=(-3, -2, -1))
    within = np.max(np.abs(drawn - whole).max(axis=-1) / (DISCOUNT / window[0] * partition))

    axis = "largest difference, root mean square"
    rates = tuple(
        rate(title, ("models K", axis), SIZES, np.sqrt(np.mean(y**2, axis=1)), -0.5)
        for title, y in (("Operator of K models", operator), ("Fixed point of K models", fixed))
    )
    return Finding(
        measured=f"slopes {rates[0].slope:.2f} of the operator, {rates[1].slope:.2f} of its fixed point; at "
        f"most {within:.2f} and {ratio:.2f} of the bounds by log Z and by 1 / (1 - gamma)",
        predicted="-1/2, -1/2; at most 1",
        verdict=Verdict.of(agree(rates, RATE_TOLERANCE) and bool(max(within, ratio) <= 1 + ROUNDING)),
        instances=kernels.shape[0] * kernels.shape[1],
        rates=rates,
    )


def check_policy(rng: np.random.Generator) -> Finding:
    """What greedy policies of K models lose under the family, against the paper's and a corrected bound."""
    edges = arcs(rng)
    rewards = rng.uniform(0, 1, (STATES, 1)) + 0.1 * rng.uniform(0, 1, (STATES, ACTIONS))
    truth = np.diff(edges, axis=-1)
    kernels = np.concatenate([drawn_kernels(edges, rng.random((DRAWS, size))) for size in SIZES])
    lost, lost_under_truth, distance, backups = _losses(truth, kernels, rewards)
    factor = 2 * DISCOUNT / (1 - DISCOUNT)
    y = np.sqrt(np.mean(backups.reshape(len(SIZES), DRAWS) ** 2, axis=1))
    axes = ("models K", "bound, root mean square")
    rates = (rate("Corrected bound on the loss of the policy", axes, SIZES, y, -0.5),)

    one = [float(x[0]) for x in _losses(*_gamble())]
    allowed = factor * one[2]
    as_written = np.all(lost <= factor * distance + ROUNDING) and one[0] <= allowed + ROUNDING
    ideal = np.all(lost_under_truth <= factor * distance + ROUNDING) and one[1] <= allowed + ROUNDING
    corrected = ideal and np.all(lost <= backups + ROUNDING) and one[0] <= one[3] + ROUNDING
    return Finding(
        measured=f"{np.mean(lost > ROUNDING):.0%} of the policies lose something, "
        f"{np.max(lost / (factor * distance)):.2f} of the bound at most on random MDPs, but "
        f"{one[0] / allowed:.0f} times the bound on the one below; greedy under the family's "
        f"operator at most {np.max(lost_under_truth / (factor * distance)):.2f}, against the corrected "
        f"bound {max(np.max(lost / backups), one[0] / one[3]):.2f}",
        predicted="at most 1",
        verdict=Verdict.of(bool(as_written), bool(corrected) and agree(rates, RATE_TOLERANCE)),
        instances=len(kernels) + 1,
        correction="2 gamma / (1 - gamma) |V_K - V*| bounds the loss of the policy that is greedy for V_K "
        "under the family's operator; the one that K models know is greedy under theirs, and loses at most "
        "(e(V*) + e(V_K)) / (1 - gamma), e(V) the largest difference of the two backups of V over all "
        "pairs (s, a): of the order K^(-1/2) all the same",
        counterexample=f"one decision, gamma = {DISCOUNT:g}, kappa = {KAPPA:g}: a sure {1 - SHORT:g} a "
        "step, or 1 if omega < 1/2 and 0 if not; K = 1 model drawn, with omega = 1/4, gambles: |V_K - V*| "
        f"= {one[2]:.3f} allows a loss of {allowed:.3f}, the loss is {one[0]:.3f} (corrected "
        f"bound {one[3]:.2f})",
        rates=rates,
    )


def _gamble() -> tuple[Floats, Floats, Floats]:
    """Kernel of the family, kernel of one drawn model, rewards; states: start, won, lost, sure."""
    edges = np.zeros((4, 2, 5))
    for state, action, lengths in (
        *((s, a, np.eye(4)[s]) for s in (1, 2, 3) for a in (0, 1)),
        (0, 0, [0, 0, 0, 1]),
        (0, 1, [0, 0.5, 0.5, 0]),
    ):
        edges[state, action, 1:] = np.cumsum(lengths)
    rewards = np.repeat([[0.0], [1.0], [0.0], [1 - SHORT]], 2, axis=1)
    return np.diff(edges, axis=-1), drawn_kernels(edges, np.array([[0.25]])), rewards


def _losses(truth: Floats, kernels: Floats, rewards: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """For each drawn kernel `[n]`: what its greedy policy loses and what the one greedy under the true
    operator loses, from the state where that is most; |V_K - V*|; and the corrected bound."""
    best = solve(truth, rewards, np.zeros(len(truth)))
    value = solve(kernels, rewards, best)
    own, true = backup(kernels, rewards, value), backup(truth, rewards, value)
    policies = (action_value.argmax(axis=-1) for action_value in (own, true))
    known, ideal = (np.abs(best - evaluate(truth, rewards, policy)).max(axis=-1) for policy in policies)
    at_best = np.abs(backup(kernels, rewards, best) - backup(truth, rewards, best)).max(axis=(-2, -1))
    at_value = np.abs(own - true).max(axis=(-2, -1))
    return known, ideal, np.abs(value - best).max(axis=-1), (at_best + at_value) / (1 - DISCOUNT)


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        name="ensemble-operator",
        title="Operator and fixed point of K models",
        where="App. F.5",
        claim="The robust operator of K models and its fixed point are off by the order of K^(-1/2).",
        expected=Verdict.HOLDS,
        check=check_operator,
    ),
    Statement(
        name="ensemble-policy",
        title="Greedy policy of K models",
        where="App. F.6",
        claim="The greedy policy of K models loses at most 2 gamma / (1 - gamma) times |V_K - V*|.",
        expected=Verdict.CORRECTED,
        check=check_policy,
    ),
)
