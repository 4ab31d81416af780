"""What a run reports of every update: a line of JSON each, and the same for TensorBoard."""

from contextlib import suppress
from pathlib import Path
from time import time
from typing import Any

from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

from rapo.runs.json_lines import Lines, read_lines

FILE = "metrics.jsonl"


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The metrics of all updates of a run, first to last."""
    return read_lines(folder / FILE)


class MetricsWriter:
    """Appends to the metrics of a run.

    TensorBoard's events are written in the same way and not by a thread of their own: one that dies of a full
    disk leaves its queue to fill up, and the run to wait for it.
    """

    def __init__(self, folder: Path, updates: int) -> None:
        """Go on after `updates`."""
        self._lines = Lines(folder / FILE, updates)
        try:
            (folder / "tensorboard").mkdir(exist_ok=True)
            self._events = EventsWriter(str(folder / "tensorboard" / "events"), f".{updates}")
            # A start: TensorBoard then forgets what was written from this step on, by a run that was killed.
            step = self._lines.kept[-1]["steps"] + 1 if self._lines.kept else 0
            self._events.write_event(Event(wall_time=time(), step=step, session_log={"status": 1}))
        except OSError as error:
            raise self._lines.cant(error) from None

    def write(self, row: dict[str, Any]) -> None:
        """Append the metrics of one update; several numbers under one name are told apart by their place."""
        values = [Summary.Value(tag=tag, simple_value=number) for tag, number in _numbers(row)]
        self._lines.write(row)
        try:
            self._events.write_event(
                Event(wall_time=time(), step=row["steps"], summary=Summary(value=values))
            )
            self._events.flush()
        except OSError as error:
            raise self._lines.cant(error) from None

    def sync(self) -> None:
        """Wait until all lines are on disk."""
        self._lines.sync()

    def close(self) -> None:
        """Finish both files; what could not be written has been complained of before."""
        self._lines.close()
        with suppress(OSError):
            self._events.close()


def _numbers(row: dict[str, Any]) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for name, value in row.items():
        if isinstance(value, list):
            found += [(f"{name}/{i}", number) for i, number in enumerate(value)]
        elif value is not None:
            found.append((name, value))
    return found
