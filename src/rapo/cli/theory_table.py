"""What `rapo theory` prints: a table of verdicts, and what is true of the statements that fail as written."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from rapo.theory.check import Checked

ROOMY = 120
"""Characters that four columns of text need; on narrower screens two of the columns share one."""
SIGNS = {"holds": ("✓", "green"), "holds with correction": ("≈", "yellow")}
"""The mark and the colour of each verdict."""
OTHERS = ("✗", "red")
"""The mark and the colour of all other verdicts."""


def table_of(checked: Sequence[Checked], width: int) -> Table:
    """A row for each statement: four columns on a wide screen, three on one of fewer characters."""
    roomy = width >= ROOMY
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


def _verdict(one: Checked) -> Text:
    sign, colour = SIGNS.get(one.verdict, OTHERS)
    text = Text(f"{sign} {one.verdict}", colour)
    return text.append(f"\n! {one.surprise}", "bold magenta") if one.surprise else text


def explained(one: Checked) -> Table:
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
