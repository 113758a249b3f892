"""A headless Chromium, Debian's, driven by Playwright; what it sees and what axe finds in it.

Screenshots go to the folder that AUTOGRADER_SCREENSHOTS names, else beside the test's files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

PATIENCE = 60_000  # milliseconds that a busy machine may take


@contextmanager
def chromium() -> Iterator[Browser]:
    """One browser; pages are cheap."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page_of(browser: Browser, **about: Any) -> Iterator[Page]:
    """A page of its own, which must ask for nothing elsewhere and raise nothing."""
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **about})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.faults = []  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.faults.append(str(error)))  # type: ignore[attr-defined]
    try:
        yield page
    finally:
        context.close()


def screenshot(target: Any, name: str, folder: Path, **options: Any) -> Path:
    """A picture of a page or of an element."""
    named = os.environ.get("AUTOGRADER_SCREENSHOTS")
    path = (Path(named) if named else folder) / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    target.screenshot(path=path, **options)
    return path


def violations(page: Page, within: str | None = None) -> list[str]:
    """What axe finds wrong with a page, or with the elements of a selector, in a line each."""
    context = None if within is None else {"include": [[within]]}
    found = Axe().run(page, context=context).response["violations"]
    return [
        f"{item['id']} ({item['impact']}): {item['help']}: {node['html'][:160]}"
        f" {node.get('failureSummary', '')[:300]}"
        for item in found
        for node in item["nodes"][:3]
    ]
