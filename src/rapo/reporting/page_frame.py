"""The frame of a page: one HTML file with everything in it, that opens from disk and needs no network.

The data of the figures is JSON in a script element, which no name can end. A content security policy forbids
the page to load anything but films that lie beside it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from plotly.offline import get_plotlyjs

from rapo.reporting.colours import DASHES, MARKERS
from rapo.reporting.markup import inlined, with_code

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "media-src 'self' file:"
)


@dataclass(frozen=True)
class Frame:
    """What stands around the content of a page."""

    title: str
    """The title of the window, also shown above the heading."""
    heading: str
    lede: str
    places: Iterable[tuple[str, str]]
    """Sections by name, with the words of the links to them."""
    footer: str
    """The last line of the page; what stands between backquotes is shown as code."""
    style: str = ""
    """CSS rules of this page only."""

    def html(self, body: str, data: Mapping[str, Any]) -> str:
        """The whole file, from the HTML of its sections and the data that the script draws."""
        nav = "".join(
            f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in self.places
        )
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(self.title)}</title>
<link rel="icon" href="data:,">
<style>{asset("rapo.reporting", "page.css")}{self.style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><div class="wrap">
<p class="eyebrow">{escape(self.title)}</p>
<h1>{escape(self.heading)}</h1>
<p class="lede">{escape(self.lede)}</p>
</div></header>
<nav aria-label="Sections"><div class="wrap"><ul>{nav}</ul></div></nav>
<main id="main" class="wrap">
<noscript><p class="caution">These figures need JavaScript; the folder figures has them too.</p></noscript>
{body}
</main>
<footer class="wrap">{with_code(self.footer)}</footer>
<script type="application/json" id="data">{inlined({**data, "markers": MARKERS, "dashes": DASHES})}</script>
<script>{get_plotlyjs()}</script>
<script>{asset("rapo.reporting", "page.js")}</script>
</body>
</html>
"""


def terms(pairs: Iterable[tuple[str, str]]) -> str:
    """The HTML of headings with a sentence or two each; code between backquotes."""
    return "".join(f"<div><dt>{escape(a)}</dt><dd>{with_code(b)}</dd></div>" for a, b in pairs)


def asset(package: str, name: str) -> str:
    """A file among the assets of a package."""
    return (files(package) / "assets" / name).read_text(encoding="utf-8")
