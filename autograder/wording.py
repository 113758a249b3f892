"""The sentences that people read, in one order: checked → expected and got → likely cause → next.

Everything said about a submission is said here, so that the wording can be pinned by tests
and improved in one place. Hidden cases show their sizes and kind, never their values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.exercise import Exercise
from autograder.numerics import Difference
from autograder.observe.protocol import Array
from autograder.program import Call, Generator, Raised
from autograder.result import ExerciseOutcome
from autograder.results_view import clean, one_line, shape_words
from autograder.specification import (
    DTYPE,
    FINITE,
    GRADIENTS,
    SHAPE,
    TYPE,
    UNTOUCHED,
    VALUES,
    Case,
    ExerciseSpec,
    ValueSpec,
)

# How `observe.conversation` ends the message of a MemoryError.
_MEMORY_LIMIT = re.compile(
    r"(a submission|this exercise) may use (\d+ MiB): look for an array that grows in a loop or "
    r"has an axis too many\)?$"
)

NOT_WRITTEN = "not written yet"

# What an index of an axis counts, where course.md has a name for the axis.
AXIS_WORDS = {"n_k": "key", "n_q": "query", "d_k": "feature", "d_v": "feature", "n": "token"}

# How the first line of a feedback says which check failed, or what ended the code.
_WRONG = {
    TYPE: "wrong type",
    SHAPE: "wrong shape",
    DTYPE: "wrong dtype",
    FINITE: "NaN or infinity",
    VALUES: "wrong values",
    GRADIENTS: "wrong gradients",
    UNTOUCHED: "a changed argument",
}
_ENDED: dict[ExerciseOutcome, str] = {
    "error": "an exception",
    "timed_out": "too slow",
    "out_of_memory": "out of memory",
    "crashed": "a crash",
    "infrastructure": "not graded",
    "missing": NOT_WRITTEN,
    "forbidden": "a forbidden call",
}


def headline(check: str, outcome: ExerciseOutcome) -> str:
    """“wrong values”, “too slow”, or for an author's check: “each column sums to 1” fails."""
    return _ENDED.get(outcome) or _WRONG.get(check) or f"“{check}” fails"


def sentence(text: str) -> str:
    """A text that begins like a sentence and ends like one, once."""
    text = text.strip()
    first = text.split(" ", 1)[0].rstrip(":,;")
    if first.isalpha() and first.islower():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


# --- where ---------------------------------------------------------------------------------


def sizes(spec: ExerciseSpec, case: Case, index: int) -> dict[str, int]:
    """Axis names and plain integers of one call: {"n_k": 5, "n_q": 3}."""
    step = case.program.steps[index]
    found: dict[str, int] = {}
    if not isinstance(step, Call):
        return found
    for name, value in step.named.items():
        parameter = spec.parameters.get(name, ValueSpec())
        shape_of = getattr(value, "shape", None)
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
    details = [
        f"{name} = {size}"
        for name, size in (sizes(spec, case, calls[0][0]) if calls else {}).items()
    ]
    if len(calls) > 1:
        details.append(f"{len(calls)} calls")
    if case.hidden:
        details = [kind for kind in [_kind_of_inputs(case)] if kind] + details
    name = "a hidden case" if case.hidden else f"“{case.title}”"
    return f"{name} ({', '.join(details)})" if details else name


def _kind_of_inputs(case: Case) -> str:
    for _, call in case.program.calls:
        for value in call.named.values():
            if isinstance(value, Generator):
                return "random draws"
            dtype = dtype_of(value)
            if dtype is not None:
                return dtype
    return ""


def dtype_of(value: Any) -> str | None:
    """The name of the dtype of an array or tensor argument; None for anything else."""
    if isinstance(value, Array):
        return value.dtype
    if isinstance(value, np.ndarray):
        return str(value.dtype.name)
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "shape"):
        return str(value.dtype).removeprefix("torch.")
    return None


def place(index: tuple[int, ...], returns: ValueSpec) -> str:
    """“[2, 1] (key 2, query 1)”, with words where the axes have them."""
    bare = "[" + ", ".join(str(i) for i in index) + "]"
    axes = returns.axes
    if axes is None or len(axes) != len(index) or not all(a in AXIS_WORDS for a in axes):
        return bare
    if len(set(axes)) < len(axes):
        return bare
    return f"{bare} ({', '.join(f'{AXIS_WORDS[a]} {i}' for a, i in zip(axes, index, strict=True))})"


