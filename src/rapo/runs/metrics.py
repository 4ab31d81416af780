"""What a run reports of every update: a line of JSON each, and the same for TensorBoard."""

import json
import os
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Any

from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

from rapo.errors import InputError
from rapo.files import write_atomically

FILE = "metrics.jsonl"


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The metrics of all updates of a run, first to last; a line that was cut short is left out."""
    path = folder / FILE
    if not path.is_file():
        return []
    *whole, _ = path.read_bytes().split(b"\n")
    try:
        rows = [json.loads(line) for line in whole if line]
        if all(isinstance(row, dict) and isinstance(row.get("update"), int) for row in rows):
            return rows
    except ValueError:
        pass
    raise InputError(f"metrics '{path}' are damaged: every line must be those of one update, in JSON")


class MetricsWriter:
    """Appends to the metrics of a run; every line is with the operating system before the next update.

    TensorBoard's events are written in the same way and not by a thread of their own: one that dies of a full
    disk leaves its queue to fill up, and the run to wait for it.
    """

    def __init__(self, folder: Path, updates: int) -> None:
        """Go on after `updates`: what was written beyond them belongs to steps that will be taken again."""
        self._path = folder / FILE
        kept = [row for row in read_metrics(folder) if row["update"] <= updates]
        write_atomically(self._path, b"".join(map(_line, kept)))
        try:
            self._file = self._path.open("ab", buffering=0)
            (folder / "tensorboard").mkdir(exist_ok=True)
            self._events = EventsWriter(str(folder / "tensorboard" / "events"), f".{updates}")
            if kept:
                self._events.write_event(
                    Event(wall_time=time(), step=kept[-1]["steps"] + 1, session_log={"status": 1})
                )
        except OSError as error:
            raise self._cant(error) from None

    def write(self, row: dict[str, Any]) -> None:
        """Append the metrics of one update; several numbers under one name are told apart by their place."""
        values = [Summary.Value(tag=tag, simple_value=number) for tag, number in _numbers(row)]
        try:
            line = _line(row)
            while line:  # a disk that is nearly full takes a part of a line before it complains
                line = line[self._file.write(line) :]
            self._events.write_event(
                Event(wall_time=time(), step=row["steps"], summary=Summary(value=values))
            )
            self._events.flush()
        except OSError as error:
            raise self._cant(error) from None

    def sync(self) -> None:
        """Wait until all lines are on disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Finish both files; what could not be written has been complained of before."""
        with suppress(OSError):
            self._file.close()
            self._events.close()

    def _cant(self, error: OSError) -> InputError:
        return InputError(f"metrics '{self._path}' can't be written: {error.strerror}")


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, allow_nan=False).encode() + b"\n"


def _numbers(row: dict[str, Any]) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for name, value in row.items():
        if isinstance(value, list):
            found += [(f"{name}/{i}", number) for i, number in enumerate(value)]
        elif value is not None:
            found.append((name, value))
    return found
