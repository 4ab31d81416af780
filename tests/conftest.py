"""What tests share: what one has compiled, others of its worker need not compile again; a real browser."""

import atexit
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

if "PYTEST_XDIST_WORKER" in os.environ or "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    folder = tempfile.mkdtemp(prefix="rapo-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium without a window."""
    path = find_browser()
    if path is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in ("apt-get update", "apt-get install -y --no-install-recommends chromium"):
            subprocess.run(command.split(), capture_output=True, env=quiet)
        path = find_browser()
    if path is None:
        pytest.fail("no chromium was found for the browser tests: install it with apt-get install chromium")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        yield started
        started.close()


def find_browser():
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture
def opened(browser):
    """Opens a page with figures drawn whose names contain `figures`; what went wrong is in `page.wrong`."""

    @contextmanager
    def opening(address, figures="", width=1400, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.wrong = []
        page.on(
            "console", lambda message: page.wrong.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(("file:", "data:")) else page.wrong.append(asked.url),
        )
        page.goto(address)
        for figure in page.query_selector_all(f'figure[data-figure*="{figures}"]'):
            figure.scroll_into_view_if_needed()
            figure.wait_for_selector(".plot .main-svg", state="attached")
        yield page
        context.close()

    return opening
