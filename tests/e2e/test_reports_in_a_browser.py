"""The feedback page and the class report in a real browser: to look at, to use, to attack."""

import random
import time

import msgspec
import pytest

from autograder.grading import Assignment, find_submissions
from autograder.report.class_report import class_report
from autograder.report.feedback import FeedbackWriter, write_pages
from autograder.result import ExerciseResult, QuestionResult
from tests.e2e.browser import chromium, page_of, screenshot, violations
from tests.unit.class_of_many import document, document_of, student
from tests.unit.courses import NAME, make_course

pytestmark = [pytest.mark.e2e, pytest.mark.needs_debian("chromium")]

PWN = "document.documentElement.setAttribute('data-pwned', '1')"
EVIL = (
    f'</script></pre></title><script>{PWN}</script><img src=x onerror="{PWN}">'
    f'<svg onload="{PWN}"><style>body{{display:none}}</style></svg>'
    f'<iframe srcdoc="<script>parent.{PWN}</script>"></iframe>'
    f'<a href="javascript:{PWN}">x</a><object data="data:text/html,<script>{PWN}</script>">'
    "{{ 7 * 7 }} ${7 * 7} <!-- \u2028 ]]>"
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    return Assignment.draw(make_course(tmp_path_factory.mktemp("course")), NAME, "browser")


def hostile(name):
    """A student with markup wherever a student's text can be."""
    exercise = ExerciseResult(
        name="double", outcome="failed", score=0.5, max_score=2.0, misconceptions=("squared",),
        feedback=f"double: {EVIL}\n  {EVIL}\n  Likely cause: {EVIL}\n  Next: {EVIL}",
    )  # fmt: skip
    questions = tuple(
        QuestionResult(
            id=item, outcome="incorrect", score=0.0, max_score=1.0, message=EVIL, answer=EVIL
        )
        for item in ("twice", "kind")
    )
    made = student(name, random.Random(1))
    return msgspec.structs.replace(
        made, file=EVIL, exercises=(exercise,), questions=questions, messages=(EVIL,), score=0.5,
        max_score=4.0,
    )  # fmt: skip


def inert(page):
    return (
        page.evaluate("document.documentElement.dataset.pwned") is None
        and page.evaluate("getComputedStyle(document.body).display") == "block"
        and page.locator("iframe, object, img, svg style, a[href^=javascript]").count() == 0
    )


@pytest.fixture(scope="module")
def pages(assignment, tmp_path_factory):
    """The path of a page of a student whose every text is markup."""
    submitted = tmp_path_factory.mktemp("submitted")
    (submitted / "evil" / NAME).mkdir(parents=True)
    code = f"def double(x):\n    print({EVIL!r})\n    return x ** 2\n"
    (submitted / "evil" / NAME / f"{NAME}.py").write_text(code, "utf-8")
    folders = find_submissions(submitted, NAME)
    writer = FeedbackWriter(assignment, "Graded by a test.")
    folder = tmp_path_factory.mktemp("pages")
    (written,) = write_pages(writer, [hostile("evil")], folders, folder)
    return written.path


class TestFeedbackPage:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_it_can_be_read_by_all(self, browser, pages, scheme, tmp_path):
        with page_of(browser, color_scheme=scheme) as page:
            page.goto(pages.as_uri())
            assert violations(page) == []
            screenshot(page, f"feedback-{scheme}", tmp_path, full_page=True)

    def test_nothing_of_a_submission_runs(self, browser, pages):
        with page_of(browser) as page:
            page.goto(pages.as_uri())
            page.locator("summary").first.click()
            assert "data:text/html" in page.locator("pre").inner_text()  # it is there, as text
            assert inert(page)
            assert "49" not in page.locator("main").inner_text()

    def test_this_test_can_see_it_run(self, browser, pages, tmp_path):
        """The control: the same page with one text put in as it is, and no policy."""
        page_text = pages.read_text("utf-8").replace("Content-Security-Policy", "x")
        (tmp_path / "page.html").write_text(page_text.replace("<main>", f"<main>{EVIL}"), "utf-8")
        with page_of(browser) as page:
            page.goto((tmp_path / "page.html").as_uri())
            assert not inert(page)

    def test_it_can_be_printed(self, browser, pages, tmp_path):
        with page_of(browser) as page:
            page.goto(pages.as_uri())
            paper = page.pdf()
        assert paper.startswith(b"%PDF")
        (tmp_path / "feedback.pdf").write_bytes(paper)


@pytest.fixture(scope="module")
def report(assignment, tmp_path_factory):
    """A class of 200, one of whom is hostile."""
    students = [*document(200, NAME).submissions]
    evil = msgspec.structs.replace(
        students[0], student=f"evil {EVIL}", messages=(EVIL,), outcome="infrastructure", score=None,
        exercises=tuple(
            msgspec.structs.replace(item, outcome="failed", score=0.0, feedback=EVIL)
            for item in students[0].exercises
        ),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("report") / "report.html"
    made = class_report(assignment, document_of([evil, *students[1:]], NAME))
    path.write_text(made, "utf-8")
    return path


@pytest.fixture
def page(browser, report):
    with page_of(browser) as page:
        page.goto(report.as_uri())
        yield page
        assert page.faults == []


def column(page, selector):
    return page.locator(selector).all_inner_texts()


class TestClassReport:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_it_can_be_read_by_all(self, browser, report, scheme, tmp_path):
        with page_of(browser, color_scheme=scheme) as page:
            page.goto(report.as_uri())
            page.locator("#grid td.cell").first.click()  # what was said is a part of it
            assert violations(page) == []
            screenshot(page, f"report-{scheme}", tmp_path, full_page=True)

    def test_nothing_of_a_submission_runs(self, page):
        page.locator("#name").fill("evil")
        page.locator("#grid tbody th").first.click()
        assert "data:text/html" in page.locator("#told").inner_text()
        assert inert(page)
        assert page.locator("#told *:not(h3, p)").count() == 0

    def test_tables_are_sorted(self, page):
        head = page.locator("#exercises thead button", has_text="exercise")
        head.click()
        names = column(page, "#exercises tbody td:first-child")
        assert names == sorted(names)
        head.click()
        assert column(page, "#exercises tbody td:first-child") == names[::-1]
        assert head.locator("xpath=..").get_attribute("aria-sort") == "descending"
        page.locator("#exercises thead button", has_text="earned").click()
        shares = [
            int(text.rstrip("%")) for text in column(page, "#exercises tbody td:nth-child(3)")
        ]
        assert shares == sorted(shares, reverse=True)

    def test_students_are_sorted(self, page):
        points = page.locator("#grid thead button", has_text="points")
        points.click()
        shown = [float(text) for text in column(page, "#grid tbody tr:not(.gap) td:last-child")]
        assert shown[:20] == sorted(shown, reverse=True)[:20]

    def test_students_are_filtered(self, page):
        page.locator("#name").fill("STUDENT001")
        assert page.locator("#shown").inner_text() == "10 of 200 students"
        page.locator("#filters button").click()
        page.locator("#who").select_option("open")
        page.wait_for_function("document.getElementById('shown').textContent.startsWith('1 of')")

    def test_a_misconception_leads_to_its_holders(self, page):
        count = page.locator("[data-holders]").first
        number = count.inner_text()
        count.click()
        assert page.locator("#shown").inner_text() == f"{number} of 200 students"
        assert page.locator("#holds").evaluate("e => e === document.activeElement")

    def test_by_keyboard_alone(self, page):
        page.locator("#filters button").focus()
        for _ in range(8):  # over the headings into the table
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.closest('#grid tbody') !== null"):
                break
        assert page.evaluate("document.activeElement.getAttribute('scope')") == "row"
        page.keyboard.press("Control+End")
        last = page.evaluate("document.activeElement.closest('tr').getAttribute('aria-rowindex')")
        assert last == "201"
        page.keyboard.press("Control+Home")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        told = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert told.startswith("project: ")
        page.keyboard.press("Enter")
        assert page.locator("#told").inner_text().startswith("student000")
        page.keyboard.press("Escape")
        assert page.locator("#told").is_hidden()

    def test_it_asks_for_nothing(self, browser, report):
        asked = []
        with page_of(browser) as page:
            page.on("request", lambda request: asked.append(request.url))
            page.goto(report.as_uri())
        assert asked == [report.as_uri()]

    def test_all_students_are_printed(self, page):
        assert page.locator("#grid tbody tr[aria-rowindex]").count() < 60
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert page.locator("#grid tbody tr[aria-rowindex]").count() == 200


class TestThousands:
    def test_it_is_small_and_quick(self, browser, assignment, tmp_path, capsys):
        """Bounds with much room: a busy machine is not what is measured here."""
        start = time.perf_counter()
        made = class_report(assignment, document(5000, NAME))
        seconds = time.perf_counter() - start
        path = tmp_path / "report.html"
        path.write_text(made, "utf-8")
        with page_of(browser) as page:
            page.goto(path.as_uri())
            ready = int(page.evaluate("document.documentElement.dataset.ready"))
            slowest = page.evaluate(
                """() => {
                  const times = [];
                  for (const button of document.querySelectorAll("#grid thead button")) {
                    const start = performance.now(); button.click();
                    times.push(performance.now() - start);
                  }
                  return Math.max(...times);
                }"""
            )
        size = path.stat().st_size
        with capsys.disabled():
            print(
                f"\nclass report of 5,000: {size / 1e6:.2f} MB, made in {seconds:.2f} s, "
                f"interactive after {ready} ms, sorted in at most {slowest:.0f} ms"
            )
        assert size < 3_000_000
        assert ready < 20_000
