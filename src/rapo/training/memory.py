"""How much memory a run will need, about, and whether the machine has it.

Only what grows with options is counted, so that a run that is refused could not have been trained; what a
run takes beside that is below a gibibyte.
"""

import os
from contextlib import suppress
from itertools import pairwise
from math import prod
from pathlib import Path

from rapo.errors import InputError
from rapo.training.config import Config
from rapo.training.options import values

GIB = 1 << 30
SINGLE, DOUBLE = 4, 8
LEARNED = 10
"""Copies of what is learned: itself, two moments of Adam, gradients, and what an update makes of them."""
ENVIRONMENT = 20_000
"""Bytes of an environment in the simulator."""


def check_memory(config: Config) -> None:
    """Refuse a run that needs more memory than the machine has, with the estimate and what it is for."""
    parts, has = estimate(config), machine_memory()
    needs = sum(parts.values())
    if needs > has:
        largest = max(parts, key=lambda name: parts[name])
        raise InputError(
            f"the run would need about {needs / GIB:,.1f} GiB of memory, most of it for {largest}, and this "
            f"machine has {has / GIB:.1f} GiB: choose smaller values"
        )


def estimate(config: Config) -> dict[str, int]:
    """Bytes that a run needs, at the least, by what they are for."""
    task, settings, chosen = config.task, config.settings, values(config.algorithm)
    seen, acts, rows = task.observation_size, task.action_size, config.steps_per_update
    players = 1 if config.algorithm.opponent is None else 2
    given = chosen.get("models", 1)
    models = len(given) if isinstance(given, list) else given
    sizes = (
        *(2 * players * [(seen, *settings.hidden, acts)]),
        (seen + acts, *chosen.get("advnet_hidden", ()), 1),
        (seen + acts, *chosen.get("sensitivity_hidden", ()), len(task.dynamics)),
    )
    samples = chosen.get("samples")
    drawn = samples if isinstance(samples, int) else 0
    simulated = "branches" in chosen or "drawn_models" in chosen
    probes = _probes(chosen, rows)
    return {
        "networks (hidden)": LEARNED * SINGLE * sum(map(_weights, sizes)),
        "environments (num_envs)": ENVIRONMENT * settings.num_envs,
        "the steps of an update (num_envs x horizon)": rows
        * (SINGLE + DOUBLE)
        * (2 * seen + 2 * acts + max(settings.hidden, default=0)),
        "the orders of an update (epochs x num_envs x horizon)": 2 * SINGLE * rows * settings.ppo.epochs,
        "models (models)": models
        * (models * SINGLE * ("law" in chosen) + rows + DOUBLE * len(task.dynamics)),
        "branches (models x num_envs x horizon)": simulated * rows * models * (seen + 2) * SINGLE,
        "draws (samples x num_envs x horizon)": rows * drawn * SINGLE,
        "branches of a step (drawn_models x num_envs)": settings.num_envs
        * chosen.get("drawn_models", 0)
        * (seen + acts)
        * DOUBLE,
        "probes (probes_each, probe_memory)": probes * (seen + acts + len(task.dynamics)) * SINGLE,
        "batches of probes (sensitivity_steps x sensitivity_rows)": prod(
            chosen.get(name, 0) for name in ("sensitivity_steps", "sensitivity_rows")
        )
        * SINGLE,
    }


def _weights(sizes: tuple[int, ...]) -> int:
    """How many numbers a network of these layers has."""
    return sum((before + 1) * after for before, after in pairwise(sizes))


def _probes(chosen: dict[str, float], rows: int) -> int:
    """Probes that are kept in memory."""
    kept = chosen.get("probes_each", 0) * chosen.get("probe_memory", 0)
    return int(chosen.get("probe_share", 0) * rows * kept)


def machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less in a container."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # "max" is no number, and elsewhere there is no such file
        whole = min(whole, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return whole
