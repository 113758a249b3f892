"""A student in JupyterLab: the released ps1 is opened, code is typed, checks are run.

The real JupyterLab, a real kernel, a real browser; screenshots are kept to be looked at.
"""

import shutil
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import PATIENCE, chromium, page_of, screenshot, violations
from tests.e2e.folders import PS, RELEASE, code_of
from tests.e2e.jupyter_server import TOKEN, serving

pytestmark = [pytest.mark.e2e, pytest.mark.needs_debian("chromium")]

expect.set_options(timeout=PATIENCE)


@dataclass
class Notebook:
    """A notebook that is open in JupyterLab."""

    page: Page
    shots: Path

    def cell(self, start: str) -> int:
        """The number of the code cell that begins with a text."""
        number: int = self.page.evaluate(
            """start => jupyterapp.shell.currentWidget.content.widgets.findIndex(
                 cell => cell.model.type === "code"
                   && cell.model.sharedModel.getSource().startsWith(start))""",
            start,
        )
        assert number >= 0, start
        return number

    def go(self, number: int) -> None:
        """Make a cell the active one, as a click on its margin does."""
        self.page.evaluate(
            """async number => {
                 const notebook = jupyterapp.shell.currentWidget.content;
                 notebook.deselectAll();
                 notebook.activeCellIndex = number;
                 notebook.mode = "command";
                 await notebook.scrollToItem(number, "center");
                 notebook.node.focus();
               }""",
            number,
        )

    def write(self, number: int, code: str) -> None:
        """Type code in the place of a cell's."""
        self.go(number)
        self.page.keyboard.press("Enter")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(code)
        self.page.keyboard.press("Escape")

    def run(self, number: int) -> None:
        """Run a cell and wait for it."""
        self.go(number)
        before = self._count(number)
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(
            """([number, before]) => {
                 const cell = jupyterapp.shell.currentWidget.content.widgets[number];
                 const count = cell.model.executionCount;
                 return count !== null && count !== before
                   && !cell.node.querySelector(".jp-InputPrompt")?.textContent.includes("*");
               }""",
            arg=[number, before],
        )
        self.go(number)

    def _count(self, number: int) -> int | None:
        count: int | None = self.page.evaluate(
            "n => jupyterapp.shell.currentWidget.content.widgets[n].model.executionCount", number
        )
        return count

    def check(self, name: str, picture: str):
        """Run a check cell; its card, of which a screenshot is kept."""
        number = self.cell(f'check("{name}")')
        self.run(number)
        # the active cell's output: the notebook keeps only what is in sight in the page
        card = self.page.locator(".jp-Notebook-cell.jp-mod-active .autograder-card")
        expect(card).to_be_visible()
        screenshot(card, f"card-{picture}", self.shots)
        return card


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """(the browser, the address of JupyterLab over a copy of the released ps1)."""
    folder = tmp_path_factory.mktemp("student") / PS
    shutil.copytree(RELEASE, folder)
    with serving(folder, tmp_path_factory.mktemp("lab"), "jupyterlab") as address:
        wait_for(f"{address}/api/status?token={TOKEN}")
        with chromium() as browser:
            yield browser, address


def wait_for(address):
    until = time.monotonic() + 60.0
    while True:
        try:
            urllib.request.urlopen(address, timeout=60).close()
            return
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


@pytest.fixture(scope="module")
def notebook(lab, tmp_path_factory):
    browser, address = lab
    with page_of(browser, viewport={"width": 1300, "height": 1000}) as page:
        page.goto(f"{address}/lab/tree/{PS}.ipynb?token={TOKEN}&reset")
        page.wait_for_function(
            """() => {
                 const open = window.jupyterapp?.shell.currentWidget;
                 return open?.context?.isReady
                   && open.sessionContext.session?.kernel?.status === "idle";
               }"""
        )
        opened = Notebook(page, tmp_path_factory.mktemp("shots"))
        opened.run(opened.cell("from pathlib import Path"))
        yield opened


def test_a_stub_a_misconception_and_a_right_answer(notebook, tmp_path):
    """One after the other in one notebook, as a student gets there."""
    card = notebook.check("softmax", "stub")
    expect(card).to_contain_text("○ softmax: not written yet")
    expect(card).to_contain_text("0 of 4 points")

    number = notebook.cell("def softmax(scores)")
    notebook.write(number, code_of("softmax", "over_queries"))
    notebook.run(number)
    card = notebook.check("softmax", "misconception")
    expect(card).to_contain_text("Normalises over the queries instead of the keys.")
    expect(card).to_contain_text("Which axis holds the keys of one query")
    expect(card.locator("svg")).to_have_count(3)
    assert card.locator("svg").first.get_attribute("aria-label").startswith("What you returned, ")
    assert violations(notebook.page, ".autograder-card") == []
    screenshot(notebook.page, "jupyterlab", notebook.shots)

    notebook.write(number, code_of("softmax"))
    notebook.run(number)
    card = notebook.check("softmax", "right")
    expect(card).to_contain_text("✓ softmax: all public cases pass")
    expect(card).to_contain_text("4 of 4 points")
    expect(card).to_contain_text("1 of 8 exercises pass")
    assert violations(notebook.page, ".autograder-card") == []
    assert notebook.page.faults == []


def test_in_the_dark(notebook):
    notebook.page.evaluate(
        "jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
    )
    notebook.page.wait_for_function("document.body.dataset.jpThemeLight === 'false'")
    number = notebook.cell("def attend(V, weights)")
    notebook.write(number, code_of("attend", "transposed_weights"))
    notebook.run(number)
    card = notebook.check("attend", "dark")
    expect(card).to_contain_text("Likely cause")
    assert violations(notebook.page, ".autograder-card") == []
    screenshot(notebook.page, "jupyterlab-dark", notebook.shots)


def test_a_check_is_quick(notebook):
    """Inside the kernel; a bound with room, since a busy machine is not what is measured."""
    notebook.write(
        notebook.cell("check();"),
        "import time\nstart = time.perf_counter()\ncheck('softmax')\n"
        "print('took', round(1000 * (time.perf_counter() - start)), 'ms')",
    )
    notebook.run(notebook.cell("import time\nstart"))
    said = notebook.page.locator(".jp-Notebook-cell.jp-mod-active .jp-OutputArea-output")
    expect(said.filter(has_text="took")).to_be_visible()
    text = said.filter(has_text="took").inner_text()
    assert int(text.split()[1]) < 1000
