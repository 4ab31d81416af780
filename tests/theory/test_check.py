"""Every statement on a stream of its own, none in the way of another, and none lost."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import rapo.theory
from rapo.errors import InputError
from rapo.theory.check import STOPPED, check, totals
from rapo.theory.statement import Finding, Statement, Verdict


def drawing(name, expected=Verdict.HOLDS):
    """A statement whose finding is the first number of its stream."""
    return Statement(name, "", "", "", expected, lambda rng: Finding(str(rng.random()), "", Verdict.HOLDS, 1))


def test_a_statement_checked_alone_gives_the_figures_it_gives_among_all(small_theory):
    everything = {one.statement.name: one.finding for one in rapo.theory.check_all(seed=3)}
    for name in ("median", "mean-rate"):
        (alone,) = rapo.theory.check_all(seed=3, names=[name])
        assert alone.finding == everything[name]
    (other,) = rapo.theory.check_all(seed=4, names=["median"])
    assert other.finding != everything["median"]


def test_streams_come_from_the_seed_and_the_name():
    seen = {
        (seed, name): check(drawing(name), seed).finding.measured for seed in (0, 1) for name in ("a", "b")
    }
    assert len(set(seen.values())) == 4
    stream = np.random.SeedSequence(1, spawn_key=(97,))
    assert seen[1, "a"] == str(np.random.default_rng(stream).random())


def test_what_is_found_is_held_against_what_is_expected(small_theory):
    found = {one.statement.name: one for one in rapo.theory.check_all()}
    assert {name: one.verdict for name, one in found.items()} == {
        "mean-rate": Verdict.HOLDS,
        "median": Verdict.CORRECTED,
        "inside": Verdict.HOLDS,
        "stops": STOPPED,
    }
    assert [name for name, one in found.items() if one.as_expected] == ["mean-rate", "median"]
    assert found["inside"].surprise == "expected: does not hold as written"


def test_a_check_that_raises_is_a_failure_with_a_reason_and_never_as_expected(small_theory):
    *_, last = rapo.theory.check_all()
    assert last.statement.expected is Verdict.FAILS
    assert last.finding.verdict is Verdict.FAILS
    assert not last.as_expected
    reason = r"The check stopped: ValueError: all input arrays must have the same shape \(\S+\.py, line \d+\)"
    assert re.fullmatch(reason, last.finding.measured)


def test_a_long_reason_is_one_line_and_cut():
    def stop(rng):
        raise RuntimeError("first\nsecond\n" + "x" * 1000)

    reason = check(replace(drawing("long"), check=stop)).finding.measured
    assert "first second xxx" in reason
    assert "\n" not in reason
    assert len(reason) < 300


def test_an_interrupt_is_not_taken_for_a_failure():
    def stop(rng):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(replace(drawing("stopped"), check=stop))


def test_names_are_checked_once_each_in_the_order_of_the_parts(small_theory):
    told = []
    found = rapo.theory.check_all(
        names=("inside", "median", "inside"), progress=lambda one, done: told.append((one.name, done))
    )
    assert [one.statement.name for one in found] == ["median", "inside"]
    assert told == [("median", 0), ("inside", 1)]


def test_an_unknown_name_is_refused_with_those_that_are_known(small_theory):
    with pytest.raises(InputError, match="unknown statement 'medan': did you mean 'median'") as refused:
        rapo.theory.check_all(names=["medan"])
    assert "allowed are mean-rate, median, inside, stops" in str(refused.value)


@pytest.mark.parametrize("seed", [-1, 1.5, "0"])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(InputError, match=r"seed .* was given"):
        check(drawing("a"), seed)


def test_totals_are_a_sentence(small_theory):
    checked = rapo.theory.check_all()
    assert totals(checked) == (
        "4 statements: 2 hold, 1 holds with correction, 1 could not be checked; 2 not as expected."
    )
    assert totals(checked[:2]) == "2 statements: 1 holds, 1 holds with correction; all as expected."
    assert totals(checked[:1]) == "1 statement: 1 holds; as expected."


def test_names_are_unique_and_fit_the_command_line_and_files():
    names = [statement.name for statement in rapo.theory.STATEMENTS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_neither_the_package_nor_the_command_line_imports_theory_before_it_is_needed():
    code = "import sys, rapo, rapo.cli; sys.exit(any(name.startswith('rapo.theory') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_every_statement_turns_out_as_expected_at_the_default_seed():
    assert [found.statement.name for found in rapo.theory.check_all(seed=0) if not found.as_expected] == []
