"""Tiny runs that several tests look at, and may copy but not change."""

import shutil

import pytest

import rapo
from rapo.runs.run import Run

TINY = {"num_envs": 4, "horizon": 8, "minibatches": 2, "epochs": 1}


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory):
    """Two runs of Hopper that learned next to nothing, each with two rows of heatmaps."""
    folder = tmp_path_factory.mktemp("tiny")
    return [
        rapo.train(
            "hopper",
            "ppo",
            steps=4 * 32,
            seed=seed,
            out=folder / str(seed),
            quiet=True,
            heatmap_every=2,
            **TINY,
        )
        for seed in (0, 1)
    ]


@pytest.fixture
def run(tiny_runs, tmp_path):
    """A copy of the first of them, to be changed."""
    shutil.copytree(tiny_runs[0].folder, tmp_path / "run")
    return Run(tmp_path / "run")
