"""The folder that `rapo theory` writes: a page, a figure for each rate, and tables.

`index.html` has everything; `figures/` has PNG, PDF and SVG files for print, `tables/` the findings and the
points of the figures as CSV. The same seed writes the same files.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rapo.files import write_atomically
from rapo.reporting.report_folder import Output, prepared
from rapo.reporting.tables import Table
from rapo.theory.check import Checked
from rapo.theory.rate_figures import KINDS, printed
from rapo.theory.statement import Part
from rapo.theory.theory_page import TheoryPage

PAGE = "index.html"


def write(checked: Sequence[Checked], parts: Sequence[Part], out: Path, seed: int) -> Path:
    """Write all files, the page last; return the path of the page."""
    prepared(out, "theory")
    output = Output(out, [one.statement.name for one in checked])
    files = {
        one.statement.name: tuple(
            link
            for i, rate in enumerate(one.finding.rates, start=1)
            for link in output.figure(one.statement.name, str(i), printed(rate), KINDS)
        )
        for one in checked
    }
    tables = output.table(None, _statements(checked), _rates(checked))
    page = TheoryPage(checked, parts, seed, files, tables)
    write_atomically(out / PAGE, page.html().encode())
    return out / PAGE


def _statements(checked: Sequence[Checked]) -> Table:
    """The table of findings, a row for each statement."""
    rows = [
        {
            "name": one.statement.name,
            "title": one.statement.title,
            "where": one.statement.where,
            "claim": one.statement.claim,
            "measured": one.finding.measured,
            "predicted": one.finding.predicted,
            "verdict": one.verdict,
            "expected": str(one.statement.expected),
            "as expected": one.as_expected,
            "instances": one.finding.instances,
            "correction": one.finding.correction,
            "counterexample": one.finding.counterexample,
        }
        for one in checked
    ]
    return Table("statements", "What became of each statement", pl.DataFrame(rows))


def _rates(checked: Sequence[Checked]) -> Table | None:
    """The table of all points of all figures; None if there are no figures."""
    rows = [
        {
            "name": one.statement.name,
            "figure": i,
            "title": rate.title,
            "slope": rate.slope,
            "claimed slope": rate.predicted,
            "curve": curve.label,
            "reference": curve.reference,
            "x": x,
            "y": y,
        }
        for one in checked
        for i, rate in enumerate(one.finding.rates, start=1)
        for curve in rate.curves
        for x, y in zip(curve.x, curve.y, strict=True)
    ]
    return Table("rates", "Every point of every figure", pl.DataFrame(rows)) if rows else None
