"""Policies that come with the package: made from runs, listed, and used by name like runs."""

import json
import re
from pathlib import Path

import numpy as np
import onnxruntime
import polars as pl
import pytest

import rapo
from rapo.cli import main
from rapo.deploy.array_file import read_arrays
from rapo.deploy.policy_file import ZOO_FOLDER, policy_file
from rapo.deploy.zoo import add_to_zoo, zoo
from rapo.errors import InputError
from rapo.runs.start import start
from rapo.training.config import make_config
from rapo.world.find_task import TASKS

NAMES = sorted(path.stem for path in ZOO_FOLDER.glob("*.safetensors"))
NAME = f"zoo:{NAMES[0]}"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder that is worked in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_says_what_it_is_and_fits_its_task_as_it_is_now(name, here):
    policy = policy_file(f"zoo:{name}")
    facts = read_arrays(policy.file).facts
    assert name == f"{facts['task']}-{facts['algorithm']}"
    assert facts["task"] in TASKS
    assert re.fullmatch(r"\d+\.\d+\.\d+", facts["rapo"])
    assert facts["command"].startswith(f"rapo train {facts['task']} --algo {facts['algorithm']} --steps ")
    assert {"nominal", "inside", "outside", "worst", "worst_at", "episodes"} <= set(facts["figures"])
    assert policy.file.stat().st_size < 100_000


@pytest.mark.parametrize("name", NAMES)
def test_the_figures_of_a_policy_are_those_it_is_measured_at(name, here):
    policy = policy_file(f"zoo:{name}")
    known = policy.config().task.dynamics.parameters[0]
    figures = read_arrays(policy.file).facts["figures"]
    found = rapo.sweep(
        policy, episodes=figures["episodes"], parameters=known.name, scales=known.nominal, beyond=True
    )
    assert found["return"].mean() == pytest.approx(figures["nominal"], rel=0.2)


def test_every_policy_that_the_pages_name_is_there():
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *(root / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"zoo:([\w-]+)", page.read_text())}
    assert named
    assert named <= set(NAMES)


def test_the_zoo_is_listed_with_figures_and_commands(capsys):
    main(["zoo"])
    said = capsys.readouterr().out
    for name, policy in zoo().items():
        assert f"zoo:{name}" in said
        assert f"{policy.facts['figures']['outside']:,.0f}" in said
        assert f"rapo {policy.facts['rapo']}: {policy.facts['command']}" in said


def test_a_policy_of_the_zoo_is_evaluated_swept_and_searched_by_its_name(here, capsys):
    main(["eval", "nominal", NAME, "--episodes", "2"])
    main(["sweep", NAME, "--episodes", "1", "--parameters", "mass", "--scales", "0.8", "1.2"])
    quick = ("--generations", "1", "--population", "4", "--episodes", "1", "--final-episodes", "2")
    main(["search", NAME, *quick])
    (folder,) = here.glob(f"runs/zoo/{NAMES[0]}-*")
    assert {path.name for path in folder.iterdir()} >= {"nominal.csv", "sweep.csv", "search.json"}
    assert [path.name for path in here.iterdir()] == ["runs"]


@pytest.mark.usefixtures("drawing")
def test_a_policy_of_the_zoo_is_filmed_and_drawn_by_its_name(here, capsys):
    main(["video", NAME, "--sweep", "mass", "--seconds", "0.1", "--out", "film.mp4"])
    main(["eval", "stills", NAME, "--seconds", "0.1"])
    assert (here / "film.mp4").stat().st_size > 1000
    assert len(list(here.glob("runs/zoo/*/stills.png"))) == 1


def test_a_policy_of_the_zoo_becomes_a_file_for_the_robot(here, capsys):
    main(["export", NAME])
    main(["export", NAME, "--numpy"])
    session = onnxruntime.InferenceSession("policy.onnx", providers=["CPUExecutionProvider"])
    policy = read_arrays(here / "policy.safetensors")
    rows = np.random.default_rng(0).standard_normal((50, len(policy.centre)))
    found = np.asarray(session.run(None, {"observation": rows.astype(np.float32)})[0])
    assert np.abs(found - policy(rows)).max() < 1e-5
    said = json.loads(session.get_modelmeta().custom_metadata_map["rapo"])
    assert said["figures"] == policy.facts["figures"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("sweep", "zoo:hoper-rapo"), "unknown policy of the zoo 'hoper-rapo'"),
        (("sweep", NAME, "--task", "hopper"), "it is of no use for 'hopper'"),
        (("resume", NAME), f"'{NAME}' is only a policy: its critic, optimiser and metrics are in the folder"),
        (("train", "hopper", "--from", NAME, "--out", "run"), f"'{NAME}' is only a policy"),
        (("export", NAME, "--numpy", "--out", "policy.onnx"), "--numpy was given with --out policy.onnx"),
    ],
)
def test_what_a_policy_can_not_be_used_for_is_said_in_a_sentence(here, refused, arguments, says):
    assert says in refused(*arguments)
    assert not list(here.glob("run"))
    assert not list(here.glob("*.onnx"))


