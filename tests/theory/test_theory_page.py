"""The page of the theory: what it says, what lies beside it, and how it looks in a real browser."""

import re
from dataclasses import replace
from itertools import pairwise

import polars as pl
import pytest

from rapo.theory.check import check
from rapo.theory.rate_figures import drawable, slopes
from rapo.theory.statement import Curve, Finding, Part, Rate, Statement, Verdict
from rapo.theory.theory_folder import write

EVIL = "</script><script>alert(1)</script> <b>&amp; $x^$ `"
LONG = "x" * 300


def checked_in(parts, seed=0):
    return [check(statement, seed) for part in parts for statement in part.statements]


@pytest.fixture(scope="session")
def folder(parts, tmp_path_factory):
    return write(checked_in(parts), parts, tmp_path_factory.mktemp("theory"), 0).parent


@pytest.fixture
def address(folder):
    return (folder / "index.html").as_uri()


@pytest.fixture(scope="session")
def hard(tmp_path_factory):
    """A page of texts that try to break out of it, words that don't break, and rates with odd points."""
    points = Curve(f"{EVIL}{LONG}", (1.0, 10.0, 100.0, 1000.0), (1.0, 0.0, float("nan"), 0.1))
    line = Curve("reference", (1.0, 1000.0), (1.0, 0.1), reference=True)
    rate = Rate(EVIL, EVIL, EVIL, (points, line), -1 / 3, -1 / 3)
    none = Rate("nothing to draw", "x", "y", (Curve("none", (1.0,), (-1.0,)),), float("nan"), 1.0)
    finding = Finding(EVIL, LONG, Verdict.FAILS, 1, f"{EVIL}{LONG}", f"{EVIL}\n{LONG}", (rate, none))
    statements = tuple(
        Statement(name, f"{EVIL}{name}", EVIL, f"{EVIL}{LONG}", Verdict.FAILS, lambda rng: finding)
        for name in ("one", "two")
    )
    parts = (Part("evil", EVIL, EVIL, statements),)
    return write(checked_in(parts), parts, tmp_path_factory.mktemp("hard"), 0)


def test_the_folder_has_a_page_figures_and_tables(folder):
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}
    for kind, start in starts.items():
        assert (folder / f"figures/mean-rate-1.{kind}").read_bytes().startswith(start)
    assert len(list((folder / "figures").iterdir())) == 3
    table = pl.read_csv(folder / "tables/statements.csv")
    assert table["name"].to_list() == ["mean-rate", "median", "inside", "stops"]
    assert table["verdict"].to_list() == ["holds", "holds with correction", "holds", "could not be checked"]
    assert table["as expected"].to_list() == [True, True, False, False]
    points = pl.read_csv(folder / "tables/rates.csv")
    assert points.filter(~pl.col("reference"))["x"].to_list() == [16, 64, 256, 1024]


def test_the_same_seed_writes_the_same_files(folder, parts, tmp_path):
    write(checked_in(parts), parts, tmp_path, 0)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 6
    for path in files:
        assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes()


def test_the_page_owns_up_to_what_was_left_out(parts, tmp_path):
    text = write(checked_in(parts)[:1], parts, tmp_path, 0).read_text()
    assert "1 statement: 1 holds; as expected. These are 1 of 4." in text
    assert "part-second_part" not in text


def test_no_text_breaks_out_of_the_page(hard):
    text = hard.read_text()
    assert "<script>alert" not in text
    assert "<b>&amp;" not in text


def test_slopes_are_told_as_one_would_write_them():
    assert slopes(Rate("", "", "", (), -0.4987, -0.5)) == "slope −0.50 measured, −0.5 claimed"  # noqa: RUF001
    assert slopes(Rate("", "", "", (), -0.001, 1 / 3)) == "slope 0.00 measured, 0.333 claimed"


def test_only_points_with_a_logarithm_are_drawn():
    curve = Curve("", (0.0, 1.0, 2.0, 3.0, 4.0), (1.0, -1.0, float("inf"), float("nan"), 5.0))
    assert drawable(curve) == ([4.0], [5.0])


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1400, "light")])
def test_the_page_loads_without_errors_or_requests_and_fits_its_screen(opened, address, width, scheme):
    with opened(address, width=width, scheme=scheme) as page:
        assert page.wrong == []
        check_fits(page, width)


