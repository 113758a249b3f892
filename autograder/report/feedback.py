"""A page for each student: what was right, what was wrong and why, and the points.

A page is one file without scripts, to be opened, printed or mailed. Where a misconception is
known, a picture shows what it gives in a public case beside what is right; a hidden case
shows its sizes and its kind only, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from autograder.cards import labelled
from autograder.files import Unreadable
from autograder.grading import Assignment
from autograder.picture import picture_of, svg
from autograder.quiz import Question, for_student
from autograder.quiz.kinds import KINDS
from autograder.report.code import written_for
from autograder.report.page import render
from autograder.result import ExerciseResult, QuestionResult, SubmissionResult
from autograder.submission import Submission
from autograder.wording import clean, sentence

MARKS = {"passed": "✓", "missing": "○", "infrastructure": "–", "correct": "✓", "unanswered": "○"}
WORDS = {
    "passed": "right",
    "failed": "not right yet",
    "error": "raised an exception",
    "missing": "not written",
    "forbidden": "used something forbidden",
    "timed_out": "took too long",
    "out_of_memory": "asked for too much memory",
    "crashed": "crashed",
    "infrastructure": "could not be graded",
    "correct": "right",
    "partial": "partly right",
    "incorrect": "not right",
    "unanswered": "not answered",
    "unreadable": "could not be read",
}
FOLLOWED = "right, given right parts"
_PANELS = (("got", "this mistake gives"), ("expected", "right"), ("difference", "difference"))


class FeedbackWriter:
    """Writes pages of one run; pictures are drawn once for everybody.

    notebooks: name of a page of nbgrader's beside ours, to which each of ours links.
    """

    def __init__(self, assignment: Assignment, about: str, notebooks: str | None = None) -> None:
        self.assignment, self.about, self.notebooks = assignment, about, notebooks
        self._specs = {spec.name: spec for spec in assignment.specs}
        self._questions = {question.id: question for question in assignment.questions}
        self._drawn: dict[tuple[str, str], Markup | None] = {}

    def page(self, result: SubmissionResult, submission: Submission | None) -> str:
        """The page of one student. submission: what they handed in, to show their code."""
        exercises = [self._exercise(item, submission) for item in result.exercises]
        questions = [
            self._question(number, item, result.student)
            for number, item in enumerate(result.questions, 1)
        ]
        share = (result.score or 0.0) / result.max_score if result.max_score else 0.0
        return render(
            "feedback.html.j2",
            styles=("base.css", "feedback.css"),
            title=self.assignment.pack.title.rstrip("."),
            assignment=self.assignment.name,
            student=clean(result.student, 200),
            file=clean(result.file or "nothing that could be read", 200),
            score=result.score,
            max_score=result.max_score,
            tenths=round(10 * share),
            messages=[sentence(clean(text, 500)) for text in result.messages],
            exercises=exercises,
            questions=questions,
            about=self.about,
            notebook=self.notebooks,
        )

    def _exercise(self, item: ExerciseResult, submission: Submission | None) -> dict[str, Any]:
        first, *rest = clean(item.feedback, 8000).split("\n")
        picture = None
        if len(item.misconceptions) == 1 and not item.followed_through:
            picture = self._picture(item.name, item.misconceptions[0])
        passed = item.outcome == "passed"
        return {
            "name": item.name,
            "outcome": item.outcome,
            "mark": MARKS.get(item.outcome, "✗"),
            "words": FOLLOWED if item.followed_through else WORDS[item.outcome],
            "score": item.score,
            "max_score": item.max_score,
            "first": first.removeprefix(f"{item.name}: "),
            "lines": [labelled(line) for line in rest],
            "checks": [check for check in item.checks if check.outcome != "skipped"],
            "picture": picture,
            "plain": passed and not item.followed_through,
            "code": "" if submission is None else written_for(submission, item.name),
        }

    def _picture(self, exercise: str, mistake: str) -> Markup | None:
        key = exercise, mistake
        if key not in self._drawn:
            spec = self._specs[exercise]
            outcomes = {
                case.name: case.explanations[mistake]
                for case in spec.cases
                if not case.hidden and mistake in case.explanations
            }
            found = picture_of(spec, outcomes)
            self._drawn[key] = None
            if found is not None:
                panels = "".join(svg(found, panel, title) for panel, title in _PANELS)
                where = Markup("<p class='small'>In the case {}. Framed: entries that are off.</p>")
                self._drawn[key] = Markup(f"<div class='panels'>{panels}</div>") + where.format(
                    found.where
                )
        return self._drawn[key]

    def _question(self, number: int, item: QuestionResult, student: str) -> dict[str, Any]:
        question = for_student(self._questions[item.id], student)
        message = item.message.removesuffix(question.explanation).strip()
        return {
            "number": number,
            "id": item.id,
            "outcome": item.outcome,
            "mark": MARKS.get(item.outcome, "✗"),
            "words": WORDS[item.outcome],
            "score": item.score,
            "max_score": item.max_score,
            "prompt": question.prompt,
            "message": clean(message, 2000),
            "chosen": chosen_options(question, item.answer),
            "right": right_options(question),
            "explanation": question.explanation,
        }


def chosen_options(question: Question, answer: str) -> list[str]:
    """Texts of the options that were chosen; the ids say nothing."""
    texts = {option.id: option.text for option in question.options}
    ids = answer.split(", ") if answer else []
    return [texts[name] for name in ids] if all(name in texts for name in ids) else []


def right_options(question: Question) -> list[str]:
    """Texts of the options that are right, in their order; else the answer as it is written."""
    texts = {option.id: option.text for option in question.options}
    if isinstance(question.answer, Mapping):
        others = {option.id: option.text for option in question.right}
        pairs = question.answer.items()
        return [f"{texts.get(one, one)} – {others.get(two, two)}" for one, two in pairs]
    if not texts:
        return [f"`{KINDS[question.type].written(question)}`"]
    right = (question.answer,) if isinstance(question.answer, str) else question.answer
    return [texts[name] for name in right if name in texts]


@dataclass(frozen=True)
class Written:
    """A page that was written, and whose."""

    student: str
    path: Path


def write_pages(
    writer: FeedbackWriter,
    results: Iterable[SubmissionResult],
    submissions: Mapping[str, Path],
    folder: Path,
) -> Iterator[Written]:
    """Write <student>/<assignment>/<assignment>.html into `folder`, for everybody."""
    name = writer.assignment.name
    for result in results:
        submission = None
        place = submissions.get(result.student)
        if place is not None and result.outcome != "unreadable":
            try:
                submission = writer.assignment.choose(place).submission
            except Unreadable:  # it has changed since
                submission = None
        # the folder's own name: a name that is no UTF-8 is spelled out in the result
        own = result.student if place is None else place.parent.name
        path = folder / own / name / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(writer.page(result, submission), "utf-8")
        yield Written(result.student, path)
