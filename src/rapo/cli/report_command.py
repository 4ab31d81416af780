"""`rapo report`: which policy should I trust, and how far?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.markup import escape
from rich.table import Table

from rapo.ranges import check_seed
from rapo.runs.description import is_policy
from rapo.screen import console, number_table, progress_bar
from rapo.world.find_task import find_task

if TYPE_CHECKING:
    from rapo.reporting.comparison import Comparison


@dataclass(frozen=True)
class ReportCommand:
    """Write a report of runs: which policy should I trust, and how far?

    One page with everything in it, that opens from disk; beside it figures for print (PDF and PNG) and the
    tables as CSV. Runs of one algorithm that differ in nothing but their seed are taken together.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders that hold them; also exported policies, and those of `rapo zoo`."""
    out: Path = Path("report")
    """The folder of the report."""
    seed: int = 0
    """Where the bootstrap's random numbers come from."""
    task: tuple[str, ...] = ()
    """Tasks as FILE:CLASS that are not built in and bring measurements of their own."""

    def run(self) -> None:
        """Read run by run with a progress bar, then say what was found and where it is."""
        from rapo.deploy.policy_file import policy_folder
        from rapo.reporting.groups import find_runs, load  # imported here: plotting is slow to import
        from rapo.reporting.report_folder import prepared
        from rapo.reporting.write_report import measured, write

        check_seed(self.seed)
        tasks = [find_task(name) for name in self.task]
        runs = find_runs([policy_folder(path) if is_policy(path) else path for path in self.runs])
        prepared(self.out)
        with progress_bar() as progress:
            bar = progress.add_task("reading", total=len(runs))
            loaded = load(runs, lambda: progress.advance(bar), tasks)
        with console.status("writing"):
            found = measured(loaded, self.seed)
            page = write(loaded, found, self.out, self.seed)
        for comparison in found:
            console.print(_report_table(comparison))
        for note in loaded.notes[:5]:
            console.print(note, soft_wrap=True, markup=False, highlight=False)
        if len(loaded.notes) > 5:
            console.print(f"{len(loaded.notes) - 5} more notes are on the page.")
        console.print(f"Report: {page}", soft_wrap=True, markup=False)


def _report_table(comparison: "Comparison") -> Table:
    """The scores of every group, the best outside of the training range first, those not swept last."""
    from rapo.reporting.summary import number

    numbers = ("seeds", "nominal", "ID", "OOD IQM", "95% interval", "worst")
    table = number_table(f"Returns on {comparison.task}", ("algorithm",), numbers)
    for m in comparison.ordered:
        iqm = m.outside_iqm
        table.add_row(
            escape(m.label),
            str(m.seeds),
            *(number(found.value) for found in (m.nominal, m.inside, iqm)),
            f"{number(iqm.low)} to {number(iqm.high)}" if iqm.known else "-",
            number(m.worst.value),
        )
    return table
