"""Self-checks, classes and packs as text in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.cards import labelled, marks_of
from autograder.importing import Report
from autograder.report.class_data import clusters_of
from autograder.result import ExerciseResult, SubmissionResult
from autograder.student import SelfCheck
from autograder.validate import ExerciseReport, PackReport
from autograder.wording import clean

# Of a table with a row a student; drawing thousands takes longer than to look them up.
MOST_ROWS = 200

MARKS = {"passed": ("✓", "green"), "missing": ("○", "dim"), "infrastructure": ("!", "magenta")}


def console() -> Console:
    """Where to print. Student text is only ever printed as Text, never as markup."""
    return Console(highlight=False, markup=False, soft_wrap=True)


def print_check(outcome: SelfCheck) -> None:
    """A student's self-check: each exercise, how far the set is, what would be graded."""
    out = console()
    for result in outcome.results:
        print_exercise(out, result)
    out.print()
    if len(outcome.results) == len(outcome.key.specs):
        out.print(Text(outcome.progress.words))
    for line in outcome.closing_lines():
        out.print(Text(line))


def print_exercise(out: Console, result: ExerciseResult) -> None:
    """What the card of a notebook says, without the picture."""
    mark, colour = MARKS.get(result.outcome, ("✗", "yellow"))
    first, *rest = result.feedback.split("\n")
    points = "" if result.score is None else f"{result.score:g} of {result.max_score:g} points"
    is_short = not rest
    out.print(
        Text(f"{mark} ", style=colour)
        + Text(first, style="" if is_short else "bold")
        + Text(f"  {points}" if is_short else "", style="dim")
    )
    for line in rest:
        label, text = labelled(line)
        if label:
            style = "cyan" if label in ("Next", "Then") else colour
            out.print(Text(f"  {label}: ", style=style) + Text(text))
        else:
            out.print(Text(line))
    if not is_short:
        out.print(Text(f"  {points}. {marks_of(result).words}".rstrip(), style="dim"))


