"""How far long work is: its rate, the time left, and the outcomes so far.

A bar in a terminal; elsewhere a line now and then; one JSON object a line for programs. All of it
goes to standard error.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TextIO

import msgspec

from autograder.result import SubmissionResult

if TYPE_CHECKING:
    from rich.console import Console

Kind = Literal["auto", "bar", "lines", "json", "none"]

# Takes what has just been done: a result, or the name of a student something was written for.
Advance = Callable[[SubmissionResult | str], None]

# Between two lines where there is no terminal: a log of an hour has 360, a short run has none.
LINE_SECONDS = 10.0


@dataclass
class Tally:
    """What one stage has done. done: of `total`; here: of these, in this run."""

    stage: str
    total: int
    done: int
    start: float
    here: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    def add(self, item: SubmissionResult | str) -> None:
        """Count one more, and the outcomes of its exercises."""
        self.done += 1
        self.here += 1
        if not isinstance(item, str):
            if item.outcome == "graded":
                self.outcomes.update(exercise.outcome for exercise in item.exercises)
            else:
                self.outcomes[item.outcome] += 1

    def rate(self, now: float) -> float | None:
        """How many a second; None before the first."""
        return self.here / (now - self.start) if self.here and now > self.start else None

    def left(self, now: float) -> float | None:
        """Seconds until all is done, at this rate."""
        rate = self.rate(now)
        return None if rate is None else max(self.total - self.done, 0) / rate

    def words(self, now: float) -> str:
        """Rate, time left and outcomes, for people."""
        rate, left = self.rate(now), self.left(now)
        parts = [] if rate is None or left is None else [_rate(rate), f"{_span(left)} left"]
        counted = ", ".join(f"{name} {count}" for name, count in self.outcomes.most_common())
        return "; ".join(part for part in (", ".join(parts), counted) if part)

    def plain(self, now: float) -> dict[str, Any]:
        """The same for programs; seconds are whole milliseconds."""
        rate, left = self.rate(now), self.left(now)
        return {
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "seconds": round(now - self.start, 3),
            "rate": None if rate is None else round(rate, 3),
            "left": None if left is None else round(left, 3),
            "outcomes": dict(self.outcomes),
        }


def _rate(rate: float) -> str:
    return f"{rate:.1f} a second" if rate >= 1 else f"{60 * rate:.1f} a minute"


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"


class Progress:
    """Shows one stage after the other. kind: "auto" is a bar in a terminal and lines elsewhere."""

    def __init__(
        self,
        kind: Kind = "auto",
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        if kind == "auto":
            kind = "bar" if self._stream.isatty() else "lines"
        self._kind = kind
        self._clock = clock

    @contextmanager
    def stage(self, name: str, total: int, done: int = 0) -> Iterator[Advance]:
        """Work on `total` things, of which `done` are done; call what it yields for each other."""
        tally = Tally(name, total, done, self._clock())
        shown = {"bar": self._bar, "lines": self._lines, "json": self._json}.get(self._kind)
        if shown is None or total == done:
            yield tally.add
            return
        with shown(tally) as advance:
            yield advance

    @contextmanager
    def _lines(self, tally: Tally) -> Iterator[Advance]:
        last = tally.start

        def advance(item: SubmissionResult | str) -> None:
            nonlocal last
            tally.add(item)
            now = self._clock()
            if now - last >= LINE_SECONDS:
                last = now
                self._print(f"{tally.stage}: {tally.done} of {tally.total}; {tally.words(now)}")

        yield advance

    @contextmanager
    def _json(self, tally: Tally) -> Iterator[Advance]:
        def tell(event: str, **more: Any) -> None:
            line = {"event": event, **tally.plain(self._clock()), **more}
            self._print(msgspec.json.encode(line).decode())

        def advance(item: SubmissionResult | str) -> None:
            tally.add(item)
            if isinstance(item, str):
                tell("done", student=item)
            else:
                about = {name: getattr(item, name) for name in ("outcome", "score", "max_score")}
                tell("done", student=item.student, **about)

        tell("start")
        yield advance
        tell("end")

    @contextmanager
    def _bar(self, tally: Tally) -> Iterator[Advance]:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        said = TextColumn("{task.fields[words]}", markup=False)
        columns = (tally.stage, BarColumn(), MofNCompleteColumn(), said)
        with Bar(*columns, console=self._console(), transient=True) as bar:
            task = bar.add_task(tally.stage, total=tally.total, completed=tally.done, words="")

            def advance(item: SubmissionResult | str) -> None:
                tally.add(item)
                bar.update(task, completed=tally.done, words=tally.words(self._clock()))

            yield advance

    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=self._stream)

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)
