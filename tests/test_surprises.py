"""What surprised users once: every case ends in a sentence or in what they meant."""

import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError, TrainingError
from rapo.evaluation.sweep import SweepSettings, read_sweep, usual_scales
from rapo.files import LEAST_FREE
from rapo.tasks.hopper import Hopper

SMALL = ("num_envs=4", "horizon=16", "minibatches=2", "epochs=1", "heatmap_every=0")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surprises") / "run"
    main(["train", "hopper", "--algo", "ppo", "--steps", "128", "--out", str(folder), "--set", *SMALL])
    return folder


@pytest.fixture
def run(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


def settings(folder):
    table = read_sweep(folder)
    assert table is not None
    return sorted(set(zip(table["parameter"], table["scale"], strict=True)))


class TestSweepsThatMeet:
    def test_a_sweep_of_fewer_episodes_does_not_replace_a_larger_one(self, run, refused):
        main(["sweep", str(run), "--episodes", "2"])
        before = (run / "sweep.csv").read_bytes()
        said = refused("sweep", run, "--scales", "1.1", "--episodes", "1")
        assert "has 44 settings of 2 episodes from seed 1000" in said
        assert "sweep with --episodes 2 --seed 1000 to add to them, or with --replace" in said
        assert (run / "sweep.csv").read_bytes() == before

    def test_it_does_when_asked_to(self, run):
        main(["sweep", str(run), "--episodes", "2"])
        main(["sweep", str(run), "--scales", "1.1", "--episodes", "1", "--replace"])
        assert settings(run) == [(name, 1.1) for name in sorted(("mass", "inertia", "friction", "torque"))]

    def test_scales_are_added_to_those_that_are_there(self, run):
        main(["sweep", str(run), "--episodes", "1", "--parameters", "mass", "--scales", "0.8", "1.0"])
        main(["sweep", str(run), "--episodes", "1", "--parameters", "mass", "--scales", "1.0", "1.05"])
        assert settings(run) == [("mass", 0.8), ("mass", 1.0), ("mass", 1.05)]
        table = read_sweep(run)
        assert table is not None
        assert len(table) == 3

    def test_more_episodes_of_the_same_settings_take_the_place_of_fewer(self, run):
        main(["sweep", str(run), "--episodes", "1", "--parameters", "mass", "--scales", "0.8"])
        main(["sweep", str(run), "--episodes", "2"])
        table = read_sweep(run)
        assert table is not None
        assert table["episode"].n_unique() == 2

    def test_two_sweeps_at_the_same_moment_lose_nothing(self, run):
        command = [sys.executable, "-m", "rapo", "sweep", str(run), "--episodes", "1", "--parameters"]
        both = [subprocess.Popen([*command, name], stdout=subprocess.DEVNULL) for name in ("mass", "torque")]
        assert [process.wait() for process in both] == [0, 0]
        assert {name for name, _ in settings(run)} == {"mass", "torque"}

    def test_scales_outside_of_the_test_range_must_be_asked_for(self, run, refused):
        said = refused("sweep", run, "--parameters", "mass", "--scales", "1e9", "--episodes", "1")
        assert (
            "scale 1e+09 of 'mass' lies outside of its test range, 0.5 to 1.5: allow it with --beyond" in said
        )
        rapo.sweep(run, parameters=("mass",), scales=(1.7,), episodes=1, beyond=True)
        assert settings(run) == [("mass", 1.7)]

    def test_scales_of_tiny_and_of_odd_ranges_are_within_them(self, run):
        task = rapo.make_task("hopper")
        for low, nominal, high in ((2e-10, 3e-10, 4.5e-10), (1 / 3, 1.0, 5 / 3), (1.0, 1.0, 1.0)):
            odd = replace(task.dynamics["mass"], train=(low, high), test=(low, high), nominal=nominal)
            dynamics = rapo.Dynamics(task.model, (odd,))
            found = usual_scales(dynamics, "mass")
            assert (found[0], found[-1]) == (low, high)
            assert nominal == pytest.approx(found[np.abs(found - nominal).argmin()], rel=1e-9)
        assert usual_scales(task.dynamics, "mass").tolist() == [i / 10 for i in range(5, 16)]


class TestFolders:
    def test_names_are_never_patterns(self, run):
        odd = run.parent / "run[12]"
        shutil.copytree(run, run.parent / "run1")
        shutil.copytree(run, odd)
        rapo.sweep(run.parent / "run1", episodes=1, parameters=("mass",))
        assert read_sweep(odd) is None
        rapo.sweep(odd, episodes=1, parameters=("torque",))
        assert {name for name, _ in settings(odd)} == {"torque"}

    def test_a_folder_that_can_not_be_written_is_found_before_any_episode(self, run, monkeypatch):
        monkeypatch.setattr("os.access", lambda path, mode: Path(path) != run)
        with pytest.raises(InputError, match=r"sweep.csv' can't be written: its folder is read-only"):
            rapo.sweep(run, advance=lambda: pytest.fail("an episode was played"))

    def test_a_full_disk_is_found_before_any_episode(self, run, monkeypatch):
        usage = shutil.disk_usage(run)._replace(free=LEAST_FREE - 1)
        monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
        with pytest.raises(InputError, match=r"sweep.csv' can't be written: the disk is full"):
            rapo.sweep(run, advance=lambda: pytest.fail("an episode was played"))

    def test_a_run_that_another_process_trains_is_not_said_to_have_stopped(self, run):
        (run / "checkpoint.safetensors").unlink()
        with pytest.raises(InputError, match="has no checkpoint yet: go on with rapo resume"):
            rapo.sweep(run)
        code = (
            "import sys, time\nfrom pathlib import Path\nfrom rapo.runs.run import alone\n"
            "with alone(Path(sys.argv[1])):\n    print('locked', flush=True)\n    time.sleep(60)"
        )
        held = subprocess.Popen([sys.executable, "-c", code, run], stdout=subprocess.PIPE, text=True)
        assert held.stdout is not None
        with held, held.stdout:
            assert held.stdout.readline() == "locked\n"
            with pytest.raises(InputError, match="is being trained by another process: wait for it"):
                rapo.sweep(run)
            held.kill()


class TestPython:
    def test_paths_may_be_text(self, run):
        rapo.sweep("run", episodes=1)
        rapo.search("run", generations=1, population=4, episodes=1, final_episodes=2)
        assert rapo.report("run", "report").is_file()
        assert rapo.Run(Path("run")) == rapo.Run("run")  # pyright: ignore[reportArgumentType]

    def test_tasks_may_be_named(self, run):
        policy = rapo.Run(run).policy()
        rows = rapo.make_task("hopper").dynamics.nominal()
        by_name, by_class = (
            rapo.evaluate(task, policy, rows, seed=0).returned for task in ("hopper", Hopper)
        )
        assert by_name == by_class

    @pytest.mark.parametrize("task", [3, int, None])
    def test_what_is_no_task_is_refused(self, task):
        with pytest.raises(InputError, match=r"was given: allowed are the name of one, or a rapo\.Task"):
            rapo.evaluate(task, lambda seen: seen, [[1.0] * 4], seed=0)

    def test_a_simulator_is_made_of_a_name_a_class_or_a_task(self):
        for task in ("hopper", Hopper, Hopper()):
            assert rapo.make_simulator(task, 2, seed=0).observation.shape == (2, 11)
        nothing: Any = 3
        with pytest.raises(InputError, match="task 3 was given: allowed are the name of one, or a"):
            rapo.make_simulator(nothing, 2, seed=0)

    @pytest.mark.parametrize(
        ("acted", "says"),
        [
            (np.zeros((2, 2)), r"returned actions of shape \(2, 2\) for 2 observations of task 'hopper'"),
            ("left", r"returned a str for 2 observations .*: allowed are actions of shape \(2, 3\)"),
        ],
    )
    def test_actions_of_the_wrong_width_are_refused(self, acted, says):
        with pytest.raises(InputError, match=says):
            rapo.evaluate("hopper", lambda seen: acted, [[1.0] * 4], episodes=2, seed=0)

    def test_names_that_no_file_system_has_are_refused(self, run):
        with pytest.raises(InputError, match="can't be made: embedded null byte"):
            rapo.train("hopper", "ppo", out="a\0b")
        with pytest.raises(InputError, match="can't be written: embedded null byte"):
            rapo.report(run, "a\0b")

    def test_a_policy_takes_one_observation_or_many(self, run):
        policy = rapo.Run(run).policy()
        many = policy(np.ones((3, 11)))
        assert many.shape == (3, 3)
        assert np.array_equal(policy(np.ones(11)), many[0])

    @pytest.mark.parametrize(
        ("seen", "says"),
        [
            (np.full(11, np.nan), "number 0 of observation 0 is nan: allowed are finite numbers"),
            (
                np.ones((2, 7)),
                r"observations of shape \(2, 7\) were given: allowed are \(11,\) and \(N, 11\)",
            ),
            (np.ones((1, 2, 11)), r"observations of shape \(1, 2, 11\)"),
        ],
    )
    def test_a_policy_refuses_what_is_no_observation(self, run, seen, says):
        with pytest.raises(InputError, match=says):
            rapo.Run(run).policy()(seen)


MODEL = """<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
<actuator>{}</actuator></mujoco>"""


class Arm(rapo.Task):
    name, frame_skip = "arm", 1
    model_file = "arm.xml"
    parameters = (rapo.Parameter("mass", "body_mass", (0.9, 1.1), (0.5, 1.5)),)

    @property
    def model_path(self):
        return Path("arm.xml")

    def reset(self, n, rng):
        return np.zeros((n, 1)), np.zeros((n, 1))

    def observe(self, data):
        return np.concatenate((data.qpos, data.qvel), axis=1)

    def score(self, before, after, data, actions):
        return -np.abs(data.qpos[:, 0]), np.zeros(len(data), bool)


class TestTasks:
    @pytest.fixture(autouse=True)
    def model(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "arm.xml").write_text(MODEL.format('<motor joint="j"/>'))

    def test_the_arm_is_a_task(self):
        assert Arm().observation_size == 2

    def test_a_model_without_actuators_is_refused(self):
        Path("arm.xml").write_text(MODEL.format(""))
        with pytest.raises(InputError, match="model of task 'arm' has no actuators"):
            Arm()

    @pytest.mark.parametrize(
        ("method", "returns", "says"),
        [
            (
                "observe",
                [[0.0], [0.0]],
                "observe of task 'arm' returns a list: allowed for 2 rows are float64",
            ),
            ("observe", None, "observe of task 'arm' returns a NoneType"),
            ("score", None, "score of task 'arm' returns a NoneType: allowed are two arrays"),
            ("reset", None, "reset of task 'arm' must return qpos .* and qvel"),
        ],
    )
    def test_methods_that_return_something_else_are_named(self, method, returns, says):
        kind = type("Odd", (Arm,), {method: lambda self, *_: returns})
        with pytest.raises(InputError, match=says):
            kind()

    @pytest.mark.parametrize("missing", ["name", "frame_skip", "parameters"])
    def test_what_a_class_lacks_is_named(self, missing):
        kept = {k: v for k, v in vars(Arm).items() if k != missing and not k.startswith("__")}
        with pytest.raises(InputError, match=f"task Bare has no {missing}: set it in the class"):
            type("Bare", (rapo.Task,), kept)()

    def test_a_test_range_holds_the_training_range(self):
        narrow = (rapo.Parameter("mass", "body_mass", (0.8, 1.2), (0.9, 1.1)),)
        with pytest.raises(InputError, match=r"has test range \[0.9, 1.1\]: it must hold the training range"):
            type("Narrow", (Arm,), {"parameters": narrow})()


class TestInterrupts:
    @pytest.mark.parametrize("seconds", [1.0, 2.0, 3.5])
    @pytest.mark.parametrize("command", ["train", "sweep", "grid", "video"])
    def test_one_line_and_status_130_whatever_is_going_on(self, run, tmp_path, command, seconds):
        words = {
            "train": ("hopper", "--algo", "rapo", "--out", str(tmp_path / "long")),
            "sweep": (str(run), "--episodes", "300"),
            "grid": (str(tmp_path / "long.toml"),),
            "video": (str(run), "--out", str(tmp_path / "film.mp4"), "--seconds", "1000"),
        }
        grid = 'tasks = ["hopper"]\nalgorithms = ["rapo"]\nseeds = [0]\nsteps = 1000000\n'
        (tmp_path / "long.toml").write_text(f'{grid}out = "{tmp_path}/grid"\n')
        process = subprocess.Popen(
            [sys.executable, "-m", "rapo", command, *words[command]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
        assert said.startswith("rapo: interrupted")
        assert said.count("\n") == 1
        assert not (run / "sweep.csv").exists()
        assert not list(tmp_path.glob("*film*"))


class Broken(Hopper):
    """Its rewards are no numbers once the hopper is below some height."""

    below = 10.0

    def score(self, before, after, data, actions):
        reward, terminated = super().score(before, after, data, actions)
        return np.where(data.qpos[:, 1] < self.below, np.nan, reward), terminated


class TestSilence:
    small: ClassVar[dict[str, Any]] = {
        "num_envs": 4,
        "horizon": 16,
        "minibatches": 2,
        "epochs": 1,
        "heatmap_every": 0,
    }

    def test_a_run_all_of_whose_steps_diverge_stops_with_the_reason(self, tmp_path):
        with pytest.raises(
            TrainingError, match=r"every step of update 1 diverged.*mass 1, inertia 1.*action \["
        ):
            rapo.train(Broken(), "ppo", steps=640, out=tmp_path / "run", quiet=True, **self.small)

    def test_a_share_of_steps_that_diverge_is_shown(self, tmp_path, capsys):
        task = Broken()
        task.below = 1.2
        rapo.train(task, "ppo", steps=640, out=tmp_path / "run", **self.small)
        shown = capsys.readouterr().out
        assert "% of the steps of this update: their numbers were not finite" in shown
        rapo.train("hopper", "ppo", steps=64, out=tmp_path / "sound", **self.small)
        assert "diverged" not in capsys.readouterr().out


class TestHints:
    @pytest.mark.parametrize(
        ("more", "says"),
        [
            (("--set", "models=4"), "option 'models' is not one of algorithm 'ppo': it is one of rapo,"),
            (("--set", "seed=3"), "'seed' was given as an option: it is an argument, --seed on the command"),
            (
                ("--learning-rate", "1e-4"),
                "--learning-rate is an option: set it with --set learning_rate=VALUE",
            ),
            (("--set", "clip=0.1", "clip=0.2"), "option 'clip' was given as 0.1 and as 0.2: allowed is one"),
            (("--set", "hidden=64,-3"), "option hidden is 64,-3: allowed are whole numbers from 1"),
            (("--set", "leaning_rate=1"), "did you mean 'learning_rate'?"),
        ],
    )
    def test_an_option_in_the_wrong_place_is_sent_to_the_right_one(self, refused, tmp_path, more, says):
        assert says in refused("train", "hopper", "--algo", "ppo", "--out", tmp_path / "run", *more)
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("HOPPER",), "unknown task 'HOPPER': did you mean 'hopper'?"),
            (("hopper", "--algo", "PPO"), "unknown algorithm 'PPO': did you mean 'ppo'?"),
            (("hopper", "--algo", "Rapo-Paper"), "did you mean 'rapo-paper'?"),
        ],
    )
    def test_capital_letters_are_seen_through(self, refused, words, says):
        assert says in refused("train", *words)

    @pytest.mark.parametrize(("given", "taken"), [("1e2", 128), ("1_00", 128), ("128", 128), ("6.4e1", 64)])
    def test_steps_are_read_as_people_write_them_and_rounded_aloud(self, capsys, tmp_path, given, taken):
        out = tmp_path / "run"
        words = ("--algo", "ppo", "--steps", given, "--out", str(out), "--set", *SMALL)
        main(["train", "hopper", *words])
        said = capsys.readouterr().out
        assert ("Training takes" in said) == (given in ("1e2", "1_00"))
        assert rapo.Run(out).training().steps == taken

    @pytest.mark.parametrize("given", ["inf", "nan", "1.5", "many"])
    def test_steps_that_are_no_whole_number_are_refused(self, refused, given):
        with pytest.raises(SystemExit) as ended:
            main(["train", "hopper", "--steps", given])
        assert ended.value.code == 2

    def test_settings_of_a_sweep_know_what_they_allow(self):
        with pytest.raises(InputError, match="option episodes is 0"):
            SweepSettings(episodes=0)
