"""One text for all who made a mistake, whatever they call their variables."""

from __future__ import annotations

import ast
import re

from autograder.submission import Submission

# Names that say what is meant stay; others are called a, b, c, in the order in which they come.
ROLES = frozenset(
    {"Q", "K", "V", "W_q", "W_k", "W_v", "W_o", "scores", "weights", "mask", "output"}
)
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_LETTERS = "abcdefgh"


def without_own_names(text: str, submission: Submission, exercise: str) -> str:
    """The text of a repair with the variables of the student's function under common names."""
    definition = submission.definition(exercise)
    if definition is None:
        return text
    own = {
        node.id
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } - ROLES
    letters: dict[str, str] = {}

    def common(found: re.Match[str]) -> str:
        name = found[0]
        if name not in own or len(letters) >= len(_LETTERS):
            return name
        return letters.setdefault(name, _LETTERS[len(letters)])

    # “… in the weights” names a step, not a variable
    head, separator, step = text.rpartition(" in the ")
    return _WORD.sub(common, head) + separator + step if separator else _WORD.sub(common, text)
