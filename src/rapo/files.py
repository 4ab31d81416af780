"""Writing files so that a reader finds either the old file or the new one, never half of one."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rapo.errors import InputError

PARTIAL = ".partial"
"""How the names of files end that are not whole yet."""
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
def one_at_a_time(path: Path) -> Generator[None]:
    """Wait until no other process is in this context for the same file or folder; the lock dies with the
    process."""
    opened = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file of this content, or raise and leave the old file as it was.

    What writers that were killed have left in the folder is taken away first.
    """
    target = check_writable(path)
    mask = os.umask(0)
    os.umask(mask)
    temporary = None
    try:
        _clean(target.parent)
        with _partial(target) as file:
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


def _partial(target: Path) -> IO[bytes]:
    """A new file beside `target`, locked as long as it is open, so that nobody takes it away meanwhile."""
    while True:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115
            dir=target.parent, prefix=f".{target.name}.", suffix=PARTIAL, delete=False
        )
        if not _locked(file.fileno()) or os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # taken away before it was locked


def _clean(folder: Path) -> None:
    """Take away partial files of writers that are no more."""
    for path in folder.glob(f".*{PARTIAL}"):
        with suppress(OSError), path.open("rb") as file:
            if _locked(file.fileno()):
                path.unlink()


def _locked(opened: int) -> bool:
    """Lock an open file; False if another process has it, or if the file system knows no locks."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
