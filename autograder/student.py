"""A student's self-check of an assignment's folder: the file that counts, against the key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.cards import Progress
from autograder.evaluation import evaluate
from autograder.faults.finding import SELFCHECK_SECONDS, Finder
from autograder.files import Unreadable
from autograder.observe.session import Limits, Session
from autograder.result import ExerciseResult
from autograder.selfcheck import Key, load_key
from autograder.submission import Chosen, Submission, choose, read

if TYPE_CHECKING:
    from autograder.observe.spawned import Spare

# A student waits for this; an endless loop should not make them wait long.
LIMITS = Limits(wall=10.0, total=60.0, cpu=60, memory=2048)


@dataclass(frozen=True)
class SelfCheck:
    """What a self-check found. Scores are of the public cases alone."""

    folder: Path
    key: Key
    chosen: Chosen
    results: tuple[ExerciseResult, ...]
    graded: Path | None  # the file that would be graded, when another one was checked

    def result(self, name: str) -> ExerciseResult:
        """The result of one exercise; KeyError when it is not in the assignment."""
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(name)

    @property
    def passed(self) -> bool:
        """Whether every exercise that was checked passed."""
        return all(result.outcome == "passed" for result in self.results)

    @property
    def progress(self) -> Progress:
        """How far the set is, as far as it was checked."""
        known = {result.name: result for result in self.results}
        states, points = {}, 0.0
        for spec in self.key.specs:
            result = known.get(spec.name)
            states[spec.name] = "open"
            if result is not None and result.outcome != "missing":
                states[spec.name] = "passed" if result.outcome == "passed" else "failed"
                points += result.score or 0.0
        return Progress(states, points, sum(spec.points for spec in self.key.specs))

    def closing_lines(self, *, prompts: bool = True) -> Sequence[str]:
        """What would be handed in and graded, and what a full pass does not promise.

        prompts: open questions with numbers of the student's own, in full.
        """
        submission = self.chosen.submission
        names = [spec.name for spec in self.key.specs]
        written = [name for name in names if submission.written(name)]
        lines = list(self.chosen.messages)
        what = "To be graded" if self.graded == submission.path else "Checked"
        lines.append(
            f"{what}: {submission.path.name}, {len(written)} of {len(names)} exercises "
            f"written{': ' + ', '.join(written) if written else ''}."
        )
        if self.graded is None:
            lines.append(f"Nothing in this folder would be graded: {self._expected_files()}.")
        elif self.graded != submission.path:
            lines.append(f"To be graded would be {self.graded.name}, not this file.")
        lines += question_lines(self.key, submission, prompts=prompts)
        if self.passed and len(self.results) == len(names):
            lines.append(
                "All public cases pass. Grading adds hidden cases of other sizes and kinds."
            )
        return lines

    def _expected_files(self) -> str:
        name = self.key.assignment
        return f"hand in {name}.ipynb or {name}.py"


def question_lines(key: Key, submission: Submission, *, prompts: bool = True) -> list[str]:
    """Which quiz questions are answered: form only, nothing of right or wrong."""
    from autograder.quiz import NotAnAnswer, literal, read_answer

    if not key.questions:
        return []
    answered, problems, to_show = 0, [], []
    for name, form in key.questions.items():
        try:
            is_open = read_answer(form, literal(submission.answer(f"q_{name}"))) is None
        except NotAnAnswer as problem:
            problems.append(f"The answer q_{name} cannot be read: {problem}.")
            is_open = False
        else:
            answered += not is_open
        if "draws" in form and is_open:
            to_show.append(name)
    lines = [f"{answered} of {len(key.questions)} questions answered.", *problems]
    return [*lines, *_own_numbers(key, submission, to_show if prompts else ())]


def _own_numbers(key: Key, submission: Submission, open_ones: Sequence[str]) -> Iterator[str]:
    """Questions that are open, with the numbers of the student whom the file names."""
    from autograder.quiz import STUDENT_ID, NotAnAnswer, literal, plain_id, prompt_for

    if not open_ones:
        return
    try:
        student = literal(submission.answer(STUDENT_ID))
    except NotAnAnswer:
        student = None
    if student is None or not plain_id(str(student)):
        names = ", ".join(f"q_{name}" for name in open_ones)
        yield (
            f'With numbers of your own: {names}. Write your student id into `{STUDENT_ID} = ""` '
            "to see them here."
        )
        return
    for name in open_ones:
        yield f"q_{name}, with the numbers of {student}:"
        for line in prompt_for(key.questions[name], name, str(student)).split("\n"):
            yield f"    {line}".rstrip()


def chosen_in(folder: Path, key: Key) -> Chosen:
    """The file of a folder that would be graded; Unreadable when there is none."""
    exercises = [spec.name for spec in key.specs]
    return choose(folder, key.assignment, exercises, [f"q_{name}" for name in key.questions])


def check_folder(
    folder: Path,
    names: Sequence[str] | None = None,
    file: Path | None = None,
    timeout: float | None = None,
    explain: bool = True,
    spare: Spare | None = None,
    key: Key | None = None,
) -> SelfCheck:
    """Check a folder that holds an assignment, in a spawned process.

    names: exercises to check, all by default. file: the file to check instead of the one
    that would be graded. timeout: seconds for one case. explain: look for a small failing
    input and the likely line of what is wrong. spare, key: from a check before. Raises
    KeyUnusable or Unreadable with a sentence.
    """
    from autograder.observe.spawned import Spare

    key = key or load_key(folder)
    exercises = [spec.name for spec in key.specs]
    try:
        graded = chosen_in(folder, key)
    except Unreadable:
        if file is None:
            raise
        graded = None
    if file is None or (graded is not None and graded.submission.path == file):
        assert graded is not None
        chosen = graded
    elif file.suffix in (".ipynb", ".py"):
        chosen = Chosen(read(file))
    else:
        raise Unreadable(f"{file.name} is neither a notebook nor a module; name one of these")
    unknown = [name for name in names or () if name not in exercises]
    if unknown:
        raise Unreadable(
            f"{key.assignment} has no exercise called {unknown[0]}; it has: {', '.join(exercises)}"
        )
    specs = [spec for spec in key.specs if not names or spec.name in names]
    framework = "torch" if any(spec.framework == "torch" for spec in specs) else "numpy"

    limits = LIMITS if timeout is None else replace(LIMITS, wall=timeout)

    processes = spare or Spare()

    def open_session(**own: int) -> Session:
        return processes.open(limits.for_exercise(**own), framework, folder)

    finder = Finder(seconds=SELFCHECK_SECONDS, stored=key.small) if explain else None
    results = tuple(evaluate(chosen.submission, specs, open_session, finder=finder))
    return SelfCheck(
        folder, key, chosen, results, None if graded is None else graded.submission.path
    )