# --- expected and got ----------------------------------------------------------------------


def shape(
    got: tuple[int, ...], wanted: tuple[int, ...], returns: ValueSpec, sizes: Mapping[str, int]
) -> str:
    """“expected shape (n_k, n_q) = (5, 3), got (3, 5): the axes are swapped”."""
    if not wanted:
        return f"expected a single number, got shape {shape_words(got)}"
    named = ""
    if returns.axes is not None and len(returns.axes) == len(wanted):
        comma = "," if len(wanted) == 1 else ""
        named = f"({', '.join(returns.axes)}{comma}) = "
    what = shape_words(got) if got else "a single number"
    message = f"expected shape {named}{wanted}, got {what}"
    if len(got) == 2 and got == wanted[::-1]:
        return message + ": the axes are swapped"
    if len(got) != len(wanted):
        axes = "axis" if len(got) == 1 else "axes"
        return message + (f": {len(got)} {axes} instead of {len(wanted)}" if got else "")
    strange = {size for size, right in zip(got, wanted, strict=True) if size != right}
    names = [name for name, size in sizes.items() if size in strange]
    if len(strange) == 1 and len(names) == 1:
        message += f": {names[0]} is {sizes[names[0]]} here"
    return message


def not_finite(
    got: np.ndarray[Any, Any], stray: np.ndarray[Any, Any], returns: ValueSpec, hidden: bool
) -> str:
    """“expected finite numbers, got NaN in 4 of 15 entries, first at [0, 2] (key 0, query 2)”."""
    what = "NaN" if np.isnan(got[stray]).all() else "NaN or infinity"
    if not np.isnan(got[stray]).any():
        what = "infinity"
    if got.shape == ():
        return f"expected a finite number, got {what}"
    first = tuple(int(i) for i in np.unravel_index(int(stray.argmax()), stray.shape))
    where = "" if hidden else f", first at {place(first, returns)}"
    count = int(stray.sum())
    return f"expected finite numbers, got {what} in {_of_entries(count, stray.size)}{where}"


def difference(found: Difference, returns: ValueSpec, hidden: bool) -> str:
    """“at [2, 1] (key 2, query 1), expected 0.0321, got 0.5; 12 of 15 entries are off”."""
    if hidden:
        if found.worst == ():
            return "the number is wrong"
        return f"{_of_entries(found.count, found.size)} {_are(found.count)} wrong"
    got, expected = number(found.got, found.expected), number(found.expected, found.got)
    if found.worst == ():
        return f"expected {expected}, got {got}"
    message = f"at {place(found.worst, returns)}, expected {expected}, got {got}"
    if found.count > 1:
        by = f", by up to {found.error:.3g}" if np.isfinite(found.error) else ""
        message += f"; {_of_entries(found.count, found.size)} are off{by}"
    return message


def _of_entries(count: int, size: int) -> str:
    return f"{count} of {size} {'entry' if size == 1 else 'entries'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def number(value: Any, beside: Any) -> str:
    """A number with as many digits as tell it from the one beside it."""
    if isinstance(value, (bool, int)):
        return str(value)
    for digits in (4, 6, 9, 12, 17):
        if f"{value:.{digits}g}" != f"{beside:.{digits}g}":
            return f"{value:.{digits}g}"
    return f"{value!r}"


def exception(raised: Raised, hidden: bool = False) -> str:
    """“your code raised ValueError: … (line 4 of cell 12)”."""
    name = exception_name(raised, hidden)
    where = ""
    if raised.line is not None:
        where = f" (line {raised.line} of {one_line(raised.cell or 'your code', 80)})"
    message = one_line(raised.message)
    if hidden:  # a submission may put what it was given into its message
        note = "; its message is not shown, since the case is hidden" if message else ""
        return f"your code raised {name}{where}{note}"
    return f"your code raised {name}{f': {message}' if message else ''}{where}"


def exception_name(raised: Raised, hidden: bool = False) -> str:
    """The type of an exception; in a hidden case only if it can be nothing else than a name."""
    if hidden and not (raised.type_name.isidentifier() and len(raised.type_name) <= 40):
        return "an exception"
    return one_line(raised.type_name, 80)


