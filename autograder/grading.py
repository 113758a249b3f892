"""A class of submissions into a stream of results; each one alone, none harming another."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from autograder import __version__
from autograder.case_drops import Drops, read_drops
from autograder.evaluation import evaluate, evaluate_again
from autograder.faults.finding import Finder
from autograder.files import Handed, Unreadable, hand_in
from autograder.judge import infrastructure, missing
from autograder.observe.session import Limits
from autograder.observing import OpenSession
from autograder.pack import Pack, load_pack
from autograder.parsing import Cell, parse
from autograder.quiz import Question, judge_quiz, load_quiz
from autograder.references import Reference, references_of
from autograder.result import (
    ExerciseResult,
    Isolation,
    QuestionResult,
    ResultDocument,
    SubmissionResult,
    Version,
    total,
)
from autograder.specification import ExerciseSpec
from autograder.stubs import given_cell
from autograder.submission import Chosen, Submission, choose_from
from autograder.versions import Basis, bases_of, quiz_basis

# What a submission may use unless the command line says otherwise. Cases take milliseconds;
# a student's loop in place of a matrix product takes a hundred times as long, never this.
DEFAULT_LIMITS = Limits(wall=10.0, total=120.0, cpu=120, memory=1024)


def fresh_seed() -> str:
    """A run's seed: written down in the result, unknown to anyone before."""
    return secrets.token_hex(8)


@dataclass(frozen=True)
class Assignment:
    """An assignment drawn for one run: expected values are computed once, for everybody.

    dropped: cases that are left out, by exercise. explain: whether the fault in what failed is
    looked for (see `faults`); no score depends on it.
    """

    pack: Pack
    seed: str
    questions: tuple[Question, ...] = field(repr=False)
    dropped: Drops = field(default_factory=dict)
    explain: bool = False

    @classmethod
    def load(
        cls,
        course: Path,
        name: str,
        seed: str | None = None,
        dropped: Drops | None = None,
        *,
        explain: bool = False,
    ) -> Assignment:
        """Load the pack and the quiz; cases are drawn when they are first asked for.

        dropped: by default what the course has written down (see `case_drops`).
        """
        pack = load_pack(course, name)
        left_out = read_drops(course, pack) if dropped is None else dropped
        return cls(pack, seed or fresh_seed(), load_quiz(pack.folder), left_out, explain)

    @classmethod
    def draw(
        cls, course: Path, name: str, seed: str | None = None, *, explain: bool = False
    ) -> Assignment:
        """The same, with every case drawn."""
        made = cls.load(course, name, seed, explain=explain)
        assert made.specs is not None
        return made

    @cached_property
    def specs(self) -> tuple[ExerciseSpec, ...]:
        """The exercises, drawn."""
        return tuple(self.pack.draw_all(self.seed, dropped=self.dropped))

    @cached_property
    def bases(self) -> Mapping[str, Basis]:
        """What the result of each exercise depends on beside the submission."""
        return bases_of(self.pack, self.seed, self.dropped)

    @cached_property
    def quiz_basis(self) -> Basis:
        """The same of the quiz."""
        return quiz_basis(self.pack)

    @property
    def version(self) -> Version:
        """What a result document says that it was made by."""
        return Version(
            package=__version__,
            exercises=self.pack.versions(),
            quiz=self.quiz_basis.file,
            dropped=dict(self.dropped),
        )

    @property
    def name(self) -> str:
        """The assignment's name."""
        return self.pack.name

    @cached_property
    def references(self) -> Mapping[str, Reference]:
        """What answers for parts that are not right, when a composition is followed through."""
        return references_of(self.pack)

    @cached_property
    def finder(self) -> Finder | None:
        """What looks for the fault in a failed exercise; None where nobody asked for it."""
        return Finder(self.pack) if self.explain else None

    @property
    def max_score(self) -> float:
        """Points of exercises and questions together."""
        return self.pack.max_score + sum(question.points for question in self.questions)

    @property
    def framework(self) -> str:
        """The zygote that it needs."""
        exercises = self.pack.exercises.values()
        return "torch" if any(exercise.framework == "torch" for exercise in exercises) else "numpy"

    def handed(self, folder: Path) -> Handed:
        """What lies in a student's folder, read and not parsed."""
        for link in (folder, folder.parent):
            if link.is_symlink():  # it would show, and grade, somebody else's work
                return Handed(nothing=f"{link.name} is a link; hand in the files themselves")
        return hand_in(folder, self.name)

    def choose(self, folder: Path | Handed) -> Chosen:
        """The file of a student's folder that counts; Unreadable when none does."""
        handed = folder if isinstance(folder, Handed) else self.handed(folder)
        names = list(self.pack.exercises)
        variables = [question.variable for question in self.questions]
        chosen = choose_from(handed, self.name, names, variables)
        return replace(chosen, submission=self._with_gifts(chosen.submission))

    def _with_gifts(self, submission: Submission) -> Submission:
        """With what the set gives, where it is left out: that is not the student's to write."""
        left_out = [gift for gift in self.pack.given if gift.name not in submission.bound]
        if not left_out:
            return submission
        imports = "import numpy as np\n"
        if self.framework == "torch":
            imports += "import torch\nfrom torch import nn\n"
        cells = [Cell("what is given", imports + given_cell(gift)) for gift in left_out]
        statements, _ = parse(cells, submission.kind)
        return replace(submission, statements=(*statements, *submission.statements))


