"""A new exercise from nothing: the file that `autograder new` writes.

The scaffold shows every part of an exercise in the order in which it is read, and raises
where the author has to write: `autograder validate` says which part that is, so that a
file left as it was made can never pass for a finished exercise.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from string import Template

from autograder.pack import CourseNotFound, find_course

FRAMEWORKS = ("numpy", "torch")


class CannotBegin(Exception):
    """The scaffold cannot be written; the message says why and what to call instead."""


def new_exercise(
    target: str, *, framework: str = "numpy", is_class: bool = False, course: Path | None = None
) -> list[Path]:
    """Write the scaffold of `target`, "<problem set>/<exercise>"; returns the files it made.

    A problem set that does not exist yet is begun with its `__init__.py` and an empty quiz. A
    file that exists is never written over: that raises CannotBegin.
    """
    assignment, name = _names(target)
    if framework not in FRAMEWORKS:
        raise CannotBegin(f"a framework is {' or '.join(FRAMEWORKS)}, not {framework}")
    if is_class and framework != "torch":
        raise CannotBegin("a class is a PyTorch module; add --framework torch")
    folder = _course_for(course) / "solutions" / assignment
    path = folder / f"{name}.py"
    if path.exists():
        raise CannotBegin(f"{path} exists already; choose another name, or edit that file")
    made = []
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in _files_of_a_set(assignment, framework).items():
        if not (folder / file).exists():
            (folder / file).write_text(text, "utf-8")
            made.append(folder / file)
    path.write_text(exercise_text(name, framework=framework, is_class=is_class), "utf-8")
    return [*made, path]


def exercise_text(name: str, *, framework: str = "numpy", is_class: bool = False) -> str:
    """The scaffold of one exercise, as Python source."""
    if is_class:
        return Template(_MODULE).substitute(name=name)
    words = {
        "name": name,
        "imports": _IMPORTS[framework],
        "array": {"numpy": "np.ndarray", "torch": "torch.Tensor"}[framework],
    }
    return Template(_FUNCTION).substitute(words)


def _names(target: str) -> tuple[str, str]:
    parts = target.split("/")
    if len(parts) != 2 or not all(parts):
        raise CannotBegin(
            f"“{target}” is not <problem set>/<exercise>; write it as ps7_measures/entropy"
        )
    assignment, name = parts
    if not re.fullmatch(r"[a-z][a-z0-9_]*", assignment):
        raise CannotBegin(
            f"a problem set is named in small letters, digits and underscores, not “{assignment}”"
        )
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
        raise CannotBegin(
            f"“{name}” cannot be the name of a Python function; use letters, digits and underscores"
        )
    if name.startswith("_") or name == "quiz":
        raise CannotBegin(f"“{name}” is taken or private; choose another name")
    return assignment, name


def _course_for(course: Path | None) -> Path:
    """The course to write into; a folder that was named becomes one."""
    if course is not None:
        return course.resolve()
    try:
        return find_course()
    except CourseNotFound:
        raise CannotBegin(
            f"no course at or above {Path.cwd()}; go to one, or begin one here with --course ."
        ) from None


def _files_of_a_set(assignment: str, framework: str) -> dict[str, str]:
    title = assignment.partition("_")[2].replace("_", " ") or assignment
    return {
        "__init__.py": Template(_SET).substitute(title=title.capitalize(), framework=framework),
        "quiz.yaml": _QUIZ,
    }


_SET = '''"""$title.

