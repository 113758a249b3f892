"""Add to each score a learned number that depends only on how far key and query are apart.

The table holds one number for each head and each distance. Distances beyond its ends share the
last entry, so one table serves texts of every length.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise


@exercise(points=3, order=2)
def relative_position_bias(
    table: Float[Tensor, "h entries"], n_q: int, n_k: int
) -> Float[Tensor, "h n_q n_k"]:
    """Bias to be added to the scores of every head, looked up by distance.

    Args:
        table: shape (h, 2m + 1). Column m + r holds the bias for the distance r, which is key
            position MINUS query position: column m is for the token itself, the columns left of
            it for keys that come before the query, those right of it for keys after it.
        n_q: the number of queries. Query q stands at position q.
        n_k: the number of keys. Key k stands at position k, also when n_q and n_k differ: there
            is no offset.

    Returns:
        Shape (h, n_q, n_k): entry [head, q, k] is the bias for the distance k - q. Distances
        below -m count as -m, those above m as m. `table` is left as it was.
    """
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]  # (n_q, 1)
    keys = torch.arange(n_k)[None, :]  # (1, n_k)
    distance = (keys - queries).clamp(-m, m)  # (n_q, n_k)
    return table[:, distance + m]  # (h, n_q, n_k)


def _table(rng, h, m):
    """A table without any symmetry, shape (h, 2m + 1)."""
    return rng.normal(size=(h, 2 * m + 1)).astype(np.float32)


# ---- cases ---------------------------------------------------------------------------------


@relative_position_bias.case(
    "distances beyond both ends of the table",
    separates=[
        "query_minus_key",
        "not_clipped",
        "wrapped_around",
        "ends_aligned",
        "without_sign",
        "keys_down",
        "heads_last",
        "nothing_beyond",
        "centre_forgotten",
        "keys_before_only",
        "clipped_too_early",
    ],
)
def beyond_both_ends(rng):
    return {"table": _table(rng, h=3, m=2), "n_q": 7, "n_k": 5}


@relative_position_bias.case(
    "as many queries as keys, all distances in the table",
    separates=[
        "query_minus_key",
        "without_sign",
        "keys_down",
        "keys_before_only",
        "centre_forgotten",
        "clipped_too_early",
    ],
)
def all_in_the_table(rng):
    # no distance is clipped, and a transpose has the right shape: only the values tell
    return {"table": _table(rng, h=2, m=4), "n_q": 5, "n_k": 5}


@relative_position_bias.case(
    "more keys than queries",
    separates=["ends_aligned", "query_minus_key", "keys_down", "nothing_beyond"],
)
def more_keys(rng):
    return {"table": _table(rng, h=4, m=3), "n_q": 3, "n_k": 8}


@relative_position_bias.case(
    "heads, queries and keys of one number",
    separates=["heads_last", "keys_down", "query_minus_key", "wrapped_around"],
)
def one_number(rng):
    return {"table": _table(rng, h=4, m=1), "n_q": 4, "n_k": 4}


@relative_position_bias.case(
    "a single query", separates=["ends_aligned", "query_minus_key"], hidden=True
)
def single_query(rng):
    return {"table": _table(rng, h=2, m=3), "n_q": 1, "n_k": int(rng.integers(5, 9))}


@relative_position_bias.case(
    "long texts",
    separates=["not_clipped", "wrapped_around", "without_sign", "ends_aligned", "keys_down"],
    hidden=True,
)
def long_texts(rng):
    n_q, n_k = (int(size) for size in rng.permutation(np.arange(11, 17))[:2])
    return {"table": _table(rng, h=2, m=int(rng.integers(3, 8))), "n_q": n_q, "n_k": n_k}


@relative_position_bias.case("a table with one entry", kind="robustness")
def one_entry(rng):
    return {"table": _table(rng, h=3, m=0), "n_q": 2, "n_k": 4}


@relative_position_bias.case("one head, float64", kind="robustness")
def double_precision(rng):
    return {"table": rng.normal(size=(1, 5)), "n_q": 4, "n_k": 6}


@relative_position_bias.case("a tiny table", kind="robustness", hidden=True)
def tiny(rng):
    return {"table": 1e-3 * _table(rng, h=2, m=2), "n_q": 6, "n_k": 3}


# ---- misconceptions ------------------------------------------------------------------------


@relative_position_bias.misconception(
    "Takes query minus key, which looks up the bias of the opposite direction.",
    hint="A key that comes after its query: which half of the table is it in by the docstring, and "
    "where do you look?",
    credit=0.5,
)
def query_minus_key(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = (queries - keys).clamp(-m, m)
    return table[:, distance + m]


@relative_position_bias.misconception(
    "Does not clip the distances, so that long texts run off the table.",
    hint="How many distances do seven queries and five keys have, and how many columns has the "
    "table?",
    credit=0.25,
)
def not_clipped(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = keys - queries
    return table[:, distance + m]


@relative_position_bias.misconception(
    "Starts again at the other end of the table where a distance runs off it.",
    hint="A key far behind the query and one far ahead of it: may they share an entry?",
    credit=0.25,
)
def wrapped_around(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = (keys - queries + m) % (2 * m + 1) - m
    return table[:, distance + m]


@relative_position_bias.misconception(
    "Puts the last query beside the last key, as when old keys are cached; here query q stands at "
    "position q.",
    hint="With more keys than queries, which key is query 0 compared with at distance 0?",
    credit=0.5,
)
def ends_aligned(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_k - n_q, n_k)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = (keys - queries).clamp(-m, m)
    return table[:, distance + m]


@relative_position_bias.misconception(
    "Uses the distance without its sign: keys before and after the query get one bias.",
    hint="What are the columns left of the middle for, and do you ever read them?",
    credit=0.25,
)
def without_sign(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = (keys - queries).abs().clamp(-m, m)
    return table[:, distance + m]


@relative_position_bias.misconception(
    "Puts the keys down and the queries across, as in the column layout of problem set 1.",
    hint="Which axis of the scores counts the queries in this problem set?",
    credit=0.5,
)
def keys_down(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[None, :]
    keys = torch.arange(n_k)[:, None]
    distance = (keys - queries).clamp(-m, m)
    return table[:, distance + m]


@relative_position_bias.misconception(
    "Returns the heads on the last axis.",
    hint="The scores have the shape (batch, h, n_q, n_k). Which of your axes meets which when you "
    "add?",
    credit=0.5,
)
def heads_last(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = (keys - queries).clamp(-m, m)
    return table.T[distance + m]


@relative_position_bias.misconception(
    "Gives far tokens no bias, where the outermost entry is meant.",
    hint="What should happen to a distance of m + 1: is it left out, or does it count as m?",
    credit=0.5,
)
def nothing_beyond(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = (keys - queries).clamp(-m, m)
    return table[:, distance + m] * (distance == keys - queries)


@relative_position_bias.misconception(
    "Uses the distance itself as a column, so that distance 0 reads the first column and negative "
    "ones count from the end.",
    hint="Which column holds the bias of distance 0, and which one do you read for it?",
    credit=0.25,
)
def centre_forgotten(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = (keys - queries).clamp(-m, m)
    return table[:, distance]


@relative_position_bias.misconception(
    "Tells distances apart for keys before the query only; all later keys count as distance 0.",
    hint="Nothing is causal here. How many different values has the last half of row 0?",
    credit=0.25,
)
def keys_before_only(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = (keys - queries).clamp(-m, 0)
    return table[:, distance + m]


@relative_position_bias.misconception(
    "Clips one step too early: the outermost columns of the table are never used.",
    hint="Which distance reads the very last column in your code?",
    credit=0.5,
)
def clipped_too_early(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    queries = torch.arange(n_q)[:, None]
    keys = torch.arange(n_k)[None, :]
    distance = (keys - queries).clamp(min(1 - m, 0), max(m - 1, 0))
    return table[:, distance + m]


# ---- right but unusual ---------------------------------------------------------------------


@relative_position_bias.alternative("entry by entry")
def entry_by_entry(table, n_q, n_k):
    h, entries = table.shape
    m = entries // 2
    bias = table.new_empty(h, n_q, n_k)
    for q in range(n_q):
        for k in range(n_k):
            bias[:, q, k] = table[:, max(-m, min(m, k - q)) + m]
    return bias


@relative_position_bias.alternative("one row of all distances, read through a sliding view")
def sliding_view(table, n_q, n_k):
    m = table.shape[1] // 2
    distances = torch.arange(1 - n_q, n_k).clamp(-m, m)
    row = table[:, distances + m].contiguous()  # (h, n_q + n_k - 1)
    return row.unfold(1, n_k, 1).flip(1)


@relative_position_bias.alternative("an embedding table, transposed at the end")
def embedding(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    index = torch.arange(n_k) - torch.arange(n_q).unsqueeze(1) + m
    index = torch.minimum(torch.maximum(index, torch.tensor(0)), torch.tensor(2 * m))
    return torch.nn.functional.embedding(index, table.T).permute(2, 0, 1)


@relative_position_bias.alternative("a product with one-hot rows")
def one_hot_rows(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    index = (torch.arange(n_k) - torch.arange(n_q)[:, None]).clamp(-m, m) + m
    rows = torch.nn.functional.one_hot(index, table.shape[1]).to(table.dtype)
    return torch.einsum("qkr,hr->hqk", rows, table)
