"""The class report: one file that opens anywhere, for whoever teaches the class.

First what to teach again, then who stands where. Nothing is fetched, nothing of a submission
runs: see `page` for the policy, and `class_data` for the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.files import Unreadable
from autograder.grading import Assignment, find_submissions
from autograder.intervals import FALSE_ALARMS
from autograder.quiz import Question
from autograder.quiz.templates import with_placeholders, without_formulas
from autograder.report.class_data import ClassData, Cluster, Facility, Held, rows, summarise
from autograder.report.code import anonymous, written_for
from autograder.report.item_analysis import ItemAnalysis, analyse
from autograder.report.page import data, render
from autograder.result import ResultDocument
from autograder.validate import PackReport
from autograder.wording import clean

TRIED = 12  # holders whose code is looked at for an example
KINDS = (
    ("right", "right"),
    ("followed", "right, given right parts"),
    ("named", "a known misconception"),
    ("other", "wrong in another way"),
    ("missing", "not written"),
    ("open", "could not be graded"),
)


def class_report(
    assignment: Assignment,
    document: ResultDocument,
    submitted: Path | None = None,
    quality: PackReport | None = None,
) -> str:
    """The page. submitted: where examples of code are taken from; without it there are none."""
    found = summarise(document)
    analysis = analyse(document.submissions, assignment.questions)
    folders = {}
    if submitted is not None and submitted.is_dir():
        folders = find_submissions(submitted, assignment.name)
    changed = assignment.pack.versions() != document.version.exercises
    return render(
        "class.html.j2",
        styles=("base.css", "class.css"),
        scripts=("class.js",),
        title=assignment.pack.title.rstrip("."),
        assignment=assignment.name,
        document=document,
        data=found,
        changed=changed,
        bins=histogram(found.scores, found.max_score),
        kinds=KINDS,
        exercises=[(item, _shares(item)) for item in found.exercises],
        misconceptions=_misconceptions(assignment, found, folders),
        clusters=_clusters(assignment, found, folders),
        analysis=analysis,
        questions=_questions(assignment, analysis),
        quality=quality,
        quality_totals=None if quality is None else _totals(quality),
        false_alarms=f"{FALSE_ALARMS:.0e}".replace("e-0", "e-"),
        rows=data(rows(found)),
    )


def histogram(scores: Sequence[float], max_score: float) -> list[dict[str, Any]]:
    """At most 20 bins of whole points from 0 to the most; the last includes its end."""
    if not scores:
        return []
    width = max(1, -(-int(max_score) // 20))
    count = max(1, -(-int(-(-max_score // 1)) // width))
    bins = [0] * count
    for score in scores:
        bins[min(int(score // width), count - 1)] += 1
    highest = max(bins)
    return [
        {"from": at * width, "to": min((at + 1) * width, max_score), "count": number,
         "height": round(100 * number / highest, 2)}
        for at, number in enumerate(bins)
    ]  # fmt: skip


def _shares(item: Facility) -> list[dict[str, Any]]:
    """The parts of a stacked bar, in percent of the class."""
    everybody = sum(item.counts.values())
    parts, start = [], 0.0
    for kind, words in KINDS:
        width = 100 * item.counts[kind] / everybody
        if width:
            parts.append({"kind": kind, "words": words, "count": item.counts[kind],
                          "x": round(start, 2), "width": round(width, 2)})  # fmt: skip
        start += width
    return parts


def _misconceptions(
    assignment: Assignment, found: ClassData, folders: Mapping[str, Path]
) -> list[dict[str, Any]]:
    specs = {spec.name: spec for spec in assignment.specs}
    listed = []
    for number, held in enumerate(found.held):
        spec = specs.get(held.exercise)
        known = next((m for m in spec.mistakes if m.name == held.name), None) if spec else None
        listed.append({
            "number": number,
            "exercise": held.exercise,
            "count": len(held.holders),
            "share": len(held.holders) / len(found.students),
            # a pack that has changed since may not know it any more
            "sentence": known.sentence if known else held.name,
            "hint": known.hint if known else "",
            "example": _example(assignment, found, held, folders),
        })  # fmt: skip
    return listed


def _clusters(
    assignment: Assignment, found: ClassData, folders: Mapping[str, Path]
) -> list[dict[str, Any]]:
    """Mistakes without a name that several made, numbered after the misconceptions."""
    return [
        {
            "number": number,
            "exercise": cluster.exercise,
            "count": len(cluster.holders),
            "share": len(cluster.holders) / len(found.students),
            "words": clean(cluster.words, 300),
            "question": clean(cluster.question, 500),
            "example": _example(assignment, found, cluster, folders),
        }
        for number, cluster in enumerate(found.clusters, len(found.held))
    ]


def _example(
    assignment: Assignment, found: ClassData, held: Held | Cluster, folders: Mapping[str, Path]
) -> str:
    """The shortest code of those who have this one mistake in the exercise, as nobody's."""
    alone = (held.name,) if isinstance(held, Held) else ()
    examples: list[str] = []
    for position in held.holders:
        result = found.students[position]
        if result.student not in folders or len(examples) >= TRIED:
            continue
        if result.exercise(held.exercise).misconceptions != alone:
            continue
        try:
            submission = assignment.choose(folders[result.student]).submission
        except Unreadable:
            continue
        code = anonymous(written_for(submission, held.exercise), held.exercise)
        if code and result.student.casefold() not in code.casefold():
            examples.append(code)
    return min(examples, key=len, default="")


def _questions(assignment: Assignment, analysis: ItemAnalysis) -> list[dict[str, Any]]:
    known = {question.id: question for question in assignment.questions}
    listed = []
    for number, item in enumerate(analysis.items, 1):
        question = known.get(item.id)
        options = question.options if question else ()
        texts = {option.id: without_formulas(option.text) for option in options}
        listed.append({
            "number": number,
            "item": item,
            "prompt": prompt_of(question) if question else item.id,
            "picks": [(pick, texts.get(pick.answer, pick.answer)) for pick in item.picks],
        })  # fmt: skip
    return listed


def prompt_of(question: Question) -> str:
    """The question, with a placeholder where every student has a number of their own."""
    if question.draws is None:
        return question.prompt
    return with_placeholders(question.prompt, question.draws.choices)


def _totals(quality: PackReport) -> dict[str, Any]:
    items = quality.exercises
    finite = [item.separation for item in items if item.separation is not None]
    right = sum(item.alternatives + 1 for item in items)
    accepted = sum(item.alternatives_passed + item.reference_passes for item in items)
    return {
        "right": right,
        "accepted": accepted,
        "misconceptions": sum(item.misconceptions for item in items),
        "named": sum(item.named for item in items),
        "separation": min(finite) if finite else None,
        "rejected": right - accepted,
    }
