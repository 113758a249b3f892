"""Put sequences of different lengths into one tensor, and keep note of what is real.

Everything after the last token of a sequence is padding: zeros that no query may attend to.
The mask says where the real tokens stand.
"""

import torch
from jaxtyping import Bool, Float
from torch.nn.utils.rnn import pad_sequence

from autograder import exercise


@exercise(points=3, order=3)
def pad_batch(
    sequences: list[torch.Tensor],
) -> tuple[Float[torch.Tensor, "batch n_max d"], Bool[torch.Tensor, "batch n_max"]]:
    """One tensor of all sequences, and a mask of its real tokens.

    Args:
        sequences: a list of at least one tensor; sequence i has the shape (n_i, d), n_i ≥ 1.

    Returns:
        (padded, mask). padded has the shape (batch, n_max, d), n_max the longest length:
        the tokens of each sequence first, then zeros, in the dtype of the sequences. mask has
        the shape (batch, n_max) and the dtype torch.bool: true at real tokens, also where a
        real token happens to be all zeros. The order of the sequences stays.
    """
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)  # (batch, n_max, d)
    mask = torch.zeros(len(sequences), n_max, dtype=torch.bool)  # (batch, n_max)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence  # (n_i, d)
        mask[i, : len(sequence)] = True
    return padded, mask


def _sequences(rng, lengths, d, dtype=torch.float32):
    return [torch.from_numpy(rng.normal(size=(n, d))).to(dtype) for n in lengths]


# ---- cases ---------------------------------------------------------------------------------


@pad_batch.case(
    "four sequences, the longest in the middle",
    separates=[
        "mask_inverted",
        "mask_of_numbers",
        "padded_in_front",
        "last_token_repeated",
        "length_of_the_first",
        "cut_to_the_shortest",
        "everything_real",
        "tokens_first",
        "sorted_by_length",
        "mask_one_too_long",
        "mask_with_features",
    ],
)
def longest_in_the_middle(rng):
    return {"sequences": _sequences(rng, [3, 7, 2, 5], d=4)}


@pad_batch.case("a real token that is all zeros", separates=["guessed_from_zeros"])
def zero_token(rng):
    sequences = _sequences(rng, [4, 6, 3], d=5)
    sequences[0][1] = 0.0
    sequences[1][5] = 0.0  # the last one, too
    return {"sequences": sequences}


@pad_batch.case("float64 sequences", separates=["always_float32"])
def in_float64(rng):
    return {"sequences": _sequences(rng, [2, 5, 3], d=3, dtype=torch.float64)}


@pad_batch.case(
    "as many sequences as tokens and features",
    separates=["tokens_first", "padded_in_front", "mask_inverted"],
    hidden=True,
)
def cube(rng):
    return {"sequences": _sequences(rng, [4, 1, 3, 2], d=4)}


@pad_batch.case("float16 sequences", separates=["always_float32"], hidden=True)
def half(rng):
    return {"sequences": _sequences(rng, [1, 4, 2], d=6, dtype=torch.float16)}


@pad_batch.case("one sequence", kind="robustness")
def one_sequence(rng):
    return {"sequences": _sequences(rng, [5], d=3)}


@pad_batch.case("sequences of one length", kind="robustness", hidden=True)
def one_length(rng):
    return {"sequences": _sequences(rng, [3, 3, 3, 3], d=2)}


@pad_batch.case("one token each, one feature", kind="robustness", hidden=True)
def smallest(rng):
    return {"sequences": _sequences(rng, [1, 1], d=1)}


# ---- misconceptions ------------------------------------------------------------------------


@pad_batch.misconception(
    "The mask is true at padding instead of real tokens.",
    hint="May a query attend to a position where your mask is true?",
    credit=0.5,
)
def mask_inverted(sequences):
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    mask = torch.ones(len(sequences), n_max, dtype=torch.bool)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
        mask[i, : len(sequence)] = False
    return padded, mask


@pad_batch.misconception(
    "The mask holds numbers instead of truth values.",
    hint="Which dtype is asked for, and what does the operator ~ do to the number 1?",
    credit=0.5,
)
def mask_of_numbers(sequences):
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    mask = torch.zeros(len(sequences), n_max)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
        mask[i, : len(sequence)] = True
    return padded, mask


@pad_batch.misconception(
    "Puts the padding in front of the tokens.",
    hint="At which position does the first token of a short sequence end up?",
)
def padded_in_front(sequences):
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    mask = torch.zeros(len(sequences), n_max, dtype=torch.bool)
    for i, sequence in enumerate(sequences):
        padded[i, n_max - len(sequence) :] = sequence
        mask[i, n_max - len(sequence) :] = True
    return padded, mask


@pad_batch.misconception(
    "Fills up with copies of the last token instead of zeros.",
    hint="What should the rows after the end of a sequence hold?",
    credit=0.5,
)
def last_token_repeated(sequences):
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    mask = torch.zeros(len(sequences), n_max, dtype=torch.bool)
    for i, sequence in enumerate(sequences):
        padded[i] = sequence[-1]
        padded[i, : len(sequence)] = sequence
        mask[i, : len(sequence)] = True
    return padded, mask


