"""The benchmark of the command line's start."""

import json

import pytest

from rapo.bench.starting import COMMANDS, process_seconds
from rapo.cli import main


def test_every_command_is_measured_beside_an_idle_python_and_the_ratios_add_up(tmp_path, capsys):
    file = tmp_path / "rows.json"
    main(["bench", "start", "--seconds", "0.01", "--json", str(file)])
    rows = json.loads(file.read_text())
    assert [row["command"] for row in rows] == [" ".join(("rapo", *command)) for command in COMMANDS]
    for row in rows:
        assert row["seconds"] > row["pass_seconds"] > 0
        assert row["ratio"] == pytest.approx(row["seconds"] / row["pass_seconds"])
    assert len({row["pass_seconds"] for row in rows}) == 1
    assert "rapo train hopper --set epsilonn=1" in capsys.readouterr().out


def test_a_command_that_ends_otherwise_than_it_should_is_an_error_and_not_a_time():
    assert process_seconds(("-c", "import sys; sys.exit(2)"), status=2) > 0
    with pytest.raises(RuntimeError, match="ended with status 3 instead of 0: because"):
        process_seconds(("-c", "import sys; print('because', file=sys.stderr); sys.exit(3)"), status=0)
