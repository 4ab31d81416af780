"""Files of a run folder that are not what they were: found on every reading, and said in a sentence."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import rapo
from rapo.cli import main
from rapo.errors import BusyError, InputError
from rapo.evaluation.measurement import all_measurements
from rapo.files import write_atomically
from rapo.reporting.run_record import read_run
from rapo.reporting.write_report import report
from rapo.runs.checkpoint import read_checkpoint, write_checkpoint
from rapo.runs.description import CHECKPOINT, CONFIG
from rapo.runs.run import Run, alone

UPDATES = 4
SMALL: dict[str, Any] = {
    "num_envs": 4,
    "horizon": 16,
    "minibatches": 2,
    "epochs": 1,
    "heatmap_every": 2,
    "hidden": 8,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("altered") / "run"
    rapo.train("hopper", "rapo", steps=64 * UPDATES, out=folder, quiet=True, models=3, **SMALL)
    rapo.sweep(folder, episodes=1, parameters=("mass",))
    return folder


@pytest.fixture
def run(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


def change(folder, **changes):
    said = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**said, **changes}))


def wider(folder):
    said = json.loads((folder / CONFIG).read_text())
    said["dynamics"]["mass"]["train"] = [0.1, 1.2]
    return said["dynamics"]


class TestConfig:
    @pytest.mark.parametrize("command", ["sweep", "search", "eval nominal", "export", "video", "resume"])
    def test_a_training_range_that_was_altered_is_found_by_every_command(self, run, refused, command):
        change(run, dynamics=wider(run))
        said = refused(*command.split(), run)
        assert "config.json of run" in said
        assert "is not what its checkpoint was saved with: its dynamics mass train is [0.8, 1.2]" in said

    def test_a_report_leaves_such_a_run_out_and_says_so(self, run, tmp_path):
        shutil.copytree(run, tmp_path / "other")
        change(run, dynamics=wider(run))
        page = report([run, tmp_path / "other"], tmp_path / "report").read_text()
        assert "was left out: config.json of run" in page
        assert "its dynamics mass train is [0.8, 1.2], and now it is [0.1, 1.2]" in page

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"parts": {"dynamics": "Uniform"}}, "its parts "),
            ({"movable": ["torque"]}, "its movable is"),
            ({"task_options": {"epochs": 1}}, "its task_options epochs is null, and now it is 1"),
            ({"seed": 7}, "its seed is 0, and now it is 7"),
            ({"engine": "gpu"}, 'its engine is "cpu"'),
        ],
    )
    def test_all_else_that_decides_or_names_a_result_is_compared_too(self, run, changes, says):
        change(run, **changes)
        for reading in (Run(run).described, Run(run).config, lambda: report(run, run.parent / "page")):
            with pytest.raises(InputError, match=says):
                reading()

    def test_an_option_that_was_taken_out_is_missed(self, run):
        said = json.loads((run / CONFIG).read_text())
        del said["options"]["num_envs"]
        (run / CONFIG).write_text(json.dumps(said))
        with pytest.raises(InputError, match="its options num_envs is 4, and now it is 32"):
            Run(run).described()

    def test_a_heatmap_to_be_recorded_at_other_updates_is_found(self, run):
        said = json.loads((run / CONFIG).read_text())
        said["options"]["heatmap_every"] = 3
        (run / CONFIG).write_text(json.dumps(said))
        with pytest.raises(InputError, match="its options heatmap_every is 2, and now it is 3"):
            Run(run).described()

    def test_a_run_of_before_with_fewer_keys_and_options_is_read(self, run):
        said = json.loads((run / CONFIG).read_text())
        for key in ("movable", "task_options", "engine", "started_from"):
            del said[key]
        del said["options"]["first_std"]
        (run / CONFIG).write_text(json.dumps(said))
        assert rapo.report(run, run.parent / "page").is_file()
        assert Run(run).trained().updates == UPDATES

    @pytest.mark.parametrize(
        "content",
        [
            "[]",
            "3",
            '{"task": 3, "algo": [], "options": {}}',
            "[" * 100_000,
            '{"options": ' + "9" * 5000 + "}",
        ],
    )
    def test_what_is_no_configuration_is_damaged(self, run, content):
        (run / CONFIG).write_text(content)
        for reading in (Run(run).described, Run(run).config, lambda: report(run, run.parent / "page")):
            with pytest.raises(InputError, match="is damaged: it can't be read"):
                reading()

    def test_a_report_of_a_run_whose_checkpoint_is_lost_is_made_from_the_rest(self, run):
        (run / CHECKPOINT).write_bytes(b"lost")
        assert rapo.report(run, run.parent / "page").is_file()
        (run / CHECKPOINT).unlink()
        assert rapo.report(run, run.parent / "page").is_file()


def lines_of(run, name="metrics.jsonl"):
    return (run / name).read_bytes().splitlines(keepends=True)


DAMAGES = {
    "a flipped digit": lambda lines: [lines[0].replace(b'"steps": 64', b'"steps": 65'), *lines[1:]],
    "other seconds": lambda lines: [
        lines[0].replace(b'"seconds_physics": ', b'"seconds_physics": 1'),
        *lines[1:],
    ],
    "no first line": lambda lines: lines[1:],
    "nothing": lambda lines: [],
    "a doubled line": lambda lines: [lines[0], *lines],
    "a broken key": lambda lines: [lines[0].replace(b'"steps"', b'"stepz"'), *lines[1:]],
    "text for a number": lambda lines: [lines[0].replace(b'"steps": 64', b'"steps": "many"'), *lines[1:]],
    "a huge number": lambda lines: [lines[0].replace(b'"steps": 64', b'"steps": 1' + b"0" * 30), *lines[1:]],
    "no number": lambda lines: [lines[0].replace(b'"steps": 64', b'"steps": NaN'), *lines[1:]],
    "deep nesting": lambda lines: [b'{"update": ' + b"[" * 100_000 + b"\n", *lines[1:]],
    "a number of 5,000 digits": lambda lines: [b'{"update": ' + b"1" * 5000 + b"}\n", *lines[1:]],
}


class TestMetrics:
    @pytest.mark.parametrize("damage", DAMAGES, ids=lambda name: name.replace(" ", "-"))
    @pytest.mark.parametrize("marked", [True, False], ids=["now", "before-there-were-digests"])
    def test_lines_that_were_altered_are_refused_and_left_as_they_are(self, run, damage, marked):
        if not marked:
            arrays, facts = read_checkpoint(run / CHECKPOINT)
            del facts["lines"]
            write_checkpoint(run / CHECKPOINT, arrays, facts)
        altered = b"".join(DAMAGES[damage](lines_of(run)))
        assert altered != b"".join(lines_of(run))
        (run / "metrics.jsonl").write_bytes(altered)
        if not marked and damage in ("a flipped digit", "other seconds"):
            return  # no checkpoint of before can know
        with pytest.raises(InputError, match=r"metrics.jsonl' (was altered|is damaged|are damaged)"):
            rapo.resume(run, quiet=True)
        assert (run / "metrics.jsonl").read_bytes() == altered
        if altered:
            with pytest.raises(InputError, match=r"metrics.jsonl' (was altered|is damaged|are damaged)"):
                Run(run).metrics()
            notes: list[str] = []
            read_run(run, all_measurements(), notes)
            assert "metrics.jsonl" in notes[0]

    def test_a_heatmap_that_was_altered_is_refused_too(self, run):
        first, *rest = lines_of(run, "heatmap.jsonl")
        (run / "heatmap.jsonl").write_bytes(b"".join([first.replace(b"1.5", b"1.6"), *rest]))
        with pytest.raises(InputError, match=r"heatmap.jsonl' was altered: its first 2 lines are not those"):
            rapo.resume(run, quiet=True)
        notes: list[str] = []
        read_run(run, all_measurements(), notes)
        assert "heatmap.jsonl' was altered: its first 2 lines are not those" in notes[0]

    def test_what_follows_the_checkpoint_is_dropped_whatever_it_is(self, run):
        whole = b"".join(lines_of(run))
        (run / "metrics.jsonl").write_bytes(whole + b'{"update": 5, "st\nnonsense\n')
        rapo.resume(run, quiet=True)
        assert b"".join(lines_of(run)) == whole


class TestForgedCheckpoints:
    @pytest.mark.parametrize(
        ("name", "value", "says"),
        [
            ("simulator.physics", np.nan, "has numbers that are not finite"),
            ("learner.observations.seen", np.inf, "has numbers that are not finite"),
            ("simulator.clock", -1, "has numbers below 0"),
            ("learner.mixture.weights", 5, "are no weights of models"),
            ("models", np.inf, "has numbers that are not finite"),
        ],
    )
    def test_numbers_that_no_run_saves_are_refused(self, run, name, value, says):
        arrays, facts = read_checkpoint(run / CHECKPOINT)
        arrays[name] = np.full_like(arrays[name], value)
        write_checkpoint(run / CHECKPOINT, arrays, facts)
        with pytest.raises(InputError, match=says):
            rapo.resume(run, quiet=True)

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"config": {"task": "hopper", "algo": [], "options": 3}}, "lacks its configuration"),
            ({"config": {"task": "hopper", "algo": "rapo", "options": {}}}, "can't be read|its"),
            ({"counters": {"updates": 10**30}}, "allowed are whole numbers from 0"),
            ({"task": {"mujoco": [], "model": 3, "behaviour": {}}}, "describes its task|has changed"),
        ],
    )
    def test_facts_that_no_run_saves_are_refused(self, run, changes, says):
        arrays, facts = read_checkpoint(run / CHECKPOINT)
        write_checkpoint(run / CHECKPOINT, arrays, {**facts, **changes})
        with pytest.raises(InputError, match=says):
            rapo.resume(run, quiet=True)
        with suppress(SystemExit):  # it may be refused, and is no more
            main(["report", str(run), "--out", str(run.parent / "page")])

    def test_more_updates_than_the_run_has_are_refused(self, run):
        arrays, facts = read_checkpoint(run / CHECKPOINT)
        facts["counters"]["updates"] = UPDATES + 1
        write_checkpoint(run / CHECKPOINT, arrays, facts)
        with pytest.raises(InputError, match=f"'updates' of the checkpoint is 5: the run has only {UPDATES}"):
            rapo.resume(run, quiet=True)

    def test_facts_nested_without_end_are_refused(self, run, monkeypatch):
        arrays, _ = read_checkpoint(run / CHECKPOINT)
        monkeypatch.setattr(json, "dumps", lambda *_, **__: "[" * 100_000)
        write_checkpoint(run / CHECKPOINT, arrays, {})
        monkeypatch.undo()
        with pytest.raises(InputError, match="it describes itself by no JSON object"):
            rapo.resume(run, quiet=True)


class TestWriters:
    def test_what_a_killed_writer_has_left_is_taken_away_by_the_next(self, tmp_path):
        code = (
            "import os, sys\nfrom pathlib import Path\nimport rapo.files\n"
            "os.fsync = lambda _: os.kill(os.getpid(), 9)\n"
            "rapo.files.write_atomically(Path(sys.argv[1]), b'half')"
        )
        killed = subprocess.run([sys.executable, "-c", code, tmp_path / "file"])
        assert killed.returncode == -9
        assert len(list(tmp_path.iterdir())) == 1
        write_atomically(tmp_path / "another", b"whole")
        assert [path.name for path in tmp_path.iterdir()] == ["another"]

    def test_what_a_living_writer_is_writing_is_left_alone(self, tmp_path, monkeypatch):
        sync = os.fsync

        def meanwhile(opened):
            monkeypatch.setattr(os, "fsync", sync)
            code = "import sys\nfrom pathlib import Path\nimport rapo.files\n"
            code += "rapo.files.write_atomically(Path(sys.argv[1]), b'b')"
            subprocess.run([sys.executable, "-c", code, tmp_path / "b"], check=True)

        monkeypatch.setattr(os, "fsync", meanwhile)
        write_atomically(tmp_path / "a", b"a")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]

    def test_the_lock_of_a_run_survives_the_replacement_of_its_configuration(self, run):
        with alone(run):
            shutil.copy(run / CONFIG, run / "copy")
            (run / "copy").replace(run / CONFIG)
            with pytest.raises(BusyError, match="is being trained by another process"), alone(run):
                pytest.fail("two trained at once")

    def test_a_run_is_swept_while_it_trains(self, run):
        with alone(run):
            assert len(rapo.sweep(run, episodes=1, parameters=("torque",)))