def out_of_memory(raised: Raised) -> str:
    """For a MemoryError inside the student's code."""
    where = f" in line {raised.line}" if raised.line is not None else ""
    # The session puts the limit at the end; what stands before it is the student's.
    limit = _MEMORY_LIMIT.search(raised.message)
    allowed = f"the {limit[2]} that {limit[1]} may use" if limit else "it may use"
    return f"your code asked for more memory than {allowed}{where}; are the arrays the right size?"


def later_call(number: int, count: int, again: bool) -> str:
    """What stands before a message about a call that is not the first."""
    how = "with the same inputs again" if again else "with other inputs"
    return f"in call {number} of {count}, {how}: "


def forbidden_at_run_time(name: str) -> str:
    """For a call that import resolution did not see."""
    return f"it calls `{name}` when it runs, which this exercise forbids"


# --- the whole -----------------------------------------------------------------------------


def passed(spec: ExerciseSpec, cases: int) -> str:
    """For an exercise with nothing wrong."""
    return f"{spec.name}: right in {cases} {'case' if cases == 1 else 'cases'}."


def missing(spec: ExerciseSpec) -> str:
    """For a stub that was left as it was."""
    return f"{spec.name}: {NOT_WRITTEN}."


def infrastructure(spec: ExerciseSpec | Exercise, message: str) -> str:
    """For a fault of ours."""
    return f"{spec.name}: could not be graded, through no fault of yours.\n  {sentence(message)}"


def failed(
    spec: ExerciseSpec, case: Case, heading: str, message: str, failing: int, observed: int
) -> list[str]:
    """What was checked, and what was expected and got: the first lines of a feedback."""
    first = f"{spec.name}: {heading} in {case_words(spec, case)}"
    if failing > 1:
        first += f"; {failing} of {observed} cases fail"
    return [first, f"  {sentence(message)}"]


def causes(
    spec: ExerciseSpec, names: tuple[str, ...], matching: int, failing: int, statistical: bool
) -> list[str]:
    """The likely cause and what to look at next: the last lines of a feedback."""
    known = [spec.mistake(name) for name in names]
    if not known:
        return []
    agree = "agree with" if statistical else "equal"
    which = "this mistake" if len(known) == 1 else "these mistakes together"
    evidence = f"Your results {agree} those of {which}"
    if matching < failing:
        evidence += f" in {matching} of the {failing} cases that fail"
    if len(known) == 1:
        cause = f"  Likely cause: {sentence(known[0].sentence)} {evidence}."
        return [cause, f"  Next: {known[0].hint}"]
    first, *others = (sentence(mistake.sentence) for mistake in known)
    both = "; and ".join([first.rstrip("."), *(_continued(other) for other in others)])
    hints = [f"  Then: {mistake.hint}" for mistake in known[1:]]
    return [f"  Likely causes: {both} {evidence}.", f"  Next: {known[0].hint}", *hints]


def _continued(text: str) -> str:
    """A sentence that goes on with another one: small at its start, unless it is a name."""
    first = text.split(" ", 1)[0]
    plain = first.isalpha() and first.istitle()
    return text[0].lower() + text[1:] if plain else text


def observation(what: str, says: str, look: str) -> list[str]:
    """What wrong results have in common with the right ones, where no cause is known."""
    return [f"  Observation: {what} {says}.", f"  Next: {look}."]


def next_step(case: Case, check: str, outcome: ExerciseOutcome) -> list[str]:
    """What to look at where no cause is known and the message itself does not say it."""
    if outcome != "failed" or check in (TYPE, SHAPE, DTYPE, UNTOUCHED):
        return []
    if case.hidden:
        return ["  Next: try your code on inputs of this kind and these sizes."]
    return ["  Next: work through this case by hand, and see where your numbers part from it."]


__all__ = [
    "case_words",
    "causes",
    "clean",
    "difference",
    "dtype_of",
    "exception",
    "exception_name",
    "failed",
    "forbidden_at_run_time",
    "headline",
    "infrastructure",
    "later_call",
    "missing",
    "next_step",
    "not_finite",
    "number",
    "observation",
    "one_line",
    "out_of_memory",
    "passed",
    "place",
    "sentence",
    "shape",
    "sizes",
]
