"""Compiled functions are forgotten before they take every memory map of a process."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from rapo import heavy

MAPS = Path("/proc/self/maps")


@pytest.mark.skipif(not MAPS.exists(), reason="only Linux counts the maps of a process")
def test_compiled_functions_are_forgotten_once_they_map_much_memory(monkeypatch):
    jax.clear_caches()
    compiled = []

    @jax.jit
    def product(x):
        compiled.append(x.shape)  # runs only while JAX traces the function to compile it
        return jnp.sin(x) @ x

    product(jnp.ones((7, 7))).block_until_ready()
    held = len(MAPS.read_text().splitlines())

    heavy.free_compiled()
    product(jnp.ones((7, 7))).block_until_ready()
    assert len(compiled) == 1

    monkeypatch.setattr(heavy, "MOST_MAPS", held - 10)
    heavy.free_compiled()
    assert len(MAPS.read_text().splitlines()) < held
    product(jnp.ones((7, 7))).block_until_ready()
    assert len(compiled) == 2
