"""Tables that grow while a run learns: a line of JSON for an update, cut back when the run resumes."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from rapo.errors import InputError
from rapo.files import write_atomically


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All lines, first to last; one that was cut short is left out, and a file that is not there has none."""
    if not path.is_file():
        return []
    *whole, _ = path.read_bytes().split(b"\n")
    try:
        rows = [json.loads(line) for line in whole if line]
        if all(isinstance(row, dict) and isinstance(row.get("update"), int) for row in rows):
            return rows
    except ValueError:
        pass
    raise InputError(f"file '{path}' is damaged: every line must be that of one update, in JSON")


class Lines:
    """Appends to such a file; every line is with the operating system before the next update."""

    def __init__(self, path: Path, updates: int) -> None:
        """Go on after `updates`: what was written beyond them belongs to steps that will be taken again."""
        self._path = path
        self.kept = [row for row in read_lines(path) if row["update"] <= updates]
        write_atomically(path, b"".join(map(_line, self.kept)))
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self.cant(error) from None

    def write(self, row: dict[str, Any]) -> None:
        """Append a line."""
        try:
            line = _line(row)
            while line:  # a disk that is nearly full takes a part of a line before it complains
                line = line[self._file.write(line) :]
        except OSError as error:
            raise self.cant(error) from None

    def sync(self) -> None:
        """Wait until all lines are on disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self.cant(error) from None

    def close(self) -> None:
        """Finish the file; what could not be written has been complained of before."""
        with suppress(OSError):
            self._file.close()

    def cant(self, error: OSError) -> InputError:
        """The complaint about a line that could not be written."""
        return InputError(f"file '{self._path}' can't be written: {error.strerror}")


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, allow_nan=False).encode() + b"\n"
