"""Speed as a ratio to raw physics, measured by turns in one process."""

from collections.abc import Callable, Sequence
from time import perf_counter

from mjbatch import Batch

from rapo.arrays import Floats
from rapo.world.task import Task

FEWEST_TURNS = 8


def raw_batch(task: Task, dynamics: Floats) -> Batch:
    """Raw mjbatch with a simulation of the task's model under each row of dynamics `[n, P]`."""
    batch = Batch(task.model, len(dynamics))
    for field, values in task.dynamics.values(dynamics).items():
        batch.expand(field)[...] = values
    batch.set_const()
    return batch


def put_states(batch: Batch, saved: Floats) -> None:
    """Let raw simulations go on from rows of snapshots, which end with what only the task carries along."""
    state = batch.bind("state")
    state[...] = saved[:, : state.shape[1]]


def take_turns(
    seconds: float,
    prepare: Callable[[], None],
    raw: Callable[[], float],
    ours: Callable[[], float],
    fewest: int = FEWEST_TURNS,
) -> list[tuple[float, float]]:
    """Seconds of `raw` and of `ours` in equally many turns, each going first in half of them."""
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
    """The interquartile mean of every column: what a turn takes when nothing else gets in its way."""
    from scipy.stats import trim_mean  # imported here: it is slow to import and seldom needed

    return tuple(float(x) for x in trim_mean(turns, 0.25))
