"""The numbers of a class, and the page: whole, escaped, small."""

import json
import random
import re
from html import unescape
from pathlib import Path

import msgspec
import pytest

from autograder import cli
from autograder.grading import Assignment
from autograder.pack import assignments_of
from autograder.quiz import load_quiz
from autograder.report import terminal
from autograder.report.class_data import rows, summarise
from autograder.report.class_report import class_report, histogram, prompt_of
from autograder.report.page import times
from autograder.report.quality import BadQuality, measured, read_quality
from autograder.report.writing import NoResults, write_report
from autograder.result import ExerciseResult, Remark, encode
from autograder.run import Run
from autograder.validate import to_json, validate
from tests.unit.class_of_many import document, document_of, student
from tests.unit.courses import NAME, RIGHT, SQUARED, make_course, submit

EVIL = "</script><img src=x onerror=alert(1)><script>alert(1)</script>"


def changed(result, **about):
    return msgspec.structs.replace(result, **about)


class TestNumbers:
    def test_mean_and_median_leave_out_who_has_no_score(self):
        rng = random.Random(1)
        students = [
            changed(student(name, rng), score=score)
            for name, score in (("a", 2.0), ("b", 10.0), ("c", 3.0), ("d", None))
        ]
        found = summarise(document_of(students))
        assert (found.mean, found.median) == (5.0, 3.0)

    def test_exercises_are_counted_by_kind(self):
        def one(outcome, score, **about):
            return ExerciseResult(
                name="project", outcome=outcome, score=score, max_score=2.0, **about
            )

        kinds = [one("passed", 2.0), one("passed", 2.0, followed_through=True),
                 one("failed", 1.0, misconceptions=("twice",)), one("error", 0.0),
                 one("missing", 0.0), one("infrastructure", None)]  # fmt: skip
        rng = random.Random(1)
        students = [changed(student(str(i), rng), exercises=(k,)) for i, k in enumerate(kinds)]
        (found,) = summarise(document_of(students)).exercises
        assert dict(found.counts) == {
            "right": 1, "followed": 1, "named": 1, "other": 1, "missing": 1, "open": 1
        }  # fmt: skip
        assert found.facility == 0.5  # (1 + 1 + ½ + 0 + 0) / 5
        assert found.graded == 5

    def test_what_most_hold_comes_first(self):
        found = summarise(document(300))
        counts = [len(item.holders) for item in found.held]
        assert counts == sorted(counts, reverse=True)
        assert sum(counts) == sum(
            len(item.misconceptions) for each in found.students for item in each.exercises
        )

    def test_students_with_other_exercises(self):
        """Two versions of a set in one document: every exercise is there, and every student."""
        one, two = document(2).submissions
        two = changed(two, exercises=two.exercises[::-1][:2])
        found = summarise(document_of([one, two]))
        assert [item.name for item in found.exercises] == ["project", "softmax", "attend"]
        letters = [row[2] for row in rows(found)["students"]]
        assert letters[1][0] == "m"
        assert len(letters[0]) == len(letters[1]) == 3

    def test_nobody(self):
        found = summarise(document_of([]))
        assert (found.mean, found.median, found.exercises, found.held) == (None, None, (), ())

    def test_rows_can_be_read_back(self):
        found = summarise(document(50))
        made = rows(found)
        for row, result in zip(made["students"], found.students, strict=True):
            assert row[:2] == [result.student, result.score]
            for position, item in enumerate(result.exercises):
                at = row[5][position] if row[5] else -1
                told = "" if at < 0 else made["texts"][at]
                assert told == ("" if item.outcome == "passed" else item.feedback)

    @pytest.mark.parametrize(
        "scores, most, counts",
        [([], 4.0, []), ([0.0, 0.5, 4.0], 4.0, [2, 0, 0, 1]), ([2.5], 2.5, [0, 0, 1]),
         ([0.0, 36.0, 35.0], 36.0, [1, *[0] * 16, 2]), ([0.0], 0.0, [1])],
    )  # fmt: skip
    def test_bins(self, scores, most, counts):
        assert [item["count"] for item in histogram(scores, most)] == counts

    @pytest.mark.parametrize(
        "value, text", [(3.25, "3.25 ×"), (9999.0, "1e+04 ×"), (2.9e9, "3·10⁹ ×")]
    )
    def test_times(self, value, text):
        assert times(value) == text


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("course"))
    named = f"# by Ada\n{SQUARED}".replace("return", "'Ada'\n    return")
    for name, code in (("right", RIGHT), ("squared", SQUARED), ("ada", named), (EVIL[9:26], RIGHT)):
        submit(course, name, code)
    submit(course, "broken", "{broken", ".ipynb")
    Run(
        course=course, assignment=NAME, workers=1, quiet=True, seed="report",
        allow_unsandboxed=True,
    ).grade()  # fmt: skip
    return course


