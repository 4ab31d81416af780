"""`rapo new`: a robot to begin with."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from rapo.screen import console
from rapo.starter.write_robot import write_robot


@dataclass(frozen=True)
class NewCommand:
    """Write a small working robot to be changed into yours: a task, its MJCF model and a test.

    It trains, sweeps and passes its test as it is: `rapo new my_robot`, then
    `rapo train my_robot.py:MyRobot`.
    """

    name: tyro.conf.Positional[str]
    """What to call the robot and its files, such as my_robot."""
    folder: Path = Path()
    """Where to write the files."""

    def run(self) -> None:
        """Write the files and say what to do with them."""
        task, *others = write_robot(self.name, self.folder)
        kind = "".join(word.capitalize() for word in self.name.split("_"))
        for line in (
            f"Wrote {task}, {', '.join(map(str, others))}. Try:",
            f"  pytest {others[-1]}",
            f"  rapo tasks {task}:{kind} --check",
            f"  rapo train {task}:{kind} --steps 300000 --out runs/{self.name}",
        ):
            console.print(line, soft_wrap=True, markup=False, highlight=False)