@pytest.fixture
def finished(run, evidence):
    """A run that was trained to its end and swept."""
    evidence["sweep"](run.folder, level=100, fall=1.0)
    return run


def test_a_finished_run_that_was_swept_goes_into_the_zoo_with_what_it_was_trained_and_measured_with(
    finished, evidence, here
):
    evidence["search"](finished.folder, 12.0)
    found = json.loads((finished.folder / "search.json").read_text())
    (finished.folder / "search.json").write_text(json.dumps(found | {"updates": 4}))
    path = add_to_zoo(finished, here)
    assert path.name == "hopper-ppo.safetensors"
    facts = read_arrays(path).facts
    assert facts["command"] == (
        "rapo train hopper --algo ppo --steps 128 --seed 0 --set num_envs=4 horizon=8 epochs=1 minibatches=2"
    )
    swept = pl.read_csv(finished.folder / "sweep.csv")
    outside = (
        swept.filter((pl.col("scale") - 1).abs() > 0.3)
        .group_by("parameter", "scale")
        .agg(pl.col("return").mean())
    )
    assert facts["figures"]["outside"] == pytest.approx(outside["return"].mean(), abs=0.06)
    assert facts["figures"]["searched"] == 12.0
    assert [p.name for p in here.iterdir() if p.is_file()] == [path.name]


def test_a_run_that_was_not_swept_is_not_finished_or_began_with_another_stays_out_of_the_zoo(
    run, here, evidence, refused
):
    said = refused("zoo", "--add", run.folder)
    assert f"measure its policy first, with rapo sweep {run.folder}" in said

    def stop(metrics, /):
        if metrics["update"] == 2:
            raise KeyboardInterrupt

    config = make_config("hopper", "ppo", steps=96, options={"num_envs": 4, "horizon": 8})
    with pytest.raises(KeyboardInterrupt):
        start(config, here / "half", display=stop, save_every=1)
    with pytest.raises(InputError, match="it has learned from 32 of 96 steps"):
        add_to_zoo(rapo.Run(here / "half"), here)
    with pytest.raises(KeyboardInterrupt):
        start(config, here / "further", display=stop, save_every=1, origin=run)
    with pytest.raises(InputError, match="began with new networks"):
        add_to_zoo(rapo.Run(here / "further"), here)
    assert not list(here.glob("*.safetensors"))


def test_a_report_takes_policies_of_the_zoo_and_names_commands_that_work_for_them(here, opened, capsys):
    main(["sweep", NAME, "--episodes", "2", "--scales", "0.8", "1", "1.2"])
    capsys.readouterr()
    main(["report", NAME, "--out", "report"])
    said = capsys.readouterr().out
    assert "not finished" not in said
    with opened((here / "report" / "index.html").as_uri()) as page:
        assert NAMES[0].rpartition("-")[2] in page.inner_text("body")
        assert page.wrong == []
    (folder,) = here.glob(f"runs/zoo/{NAMES[0]}-*")
    main(["sweep", str(folder), "--episodes", "2", "--scales", "0.9"])
    assert set(pl.read_csv(folder / "sweep.csv")["scale"]) == {0.8, 0.9, 1.0, 1.2}
    assert len(list(here.glob("runs/zoo/*"))) == 1


def test_a_policy_of_the_quadrotor_flies_the_curve_of_the_test(here, capsys):
    name = next(name for name in NAMES if name.startswith("quadrotor"))
    main(["eval", "tracking", f"zoo:{name}", "--episodes", "1"])
    assert name.rpartition("-")[2] in capsys.readouterr().out
    assert len(list(here.glob(f"runs/zoo/{name}-*/tracking.csv"))) == 1


def test_a_damaged_note_of_what_was_measured_is_named(here, refused):
    folder = policy_file(NAME).folder
    (folder / "policy.json").write_text("{")
    assert f"file '{folder / 'policy.json'}' is damaged: measure the policy again" in refused("sweep", folder)
