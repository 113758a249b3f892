"""The pictures of README: a card, a feedback page and a class report, as they are today.

`make pictures` writes them to docs/pictures/, from a class that is made, graded and thrown away.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from autograder import demo, notebook, stubs
from autograder.cards import Progress, card_for
from autograder.grading import Assignment, find_submissions
from autograder.pack import load_pack
from autograder.quiz import load_quiz
from autograder.report.class_report import class_report
from autograder.report.feedback import FeedbackWriter
from autograder.report.quality import measured
from autograder.result import ResultDocument
from autograder.run import Run
from autograder.selfcheck import load_key

COURSE = Path(__file__).parents[1]
FOLDER = COURSE / "docs" / "pictures"
SET = "ps1_numpy_attention"
SEED = "pictures"  # so that pictures change only when what they show does
STUDENTS = 120
SCALE = 1.5
COLOURS = 96  # enough for text and washes, and a third of the bytes


def main() -> None:
    """Write all pictures and say how large they are."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        if chromium is None:
            raise SystemExit("pictures need the Debian package chromium; install it")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        scratch = Path(name)
        course, document = graded_class(scratch / "class")
        assignment = Assignment.draw(course, SET, document.seed)
        take(browser, "card", card_page(), scratch, width=860, height=None)
        submitted = course / "submitted"
        page = class_report(assignment, document, submitted, measured(COURSE, SET))
        take(browser, "class-report", page, scratch, width=1120, height=760)
        take(browser, "class-report-students", page, scratch, width=1120, height=690,
             start="#students")  # fmt: skip
        result = next(r for r in document.submissions if r.exercise("softmax").misconceptions)
        folder = find_submissions(submitted, SET)[result.student]
        submission = assignment.choose(folder).submission
        feedback = FeedbackWriter(assignment, "").page(result, submission)
        take(browser, "feedback", feedback, scratch, width=860, height=1150)
        browser.close()


def graded_class(folder: Path) -> tuple[Path, ResultDocument]:
    """A synthetic class, handed in and graded."""
    demo.make_course(COURSE, SET, folder)
    pack = load_pack(folder, SET)
    for student in demo.make_class(pack, load_quiz(pack.folder), STUDENTS):
        where = folder / "submitted" / student.name / SET
        demo.hand_in(student, pack, folder / "assignments" / SET, where)
    run = Run(
        course=folder, assignment=SET, seed=SEED, timeout=demo.TIMEOUT, resume=False, quiet=True,
        allow_unsandboxed=True,
    )  # fmt: skip
    return folder, run.grade()


def card_page() -> str:
    """The card of a student who normalises over the queries, and what stands around it."""
    pack = load_pack(COURSE, SET)
    release = COURSE / "assignments" / SET
    names: dict[str, Any] = {}
    for exercise, function in (("project", "project"), ("softmax", "over_queries")):
        made: dict[str, Any] = {}
        code = stubs.student_code(pack.sources[exercise], function, exercise)
        exec(f"import numpy as np\n{code}", made)
        names[exercise] = made[exercise]
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>card</title>"
        "<body style='margin:14px 18px;background:#fff'>"
        f"{checked(release, names)}</body></html>"
    )


def checked(release: Path, names: dict[str, Any]) -> str:
    """The HTML of the card of softmax after one of project."""
    key = load_key(release)
    states, points = dict.fromkeys([spec.name for spec in key.specs], "open"), 0.0
    for name in names:
        result, picture = notebook.look(key.spec(name), names)
        states[name] = "passed" if result.outcome == "passed" else "failed"
        points += result.score or 0.0
    progress = Progress(states, points, sum(spec.points for spec in key.specs))
    html: str = card_for(result, picture, progress)._repr_html_()
    return html


def take(
    browser: Browser,
    name: str,
    html: str,
    scratch: Path,
    *,
    width: int,
    height: int | None,
    start: str | None = None,
) -> None:
    """A picture of a page from its top or from an element; of all of it without a height."""
    path = scratch / f"{name}.html"
    path.write_text(html, "utf-8")
    page = browser.new_page(
        viewport={"width": width, "height": height or 400}, device_scale_factor=SCALE
    )
    page.goto(path.as_uri())
    if start is not None:
        page.evaluate("selector => document.querySelector(selector).scrollIntoView()", start)
    target = FOLDER / f"{name}.png"
    page.screenshot(path=target, full_page=height is None)
    page.close()
    with Image.open(target) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target.relative_to(COURSE)}: {target.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
