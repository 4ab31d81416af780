"""Wrong arguments get one clear sentence, and leave everything as it was."""

import re
from dataclasses import replace

import numpy as np
import pytest

from rapo.errors import InputError
from rapo.world.find_task import make_task
from rapo.world.mujoco_cpu import MujocoSimulator

TASK = make_task("hopper")
N = 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"num_envs": 0}, "0 environments were asked for: allowed are whole numbers from 1"),
        ({"num_envs": -3}, "-3 environments were asked for"),
        ({"num_envs": 2.5}, "2.5 environments were asked for"),
        ({"seed": -1}, "seed -1 was given"),
        ({"threads": -1}, "-1 threads were asked for: allowed are whole numbers from 0"),
        ({"chunk": 0}, "0 branches in a chunk were asked for"),
        ({"dynamics": np.ones((N + 1, 4))}, "5 rows of dynamics were given for 4 environments"),
        ({"dynamics": [0, 1, 1, 1]}, "makes body_mass 0: it must stay above 0"),
        ({"force_bodies": ("fot",)}, "unknown body 'fot': did you mean 'foot'"),
    ],
)
def test_a_simulator_that_makes_no_sense_is_refused(options, says):
    with pytest.raises(InputError, match=says):
        MujocoSimulator(TASK, **{"num_envs": N, "seed": 0, **options})


def short(snapshot):
    return replace(snapshot, physics=snapshot.physics[:, :-1])


CALLS = {
    "action shape": (
        lambda s, p: s.step(np.zeros((N, 2))),
        r"actions of shape \(4, 2\) were given: allowed is \(4, 3\)",
    ),
    "action rows": (lambda s, p: s.step(np.zeros((N + 1, 3))), r"allowed is \(4, 3\)"),
    "action nan": (
        lambda s, p: s.step([[0, 0, 0], [0, np.nan, 0], [0, 0, 0], [0, 0, 0]]),
        "action 1 of row 1 is nan: allowed are finite numbers",
    ),
    "action inf": (lambda s, p: s.step(np.full((N, 3), np.inf)), "action 0 of row 0 is inf"),
    "forces without bodies": (
        lambda s, p: s.step(np.zeros((N, 3)), np.zeros((N, 1, 6))),
        r"forces of shape \(4, 1, 6\) were given: allowed is \(4, 0, 6\)",
    ),
    "reset dynamics": (lambda s, p: s.reset(np.ones((2, 4))), "2 rows of dynamics were given for 4"),
    "restore rows": (lambda s, p: s.restore(p[:2]), "a snapshot of 2 rows was given to 4 environments"),
    "restore width": (lambda s, p: s.restore(short(p)), r"physics of a snapshot has shape \(4, 57\)"),
    "restore another task": (
        lambda s, p: s.restore(replace(p, task="walker2d")),
        "of task 'walker2d' was given: allowed are rows of 'hopper'",
    ),
    "restore few elapsed": (
        lambda s, p: s.restore(replace(p, elapsed=p.elapsed[:2])),
        r"elapsed of a snapshot has shape \(2,\)",
    ),
    "branch few memories": (
        lambda s, p: s.branch(replace(p, memory=p.memory[:1]), np.zeros((N, 3)), np.ones((2, 4))),
        r"memory of a snapshot has shape \(1, 1\)",
    ),
    "actions of words": (lambda s, p: s.step([["a"] * 3] * N), "actions can't be read as numbers"),
    "branch nothing": (
        lambda s, p: s.branch(p[:0], np.zeros((0, 3)), np.ones((2, 4))),
        "a snapshot of 0 rows",
    ),
    "branch actions": (
        lambda s, p: s.branch(p, np.zeros((3, 3)), np.ones((2, 4))),
        r"actions of shape \(3, 3\) were given: allowed is \(4, 3\)",
    ),
    "branch without models": (
        lambda s, p: s.branch(p, np.zeros((N, 3)), np.ones((0, 4))),
        "dynamics of shape",
    ),
    "branch models": (
        lambda s, p: s.branch(p, np.zeros((N, 3)), np.ones((2, 3))),
        r"dynamics of shape \(2, 3\) were given: allowed is \[rows, 4\]",
    ),
    "branch massless": (
        lambda s, p: s.branch(p, np.zeros((N, 3)), [[1, 1, 1, 1], [-1, 1, 1, 1]]),
        "dynamics row 1 .* makes body_mass -",
    ),
    "more models in the mask than rows of models": (
        lambda s, p: s.branch(p, np.zeros((N, 3)), np.ones((2, 4)), only=np.ones((N, 3), bool)),
        r"only has shape \(4, 3\) and type bool: allowed is bool of shape \(4, 2\)",
    ),
    "mask of numbers": (
        lambda s, p: s.branch(p, np.zeros((N, 3)), np.ones((2, 4)), only=np.ones((N, 2))),
        "type float64: allowed is bool",
    ),
}