@pytest.mark.parametrize("width", [400, 1400])
def test_texts_arrive_as_they_were_written_and_widen_nothing(opened, hard, width):
    with opened(hard.as_uri(), width=width) as page:
        assert page.wrong == []
        check_fits(page, width)
        assert page.text_content("#statement-one h3") == f"{EVIL}one"
        assert page.text_content("#statement-one pre") == f"{EVIL}\n{LONG}"
        assert page.query_selector_all("#main script, article b") == []


def check_fits(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for box in (one.bounding_box() for one in page.query_selector_all(".plot, pre, .chip, .legend button")):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_every_statement_has_a_row_and_a_card_that_name_its_verdict_for_more_than_eyes(opened, address):
    with opened(address) as page:
        rows = page.query_selector_all(".statements tbody tr:not(.part)")
        said = [row.query_selector(".chip").inner_text() for row in rows]
        assert said == ["✓ holds", "≈ holds with correction", "✓ holds", "! could not be checked"]
        cards = page.query_selector_all("article.statement")
        assert [card.query_selector(".chip").inner_text() for card in cards] == said
        odd = [row.query_selector(".odd") is not None for row in rows]
        assert odd == [False, False, True, True]
        assert "row    (0, 0, 1)\nmedian 0.0000\nmean   0.3333" in page.text_content("#statement-median pre")
        for link in page.query_selector_all(".statements a, nav a, .caution a"):
            assert page.query_selector(link.get_attribute("href")) is not None
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        for what in (".plot", "table", "figure"):
            assert page.evaluate(f"[...document.querySelectorAll('{what}')].every(x => x.ariaLabel)")


def test_the_head_of_the_table_stays_in_sight(opened, parts, tmp_path):
    checked = checked_in(parts)
    many = [
        replace(one, statement=replace(one.statement, name=f"{one.statement.name}-{i}"))
        for i in range(20)
        for one in checked[1:3]
    ]
    named = (Part("many", "Many", "Many", tuple(one.statement for one in many)),)
    with opened(write(many, named, tmp_path, 0).as_uri()) as page:
        page.evaluate("window.scrollTo({top: 1500, behavior: 'instant'})")
        head, nav = (page.query_selector(one).bounding_box() for one in (".statements thead th", "nav"))
        assert head["y"] == pytest.approx(nav["y"] + nav["height"], abs=3)


def test_rates_are_drawn_on_logarithmic_axes_with_points_where_something_was_measured(opened, address):
    with opened(address) as page:
        figure = page.query_selector('[data-figure="mean-rate-1"]')
        axes = figure.evaluate("f => ['xaxis', 'yaxis'].map(a => f.querySelector('.plot').layout[a].type)")
        assert axes == ["log", "log"]
        modes = figure.evaluate("f => f.querySelector('.plot').data.map(t => [t.mode, t.line.dash])")
        assert modes == [["lines+markers", "solid"], ["lines", "dash"]]
        assert len(figure.query_selector_all(".points path")) == 4
        assert "measured, −0.5 claimed" in figure.query_selector("figcaption").inner_text()  # noqa: RUF001
        figure.query_selector(".nsewdrag").hover()
        text = page.wait_for_selector(".hoverlayer .hovertext").text_content()
        assert re.fullmatch(r"(measured|prediction)[0-9.]+ at [0-9,]+", text)
        measured, _ = figure.query_selector_all(".legend button")
        measured.click()
        assert figure.query_selector_all(".points path") == []
        assert page.wrong == []


def test_light_and_dark_are_two_looks_and_the_plots_follow(opened, address):
    look = """() => [
        getComputedStyle(document.querySelector('.chip')).color,
        document.querySelector('.plot .xtick text').style.fill,
        document.querySelector('.plot .js-line').style.stroke,
        document.querySelector('.legend path').getAttribute('fill'),
    ]"""
    with opened(address) as page:
        light = page.evaluate(look)
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"light => ({look})().every((x, i) => x !== light[i])", arg=light)
