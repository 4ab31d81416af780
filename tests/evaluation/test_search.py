"""The search for the worst dynamics."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError
from rapo.evaluation.search import FILE, read_search, search
from rapo.evaluation.sweep import FILE as SWEEP
from rapo.evaluation.sweep import sweep
from rapo.runs.run import CHECKPOINT, CONFIG
from rapo.world.parameter import Parameter
from rapo.world.task import Task

QUICK: dict[str, Any] = {"generations": 6, "population": 6, "episodes": 2, "final_episodes": 4}
TINY: dict[str, Any] = {"num_envs": 4, "horizon": 8, "minibatches": 2, "epochs": 1}


FALLING = """
<mujoco><option timestep="0.01" integrator="Euler"/><worldbody>
  <body name="a" gravcomp="0.5"><joint name="a" type="slide" axis="0 0 1"/><geom size="0.1" mass="1"/></body>
  <body name="b" gravcomp="0.5" pos="9 0 0">
    <joint name="b" type="slide" axis="0 0 1"/><geom size="0.1" mass="1"/>
  </body>
</worldbody><actuator><motor joint="a" gear="0.001"/></actuator></mujoco>
"""


class Falling(Task):
    """Two weights that fall for one step, each held up by a share of its weight that is uncertain.

    A share p leaves a speed of -9.81 m/s^2 x 0.01 s x (1 - p). The reward is (a - 0.9)^2 + (b - 0.2)^2 of the
    two shares a and b, whose nominal value is 0.5: lowest, 0, at a = 0.9 and b = 0.2; lowest on the axes at
    a = 0.9 with b = 0.5, where it is 0.3^2 = 0.09.
    """

    name = "falling"
    frame_skip = 1
    time_limit = 1
    parameters = tuple(
        Parameter(name, "body_gravcomp", (0.4, 0.6), (0.0, 1.0), 0.5, apply="set", of=name) for name in "ab"
    )

    def reset(self, n, rng):
        return np.zeros((n, 2)), np.zeros((n, 2))

    def observe(self, data):
        return data.qvel.copy()

    def score(self, before, after, data, actions):
        shares = 1 + data.qvel / (9.81 * 0.01)
        return ((shares - (0.9, 0.2)) ** 2).sum(axis=1), np.zeros(len(data), bool)


def test_what_is_found_is_inside_the_box_and_no_better_than_the_worst_of_the_sweep(run):
    sweep(run, episodes=4)
    found = search(run, **QUICK)
    assert found == read_search(run.folder)
    assert list(found.point) == ["mass", "inertia", "friction", "torque"]
    assert all(0.5 <= value <= 1.5 for value in found.point.values())
    assert found.low <= found.returned <= found.high
    assert found.below == pytest.approx(found.axis.returned - found.returned)
    assert found.evaluations == 6 * 6 * 2 + (8 + 1) * 4
    assert found.axis.settings == 4 * 11
    assert (found.updates, found.episodes) == (4, 4)


def test_a_worst_point_off_the_axes_is_found_where_it_was_worked_out(tmp_path):
    Falling.model_file = file = tmp_path / "falling.xml"
    file.write_text(FALLING)
    run = rapo.train(Falling(), "ppo", steps=32, out=tmp_path / "run", quiet=True, **TINY)
    found = search(run, generations=20, population=8, episodes=2, final_episodes=3)
    assert found.point == pytest.approx({"a": 0.9, "b": 0.2}, abs=0.02)
    assert found.returned == pytest.approx(0, abs=1e-3)
    assert (found.axis.parameter, found.axis.scale) == ("a", 0.9)
    assert found.axis.returned == pytest.approx(0.09, abs=1e-3)
    assert found.below == pytest.approx(0.09, abs=2e-3)


def test_what_was_swept_outside_of_the_test_box_is_no_axis(run):
    sweep(run, episodes=2, parameters=["mass"], scales=[1.0, 3.0], beyond=True)
    found = search(run, **QUICK)
    assert (found.axis.parameter, found.axis.scale, found.axis.settings) == ("mass", 1.0, 1)
    sweep(run, episodes=2, parameters=["mass"], scales=[3.0], beyond=True, replace=True)
    with pytest.raises(InputError, match="lies in the test ranges: sweep the run again"):
        search(run, **QUICK)


def test_a_task_with_nothing_to_search_is_refused(tmp_path):
    fixed = rapo.make_task("hopper")
    for name in fixed.dynamics.names:
        fixed.dynamics = fixed.dynamics.with_ranges(name, train=(1, 1), test=(1, 1))
    run = rapo.train(fixed, "ppo", steps=32, out=tmp_path / "run", quiet=True, **TINY)
    with pytest.raises(InputError, match="'hopper' are single points: there is nothing to search"):
        search(run, **QUICK)


def test_searching_twice_gives_the_same_bytes(run):
    sweep(run, episodes=2)
    first = search(run, **QUICK)
    content = (run.folder / FILE).read_bytes()
    assert search(run, **QUICK, threads=1) == first
    assert (run.folder / FILE).read_bytes() == content


def test_a_run_that_learned_since_it_was_swept_is_swept_again(run):
    old = sweep(run, episodes=2).with_columns(pl.lit(3, pl.Int64).alias("updates"))
    (run.folder / SWEEP).write_bytes(old.write_csv().encode())
    search(run, **QUICK)
    table = pl.read_csv(run.folder / SWEEP)
    assert (len(table), set(table["updates"])) == (4 * 11 * 20, {4})


def test_the_command_prints_what_was_found(run, capsys):
    sweep(run, episodes=2)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in QUICK.items()]
    main(["search", str(run.folder), *options])
    found = read_search(run.folder)
    assert found is not None
    assert f"{found.returned:,.0f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"generations": 0}, "option generations is 0: allowed are whole numbers from 1"),
        ({"population": 3}, "option population is 3: allowed are whole numbers from 4"),
        ({"episodes": 0}, "option episodes is 0: allowed are whole numbers from 1"),
        ({"seed": -1}, "seed -1 was given"),
        ({"generations": 1.5}, "option generations is 1.5: allowed are whole numbers from 1"),
        ({"final_episodes": 1}, "option final_episodes is 1: allowed are whole numbers from 2"),
    ],
)
def test_bad_numbers_are_refused(run, options, says):
    with pytest.raises(InputError, match=says):
        search(run, **options)
    assert not (run.folder / FILE).exists()


def test_a_damaged_file_is_named(run):
    sweep(run, episodes=2)
    search(run, **QUICK)
    huge = re.sub('"updates": 4', f'"updates": {10**400}', (run.folder / FILE).read_text())
    for damage in ("{", "[]", '{"axis": {}}', huge):
        (run.folder / FILE).write_text(damage)
        with pytest.raises(InputError, match=r"search\.json' is damaged: search again"):
            read_search(run.folder)


def test_a_run_without_checkpoint_is_refused(run):
    (run.folder / CHECKPOINT).unlink()
    with pytest.raises(InputError, match="has no checkpoint yet"):
        search(run)
    (run.folder / CONFIG).unlink()
    with pytest.raises(InputError, match="is not a run"):
        search(run)
