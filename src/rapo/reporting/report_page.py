"""The page of a report: a summary, a section for each task, and how to read them.

Text is escaped where it is put in; `frame` puts the page around it.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from math import isfinite
from typing import Any
from urllib.parse import quote

from rapo.reporting.charts import Figure
from rapo.reporting.colours import Look
from rapo.reporting.markup import links, shown_columns, with_code
from rapo.reporting.page_frame import Frame, terms
from rapo.reporting.statistics import Interval
from rapo.reporting.summary import Summary, number
from rapo.reporting.tables import Table

FEW = 5
"""A table of no more columns has room for intervals beside their estimates."""
RANKED = 6
"""Groups that a summary shows, at most."""
MANY = 15
"""A table of more rows is folded up."""
LONG = 40
"""A cell of more characters, such as a folder, may be broken into lines."""


@dataclass(frozen=True)
class Shown:
    """A picture or a film, and what it shows."""

    caption: str
    png: bytes = b""
    """The picture, which becomes a part of the page."""
    film: str = ""
    """A link to the film, which lies beside the page."""

    def html(self) -> str:
        """The picture or the film with its caption."""
        caption = f"<figcaption>{escape(self.caption)}</figcaption>"
        if self.film:
            link = escape(quote(self.film))
            playing = f'<video controls preload="metadata" src="{link}"></video>'
            return (
                f'<figure class="shown">{playing}{caption}<a href="{link}">{escape(self.film)}</a></figure>'
            )
        source = f"data:image/png;base64,{b64encode(self.png).decode()}"
        return f'<figure class="shown"><img alt="{escape(self.caption)}" src="{source}">{caption}</figure>'


@dataclass(frozen=True)
class Block:
    """A part of a section: a figure, a table, pictures, or a line that says how to make them."""

    title: str
    about: str = ""
    figure: Figure | None = None
    table: Table | None = None
    missing: str = ""
    """What to do to get it, where there is nothing to show; code between backquotes."""
    files: tuple[str, ...] = ()
    """Links to the same for print and for programs."""
    shown: tuple[Shown, ...] = ()
    """Pictures and films."""

    @property
    def narrow(self) -> bool:
        """Whether half of a wide screen is enough."""
        return self.figure is None and self.table is not None and len(shown_columns(self.table.frame)) <= FEW

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return self.figure is None and self.table is None and not self.shown


@dataclass(frozen=True)
class Section:
    """The part of the page that is about one task."""

    name: str
    """A unique name, for links to the section."""
    title: str
    blocks: tuple[Block, ...]


@dataclass
class ReportPage:
    """What goes on the page."""

    lede: str
    summaries: Sequence[Summary]
    across: Block | None
    sections: Sequence[Section]
    notes: Sequence[str]
    definitions: Sequence[tuple[str, str]]
    looks: Mapping[str, Look]
    rankings: Mapping[str, Sequence[tuple[str, Interval]]]
    """Of each task, the labels of its groups and what they are ranked by, the best first."""
    _figures: dict[str, Any] = field(default_factory=dict)

    def html(self) -> str:
        """The whole file."""
        body = "\n".join((self._summary(), *map(self._section, self.sections), self._end()))
        places = [("summary", "Summary"), *((s.name, s.title) for s in self.sections)]
        places.append(("reading", "How to read this"))
        frame = Frame(
            "Robustness report",
            "Which policy should I trust, and how far?",
            self.lede,
            places,
            "Made by `rapo report`. Everything is in this file; figures for print and tables lie beside it.",
        )
        looks = {label: asdict(look) for label, look in self.looks.items()}
        return frame.html(body, {"figures": self._figures, "looks": looks})

    def _summary(self) -> str:
        cards = "".join(self._card(summary) for summary in self.summaries)
        across = "" if self.across is None else self._block(self.across, "all")
        return f'<section id="summary"><h2>Summary</h2><div class="cards">{cards}</div>{across}</section>'

    def _card(self, summary: Summary) -> str:
        ranking = self.rankings.get(summary.task, ())
        style = f' led" style="{self._colours(ranking[0][0])}' if ranking else ""
        caution = "" if summary.caution is None else f'<p class="caution">{escape(summary.caution)}</p>'
        return (
            f'<article class="card verdict{style}"><p class="task">{escape(summary.task)}</p>'
            f"<h3>{escape(summary.headline)}</h3>{self._forest(ranking)}<dl>{terms(summary.facts)}</dl>{caution}</article>"
        )

    def _forest(self, ranking: Sequence[tuple[str, Interval]]) -> str:
        """Estimates as points on bars, on one scale from 0; nothing where there is nothing to compare."""
        shown = list(ranking[:RANKED])
        low = min([0.0, *(_finite(x.low, x.value) for _, x in shown)])
        high = max([0.0, *(_finite(x.high, x.value) for _, x in shown)])
        if len(shown) < 2 or not high > low:
            return ""
        rows = []
        for label, found in shown:
            place, left, right = (
                100 * (x - low) / (high - low)
                for x in (found.value, _finite(found.low, found.value), _finite(found.high, found.value))
            )
            rows.append(
                f'<li style="{self._colours(label)}"><span class="who">{escape(label)}</span>'
                f'<span class="bar"><i style="left:{left:.1f}%;width:{right - left:.1f}%"></i>'
                f'<b style="left:{place:.1f}%"></b></span>'
                f'<span class="value">{number(found.value)}</span></li>'
            )
        more = f", the best {len(shown)} of {len(ranking)}" if len(ranking) > len(shown) else ""
        return (
            f'<p class="over">Return outside the training range (IQM, 95% interval){more}</p>'
            f'<ol class="forest">{"".join(rows)}</ol>'
        )

    def _colours(self, label: str) -> str:
        look = self.looks[label]
        return f"--light:{look.light};--dark:{look.dark}"

    def _section(self, section: Section) -> str:
        shown = "".join(self._block(b, section.name) for b in section.blocks if not b.empty)
        missing = "".join(
            f'<p class="missing"><b>{escape(b.title)}</b>: {with_code(b.missing)}</p>'
            for b in section.blocks
            if b.empty and b.missing
        )
        if missing:
            missing = f'<div class="card"><h3>Not in this report</h3>{missing}</div>'
        title = f"<h2>{escape(section.title)}</h2>"
        blocks = f'<div class="blocks">{shown}</div>'
        return f'<section id="{escape(section.name)}">{title}{blocks}{missing}</section>'

    def _block(self, block: Block, section: str) -> str:
        parts = [f"<h3>{escape(block.title)}</h3>"]
        about = block.about or (block.figure.caption if block.figure else "")
        if about:
            parts.append(f'<p class="about">{with_code(about)}</p>')
        if block.figure is not None:
            key = f"{section}-{block.figure.name}"
            self._figures[key] = block.figure.data()
            parts.append(
                f'<figure data-figure="{escape(key)}" aria-label="{escape(block.title)}">'
                '<div class="panels"></div></figure>'
            )
        parts += [each.html() for each in block.shown]
        if block.table is not None:
            parts.append(self._table(block.table))
        if block.files:
            parts.append(f'<p class="files">Files: {links(block.files)}</p>')
        return f'<div class="card{" narrow" if block.narrow else ""}">{"".join(parts)}</div>'

    def _table(self, table: Table) -> str:
        columns = shown_columns(table.frame.drop(table.unseen))
        head = "".join(
            f'<th scope="col"{_class(right)}>{escape(name)}</th>' for name, (right, _) in columns.items()
        )
        rows = []
        for i in range(len(table.frame)):
            cells = []
            for j, (right, texts) in enumerate(columns.values()):
                cell = texts[i]
                if j == 0:
                    cells.append(f'<th scope="row">{self._dot(table.frame.item(i, 0))}{cell}</th>')
                else:
                    long = ' class="long"' if not right and len(cell) > LONG else ""
                    cells.append(f"<td{_class(right) or long}>{cell}</td>")
            rows.append(f"<tr>{''.join(cells)}</tr>")
        caption = escape(table.caption)
        few = ' class="few"' if len(columns) <= FEW else ""
        shown = (
            f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table{few} '
            f'aria-label="{caption}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        )
        if len(rows) <= MANY:
            return shown
        return f"<details><summary>All {len(rows)} rows</summary>{shown}</details>"

    def _dot(self, label: Any) -> str:
        if label not in self.looks:
            return ""
        return f'<span class="dot" style="{self._colours(label)}"></span>'

    def _end(self) -> str:
        notes = ""
        if self.notes:
            many = f"{len(self.notes)} {'note' if len(self.notes) == 1 else 'notes'} on the runs"
            items = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
            opened = " open" if len(self.notes) <= 5 else ""
            folded = f"<details{opened}><summary>{many}</summary><ul>{items}</ul></details>"
            notes = f'<div class="card notes">{folded}</div>'
        return (
            f'<section id="reading"><h2>How to read this</h2>{notes}'
            f'<div class="card"><dl style="margin-top:0">{terms(self.definitions)}</dl></div></section>'
        )


def _finite(value: float, otherwise: float) -> float:
    return value if isfinite(value) else otherwise


def _class(right: bool) -> str:
    return ' class="number"' if right else ""
