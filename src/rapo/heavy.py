"""Libraries that are slow to import, each loaded when something of it is first used.

`rapo --help`, a list of tasks or an error about an option need none of them. Type checkers see the real ones.
"""

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import jax as jax
    import jax.flatten_util  # pyright: ignore[reportUnusedImport]
    import jax.numpy as jnp
    import mjbatch as mjbatch
    import mujoco as mujoco
    import optax as optax
    import polars as pl
    from jax import Array as Array
else:

    class _Later:
        """A module that is imported when the first of its names is asked for."""

        def __init__(self, name: str, *parts: str) -> None:
            self._names = name, *parts

        def __getattr__(self, name: str) -> Any:
            module, *_ = map(import_module, self._names)
            found = getattr(module, name)
            setattr(self, name, found)
            return found

    jax, jnp, optax = _Later("jax", "jax.flatten_util"), _Later("jax.numpy"), _Later("optax")
    mujoco, mjbatch, pl = _Later("mujoco"), _Later("mjbatch"), _Later("polars")
    Array = Any

__all__ = ["Array", "compiled", "free_compiled", "jax", "jnp", "mjbatch", "mujoco", "optax", "pl"]

Made = TypeVar("Made")

MOST_MAPS = 20_000
"""Memory maps of this process above which compiled functions are forgotten."""


def compiled(*static: str) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """`jax.jit` with these arguments static, as a decorator that loads JAX with the first call."""

    def decorate(function: Callable[..., Made]) -> Callable[..., Made]:
        ready = cache(lambda: jax.jit(function, static_argnames=static))

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Made:
            return ready()(*args, **kwargs)

        return call

    return decorate


def free_compiled() -> None:
    """Forget compiled functions once they map much memory; those that are used again are compiled again.

    Linux gives a process 65,530 maps by default, a run's functions take about 1,400 of them, and compiling
    crashes where none is left.
    """
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