@pytest.fixture(scope="module")
def page(course, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    (quality,) = validate(course, [NAME])
    write_report(course, NAME, None, path, quality=quality)
    return path.read_text("utf-8")


def text_of(page):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


class TestPage:
    def test_what_to_teach_again(self, page):
        said = text_of(page)
        assert "Squares instead of doubling. Hint: What is twice three?" in said
        assert "an example from the class def double(x): return x ** 2" in said

    def test_examples_are_nobody_s(self, page):
        assert "Ada" not in page

    def test_what_the_scores_are_worth(self, page):
        said = text_of(page)
        assert "2 of 2 right solutions are accepted (0 false alarms)" in said
        assert "2 of 2 known mistakes are caught and named" in said

    def test_who_could_not_be_graded_and_why(self, page):
        assert re.search(r"broken unreadable .*ps0_double\.ipynb", text_of(page))

    def test_it_is_one_file(self, page):
        assert re.findall(r'(?:src|href)="(?!#)', page) == []
        assert "url(" not in page and "@import" not in page
        policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)', page)[1])
        assert "default-src 'none'" in policy and "unsafe" not in policy

    def test_nothing_of_a_submission_is_markup(self, course):
        assignment = Assignment.draw(course, NAME, "report")
        rng = random.Random(1)
        found = changed(
            student(EVIL, rng),
            messages=(EVIL,),
            outcome="infrastructure",
            score=None,
            exercises=(
                ExerciseResult(
                    name="double", outcome="infrastructure", score=None, max_score=2.0,
                    feedback=EVIL, misconceptions=(EVIL,),
                ),
            ),
        )  # fmt: skip
        made = class_report(assignment, document_of([found], NAME))
        assert "<img" not in made
        assert made.count("</script>") == 2

    def test_it_says_when_the_set_has_changed(self, course, page):
        assert "has changed since" not in page
        assignment = Assignment.draw(course, NAME, "report")
        assert "has changed since" in class_report(assignment, document(2, NAME))

    def test_thousands_are_small(self, course):
        """Most texts are said to many: a page of 2,000 with unique exceptions stays small."""
        assignment = Assignment.draw(course, NAME, "report")
        made = class_report(assignment, document(2000, NAME))
        assert len(made.encode()) < 600_000


def test_every_question_can_be_shown_to_who_teaches():
    """Of all sets: with a placeholder where each student has a number of their own."""
    course = Path(__file__).parents[2]
    shown = [
        (question, prompt_of(question))
        for name in assignments_of(course)
        for question in load_quiz(course / "solutions" / name)
    ]
    drawn = [prompt for question, prompt in shown if question.draws is not None]
    assert all("⟨" in prompt and "{" not in prompt for prompt in drawn)
    assert drawn and len(drawn) < len(shown)


