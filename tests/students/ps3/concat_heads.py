"""What students wrote for `concat_heads`: (batch, h, n, d_head) → (batch, n, h·d_head)."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "H2",
        "reshape without swapping back",
        """
def concat_heads(heads):
    b, h, n, d = heads.shape
    return heads.reshape(b, n, h * d)
""",
        "reshape_alone",
        fault="heads.reshape(b, n, h * d)",
    ),
    wrong(
        "H10",
        "view on a transposed tensor",
        """
def concat_heads(heads):
    b, h, n, d = heads.shape
    return heads.transpose(1, 2).view(b, n, h * d)
""",
        "view_refused",
        fault=".view(b, n, h * d)",
    ),
    wrong(
        "own",
        "heads interleaved: stacked at the end",
        """
def concat_heads(heads):
    parts = heads.unbind(dim=1)
    return torch.stack(parts, dim=-1).flatten(start_dim=2)
""",
        "interleaved",
        fault="dim=-1).flatten",
    ),
    wrong(
        "own",
        "the mean over the heads",
        """
def concat_heads(heads):
    return heads.mean(dim=1)
""",
        "averaged",
        fault="heads.mean(dim=1)",
    ),
    wrong(
        "own",
        "concatenated along the tokens",
        """
def concat_heads(heads):
    hs = [heads[:, i] for i in range(heads.size(1))]
    return torch.cat(hs, dim=1)
""",
        "along_the_tokens",
        fault="torch.cat(hs, dim=1)",
    ),
    wrong(
        "own",
        "swapped but not merged",
        """
def concat_heads(heads):
    return heads.permute(0, 2, 1, 3).contiguous()
""",
        "not_merged",
        fault="heads.permute(0, 2, 1, 3).contiguous()",
    ),
    wrong(
        "own",
        "summed over the heads",
        """
def concat_heads(heads):
    out = 0
    for i in range(heads.shape[1]):
        out = out + heads[:, i, :, :]
    return out
""",
        "summed",
        fault=("out = out + heads", "out = 0"),
    ),
    wrong(
        "own",
        "swaps the wrong axes (2 and 3)",
        """
def concat_heads(heads):
    b, h, n, d = heads.shape
    x = heads.transpose(2, 3).contiguous()
    return x.view(b, n, h * d)
""",
        "wrong_axes_swapped",
        fault="heads.transpose(2, 3)",
    ),
    wrong(
        "own",
        "heads in reversed order",
        """
def concat_heads(heads):
    result = heads[:, 0]
    for i in range(1, heads.shape[1]):
        result = torch.cat([heads[:, i], result], dim=-1)
    return result
""",
        fault="torch.cat([heads[:, i], result]",
    ),
    right(
        "cat of the heads",
        """
def concat_heads(heads):
    return torch.cat([heads[:, i] for i in range(heads.shape[1])], dim=-1)
""",
    ),
    right(
        "einsum for the swap",
        """
def concat_heads(heads):
    swapped = torch.einsum("bhnd->bnhd", heads)
    return swapped.reshape(*swapped.shape[:2], -1)
""",
    ),
    right(
        "contiguous and view",
        """
def concat_heads(heads):
    bs, h, seq, dim = heads.size()
    heads = heads.permute(0, 2, 1, 3).contiguous()
    assert heads.shape == (bs, seq, h, dim)
    return heads.view(bs, seq, h * dim)   # 合并
""",
    ),
]
