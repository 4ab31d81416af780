"""Tables that grow while a run learns: a line of JSON for an update, cut back when the run resumes.

A checkpoint keeps a mark of every such table: how many lines it had, and their digest. Lines that are not
those that the checkpoint was saved with are refused; what follows them belongs to steps that will be taken
again.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from rapo.errors import InputError
from rapo.files import write_atomically
from rapo.runs.description import saved_facts

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Mark:
    """What a table held when the run was saved."""

    lines: int
    sha256: str
    """The digest of these lines."""


def saved_mark(path: Path) -> Mark | None:
    """The mark that the checkpoint beside a table has of it; None if it has none, as those of old runs."""
    facts = None
    with suppress(InputError):  # a damaged checkpoint knows nothing, and is complained of elsewhere
        facts = saved_facts(path.parent)
    lines = {} if facts is None else facts.get("lines")
    mark = lines.get(path.name) if isinstance(lines, dict) else None
    if isinstance(mark, dict) and type(mark.get("lines")) is int and isinstance(mark.get("sha256"), str):
        return Mark(mark["lines"], mark["sha256"])
    return None


def whole_lines(path: Path, mark: Mark | None) -> list[bytes]:
    """The lines of a table; one that was cut short is left out, and a file that is not there has none.

    mark: what the checkpoint knows of the table; lines that are not those are refused.
    """
    try:
        *whole, _ = path.read_bytes().split(b"\n") if path.is_file() else (b"",)
    except OSError as error:
        raise InputError(f"file '{path}' can't be read: {error.strerror}") from None
    if mark is not None:
        known = b"".join(line + b"\n" for line in whole[: mark.lines])
        if len(whole) < mark.lines or sha256(known).hexdigest() != mark.sha256:
            raise InputError(
                f"file '{path}' was altered: its first {mark.lines} lines are not those that the checkpoint "
                "was saved with, so bring them back from a copy"
            )
    return whole


def read_lines(path: Path) -> Rows:
    """All lines, first to last, each of one update and of sound numbers."""
    return _parsed(path, whole_lines(path, saved_mark(path)))


def _parsed(path: Path, lines: list[bytes]) -> Rows:
    with suppress(ValueError, RecursionError):
        rows = [json.loads(line) for line in lines if line]
        sound = all(
            isinstance(row, dict) and type(row.get("update")) is int and _is_sound(row) for row in rows
        )
        if sound and all(one["update"] < other["update"] for one, other in pairwise(rows)):
            return rows
    raise InputError(f"file '{path}' is damaged: every line must be that of one update, in JSON")


def _is_sound(value: Any) -> bool:
    """Whether something is made of finite numbers that fit in 64 bits, and of gaps."""
    if isinstance(value, dict | list):
        return all(map(_is_sound, value.values() if isinstance(value, dict) else value))
    if isinstance(value, float):
        return isfinite(value)
    return value is None or (isinstance(value, int) and abs(value) < 2**63)


class Lines:
    """Appends to such a file; every line is with the operating system before the next update."""

    def __init__(self, path: Path, updates: int, check: Callable[[Rows], object] = lambda rows: None) -> None:
        """Go on after `updates`: what was written beyond them belongs to steps that will be taken again.

        check: refuses lines that are there already, before the file is touched.
        """
        self._path = path
        kept: list[bytes] = []
        self.kept: Rows = []
        """The lines that were there already."""
        if updates:
            mark = saved_mark(path)
            lines = [line for line in whole_lines(path, mark) if line]
            lines = lines if mark is None else lines[: mark.lines]
            rows = _parsed(path, lines)
            self.kept = [row for row in rows if row["update"] <= updates]
            kept = lines[: len(self.kept)]
        check(self.kept)
        self._digest, self._count = sha256(), len(kept)
        content = b"".join(line + b"\n" for line in kept)
        self._digest.update(content)
        write_atomically(path, content)
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self.cant(error) from None

    @property
    def mark(self) -> Mark:
        """What the table holds by now."""
        return Mark(self._count, self._digest.hexdigest())

    def write(self, row: dict[str, Any]) -> None:
        """Append a line."""
        try:
            whole = line = json.dumps(row, allow_nan=False).encode() + b"\n"
            while line:  # a disk that is nearly full takes a part of a line before it complains
                line = line[self._file.write(line) :]
        except OSError as error:
            raise self.cant(error) from None
        self._digest.update(whole)
        self._count += 1

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
