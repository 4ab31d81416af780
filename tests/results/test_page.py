"""The page in a real browser."""

import shutil
from contextlib import contextmanager
from itertools import pairwise

import pytest

from rapo.results.report import report


@pytest.fixture(scope="module")
def address(bare, evidence, tmp_path_factory):
    """The page of a report with everything in it, two tasks."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(bare, folder / "runs")
    for run in (folder / "runs").iterdir():
        evidence["sweep"](run, fall=0.3 if run.name == "rapo-0" else 1.2)
        evidence["search"](run)
        evidence["heatmap"](run)
    return report([folder / "runs"], folder / "report").as_uri()


@contextmanager
def opened(browser, address, width=1400, scheme="light"):
    """The page, all of it drawn; what went wrong is in `page.wrong`."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.wrong = []
    page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(("file:", "data:")) else page.wrong.append(asked.url),
    )
    page.goto(address)
    for figure in page.query_selector_all("figure[data-figure]"):
        figure.scroll_into_view_if_needed()
        figure.wait_for_selector(".plot .main-svg", state="attached")
    yield page
    context.close()


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
def test_the_page_loads_without_errors_requests_or_sideways_scrolling(browser, address, width, scheme):
    with opened(browser, address, width, scheme) as page:
        assert page.wrong == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for plot in page.query_selector_all(".plot"):
            box = plot.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_panels_stack_on_a_narrow_screen_and_stand_beside_each_other_on_a_wide_one(browser, address):
    rows = {}
    for width in (400, 1400):
        with opened(browser, address, width) as page:
            plots = page.query_selector_all('[data-figure="task-hopper-robustness"] .plot')
            rows[width] = len({round(plot.bounding_box()["y"]) for plot in plots})
    assert rows == {400: 4, 1400: 1}


def test_a_click_in_the_legend_hides_a_curve_with_its_band_and_another_brings_them_back(browser, address):
    figure = "task-hopper-robustness"
    with opened(browser, address) as page:
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
        assert page.wrong == []


def test_a_double_click_in_the_legend_shows_a_curve_alone(browser, address):
    figure = "task-hopper-robustness"
    with opened(browser, address) as page:
        page.dblclick(f'[data-figure="{figure}"] .legend button[data-label="ppo"]')
        assert curves(page, figure)[0]["lines"] == ["ppo"]


def test_hovering_shows_the_numbers(browser, address):
    with opened(browser, address) as page:
        plot = page.query_selector('[data-figure="task-hopper-robustness"] .plot')
        plot.scroll_into_view_if_needed()
        area = plot.query_selector(".nsewdrag").bounding_box()
        page.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
        text = page.wait_for_selector(".hoverlayer .legendtext, .hoverlayer .hovertext").evaluate(
            "node => node.closest('.hoverlayer').textContent"
        )
        assert "ppo" in text
        assert "2 seeds" in text
        assert any(str(number) in text for number in range(95, 106))


def test_another_run_can_be_chosen(browser, address):
    with opened(browser, address) as page:
        page.select_option('[data-figure="task-hopper-mixture"] select', index=0)
        select = page.query_selector('[data-figure="task-hopper-heatmaps"] select')
        assert [option.text_content() for option in select.query_selector_all("option")] == [
            "rapo models=3, seed 0",
            "ppo, seed 0",
        ]
        select.select_option("ppo, seed 0")
        page.wait_for_selector('[data-figure="task-hopper-heatmaps"] .heatmaplayer image', state="attached")
        assert page.wrong == []


def test_light_and_dark_are_two_looks_and_the_plots_follow(browser, address):
    look = """() => [
        getComputedStyle(document.body).backgroundColor,
        document.querySelector('[data-figure="task-hopper-robustness"] .plot .xtick text').style.fill,
        document.querySelector('[data-figure="task-hopper-robustness"] .plot .js-line').style.stroke,
    ]"""
    with opened(browser, address, scheme="light") as page:
        light = page.evaluate(look)
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"light => ({look})().every((x, i) => x !== light[i])", arg=light)


def test_the_page_is_readable_by_more_than_eyes(browser, address):
    with opened(browser, address) as page:
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
