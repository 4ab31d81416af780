"""Policies as safetensors files of plain arrays: a loader in any language takes a few lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from rapo.deploy.portable_policy import FORMAT, PortablePolicy
from rapo.errors import InputError
from rapo.files import write_atomically

Layers = tuple[tuple[np.ndarray, np.ndarray], ...]
FACTS = "rapo"
"""The key of the file's metadata under which its facts are, as JSON."""


def write_arrays(policy: PortablePolicy, path: Path) -> None:
    """Write a policy as arrays: centre, deviation, kernel_0, bias_0, ..., low, high."""
    arrays = {
        "centre": policy.centre,
        "deviation": policy.deviation,
        "low": policy.low,
        "high": policy.high,
    }
    for i, (kernel, bias) in enumerate(policy.layers):
        arrays |= {f"kernel_{i}": np.ascontiguousarray(kernel), f"bias_{i}": bias}
    write_atomically(path, save(arrays, {FACTS: json.dumps(policy.facts)}))


def read_arrays(path: Path) -> PortablePolicy:
    """The policy of a file that `write_arrays` wrote."""
    try:
        with safe_open(path, framework="numpy") as file:
            facts = read_facts(path, (file.metadata() or {}).get(FACTS))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"policy '{path}' can't be read: {error}") from None
    count = sum(name.startswith("kernel_") for name in arrays)
    needed = {"centre", "deviation", "low", "high"}
    needed |= {f"{kind}_{i}" for kind in ("kernel", "bias") for i in range(count)}
    if set(arrays) != needed or not count:
        raise InputError(f"policy '{path}' lacks some of its arrays, or has others")
    layers = tuple((arrays[f"kernel_{i}"], arrays[f"bias_{i}"]) for i in range(count))
    _check_shapes(path, arrays, layers)
    return PortablePolicy(arrays["centre"], arrays["deviation"], layers, arrays["low"], arrays["high"], facts)


def read_facts(path: Path, text: str | None) -> dict[str, Any]:
    """What a policy file says of itself, refused unless rapo wrote it in this format."""
    try:
        facts = json.loads(text or "")
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict) or not isinstance(facts.get("config"), dict):
        raise InputError(f"file '{path}' is not a policy that rapo has exported")
    if facts.get("format") != FORMAT:
        raise InputError(
            f"policy '{path}' has format {facts.get('format')!r}: this version of rapo reads {FORMAT}"
        )
    return facts


def _check_shapes(path: Path, arrays: dict[str, np.ndarray], layers: Layers) -> None:
    """Refuse arrays that do not fit together, or hold what is no number."""
    sizes = [arrays["centre"].shape[-1:], *(bias.shape for _, bias in layers)]
    fits = arrays["centre"].shape == arrays["deviation"].shape == sizes[0]
    fits &= arrays["low"].shape == arrays["high"].shape == sizes[-1]
    for (kernel, bias), before in zip(layers, sizes, strict=False):
        fits &= bias.ndim == 1 and kernel.shape == (*before, *bias.shape)
    weights = [x for layer in layers for x in layer]
    finite = all(np.isfinite(x).all() for x in (arrays["centre"], arrays["deviation"], *weights))
    if not fits or not finite or not (arrays["deviation"] > 0).all():
        raise InputError(f"policy '{path}' has arrays that do not fit together or are not finite")
