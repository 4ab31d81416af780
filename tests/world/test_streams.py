"""Numbered random streams."""

import numpy as np
import pytest

from rapo.errors import InputError
from rapo.world.streams import check_seed, stream


def test_a_stream_depends_on_its_numbers_alone():
    used = stream(7, 5, 0)
    used.spawn(3)
    used.normal(size=1000)
    np.testing.assert_array_equal(stream(7, 5, 0).normal(size=10), stream(7, 5, 0).normal(size=10))
    assert stream(7, 5, 0).spawn(1)[0].random() == stream(7, 5, 0).spawn(1)[0].random()


def test_other_numbers_give_other_streams():
    draws = {stream(seed, clock, what).random() for seed in range(9) for clock in range(9) for what in (0, 1)}
    assert len(draws) == 9 * 9 * 2


@pytest.mark.parametrize("seed", [-1, 1.5, None, "0", 2**63])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(InputError, match="was given: allowed are whole numbers from 0"):
        check_seed(seed)
