"""Pages made of hostile submissions, in a real browser: nothing of them runs."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from traitlets.config import Config

from tests.e2e.browser import chromium, screenshot
from tests.e2e.browser import page_of as page_of_browser
from tests.e2e.jupyter_server import TOKEN, serving
from tests.e2e.nbgrader_course import REPOSITORY, api_of, gradebook_of
from tests.unit.courses import NAME, RIGHT, SQUARED, make_course, submit

EVIL = "document.body.setAttribute('data-pwned', '1')"
MARKDOWN = f"""
# A heading, $a<b$, and a table

| a | b |
|---|---|
| 1 | 2 |

<script>{EVIL}</script>
<img src=x onerror="{EVIL}">
<svg onload="{EVIL}"><script>{EVIL}</script></svg>
<iframe srcdoc="<script>parent.{EVIL}</script>"></iframe>
<style>body {{ display: none }}</style>
<details open ontoggle="{EVIL}"><summary>more</summary></details>
[a link](javascript:{EVIL.replace("'", "%27")})

$$ x </script><script>{EVIL}</script> $$

**bold at the end**
"""


@pytest.fixture
def notebook():
    nbformat = pytest.importorskip("nbformat")
    v4 = nbformat.v4
    return v4.new_notebook(
        cells=[
            v4.new_markdown_cell(MARKDOWN),
            v4.new_raw_cell(f"<script>{EVIL}</script>"),
            v4.new_code_cell(
                f"'</pre><script>{EVIL}</script>'",
                outputs=[
                    v4.new_output("display_data", {"text/html": f"<script>{EVIL}</script>"}),
                    v4.new_output("stream", text=f"</pre><script>{EVIL}</script>"),
                ],
            ),
        ]
    )


def page_of(notebook, template, config):
    """The page, by the template and the paths that nbgrader gives it."""
    from nbconvert import HTMLExporter
    from nbgrader.converters.generate_feedback import GenerateFeedback

    config = config.copy()
    config.HTMLExporter.template_name = template
    converter = GenerateFeedback(config=config)  # which adds the templates' folder
    exporter = HTMLExporter(config=converter.config)
    about = {"score": 0, "max_score": 0, "late_penalty": 0, "notebook": "x", "student": "x"}
    resources = {"nbgrader": about}
    return exporter.from_notebook_node(notebook, resources=resources)[0]


def dom_of(page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page, "utf-8")
    return opened(path.as_uri(), tmp_path)


def opened(address, tmp_path):
    """What a page is in the browser, once its scripts have run.

    The budget is of the browser's own time, which jumps where nothing is to be done and stands
    while a server is asked.
    """
    done = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            address,
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    return done.stdout.decode("utf-8", "replace")


@pytest.mark.e2e
@pytest.mark.needs_debian("chromium")
class TestFeedback:
    def test_nothing_runs(self, notebook, tmp_path):
        from autograder.nbgrader_plugin.pages import sanitise

        config = Config()
        sanitise(config)
        dom = dom_of(page_of(notebook, "feedback", config), tmp_path)
        assert "bold at the end</strong>" in dom  # the page is there, and its Markdown is
        assert "<td>1</td>" in dom
        assert 'data-pwned="1"' not in dom

    def test_stock_pages_run_it(self, notebook, tmp_path):
        """The control: this test can see a script run."""
        dom = dom_of(page_of(notebook, "feedback", Config()), tmp_path)
        assert 'data-pwned="1"' in dom


# --- formgrader --------------------------------------------------------------------------

# Names as a roster or an exchange may bring them: no slash, since they name folders.
PWN = EVIL.replace(" ", "")
STUDENT = f"<img src=x onerror={PWN}>"
REFLECTED = f"</script><img src=x onerror={PWN}>"
PLAIN = "o'neill"
STOCK = "c = get_config()\nc.CourseDirectory.course_id = 'attention'\n"


@dataclass
class Formgrader:
    """A course whose submissions are graded, and the number of the hostile one's notebook."""

    course: Path
    submission: str
    address: str = ""
    browser: Path = Path()

    def page(self, path):
        return opened(f"{self.address}/formgrader/{path}?token={TOKEN}", self.browser)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Graded through nbgrader; then what a grader without our reading would have let through."""
    from autograder import build

    course = make_course(tmp_path_factory.mktemp("formgrader") / "course")
    config = (REPOSITORY / "nbgrader_config.py").read_text("utf-8")
    (course / "nbgrader_config.py").write_text(config, "utf-8")
    build.build(course)
    submit(course, STUDENT, SQUARED)
    submit(course, PLAIN, RIGHT)
    api = api_of(course)
    for student in (STUDENT, PLAIN):
        answer = api.autograde(NAME, student)
        assert answer["success"], answer
    _poison(course / "autograded" / STUDENT / NAME)
    with gradebook_of(course) as gradebook:
        gradebook.update_or_create_student(
            STUDENT, first_name=f"<script>{EVIL}</script>", last_name=STUDENT
        )
        submission = gradebook.find_submission_notebook(NAME, NAME, STUDENT).id
    return Formgrader(course, submission)


def _poison(folder):
    path = folder / f"{NAME}.ipynb"
    path.chmod(0o644)
    book = json.loads(path.read_text("utf-8"))
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{EVIL}"></svg>'
    shown = [
        {"text/html": f"<script>{EVIL}</script>"},
        {"image/svg+xml": svg},
        {"text/html": f'<img src="data:image/svg+xml;utf8,{quote(svg)}" onerror="{EVIL}">'},
        {"text/html": f'<object data="data:text/html,<script>parent.{EVIL}</script>"></object>'},
        {"application/javascript": EVIL},
        {"text/markdown": f'<img src=x onerror="{EVIL}">'},
        {"text/latex": f"$</script><script>{EVIL}</script>$"},
    ]
    outputs = [{"output_type": "display_data", "metadata": {}, "data": data} for data in shown]
    ends = f"</pre></textarea></script><script>{EVIL}</script>"
    outputs.append({"output_type": "stream", "name": "stdout", "text": ends})
    outputs.append(
        {"output_type": "error", "ename": ends, "evalue": ends, "traceback": [f"\x1b[31m{ends}"]}
    )
    code = {"cell_type": "code", "execution_count": 1, "source": ends, "outputs": outputs}
    book["cells"][:0] = [
        {"cell_type": "markdown", "id": "evil-1", "metadata": {}, "source": MARKDOWN},
        {"cell_type": "raw", "id": "evil-2", "metadata": {}, "source": f"<script>{EVIL}</script>"},
        {"id": "evil-3", "metadata": {}, **code},
    ]
    path.write_text(json.dumps(book), "utf-8")
    (folder / "more.html").write_text(f"<body>more<script>{EVIL}</script>", "utf-8")
    (folder / "more.svg").write_text(svg, "utf-8")


@pytest.fixture(scope="module")
def formgrader(graded, tmp_path_factory):
    """Formgrader as our configuration has it."""
    yield from _served(graded, tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def stock_formgrader(graded, tmp_path_factory):
    """The same course, graded already, in formgrader as nbgrader brings it."""
    path = graded.course / "nbgrader_config.py"
    before = path.read_text("utf-8")
    path.write_text(STOCK, "utf-8")
    try:
        yield from _served(graded, tmp_path_factory.mktemp("stock"))
    finally:
        path.write_text(before, "utf-8")


def _served(graded, scratch):
    with serving(graded.course, scratch) as address:
        _wait_for(f"{address}/api/status?token={TOKEN}")
        served = Formgrader(graded.course, graded.submission, address, scratch)
        served.page("manage_assignments")  # logs the browser in: scripts send no token
        yield served


def _wait_for(address):
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


# page → what stands in it when it is there, so that nothing is inert only for being empty
OVERVIEWS = {
    "manage_assignments": NAME,
    f"manage_submissions/{NAME}": "1 / 4",
    "gradebook": "2.5 / 4",
    f"gradebook/{NAME}": "2.5 / 4",
    f"gradebook/{NAME}/{NAME}": "1 / 4",
    "manage_students": "1 / 4",
    f"manage_students/{PLAIN}": "4 / 4",
}


@pytest.mark.e2e
@pytest.mark.needs_debian("chromium")
class TestFormgrader:
    @pytest.mark.parametrize("page", OVERVIEWS)
    def test_lists_show_our_scores_and_run_nothing(self, formgrader, page):
        dom = formgrader.page(page)
        assert OVERVIEWS[page] in dom
        assert 'data-pwned="1"' not in dom

    def test_the_page_of_a_submission(self, formgrader):
        dom = formgrader.page(f"submissions/{formgrader.submission}/")
        assert "Squares instead of doubling." in dom  # our feedback
        assert 'id="check_double"' in dom  # nbgrader's field for the score
        assert "bold at the end</strong>" in dom  # their Markdown
        assert 'data-pwned="1"' not in dom

    def test_our_scores_are_there_to_be_looked_at(self, formgrader, tmp_path):
        """In the browser as an instructor has it: lists, sorted by a click, and a submission."""
        with chromium() as browser, page_of_browser(browser) as page:
            for path in ("manage_assignments", f"gradebook/{NAME}/{NAME}"):  # the first logs in
                page.goto(f"{formgrader.address}/formgrader/{path}?token={TOKEN}")
            page.locator("tbody tr", has_text="4 / 4").wait_for()
            page.locator("th", has_text="Overall Score").click()
            screenshot(page, "formgrader-gradebook", tmp_path)
            page.goto(f"{formgrader.address}/formgrader/submissions/{formgrader.submission}/")
            page.get_by_text("Squares instead of doubling.").first.wait_for()
            # the field's own value is for what is given by hand; ours stands in it till then
            page.wait_for_function("document.getElementById('check_double').placeholder === '1'")
            screenshot(page, "formgrader-submission", tmp_path, full_page=True)

    @pytest.mark.parametrize("path", [f"{quote(STUDENT)}", f"{quote(STUDENT)}/{NAME}"])
    def test_the_page_of_a_student_with_such_a_name(self, formgrader, path):
        dom = formgrader.page(f"manage_students/{path}")
        assert "&lt;img src=x onerror=" in dom
        assert 'data-pwned="1"' not in dom

    def test_a_link_to_a_student_who_does_not_exist(self, formgrader):
        dom = formgrader.page(f"manage_students/{quote(REFLECTED, safe='')}")
        assert "Students" in dom
        assert 'data-pwned="1"' not in dom

    @pytest.mark.parametrize("file", ["more.html", "more.svg"])
    def test_files_of_a_submission_are_no_pages(self, formgrader, file):
        dom = formgrader.page(f"submissions/{formgrader.submission}/{file}")
        assert "<svg" in dom or "more" in dom
        assert 'data-pwned="1"' not in dom and "data-pwned='1'" not in dom

    @pytest.mark.parametrize(
        "path",
        [
            f"manage_students/{quote(STUDENT)}",
            f"manage_students/{quote(REFLECTED, safe='')}",
            "submissions/{submission}/",
            "submissions/{submission}/more.html",
        ],
    )
    def test_stock_formgrader_runs_it(self, stock_formgrader, path):
        """The control: these tests can see a script run, and nbgrader's own pages run it."""
        page = path.format(submission=stock_formgrader.submission)
        assert 'data-pwned="1"' in stock_formgrader.page(page)


def test_nothing_is_patched_where_formgrader_is_not_loaded():
    code = (
        "import sys; from autograder.nbgrader_plugin.formgrader import patch_formgrader; "
        "patch_formgrader(); print([n for n in sys.modules if n.startswith('nbgrader')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "[]"


def test_configure_sanitises():
    from autograder.nbgrader_plugin import configure

    config = Config()
    configure(config)
    assert config.HTMLExporter.sanitize_html
    assert "markdown2html" in config.HTMLExporter.filters
