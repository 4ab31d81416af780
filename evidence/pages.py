"""Pages with made parts: what stands between `<!-- evidence: NAME -->` and `<!-- end -->` is made anew."""

import re
from pathlib import Path

from evidence.blocks import BLOCKS
from rapo.errors import unknown
from rapo.files import write_atomically

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md")
PART = re.compile(r"(<!-- evidence: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """A page with its made parts as the results have them now."""

    def part(match: re.Match[str]) -> str:
        name = match[2]
        if name not in BLOCKS:
            raise unknown("part of the evidence", name, BLOCKS)
        return f"{match[1]}{BLOCKS[name]()}\n{match[3]}"

    return PART.sub(part, text)


def fill_all() -> None:
    """Write the made parts of all pages."""
    for page in PAGES:
        write_atomically(page, filled(page.read_text("utf-8")).encode())
