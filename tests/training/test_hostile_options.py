"""Whatever is given as options is refused in one sentence, or makes a run that the machine can hold."""

from hypothesis import given, settings

from torture.hostile import option_dictionaries
from torture.hostile_options import configure
from torture.tally import REFUSED, SOUND, outcome

fixed = settings(deadline=None, max_examples=150, derandomize=True, database=None)


@fixed
@given(option_dictionaries())
def test_options_are_refused_in_one_sentence_or_accepted(chosen):
    assert outcome(configure, chosen) in (SOUND, REFUSED)
