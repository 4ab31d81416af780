"""Metrics: a line for every update, and the same for TensorBoard."""

import errno
import os
import struct
from contextlib import closing

import pytest
from tensorboardX.proto.event_pb2 import Event, SessionLog  # pyright: ignore[reportAttributeAccessIssue]

from rapo.errors import InputError
from rapo.runs.json_lines import Lines
from rapo.runs.metrics import MetricsWriter, read_metrics

ROWS = [
    {"update": i, "steps": 10 * i, "return": None if i == 1 else 2.5 * i, "mixture": [0.25, 0.75]}
    for i in (1, 2, 3)
]


def written(folder, updates, rows):
    writer = MetricsWriter(folder, updates)
    for row in rows:
        writer.write(row)
    writer.sync()
    writer.close()


def events(folder):
    """All events as TensorBoard reads them: length, its checksum, event, its checksum; oldest file first."""
    found = []
    for path in sorted((folder / "tensorboard").iterdir(), key=lambda p: p.stat().st_mtime_ns):
        content = path.read_bytes()
        while content:
            (length,) = struct.unpack("<Q", content[:8])
            found.append(Event.FromString(content[12 : 12 + length]))
            content = content[16 + length :]
    return found


def shown(folder):
    """What TensorBoard shows, `{tag: {step: value}}`: a start makes it forget what came from its step on."""
    table = {}
    for event in events(folder):
        if event.session_log.status == SessionLog.START:
            table = {t: {s: v for s, v in row.items() if s < event.step} for t, row in table.items()}
        for value in event.summary.value:
            table.setdefault(value.tag, {})[event.step] = value.simple_value
    return table


def test_events_say_what_the_lines_say(tmp_path):
    written(tmp_path, 0, ROWS)
    assert read_metrics(tmp_path) == ROWS
    assert shown(tmp_path) == {
        "update": {10: 1, 20: 2, 30: 3},
        "steps": {10: 10, 20: 20, 30: 30},
        "return": {20: 5, 30: 7.5},
        "mixture/0": dict.fromkeys((10, 20, 30), 0.25),
        "mixture/1": dict.fromkeys((10, 20, 30), 0.75),
    }


@pytest.mark.parametrize("updates", [0, 1, 2])
def test_updates_that_are_taken_again_are_shown_once(tmp_path, updates):
    written(tmp_path, 0, ROWS)
    again = [{**row, "return": -1.0} for row in ROWS[updates:2]]
    written(tmp_path, updates, again)
    assert read_metrics(tmp_path) == ROWS[:updates] + again
    expected = {row["steps"]: row["return"] for row in ROWS[:updates] + again if row["return"] is not None}
    assert shown(tmp_path)["return"] == expected


def test_a_disk_found_full_only_in_the_end_is_complained_of_in_a_sentence(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with closing(Lines(tmp_path / "x", 0)) as lines:
        lines.write({"update": 1})
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"file '.*x' can't be written: No space left on device"):
            lines.sync()
