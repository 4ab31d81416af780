"""Does what docs/your-robot.md shows, as a reader would: python docs/worked_example.py FOLDER."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("your-robot.md")
TITLE = "## From a model to a policy on disk"


def blocks(language: str = "") -> list[str]:
    """The code of the example in one language; the commands have none."""
    section = PAGE.read_text("utf-8").partition(TITLE)[2].partition("\n## ")[0]
    return [code for said, code in re.findall(r"```(\w*)\n(.*?)```", section, re.DOTALL) if said == language]


def files() -> dict[str, str]:
    """The files of the example by their names, which stand in the comments that they begin with."""
    found = (
        (re.match(r"(?:# |<!-- )([\w-]+\.\w+)", code), code) for code in (*blocks("xml"), *blocks("python"))
    )
    return {name[1]: code for name, code in found if name}


def commands() -> list[list[str]]:
    """The commands of the example in order, each as its words."""
    return [shlex.split(line, comments=True) for code in blocks() for line in code.splitlines()]


def main(folder: str) -> None:
    """Write the files into a new folder and run the commands there."""
    home = Path(folder)
    home.mkdir(parents=True)
    for name, code in files().items():
        (home / name).write_text(code)
    for rapo, *words in commands():
        subprocess.run([sys.executable, "-m", rapo, *words], cwd=home, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
