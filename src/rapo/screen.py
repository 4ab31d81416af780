"""What the package shows on a terminal: one console, progress bars and tables."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rapo.files import write_atomically

console = Console()


def progress_bar(on: Console = console, disable: bool = False) -> Progress:
    """Bars that say what is being done, how far it is and how long it will take."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=on, disable=disable)


def number_table(title: str, names: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table: columns of names, then columns of numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title)
    for column in names:
        table.add_column(column)
    for column in numbers:
        table.add_column(column, justify="right")
    return table


def duration(seconds: float) -> str:
    """A time as people say it."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"


def write_rows(path: Path, rows: Sequence[Any]) -> None:
    """Dataclasses as a JSON file."""
    text = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
    write_atomically(path, text.encode())
