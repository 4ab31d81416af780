"""`rapo demo`: train, sweep and report in a few minutes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rapo.files import check_writable

if TYPE_CHECKING:
    from rapo.demo import ScaleCurve
    from rapo.runs.run import Run


@dataclass(frozen=True)
class DemoCommand:
    """Train RAPO and PPO on Hopper, sweep them over other physics, draw both and report: a few minutes.

    A demo that was interrupted goes on where it stopped; a finished one is measured and reported again.
    """

    steps: int = 1_000_000
    """Environment steps that each of the two trains for."""
    seed: int = 0
    """Seed of all random numbers."""
    out: Path = Path("runs/demo")
    """The folder of the two runs and their report."""
    json: Path | None = None
    """Also write the mean returns to this file."""

    def run(self) -> None:
        """Train, measure, print, report."""
        from rapo import demo
        from rapo.reporting.write_report import report
        from rapo.screen import console, number_table, progress_bar, write_rows

        if self.json is not None:
            check_writable(self.json)
        curves: list[ScaleCurve] = []
        runs: list[Run] = []
        for algo in demo.ALGORITHMS:
            run = demo.train_or_go_on(algo, self.steps, self.seed, self.out / algo)
            runs.append(run)
            with progress_bar() as progress:
                bar = progress.add_task(f"measuring {algo}", total=run.config().task.tested().time_limit)
                curves += demo.measure(run, algo, self.seed, lambda: progress.advance(bar))  # noqa: B023
                progress.update(bar, completed=run.config().task.tested().time_limit)
        title = f"Hopper after {self.steps:,} steps, mean return"
        table = number_table(title, ("",), demo.MeanReturns._fields)
        for algo in demo.ALGORITHMS:
            table.add_row(algo, *(f"{x:,.0f}" for x in demo.summary(curves, algo)))
        console.print(table)
        scales = ", ".join(f"{x:g}" for x in demo.SCALES if x != 1)
        heavier = " and ".join(f"{x:g}" for x in demo.HEAVIER)
        console.print(f"Heavier: all masses scaled by {heavier}.", soft_wrap=True)
        console.print(
            f"Perturbed: mass, inertia, friction and torque, one at a time, scaled by {scales}; "
            f"{demo.EPISODES} episodes each.",
            soft_wrap=True,
        )
        if self.json is not None:
            write_rows(self.json, curves)
        with progress_bar() as progress:
            bar = progress.add_task("drawing", total=None)
            drawn = demo.draw(runs, self.out / "heavier.png", lambda: progress.advance(bar))
        console.print(drawn, soft_wrap=True, markup=False)
        page = report([self.out / algo for algo in demo.ALGORITHMS], self.out / "report")
        console.print(f"Report, to be opened in a browser: {page}", soft_wrap=True, markup=False)
