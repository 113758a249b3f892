"""What students wrote for `causal_mask`: bool, the lower triangle with the diagonal."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "M2",
        "triu for tril",
        """
def causal_mask(n):
    return torch.triu(torch.ones(n, n, dtype=torch.bool))
""",
        "looks_ahead",
        fault="torch.triu",
    ),
    wrong(
        "M3",
        "without the diagonal",
        """
def causal_mask(n):
    mask = torch.tril(torch.ones((n, n)), diagonal=-1)
    return mask == 1
""",
        "excludes_diagonal",
        fault="diagonal=-1",
    ),
    wrong(
        "M4",
        "one future token too many",
        """
def causal_mask(n):
    return torch.ones(n, n).tril(1).bool()
""",
        "one_too_many",
        fault=".tril(1)",
    ),
    wrong(
        "M1",
        "true at the future: the mask of nn.Transformer",
        """
def causal_mask(n):
    # True = not allowed to attend (pytorch convention)
    return torch.triu(torch.ones(n, n), diagonal=1).bool()
""",
        "marks_the_hidden",
        fault="torch.triu",
    ),
    wrong(
        "own",
        "additive: zeros and minus infinity",
        """
def causal_mask(n):
    mask = torch.full((n, n), float("-inf"))
    return torch.triu(mask, diagonal=1)
""",
        "added_mask",
        fault=('torch.full((n, n), float("-inf"))', "torch.triu(mask"),
    ),
    wrong(
        "own",
        "float instead of bool",
        """
def causal_mask(n):
    return torch.tril(torch.ones(n, n))
""",
        "numbers",
        fault="torch.tril(torch.ones(n, n))",
    ),
    wrong(
        "own",
        "with axes for batch and heads",
        """
def causal_mask(n):
    attn_shape = (1, n, n)
    subsequent_mask = torch.triu(torch.ones(attn_shape), diagonal=1).type(torch.uint8)
    return subsequent_mask == 0
""",
        "with_a_batch_axis",
        fault=("attn_shape = (1, n, n)", "subsequent_mask == 0"),
    ),
    wrong(
        "M3",
        "loops up to i and leaves out i itself",
        """
def causal_mask(n):
    m = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(i):
            m[i, j] = True
    return m
""",
        "excludes_diagonal",
        fault="for j in range(i)",
    ),
    wrong(
        "own",
        "only the token itself and its predecessor",
        """
def causal_mask(n):
    i = torch.arange(n)
    d = i[:, None] - i[None, :]
    return (d == 0) | (d == 1)
""",
        fault="(d == 0) | (d == 1)",
    ),
    wrong(
        "M2",
        "compares the indices the wrong way round",
        """
def causal_mask(n):
    idx = torch.arange(n)
    return idx.unsqueeze(0) >= idx.unsqueeze(1)
""",
        "looks_ahead",
        fault="idx.unsqueeze(0) >= idx.unsqueeze(1)",
    ),
    right(
        "comparison of indices",
        """
def causal_mask(n):
    pos = torch.arange(n)
    return pos[None, :] <= pos[:, None]
""",
    ),
    right(
        "a list of lists",
        """
def causal_mask(n: int) -> torch.Tensor:
    rows = [[j <= i for j in range(n)] for i in range(n)]
    print("mask", n)
    return torch.tensor(rows)
""",
    ),
    right(
        "not triu",
        """
def causal_mask(n):
    return ~torch.triu(torch.ones(n, n, dtype=bool), 1)
""",
    ),
]
