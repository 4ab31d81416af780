"""A task beside the environment that it stands for: from the same states and actions, the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rapo.errors import InputError
from rapo.world.engines import make_simulator

if TYPE_CHECKING:
    from rapo.tasks.wrapped.gymnasium_task import GymnasiumTask

EPISODES, STEPS = 2, 15
CLOSE = 1e-9
"""Numbers differ by at most this much, or this share of themselves."""


def check_side_by_side(task: GymnasiumTask) -> None:
    """Step a task and environments that know their own past, and refuse a task in which they differ.

    Of three environments, one has nominal dynamics, and the others are at the ends of the training ranges.
    """
    rows = np.stack((task.dynamics.nominal()[0], *task.dynamics.box()))
    originals = [task.make_original() for _ in rows]
    for original, row in zip(originals, rows, strict=True):
        task.dynamics.write(original.model, row)
    simulator = make_simulator(task, len(rows), seed=0, dynamics=rows, threads=1)
    rng = np.random.default_rng(1)
    low, high = (np.clip(end, -1, 1) for end in task.action_range)
    for episode in range(EPISODES):
        simulator.reset(states=task.begin(rows, np.random.default_rng(episode)))
        drawn = np.random.default_rng(episode)
        for i, original in enumerate(originals):
            original.np_random = drawn
            _compare(task, 0, "first observation", simulator.observation[i], original.reset()[0])
        running = set(range(len(rows)))
        for step in range(1, STEPS + 1):
            actions = rng.uniform(1.1 * low, 1.1 * high, (len(rows), task.action_size))
            taken = simulator.step(actions)
            for i in sorted(running):
                observation, reward, terminated, truncated, _ = originals[i].step(actions[i].copy())
                if taken.diverged[i]:
                    running.discard(i)
                    continue
                _compare(task, step, "observation", taken.next_observation[i], observation)
                _compare(task, step, "reward", taken.reward[i], reward)
                _compare(task, step, "end", (taken.terminated[i], False), (terminated, truncated))
                if terminated:
                    running.discard(i)


def _compare(task: GymnasiumTask, step: int, what: str, ours: Any, theirs: Any) -> None:
    ours, theirs = np.atleast_1d(ours).astype(np.float64), np.atleast_1d(theirs).astype(np.float64)
    wrong = np.flatnonzero(~np.isclose(ours, theirs, CLOSE, CLOSE))
    if len(wrong):
        i = int(wrong[0])
        where = f"number {i} of its {what}" if len(ours) > 2 else f"its {what}"
        why = (
            "observe, remember or score of the task differ from it"
            if task.is_batched
            else "it keeps more from step to step than mjData, numbers and arrays"
        )
        raise InputError(
            f"environment '{task.environment_name}' can't be used as a task: after {step} steps {where} is "
            f"{theirs[i]:g} and {ours[i]:g} in the task, so that {why}"
        )
