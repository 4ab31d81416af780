"""`rapo demo`."""

from dataclasses import dataclass
from pathlib import Path

from rapo import demo
from rapo.files import check_writable
from rapo.screen import console, number_table, progress_bar, write_rows


@dataclass(frozen=True)
class Demo:
    """Train RAPO and PPO on Hopper, sweep them over other physics and report: a few minutes in all.

    A demo that was interrupted goes on where it was; one that was finished is measured again.
    """

    steps: int = demo.STEPS
    """Environment steps of each."""
    seed: int = 0
    """Where all random numbers come from."""
    out: Path = Path("runs/demo")
    """Where the two runs and their report go."""
    json: Path | None = None
    """Also write the returns to this file."""

    def run(self) -> None:
        """Train, measure, print, report."""
        from rapo.reporting.write_report import report  # imported here: plotting is slow to import

        if self.json is not None:
            check_writable(self.json)
        curves: list[demo.Curve] = []
        for algo in demo.ALGORITHMS:
            run = demo.train_or_go_on(algo, self.steps, self.seed, self.out / algo)
            with progress_bar() as progress:
                bar = progress.add_task(f"measuring {algo}", total=run.config().task.tested().time_limit)
                curves += demo.measure(run, algo, self.seed, lambda: progress.advance(bar))  # noqa: B023
                progress.update(bar, completed=run.config().task.tested().time_limit)
        title = f"Hopper after {self.steps:,} steps, mean return"
        table = number_table(title, ("",), ("nominal", "perturbed", "worst"))
        for algo in demo.ALGORITHMS:
            table.add_row(algo, *(f"{x:,.0f}" for x in demo.summary(curves, algo)))
        console.print(table)
        scales = ", ".join(f"{x:g}" for x in demo.SCALES if x != 1)
        console.print(
            f"Perturbed: mass, inertia, friction and torque, one at a time, scaled by {scales}; "
            f"{demo.EPISODES} episodes each.",
            soft_wrap=True,
        )
        if self.json is not None:
            write_rows(self.json, curves)
        page = report([self.out / algo for algo in demo.ALGORITHMS], self.out / "report")
        console.print(f"Report, to be opened in a browser: {page}", soft_wrap=True, markup=False)