class TestCommand:
    def run(self, monkeypatch, capsys, *arguments):
        monkeypatch.setattr("sys.argv", ["autograder", "report", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = capsys.readouterr()
        return stopped.value.code, captured.out, captured.err

    def test_from_the_last_run(self, course, tmp_path, monkeypatch, capsys):
        page = tmp_path / "page.html"
        status, out, _ = self.run(monkeypatch, capsys, NAME, "--course", course, "--output", page)
        assert (status, out) == (0, f"wrote {page}\n")
        assert "known mistakes are caught" in page.read_text("utf-8")
        kept = course / ".autograder" / f"{NAME}.quality.json"
        before = kept.stat().st_mtime_ns
        assert measured(course, NAME).well
        assert kept.stat().st_mtime_ns == before  # measured once

    def test_from_files(self, course, tmp_path, monkeypatch, capsys):
        figures, results = tmp_path / "quality.json", tmp_path / "results.json"
        figures.write_text(to_json(validate(course, [NAME])), "utf-8")
        results.write_bytes(encode(document(3, NAME)))
        page = tmp_path / "page.html"
        status, out, _ = self.run(
            monkeypatch, capsys, NAME, "--course", course, "--output", page,
            "--results", results, "--quality", figures, "--questions",
        )  # fmt: skip
        assert status == 0
        assert "answered; " in out and "reliability (Cronbach's alpha)" in out
        assert "3 submissions" in page.read_text("utf-8")

    @pytest.mark.parametrize(
        "content, said",
        [(None, "cannot be read as a result document"), ("{}", "cannot be read"),
         (encode(document(1, "ps9")).decode(), "holds results of ps9"),
         (encode(document_of([], NAME)).decode(), "holds no submissions")],
    )  # fmt: skip
    def test_what_is_wrong_is_said(self, course, tmp_path, content, said):
        path = tmp_path / "results.json"
        if content is not None:
            path.write_text(content, "utf-8")
        with pytest.raises(NoResults, match=said):
            write_report(course, NAME, path, tmp_path / "page.html")

    def test_nothing_graded_yet(self, tmp_path):
        make_course(tmp_path)
        with pytest.raises(NoResults, match="run autograder grade ps0_double"):
            write_report(tmp_path, NAME, None, tmp_path / "page.html")

    @pytest.mark.parametrize("content", ["[]", "{", json.dumps([{"assignment": NAME}])])
    def test_figures_that_are_none(self, tmp_path, content):
        path = tmp_path / "quality.json"
        path.write_text(content, "utf-8")
        with pytest.raises(BadQuality, match="autograder validate ps0_double --json"):
            read_quality(path, NAME)


class TestClusters:
    """Mistakes without a name: those that several made stand in a row together."""

    def one(self, name, cluster, *misconceptions):
        remark = Remark(cluster=cluster, question="Which axis?")
        exercise = ExerciseResult(
            name="softmax", outcome="failed", score=0.0, max_score=2.0,
            misconceptions=misconceptions, remark=remark,
        )  # fmt: skip
        return changed(student(name, random.Random(1)), exercises=(exercise,))

    def class_of_24(self):
        made = [self.one(f"a{i:02}", "axis=1 → axis=0 in the weights") for i in range(12)]
        made += [self.one(f"b{i:02}", "the weights wrong first") for i in range(7)]
        made += [self.one("c", "alone <b>"), self.one("d", "")]
        made += [self.one(f"e{i}", "axis=1 → axis=0 in the weights", "twice") for i in range(3)]
        return document_of(made)

    def test_large_groups_first_and_no_single_ones(self):
        found = summarise(self.class_of_24()).clusters
        assert [(c.words, len(c.holders)) for c in found] == [
            ("axis=1 → axis=0 in the weights", 12),
            ("the weights wrong first", 7),
        ]

    def test_holders_are_numbered_after_those_of_misconceptions(self):
        found = summarise(self.class_of_24())
        made = rows(found)["holders"]
        assert [len(item) for item in made] == [3, 12, 7]

    def test_in_the_terminal(self, capsys):
        terminal.print_clusters(self.class_of_24().submissions)
        out = capsys.readouterr().out
        assert "axis=1 → axis=0 in the weights" in out
        assert "alone" not in out

    def test_nothing_where_nothing_is_shared(self, capsys):
        terminal.print_clusters(document_of([self.one("c", "alone")]).submissions)
        assert capsys.readouterr().out == ""
