"""`rapo theory` as a user meets it."""

from dataclasses import replace

import pytest
from rich.console import Console

from rapo.cli import main


@pytest.fixture(autouse=True)
def small(small_theory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def words(text):
    return " ".join(text.split())


def failed(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["theory", *arguments])
    return stopped.value.code


def test_statements_as_expected_end_well_and_leave_a_page(capsys, tmp_path):
    main(["theory", "mean-rate", "median"])
    printed = capsys.readouterr().out
    assert "2 statements: 1 holds, 1 holds with correction; all as expected." in words(printed)
    assert "Page: theory/index.html" in printed
    assert (tmp_path / "theory" / "figures" / "mean-rate-1.svg").is_file()


def test_statements_that_turn_out_otherwise_are_named_after_everything_was_written(capsys, tmp_path):
    assert failed("--out", "found") == 1
    printed, error = capsys.readouterr()
    assert error == (
        "rapo: 2 of 4 statements did not turn out as expected: inside (holds, expected: does not hold as "
        "written), stops (could not be checked, expected: does not hold as written)\n"
    )
    assert "Traceback" not in printed
    assert (tmp_path / "found" / "index.html").is_file()


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_says_it_all_and_fits_its_screen(capsys, monkeypatch, width):
    monkeypatch.setattr("rapo.screen.console", Console(width=width))
    assert failed("median", "inside", "stops") == 1
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    table = "\n".join(lines)
    for word in ("Median and mean", "Section 2", "up to", "apart over 200 rows", "≈ holds with"):
        assert word in table
    assert "! expected:" in table
    assert "The check stopped: ValueError" in words(table)
    for line in ("row    (0, 0, 1)", "median 0.0000", "mean   0.3333"):  # kept as they are, for reading
        assert any(line in printed for printed in lines)
    assert "The two are at most a standard deviation apart." in words(table)
    assert ("against: 0" in table) is (width == 80)


def test_colours_are_for_terminals_only(capsys, monkeypatch):
    monkeypatch.setattr("rapo.screen.console", Console(width=100))
    main(["theory", "median"])
    assert "\x1b" not in capsys.readouterr().out
    terminal = Console(width=100, force_terminal=True, color_system="standard", no_color=False)
    monkeypatch.setattr("rapo.screen.console", terminal)
    failed("median", "inside", "stops")
    printed = capsys.readouterr().out
    for coloured in ("\x1b[33m≈ holds", "\x1b[32m✓ holds", "\x1b[31m✗ could"):
        assert coloured in printed


def test_texts_are_no_markup(capsys, monkeypatch, parts):
    odd = replace(parts[0].statements[1], title="[red]brackets[/red]", where="[/]")
    monkeypatch.setattr("rapo.theory.PARTS", (replace(parts[0], statements=(odd,)),))
    main(["theory"])
    assert "[red]brackets[/red]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("medan",), "unknown statement 'medan': did you mean 'median'? allowed are mean-rate, median"),
        (("--seed", "-1"), "seed -1 was given"),
        (("--out", "taken"), "theory folder 'taken' can't be written"),
    ],
)
def test_bad_input_is_refused_before_anything_is_checked(arguments, says, capsys, tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("mine")
    monkeypatch.setattr("rapo.theory.check_all", None)
    assert failed(*arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"rapo: {says}")
    assert error.count("\n") == 1
