"""Tiny runs that several tests look at, and may copy but not change."""

import pytest

import rapo

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
