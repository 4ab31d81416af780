"""What the command line shows: one console, progress bars and tables."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from rapo.files import write_atomically
from rapo.runs import display

console = Console()


def progress_bar() -> Progress:
    """Bars on this console."""
    return display.progress_bar(console)


def number_table(title: str, names: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table: columns of names, then columns of numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title)
    for column in names:
        table.add_column(column)
    for column in numbers:
        table.add_column(column, justify="right")
    return table


def write_rows(path: Path, rows: Sequence[Any]) -> None:
    """Dataclasses as a JSON file."""
    text = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
    write_atomically(path, text.encode())
