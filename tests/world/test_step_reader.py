import numpy as np
import pytest

from rapo.world.step_reader import finite


@pytest.mark.parametrize("shape", [(0,), (3, 0), (5,), (32, 17), (4096,), (4097,), (1024, 17)])
def test_numbers_are_finite_whatever_their_size(shape: tuple[int, ...]):
    assert finite(np.ones(shape))


@pytest.mark.parametrize("shape", [(5,), (32, 17), (4096,), (4097,)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_that_is_not_finite_is_found_wherever_it_is(shape: tuple[int, ...], bad: float):
    for place in (0, -1):
        numbers = np.ones(shape)
        numbers.reshape(-1)[place] = bad
        assert not finite(numbers)


def test_infinities_that_cancel_are_found_without_a_warning():
    assert not finite(np.array([np.inf, -np.inf]))


def test_numbers_whose_squares_are_too_large_are_finite():
    assert finite(np.array([1e200, -1e200]))


def test_columns_of_an_array_are_looked_through_too():
    rows = np.ones((8, 4))
    rows[:, 3] = np.nan
    assert finite(rows[:, :3])
    assert not finite(rows[:, 2:])
