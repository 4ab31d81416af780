"""The page in a real browser."""

import json
import re
import shutil
from itertools import pairwise

import pytest

from rapo.reporting.write_report import report


@pytest.fixture
def address(written):
    return (written / "report" / "index.html").as_uri()


def curves(page, figure):
    """For each panel of a figure, the labels of visible lines and bands."""
    return page.evaluate(
        """figure => [...document.querySelectorAll(`[data-figure="${figure}"] .plot`)].map(plot => ({
            lines: plot.data.filter(t => t.visible && !t.meta.band).map(t => t.meta.label),
            bands: plot.data.filter(t => t.visible && t.meta.band).map(t => t.meta.label),
            drawn: plot.querySelectorAll(".scatterlayer .trace").length,
        }))""",
        figure,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_loads_without_errors_or_requests_and_fits_its_screen(opened, address, width, scheme):
    with opened(address, width=width, scheme=scheme) as page:
        assert page.wrong == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for plot in page.query_selector_all(".plot"):
            box = plot.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        panels = page.query_selector_all('[data-figure="task-hopper-robustness"] .plot')
        rows = {round(panel.bounding_box()["y"]) for panel in panels}
        assert len(rows) == (4 if width == 400 else 1)


def test_a_click_in_the_legend_hides_a_curve_with_its_band_and_two_show_it_alone(opened, address):
    figure = "task-hopper-robustness"
    with opened(address, "robustness") as page:
        before = curves(page, figure)
        assert before[0] == {"lines": ["rapo models=3", "ppo"], "bands": ["ppo"], "drawn": 3}
        button = page.query_selector(f'[data-figure="{figure}"] .legend button[data-label="ppo"]')
        button.click()
        after = curves(page, figure)
        assert len(after) == 4
        assert all(panel == {"lines": ["rapo models=3"], "bands": [], "drawn": 1} for panel in after)
        assert button.get_attribute("aria-pressed") == "false"
        assert curves(page, "task-walker2d-robustness")[0]["lines"] == ["ppo"]
        button.click()
        assert curves(page, figure) == before
        button.dblclick()
        assert curves(page, figure)[0]["lines"] == ["ppo"]
        assert page.wrong == []


def test_hovering_shows_the_numbers(opened, address):
    with opened(address, "task-hopper-robustness") as page:
        plot = page.query_selector('[data-figure="task-hopper-robustness"] .plot')
        plot.query_selector(".nsewdrag").hover()
        text = page.wait_for_selector(".hoverlayer .hovertext").text_content()
        assert re.fullmatch(r"(rapo models=3|ppo) at [\d.]+[\d.]+( \(.*\))?\d seeds?", text)


def test_another_run_can_be_chosen(opened, address):
    with opened(address, "task-hopper") as page:
        page.select_option('[data-figure="task-hopper-mixture"] select', index=0)
        select = page.query_selector('[data-figure="task-hopper-heatmaps"] select')
        assert [option.text_content() for option in select.query_selector_all("option")] == [
            "rapo models=3, seed 0",
            "ppo, seed 0",
        ]
        select.select_option("ppo, seed 0")
        page.wait_for_selector('[data-figure="task-hopper-heatmaps"] .heatmaplayer image', state="attached")
        assert page.wrong == []


@pytest.fixture(scope="module")
def flown(bare, evidence, tmp_path_factory):
    """The address of a report with flights, RAPO's beside those of PPO-DR and of PPO, which crashed."""
    folder = tmp_path_factory.mktemp("flown")
    for name in ("rapo-0", "ppo-0", "dr-0"):
        shutil.copytree(bare / name.replace("dr", "ppo"), folder / name)
        evidence["flights"](folder / name, 5.0 if name == "rapo-0" else 9.0, range(name == "ppo-0"))
    said = json.loads((folder / "dr-0" / "config.json").read_text()) | {"algo": "ppo-dr"}
    (folder / "dr-0" / "config.json").write_text(json.dumps(said))
    (folder / "dr-0" / "checkpoint.safetensors").unlink()
    return report([folder], folder / "report").as_uri()


def test_flights_are_drawn_in_space_and_over_time_and_crashes_are_marked(opened, flown):
    seen = """() => [...document.querySelectorAll('[data-figure="task-hopper-flights"] .plot')].map(plot =>
        plot.data.filter(t => t.visible).map(t => [t.type, t.mode, t.meta.label]))"""
    with opened(flown, "flights") as page:
        kinds = ["scatter3d", "scatter", "scatter", "scatter"]
        labels = ["reference", "rapo models=3", "ppo-dr"]
        assert page.evaluate(seen) == [[[kind, "lines", label] for label in labels] for kind in kinds]
        page.click('[data-figure="task-hopper-flights"] .legend button[data-label="ppo"]')
        for kind, panel in zip(kinds, page.evaluate(seen), strict=True):
            assert [trace for trace in panel if trace[2] == "ppo"] == [
                [kind, "lines", "ppo"],
                [kind, "markers", "ppo"],
            ]
        assert page.wrong == []


def test_light_and_dark_are_two_looks_and_the_plots_follow(opened, address):
    look = """() => [
        getComputedStyle(document.body).backgroundColor,
        document.querySelector('.plot .xtick text').style.fill,
        document.querySelector('.plot .trace:last-child .js-line').style.stroke,
    ]"""
    with opened(address, "task-hopper-robustness") as page:
        light = page.evaluate(look)
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"light => ({look})().every((x, i) => x !== light[i])", arg=light)