What the set teaches, which layout its arrays have, and what must be known before.
"""

# What submissions may import besides the standard library.
PACKAGES = ("$framework",)
'''

_QUIZ = """\
# Questions and answers of the set. Secret: students get prompts and options, nothing else.
# There are single_choice, multiple_choice, number, shape, matrix, ordering, matching and
# expression; docs/quiz.md shows each. The first one begins like this:
#
# - id: which_axis
#   type: single_choice
#   points: 1
#   prompt: Which axis does the softmax normalise?
#   options:
#     - {id: cedar, text: the keys}
#     - {id: amber, text: the queries, misconception: "…", hint: "…?"}
#   answer: cedar
#   explanation: Shown after grading.
[]
"""

_IMPORTS = {
    "numpy": "import numpy as np\nfrom jaxtyping import Float",
    "torch": "import torch\nfrom jaxtyping import Float",
}

_FUNCTION = '''"""A sentence or two above the stub: what it is for, where it stands in the whole."""

$imports

from autograder import exercise


# The annotations are the contract of shapes: the judge speaks of these axis names.
@exercise(points=4, order=1)
def $name(scores: Float[$array, "n_k n_q"]) -> Float[$array, "n_k n_q"]:
    """What it returns, in one line.

    Args:
        scores: shape (n_k, n_q), and what an entry means.

    Returns:
        Shape (n_k, n_q), and what an entry means. No argument is changed.
    """
    raise NotImplementedError("write the reference solution")


# ---- cases: sizes pairwise different, then coinciding; what a wrong answer needs to show ----


@$name.case("everyday scores", separates=["first_mistake"])
def everyday(rng):
    return {"scores": rng.normal(size=(5, 3))}


@$name.case("as many keys as queries", kind="robustness", hidden=True)
def square(rng):
    return {"scores": rng.normal(size=(4, 4))}


# ---- checks: what must hold of every result; the line is what a student reads ----------------


@$name.check("every entry is finite", public=True)
def finite(call):
    return None if abs(call.result).max() < float("inf") else "an entry is infinite or NaN"


# ---- misconceptions: wrong code that people write, the sentence that names it, a question ----


@$name.misconception(
    "Says what the student believes, in one sentence.",
    hint="Which question leads to the right answer, without giving it?",
)
def first_mistake(scores):
    raise NotImplementedError("write the wrong solution")


# ---- alternatives: right and unusual, so that they are never rejected ------------------------


@$name.alternative("written in another way")
def another_way(scores):
    raise NotImplementedError("write a right solution that looks different")
'''

_MODULE = '''"""A sentence or two above the stub: what it is for, where it stands in the whole."""

import torch
from jaxtyping import Float
from torch import nn

from autograder import exercise
from autograder.program import Call, Construct, DescribeModule, LoadWeights, Mode, Program, Slot


# The annotations of forward are the contract of shapes: the judge speaks of these axis names.
@exercise(points=4, order=1)
class $name(nn.Module):
    """What the module computes, its submodules and its parameters."""

    def __init__(self, d_model):
        """Args: d_model: the width of a token."""
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self, x: Float[torch.Tensor, "batch n d_model"]
    ) -> Float[torch.Tensor, "batch n d_model"]:
        """Shape (batch, n, d_model) in and out; what an entry means."""
        raise NotImplementedError("write the reference solution")


# ---- cases: what is done with a module, step by step, the weights given ----------------------


def _program(rng, batch, n, d_model):
    """Build the module, give it weights, call it in eval mode."""
    return Program(
        steps=(
            Construct("$name", "module", args=(d_model,)),
            DescribeModule("module"),
            LoadWeights("module", {"W_q.weight": _tensor(rng, d_model, d_model)}),
            Mode("module", training=False),
            Call(Slot("module"), args=(_tensor(rng, batch, n, d_model),), argument_names=("x",)),
        )
    )


def _tensor(rng, *shape):
    return torch.from_numpy(rng.normal(size=shape)).float()


@$name.case("three different sizes", separates=["first_mistake"])
def three_sizes(rng):
    return _program(rng, batch=2, n=3, d_model=4)


@$name.case("as many tokens as features", kind="robustness", hidden=True)
def square(rng):
    return _program(rng, batch=2, n=4, d_model=4)


# ---- misconceptions: wrong code that people write, the sentence that names it, a question ----


@$name.misconception(
    "Says what the student believes, in one sentence.",
    hint="Which question leads to the right answer, without giving it?",
)
class first_mistake(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        raise NotImplementedError("write the wrong solution")


# ---- alternatives: right and unusual, so that they are never rejected ------------------------


@$name.alternative("written in another way")
class another_way(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        raise NotImplementedError("write a right solution that looks different")
'''
