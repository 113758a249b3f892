"""A result beside the right one, entry by entry: where they part, for people to look at.

Only values of public cases are ever pictured. Numbers, positions and axes are in the text of
the picture too, so that nothing is told by colour alone.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.form import Step
from autograder.numerics import wrong_entries
from autograder.observe.session import Stopped
from autograder.program import Call, Observed
from autograder.results_view import Part, expected_count, part_of, parts_of
from autograder.specification import Case, ExerciseSpec
from autograder.wording import AXIS_WORDS, case_words

LARGEST = 12  # rows and columns that are drawn; of more, the part around the worst entry
NUMBERED = 8  # columns up to which every cell shows its number
_PLURAL = {"key": "keys", "query": "queries", "feature": "features", "token": "tokens"}

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Picture:
    """Two matrices of one shape (rows, columns) and which entries are wrong.

    first: index of the drawn part's first row and column in the whole. where: the case, and
    which part of a larger array this is. rows, columns: what they count; empty for none.
    """

    where: str
    got: _Array
    expected: _Array
    wrong: _Array
    rows: str
    columns: str
    first: tuple[int, int] = (0, 0)


Outcomes = Mapping[str, Stopped | Sequence[Observed]]


def picture_of(spec: ExerciseSpec, outcomes: Outcomes) -> Picture | None:
    """The first public case in which values can be set side by side and differ, or None."""
    for case in spec.cases:
        observed = outcomes.get(case.name)
        if case.hidden or observed is None or isinstance(observed, Stopped):
            continue
        found = _of_case(spec, case, observed)
        if found is not None:
            return found
    return None


def _of_case(spec: ExerciseSpec, case: Case, observed: Sequence[Observed]) -> Picture | None:
    if any(step.raised is not None for step in observed) or len(observed) < len(case.expected):
        return None
    for index, done in enumerate(case.program.steps):
        if index >= len(case.expected) or not isinstance(done, Call):
            continue
        step = Step(spec, case, index)
        for number, got, wanted in _parts(observed[index].value, case.expected[index].value):
            found = _side_by_side(step, number, got, wanted)
            if found is not None:
                return found
    return None


def _parts(got: Any, wanted: Any) -> Iterator[tuple[int, Any, Any]]:
    count = expected_count(wanted)
    if count == 1:
        yield 0, got, wanted
        return
    parts = parts_of(got, count)
    if parts is not None:
        yield from zip(range(count), parts, wanted, strict=True)


def _side_by_side(step: Step, number: int, got: Any, wanted: Any) -> Picture | None:
    left, right = part_of(got), part_of(wanted)
    if not isinstance(left, Part) or not isinstance(right, Part):
        return None
    if left.data is None or right.data is None or left.shape != right.shape:
        return None
    if not 1 <= len(right.shape) <= 5 or right.data.size == 0:
        return None
    if "c" in (left.data.dtype.kind, right.data.dtype.kind):
        return None
    wrong = wrong_entries(left.data, right.data, step.tolerance(left.dtype, right.data))
    if not wrong.any():
        return None
    axes = step.returns(number).axes
    names = axes if axes is not None and len(axes) == len(right.shape) else None
    where = case_words(step.spec, step.case)
    if expected_count(step.case.expected[step.index].value) > 1:
        where += f", return value {number + 1}"
    return _drawn_part(left.data, right.data, wrong, names, where)


def _drawn_part(
    got: _Array, wanted: _Array, wrong: _Array, names: Sequence[str] | None, where: str
) -> Picture:
    """The last two axes, at the first slice with a wrong entry, at most LARGEST each."""
    if wanted.ndim == 1:
        got, wanted, wrong = got[None], wanted[None], wrong[None]
        names = None if names is None else ("", *names)
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    outer = first[:-2]
    if outer:
        called = names[:-2] if names is not None else tuple("axis " + str(i) for i in range(9))
        listed = (f"{axis} = {i}" for axis, i in zip(called, outer, strict=False))
        where += f", at {', '.join(listed)}"
    begin = tuple(
        max(0, min(at - LARGEST // 2, size - LARGEST))
        for at, size in zip(first[-2:], wanted.shape[-2:], strict=True)
    )
    window: Any = (*outer, *(slice(start, start + LARGEST) for start in begin))
    if max(wanted.shape[-2:]) > LARGEST:
        where += f", the part from [{begin[0]}, {begin[1]}] on"
    rows, columns = (axis_words(name) for name in (names or ("", ""))[-2:])
    return Picture(
        where,
        got[window].astype(np.float64),
        wanted[window].astype(np.float64),
        wrong[window],
        rows,
        columns,
        (begin[0], begin[1]),
    )


def axis_words(name: str) -> str:
    """“keys (n_k)” for an axis that the course has a word for, else its name."""
    word = AXIS_WORDS.get(name)
    return f"{_PLURAL[word]} ({name})" if word is not None else name


# --- as text -----------------------------------------------------------------------------


def number(value: float) -> str:
    """A number as short as a cell needs: three digits that count."""
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "∞" if value > 0 else "−∞"
    size = abs(value)
    if size and not 1e-3 <= size < 1e4:
        text = f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
    elif size < 1e-2 and size:
        text = f"{value:.3f}"
    elif value == int(value):
        text = f"{value:.0f}"
    else:
        text = f"{value:.2f}" if size < 100 else f"{value:.0f}"
    return text.replace("-", "−")


def signed(value: float) -> str:
    """A difference, with its sign."""
    text = number(value)
    return text if text.startswith("−") or text == "NaN" else f"+{text}"


def in_words(picture: Picture, panel: str) -> str:
    """All of one panel as a sentence, for those who cannot see it."""
    values = _panel(picture, panel)
    height, width = values.shape
    row = picture.rows.partition(" (")[0] or "rows"
    column = picture.columns.partition(" (")[0] or "columns"
    title = {"got": "What you returned", "expected": "Expected", "difference": "Difference"}[panel]
    of = f"{height} {row} down, {width} {column} across" if height > 1 else f"{width} {column}"
    write = signed if panel == "difference" else number
    lines = []
    for y in range(height):
        cells = ", ".join(
            "right" if panel == "difference" and not picture.wrong[y, x] else write(values[y, x])
            for x in range(width)
        )
        lines.append(f"{y + picture.first[0]}: {cells}" if height > 1 else cells)
    return f"{title}, {of}. {'; '.join(lines)}."


def _panel(picture: Picture, panel: str) -> _Array:
    if panel == "difference":
        with np.errstate(invalid="ignore"):
            difference: _Array = picture.got - picture.expected
        return difference
    return picture.got if panel == "got" else picture.expected


# --- as SVG ------------------------------------------------------------------------------

PANELS = (("got", "you returned"), ("expected", "expected"), ("difference", "difference"))
_TITLE, _LEFT, _BELOW = 16, 18, 18  # room around the cells, in pixels
# Blue for what is positive and grey for what is negative; orange is what is wrong. The pairs
# are told apart with any kind of colour blindness, and each cell shows its number besides.
_BLUE, _GREY, _ORANGE = (0, 90, 181), (90, 90, 90), (213, 94, 0)


def svg(picture: Picture, panel: str, title: str) -> str:
    """One panel as SVG markup without styles or scripts; its colours suit light and dark pages."""
    values = _panel(picture, panel)
    height, width = values.shape
    numbered = width <= NUMBERED
    cell_w, cell_h = (42, 24) if numbered else (19, 19)
    left = _LEFT if height > 1 else 2
    right, bottom = left + width * cell_w, _TITLE + height * cell_h
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{right + 2}" '
        f'height="{bottom + _BELOW}" viewBox="0 0 {right + 2} {bottom + _BELOW}" '
        f'font-family="system-ui, sans-serif" font-size="11" '
        f'aria-label="{html.escape(in_words(picture, panel))}">',
        f'<text x="{left}" y="11" fill="currentColor" font-weight="600">'
        f"{html.escape(title)}</text>",
    ]
    scale = _scale(picture, panel)
    for y in range(height):
        for x in range(width):
            parts.append(_cell(picture, panel, values[y, x], (y, x), scale, numbered, (
                left + x * cell_w, _TITLE + y * cell_h, cell_w - 1, cell_h - 1)))  # fmt: skip
    if picture.columns:
        across = html.escape(picture.columns)
        middle = (left + right) / 2
        parts.append(
            f'<text x="{middle:g}" y="{bottom + 13}" fill="currentColor" opacity="0.8" '
            f'text-anchor="middle">{across} →</text>'
        )
    if picture.rows and height > 1:
        fits = len(picture.rows) * 6 < bottom - _TITLE
        down = html.escape(picture.rows if fits else picture.rows.partition(" (")[0])
        middle = (_TITLE + bottom) / 2
        parts.append(
            f'<text transform="translate(12 {middle:g}) rotate(-90)" fill="currentColor" '
            f'opacity="0.8" text-anchor="middle">← {down}</text>'
        )
    return "".join([*parts, "</svg>"])


def _scale(picture: Picture, panel: str) -> float:
    """What the deepest colour stands for: one scale for what was returned and expected."""
    arrays = [_panel(picture, panel)]
    if panel != "difference":
        arrays = [picture.expected]
    finite = [np.abs(array[np.isfinite(array)]).max(initial=0.0) for array in arrays]
    return float(max(finite)) or 1.0


def _cell(
    picture: Picture,
    panel: str,
    value: float,
    at: tuple[int, int],
    scale: float,
    numbered: bool,
    box: tuple[int, int, int, int],
) -> str:
    x, y, width, height = box
    is_wrong = bool(picture.wrong[at])
    share = min(abs(value) / scale, 1.0) if np.isfinite(value) else 1.0
    if panel == "difference":
        colour, label = (_ORANGE, signed(value)) if is_wrong else (_GREY, "")
        share = 0.35 + 0.65 * share if is_wrong else 0.06
    else:
        colour, label = (_GREY if value < 0 else _BLUE), number(value)
    red, green, blue = (round(255 + share * (channel - 255)) for channel in colour)
    light = 0.299 * red + 0.587 * green + 0.114 * blue > 140
    mark = ' stroke="#d55e00" stroke-width="2"' if is_wrong and panel == "got" else ""
    # a frame lies on the edge of its box: smaller by its width, it stays within the cell
    inset = 1 if mark else 0
    name = f"[{at[0] + picture.first[0]}, {at[1] + picture.first[1]}]: {number(value)}"
    drawn = (
        f'<rect x="{x + inset}" y="{y + inset}" width="{width - 2 * inset}" '
        f'height="{height - 2 * inset}" fill="#{red:02x}{green:02x}{blue:02x}"{mark}>'
        f"<title>{html.escape(name)}</title></rect>"
    )
    if not numbered:
        return drawn
    ink = "#1a1a1a" if light else "#ffffff"
    return drawn + (
        f'<text x="{x + width / 2:g}" y="{y + height / 2 + 4:g}" fill="{ink}" '
        f'text-anchor="middle" pointer-events="none">{html.escape(label)}</text>'
    )