def print_class(results: Sequence[SubmissionResult]) -> None:
    """A table of students: scores and outcomes; of exercises, where students are many."""
    out = console()
    if len(results) > MOST_ROWS:
        _print_large_class(out, results)
        return
    names = [result.name for result in results[0].exercises] if results else []
    table = Table(title=f"{len(results)} submissions")
    table.add_column("student", no_wrap=True)
    for number in range(1, len(names) + 1):
        table.add_column(str(number), justify="center", no_wrap=True)
    table.add_column("quiz", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    for result in sorted(results, key=lambda item: item.student):
        quiz = sum(question.score or 0.0 for question in result.questions)
        score = "–" if result.score is None else f"{result.score:g}/{result.max_score:g}"
        cells = [_cell(exercise) for exercise in result.exercises]
        table.add_row(Text(clean(result.student)), *cells, f"{quiz:g}", score)
    out.print(table)
    out.print(", ".join(f"{number} {name}" for number, name in enumerate(names, 1)))
    out.print(_legend())


def _print_large_class(out: Console, results: Sequence[SubmissionResult]) -> None:
    """How many students had which outcome in each exercise, in a table of one screen."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        for exercise in result.exercises:
            counts.setdefault(exercise.name, Counter())[exercise.outcome] += 1
    table = Table(title=f"{len(results)} submissions")
    table.add_column("exercise")
    for word, _ in _SHORT.values():
        table.add_column(word, justify="right", no_wrap=True)
    for name, found in counts.items():
        table.add_row(name, *(str(found[outcome] or "") for outcome in _SHORT))
    out.print(table)
    out.print(_legend())
    scores = [result.score for result in results if result.score is not None]
    if scores:
        most = max(result.max_score for result in results)
        out.print(f"Mean score: {sum(scores) / len(scores):.2f} of {most:g}.")
    out.print("Each student's results: --json FILE, or autograder report.")


def _legend() -> str:
    return ", ".join(f"{word}: {outcome}" for outcome, (word, _) in _SHORT.items())


_SHORT = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "error": ("E", "red"),
    "missing": ("–", "dim"),
    "forbidden": ("F", "red"),
    "timed_out": ("T", "yellow"),
    "out_of_memory": ("M", "yellow"),
    "crashed": ("C", "yellow"),
    "infrastructure": ("!", "magenta"),
}


def _cell(result: ExerciseResult) -> Text:
    word, colour = _SHORT[result.outcome]
    return Text(word, style=colour)


def print_misconceptions(
    results: Sequence[SubmissionResult], sentences: Mapping[tuple[str, str], str]
) -> None:
    """The misconceptions of a class, the most frequent first."""
    counts = Counter(
        (exercise.name, name)
        for result in results
        for exercise in result.exercises
        for name in exercise.misconceptions
    )
    table = Table(title="What the class misunderstands")
    table.add_column("students", justify="right")
    table.add_column("exercise")
    table.add_column("misconception")
    for (exercise, name), count in counts.most_common():
        table.add_row(str(count), exercise, Text(sentences.get((exercise, name), name)))
    console().print(table)


def print_clusters(results: Sequence[SubmissionResult]) -> None:
    """Mistakes without a name that several of a class made; nothing where there are none."""
    found = clusters_of(results)
    if not found:
        return
    table = Table(title="Mistakes without a name that several made")
    table.add_column("students", justify="right")
    table.add_column("exercise")
    table.add_column("what they share")
    for cluster in found:
        words = Text(clean(cluster.words))
        table.add_row(str(len(cluster.holders)), cluster.exercise, words)
    console().print(table)


def print_import(report: Report, target: Path) -> None:
    """What was imported, and every file that was not, with the reason."""
    out = console()
    files = sum(len(names) for names in report.imported.values())
    out.print(f"Imported {files} files of {len(report.imported)} students into {target}.")
    for path, note in report.noted:
        out.print(Text(f"note: {clean(path)}: {note}"))
    for path, reason in report.left_out:
        out.print(Text(f"left out: {clean(path)}: {reason}"))


def print_left_out(left_out: Sequence[tuple[str, str]], remarks: Sequence[str]) -> None:
    """What an export says, on standard error: its file may go to standard output."""
    out = Console(highlight=False, markup=False, soft_wrap=True, stderr=True)
    for remark in remarks:
        out.print(Text(clean(remark)))
    for student, reason in left_out:
        out.print(Text(f"left out: {clean(student)}: {reason}"))


def print_validation(report: PackReport, *, matrix: bool = False) -> None:
    """The quality of a pack: a table for people, then every complaint as a sentence."""
    out = console()
    table = Table(title=f"{report.assignment}: {'well' if report.well else 'weak'}")
    for heading in ("exercise", "cases", "reference", "alternatives", "named", "apart"):
        table.add_column(heading, justify="left" if heading == "exercise" else "right")
    for item in report.exercises:
        table.add_row(
            item.name,
            str(len(item.matrix)),
            "passes" if item.reference_passes else "fails",
            f"{item.alternatives_passed} of {item.alternatives}",
            f"{item.named} of {item.misconceptions}",
            "in kind" if item.separation is None else f"{item.separation:.3g}×",
        )
    out.print(table)
    if matrix:
        for item in report.exercises:
            out.print(_matrix(item))
    for complaint in report.complaints:
        out.print(Text(f"- {complaint}"))
    for remark in report.remarks:
        out.print(Text(f"- remark: {remark}"))
    names = report.exercises
    out.print(
        f"{sum(i.reference_passes for i in names)} of {len(names)} references pass, "
        f"{sum(i.alternatives_passed for i in names)} of {sum(i.alternatives for i in names)} "
        f"alternatives accepted, {sum(i.named for i in names)} of "
        f"{sum(i.misconceptions for i in names)} misconceptions caught and named, "
        f"{sum(i.blind_cases for i in names)} blind cases."
    )


def print_validations(reports: Sequence[PackReport], *, matrix: bool = False) -> None:
    """The quality of several packs, and in one line what to make of them all."""
    for report in reports:
        print_validation(report, matrix=matrix)
    if len(reports) > 1:
        weak = [report.assignment for report in reports if not report.well]
        count = sum(len(report.exercises) for report in reports)
        found = f"weak: {', '.join(weak)}" if weak else "all well"
        console().print(f"{count} exercises in {len(reports)} sets, {found}.")


def _matrix(item: ExerciseReport) -> Table:
    """A row for each misconception, a numbered column for each case: ✗ where it is caught."""
    cases = list(item.matrix)
    listed = ", ".join(f"{number} {name}" for number, name in enumerate(cases, 1))
    table = Table(title=item.name, caption=listed)
    table.add_column("caught in case")
    for number in range(1, len(cases) + 1):
        table.add_column(str(number), justify="center")
    for name in item.names:
        table.add_row(name, *("✗" if name in item.matrix[case] else "" for case in cases))
    return table
