"""What `make torture` counts with."""

import os
import shutil
import time

import pytest

from rapo.errors import InputError
from torture.__main__ import arguments
from torture.comparison import difference
from torture.tally import LONGEST, REFUSED, SOUND, Tally, judged, outcome
from torture.worker import Worker


def test_everything_is_tried_where_nothing_is_named():
    every = ["kills", "damages", "tables", "options", "disks", "training"]
    assert arguments(["--json", "x"]).parts == every
    assert arguments(["disks", "--json", "x"]).parts == ["disks"]


def refuse(given):
    raise InputError(given)


def test_what_ends_neither_soundly_nor_in_a_sentence_is_wrong():
    assert outcome(len, "") == SOUND
    assert outcome(refuse, "too long: " + "x" * 10**5) == REFUSED
    assert "ZeroDivisionError" in outcome(lambda x: 1 / x, 0)
    assert judged("one\ntwo") == "no sentence: one\ntwo"
    assert judged("x" * (LONGEST + 1)).startswith("no sentence")
    tally = Tally("tests")
    for came in (SOUND, REFUSED, REFUSED, "a crash"):
        tally.count(came, "this one")
    assert tally.figures() == {"what": "tests", "tries": 4, "sound": 1, "refused": 2, "wrong": 1}
    assert tally.wrong == ["this one: a crash"]


@pytest.mark.parametrize(
    ("work", "given", "came"),
    [
        (len, "abc", SOUND),
        (int, "x", "ValueError: invalid literal"),
        (os._exit, 7, "the process ended with status 7"),
        (time.sleep, 10**6, "no end within 20 seconds"),
    ],
)
def test_work_that_never_ends_or_ends_the_process_is_told_of_and_the_next_is_done(work, given, came):
    worker = Worker(work, 20)
    assert came in worker(given)
    if work is not time.sleep:
        assert came in worker(given)
    worker.close()


def test_runs_that_differ_in_a_number_are_told_apart(tiny_runs, tmp_path):
    one, other = (run.folder for run in tiny_runs)
    shutil.copytree(one, tmp_path / "copy")
    assert difference(one, tmp_path / "copy") is None
    assert difference(one, other) == "config of the checkpoint"
    (tmp_path / "copy" / "heatmap.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match="was altered"):
        difference(one, tmp_path / "copy")
