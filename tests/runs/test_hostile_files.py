"""Whatever the files of a run hold, what is read is what was written, or one sentence says that it is not."""

import json
import shutil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rapo
from rapo.errors import InputError
from rapo.runs.checkpoint import read_checkpoint, write_checkpoint
from rapo.runs.description import CHECKPOINT, CONFIG
from rapo.runs.metrics import FILE as METRICS
from rapo.runs.metrics import MetricsWriter
from rapo.runs.run import Run
from rapo.training.config import identity
from torture.hostile import altered, damaged
from torture.tally import REFUSED, SOUND, outcome

UPDATES = 4
SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 16, "minibatches": 2, "epochs": 1, "heatmap_every": 2}
fixed = settings(deadline=None, max_examples=60, derandomize=True, database=None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "run"
    options = {"models": 3, "hidden": 8, **SMALL}
    rapo.train("hopper", "rapo", steps=64 * UPDATES, out=folder, quiet=True, **options)
    return folder


def copied(trained):
    """A copy of the run, in place of the copy before."""
    copy = trained.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(trained, copy)
    return copy


def either(work, given: Any = None):
    """Whether something was done, and not refused in one sentence; anything else fails."""
    came = outcome(work, given)
    assert came in (SOUND, REFUSED), came
    return came == SOUND


@fixed
@given(st.data())
def test_a_configuration_is_that_of_the_checkpoint_or_refused(trained, data):
    run, said = copied(trained), json.loads((trained / CONFIG).read_text())
    if data.draw(st.booleans()):
        (run / CONFIG).write_text(json.dumps(data.draw(altered(said))))
    else:
        (run / CONFIG).write_bytes(data.draw(damaged((trained / CONFIG).read_bytes())))
    if either(lambda _: Run(run).described()):
        assert identity(Run(run).described()) == identity(said)
    if either(lambda _: Run(run).config()):
        assert identity(Run(run).config().describe()) == identity(said)


@fixed
@given(st.data())
def test_metrics_are_those_up_to_the_checkpoint_or_refused(trained, data):
    run, whole = copied(trained), (trained / METRICS).read_bytes()
    (run / METRICS).write_bytes(data.draw(damaged(whole)))
    either(lambda _: Run(run).metrics())
    if either(lambda _: MetricsWriter(run, UPDATES).close()):
        assert (run / METRICS).read_bytes() == whole


@fixed
@given(st.data())
def test_a_damaged_checkpoint_is_what_was_written_or_refused(trained, data):
    run, sound = copied(trained), read_checkpoint(trained / CHECKPOINT)
    (run / CHECKPOINT).write_bytes(data.draw(damaged((trained / CHECKPOINT).read_bytes())))
    if either(lambda _: read_checkpoint(run / CHECKPOINT)):
        found, facts = read_checkpoint(run / CHECKPOINT)
        assert facts == sound[1]
        assert {name: x.tobytes() for name, x in found.items()} == {
            name: x.tobytes() for name, x in sound[0].items()
        }


@fixed
@given(st.data())
def test_a_checkpoint_that_describes_itself_otherwise_is_refused_or_read(trained, data):
    run, (numbers, facts) = copied(trained), read_checkpoint(trained / CHECKPOINT)
    write_checkpoint(run / CHECKPOINT, numbers, data.draw(altered(facts)))
    for reading in (Run(run).described, Run(run).metrics, Run(run).training):
        either(lambda _, reading=reading: reading())


@fixed
@given(st.data())
def test_a_checkpoint_of_other_numbers_is_refused_or_goes_on(trained, data):
    run, (numbers, facts) = copied(trained), read_checkpoint(trained / CHECKPOINT)
    name = data.draw(st.sampled_from(sorted(numbers)))
    kind = data.draw(st.sampled_from([numbers[name].dtype, np.dtype("f8"), np.dtype("i4"), np.dtype("?")]))
    shape = data.draw(st.sampled_from([numbers[name].shape, (), (0,), (3, 2)]))
    numbers[name] = data.draw(arrays(kind, shape))
    write_checkpoint(run / CHECKPOINT, numbers, facts)

    def act(_):
        seen = Run(run).policy()(np.zeros(11))
        if not np.isfinite(seen).all():
            raise InputError("the policy is no policy")

    either(act)
