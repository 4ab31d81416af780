"""Checkpoints: one safetensors file, whole or not at all, that can be wrong but can't run code.

The header holds, as JSON, what the arrays belong to and a digest of everything, so that a file that was cut
short, altered or made by another run is refused before a single number of it is used.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from rapo.errors import InputError
from rapo.files import write_atomically

FORMAT = 3
"""Grows whenever older files can no longer be read."""


def write_checkpoint(path: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
    """Put a checkpoint in place of the one at `path`, which stays as it is if anything fails."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    described = json.dumps({"format": FORMAT, **facts}, sort_keys=True)
    header = {"facts": described, "sha256": _digest(contiguous, described)}
    write_atomically(path, save(contiguous, header))


def read_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and facts of a checkpoint, refused unless they are those that were written."""
    if not path.is_file():
        raise InputError(f"checkpoint '{path}' does not exist: give a run that has saved one")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f"checkpoint '{path}' is damaged and can't be read: {error}") from None
    if not {"facts", "sha256"} <= header.keys():
        raise InputError(f"file '{path}' is not a checkpoint of rapo: its header has no facts or no digest")
    if _digest(arrays, header["facts"]) != header["sha256"]:
        raise InputError(f"checkpoint '{path}' was altered after it was written: its digest does not match")
    return arrays, _facts(path, header["facts"])


def read_facts(path: Path) -> dict[str, Any]:
    """The facts of a checkpoint alone, refused unless everything in it is as it was written."""
    return read_checkpoint(path)[1]


def _facts(path: Path, described: str) -> dict[str, Any]:
    """What a checkpoint says of itself, where that is of this format."""
    try:
        facts = json.loads(described)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise InputError(f"file '{path}' is not a checkpoint of rapo: it describes itself by no JSON object")
    if facts.get("format") != FORMAT:
        raise InputError(
            f"checkpoint '{path}' has format {facts.get('format')}: this version of rapo reads {FORMAT}"
        )
    return facts


def _digest(arrays: Mapping[str, np.ndarray], described: str) -> str:
    digest = hashlib.sha256(described.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
