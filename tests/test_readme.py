"""The README says what the code and the committed results say."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_every_figure_of_the_speed_table_is_in_the_results_file():
    rows = json.loads((ROOT / "results" / "bench-world.json").read_text())
    printed = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in README.splitlines()
        if re.match(r"\| (hopper|walker2d|halfcheetah|ant) \|", line)
    ]
    expected = [
        [
            row["task"],
            row["what"],
            f"{row['simulations']:,}",
            f"{row['rate']:,.0f}",
            f"{row['raw_rate']:,.0f}",
            f"{row['ratio']:.2f}",
            *("" if row[k] is None else f"{row[k]:,.0f}" for k in ("gymnasium_rate", "envpool_rate")),
        ]
        for row in rows
    ]
    assert printed == expected


@pytest.mark.filterwarnings("error")
def test_the_examples_run_as_printed(capsys):
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", README, re.S):
        exec(compile(code, "README.md", "exec"), names)
    assert "(64, 16, 11)" in capsys.readouterr().out


def test_the_pictures_are_there():
    for path in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / path).is_file()
