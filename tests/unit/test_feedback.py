"""The page that a student gets: whole, escaped, and without anything from elsewhere."""

import re
from html import unescape

import pytest

from autograder.report.code import anonymous
from autograder.report.page import data, prose, ticked
from autograder.run import Run
from tests.unit.courses import NAME, RIGHT, SQUARED, make_course, submit

EVIL = "<img src=x onerror=alert(1)>"
RAISES = f"def double(x):\n    # {EVIL}\n    raise ValueError({EVIL!r})\nq_kind = {EVIL!r}\n"
STUB = "def double(x):\n    raise NotImplementedError()\n"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Student → page."""
    course = make_course(tmp_path_factory.mktemp("course"))
    for student, code in (("right", RIGHT), ("squared", SQUARED), ("stub", STUB), (EVIL, RAISES)):
        submit(course, student, code)
    submit(course, "broken", "{broken", ".ipynb")
    folder = course / "pages"
    run = Run(
        course=course, assignment=NAME, workers=1, quiet=True, feedback=folder, seed="feedback",
        allow_unsandboxed=True,
    )  # fmt: skip
    run.grade()
    return {
        path.parent.parent.name: path.read_text("utf-8") for path in folder.rglob(f"{NAME}.html")
    }


def text_of(page):
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


class TestAPage:
    def test_everybody_has_one(self, pages):
        assert set(pages) == {"right", "squared", "stub", EVIL, "broken"}

    def test_what_was_right(self, pages):
        said = text_of(pages["right"])
        assert "4 of 4 points" in said
        assert "What to look at" not in said  # nothing
        assert "f(a + b) = f(a) + f(b)." in said  # explanations are for everybody

    def test_what_was_wrong_and_why(self, pages):
        page = pages["squared"]
        said = text_of(page)
        assert "1 of 4 points" in said  # the misconception's credit
        assert "Likely cause Squares instead of doubling." in said
        assert "Next What is twice three?" in said
        assert "return x ** 2" in said
        assert "That is the square. Add it to itself." in said
        assert page.count("<svg") == 4  # the bar, and three panels
        assert "this mistake gives" in said

    def test_pictures_are_of_public_cases(self, pages):
        assert "In the case “five numbers” (n = 5)." in text_of(pages["squared"])

    def test_who_handed_in_nothing_that_can_be_read(self, pages):
        said = text_of(pages["broken"])
        assert "0 of 4 points" in said
        assert "nothing that could be read" in said
        assert f"{NAME}.ipynb" in said  # which file, and why

    def test_nothing_of_a_submission_is_markup(self, pages):
        page = pages[EVIL]
        assert EVIL not in page
        assert "&lt;img src=x onerror=alert(1)&gt;" in page

    @pytest.mark.parametrize("student", ["right", "squared", "stub", EVIL, "broken"])
    def test_it_is_one_file_without_scripts(self, pages, student):
        page = pages[student]
        assert "<script" not in page
        assert re.findall(r'(?:src|href)="(?!#)', page) == []
        policy = unescape(page)
        assert "default-src 'none'" in policy and "script-src 'none'" in policy
        assert "url(" not in page and "@import" not in page

    def test_it_holds_no_hidden_value(self, pages):
        assert "three other numbers" not in "".join(pages.values())


class TestPieces:
    def test_data_cannot_leave_its_element(self):
        assert "</script>" not in data(["</script><script>x", "\u2028", "<!--"])
        assert "\u2028" not in data(["\u2028"])

    def test_prose_is_markdown_without_html(self):
        made = prose("A `name`, **bold**\n\n<script>x</script> [a](javascript:x) ![i](http://x)")
        assert "<code>name</code>" in made and "<strong>bold</strong>" in made
        assert "<script" not in made and 'href="javascript' not in made and "<img" not in made

    def test_names_are_set_as_code(self):
        assert ticked("`a<b` and <i>") == "<code>a&lt;b</code> and &lt;i&gt;"

    def test_an_example_is_nobody_s(self):
        source = (
            "def f(x):  # by Ada\n    '''By Ada.'''\n    print('Ada was here', f'{x} Ada')\n"
            "    return einsum('ij,jk->ik', x)\n"
        )
        made = anonymous(source, "f")
        assert "Ada" not in made
        assert "einsum('ij,jk->ik', x)" in made
        assert anonymous("def f(x):\n    'Ada'\n", "f") == "def f(x):\n    pass"
        assert anonymous("def f(x:", "f") == ""
