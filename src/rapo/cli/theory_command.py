"""`rapo theory`: which statements of the paper hold?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from rapo.errors import TheoryError
from rapo.screen import console, progress_bar
from rapo.world.streams import check_seed

if TYPE_CHECKING:
    from rapo.theory import Checked

ROOMY = 120
"""Characters that four columns of text need; on narrower screens two of them share one."""
SIGNS = {"holds": ("✓", "green"), "holds with correction": ("≈", "yellow")}
"""The mark and the colour of verdicts; of all others, a red cross."""
OTHERS = ("✗", "red")


@dataclass(frozen=True)
class Theory:
    """Check the statements of the paper, and show what was measured and which of them hold.

    Each is computed in double precision on random problems and on classic ones, and what was measured
    decides: it holds, it holds with a correction, or it does not hold as it is written, which is then shown
    by the smallest counterexample. The page says the same with a figure for each rate; beside it lie the
    figures for print (PNG, PDF, SVG) and tables (CSV).

    Ends with status 1 if a verdict is not the one that is expected of its statement.
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[NAME ...]")] = ()
    """Statements, by the names that the table shows; all of them if none is given."""
    seed: int = 0
    """Where the random problems come from; each statement draws its own, whichever others are checked."""
    out: Path = Path("theory")
    """The folder of the page."""

    def run(self) -> None:
        """Check one by one with a progress bar, then show what was found, and where the page is."""
        from rapo import theory  # imported here: statements need JAX, and pages are slow to import
        from rapo.reporting.report_folder import prepared
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
        console.print(_table(checked))
        wrong = [one for one in checked if one.wrong]
        if wrong:
            console.print("Counterexamples and corrections\n", style="bold")
        for one in wrong:
            console.print(_explained(one))
        seconds = sum(one.seconds for one in checked)
        console.print(f"{totals(checked)} They took {seconds:.1f} s.", highlight=False)
        console.print(f"Page: {page}", soft_wrap=True, markup=False, highlight=False)
        surprises = [
            f"{one.statement.name} ({one.verdict}, {one.surprise})" for one in checked if one.surprise
        ]
        if surprises:
            many = f"{len(surprises)} of {len(checked)} statements did not turn out as expected"
            raise TheoryError(f"{many}: {', '.join(surprises)}")


def _table(checked: Sequence["Checked"]) -> Table:
    """A row for each statement: four columns where there is room, three where there is little."""
    roomy = console.width >= ROOMY
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 1, 0), expand=True)
    table.add_column("statement", ratio=26)
    if roomy:
        table.add_column("measured", ratio=36)
        table.add_column("bound or prediction", ratio=30)
    else:
        table.add_column("measured, against bound or prediction", ratio=36)
    table.add_column("verdict", ratio=16)
    for one in checked:
        said, found = one.statement, one.finding
        name = Text.assemble((said.title, "bold"), "\n", (f"{said.where}\n{said.name}", "dim"))
        measured, bound = Text(found.measured), Text(found.predicted)
        if roomy:
            table.add_row(name, measured, bound, _verdict(one))
        else:
            against = ("\nagainst: ", "dim") if found.predicted else ""
            table.add_row(name, Text.assemble(measured, against, bound), _verdict(one))
    return table


def _verdict(one: "Checked") -> Text:
    sign, colour = SIGNS.get(one.verdict, OTHERS)
    text = Text(f"{sign} {one.verdict}", colour)
    return text.append(f"\n! {one.surprise}", "bold magenta") if one.surprise else text


def _explained(one: "Checked") -> Table:
    """A statement that does not hold as written: the counterexample and what is true instead."""
    sign, colour = SIGNS.get(one.verdict, OTHERS)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", width=14)
    table.add_column()
    table.add_row(
        Text(sign, colour), Text.assemble((one.statement.title, "bold"), (f"  {one.statement.name}", "dim"))
    )
    for label, text in (
        ("counterexample", one.finding.counterexample),
        ("true instead", one.finding.correction),
    ):
        if text:
            table.add_row(label, Text(text))
    table.add_row()
    return table
