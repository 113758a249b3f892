"""What students wrote for `padding_mask`: true where a real token stands."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "M1",
        "true at the padding",
        """
def padding_mask(lengths, n_max):
    positions = torch.arange(n_max).unsqueeze(0)
    mask = positions >= lengths.unsqueeze(1)      # key_padding_mask
    return mask.unsqueeze(1)
""",
        "marks_the_padding",
        fault="positions >= lengths",
    ),
    wrong(
        "own",
        "off by one: <= length",
        """
def padding_mask(lengths, n_max):
    r = torch.arange(n_max)
    return (r[None, None, :] <= lengths[:, None, None])
""",
        "one_too_many",
        fault="<= lengths[:, None, None]",
    ),
    wrong(
        "own",
        "without the axis in the middle",
        """
def padding_mask(lengths, n_max):
    return torch.arange(n_max)[None, :] < lengths[:, None]
""",
        "no_query_axis",
        fault="torch.arange(n_max)[None, :] < lengths[:, None]",
    ),
    wrong(
        "M14",
        "the axis at the end: masks queries",
        """
def padding_mask(lengths, n_max):
    m = torch.arange(n_max).expand(len(lengths), n_max) < lengths.unsqueeze(-1)
    return m.unsqueeze(-1)
""",
        "queries_hidden",
        fault="m.unsqueeze(-1)",
    ),
    wrong(
        "own",
        "as wide as the longest sequence, not n_max",
        """
def padding_mask(lengths, n_max):
    n = int(lengths.max())
    return (torch.arange(n)[None, :] < lengths[:, None])[:, None, :]
""",
        "longest_is_enough",
        fault=("n = int(lengths.max())", "torch.arange(n)"),
    ),
    wrong(
        "own",
        "padding on the left",
        """
def padding_mask(lengths, n_max):
    batch = lengths.shape[0]
    mask = torch.zeros(batch, 1, n_max, dtype=torch.bool)
    for i, l in enumerate(lengths.tolist()):
        mask[i, 0, n_max - l:] = True
    return mask
""",
        "padding_first",
        fault="n_max - l:",
    ),
    wrong(
        "own",
        "full (batch, n, n), queries masked as well",
        """
def padding_mask(lengths, n_max):
    ok = torch.arange(n_max)[None, :] < lengths[:, None]     # (b, n)
    return ok[:, :, None] & ok[:, None, :]
""",
        "both_hidden",
        fault="ok[:, :, None] & ok[:, None, :]",
    ),
    wrong(
        "own",
        "zeros and ones as floats",
        """
def padding_mask(lengths, n_max):
    out = torch.zeros((len(lengths), 1, n_max))
    for b in range(len(lengths)):
        out[b, :, : lengths[b]] = 1
    return out
""",
        "numbers",
        fault=("out = torch.zeros", "return out"),
    ),
    wrong(
        "own",
        "only the last real token is marked (scatter at the length)",
        """
def padding_mask(lengths, n_max):
    b = lengths.size(0)
    mask = torch.zeros(b, n_max, dtype=torch.bool)
    mask[torch.arange(b), (lengths - 1).clamp(min=0)] = True
    return mask.unsqueeze(1)
""",
        fault="mask[torch.arange(b)",
    ),
    wrong(
        "own",
        "the last index is taken away: range(length - 1)",
        """
def padding_mask(lengths, n_max):
    rows = []
    for l in lengths:
        rows.append([1 if j < l - 1 else 0 for j in range(n_max)])
    return torch.tensor(rows).bool().unsqueeze(1)
""",
        "one_too_few",
        fault="j < l - 1",
    ),
    right(
        "cumulative sum of ones",
        """
def padding_mask(lengths, n_max):
    steps = torch.ones(lengths.numel(), n_max, dtype=torch.long).cumsum(dim=1)   # 1..n
    return (steps <= lengths.view(-1, 1)).view(-1, 1, n_max)
""",
    ),
    right(
        "a list comprehension",
        """
def padding_mask(lengths, n_max):
    return torch.stack([torch.arange(n_max) < int(l) for l in lengths])[:, None]
""",
    ),
    right(
        "slices set in a loop",
        """
def padding_mask(lengths, n_max):
    B = lengths.shape[0]
    m = torch.zeros([B, 1, n_max]).bool()
    for i in range(B):
        L = lengths[i].item()   # длина
        m[i, 0, :L] = True
    return m
""",
    ),
]