@pad_batch.misconception(
    "Takes the length of the first sequence for the longest one.",
    hint="What happens to a sequence that is longer than the first?",
)
def length_of_the_first(sequences):
    n_max = len(sequences[0])
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    mask = torch.zeros(len(sequences), n_max, dtype=torch.bool)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
        mask[i, : len(sequence)] = True
    return padded, mask


@pad_batch.misconception(
    "Cuts all sequences to the shortest one, which loses tokens.",
    hint="Count the tokens that go in and those that come out. Are some gone?",
)
def cut_to_the_shortest(sequences):
    n_max = min(len(sequence) for sequence in sequences)
    padded = torch.stack([sequence[:n_max] for sequence in sequences])
    mask = torch.ones(len(sequences), n_max, dtype=torch.bool)
    return padded, mask


@pad_batch.misconception(
    "The mask is true everywhere, so that padding counts as tokens.",
    hint="What does the mask of a short sequence say about the zeros behind it?",
    credit=0.25,
)
def everything_real(sequences):
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    mask = torch.ones(len(sequences), n_max, dtype=torch.bool)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
    return padded, mask


@pad_batch.misconception(
    "Puts the tokens on the first axis and the batch on the second, as pad_sequence does when it "
    "is not told otherwise.",
    hint="Which axis of your result counts the sequences?",
    credit=0.5,
)
def tokens_first(sequences):
    padded = pad_sequence(sequences)
    mask = pad_sequence([torch.ones(len(sequence), dtype=torch.bool) for sequence in sequences])
    return padded, mask


@pad_batch.misconception(
    "Sorts the sequences by length, so that they no longer stand where the caller put them.",
    hint="Which of the sequences is the first of your batch?",
)
def sorted_by_length(sequences):
    sequences = sorted(sequences, key=len, reverse=True)
    n_max = len(sequences[0])
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    mask = torch.zeros(len(sequences), n_max, dtype=torch.bool)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
        mask[i, : len(sequence)] = True
    return padded, mask


@pad_batch.misconception(
    "Guesses what is padding from the zeros, so that a real token of zeros counts as padding.",
    hint="What tells a token that happens to be zero from padding, if not its values?",
    credit=0.5,
)
def guessed_from_zeros(sequences):
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
    mask = (padded != 0).any(dim=-1)
    return padded, mask


@pad_batch.misconception(
    "The mask is true at one position too many.",
    hint="A sequence of n tokens fills the positions from 0 on. Which is its last one?",
    credit=0.25,
)
def mask_one_too_long(sequences):
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    mask = torch.zeros(len(sequences), n_max, dtype=torch.bool)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
        mask[i, : len(sequence) + 1] = True
    return padded, mask


@pad_batch.misconception(
    "Makes a mask entry for every feature instead of every token.",
    hint="Can one feature of a token be padding while another one is not?",
    credit=0.5,
)
def mask_with_features(sequences):
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = sequences[0].new_zeros(len(sequences), n_max, d)
    mask = torch.zeros(len(sequences), n_max, d, dtype=torch.bool)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
        mask[i, : len(sequence)] = True
    return padded, mask


@pad_batch.misconception(
    "Makes the padded tensor in the default dtype, whatever that of the sequences is.",
    hint="Which dtype do the sequences have, and which your result?",
    credit=0.5,
)
def always_float32(sequences):
    n_max = max(len(sequence) for sequence in sequences)
    d = sequences[0].shape[-1]
    padded = torch.zeros(len(sequences), n_max, d)
    mask = torch.zeros(len(sequences), n_max, dtype=torch.bool)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
        mask[i, : len(sequence)] = True
    return padded, mask


# ---- right but unusual ---------------------------------------------------------------------


@pad_batch.alternative("pad_sequence, and lengths compared with positions")
def library(sequences):
    padded = pad_sequence(sequences, batch_first=True)
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    return padded, torch.arange(padded.shape[1]) < lengths[:, None]


@pad_batch.alternative("each sequence padded on its own, returned in a list")
def stacked(sequences):
    n_max = max(map(len, sequences))
    rows, masks = [], []
    for sequence in sequences:
        more = n_max - len(sequence)
        rows.append(torch.nn.functional.pad(sequence, (0, 0, 0, more)))
        masks.append([True] * len(sequence) + [False] * more)
    return [torch.stack(rows), torch.tensor(masks)]


@pad_batch.alternative("the mask first, then all tokens at once")
def mask_first(sequences):
    lengths = [sequence.size(0) for sequence in sequences]
    mask = torch.arange(max(lengths)).expand(len(lengths), -1) < torch.tensor(lengths).unsqueeze(1)
    padded = torch.zeros(*mask.shape, sequences[0].size(1), dtype=sequences[0].dtype)
    padded[mask] = torch.cat(sequences)
    return padded, mask
