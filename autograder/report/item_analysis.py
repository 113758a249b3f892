"""How well the questions of a quiz work: for the instructor, from the results of a class.

    analysis = analyse(document.submissions, load_quiz(folder))
    print(as_text(analysis))

Counted are the students who answered at least one question. Left out are submissions that could
not be graded (`infrastructure` above all: a fault of ours says nothing of a question) and those
who left the whole quiz open, whose zeros would make every question look reliable.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from autograder.quiz import Question
from autograder.report.quantiles import f_quantile
from autograder.result import QuestionResult, SubmissionResult

# Below this many students the figures are shown and nothing is called a fault: with 30, the
# interval of a discrimination is still ±0.3 wide.
FEWEST_FOR_FLAGS = 30
# A discrimination below 0.2 is commonly called poor (Ebel, 1965); here its whole interval must be.
POOR = 0.2
LEVEL = 0.95
# Of answers that are not options: so many different ones are listed.
MOST_ANSWERS = 6

_CHOICES = ("single_choice", "multiple_choice")


@dataclass(frozen=True)
class Estimate:
    """A figure and its interval at the level of 95%."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Pick:
    """An option, or an answer as it was read, and by how many it was given. `share` is 0 to 1."""

    answer: str
    count: int
    share: float
    right: bool


@dataclass(frozen=True)
class Item:
    """One question: all shares are of the students counted.

    facility: the mean share of the points, 0 to 1. discrimination: the correlation of the
    question's points with those of all others together; None where either is the same for all.
    """

    id: str
    facility: float
    discrimination: Estimate | None
    constant: bool
    unanswered: float
    unreadable: float
    picks: tuple[Pick, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True)
class ItemAnalysis:
    """All questions, in their order. reliability: Cronbach's α, None where it is not defined."""

    students: int
    left_out: int
    items: tuple[Item, ...]
    reliability: Estimate | None

    @property
    def flagged(self) -> bool:
        """Whether there were enough students to call anything a fault."""
        return self.students >= FEWEST_FOR_FLAGS


def analyse(
    submissions: Iterable[SubmissionResult], questions: Sequence[Question] = ()
) -> ItemAnalysis:
    """Facility, discrimination, what was chosen, and reliability; `questions` name the options."""
    given = list(submissions)
    counted = _counted(given)
    ids = [result.id for result in counted[0]] if counted else []
    # points: students x questions
    points = np.array([[result.score for result in each] for each in counted], dtype=float)
    points = points.reshape(len(counted), len(ids))
    known = {question.id: question for question in questions}
    items = tuple(
        _item([each[place] for each in counted], points, place, known.get(name))
        for place, name in enumerate(ids)
    )
    return ItemAnalysis(len(counted), len(given) - len(counted), items, reliability(points))


def _counted(submissions: Sequence[SubmissionResult]) -> list[list[QuestionResult]]:
    """The questions of each student who is counted, in the order that most have."""
    answered = [
        each.questions
        for each in submissions
        if each.outcome == "graded"
        and any(result.outcome != "unanswered" for result in each.questions)
    ]
    if not answered:
        return []
    # a quiz that was changed while students were graded: those of the other version are left out
    orders = Counter(tuple(result.id for result in each) for each in answered)
    sets = Counter(frozenset(result.id for result in each) for each in answered)
    usual = sets.most_common(1)[0][0]
    order = next(ids for ids, _ in orders.most_common() if frozenset(ids) == usual)
    by_id = [{result.id: result for result in each} for each in answered]
    return [[each[name] for name in order] for each in by_id if set(each) == usual]


def _item(
    results: Sequence[QuestionResult],
    points: NDArray[np.float64],
    place: int,
    question: Question | None,
) -> Item:
    students, own = len(results), points[:, place]
    most = results[0].max_score
    facility = float(np.mean(own) / most) if most else 0.0
    shares = Counter(result.outcome for result in results)
    item = Item(
        id=results[0].id,
        facility=facility,
        discrimination=correlation(own, points.sum(axis=1) - own),
        constant=bool(np.ptp(own) == 0),
        unanswered=shares["unanswered"] / students,
        unreadable=shares["unreadable"] / students,
        picks=_picks(results, question),
        flags=(),
    )
    if students < FEWEST_FOR_FLAGS:
        return item
    return Item(**{**vars(item), "flags": tuple(_flags(item, question))})


