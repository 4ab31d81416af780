"""`rapo play`: a policy in a window, with sliders for its uncertain parameters."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from rapo.cli.own_code import own_code
from rapo.screen import console

if TYPE_CHECKING:
    from rapo.deploy.player import Played


@dataclass(frozen=True)
class PlayCommand:
    """Watch a policy in MuJoCo's viewer, and move its uncertain parameters while it plays.

    Open Control on the right of the window: after the robot's own controls, every parameter has a slider over
    its test range, and Clear all puts them back. An episode that ends is followed by the next one. A display
    is needed; `rapo video` makes films without one.
    """

    run_folder: tyro.conf.Positional[Path]
    """The run folder, or an exported policy, or one of `rapo zoo`."""
    seconds: float = inf
    """The window closes after so many seconds at the latest."""
    seed: int = 1000
    """Where the initial states come from."""
    task: str | None = None
    """The task of the run as FILE:CLASS, where it is not built in."""
    algo: str | None = None
    """The algorithm of the run as FILE:NAME, where it is not built in."""

    def run(self) -> None:
        """Open the window, and say of every episode what it returned."""
        from rapo.deploy.policy_file import named_runs
        from rapo.deploy.window import play

        (run,) = named_runs([self.run_folder], *own_code(self.task, self.algo))
        play(run, seed=self.seed, seconds=self.seconds, ended=_say)


def _say(played: "Played") -> None:
    said = f"return {played.returned:,.0f} in {played.steps:,} steps, {played.under}"
    console.print(said, soft_wrap=True, markup=False, highlight=False)
