"""Numbered random streams."""

import numpy as np

from rapo.world.streams import Streams


def test_a_stream_depends_on_seed_and_number_alone():
    first, second = Streams(7), Streams(7)
    first.at(0).normal(size=1000)
    first.at(1).integers(0, 3, 7)
    np.testing.assert_array_equal(first.at(5).normal(size=10), second.at(5).normal(size=10))
    np.testing.assert_array_equal(first.at(2).integers(0, 9, 5), second.at(2).integers(0, 9, 5))


def test_other_seeds_and_numbers_give_other_streams():
    draws = {Streams(seed).at(number).random() for seed in range(20) for number in range(20)}
    assert len(draws) == 400
