"""Drawing many values from a strategy of hypothesis, the same ones every time."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

Drawn = TypeVar("Drawn")


def for_each(strategy: SearchStrategy[Drawn], count: int, work: Callable[[Drawn], None]) -> None:
    """Call `work` with `count` values; nothing is kept on disk, and nothing is drawn to be shrunk."""

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(strategy)
    def each(value: Drawn) -> None:
        work(value)

    each()