@pytest.mark.parametrize(("call", "says"), CALLS.values(), ids=CALLS.keys())
def test_a_call_that_makes_no_sense_is_refused_and_changes_nothing(call, says):
    simulator, untouched = (MujocoSimulator(TASK, N, seed=0) for _ in range(2))
    with pytest.raises(InputError, match=says) as caught:
        call(simulator, simulator.snapshot())
    assert "\n" not in str(caught.value)
    actions = np.full((N, 3), 0.3)
    for a, b in zip(simulator.step(actions), untouched.step(actions), strict=True):
        np.testing.assert_array_equal(a, b)


def step_until_refused(simulator, actions):
    """The snapshot before the step that was refused, and why it was."""
    for _ in range(200):
        before = simulator.snapshot()
        try:
            simulator.step(actions)
        except InputError as error:
            return before, str(error)
    raise AssertionError("no episode ended")


@pytest.mark.parametrize(
    ("fresh", "says"),
    [
        (lambda n, rng: np.full((n, 4), np.nan), "'mass' is nan in row 0"),
        (lambda n, rng: np.ones((n + 1, 4)), r"fresh returned \d+ rows of dynamics: it was asked for"),
        (lambda n, rng: np.ones((n, 3)), r"dynamics of shape \(\d+, 3\) were given"),
    ],
)
def test_fresh_dynamics_that_make_no_sense_leave_the_simulator_where_it_was(fresh, says):
    simulator, untouched = (MujocoSimulator(TASK, N, seed=0) for _ in range(2))
    actions = np.full((N, 3), 0.9)
    simulator.fresh = fresh
    before, error = step_until_refused(simulator, actions)
    assert re.search(says, error)
    after = simulator.snapshot()
    for name, array in before.arrays().items():
        if name != "physics":
            np.testing.assert_array_equal(array, getattr(after, name), err_msg=name)
    simulator.fresh = None
    untouched.restore(before)
    for a, b in zip(simulator.step(actions), untouched.step(actions), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_refused_step_leaves_no_force_behind():
    task, actions = TASK, np.full((N, 3), 0.9)
    forces = np.full((N, 1, 6), 3.0)
    simulator, untouched = (MujocoSimulator(task, N, seed=0, force_bodies=("foot",)) for _ in range(2))
    last = replace(simulator.snapshot(), elapsed=np.full(N, task.time_limit - 1))
    simulator.restore(last)
    simulator.fresh = lambda n, rng: np.ones((n + 1, 4))
    with pytest.raises(InputError, match="fresh returned"):
        simulator.step(actions, forces)
    simulator.fresh = None
    untouched.restore(last)
    for a, b in zip(simulator.step(actions), untouched.step(actions), strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_unknown_task_gets_the_nearest_known_one():
    with pytest.raises(InputError, match="unknown task 'walker': did you mean 'walker2d'"):
        make_task("walker")
