"""Writes a small working task, its model and its test into a folder, to be changed into one's own robot."""

import re
from importlib.resources import files
from pathlib import Path

from rapo.errors import InputError
from rapo.files import write_atomically

PARTS = {"robot.py.in": "{}.py", "robot.xml.in": "{}.xml", "test_robot.py.in": "test_{}.py"}
"""The files of the starter, and what they are called for a robot of some name."""


def write_robot(name: str, folder: Path) -> list[Path]:
    """Write the files of a robot called `name`; nothing is written if one of them exists."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InputError(
            f"robot '{name}' can't be made: allowed are small letters, digits and _, as in my_robot"
        )
    if not folder.is_dir():
        raise InputError(f"folder '{folder}' does not exist: make it first, or give another one")
    written = {folder / wanted.format(name): part for part, wanted in PARTS.items()}
    for path in written:
        if path.exists():
            raise InputError(f"file '{path}' exists: give the robot another name, or another folder")
    kind = "".join(word.capitalize() for word in name.split("_"))
    for path, part in written.items():
        text = files("rapo.starter").joinpath(part).read_text("utf-8")
        write_atomically(path, text.replace("@name@", name).replace("@Name@", kind).encode())
    return list(written)