def _picks(results: Sequence[QuestionResult], question: Question | None) -> tuple[Pick, ...]:
    given: Counter[str] = Counter()
    right: set[str] = set()
    many = question is not None and question.type == "multiple_choice"
    for result in results:
        if result.outcome in ("unanswered", "unreadable") or not result.answer:
            continue
        given.update(result.answer.split(", ") if many else [result.answer])
        if result.outcome == "correct":
            right.add(result.answer)
    if question is not None and question.type in _CHOICES:
        names = [option.id for option in question.options]
        right = {question.answer} if question.type == "single_choice" else set(question.answer)
    else:
        common = sorted(given, key=lambda answer: (-given[answer], answer))
        names = common[:MOST_ANSWERS]
    return tuple(
        Pick(name, given[name], given[name] / len(results), name in right) for name in names
    )


def _flags(item: Item, question: Question | None) -> Iterable[str]:
    """What an instructor should look at, each in a sentence without its end."""
    if item.constant:
        yield "all students have the same points: it tells no one apart"
    found = item.discrimination
    if found is not None and found.high < 0:
        yield "those who do well elsewhere do worse here: look at the answer and the wording"
    elif found is not None and found.high < POOR:
        yield "it hardly tells who does well elsewhere: look at the wording"
    if item.unreadable >= 0.2:
        yield "many answers could not be read: say in the prompt what to write"
    if question is None or question.type not in _CHOICES:
        return
    wrong = [pick for pick in item.picks if not pick.right]
    least = min((pick.count for pick in item.picks if pick.right), default=0)
    for pick in wrong:
        if question.type == "single_choice" and pick.count > least:
            yield f"more students chose {pick.answer} than the right option"
        if pick.count == 0 and not item.constant:
            yield f"nobody chose {pick.answer}: it distracts no one"


# --- statistics --------------------------------------------------------------------------


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> Estimate | None:
    """Pearson's r with Fisher's interval, tanh(artanh r ± z/√(n − 3)): approximate for points.

    None where one of both is constant, or for fewer than four students.
    """
    students = len(one)
    if students < 4 or np.ptp(one) == 0 or np.ptp(other) < 1e-9 * max(1.0, np.abs(other).max()):
        return None
    a, b = one - one.mean(), other - other.mean()
    r = float(a @ b / math.sqrt((a @ a) * (b @ b)))
    # artanh of ±1 is infinite
    middle = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, r)))
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) / math.sqrt(students - 3)
    low, high = math.tanh(middle - half), math.tanh(middle + half)
    return Estimate(max(-1.0, min(1.0, r)), low, high)


def reliability(points: NDArray[np.float64]) -> Estimate | None:
    """Cronbach's α of points (students x questions), with Feldt's interval (1965).

    α = k/(k − 1)·(1 − Σ var(question)/var(total)). With α₀ the true one, (1 − α₀)/(1 − α) has
    the F distribution of n − 1 and (n − 1)(k − 1) degrees of freedom where all questions measure
    the same thing equally well, with normal errors. None for one question, for one student, or
    when all have the same total.
    """
    students, questions = points.shape
    if students < 2 or questions < 2:
        return None
    total = float(points.sum(axis=1).var(ddof=1))
    if total <= 1e-12:
        return None
    parts = float(points.var(axis=0, ddof=1).sum())
    alpha = questions / (questions - 1) * (1 - parts / total)
    degrees = (students - 1, (students - 1) * (questions - 1))
    low, high = (
        1 - (1 - alpha) * f_quantile(share, *degrees)
        for share in ((1 + LEVEL) / 2, (1 - LEVEL) / 2)
    )
    return Estimate(alpha, low, high)


# --- as text -----------------------------------------------------------------------------


def as_text(analysis: ItemAnalysis) -> str:
    """The analysis for a terminal or a plain file."""
    out = [f"{_students(analysis.students)} answered; {analysis.left_out} left out"]
    if analysis.students and not analysis.flagged:
        out[0] += f"; too few to call anything a fault ({FEWEST_FOR_FLAGS})"
    if not analysis.items:
        return out[0] + "\n"
    alpha = analysis.reliability
    out.append(
        "reliability (Cronbach's alpha): "
        + (_interval(alpha) if alpha else "not defined: one question, or the same total for all")
    )
    wide = max(len("question"), *(len(item.id) for item in analysis.items))
    out += ["", f"{'question':{wide}}  facility  item-rest correlation   open  unreadable"]
    for item in analysis.items:
        found = _interval(item.discrimination) if item.discrimination else "–"
        out.append(
            f"{item.id:{wide}}  {item.facility:8.0%}  {found:22}  {item.unanswered:4.0%}"
            f"  {item.unreadable:10.0%}"
        )
        if item.picks:
            picks = ", ".join(
                f"{pick.answer}{' (right)' if pick.right else ''} {pick.share:.0%}"
                for pick in item.picks
            )
            out.append(f"  chosen: {picks}")
        out += [f"  ! {flag}" for flag in item.flags]
    return "\n".join(out) + "\n"


def _students(count: int) -> str:
    return "1 student" if count == 1 else f"{count} students"


def _interval(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
