"""What a check of an exercise says, as a card in a notebook and as text anywhere else.

The text carries everything but the picture, and the picture has its numbers in words. A
student's text is in here: everything is escaped on its way into HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.picture import PANELS, Picture, svg
from autograder.result import ExerciseResult
from autograder.wording import sentence

_LABELLED = re.compile(
    r"\s*(Likely causes?|Likely place|Smallest case|Next|Then|Observation): (.*)", re.DOTALL
)


@dataclass(frozen=True)
class Progress:
    """How far the set is: each exercise with “passed”, “failed” or “open”, and the points."""

    states: Mapping[str, str]
    points: float
    max_points: float

    @property
    def words(self) -> str:
        """The same as a sentence."""
        passed = sum(state == "passed" for state in self.states.values())
        return (
            f"The set: {passed} of {len(self.states)} exercises pass, "
            f"{self.points:g} of {self.max_points:g} points."
        )


@dataclass(frozen=True)
class Marks:
    """The checks of an exercise: which hold, which fails, which were not reached."""

    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What holds, so that a student sees how far they are; empty for nothing."""
        return f"What holds: {', '.join(self.passed)}." if self.passed and self.failed else ""


class Card:
    """A title and lines; `good` says whether all is well.

    points: “4 of 4 points”. marks, picture, progress: see there; any may be left out.
    """

    def __init__(
        self,
        title: str,
        lines: Sequence[str],
        good: bool,
        *,
        points: str = "",
        marks: Marks | None = None,
        picture: Picture | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.title, self.lines, self.good = title, tuple(lines), good
        self.points, self.marks = points, marks or Marks()
        self.picture, self.progress = picture, progress

    def __repr__(self) -> str:
        lines = [self.title, *self.lines]
        lines += [f"  {self.marks.words}"] if self.marks.words else []
        if self.points:
            lines.append(f"  {self.points}.")
        if self.progress is not None:
            lines.append(f"  {self.progress.words}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        state = "good" if self.good else "open" if self.title.startswith("○") else "wrong"
        points = f"<span class='ag-points'>{html.escape(self.points)}</span>" if self.points else ""
        parts = [
            f"<style>{STYLE}</style><div class='autograder-card {state}' role='status'>",
            f"<div class='ag-head'><strong>{html.escape(self.title)}</strong>{points}</div>",
            *(_line(line) for line in self.lines),
        ]
        if self.picture is not None:
            parts.append(_pictures(self.picture))
        if self.marks.failed:
            parts.append(_marks(self.marks))
        if self.progress is not None:
            parts.append(_progress(self.progress))
        return "".join([*parts, "</div>"])


def marks_of(result: ExerciseResult) -> Marks:
    """The checks of a result."""
    return Marks(
        tuple(check.name for check in result.checks if check.outcome == "passed"),
        tuple(check.name for check in result.checks if check.outcome == "failed"),
    )


def card_for(
    result: ExerciseResult,
    picture: Picture | None = None,
    progress: Progress | None = None,
) -> Card:
    """The card of one exercise. Its score is that of the public cases."""
    points = f"{result.score or 0.0:g} of {result.max_score:g} points"
    if result.outcome == "passed":
        title = f"✓ {result.name}: all public cases pass"
        lines = ["Grading adds hidden cases of other sizes and kinds."]
        return Card(title, lines, True, points=points, progress=progress)
    if result.outcome == "missing":
        title = f"○ {result.name}: not written yet"
        lines = [line.strip() for line in result.feedback.split("\n")[1:]]
        return Card(title, lines, False, points=points, progress=progress)
    first, *rest = result.feedback.split("\n")
    marks = marks_of(result)
    return Card(
        f"✗ {first}", rest, False, points=points, marks=marks, picture=picture, progress=progress
    )


# --- as HTML -----------------------------------------------------------------------------


def labelled(line: str) -> tuple[str, str]:
    """A line of a feedback as its label (“Next”), if it has one, and the sentence after it."""
    found = _LABELLED.fullmatch(line)
    return ("", line.strip()) if found is None else (found[1], sentence(found[2]))


def _line(line: str) -> str:
    label, text = labelled(line)
    if not label:
        return f"<p>{html.escape(text)}</p>"
    kind = "next" if label in ("Next", "Then") else "cause"
    return f"<p class='ag-{kind}'><b>{label}</b> {html.escape(text)}</p>"


def _pictures(picture: Picture) -> str:
    panels = "".join(svg(picture, panel, title) for panel, title in PANELS)
    legend = "Framed in orange: entries that are off. Difference: returned minus expected."
    where = html.escape(sentence(picture.where))
    return f"<div class='ag-panels'>{panels}</div><p class='ag-small'>{where} {legend}</p>"


def _marks(marks: Marks) -> str:
    good = [f"<li>✓ {html.escape(name)}</li>" for name in marks.passed]
    bad = [f"<li class='bad'>✗ {html.escape(name)}</li>" for name in marks.failed]
    return f"<ul class='ag-marks' aria-label='Checks'>{''.join([*bad, *good])}</ul>"


_STATES = {"passed": "✓", "failed": "✗", "open": "○"}


def _progress(progress: Progress) -> str:
    items = "".join(
        f"<li class='{state}' title='{html.escape(name)}'>{_STATES[state]}"
        f"<span class='ag-hidden'> {html.escape(name)} {state}</span></li>"
        for name, state in progress.states.items()
    )
    words = html.escape(progress.words)
    listed = f"<ol aria-label='Exercises'>{items}</ol>"
    return f"<div class='ag-progress'>{listed}<span>{words}</span></div>"


# JupyterLab's colours where it gives them, VS Code's, else those of a light page. JupyterLab has
# rules of its own for lists in outputs, and classes with short names: ours come before them.
STYLE = """
.autograder-card{--ink:var(--jp-content-font-color1,var(--vscode-editor-foreground,#1f2328));
--line:var(--jp-border-color2,#d0d7de);--good:#005ab5;--wrong:#a84a00;--open:#5f6670;
color:var(--ink);font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);max-width:60em;
margin:.3em 0 .5em;padding:.1em 0 .1em 1em;border-left:4px solid var(--open)}
[data-jp-theme-light=false] .autograder-card,.vscode-dark .autograder-card
{--good:#79b8ff;--wrong:#ffab70;--open:#b4bac4}
.autograder-card.good{border-color:var(--good)}.autograder-card.wrong{border-color:var(--wrong)}
.autograder-card .ag-head{display:flex;gap:1.5em;justify-content:space-between;align-items:baseline}
.autograder-card .ag-points{white-space:nowrap;font-variant-numeric:tabular-nums}
.autograder-card.good .ag-head{color:var(--good)}.autograder-card.wrong .ag-head{color:var(--wrong)}
.autograder-card.open .ag-head{color:var(--open)}
.autograder-card p{margin:.35em 0;white-space:pre-wrap;overflow-wrap:anywhere}
.autograder-card .ag-cause b,.autograder-card .ag-next b{color:var(--wrong);margin-right:.4em}
.autograder-card .ag-next b{color:var(--good)}
.autograder-card .ag-panels{display:flex;flex-wrap:wrap;gap:.8em 1.6em;margin:.7em 0 .2em}
.autograder-card svg{max-width:100%;height:auto}
.autograder-card .ag-small{font-size:12px;margin:.1em 0 .6em}
div.autograder-card.autograder-card ul,
div.autograder-card.autograder-card ol{
list-style:none;display:flex;flex-wrap:wrap;margin:.5em 0;
padding:0;gap:.2em 1em;font-size:12.5px}
.autograder-card li{margin:0}.autograder-card li.bad,.autograder-card li.failed{color:var(--wrong)}
.autograder-card .ag-progress{display:flex;flex-wrap:wrap;gap:0 1em;align-items:center;
border-top:1px solid var(--line);margin-top:.6em;padding:.25em 0 0;font-size:12.5px}
div.autograder-card.autograder-card ol{gap:.25em;margin:.2em 0}
.autograder-card ol li{width:1.3em;text-align:center}
.autograder-card ol li.passed{color:var(--good);font-weight:700}
.autograder-card .ag-hidden{position:absolute;width:1px;height:1px;overflow:hidden;
clip-path:inset(50%);white-space:nowrap}
""".replace("\n", "")


class Prompt:
    """A question of the quiz in Markdown, which notebooks set, and as plain text elsewhere."""

    def __init__(self, text: str, note: str) -> None:
        self.text, self.note = text, note

    def __repr__(self) -> str:
        return f"{self.text}\n\n{self.note}"

    def _repr_markdown_(self) -> str:
        # the note holds what the student wrote: nothing of it is markup
        note = "".join(
            sign if sign.isalnum() or sign == " " else f"&#{ord(sign)};" for sign in self.note
        )
        return f"{self.text}\n\n<small>{note}</small>"
