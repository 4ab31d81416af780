"""The page of `rapo theory`: totals, a table of all statements, and a card for each statement.

This module writes the HTML of the page's body and escapes all texts in it; `rapo.reporting.page_frame` adds
the rest of the page. A verdict is never shown by its colour alone, but also by a mark and in words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from rapo.reporting.markup import links, with_code
from rapo.reporting.page_frame import Frame, asset, terms
from rapo.theory.check import STOPPED, Checked, counts, plural, totals
from rapo.theory.rate_figures import interactive, slopes
from rapo.theory.statement import Part, Verdict

SIGNS: dict[str, tuple[str, str]] = {
    Verdict.HOLDS: ("good", "✓"),
    Verdict.CORRECTED: ("fair", "≈"),
    Verdict.FAILS: ("bad", "✗"),
    STOPPED: ("bad", "!"),
}
"""The CSS class and the mark of each verdict."""
READING = (
    (
        "Holds",
        "The statement was true, as it is written, of every problem that it was tried on. That is evidence, "
        "not a proof: the problems are many and random, and classic ones are among them.",
    ),
    (
        "Holds with correction",
        "As it is written it fails, and the smallest problem on which it does is shown with its numbers. "
        "What is true instead was then checked on all problems.",
    ),
    ("Does not hold as written", "The same, where no corrected statement is offered, or none that held."),
    (
        "Measured, and bound or prediction",
        "What was computed, in double precision, and what the statement says that it should be.",
    ),
    (
        "Rates",
        "Both axes of a figure are logarithmic, so that a power law is a straight line and its exponent the "
        "slope. Points are measured; dashed lines are predictions. The measured slope is that of the "
        "least-squares line through the points of the first curve.",
    ),
    (
        "Expected",
        "Each statement carries the verdict that is expected of it. One that turns out otherwise is marked "
        "with a flag, and the command ends with an error.",
    ),
)
MEASURED = ("Measured", "Bound or prediction")


@dataclass(frozen=True)
class TheoryPage:
    """The findings, and the links to files, that the page shows."""

    checked: Sequence[Checked]
    parts: Sequence[Part]
    seed: int
    figures: Mapping[str, Sequence[str]]
    """Links to the figures for print, by the name of the statement."""
    tables: Sequence[str]
    """Links to the tables."""

    def html(self) -> str:
        """The HTML of the whole page."""
        groups = self._groups()
        places = [("summary", "Summary"), *((f"part-{part.name}", part.short) for part, _ in groups)]
        frame = Frame(
            "Theory",
            "Which statements of the paper hold?",
            self._lede(),
            [*places, ("reading", "How to read this")],
            f"Made by `rapo theory --seed {self.seed}`. Everything is in this file; figures for print and "
            "tables lie beside it.",
            asset("rapo.theory", "theory.css"),
        )
        body = "\n".join((self._summary(groups), *(self._part(*group) for group in groups), _reading()))
        drawn = {
            _key(one, i): interactive(rate)
            for one in self.checked
            for i, rate in enumerate(one.finding.rates)
        }
        data: dict[str, Any] = {"figures": drawn, "looks": {}}
        return frame.html(body, data)

    def _groups(self) -> list[tuple[Part, list[Checked]]]:
        """The parts of which something was checked, with what was."""
        found = []
        for part in self.parts:
            names = {statement.name for statement in part.statements}
            if here := [one for one in self.checked if one.statement.name in names]:
                found.append((part, here))
        return found

    def _lede(self) -> str:
        every = sum(len(part.statements) for part in self.parts)
        some = "" if every == len(self.checked) else f" These are {len(self.checked)} of {every}."
        return (
            f"{totals(self.checked)}{some} Each was computed in double precision on random and classic "
            f"problems (seed {self.seed}), and what was measured decided. Where a statement fails as it is "
            "written, its smallest counterexample is shown."
        )

    def _summary(self, groups: Sequence[tuple[Part, Sequence[Checked]]]) -> str:
        numbers = counts(self.checked)
        tiles = "".join(
            f'<li class="{SIGNS[word][0]}"><b>{n}</b> <span>{_sign(word)} {plural(word, n)}</span></li>'
            for word, n in numbers.items()
        )
        bar = "".join(f'<i class="{SIGNS[word][0]}" style="flex:{n}"></i>' for word, n in numbers.items())
        bodies = "".join(
            f'<tbody><tr class="part"><th colspan="4" scope="rowgroup"><a href="#part-{escape(part.name)}">'
            f"{escape(part.title)}</a></th></tr>{''.join(map(_row, here))}</tbody>"
            for part, here in groups
        )
        heads = "".join(f'<th scope="col">{head}</th>' for head in ("Statement", *MEASURED, "Verdict"))
        return (
            f'<section id="summary"><h2>Summary</h2><ul class="totals">{tiles}</ul>'
            f'<div class="shares" aria-hidden="true">{bar}</div>{self._surprises()}'
            '<div class="card"><table class="statements" aria-label="All statements">'
            f"<thead><tr>{heads}</tr></thead>"
            f'{bodies}</table><p class="files">Files: {links(self.tables)}</p></div></section>'
        )

    def _surprises(self) -> str:
        found = [one for one in self.checked if not one.as_expected]
        if not found:
            return ""
        named = "; ".join(f"{_link(one)} ({escape(one.verdict)}, {escape(one.surprise)})" for one in found)
        return f'<p class="caution">Not as expected: {named}.</p>'

    def _part(self, part: Part, checked: Sequence[Checked]) -> str:
        cards = "".join(map(self._card, checked))
        title = f"<h2>{escape(part.title)}</h2>"
        return f'<section id="part-{escape(part.name)}">{title}<div class="blocks">{cards}</div></section>'

    def _card(self, one: Checked) -> str:
        said, found = one.statement, one.finding
        example, rates = "", "".join(self._rate(one, i) for i in range(len(found.rates)))
        if found.counterexample:
            example = f'<p class="over">Smallest counterexample</p><pre>{escape(found.counterexample)}</pre>'
            if not rates:
                example = f'</div><div class="wrong">{example}'
        if rates:
            files = links(self.figures[said.name])
            rates = f'<div class="rates">{rates}<p class="files">Files: {files}</p></div>'
        tone = SIGNS[one.verdict][0]
        instead = "True instead" if one.wrong else "Note"
        kind = " several" if len(found.rates) > 1 else " beside" if example or rates else ""
        return (
            f'<article class="card statement {tone}{kind}" id="statement-{escape(said.name)}">'
            f'<div class="said"><p class="where"><span>{escape(said.where)}</span> '
            f"<code>{escape(said.name)}</code></p>"
            f"<h3>{escape(said.title)}</h3>{_verdict(one, _instances(one))}"
            f'<p class="claim">{_typeset(said.claim)}</p>'
            f"{_facts(dict(zip(MEASURED, (found.measured, found.predicted), strict=True)), 'against')}"
            f"{example}{_facts({instead: found.correction})}</div>{rates}</article>"
        )

    def _rate(self, one: Checked, i: int) -> str:
        rate = one.finding.rates[i]
        return (
            f'<figure data-figure="{escape(_key(one, i))}" aria-label="{escape(rate.title)}">'
            f'<h4>{escape(rate.title)}</h4><div class="panels"></div>'
            f"<figcaption>{escape(slopes(rate).capitalize())}</figcaption></figure>"
        )


def _facts(facts: Mapping[str, str], kind: str = "") -> str:
    pairs = "".join(
        f"<div><dt>{head}</dt><dd>{_typeset(text)}</dd></div>" for head, text in facts.items() if text
    )
    return f'<dl class="{kind}">{pairs}</dl>' if pairs else ""


def _typeset(text: str) -> str:
    """The HTML of a text, with hyphens that mean minus as minus signs, where no browser breaks a line."""
    return with_code(re.sub(r"(?<![\w)-])-(?=[\w.(])|(?<=\de)-(?=\d)", "\N{MINUS SIGN}", text))


def _row(one: Checked) -> str:
    where = f'<span class="where">{escape(one.statement.where)}</span>'
    cells = zip(MEASURED, (one.finding.measured, one.finding.predicted), strict=True)
    middle = "".join(f'<td data-head="{head}">{_typeset(text)}</td>' for head, text in cells)
    return f'<tr><th scope="row">{_link(one)}{where}</th>{middle}<td>{_verdict(one)}</td></tr>'


def _link(one: Checked) -> str:
    return f'<a href="#statement-{escape(one.statement.name)}">{escape(one.statement.title)}</a>'


def _verdict(one: Checked, after: str = "") -> str:
    chip = f'<span class="chip {SIGNS[one.verdict][0]}">{_sign(one.verdict)} {escape(one.verdict)}</span>'
    odd = "" if one.as_expected else f' <span class="odd">⚑ {escape(one.surprise)}</span>'
    return f'<p class="found">{chip}{odd}{after}</p>'


def _instances(one: Checked) -> str:
    n = one.finding.instances
    return f' <span class="where">{n:,} {"instance" if n == 1 else "instances"}</span>' if n else ""


def _sign(word: str) -> str:
    return f'<span aria-hidden="true">{SIGNS[word][1]}</span>'


def _key(one: Checked, i: int) -> str:
    return f"{one.statement.name}-{i + 1}"


def _reading() -> str:
    return (
        '<section id="reading"><h2>How to read this</h2><div class="card">'
        f'<dl style="margin-top:0">{terms(READING)}</dl></div></section>'
    )
