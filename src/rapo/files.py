"""Writing files so that a reader finds either the old file or the new one, never half of one."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rapo.errors import InputError

LEAST_FREE = 1 << 20
"""Bytes that must be free on a disk that is written to."""


def check_writable(path: Path) -> Path:
    """The file that `path` leads to, links followed; refused if it can't be written."""
    target = path.resolve()
    folder = target.parent
    try:
        if target.exists() and not target.is_file():
            raise InputError(
                f"file '{path}' can't be written: there is something else, give the name of a file"
            )
        if not folder.is_dir():
            raise InputError(f"file '{path}' can't be written: give a file in a folder that exists")
    except OSError as error:
        raise InputError(f"file '{path}' can't be written: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"file '{path}' can't be written: its folder is read-only")
    if shutil.disk_usage(folder).free < LEAST_FREE:
        raise InputError(f"file '{path}' can't be written: the disk is full")
    return target


@contextmanager
def one_at_a_time(folder: Path) -> Generator[None]:
    """Wait until no other process is in this context for the same folder; the lock dies with the process."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


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
