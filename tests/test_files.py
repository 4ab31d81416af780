"""Atomic writes."""

import os
import stat

import pytest

from rapo.errors import InputError
from rapo.files import write_atomically


def test_a_file_is_replaced_whole_and_links_are_followed(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    write_atomically(file, b"old")
    link.symlink_to(file)
    write_atomically(link, b"new")
    assert file.read_bytes() == b"new"
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "link"]


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "other").touch()
    write_atomically(tmp_path / "file", b"")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "other").stat().st_mode
    )


def test_what_is_not_a_file_is_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, says in (
        (pipe, "there is something else, give the name of a file"),
        (tmp_path, "there is something else, give the name of a file"),
        (tmp_path / "no" / "such", "give a file in a folder that exists"),
    ):
        with pytest.raises(InputError, match=f"can't be written: {says}"):
            write_atomically(path, b"x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    file = tmp_path / "file"
    write_atomically(file, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="can't be written: No space left on device"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
