"""Checkpoints: what is written comes back, and nothing else does."""

import hashlib
import json
import resource
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from rapo.errors import InputError
from rapo.runs.checkpoint import FORMAT, read_checkpoint, read_facts, write_checkpoint

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False]), "c": np.array(3, np.int64)}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    write_checkpoint(path, ARRAYS, {"config": {"task": "hopper"}, "counters": {"updates": 3}})
    return path


def test_what_is_written_comes_back(path):
    arrays, facts = read_checkpoint(path)
    assert facts == {"format": FORMAT, "config": {"task": "hopper"}, "counters": {"updates": 3}}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_views_are_saved_as_they_look(tmp_path):
    write_checkpoint(tmp_path / "x", {"t": ARRAYS["a"].T, "s": ARRAYS["a"][:, ::2]}, {})
    arrays, _ = read_checkpoint(tmp_path / "x")
    np.testing.assert_array_equal(arrays["t"], ARRAYS["a"].T)
    np.testing.assert_array_equal(arrays["s"], ARRAYS["a"][:, ::2])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match="is damaged and can't be read"):
        read_checkpoint(path)


def test_any_altered_byte_is_refused(path):
    content = path.read_bytes()
    for at in range(len(content) - 1, 0, -7):
        altered = bytearray(content)
        altered[at] ^= 1
        path.write_bytes(altered)
        with pytest.raises(
            InputError, match=r"checkpoint .*(is damaged|was altered)|file .* is not a checkpoint"
        ):
            read_checkpoint(path)


def test_strangers_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_checkpoint(tmp_path / "none")
    (tmp_path / "pickle").write_bytes(b"\x80\x04\x95 cos\nsystem\n")
    with pytest.raises(InputError, match="is damaged"):
        read_checkpoint(tmp_path / "pickle")
    save_file(ARRAYS, tmp_path / "other")
    with pytest.raises(InputError, match="is not a checkpoint of rapo"):
        read_checkpoint(tmp_path / "other")


@pytest.mark.parametrize("facts", ["[1, 2]", "3", "{", ""])
def test_what_is_no_object_of_json_is_no_checkpoint(tmp_path, facts):
    digest = hashlib.sha256(facts.encode()).hexdigest()  # that of a file without arrays
    save_file({}, tmp_path / "x", {"facts": facts, "sha256": digest})
    for read in (read_checkpoint, read_facts):
        with pytest.raises(InputError, match="it describes itself by no JSON object"):
            read(tmp_path / "x")


def test_another_format_is_refused_by_its_number(path, monkeypatch):
    monkeypatch.setattr("rapo.runs.checkpoint.FORMAT", FORMAT + 1)
    with pytest.raises(InputError, match=f"has format {FORMAT}: this version of rapo reads {FORMAT + 1}"):
        read_checkpoint(path)


def test_a_disk_that_fills_up_leaves_the_checkpoint_before(path):
    # A limit on the size of files stands in for a full disk: the write fails half-way, as it does there.
    code = """
import resource, sys, numpy as np
from pathlib import Path
from rapo.errors import InputError
from rapo.runs.checkpoint import write_checkpoint
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_checkpoint(Path(sys.argv[1]), {"a": np.zeros(10_000)}, {})
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert "can't be written: File too large" in done.stdout
    assert read_checkpoint(path)[1]["counters"] == {"updates": 3}
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


def test_the_header_is_json_and_nothing_in_it_is_evaluated(path):
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert set(header["__metadata__"]) == {"facts", "sha256"}
