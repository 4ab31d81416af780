"""What a run reports of every update: a line of JSON each, and the same for TensorBoard."""

import json
from pathlib import Path
from typing import Any

from tensorboardX import SummaryWriter

from rapo.errors import InputError
from rapo.files import write_atomically

FILE = "metrics.jsonl"


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The metrics of all updates of a run, first to last; a line that was cut short is left out."""
    path = folder / FILE
    if not path.is_file():
        return []
    *whole, _ = path.read_text().split("\n")
    try:
        return [json.loads(line) for line in whole if line]
    except json.JSONDecodeError:
        raise InputError(f"metrics '{path}' are damaged: every line must be JSON") from None


class MetricsWriter:
    """Appends to the metrics of a run."""

    def __init__(self, folder: Path, updates: int) -> None:
        """Go on after `updates`: what was written beyond them belongs to steps that will be taken again."""
        self._path = folder / FILE
        kept = [row for row in read_metrics(folder) if row["update"] <= updates]
        write_atomically(self._path, "".join(_line(row) for row in kept).encode())
        self._file = self._path.open("a")
        steps = kept[-1]["steps"] if kept else 0
        self._events = SummaryWriter(str(folder / "tensorboard"), purge_step=steps + 1 if kept else None)

    def write(self, row: dict[str, Any]) -> None:
        """Append the metrics of one update; several numbers under one name are told apart by their place."""
        try:
            self._file.write(_line(row))
            self._file.flush()
            for name, value in row.items():
                numbers = value if isinstance(value, list) else [value]
                for i, number in enumerate(numbers):
                    tag = f"{name}/{i}" if isinstance(value, list) else name
                    if number is not None:
                        self._events.add_scalar(tag, number, row["steps"])
        except OSError as error:
            raise InputError(f"metrics '{self._path}' can't be written: {error.strerror}") from None

    def close(self) -> None:
        """Finish both files."""
        self._file.close()
        self._events.close()


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, allow_nan=False) + "\n"
