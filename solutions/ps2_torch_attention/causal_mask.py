"""The mask of a language model: no token may look at what comes after it.

In training, all tokens of a sentence are predicted at once. The mask keeps each of them from
reading its own answer.
"""

import torch
from jaxtyping import Bool
from torch import Tensor

from autograder import exercise


@exercise(points=4, order=2, framework="torch")
def causal_mask(n: int) -> Bool[Tensor, "n n"]:
    """Mask of a sequence of n tokens.

    Args:
        n: how many tokens there are, at least 1.

    Returns:
        A tensor of truth values (`torch.bool`) of shape (n, n), to be used as `mask` of
        scaled_dot_product_attention. Entry [i, j] is True where token i may attend to token j:
        to itself and to all before it.
    """
    allowed = torch.ones(n, n, dtype=torch.bool)  # (n, n), all True
    return torch.tril(allowed)  # (n, n), False above the diagonal


# ---- cases ---------------------------------------------------------------------------------


@causal_mask.case(
    "five tokens",
    separates=[
        "looks_ahead",
        "excludes_diagonal",
        "one_too_many",
        "marks_the_hidden",
        "diagonal_alone",
        "hides_nothing",
        "upside_down",
        "one_token_less",
        "numbers",
        "added_mask",
        "with_a_batch_axis",
    ],
)
def five(rng):
    return {"n": 5}


@causal_mask.case(
    "a single token",
    separates=["excludes_diagonal", "marks_the_hidden", "one_token_less", "numbers"],
)
def single(rng):
    return {"n": 1}


@causal_mask.case("two tokens", separates=["looks_ahead", "excludes_diagonal", "one_too_many"])
def two(rng):
    return {"n": 2}


@causal_mask.case("some tokens more", separates=["one_too_many", "looks_ahead"], hidden=True)
def more(rng):
    return {"n": int(rng.integers(6, 20))}


# ---- misconceptions ------------------------------------------------------------------------


@causal_mask.misconception(
    "Keeps the wrong triangle: each token sees itself and what comes after it.",
    hint="How many tokens may the first one see, and how many True does your first row have?",
    credit=0.25,
)
def looks_ahead(n):
    allowed = torch.ones(n, n, dtype=torch.bool)
    return torch.triu(allowed)


@causal_mask.misconception(
    "Leaves out the diagonal: a token does not see itself, and the first one sees nothing at all.",
    hint="What is left of the first row for softmax to spread a budget over?",
    credit=0.5,
)
def excludes_diagonal(n):
    allowed = torch.ones(n, n, dtype=torch.bool)
    return torch.tril(allowed, diagonal=-1)


@causal_mask.misconception(
    "Lets each token see the next one, which is just what it has to predict.",
    hint="May token 0 see token 1? On which side of the diagonal does that entry lie?",
    credit=0.5,
)
def one_too_many(n):
    allowed = torch.ones(n, n, dtype=torch.bool)
    return torch.tril(allowed, diagonal=1)


@causal_mask.misconception(
    "Marks what is hidden with True, as `nn.MultiheadAttention` does.",
    hint="What does True mean in the docstring?",
    credit=0.5,
)
def marks_the_hidden(n):
    allowed = torch.ones(n, n, dtype=torch.bool)
    return torch.triu(allowed, diagonal=1)


@causal_mask.misconception(
    "Lets each token see itself alone.",
    hint="Token 3 may see four tokens. Which ones?",
)
def diagonal_alone(n):
    return torch.eye(n, dtype=torch.bool)


@causal_mask.misconception(
    "Hides nothing.",
    hint="Which entries of the first row have to be False?",
)
def hides_nothing(n):
    allowed = torch.ones(n, n, dtype=torch.bool)
    return allowed


@causal_mask.misconception(
    "Numbers the rows from below: the last token sees one token and the first one all.",
    hint="Which row belongs to token 0?",
    credit=0.25,
    hidden=True,
)
def upside_down(n):
    allowed = torch.ones(n, n, dtype=torch.bool)
    return torch.tril(allowed).flip(0)


@causal_mask.misconception(
    "Makes a mask for one token less.",
    hint="How many rows does a mask for a single token have?",
    credit=0.25,
    hidden=True,
)
def one_token_less(n):
    allowed = torch.ones(n - 1, n - 1, dtype=torch.bool)
    return torch.tril(allowed)


@causal_mask.misconception(
    "Returns zeros and ones as numbers instead of truth values.",
    hint="Which dtype does the docstring ask for, and which one does `torch.ones` make by itself?",
    credit=0.75,
)
def numbers(n):
    allowed = torch.ones(n, n)
    return torch.tril(allowed)


@causal_mask.misconception(
    "Makes a mask that is to be added to the scores: 0 where a token may look, minus infinity "
    "elsewhere.",
    hint="What do the entries of the mask have to be according to the docstring?",
    credit=0.5,
)
def added_mask(n):
    hidden = torch.full((n, n), float("-inf"))
    return torch.triu(hidden, diagonal=1)


@causal_mask.misconception(
    "Adds axes for the batch.",
    hint="Which shape does the docstring name? Broadcasting adds axes on the left by itself.",
    credit=0.75,
)
def with_a_batch_axis(n):
    allowed = torch.ones(1, n, n, dtype=torch.bool)
    return torch.tril(allowed)


# ---- right but unusual ---------------------------------------------------------------------


@causal_mask.alternative("positions compared")
def positions_compared(n):
    positions = torch.arange(n)
    return positions[:, None] >= positions


@causal_mask.alternative("what is hidden, inverted")
def inverted(n):
    return ~torch.ones(n, n).triu(1).bool()


@causal_mask.alternative("a running sum of the identity, down the columns")
def running_sum(n):
    return torch.eye(n).cumsum(0).T.flip(0, 1).gt(0.5)


@causal_mask.alternative("nested lists made into a tensor")
def nested_lists(n):
    return torch.tensor([[key <= query for key in range(n)] for query in range(n)])


@causal_mask.alternative("row after row, by numbered entries")
def by_indices(n):
    mask = torch.zeros((n, n), dtype=torch.bool)
    rows, columns = torch.tril_indices(n, n)
    mask[rows, columns] = True
    return mask
