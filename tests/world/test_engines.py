"""Engines by name: one function makes the simulator of a task, whichever engine it runs on."""

import sys
from typing import Any

import numpy as np
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError
from rapo.runs.run import Run
from rapo.training.config import make_config
from rapo.training.loop import Training
from rapo.world import engines
from rapo.world.mujoco_cpu import MujocoSimulator

TINY: dict[str, Any] = {"num_envs": 4, "horizon": 8, "epochs": 1, "minibatches": 2}


class Counting(MujocoSimulator):
    """An engine of one's own: MuJoCo's, counting what is asked of it."""

    made = 0

    def __init__(self, task, num_envs, **given):
        type(self).made += 1
        super().__init__(task, num_envs, **given)


def test_the_usual_engine_is_mujoco_on_cpu_threads():
    simulator = rapo.make_simulator(rapo.make_task("hopper"), 3, seed=5)
    assert isinstance(simulator, MujocoSimulator)
    same = MujocoSimulator(rapo.make_task("hopper"), 3, seed=5)
    np.testing.assert_array_equal(simulator.observation, same.observation)


def test_an_unknown_engine_is_refused_with_the_list(tmp_path, capsys):
    with pytest.raises(InputError, match="unknown engine 'gpu': did you mean 'cpu'\\? allowed are cpu"):
        rapo.make_simulator(rapo.make_task("hopper"), 1, engine="gpu", seed=0)
    with pytest.raises(SystemExit):
        main(["train", "hopper", "--engine", "gpu", "--out", str(tmp_path / "run")])
    assert capsys.readouterr().err.startswith("rapo: unknown engine 'gpu'")
    assert not (tmp_path / "run").exists()


def test_training_evaluation_and_heatmaps_run_on_the_engine_that_was_named(tmp_path, monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "counting", f"{__name__}:Counting")
    monkeypatch.setattr(engines, "import_module", lambda name: sys.modules[name])
    usual = Training(make_config("hopper", "ppo", steps=64, options=TINY))
    run = rapo.train(
        "hopper",
        "ppo",
        steps=64,
        out=tmp_path / "run",
        engine="counting",
        quiet=True,
        heatmap_every=1,
        **TINY,
    )
    assert Counting.made == 2  # the environments, and those that heatmaps branch in
    assert Run(run.folder).config().engine == "counting"
    rapo.sweep(run, episodes=1, parameters=["mass"], scales=[1.0])
    assert Counting.made > 2
    while not usual.finished:
        usual.update()
    made = run.training()
    np.testing.assert_array_equal(made.simulator.observation, usual.simulator.observation)
    assert made.config.describe()["engine"] == "counting"
