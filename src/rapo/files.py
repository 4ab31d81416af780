"""Writing files so that a reader finds either the old file or the new one, never half of one."""

import os
import tempfile
from pathlib import Path

from rapo.errors import InputError


def check_writable(path: Path) -> Path:
    """The file that `path` leads to, links followed; refused if it can't be written."""
    target = path.resolve()
    if (target.exists() and not target.is_file()) or not os.access(target.parent, os.W_OK):
        raise InputError(f"file '{path}' can't be written: give a file in a folder that exists")
    return target


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file of this content, or raise and leave the old file as it was."""
    target = check_writable(path)
    mask = os.umask(0)
    os.umask(mask)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            temporary = file.name
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise InputError(f"file '{path}' can't be written: {error.strerror}") from None
