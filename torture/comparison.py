"""Whether two run folders hold the same run: all arrays, counters and tables, but for how long it took."""

from pathlib import Path
from typing import Any

import numpy as np

from rapo.runs.checkpoint import read_checkpoint
from rapo.runs.description import CHECKPOINT
from rapo.runs.heatmap_recorder import read_heatmap
from rapo.runs.metrics import read_metrics


def difference(folder: Path, other: Path) -> str | None:
    """The first thing in which two runs differ, None if they are the same to the last bit."""
    (arrays, facts), (others, known) = (read_checkpoint(each / CHECKPOINT) for each in (folder, other))
    for name in {**facts, **known}:
        if name != "lines" and facts.get(name) != known.get(name):  # digests of lines, with their seconds
            return f"{name} of the checkpoint"
    for name in {**arrays, **others}:
        if name not in arrays or name not in others or not _equal(arrays[name], others[name]):
            return f"array {name}"
    if timeless(read_metrics(folder)) != timeless(read_metrics(other)):
        return "metrics"
    return None if read_heatmap(folder) == read_heatmap(other) else "heatmap"


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Metrics without how long the updates took."""
    return [{k: v for k, v in row.items() if not k.startswith("seconds")} for row in rows]
