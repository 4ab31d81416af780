"""Numbered random streams."""

import numpy as np
import pytest
from scipy import stats

from rapo.errors import InputError
from rapo.ranges import check_seed
from rapo.world.hashing import hashed
from rapo.world.streams import stream


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


def test_a_hashed_number_is_that_of_splitmix64():
    # The first output of SplitMix64 from state 0, whose upper 53 bits are the share.
    assert hashed(np.uint64(0), np.uint64(1)) == (0xE220A8397B1DCDAF >> 11) * 2.0**-53
    for key, counter in ((1, 0), (12345, 678), (2**53 - 1, 2**40 + 7), (2**63, 2**63 + 5)):
        assert hashed(np.uint64(key), np.uint64(counter)) == splitmix64(key + counter)


def splitmix64(number):
    """The same sum in whole numbers of any size."""
    mixed = number * 0x9E3779B97F4A7C15 % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return ((mixed ^ mixed >> 31) >> 11) * 2.0**-53


def test_hashed_numbers_are_uniform_and_unrelated_to_their_neighbours():
    n = 20_000
    key = np.uint64(8_000_000_001)
    draws = np.array([hashed(key, np.uint64(i)) for i in range(n)])
    others = np.array([hashed(np.uint64(3), np.uint64(i)) for i in range(n)])
    assert draws.min() >= 0
    assert draws.max() < 1
    assert stats.kstest(draws, "uniform").pvalue > 0.001
    # Correlations of n independent pairs are below 4 / sqrt(n), 0.028, all but once in 16,000.
    for a, b in ((draws[:-1], draws[1:]), (draws[:-32], draws[32:]), (draws, others)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(n)
