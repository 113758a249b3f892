"""What is compared: graders that are each given the same class, and what is promised of ours.

To compare with one more, write a class with the attributes of `Grader` and add it in
`benchmarks.__main__.graders_for`; a promise about it goes into PROMISES.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from benchmarks.processes import Measured


class Grader(Protocol):
    """One way to grade the class, as one command from its start to its end.

    title: of its column. count: how many of the notebooks it is given. workers: submissions
    that it grades at a time.
    """

    title: str
    count: int
    workers: int

    def grade(self) -> Measured:
        """Run the command."""

    def wrongly_graded(self) -> list[str]:
        """Students whose score is not what their code deserves, or who have none."""


@dataclass(frozen=True)
class Promise:
    """How many times quicker per submission one grader is than another, at least."""

    quicker: str
    slower: str
    times: float

    def kept(self, graders: Mapping[str, Any]) -> float | None:
        """The ratio that was measured; None when one of the two was not."""
        if not {self.quicker, self.slower} <= graders.keys():
            return None
        ratio: float = graders[self.slower]["seconds_each"] / graders[self.quicker]["seconds_each"]
        return ratio


PROMISES = (
    Promise("ours", "stock", 150.0),
    Promise("recorded", "stock", 50.0),
    Promise("ours", "otter", 200.0),
)


def figures(grader: Grader, runs: Sequence[Measured]) -> dict[str, Any]:
    """All that was measured of one grader, as plain data; the median of its runs."""
    seconds = median(run.seconds for run in runs)
    return {
        "title": grader.title,
        "submissions": grader.count,
        "workers": grader.workers,
        "runs": [round(run.seconds, 3) for run in runs],
        "seconds": round(seconds, 3),
        "seconds_each": seconds / grader.count,
        "cpu_each": median(run.cpu for run in runs) / grader.count,
        "peak_mib": round(max(run.peak for run in runs) / 2**20, 1),
        "wrongly_graded": grader.wrongly_graded(),
    }


def ratios(graders: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each promise with what was measured of it."""
    found = []
    for promise in PROMISES:
        ratio = promise.kept(graders)
        if ratio is not None:
            found.append(
                {
                    "quicker": promise.quicker,
                    "slower": promise.slower,
                    "ratio": ratio,
                    "target": promise.times,
                }
            )
    return found
