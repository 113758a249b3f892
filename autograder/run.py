"""One run of `autograder grade`: open the sandbox, grade, journal, write what was asked for."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograder.case_drops import changed_drops, read_drops, write_drops
from autograder.grading import (
    DEFAULT_LIMITS,
    Assignment,
    document,
    find_submissions,
    grade_class,
)
from autograder.journal import Journal
from autograder.limits import NO_PROCESSES
from autograder.observe.session import Limits, Session
from autograder.opening import CannotGrade, observer, teach
from autograder.pack import load_pack
from autograder.progress import Kind, Progress
from autograder.regrading import Regrade, Wish, only
from autograder.result import Isolation, ResultDocument, SubmissionResult, encode
from autograder.results_view import clean
from autograder.standing import Standing, digest_of_set


@dataclass(frozen=True)
class Run:
    """What a run was asked to do; None where the default is meant."""

    course: Path
    assignment: str
    submitted: Path | None = None
    json_file: Path | None = None
    seed: str | None = None
    workers: int | None = None
    timeout: float | None = None
    memory: int | None = None
    total: float | None = None
    cpu: int | None = None
    output: int | None = None
    files: int | None = None
    processes: int | None = None
    gradebook: str | None = None
    feedback: Path | None = None
    resume: bool = True
    allow_unsandboxed: bool = False
    quiet: bool = False
    students: Sequence[str] = ()
    exercises: Sequence[str] = ()
    drop_cases: Sequence[str] = ()
    restore_cases: Sequence[str] = ()
    allow_lower: bool = False
    backup: bool = True
    progress: Kind = "auto"
    explain: bool = True
    scheduler: str | None = None

    @property
    def _shown(self) -> Progress:
        return Progress("none" if self.quiet and self.progress == "auto" else self.progress)

    def execute(self) -> int:
        """Grade and print; the exit status: 1 when a score waits or a fault is ours, else 0."""
        from autograder.report.moves_view import fallen, print_regrade
        from autograder.report.terminal import print_class, print_clusters, print_misconceptions

        finished, regrade, journal = self._grade()
        if not self.quiet:
            print_class(finished.submissions)
            print_misconceptions(finished.submissions, _sentences(regrade.assignment))
            print_clusters(finished.submissions)
            for result in finished.submissions:
                for message in result.messages:
                    print(f"{clean(result.student)}: {clean(message, 500)}")
            print(f"Isolation: {finished.isolation}. Seed: {finished.seed}.")
            print_regrade(regrade)
        journal.finish()
        waiting, ours = fallen(regrade.moves()), regrade.faults()
        if waiting:
            print(f"autograder: {waiting}", file=sys.stderr)
        if ours:
            print(
                f"autograder: {len(ours)} submissions could not be graded through a fault of "
                f"ours ({', '.join(ours[:5])}); run the same command again",
                file=sys.stderr,
            )
        return 1 if ours or waiting else 0

    def grade(self) -> ResultDocument:
        """Grade the class and write the document, the gradebook and the feedback."""
        finished, _, journal = self._grade()
        journal.finish()
        return finished

    def _grade(self) -> tuple[ResultDocument, Regrade, Journal]:
        limits = self._limits()
        if self.workers is not None and self.scheduler not in (None, "local"):
            raise CannotGrade(
                f"--workers {self.workers} is for this machine, and a cluster has those that "
                "joined it; leave it out"
            )
        submissions = self._submissions()
        self._refuse_unwritable()
        journal = Journal.beside(self.json_file, self.course, self.assignment)
        seed = self.seed
        if self.resume and seed is None:
            seed = journal.seed()
        files = digest_of_set(self.course, self.assignment, self.explain)
        assignment = self._standing(journal, files, seed) or self._load(seed)
        regrade = self._regrade(assignment, submissions, journal, limits, files)
        if isinstance(assignment, Standing) and (regrade.todo or self.gradebook or self.feedback):
            regrade.assignment = assignment = self._load(seed)
        total, todo = len(regrade.entries.keys() | regrade.todo.keys()), regrade.todo
        with (
            self._stream(regrade, limits) as (stream, isolation),
            journal,
            self._shown.stage("grading", total, total - len(todo)) as advance,
        ):
            for result in stream:
                journal.add(regrade.settle(result))
                advance(result)
        finished = document(regrade.assignment, regrade.results(), isolation())
        if self.json_file is not None:
            write_whole(self.json_file, encode(finished))
        self._write_gradebook(finished)
        if self.feedback is not None:
            assert isinstance(assignment, Assignment)
            self._write_feedback(self.feedback, assignment, finished, submissions)
        return finished, regrade, journal

    def _standing(self, journal: Journal, files: str, seed: str | None) -> Standing | None:
        """What the last run graded by, where it is what this one would grade by."""
        asked = self.students or self.exercises or self.drop_cases or self.restore_cases
        found = None if asked or not self.resume else journal.standing()
        if found is None or (found.files, found.name, found.seed) != (files, self.assignment, seed):
            return None
        return found

    def _load(self, seed: str | None) -> Assignment:
        """The assignment without the cases that are to be left out."""
        if not (self.drop_cases or self.restore_cases):
            return Assignment.load(self.course, self.assignment, seed, explain=self.explain)
        pack = load_pack(self.course, self.assignment)
        dropped = changed_drops(
            pack, read_drops(self.course, pack), self.drop_cases, self.restore_cases
        )
        assignment = Assignment.load(
            self.course, self.assignment, seed, dropped, explain=self.explain
        )
        assert assignment.specs is not None  # only what can be drawn is written down later
        return assignment

    def _regrade(
        self,
        assignment: Assignment | Standing,
        submissions: Mapping[str, Path],
        journal: Journal,
        limits: Limits,
        files: str,
    ) -> Regrade:
        """What is to be done, with the journal opened for it."""
        wish = Wish(self.students, self.exercises, self.resume, self.allow_lower)
        wrong = only(wish, assignment, submissions)
        former, before = journal.entries(assignment.name), journal.seed()
        is_partial = bool(former and (self.students or self.exercises))
        if wrong is None and is_partial and before != assignment.seed:
            wrong = (
                f"the class was graded with the seed {before}, and --seed {self.seed} is for "
                "everybody; leave out --seed, or --student and --exercise"
            )
        if wrong is not None:
            raise CannotGrade(wrong)
        if self.drop_cases or self.restore_cases:
            write_drops(self.course, self.assignment, assignment.dropped)
        regrade = Regrade(assignment, submissions, former, wish, str(limits), told=journal.finished)
        if self.drop_cases or self.restore_cases:
            files = digest_of_set(self.course, self.assignment, self.explain)
        standing = (
            Standing.of(assignment, files) if isinstance(assignment, Assignment) else assignment
        )
        journal.open(assignment, regrade.entries, standing)
        return regrade

    def _submissions(self) -> Mapping[str, Path]:
        folder = self.submitted or self.course / "submitted"
        if not folder.is_dir():
            raise CannotGrade(f"there is no folder {folder}; name it with --submitted")
        found = find_submissions(folder, self.assignment)
        if not found:
            raise CannotGrade(
                f"no submissions to {self.assignment} in {folder}: they are expected at "
                f"<student>/{self.assignment}/{self.assignment}.ipynb or .py"
            )
        return found

    def _refuse_unwritable(self) -> None:
        """Better before the class is graded than after."""
        if self.json_file is not None and not self.json_file.resolve().parent.is_dir():
            raise CannotGrade(
                f"there is no folder {self.json_file.resolve().parent}; make it first"
            )
        if self.gradebook is not None:
            from autograder import nbgrader_plugin

            nbgrader_plugin.see_that_gradebook_answers(self.gradebook)

    def _workers(self) -> int:
        return self.workers or os.cpu_count() or 1

    def _limits(self) -> Limits:
        if self.processes:
            raise CannotGrade(f"--processes {self.processes}: {NO_PROCESSES}")
        given = {
            "wall": self.timeout,
            "total": self.total,
            "cpu": self.cpu,
            "memory": self.memory,
            "output": self.output,
            "files": self.files,
        }
        changed: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        return replace(DEFAULT_LIMITS, **changed)

    @contextmanager
    def _stream(
        self, regrade: Regrade, limits: Limits
    ) -> Iterator[tuple[Iterator[SubmissionResult], Callable[[], Isolation]]]:
        """Results as they complete, and how strong the walls were, to be asked at the end."""
        assignment, todo, earlier = regrade.assignment, regrade.todo, regrade.earlier
        if isinstance(assignment, Standing):  # nothing to do, and the set is not even loaded
            known = [entry.result.isolation for entry in regrade.entries.values()]
            yield iter(()), lambda: known[0]
            return
        if self.scheduler is None or not regrade.observes:
            with self._observer(regrade, limits) as (open_session, isolation):
                workers = self._workers()
                yield (
                    grade_class(assignment, todo, open_session, isolation, workers, earlier),
                    lambda: isolation,
                )
            return
        from autograder.cluster import cluster_stream

        with cluster_stream(
            self.scheduler,
            self.course,
            assignment,
            limits,
            self.allow_unsandboxed,
            self._workers(),
            todo,
            earlier,
        ) as found:
            yield found

    @contextmanager
    def _observer(
        self, regrade: Regrade, limits: Limits
    ) -> Iterator[tuple[Callable[..., Session], Isolation]]:
        if not regrade.observes:  # no sandbox is started, and no case drawn
            known = [entry.result.isolation for entry in regrade.entries.values()]
            yield _nothing_to_observe, known[0]
            return
        assignment = regrade.assignment
        assert isinstance(assignment, Assignment)
        with ThreadPoolExecutor(1) as beside:
            # once, before there are threads that grade, and while the zygotes import
            drawn = beside.submit(lambda: assignment.specs)
            with observer(
                assignment, self.course, limits, self._workers(), self.allow_unsandboxed
            ) as found:
                teach(found[0], drawn.result())
                gc.collect()
                gc.freeze()  # what lives as long as the run is not gone through again and again
                try:
                    yield found
                finally:
                    gc.unfreeze()

    def _write_gradebook(self, finished: ResultDocument) -> None:
        if self.gradebook is None:
            return
        from autograder import nbgrader_plugin

        submitted = (self.submitted or self.course / "submitted").resolve()
        total = len(finished.submissions)
        with self._shown.stage("gradebook", total) as advance:
            nbgrader_plugin.record(
                self.course,
                self.assignment,
                finished.submissions,
                self.gradebook,
                submitted,
                self.backup,
                advance,
                finished.seed,
            )
        if self.feedback is not None:
            with self._shown.stage("nbgrader's pages", total) as advance:
                nbgrader_plugin.write_feedback(
                    self.course, self.assignment, self.feedback, self.gradebook, advance
                )

    def _write_feedback(
        self,
        folder: Path,
        assignment: Assignment,
        finished: ResultDocument,
        submissions: Mapping[str, Path],
    ) -> None:
        """Our pages; nbgrader's, if there are any, stand beside them and are linked from them."""
        from autograder.report.feedback import FeedbackWriter, write_pages

        notebook = None
        if self.gradebook is not None:
            notebook = f"{self.assignment}-notebook.html"
            for page in folder.glob(f"*/{self.assignment}/{self.assignment}.html"):
                os.replace(page, page.with_name(notebook))
        about = (
            f"Graded by attention-autograder {finished.version.package}, seed {finished.seed}, "
            f"isolation {finished.isolation}."
        )
        writer = FeedbackWriter(assignment, about, notebook)
        with self._shown.stage("feedback", len(finished.submissions)) as advance:
            for written in write_pages(writer, finished.submissions, submissions, folder):
                advance(written.student)


def _nothing_to_observe(**limits: int) -> Session:
    raise AssertionError("a session was asked for where nothing was to be observed")


def _sentences(assignment: Assignment | Standing) -> dict[tuple[str, str], str]:
    """(exercise, misconception) → the sentence that names it."""
    standing = Standing.of(assignment, "") if isinstance(assignment, Assignment) else assignment
    return {
        (exercise, name): sentence
        for exercise, sentences in standing.sentences.items()
        for name, sentence in sentences.items()
    }


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(data)
    os.replace(fresh, path)
