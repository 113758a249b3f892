"""The sentences that people read, in one order: checked → expected and got → likely cause → next.

Everything said about a submission is said here, so that the wording can be pinned by tests
and improved in one place. Hidden cases show their sizes and kind, never their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.numerics import Difference
from autograder.observe.protocol import Array
from autograder.program import Call, Generator, Raised
from autograder.specification import Case, ExerciseSpec, ValueSpec

# What an index of an axis counts, where course.md has a name for the axis.
AXIS_WORDS = {"n_k": "key", "n_q": "query", "d_k": "feature", "d_v": "feature", "n": "token"}
MAX_MESSAGE = 300


def clean(text: str, limit: int = MAX_MESSAGE) -> str:
    """A student's text made safe to print: no control characters, bounded length.

    (Escaping for HTML is the business of whoever writes HTML.)
    """
    visible = "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    return visible if len(visible) <= limit else visible[: limit - 1] + "…"


def sizes(spec: ExerciseSpec, case: Case, index: int) -> dict[str, int]:
    """Axis names and plain integers of one call: {"n_k": 5, "n_q": 3}."""
    step = case.program.steps[index]
    found: dict[str, int] = {}
    if not isinstance(step, Call):
        return found
    for name, value in step.named.items():
        parameter = spec.parameters.get(name, ValueSpec())
        shape_of = value.shape if isinstance(value, (Array, np.ndarray)) else None
        if parameter.axes is not None and shape_of is not None:
            if len(parameter.axes) == len(shape_of):
                for axis, size in zip(parameter.axes, shape_of, strict=True):
                    if axis.isidentifier():
                        found.setdefault(axis, int(size))
        elif isinstance(value, int) and not isinstance(value, bool):
            found.setdefault(name, value)
    return found


def case_words(spec: ExerciseSpec, case: Case) -> str:
    """How a case is referred to: by title and sizes, or only by sizes when it is hidden."""
    calls = case.program.calls
    inside = ", ".join(f"{name} = {size}" for name, size in _case_sizes(spec, case).items())
    many = f"{len(calls)} calls" if len(calls) > 1 else ""
    details = ", ".join(part for part in (inside, many) if part)
    if case.hidden:
        kind = _kind_of_inputs(case)
        details = ", ".join(part for part in (kind, details) if part)
        return f"a hidden case ({details})" if details else "a hidden case"
    return f"“{case.title}” ({details})" if details else f"“{case.title}”"


def _case_sizes(spec: ExerciseSpec, case: Case) -> dict[str, int]:
    calls = case.program.calls
    return sizes(spec, case, calls[0][0]) if calls else {}


def _kind_of_inputs(case: Case) -> str:
    for _, call in case.program.calls:
        for value in call.named.values():
            if isinstance(value, Array):
                return value.dtype
            if isinstance(value, np.ndarray):
                return str(value.dtype.name)
            if isinstance(value, Generator):
                return "random draws"
    return ""


def shape(
    got: tuple[int, ...], wanted: tuple[int, ...], returns: ValueSpec, sizes: Mapping[str, int]
) -> str:
    """“expected shape (n_k, n_q) = (5, 3), got (3, 5): the axes are swapped”."""
    named = ""
    if returns.axes is not None and len(returns.axes) == len(wanted) and wanted:
        named = f"({', '.join(returns.axes)}) = "
    message = f"expected shape {named}{wanted}, got {got}"
    if len(got) == 2 and got == wanted[::-1] and got != wanted:
        return message + ": the axes are swapped"
    if len(got) != len(wanted):
        return message + f": {len(got)} axes instead of {len(wanted)}"
    strange = [size for size, right in zip(got, wanted, strict=True) if size != right]
    known = {size: name for name, size in sizes.items()}
    if len(strange) == 1 and strange[0] in known:
        message += f": {strange[0]} is {known[strange[0]]} here"
    return message


def not_finite(
    got: np.ndarray[Any, Any], stray: np.ndarray[Any, Any], returns: ValueSpec, hidden: bool
) -> str:
    """“4 of 15 entries are NaN, the first at [0, 2] (key 0, query 2)”."""
    first = tuple(int(i) for i in np.unravel_index(int(stray.argmax()), stray.shape))
    what = "NaN" if np.isnan(got[stray]).all() else "NaN or infinite"
    if got.shape == ():
        return f"the result is {what}, expected a finite number"
    where = f", the first at {place(first, returns)}" if not hidden else ""
    return f"{int(stray.sum())} of {stray.size} entries are {what}, expected finite numbers{where}"


def difference(found: Difference, returns: ValueSpec, hidden: bool) -> str:
    """“at [2, 1] (key 2, query 1) expected 0.0321, got 0.5; 12 of 15 entries are off”."""
    if hidden:
        if found.size == 1:
            return "the value is wrong"
        return f"{found.count} of {found.size} entries are wrong"
    got, expected = number(found.got, found.expected), number(found.expected, found.got)
    if found.worst == ():
        return f"expected {expected}, got {got}"
    message = f"at {place(found.worst, returns)} expected {expected}, got {got}"
    if found.count > 1:
        message += f"; {found.count} of {found.size} entries are off, by up to {found.error:.3g}"
    return message


def number(value: Any, beside: Any) -> str:
    """A number with as many digits as tell it from the one beside it."""
    if isinstance(value, (bool, int)):
        return str(value)
    for digits in (4, 6, 9, 12, 17):
        if f"{value:.{digits}g}" != f"{beside:.{digits}g}":
            return f"{value:.{digits}g}"
    return f"{value!r}"


def place(index: tuple[int, ...], returns: ValueSpec) -> str:
    """“[2, 1] (key 2, query 1)”, with words where the axes have them."""
    bare = "[" + ", ".join(str(i) for i in index) + "]"
    axes = returns.axes
    if axes is None or len(axes) != len(index) or not all(a in AXIS_WORDS for a in axes):
        return bare
    if len(set(axes)) < len(axes):
        return bare
    return f"{bare} ({', '.join(f'{AXIS_WORDS[a]} {i}' for a, i in zip(axes, index, strict=True))})"


def exception(raised: Raised) -> str:
    """“your code raised ValueError: …, in line 4 of cell 12”."""
    where = ""
    if raised.line is not None:
        where = f" (line {raised.line} of {clean(raised.cell or 'your code', 80)})"
    message = clean(raised.message).strip()
    colon = f": {message}" if message else ""
    return f"your code raised {clean(raised.type_name, 80)}{colon}{where}"


def out_of_memory(raised: Raised) -> str:
    """For a MemoryError inside the student's code."""
    where = f" in line {raised.line}" if raised.line is not None else ""
    return f"your code asked for more memory than it may use{where}; are the arrays the right size?"


def passed(spec: ExerciseSpec, cases: int) -> str:
    """For an exercise with nothing wrong."""
    plural = "case" if cases == 1 else "cases"
    return f"{spec.name}: right in {cases} {plural}."


def feedback(
    spec: ExerciseSpec,
    case: Case,
    check: str,
    message: str,
    found: Sequence[str],
    failing: int,
) -> str:
    """The whole feedback of a failed exercise, several lines."""
    if check == "runs" and message == "not written yet":
        return f"{spec.name}: not written yet."
    others = f" ({failing} cases fail)" if failing > 1 else ""
    lines = [f"{spec.name}: {check}, in {case_words(spec, case)}{others}", f"  {message}."]
    if len(found) == 1:
        known = spec.mistake(found[0])
        lines.append(f"  Likely cause: your results equal those of this mistake: {known.sentence}")
        lines.append(f"  Look at: {known.hint}")
    elif found:
        lines.append("  Likely causes, together:")
        for name in found:
            lines.append(f"  - {spec.mistake(name).sentence} {spec.mistake(name).hint}")
    return "\n".join(lines)