@dataclass(frozen=True)
class Earlier:
    """The last result of the same submission, and the exercises to be observed again."""

    result: SubmissionResult
    again: Set[str]


def grade_submission(
    assignment: Assignment,
    student: str,
    folder: Path | Handed,
    open_session: OpenSession,
    isolation: Isolation,
    earlier: Earlier | None = None,
) -> SubmissionResult:
    """Grade what lies in a student's folder. Never raises for anything that a student did.

    folder: what was read of it, where that was done elsewhere. earlier: what need not be
    observed, where the submission was graded before.
    """
    start = time.monotonic()
    try:
        chosen = assignment.choose(folder)
    except Unreadable as problem:
        return _unreadable(assignment, student, str(problem), isolation, start)
    except Exception as fault:  # ours: it must not cost the student, nor the rest of the class
        return ungraded(assignment, student, f"{type(fault).__name__}: {fault}", isolation)
    submission = chosen.submission
    try:
        if earlier is None:
            found = evaluate(
                submission,
                assignment.specs,
                open_session,
                assignment.references,
                finder=assignment.finder,
            )
        else:
            found = _again(assignment, submission, open_session, earlier)
        exercises = tuple(found)
    except Exception as fault:  # as above
        reason = f"{type(fault).__name__}: {fault}"
        exercises = tuple(infrastructure(spec, reason) for spec in assignment.specs)
    questions: tuple[QuestionResult, ...] = ()
    about_quiz: tuple[str, ...] = ()
    score: float | None = None  # stays None after a fault of ours
    try:
        questions, about_quiz = judge_quiz(assignment.questions, submission.answer, student)
        score = total([*exercises, *questions])
    except Exception as fault:  # as above: it must cost nobody anything
        about_quiz = (f"the quiz could not be judged: {type(fault).__name__}: {fault}",)
    messages = (*chosen.messages, *_stopped(exercises), *about_quiz)
    return SubmissionResult(
        student=student,
        file=submission.path.name,
        sha256=submission.sha256,
        outcome="infrastructure" if score is None else "graded",
        isolation=isolation if earlier is None or earlier.again else earlier.result.isolation,
        score=score,
        max_score=assignment.max_score,
        seconds=round(time.monotonic() - start, 4),
        exercises=exercises,
        questions=questions,
        messages=messages,
    )


def _again(
    assignment: Assignment, submission: Submission, open_session: OpenSession, earlier: Earlier
) -> list[ExerciseResult]:
    """Results with what is not to be observed again taken from before: no case of it is drawn."""
    kept = {result.name: result for result in earlier.result.exercises}
    if not earlier.again and kept.keys() >= assignment.pack.exercises.keys():
        return [kept[name] for name in assignment.pack.exercises]
    return evaluate_again(
        submission,
        assignment.specs,
        open_session,
        assignment.references,
        kept,
        earlier.again,
        assignment.finder,
    )


