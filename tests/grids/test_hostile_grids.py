"""Whatever a grid file holds, it is refused in one sentence, or describes a bounded number of runs."""

import tempfile
from pathlib import Path

from hypothesis import given, settings

from rapo.grids.grid_file import MOST_RUNS, read_grid
from torture.hostile import grid_texts
from torture.tally import REFUSED, SOUND, outcome

fixed = settings(deadline=None, max_examples=100, derandomize=True, database=None)


def read(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grid.toml"
        path.write_text(text, encoding="utf-8", errors="replace")
        assert 1 <= len(read_grid(path).runs) <= MOST_RUNS


@fixed
@given(grid_texts())
def test_grid_files_are_refused_in_one_sentence_or_read(text):
    assert outcome(read, text) in (SOUND, REFUSED)
