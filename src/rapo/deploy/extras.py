"""Modules that only some users need, each with the extra that installs it."""

from importlib import import_module
from typing import Any

from rapo.errors import InputError


def needed(module: str, extra: str) -> Any:
    """An optional module, refused in a sentence that says how to install it where it is not there."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"module {module} is not installed: pip install 'rapo[{extra}]'") from None
