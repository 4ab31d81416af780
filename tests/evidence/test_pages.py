"""The made parts of README and docs are what the results say now."""

import pytest

from evidence.blocks import BLOCKS
from evidence.figures import FOLDER, figure_names
from evidence.pages import PAGES, PART, filled
from rapo.errors import InputError


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_made_part_of_a_page_is_what_the_results_say(page):
    text = page.read_text("utf-8")
    assert filled(text) == text, "make evidence writes it anew"


def test_all_parts_are_on_some_page():
    on_pages = {name for page in PAGES for _, name, _ in PART.findall(page.read_text("utf-8"))}
    assert on_pages == set(BLOCKS)


def test_every_figure_that_can_be_drawn_is_there_and_no_other():
    assert {path.name for path in FOLDER.glob("*.png")} == set(figure_names())


def test_a_figure_is_a_small_picture():
    for draw in list(figure_names().values())[:1]:
        drawn = draw()
        assert drawn.startswith(b"\x89PNG")
        assert len(drawn) < 120_000


def test_a_part_that_is_not_known_is_refused_by_name():
    with pytest.raises(InputError, match="unknown part of the evidence 'mane': did you mean 'main'"):
        filled("<!-- evidence: mane -->\n<!-- end -->")
    assert filled("<!-- evidence: cost -->\n<!-- end -->").count("| hopper |") == 3
