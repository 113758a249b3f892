"""The stream of `grading.grade_class` over a Dask cluster, an extra: `--scheduler`.

`parcels` is what travels, `hosting` all that runs on a worker, `connecting` how a cluster is found
or started, and `stream` sends batches out and takes results in. docs/cluster.md tells users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from autograder.grading import Assignment, Earlier
from autograder.observe.session import Limits
from autograder.result import Isolation, SubmissionResult


@contextmanager
def cluster_stream(
    scheduler: str,
    course: Path,
    assignment: Assignment,
    limits: Limits,
    allow_unsandboxed: bool,
    workers: int,
    submissions: Mapping[str, Path],
    earlier: Mapping[str, Earlier],
) -> Iterator[tuple[Iterator[SubmissionResult], Callable[[], Isolation]]]:
    """Results as they complete, and the weakest isolation that any of them had so far.

    scheduler: an address, the path of a scheduler file, or "local" for `workers` processes on
    this machine. Raises CannotGrade where nothing can be graded there, or no longer.
    """
    from autograder.cluster.connecting import connected
    from autograder.cluster.parcels import Course
    from autograder.cluster.stream import Stream

    parcel = Course.pack(course, assignment, limits, allow_unsandboxed)
    with (
        connected(scheduler, workers) as cluster,
        Stream(cluster, parcel, assignment, submissions, earlier) as stream,
    ):
        yield stream.results(), lambda: stream.isolation
