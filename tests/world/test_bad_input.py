"""Wrong arguments get one clear sentence, and leave everything as it was."""

from dataclasses import replace

import numpy as np
import pytest

from rapo.errors import InputError
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.tasks import make_task

TASK = make_task("hopper")
N = 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"num_envs": 0}, "0 environments were asked for: it must be at least 1"),
        ({"num_envs": -3}, "-3 environments were asked for"),
        ({"threads": -1}, "-1 threads were asked for: it must be at least 0"),
        ({"chunk": 0}, "0 branches in a chunk were asked for: it must be at least 1"),
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
        "action 1 of row 1 is nan: it must be finite",
    ),
    "action inf": (lambda s, p: s.step(np.full((N, 3), np.inf)), "action 0 of row 0 is inf"),
    "forces without bodies": (
        lambda s, p: s.step(np.zeros((N, 3)), np.zeros((N, 1, 6))),
        r"forces of shape \(4, 1, 6\) were given: allowed are finite ones of shape \(4, 0, 6\)",
    ),
    "reset dynamics": (lambda s, p: s.reset(np.ones((2, 4))), "2 rows of dynamics were given for 4"),
    "restore rows": (lambda s, p: s.restore(p[:2]), "a snapshot of 2 rows was given to 4 environments"),
    "restore width": (lambda s, p: s.restore(short(p)), "task 'hopper' needs at least one row"),
    "branch nothing": (
        lambda s, p: s.branch(p[:0], np.zeros((0, 3)), np.ones((2, 4))),
        "a snapshot with 0 rows",
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


def test_an_unknown_task_gets_the_nearest_known_one():
    with pytest.raises(InputError, match="unknown task 'walker': did you mean 'walker2d'"):
        make_task("walker")
