"""The command that runs grids."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from rapo.cli.stopping import say_on_interrupt
from rapo.errors import TrainingError
from rapo.runs.start import SAVE_EVERY
from rapo.screen import console


@dataclass(frozen=True)
class GridCommand:
    """Train and measure all runs of a grid file: tasks x algorithms x seeds, and lists of any option.

    Every run is swept and searched, and measured in every other way that the file has a table for, such as
    [nominal] or the quadrotor's [tracking]; `search = false` leaves a measurement out. A task of your own is
    FILE:CLASS.

    Finished runs are skipped, interrupted ones go on, failed ones are tried again and do not stop the others.
    `grids/` has the experiments of the paper, and `grids/small.toml`, which takes a few minutes.
    """

    file: tyro.conf.Positional[Path]
    """The grid file, in TOML."""
    ray: bool = False
    """On Ray, a core for each run; without it, one run after the other in this process."""
    address: str | None = None
    """The Ray cluster to run on, as HOST:PORT, ray://HOST:PORT or auto; it must see the same folders."""
    status: bool = False
    """Only show how far every run is."""
    save_every: int = SAVE_EVERY
    """Updates between checkpoints."""

    def run(self) -> None:
        """Run what is left, then name what failed."""
        from rapo.grids.grid_file import read_grid
        from rapo.grids.runner import failures, run_grid, status

        grid = read_grid(self.file)
        if self.status:
            console.print(status(grid))
            return
        say_on_interrupt(f"what its runs have is saved: go on with rapo grid {self.file}")
        on_ray = self.ray or self.address is not None
        outcomes = run_grid(
            grid, ray=on_ray, address=self.address, console=console, save_every=self.save_every
        )
        failed = failures(outcomes)
        console.print(f"Runs: {grid.out}", soft_wrap=True, markup=False)
        if failed is not None:
            console.print(failed)
            raise TrainingError(
                f"{failed.row_count} of {len(outcomes)} runs failed: rapo grid {self.file} tries them again"
            )
