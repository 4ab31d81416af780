"""Verdicts on the paper's claims follow from the rows of results."""

from itertools import product

import polars as pl
import pytest

from evidence import read
from evidence.claims import verdicts
from evidence.plan import EXPERIMENTS
from rapo.errors import InputError

SCALES = [round(0.5 + 0.1 * i, 1) for i in range(11)]


def sweeps(returns, tasks=("hopper", "ant"), seeds=(0, 1, 2)):
    """Rows of sweeps in which an algorithm returns so much inside of training, and so much outside."""
    return pl.DataFrame(
        [
            {
                "task": task,
                "algorithm": algo,
                "seed": seed,
                "steps": 3_000_320,
                "options": "",
                "parameter": parameter,
                "scale": scale,
                "return": float(inside if 0.75 < scale < 1.25 else outside) + spread * seed,
                "episodes": 20,
            }
            for task, (algo, (inside, outside, spread)), seed in product(tasks, returns.items(), seeds)
            for parameter, scale in product(("mass", "inertia", "friction", "torque"), SCALES)
        ]
    )


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder of results with the benchmark of training alone."""
    (tmp_path / "bench-train.json").write_bytes((read.RESULTS / "bench-train.json").read_bytes())
    monkeypatch.setattr(read, "RESULTS", tmp_path)
    return tmp_path


def said(claim):
    """The one verdict on a claim with these words."""
    (found,) = [v for v in verdicts() if claim in v.claim]
    return found.measured, found.verdict


def test_a_claim_without_runs_is_not_measured_yet(results):
    assert said("PPO-DR of PPO") == ("", "not measured yet")
    sweeps({"rapo": (900, 800, 1)}).write_csv(results / "curves.csv")
    assert said("PPO-DR of PPO") == ("", "not measured yet")
    two = {"ppo": (900, 300, 1), "ppo-dr": (800, 500, 1), "rapo": (900, 700, 1)}
    sweeps(two, seeds=(0, 1)).write_csv(results / "curves.csv")  # too few seeds for a verdict
    assert said("PPO-DR of PPO") == ("", "not measured yet")


def test_the_order_of_algorithms_holds_on_all_tasks_on_some_or_on_none(results):
    ordered = {"ppo": (900, 300, 1), "ppo-dr": (800, 500, 1), "rapo": (900, 700, 1)}
    sweeps(ordered).write_csv(results / "curves.csv")
    measured, verdict = said("PPO-DR of PPO")
    assert (measured, verdict) == ("hopper: 701, 501, 301; ant: 701, 501, 301", "holds")
    turned = ordered | {"ppo": (900, 600, 1)}
    both = pl.concat((sweeps(ordered, ("hopper",)), sweeps(turned, ("ant",))))
    both.write_csv(results / "curves.csv")
    assert said("PPO-DR of PPO")[1] == "holds in part (hopper)"
    sweeps(turned).write_csv(results / "curves.csv")
    assert said("PPO-DR of PPO")[1] == "does not hold"


def test_as_good_as_ppo_means_within_three_hundredths(results):
    for inside, verdict in ((971, "holds"), (960, "does not hold")):
        sweeps({"ppo": (1000, 300, 0), "rapo": (inside, 500, 0)}).write_csv(results / "curves.csv")
        assert said("as good as PPO")[1] == verdict


def test_unstable_compares_how_far_seeds_differ(results):
    sweeps({"rapo": (900, 700, 10), "rarl": (900, 700, 100)}).write_csv(results / "curves.csv")
    assert said("RARL is unstable") == (
        "; ".join(f"{task}: standard deviation over seeds 100 beside 10" for task in ("hopper", "ant")),
        "holds",
    )


def test_curves_of_friction_and_inertia_are_looked_at(results):
    sweeps({"rapo": (1000, 700, 0)}).write_csv(results / "curves.csv")
    changed = "hopper: they change by 30%; ant: they change by 30%"
    assert said("friction above 1") == (changed, "does not hold")
    assert said("0.5 of the inertia")[1] == "does not hold"


def test_returns_saturate_where_more_models_change_less(results):
    def ensembles(outside):
        tables = [
            sweeps({"rapo-mixture": (1000, value, 0)}, ("hopper",)).with_columns(
                options=pl.lit("" if count == 16 else f"models={count}")
            )
            for count, value in outside.items()
        ]
        pl.concat(tables).write_csv(results / "ensemble-size.csv")

    ensembles({4: 300, 16: 500, 32: 550})
    assert said("saturate at K") == ("hopper: 300 with 4, 500 with 16, 550 with 32", "holds")
    ensembles({4: 300, 16: 350, 32: 550})
    assert said("saturate at K")[1] == "does not hold"
    sweeps({"rapo": (1000, 700, 0)}).write_csv(results / "curves.csv")
    assert said("paper's table")[0] == "hopper: 0.68, printed 0.78"


def test_a_setting_that_stands_twice_is_refused(results):
    table = sweeps({"rapo": (1000, 700, 0)})
    pl.concat((table, table)).write_csv(results / "curves.csv")
    with pytest.raises(InputError, match="has a setting twice"):
        verdicts()


def test_a_run_counts_as_made_if_the_file_has_its_task_algorithm_steps_and_seed(results):
    curves = EXPERIMENTS[0]
    assert curves.made() == 0
    sweeps({"rapo": (1000, 700, 0), "ppo": (1000, 700, 0)}, seeds=(0, 7)).write_csv(results / "curves.csv")
    assert curves.made() == 4  # two tasks, two algorithms, seed 0; no grid has seed 7
