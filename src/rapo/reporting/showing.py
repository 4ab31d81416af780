"""What a measurement is given to show itself in the report of one task, and where its files go."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rapo.reporting.colours import Look
from rapo.reporting.comparison import Comparison
from rapo.reporting.report_folder import Output
from rapo.reporting.run_record import RunRecord
from rapo.reporting.tables import Table


@dataclass(frozen=True)
class Showing:
    """One task of a report: its groups of runs and their results, and what writes figures and tables."""

    comparison: Comparison
    """All groups of runs of the task, with their scores."""
    looks: Mapping[str, Look]
    """How each group is drawn, by its label."""
    output: Output
    """Writes the figures and tables that lie beside the page."""
    seed: int
    """The seed of the bootstrap."""

    def results(self, name: str) -> Iterator[tuple[str, RunRecord, Any]]:
        """The group's label, the run and the result, for each run that measurement `name` was made of."""
        for scores in self.comparison.groups:
            for run in scores.group.runs:
                if name in run.results:
                    yield scores.label, run, run.results[name]

    def files(self, *tables: Table | None) -> tuple[str, ...]:
        """Write tables of this task as CSV; links to them."""
        return self.output.table(self.comparison.task, *tables)
