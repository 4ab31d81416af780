"""A policy as a file for the robot: it acts as the trained policy does, in ONNX Runtime and in NumPy."""

import json
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import rapo
from rapo.cli import main
from rapo.deploy.policy_file import policy_file
from rapo.errors import InputError
from rapo.tasks.hopper import Hopper
from rapo.world.find_task import TASKS

SMALL = ("num_envs=4", "horizon=16", "minibatches=2", "epochs=1", "heatmap_every=0")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of PPO on Hopper, and its policy in both formats."""
    folder = tmp_path_factory.mktemp("trained")
    main(
        ["train", "hopper", "--algo", "ppo", "--steps", "256", "--out", str(folder / "run"), "--set", *SMALL]
    )
    for name in ("policy.onnx", "policy.safetensors"):
        done = rapo.export(folder / "run", folder / name)
        assert done.observations == 10_000
        assert done.difference <= 1e-5
        assert done.microseconds > 0
    return folder


@pytest.fixture
def files(trained, tmp_path):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_an_onnx_file_alone_acts_as_the_policy_does(trained):
    session = onnxruntime.InferenceSession(str(trained / "policy.onnx"), providers=["CPUExecutionProvider"])
    (given,), (made,) = session.get_inputs(), session.get_outputs()
    assert (given.name, given.shape, made.name, made.shape) == (
        "observation",
        ["batch", 11],
        "action",
        ["batch", 3],
    )
    rows = 3 * np.random.default_rng(0).standard_normal((500, 11))
    found = np.asarray(session.run(["action"], {"observation": rows.astype(np.float32)})[0])
    assert np.abs(found - rapo.Run(trained / "run").policy()(rows)).max() < 1e-5
    assert np.abs(found).max() <= 1


def test_actions_are_clipped_to_what_the_actuators_follow(trained):
    session = onnxruntime.InferenceSession(str(trained / "policy.onnx"), providers=["CPUExecutionProvider"])
    model = onnx.load(trained / "policy.onnx")
    bias = next(x for x in model.graph.initializer if x.name == "bias_2")
    bias.CopyFrom(onnx.numpy_helper.from_array(np.array([9, -9, 0.5], np.float32), "bias_2"))
    loud = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rows = {"observation": np.zeros((1, 11), np.float32)}
    assert np.abs(np.asarray(session.run(None, rows)[0])).max() < 1
    assert np.asarray(loud.run(None, rows)[0])[0, :2].tolist() == [1, -1]


def test_metadata_say_what_a_robot_must_know(trained):
    said = {p.key: p.value for p in onnx.load(trained / "policy.onnx").metadata_props}
    assert (said["task"], said["algorithm"], said["run"], said["seed"]) == ("hopper", "ppo", "run", "0")
    assert float(said["control_rate_hz"]) == pytest.approx(125)
    observed = json.loads(said["observation"])
    assert observed[0] == {"name": "position of rootz", "size": 1, "unit": "m"}
    assert observed[-1] == {"name": "velocity of foot_joint", "size": 1, "unit": "rad/s"}
    assert [a["low"] for a in json.loads(said["action"])] == [-1, -1, -1]
    assert json.loads(said["dynamics"])["mass"]["train"] == [0.8, 1.2]
    whole = json.loads(said["rapo"])
    assert whole["rapo"] == rapo.__version__
    assert whole["config"]["options"]["num_envs"] == 4


@pytest.mark.parametrize("name", TASKS)
def test_every_task_names_all_the_numbers_it_observes(name):
    task = rapo.make_task(name)
    said = task.checked_observed()
    assert sum(size for _, size, _ in said) == task.observation_size
    assert len({what for what, _, _ in said}) == len(said)


def test_a_task_that_names_too_few_numbers_is_refused():
    class Short(Hopper):
        def observed(self):
            return [("height", 1, "m")]

    with pytest.raises(InputError, match="observed of task 'hopper' is about 1 numbers: allowed are as many"):
        Short().checked_observed()


def test_the_arrays_are_those_of_the_formula(trained):
    arrays = load_file(trained / "policy.safetensors")
    rows = np.random.default_rng(1).standard_normal((7, 11)).astype(np.float32)
    x = np.clip((rows - arrays["centre"]) / arrays["deviation"], -10, 10)
    x = np.tanh(np.tanh(x @ arrays["kernel_0"] + arrays["bias_0"]) @ arrays["kernel_1"] + arrays["bias_1"])
    x = np.clip(x @ arrays["kernel_2"] + arrays["bias_2"], arrays["low"], arrays["high"])
    assert np.abs(x - rapo.Run(trained / "run").policy()(rows.astype(np.float64))).max() < 1e-5


@pytest.mark.parametrize("name", ["policy.onnx", "policy.safetensors"])
def test_a_file_is_measured_as_its_run_is(files, capsys, name):
    main(["eval", "nominal", str(files / "run"), "--episodes", "3", "--csv", str(files / "run.csv")])
    shutil.rmtree(files / "run")
    main(["eval", "nominal", str(files / name), "--episodes", "3", "--csv", str(files / "file.csv")])
    by_run, by_file = ((files / f"{what}.csv").read_text().splitlines()[1] for what in ("run", "file"))
    assert by_file.split(",")[:6] == by_run.split(",")[:6]
    values = [[float(x) for x in row.split(",")[6:]] for row in (by_run, by_file)]
    assert values[1] == pytest.approx(values[0], rel=1e-3)
    main(["sweep", str(files / name), "--episodes", "1", "--scales", "0.8", "1.2"])
    (folder,) = files.glob(f"{name}-*")
    assert (folder / "sweep.csv").exists()


def test_a_file_and_a_run_stand_beside_each_other(files, capsys):
    main(["eval", "nominal", str(files / "policy.onnx"), str(files / "run"), "--episodes", "1"])
    assert "hopper" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.write_bytes(b"nothing"), "can't be read: it is not a whole ONNX file"),
        (lambda path: path.write_bytes(path.read_bytes()[:300]), "can't be read: it is not a whole ONNX"),
        (lambda path: path.unlink(), "can't be read: No such file or directory"),
        (lambda path: rewrite(path, {}), "is not a policy that rapo has exported"),
        (lambda path: rewrite(path, {"rapo": '{"config": {}, "format": 9}'}), "has format 9: this version"),
    ],
)
def test_a_file_that_is_no_policy_is_refused_in_a_sentence(files, refused, spoil, says):
    spoil(files / "policy.onnx")
    assert says in refused("eval", "nominal", str(files / "policy.onnx"))
    assert not list(files.glob("policy.onnx-*"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda arrays: arrays.pop("bias_1"), "lacks some of its arrays"),
        (lambda arrays: arrays.update(bias_1=arrays["bias_1"][:3]), "do not fit together or are not finite"),
        (lambda arrays: arrays["kernel_0"].fill(np.nan), "do not fit together or are not finite"),
        (lambda arrays: arrays["deviation"].fill(0), "do not fit together or are not finite"),
    ],
)
def test_arrays_that_are_no_policy_are_refused_in_a_sentence(files, refused, change, says):
    path = files / "policy.safetensors"
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    arrays = {name: array.copy() for name, array in load_file(path).items()}
    change(arrays)
    save_file(arrays, path, metadata)
    assert says in refused("eval", "nominal", str(path))


def test_a_file_in_the_place_of_the_folder_for_results_is_named(files, refused):
    place = policy_file(files / "policy.onnx").folder
    shutil.rmtree(place)
    place.write_text("in the way")
    said = refused("eval", "nominal", str(files / "policy.onnx"))
    assert f"folder '{place}' can't be made: File exists" in said


def test_what_was_measured_of_one_file_is_not_taken_for_that_of_another(files):
    first = policy_file(files / "policy.onnx")
    rapo.sweep(first, episodes=1, parameters=("mass",))
    other = rapo.train(
        "hopper", "ppo", steps=256, seed=1, out=files / "other", quiet=True, num_envs=4, horizon=16
    )
    rapo.export(other, files / "policy.onnx")
    second = policy_file(files / "policy.onnx")
    assert second.folder != first.folder
    assert set(rapo.sweep(second, episodes=1, parameters=("torque",))["parameter"]) == {"torque"}


def test_actions_in_large_units_are_compared_by_their_size(tmp_path, monkeypatch):
    class Strong(Hopper):
        name = "strong"

        @property
        def action_range(self):
            return np.full(3, -np.inf), np.full(3, np.inf)

    run = rapo.train(Strong(), "ppo", steps=64, out=tmp_path / "run", quiet=True, num_envs=4, horizon=16)
    training = run.training()
    mean = training.learner.players[0].parameters.policy.mean
    mean[-1]["kernel"] = mean[-1]["kernel"] * 1e6
    monkeypatch.setattr(rapo.Run, "trained", lambda self, threads=0: training)
    assert rapo.export(run, tmp_path / "policy.onnx").difference > 1e-5


def test_a_file_of_another_task_is_refused(files, refused):
    said = refused("eval", "nominal", str(files / "policy.onnx"), "--task", "walker2d")
    assert f"policy '{files / 'policy.onnx'}' is of task 'hopper': it is of no use for 'walker2d'" in said


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("policy.pt", "names must end in .onnx or .safetensors"),
        ("missing/policy.onnx", "can't be written: give a file in a folder that exists"),
    ],
)
def test_a_file_that_can_not_be_written_is_refused_before_any_work(files, refused, monkeypatch, out, says):
    monkeypatch.chdir(files)
    before = sorted(files.iterdir())
    assert says in refused("export", "run", "--out", out)
    assert sorted(files.iterdir()) == before


def test_without_onnx_a_sentence_says_what_to_install(files):
    code = (
        "import sys; sys.modules['onnx'] = None\nfrom rapo.cli import main\n"
        f"main(['export', {str(files / 'run')!r}, '--out', {str(files / 'other.onnx')!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip() == "rapo: module onnx is not installed: pip install 'rapo[onnx]'"


def test_a_policy_of_the_quadrotor_says_how_to_keep_its_history(tmp_path, capsys):
    folder = tmp_path / "run"
    small = ["--steps", "64", "--out", str(folder), "--set", *SMALL]
    main(["train", "quadrotor-payload", "--algo", "ppo", *small])
    main(["export", str(folder), "--out", str(tmp_path / "policy.onnx")])
    assert "10,000 observations" in capsys.readouterr().out
    facts = policy_file(tmp_path / "policy.onnx").described()
    assert facts["task"] == "quadrotor-payload"
    said = {p.key: p.value for p in onnx.load(tmp_path / "policy.onnx").metadata_props}
    names = [part["name"] for part in json.loads(said["observation"])]
    assert "payload position 5 steps ago less now" in names
    assert "action 6 steps ago" in names


def test_an_exported_policy_can_not_be_trained_further(files):
    with pytest.raises(InputError, match="is only a policy: training goes on from a run folder"):
        policy_file(files / "policy.onnx").training()


def rewrite(path, metadata):
    model = onnx.load(path)
    onnx.helper.set_model_props(model, metadata)
    onnx.save(model, path)
