"""How much memory do the scores take?

One number for each pair of a query and a key, in each head, for each sequence of the batch.
"""

import numpy as np
import torch

from autograder import exercise


@exercise(points=1, order=7)
def score_matrix_bytes(
    batch: int, num_heads: int, n_q: int, n_k: int, bytes_per_element: int
) -> int:
    """Bytes of one tensor of attention scores.

    Args:
        batch: sequences.
        num_heads: heads.
        n_q: queries of a sequence.
        n_k: keys of a sequence.
        bytes_per_element: 4 for float32, 2 for float16 and bfloat16.

    Returns:
        A whole number of bytes. (A kibibyte has 1024 of them.)
    """
    elements = batch * num_heads * n_q * n_k  # (batch, h, n_q, n_k)
    return elements * bytes_per_element


# ---- cases ---------------------------------------------------------------------------------


@score_matrix_bytes.case(
    "all sizes different",
    separates=[
        "heads_forgotten",
        "batch_forgotten",
        "square_of_queries",
        "square_of_keys",
        "sizes_added",
        "elements",
        "bits",
        "weights_too",
        "one_triangle",
        "always_float32",
    ],
)
def all_different(rng):
    return {"batch": 3, "num_heads": 5, "n_q": 7, "n_k": 11, "bytes_per_element": 2}


@score_matrix_bytes.case("8 heads over 8192 tokens in float32", separates=["weights_too", "bits"])
def long_sequence(rng):
    return {"batch": 1, "num_heads": 8, "n_q": 8192, "n_k": 8192, "bytes_per_element": 4}


@score_matrix_bytes.case(
    "fresh sizes",
    separates=["heads_forgotten", "batch_forgotten", "square_of_queries", "square_of_keys"],
    hidden=True,
)
def fresh(rng):
    n_q, n_k = (int(size) for size in rng.choice(np.arange(20, 400), size=2, replace=False))
    batch, num_heads = int(rng.integers(2, 9)), int(rng.integers(2, 17))
    return {
        "batch": batch,
        "num_heads": num_heads,
        "n_q": n_q,
        "n_k": n_k,
        "bytes_per_element": int(rng.choice([1, 2, 8])),
    }


@score_matrix_bytes.case("one query against a cache of keys", kind="robustness", hidden=True)
def one_query(rng):
    n_k = int(rng.integers(100, 5000))
    return {"batch": 1, "num_heads": 1, "n_q": 1, "n_k": n_k, "bytes_per_element": 2}


# ---- misconceptions ------------------------------------------------------------------------


@score_matrix_bytes.misconception(
    "Leaves out the heads: each of them has scores of its own.",
    hint="Do two heads share one matrix of scores?",
)
def heads_forgotten(batch, num_heads, n_q, n_k, bytes_per_element):
    elements = batch * n_q * n_k
    return elements * bytes_per_element


@score_matrix_bytes.misconception(
    "Leaves out the batch: each sequence has scores of its own.",
    hint="What becomes of the memory when two sequences are processed together?",
)
def batch_forgotten(batch, num_heads, n_q, n_k, bytes_per_element):
    elements = num_heads * n_q * n_k
    return elements * bytes_per_element


@score_matrix_bytes.misconception(
    "Takes the square of the number of queries, as if there were as many keys.",
    hint="In cross-attention, which two sizes does the matrix of scores have?",
)
def square_of_queries(batch, num_heads, n_q, n_k, bytes_per_element):
    elements = batch * num_heads * n_q * n_q
    return elements * bytes_per_element


@score_matrix_bytes.misconception(
    "Takes the square of the number of keys, as if there were as many queries.",
    hint="In cross-attention, which two sizes does the matrix of scores have?",
)
def square_of_keys(batch, num_heads, n_q, n_k, bytes_per_element):
    elements = batch * num_heads * n_k * n_k
    return elements * bytes_per_element


@score_matrix_bytes.misconception(
    "Adds queries and keys instead of pairing each with each.",
    hint="How many scores do 3 queries and 5 keys make?",
)
def sizes_added(batch, num_heads, n_q, n_k, bytes_per_element):
    elements = batch * num_heads * (n_q + n_k)
    return elements * bytes_per_element


@score_matrix_bytes.misconception(
    "Counts elements, not bytes.",
    hint="How much memory does one number take?",
    credit=0.5,
)
def elements(batch, num_heads, n_q, n_k, bytes_per_element):
    return batch * num_heads * n_q * n_k


@score_matrix_bytes.misconception(
    "Counts bits instead of bytes.",
    hint="In which unit is the size of an element given, and in which the answer asked for?",
    credit=0.5,
)
def bits(batch, num_heads, n_q, n_k, bytes_per_element):
    elements = batch * num_heads * n_q * n_k
    return elements * bytes_per_element * 8


@score_matrix_bytes.misconception(
    "Counts scores and weights, two tensors of this size.",
    hint="How many tensors does the question ask about?",
    credit=0.5,
)
def weights_too(batch, num_heads, n_q, n_k, bytes_per_element):
    elements = batch * num_heads * n_q * n_k
    return 2 * elements * bytes_per_element


@score_matrix_bytes.misconception(
    "Counts half of the matrix, as if the scores above the diagonal were not stored.",
    hint="Does a mask make a tensor smaller, or does it only overwrite numbers in it?",
)
def one_triangle(batch, num_heads, n_q, n_k, bytes_per_element):
    elements = batch * num_heads * n_q * n_k // 2
    return elements * bytes_per_element


@score_matrix_bytes.misconception(
    "Takes four bytes for every number, whatever its type.",
    hint="How many bytes does a number in half precision have?",
    credit=0.5,
)
def always_float32(batch, num_heads, n_q, n_k, bytes_per_element):
    elements = batch * num_heads * n_q * n_k
    return elements * 4


# ---- right but unusual ---------------------------------------------------------------------


@score_matrix_bytes.alternative("as a NumPy integer")
def numpy_product(batch, num_heads, n_q, n_k, bytes_per_element):
    return np.prod([batch, num_heads, n_q, n_k, bytes_per_element], dtype=np.int64)


@score_matrix_bytes.alternative("asks a tensor that holds nothing")
def asks_a_tensor(batch, num_heads, n_q, n_k, bytes_per_element):
    scores = torch.empty(batch, num_heads, n_q, n_k, device="meta")
    return torch.tensor(scores.numel() * bytes_per_element)
