"""Code that a user names, as FILE:NAME or MODULE:NAME: tasks and algorithms of one's own.

It is loaded because the user named it, never because a run folder does.
"""

import sys
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from rapo.errors import InputError


def is_code(name: str) -> bool:
    """Whether a name says where to find it."""
    return ":" in name


def find_code(name: str) -> Any:
    """What FILE:NAME or MODULE:NAME stands for; None if the file or module has no such name."""
    where, _, what = name.rpartition(":")
    return getattr(_module(where), what, None)


def absolute_code(name: str) -> str:
    """The same name for another working folder: that of a file is made absolute."""
    where, colon, what = name.rpartition(":")
    return f"{Path(where).resolve()}:{what}" if colon and where.endswith(".py") else name


def file_of(kind: type) -> Path | None:
    """The file in which a class is written; None where there is none, as in an interactive session."""
    module = sys.modules.get(kind.__module__)
    path = getattr(module, "__file__", None)
    return None if path is None else Path(path)


def digest_of(path: Path | None) -> str | None:
    """The SHA-256 of a file; None if it can't be read."""
    try:
        return None if path is None else sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _module(where: str) -> ModuleType:
    """The module of a file, loaded again only when the file has changed, or that of a dotted name."""
    path = Path(where)
    if path.suffix != ".py":
        try:
            return import_module(where)
        except (ImportError, ValueError, TypeError) as error:
            raise InputError(f"module '{where}' can't be imported: {error}") from None
    if not path.is_file():
        raise InputError(f"file '{path}' does not exist: give a Python file and a name in it, as FILE:NAME")
    digest = sha256(f"{path.resolve()} {digest_of(path)}".encode()).hexdigest()
    name = f"rapo_user_{path.stem}_{digest[:12]}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path.resolve())
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            said = " ".join(str(error).split())
            raise InputError(f"file '{path}' can't be loaded: {type(error).__name__}: {said}") from None
    return sys.modules[name]
