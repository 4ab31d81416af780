"""A picture of the top of a page: python docs/picture.py PAGE.html PICTURE.png (needs chromium)."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1200, 1400


def main(page: str, picture: str) -> None:
    """Open the page as a reader would and take its picture."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("no chromium was found: install it with apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        tab = started.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        tab.goto(Path(page).resolve().as_uri())
        tab.wait_for_timeout(1500)
        tab.screenshot(path=picture)
        started.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