def test_the_page_is_readable_by_more_than_eyes(opened, address):
    with opened(address) as page:
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        assert page.evaluate(
            "[...document.querySelectorAll('.plot')].every(p => p.getAttribute('aria-label'))"
        )
        assert page.evaluate(
            "[...document.querySelectorAll('table')].every(t => t.getAttribute('aria-label'))"
        )
        assert page.evaluate("document.documentElement.lang") == "en"


def test_charts_that_nobody_has_scrolled_to_are_drawn_too(opened, address):
    with opened(address, "no such figure") as page:
        assert page.evaluate("window.scrollY") == 0
        page.wait_for_function(DRAWN)
        assert page.wrong == []


DRAWN = "() => [...document.querySelectorAll('.plot')].every(plot => plot.querySelector('.main-svg'))"
SIZES = """() => [...document.querySelectorAll('.plot')].map(plot => [
    plot.querySelector('.main-svg').getBoundingClientRect().width, plot.getBoundingClientRect().width,
])"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_charts_fit_and_colours_stay(opened, address, scheme):
    with opened(address, scheme=scheme) as page:
        page.wait_for_function(DRAWN)
        before = page.evaluate(SIZES)
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print", color_scheme="light")
        on_paper = page.evaluate(SIZES)
        assert len(on_paper) == len(before) > 4
        assert on_paper != before
        assert all(drawn <= room + 1 for drawn, room in on_paper)
        assert page.evaluate("document.body.getBoundingClientRect().width") == 680
        kept = """() => [...document.querySelectorAll('.bar i, .bar b, .dot')].map(
            mark => [getComputedStyle(mark).printColorAdjust, getComputedStyle(mark).backgroundColor])"""
        light = {look["light"] for look in data_of(page)["looks"].values()}
        marks = page.evaluate(kept)
        assert len(marks) > 4
        for adjust, colour in marks:
            red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
            assert (adjust, f"#{red:02x}{green:02x}{blue:02x}" in light) == ("exact", True)
        assert page.evaluate("document.querySelector('.plot .trace:last-child .js-line').style.stroke") in {
            f"rgb({int(x[1:3], 16)}, {int(x[3:5], 16)}, {int(x[5:], 16)})" for x in light
        }
        page.emulate_media(media="screen", color_scheme=scheme)
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(SIZES) == before


def data_of(page):
    return json.loads(page.text_content("#data"))


@pytest.mark.parametrize("width", [400, 1400])
def test_a_table_that_is_cut_off_says_so(opened, address, width):
    with opened(address, "no such figure", width=width) as page:
        page.wait_for_function("() => document.querySelector('.scroll.cut') || innerWidth > 1000")
        seen = page.evaluate(
            """() => [...document.querySelectorAll('.scroll')].map(table => [
                table.scrollWidth > table.clientWidth + 1, getComputedStyle(table, '::before').content])"""
        )
        assert any(cut for cut, _ in seen) == (width == 400)
        for cut, words in seen:
            assert ("More columns to the right" in words) == cut
