"""What a line of an attention function computes, in the words of the field, and what to ask.

Told from the words in the line and in the edit, never from the reference. A question is about
the concept: it names no edit, so that it gives nothing away.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from autograder.faults.edits import Edit

# (step, what in a line or an edit says so): the first that is found.
_SIGNS: tuple[tuple[str, str], ...] = (
    ("the output projection", r"W_?o\b|out_proj|w_?out|fc_out"),
    ("the mask", r"\btri[lu]\b|mask|\binf\b|\bkeep\b|1e9|1e20|\bpad"),
    ("the dropout", r"dropout|\bdrop\b"),
    ("the scaled scores", r"sqrt|\*\* ?\(?-?0?\.5|\*\* ?\(?1 ?/ ?2|scale|rsqrt"),
    ("the weights", r"softmax|\bexp\b|argmax|logsumexp|\.exp\(|lse|norm(?:ali[sz]e)?\b"),
    ("the heads", r"heads?\b|\bh\b.*(view|reshape)|(view|reshape|permute|unflatten|chunk).*\bh\b"),
    ("the concatenated heads", r"\bcat\b|concat|flatten|hstack|\bstack\b"),
    ("the projections", r"W_?[qkv]\b|[qkv]_proj|Linear|\bproject\b"),
    ("the scores", r"scores?\b|\bdots?\b|logits|energy|\bsim\b|[Qq](?:uer\w+)?\b.*[Kk](?:eys?)?\b"),
    ("the output", r"[Vv](?:alues?)?\b|out(put)?\b|context|attend"),
)
_COMPILED = tuple((step, re.compile(pattern)) for step, pattern in _SIGNS)

_QUESTIONS: Mapping[str, str] = {
    "the weights": (
        "The weights of one query have to add up to 1: which axis holds the keys of one query, "
        "and what is computed over it?"
    ),
    "the scaled scores": (
        "The variance of a score grows with the number of its summands: of which size is the "
        "root taken, and where in the formula does it stand?"
    ),
    "the mask": (
        "Which entries of the mask say that a query may attend to a key, and what has to happen "
        "to the scores of the others before the softmax?"
    ),
    "the scores": (
        "A score compares one query with one key: which axis is summed over, and which axes of "
        "the result belong to queries and to keys?"
    ),
    "the output": (
        "Each query's output is a sum over the keys: what is summed, with which weights, and "
        "along which axis?"
    ),
    "the projections": (
        "What goes into each of the three projections, through which matrix, and of which sizes?"
    ),
    "the output projection": "What happens to the concatenated heads before they are returned?",
    "the heads": (
        "One head has a part of each token's features: which axes does a reshape cut, and in "
        "which order do they have to stand then?"
    ),
    "the concatenated heads": (
        "The features of all heads of one token stand side by side: which axes have to be "
        "neighbours before they are merged?"
    ),
    "the dropout": "When are weights dropped: in training, in evaluation, or in both?",
}
_OF_FAMILIES: Mapping[str, str] = {
    "return order": "What does the task want returned, and in which order?",
    "returned": "What does the task want returned, and in which order?",
    "in place": "Whose array is changed here: yours, or the one that was handed to you?",
    "copy": "Whose array is changed here: yours, or the one that was handed to you?",
    "thrown away": "What becomes of the result of this call?",
    "exception": "Which exception does the task ask for?",
    "view": "Which of the ways to give a tensor a new shape needs its entries in memory order?",
    "form": "Which shape and which type does the task ask for?",
    "guard": "Is what is used here always there?",
    "constructor": "What has to happen before a module can hold layers?",
}
_PLAIN = "What should this line compute, for the smallest input that you can do by hand?"


def step_of(line: str, edit: Edit, exercise: str) -> str:
    """What the line should give: “the weights”; "" when nothing says so.

    exercise: its name is the last sign, for a function that is one step by itself.
    """
    told = f"{edit.before} {edit.after} {edit.about}"
    several = re.search("attention$|multi_?head|encoder|decoder", exercise, re.IGNORECASE)
    texts = (told if len(told) < 120 else "", line, exercise)
    for text in texts if several else (exercise, *texts):
        for step, pattern in _COMPILED:
            if pattern.search(text):
                return step
    return ""


def question_of(step: str, edit: Edit) -> str:
    """A question about the concept behind a step or a kind of edit."""
    return _OF_FAMILIES.get(edit.family) or _QUESTIONS.get(step) or _PLAIN


# How students call the things that every solution has.
_ROLES: tuple[tuple[str, str], ...] = (
    (r"W_?([qkvo])\w*|w([qkvo])\b", r"W_\1\2"),
    (r"\bq(?:uer(?:y|ies))?\b|\bQ\w*", "Q"),
    (r"\bk(?:eys?)?\b|\bK\w*", "K"),
    (r"\bv(?:al(?:ues?)?)?\b|\bV\w*", "V"),
    (r"\b(?:attn_)?(?:scores?|logits|energy|sim|dots|S|s)\b", "scores"),
    (r"\b(?:attn?|attention|weights?|probs?|p_attn|w|A|P)\b", "weights"),
)
_COMPILED_ROLES = tuple((re.compile(pattern), role) for pattern, role in _ROLES)


def normalised(text: str, own: Collection[str] = ()) -> str:
    """An edit's text with the usual names for what students call differently.

    own: variables of the student's; one that is called like nothing usual becomes “…”.
    """
    text = text.replace("self.", "")
    for name in sorted(own, key=len, reverse=True):
        plain = re.sub(r"_\d+$", "", name)
        usual = any(pattern.fullmatch(plain) for pattern, _ in _COMPILED_ROLES)
        text = re.sub(rf"\b{re.escape(name)}\b", plain if usual else "…", text)
    for pattern, role in _COMPILED_ROLES:
        text = pattern.sub(role, text)
    return re.sub(r"\s+", " ", text).strip()


def key_of(edit: Edit, step: str, own: Collection[str] = ()) -> str:
    """The same for all who made this slip: “axis=1 → axis=0 in the weights”.

    own: variables of the student's.
    """
    before, after = normalised(edit.before, own)[:60], normalised(edit.after, own)[:60]
    if before and after:
        what = f"{before} → {after}"
    elif after:
        what = f"{after} is missing" if edit.family != "sign" else f"{after} put in"
    else:
        what = f"{before or edit.family} is too much"
    return f"{what} in {step}" if step else what
