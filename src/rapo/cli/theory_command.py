"""`rapo theory`: which statements of the paper hold?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rapo.errors import TheoryError


@dataclass(frozen=True)
class TheoryCommand:
    """Check the statements of the paper, and show what was measured and which of them hold.

    Each statement is computed in double precision on random and on classic problems. The verdict is that it
    holds, that it holds with a correction, or that it does not hold as written; a statement that fails as
    written is shown with its smallest counterexample. The folder gets a page with all this and a figure for
    each rate, the figures for print (PNG, PDF, SVG) and tables (CSV).

    The command ends with status 1 if a verdict is not the one that is expected of its statement.
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[NAME ...]")] = ()
    """Statements, by the names that the table shows; all of them if none is given."""
    seed: int = 0
    """Seed of the random problems; a statement gets the same problems alone and among others."""
    out: Path = Path("theory")
    """The folder for the page, the figures and the tables."""

    def run(self) -> None:
        """Check one by one with a progress bar, then show what was found, and where the page is."""
        from rapo import theory
        from rapo.cli.theory_table import explained, table_of
        from rapo.ranges import check_seed
        from rapo.reporting.report_folder import prepared
        from rapo.screen import console, progress_bar
        from rapo.theory.check import find, totals
        from rapo.theory.theory_folder import write

        check_seed(self.seed)
        chosen = find(self.names, theory.PARTS)
        prepared(self.out, "theory")
        with progress_bar() as progress:
            bar = progress.add_task("checking", total=len(chosen))
            checked = theory.check_all(
                self.seed,
                self.names,
                progress=lambda statement, done: progress.update(
                    bar, completed=done, description=f"checking {statement.name}"
                ),
            )
            progress.update(bar, completed=len(chosen), description="checked")
        with console.status("writing"):
            page = write(checked, theory.PARTS, self.out, self.seed)
        console.print(table_of(checked, console.width))
        wrong = [one for one in checked if one.wrong]
        if wrong:
            console.print("Counterexamples and corrections\n", style="bold")
        for one in wrong:
            console.print(explained(one))
        seconds = sum(one.seconds for one in checked)
        console.print(f"{totals(checked)} They took {seconds:.1f} s.", highlight=False)
        console.print(f"Page: {page}", soft_wrap=True, markup=False, highlight=False)
        surprises = [
            f"{one.statement.name} ({one.verdict}, {one.surprise})" for one in checked if one.surprise
        ]
        if surprises:
            many = f"{len(surprises)} of {len(checked)} statements did not turn out as expected"
            raise TheoryError(f"{many}: {', '.join(surprises)}")