def _stopped(results: Sequence[ExerciseResult]) -> Iterator[str]:
    """Which exercises a limit or a crash ended, and that the others were graded all the same."""
    ended = [r for r in results if r.outcome in ("timed_out", "out_of_memory", "crashed")]
    if ended:
        names = ", ".join(f"{result.name} ({result.outcome})" for result in ended)
        count = len(results) - len(ended)
        others = "exercise was" if count == 1 else f"{count} exercises were"
        yield f"ended before their time: {names}; the other {others} graded"


def _unreadable(
    assignment: Assignment, student: str, message: str, isolation: Isolation, start: float
) -> SubmissionResult:
    questions = tuple(
        QuestionResult(id=q.id, outcome="unanswered", score=0.0, max_score=q.points)
        for q in assignment.questions
    )
    return SubmissionResult(
        student=student,
        file=None,
        sha256=None,
        outcome="unreadable",
        isolation=isolation,
        score=0.0,
        max_score=assignment.max_score,
        seconds=round(time.monotonic() - start, 4),
        exercises=tuple(missing(spec) for spec in assignment.specs),
        questions=questions,
        messages=(message,),
    )


def ungraded(
    assignment: Assignment, student: str, reason: str, isolation: Isolation
) -> SubmissionResult:
    """A submission that a fault of ours kept from being graded. It is not looked at for this."""
    exercises = assignment.pack.exercises.values()
    return SubmissionResult(
        student=student,
        file=None,
        sha256=None,
        outcome="infrastructure",
        isolation=isolation,
        score=None,
        max_score=assignment.max_score,
        seconds=0.0,
        exercises=tuple(infrastructure(exercise, reason) for exercise in exercises),
        messages=(f"could not be graded, through no fault of the student's: {reason}",),
    )


def find_submissions(submitted: Path, assignment: str) -> dict[str, Path]:
    """Student → folder, in nbgrader's layout `<student>/<assignment>/`, sorted by student.

    A student's folder without the assignment's folder in it is not a submission.
    """
    return {
        _printable(path.parent.name): path
        for path in sorted(submitted.glob(f"*/{_escape(assignment)}"))
        if path.is_dir() and not path.parent.name.startswith(".")
    }


def _printable(name: str) -> str:
    """A folder's name as a text: bytes that are no UTF-8 are spelled out."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _escape(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def grade_class(
    assignment: Assignment,
    submissions: Mapping[str, Path],
    open_session: OpenSession,
    isolation: Isolation,
    workers: int,
    earlier: Mapping[str, Earlier] | None = None,
) -> Iterator[SubmissionResult]:
    """Grade submissions as they complete. The iterator may be abandoned at any time.

    earlier: by student, what need not be observed.
    """
    known = earlier or {}
    with ThreadPoolExecutor(max_workers=max(1, workers)) as threads:
        waiting: set[Future[SubmissionResult]] = set()
        todo = iter(submissions.items())
        try:
            while True:
                # a short queue: an interrupted run leaves little behind
                while len(waiting) < 2 * max(1, workers):
                    item = next(todo, None)
                    if item is None:
                        break
                    student, folder = item
                    waiting.add(
                        threads.submit(
                            grade_submission,
                            assignment,
                            student,
                            folder,
                            open_session,
                            isolation,
                            known.get(student),
                        )
                    )
                if not waiting:
                    return
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in waiting:
                future.cancel()


class Versioned(Protocol):
    """What a result document is headed by."""

    @property
    def name(self) -> str:
        """The assignment's."""

    @property
    def seed(self) -> str:
        """Of the run."""

    @property
    def version(self) -> Version:
        """What the results were made by."""


def document(
    assignment: Versioned, results: Sequence[SubmissionResult], isolation: Isolation
) -> ResultDocument:
    """The result document of a run, submissions sorted by student."""
    return ResultDocument(
        assignment=assignment.name,
        seed=assignment.seed,
        isolation=isolation,
        version=assignment.version,
        submissions=tuple(sorted(results, key=lambda result: result.student)),
    )
