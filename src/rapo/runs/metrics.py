"""What a run reports of every update: a line of JSON each, and the same for TensorBoard."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from rapo.errors import InputError
from rapo.runs.json_lines import Lines, Mark, Rows, read_lines

FILE = "metrics.jsonl"


def read_metrics(folder: Path) -> Rows:
    """The metrics of all updates of a run, first to last."""
    return _every_update(folder, read_lines(folder / FILE))


def _every_update(folder: Path, rows: Rows, updates: int | None = None) -> Rows:
    """The rows, refused unless there is one for each update from the first on, `updates` of them if given."""
    for number, row in enumerate(rows, 1):
        if row["update"] != number or type(row.get("steps")) is not int:
            raise InputError(
                f"metrics '{folder / FILE}' are damaged: line {number} must be that of update {number}, "
                "with its steps"
            )
    if updates not in (None, len(rows)):
        raise InputError(
            f"metrics '{folder / FILE}' are damaged: they have {len(rows)} of the {updates} updates that "
            "the run was saved after, so bring them back from a copy"
        )
    return rows


class MetricsWriter:
    """Appends to the metrics of a run."""

    def __init__(self, folder: Path, updates: int) -> None:
        """Go on after the first `updates` updates of the run."""
        from rapo.runs.tensorboard import TensorBoard  # imported here: it is slow to load

        self._lines = Lines(folder / FILE, updates, lambda rows: _every_update(folder, rows, updates))
        kept = self._lines.kept
        try:
            step = kept[-1]["steps"] + 1 if kept else 0
            self._events = TensorBoard(folder, updates, step)
        except OSError as error:
            raise self._lines.cant(error) from None

    def write(self, row: dict[str, Any]) -> None:
        """Append the metrics of one update; several numbers under one name are told apart by their place."""
        self._lines.write(row)
        try:
            self._events.write(row["steps"], _numbers(row))
        except OSError as error:
            raise self._lines.cant(error) from None

    @property
    def mark(self) -> Mark:
        """What the lines are by now."""
        return self._lines.mark

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
