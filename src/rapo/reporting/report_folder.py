"""The folder of a report: tried out before any work is done, then filled file by file, each written whole."""

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from rapo.errors import InputError
from rapo.files import write_atomically
from rapo.reporting.print_figures import rendered
from rapo.reporting.tables import Table

FIGURES, TABLES = "figures", "tables"


def prepared(out: Path, kind: str = "report", inside: Sequence[str] = (FIGURES, TABLES)) -> Path:
    """The folder of a report, or of another `kind`, and those in it, refused if they can't be written."""
    try:
        for folder in (out, *(out / name for name in inside)):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{kind} folder '{out}' can't be written: {why}") from None
    return out


class Output:
    """Writes what lies beside the page, and hands out links to it."""

    def __init__(self, out: Path, tasks: Iterable[str]) -> None:
        self._out = out
        self.notes: list[str] = []
        """What went wrong on the way, a sentence each."""
        self.names: dict[str, str] = {}
        """What each task is called in the names of files and in links."""
        for task in tasks:
            name = _plain(task)
            self.names[task] = name if name not in self.names.values() else f"{name}-{len(self.names)}"

    def table(self, task: str | None, *several: Table | None) -> tuple[str, ...]:
        """Write tables of a task, or of all tasks together; links to them."""
        links = []
        for table in several:
            if table is not None:
                name = table.name if task is None else f"{self.names[task]}-{table.name}"
                links.append(self._put(f"{TABLES}/{name}.csv", table.frame.write_csv().encode()))
        return tuple(links)

    def figure(
        self, task: str, name: str, figure: Figure, kinds: Sequence[str] = ("pdf", "png")
    ) -> tuple[str, ...]:
        """Write a figure in all its formats; links to them."""
        stem = f"{FIGURES}/{self.names[task]}-{_plain(name)}"
        return tuple(
            self._put(f"{stem}.{kind}", content) for kind, content in rendered(figure, kinds).items()
        )

    def copied(self, task: str, name: str, source: Path) -> str | None:
        """Put a copy of a file beside the page; a link to it, None with a note if it can't be read."""
        try:
            content = source.read_bytes()
        except OSError as error:
            self.notes.append(f"File '{source}' was left out: it can't be read ({error.strerror}).")
            return None
        return self._put(f"{FIGURES}/{self.names[task]}-{_plain(name)}{source.suffix}", content)

    def _put(self, name: str, content: bytes) -> str:
        write_atomically(self._out / name, content)
        return name


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._=-]+", "-", name).strip(".") or "unnamed"
