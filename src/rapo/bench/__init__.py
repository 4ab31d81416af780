"""Benchmarks: speed as a ratio to something plain that does the same work, such as raw mjbatch.

This module has what the benchmarks share: raw simulations, and two calls that are timed in turns.
"""

from collections.abc import Callable, Sequence
from time import perf_counter

from mjbatch import Batch

from rapo.arrays import Floats
from rapo.world.task import Task

FEWEST_TURNS = 8
"""Turns of each of two calls, at least, however long they take."""


def raw_batch(task: Task, dynamics: Floats) -> Batch:
    """Raw mjbatch with a simulation of the task's model under each row of dynamics `[n, P]`."""
    batch = Batch(task.model, len(dynamics))
    for field, values in task.dynamics.values(dynamics).items():
        batch.expand(field)[...] = values
    batch.set_const()
    return batch


def put_states(batch: Batch, saved: Floats) -> None:
    """Set the states of raw simulations from rows of snapshots `[n, D]`."""
    state = batch.bind("state")
    # A snapshot's row begins with MuJoCo's state; the rest is the task's own and unknown to mjbatch.
    state[...] = saved[:, : state.shape[1]]


def take_turns(
    seconds: float,
    prepare: Callable[[], None],
    raw: Callable[[], float],
    ours: Callable[[], float],
    fewest: int = FEWEST_TURNS,
) -> list[tuple[float, float]]:
    """Pairs of the seconds that `raw` and `ours` return, turn by turn, for about `seconds` in all.

    prepare: called before each turn, untimed. `raw` and `ours` are called in alternating order.
    """
    times: list[tuple[float, float]] = []
    start = perf_counter()
    while len(times) < fewest or perf_counter() - start < seconds:
        prepare()
        if len(times) % 2:
            raw_seconds, our_seconds = raw(), ours()
        else:
            our_seconds, raw_seconds = ours(), raw()
        times.append((raw_seconds, our_seconds))
    return times


def timed(call: Callable[[], object]) -> float:
    """How many seconds a call takes."""
    start = perf_counter()
    call()
    return perf_counter() - start


def typical(turns: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """The interquartile mean of each column of turns `[n][columns]`, which outliers do not move."""
    from scipy.stats import trim_mean

    return tuple(float(x) for x in trim_mean(turns, 0.25))
