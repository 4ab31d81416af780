"""Flights along the reference of the test: under which dynamics, what the tables say, and what is refused."""

import shutil

import numpy as np
import polars as pl
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError
from rapo.evaluation.evaluate import evaluate
from rapo.runs.run import CHECKPOINT, Run, create
from rapo.tasks.quadrotor import following
from rapo.tasks.quadrotor.flights import FILE, PATHS, read_paths, read_tracking, track
from rapo.tasks.quadrotor.payload_task import TEST, QuadrotorPayload
from rapo.training.config import make_config
from rapo.world.streams import DYNAMICS, stream

TINY = {"num_envs": 8, "horizon": 8, "minibatches": 2, "epochs": 1, "hidden": (8,)}
STEPS, EPISODES = 64, 4


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Runs that learned next to nothing and were flown: two seeds of PPO-DR, and PPO."""
    folder = tmp_path_factory.mktemp("quadrotor")
    task = rapo.make_task("quadrotor-payload")
    for name, algo, seed in (("dr-0", "ppo-dr", 0), ("dr-1", "ppo-dr", 1), ("ppo-0", "ppo", 0)):
        run = rapo.train(task, algo, steps=STEPS, seed=seed, out=folder / name, quiet=True, **TINY)
        track(run, episodes=EPISODES)
    return folder


@pytest.fixture
def runs(flown, tmp_path):
    """Copies of them that were not flown yet."""
    return shutil.copytree(flown, tmp_path / "runs", ignore=shutil.ignore_patterns(FILE, PATHS))


@pytest.fixture
def run(runs):
    return Run(runs / "dr-0")


def tables(folder):
    """Both tables of a run that was flown."""
    found = read_tracking(folder), read_paths(folder)
    assert found[0] is not None
    assert found[1] is not None
    return found[0], found[1]


def not_trained(task, folder):
    """A run that looks as if it had saved."""
    create(make_config(task, "ppo"), folder)
    (folder / CHECKPOINT).touch()
    return Run(folder)


class Short(QuadrotorPayload):
    """Sixty steps that never end in a crash, and in failed physics once the payload is beyond x = 0.05."""

    name = "short"

    def tested(self):
        task = type(self)(TEST)
        task.time_limit = 60
        return task

    def score(self, before, after, data, actions):
        reward, crashed = super().score(before, after, data, actions)
        return np.where(data.qpos[:, 7] > 0.05, np.nan, reward), np.zeros_like(crashed)


def test_every_episode_of_both_settings_has_a_row(flown):
    table, _ = tables(flown / "dr-0")
    assert table["setting"].to_list() == ["id"] * EPISODES + ["ood"] * EPISODES
    assert table["episode"].to_list() == [*range(EPISODES)] * 2
    assert (set(table["updates"]), set(table["seed"])) == ({1}, {1000})
    inside, outside = table.partition_by("setting", maintain_order=True)
    assert inside["payload"].is_between(0, 0.25).all()
    assert inside["cable"].is_between(0, 0.5).all()
    assert inside["payload"].n_unique() == EPISODES
    assert (set(outside["payload"]), set(outside["cable"])) == ({0.5}, {1.0})
    assert (table["rmse_cm"] < table["largest_cm"]).all()


def test_errors_are_those_of_the_payload_before_every_step(run):
    table = track(run, episodes=3, seed=7)
    assert table.equals(tables(run.folder)[0])
    task = rapo.make_task("quadrotor-payload")
    dynamics = np.stack([task.setting(name, 3, stream(7, 0, DYNAMICS)) for name in ("id", "ood")])
    seen = []

    def watch(data, running):
        seen.append(np.where(running[:, None], data.qpos[:, 7:10], np.nan))

    outcome = evaluate(task, run.policy(), dynamics, episodes=3, seed=7, watch=watch)
    times = np.arange(len(seen)) / 100
    wanted = following.at(TEST, times[None]).position[0]
    distance = 100 * np.linalg.norm(np.stack(seen) - wanted[:, None], axis=2)
    np.testing.assert_allclose(table["rmse_cm"], np.sqrt(np.nanmean(distance**2, axis=0)), atol=6e-4)
    np.testing.assert_allclose(table["largest_cm"], np.nanmax(distance, axis=0), atol=6e-4)
    np.testing.assert_array_equal(table["length"], outcome.length.ravel())
    np.testing.assert_array_equal(table["crashed"], outcome.terminated.ravel())
    assert table["crashed"].all()


def test_every_run_flies_under_the_same_dynamics_from_the_same_states(flown):
    found = [tables(flown / name) for name in ("dr-0", "dr-1", "ppo-0")]
    dynamics = [table.select("payload", "cable") for table, _ in found]
    starts = [paths.filter(pl.col("step") == 0) for _, paths in found]
    assert all(each.equals(dynamics[0]) for each in dynamics)
    assert all(start.equals(starts[0]) for start in starts)
    assert not found[0][1].equals(found[1][1])


def test_flying_again_gives_the_same_bytes_whatever_the_number_of_threads(flown, run):
    for threads in (1, 2):
        track(run, episodes=EPISODES, threads=threads)
        for name in (FILE, PATHS):
            assert (run.folder / name).read_bytes() == (flown / "dr-0" / name).read_bytes()


def test_paths_are_those_of_the_first_episodes_and_end_with_the_crash(flown):
    table, paths = tables(flown / "dr-0")
    assert set(paths["episode"]) == {0, 1, 2}
    for row in table.filter(pl.col("episode") < 3).rows(named=True):
        path = paths.filter(pl.col("setting") == row["setting"], pl.col("episode") == row["episode"])
        last = row["length"] - 1
        assert path["step"].to_list() == sorted({*range(0, last + 1, 5), last})
        wanted = path.select("reference_x", "reference_y", "reference_z").to_numpy()
        expected = following.at(TEST, 0.01 * path["step"].to_numpy()[None]).position[0]
        np.testing.assert_allclose(wanted, expected, atol=6e-4)
        distance = 100 * np.linalg.norm(path.select("x", "y", "z").to_numpy() - wanted, axis=1)
        assert distance[0] < 20
        assert distance.max() <= row["largest_cm"] + 0.2


def test_flights_to_the_end_and_failed_physics_are_told_from_crashes(tmp_path):
    run = rapo.train(Short(), "ppo", steps=STEPS, out=tmp_path / "run", quiet=True, **TINY)
    calls = []
    table = track(run, episodes=12, advance=lambda: calls.append(1))
    assert not table["crashed"].any()
    failed = table.filter("diverged")
    assert 0 < len(failed) < len(table)
    assert (failed["length"] < 60).all()
    assert set(table.filter(~pl.col("diverged"))["length"]) == {60}
    assert len(calls) == 60


def test_a_task_without_the_settings_is_refused(tmp_path):
    run = not_trained("hopper", tmp_path / "run")
    with pytest.raises(
        InputError, match="task 'hopper' has no reference to follow in the settings id and ood"
    ):
        track(run)
    assert not (run.folder / FILE).exists()


def test_what_cant_be_flown_is_refused(run):
    with pytest.raises(InputError, match="option episodes is 0: allowed are whole numbers from 1"):
        track(run, episodes=0)
    with pytest.raises(InputError, match="seed -1 was given"):
        track(run, seed=-1)
    (run.folder / CHECKPOINT).unlink()
    with pytest.raises(InputError, match="has no checkpoint yet"):
        track(run)
    assert read_tracking(run.folder) is None
    assert read_paths(run.folder) is None


@pytest.mark.parametrize("file", [FILE, PATHS])
@pytest.mark.parametrize("damage", ["", "nonsense", "cut", "odd", "nan", "gap"])
def test_a_damaged_table_is_named(flown, tmp_path, file, damage):
    head, first, *rest = (flown / "dr-0" / file).read_text().splitlines()
    cells = first.split(",")
    damaged = {
        "cut": [head, first, *rest[:-1], rest[-1].rsplit(",", 2)[0]],
        "odd": [head, ",".join(["odd", *cells[1:]]), *rest],
        "nan": [head, ",".join([*cells[:3], "NaN", *cells[4:]]), *rest],
        "gap": [head, ",".join([*cells[:3], "", *cells[4:]]), *rest],
    }
    (tmp_path / file).write_text("\n".join(damaged.get(damage, [damage])))
    with pytest.raises(InputError, match=rf"{file}' is damaged: fly the run again with rapo eval tracking"):
        (read_tracking if file == FILE else read_paths)(tmp_path)


def test_the_command_prints_writes_and_draws_and_does_it_again_from_the_file(runs, tmp_path, capsys):
    table, figures, again = tmp_path / "flights.csv", tmp_path / "figures", tmp_path / "again"
    folders = [str(folder) for folder in sorted(runs.iterdir())]
    main(["eval", "tracking", *folders, "--episodes", "2", "--csv", str(table), "--out", str(figures)])
    printed = capsys.readouterr().out
    for word in ("flying dr-0", "RMSE OOD", "crashes ID", "ppo-dr", "100%", "Figures"):
        assert word in printed
    flown = pl.read_csv(table)
    assert flown.columns[:5] == ["algo", "run_seed", "steps", "setting", "episode"]
    assert flown.select("algo", "run_seed").unique(maintain_order=True).rows() == [
        ("ppo", 0),
        ("ppo-dr", 0),
        ("ppo-dr", 1),
    ]
    assert (len(flown), set(flown["steps"])) == (3 * 2 * 2, {STEPS})
    one = flown.filter(pl.col("algo") == "ppo-dr", pl.col("run_seed") == 1).drop("algo", "run_seed", "steps")
    assert one.write_csv() == (runs / "dr-1" / FILE).read_text()
    assert {path.name for path in figures.iterdir()} == {
        f"quadrotor-{name}.{kind}" for name in ("paths", "over-time") for kind in ("pdf", "png")
    }
    main(["eval", "tracking", str(table), "--episodes", "2", "--out", str(again)])
    repeated = capsys.readouterr().out.replace(str(again), str(figures))
    assert repeated in printed
    for path in figures.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


def test_variants_of_an_algorithm_are_told_apart(run, tmp_path):
    options = {**TINY, "clip": 0.3}
    rapo.train("quadrotor-payload", "ppo-dr", steps=STEPS, out=tmp_path / "other", quiet=True, **options)
    folders = [str(run.folder), str(tmp_path / "other")]
    main(["eval", "tracking", *folders, "--episodes", "1", "--csv", str(tmp_path / "flights.csv")])
    assert set(pl.read_csv(tmp_path / "flights.csv")["algo"]) == {"ppo-dr", "ppo-dr clip=0.3"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["RUN", "--episodes", "0"], "option episodes is 0: allowed are whole numbers from 1"),
        (["RUN", "--seed", "-1"], "seed -1 was given"),
        (["RUN", "--csv", "no/such/x.csv"], "file 'no/such/x.csv' can't be written"),
        (["RUN", "--out", "RUN/config.json"], "can't be written"),
        ([], "no runs were given"),
        (["TABLE", "RUN"], "was given with other runs, --csv or --classical: give it alone, or runs"),
        (["TABLE", "--csv", "x.csv"], "was given with other runs, --csv or --classical"),
        (["TABLE"], "is damaged: write it again with rapo eval tracking RUN --csv"),
    ],
)
def test_bad_input_gets_one_sentence_and_touches_nothing(run, tmp_path, capsys, arguments, says):
    (tmp_path / "table.csv").write_text("nonsense\n")
    table = str(tmp_path / "table.csv")
    given = [word.replace("RUN", str(run.folder)).replace("TABLE", table) for word in arguments]
    with pytest.raises(SystemExit) as stopped:
        main(["eval", "tracking", *given])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (run.folder / FILE).exists()


def test_runs_of_two_tasks_are_no_table(run, tmp_path, capsys):
    informed = not_trained("quadrotor-informed", tmp_path / "informed").folder
    with pytest.raises(SystemExit):
        main(["eval", "tracking", str(run.folder), str(informed), "--out", str(tmp_path / "figures")])
    said = "runs of quadrotor-payload and quadrotor-informed were given: allowed is one task"
    assert said in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()
    assert not (run.folder / FILE).exists()


def test_a_table_answers_for_the_flights_it_is_of_only(run, tmp_path, capsys):
    table = tmp_path / "flights.csv"
    main(["eval", "tracking", str(run.folder), "--episodes", "1", "--csv", str(table)])
    (tmp_path / "flights-paths.csv").unlink()
    main(["eval", "tracking", str(table), "--episodes", "1"])
    capsys.readouterr()
    for arguments, says in (
        ([], "is of --seed 1000 --episodes 1, and --seed 1000 --episodes 20 were asked for"),
        (["--episodes", "1", "--out", str(tmp_path / "figures")], "flights-paths.csv' is not there or empty"),
    ):
        with pytest.raises(SystemExit):
            main(["eval", "tracking", str(table), *arguments])
        assert says in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()


def test_the_classical_controller_flies_beside_runs_or_alone(run, tmp_path, capsys):
    table = tmp_path / "flights.csv"
    main(["eval", "tracking", str(run.folder), "--classical", "--episodes", "1", "--csv", str(table)])
    both = pl.read_csv(table)
    assert both["algo"].unique(maintain_order=True).to_list() == ["ppo-dr", "classical"]
    main(["eval", "tracking", "--classical", "--episodes", "1", "--csv", str(table)])
    alone = pl.read_csv(table)
    assert alone.rows() == both.filter(pl.col("algo") == "classical").rows()
    assert not alone["crashed"].any()
    assert alone["rmse_cm"].max() < 12  # pyright: ignore[reportOptionalOperand, reportOperatorIssue]
    np.testing.assert_array_equal(alone["payload"], both.filter(pl.col("algo") == "ppo-dr")["payload"])
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["eval", "nominal", str(run.folder), "--classical"])
    assert "Unrecognized options" in capsys.readouterr().err
