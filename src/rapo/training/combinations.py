"""Which parts of an algorithm go together, and with which task: what does not is refused in one sentence."""

from rapo.algorithms.draws import Ensemble
from rapo.algorithms.mixture import Boltzmann
from rapo.algorithms.spec import Algorithm
from rapo.algorithms.steering import TiltedSteps
from rapo.algorithms.targets import CriticNorm, Mean, Steady
from rapo.errors import InputError
from rapo.world.task import Task


def check_combination(algorithm: Algorithm, task: Task, rows: int) -> None:
    """Refuse an algorithm whose parts contradict each other or the task; rows: B, the steps of an update."""
    _check_rollout(algorithm)
    _check_once(algorithm)
    _check_sensitivity(algorithm, task, rows)
    _check_reach(algorithm, task)
    _check_scores(algorithm)


def _steers(algorithm: Algorithm) -> bool:
    return algorithm.steering is not None or algorithm.choosing is not None


def _check_rollout(algorithm: Algorithm) -> None:
    """`rollout=tilted` and a part that steers belong together."""
    draws = algorithm.dynamics
    if not isinstance(draws, Ensemble):
        return
    if draws.rollout == "tilted" and not _steers(algorithm):
        twice = " and its targets are tilted already" if isinstance(algorithm.targets, Mean) else ""
        raise InputError(
            f"option rollout is tilted, but algorithm '{algorithm.name}' has no part that steers "
            f"steps{twice}: allowed are mixture and nominal, or --algo rapo"
        )
    if draws.rollout != "tilted" and _steers(algorithm):
        raise InputError(
            f"option rollout is {draws.rollout}, but algorithm '{algorithm.name}' steers every step: "
            "allowed is tilted, or --algo rapo-no-tilt"
        )


def _check_once(algorithm: Algorithm) -> None:
    """One adversary, who acts once."""
    if _steers(algorithm) and isinstance(algorithm.targets, Mean | CriticNorm):
        raise InputError(
            f"algorithm '{algorithm.name}' has tilted rollouts and targets of "
            f"{type(algorithm.targets).__name__}, which would count the adversary twice: allowed with "
            "tilted rollouts are plain targets of the steps that were taken"
        )
    if _steers(algorithm) and algorithm.opponent is not None:
        raise InputError(
            f"algorithm '{algorithm.name}' has tilted rollouts and an opponent that pushes: allowed "
            "is one of them"
        )
    if algorithm.steering is not None and algorithm.choosing is not None:
        raise InputError(
            f"algorithm '{algorithm.name}' draws the dynamics of steps and chooses among branches: "
            "allowed is one"
        )


def _check_sensitivity(algorithm: Algorithm, task: Task, rows: int) -> None:
    """What uses sensitivities has them, and the task has something to be sensitive to."""
    names = tuple(task.dynamics.names[i] for i in task.dynamics.movable)
    if algorithm.choosing is not None and not names:
        raise InputError(
            f"algorithm '{algorithm.name}' tilts steps, and task '{task.name}' has no uncertain "
            "parameter that can change within an episode: choose --algo ppo"
        )
    if isinstance(algorithm.targets, Steady) and algorithm.targets.centred and algorithm.steering is None:
        raise InputError(
            f"option centred is true, but algorithm '{algorithm.name}' draws no dynamics for its steps: "
            "allowed is false"
        )
    if algorithm.sensitivity is not None:
        algorithm.sensitivity.check(names, rows)
        return
    users = {
        "steps tilted by sensitivities": algorithm.steering is not None,
        "branches=learned": isinstance(algorithm.targets, Mean) and algorithm.targets.branches == "learned",
        "score=learned": isinstance(algorithm.mixture, Boltzmann) and algorithm.mixture.score == "learned",
    }
    for what, needs in users.items():
        if needs:
            raise InputError(
                f"algorithm '{algorithm.name}' has {what} but learns no sensitivities: give it, in Python, a "
                "part sensitivity, such as rapo.algorithms.probes.Sensitivity()"
            )


def _check_reach(algorithm: Algorithm, task: Task) -> None:
    """The box of steps stays within the test ranges."""
    steering = algorithm.steering
    if not isinstance(steering, TiltedSteps) or steering.law == "models":
        return
    reach = max(steering.reach.start, steering.reach.end or 0)
    for parameter in (task.dynamics.parameters[i] for i in task.dynamics.movable):
        (low, high), (least, most) = parameter.train, parameter.test
        middle, half = (low + high) / 2, (high - low) / 2
        allowed = max(1.0, min(most - middle, middle - least) / half)
        if reach > allowed * (1 + 1e-9):
            raise InputError(
                f"option reach is {reach:g}: allowed are at most {allowed:g}, where the box leaves "
                f"the test range of parameter '{parameter.name}'"
            )


def _check_scores(algorithm: Algorithm) -> None:
    """Models are scored by the episodes played under them only where episodes are."""
    draws, mixture, steering = algorithm.dynamics, algorithm.mixture, algorithm.steering
    if not isinstance(draws, Ensemble) or not isinstance(mixture, Boltzmann) or mixture.score != "played":
        return
    around = isinstance(steering, TiltedSteps) and steering.law != "models" and steering.box_around == "model"
    if draws.rollout == "nominal" or (draws.rollout == "tilted" and not around):
        raise InputError(
            f"score=played needs episodes played under the models, and rollout is {draws.rollout}: "
            "allowed is rollout=mixture, rollout=tilted with box_around=model, or another score"
        )
