"""The metrics of a run for TensorBoard.

Events are written by the process itself and not by a thread of their own: a thread that dies of a full disk
leaves its queue to fill up, and the run to wait for it.
"""

from collections.abc import Iterable
from pathlib import Path
from time import time

from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]


class TensorBoard:
    """Appends events to the folder `tensorboard` of a run."""

    def __init__(self, folder: Path, updates: int, first_step: int) -> None:
        """Go on after `updates`; TensorBoard forgets what a killed run wrote from `first_step` on."""
        (folder / "tensorboard").mkdir(exist_ok=True)
        self._events = EventsWriter(str(folder / "tensorboard" / "events"), f".{updates}")
        self._events.write_event(Event(wall_time=time(), step=first_step, session_log={"status": 1}))

    def write(self, step: int, numbers: Iterable[tuple[str, float]]) -> None:
        """Append the numbers of one update, by name."""
        values = [Summary.Value(tag=tag, simple_value=number) for tag, number in numbers]
        self._events.write_event(Event(wall_time=time(), step=step, summary=Summary(value=values)))
        self._events.flush()

    def close(self) -> None:
        """Finish the file."""
        self._events.close()
