"""What students wrote for `split_heads`: (batch, n, h·d_head) → (batch, h, n, d_head)."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "H1",
        "one view to the wanted shape",
        """
def split_heads(x, num_heads):
    batch, n, d_model = x.shape
    return x.view(batch, num_heads, n, d_model // num_heads)
""",
        "reshape_alone",
        fault="x.view(batch, num_heads, n",
    ),
    wrong(
        "own",
        "head index innermost: channels dealt out like cards",
        """
def split_heads(x, num_heads):
    b, n, d = x.size()
    x = x.reshape(b, n, d // num_heads, num_heads)
    return x.permute(0, 3, 1, 2)
""",
        "interleaved",
        fault=("d // num_heads, num_heads", "x.permute(0, 3, 1, 2)"),
    ),
    wrong(
        "own",
        "the transpose is missing",
        """
def split_heads(x, num_heads):
    new_shape = x.size()[:-1] + (num_heads, x.size(-1) // num_heads)
    return x.view(*new_shape)
""",
        "tokens_before_heads",
        fault=("new_shape =", "x.view(*new_shape)"),
    ),
    wrong(
        "own",
        "heads folded into the batch",
        '''
def split_heads(x, num_heads):
    """(batch_size, num_steps, num_hiddens) -> (batch_size * num_heads, num_steps, ...)"""
    X = x.reshape(x.shape[0], x.shape[1], num_heads, -1)
    X = X.permute(0, 2, 1, 3)
    return X.reshape(-1, X.shape[2], X.shape[3])
''',
        "heads_in_the_batch",
        fault="X.reshape(-1",
    ),
    wrong(
        "own",
        "num_heads taken for the width of a head",
        """
def split_heads(x, num_heads):
    b, n, d = x.shape
    depth = num_heads
    return x.view(b, n, -1, depth).transpose(1, 2)
""",
        "number_for_width",
        fault=("depth = num_heads", "x.view(b, n, -1, depth)"),
    ),
    wrong(
        "own",
        "heads before the batch",
        """
def split_heads(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=0)
""",
        "heads_before_batch",
        fault="dim=0)",
    ),
    wrong(
        "H7",
        "every head gets the full width",
        """
def split_heads(x, num_heads):
    # copy the input for every head
    return x.unsqueeze(1).repeat(1, num_heads, 1, 1)
""",
        "full_width",
        fault="x.unsqueeze(1).repeat",
    ),
    wrong(
        "own",
        "tokens cut into groups, not channels",
        """
def split_heads(x, num_heads):
    parts = torch.tensor_split(x, num_heads, dim=1)
    return torch.stack([p for p in parts], dim=1)
""",
        "cut_into_stretches",
        fault="tensor_split(x, num_heads, dim=1)",
    ),
    wrong(
        "H1",
        "view after a transpose of the input",
        """
def split_heads(x, num_heads):
    b, n, d = x.shape
    dh = d // num_heads
    y = x.transpose(1, 2).contiguous()      # (b, d, n)
    return y.view(b, num_heads, n, dh)
""",
        "moved_then_reshaped",
        fault=("x.transpose(1, 2).contiguous()", "y.view(b, num_heads"),
    ),
    right(
        "chunks stacked",
        """
def split_heads(x, num_heads):
    return torch.stack(torch.chunk(x, num_heads, dim=-1), dim=1)
""",
    ),
    right(
        "unflatten and movedim",
        """
def split_heads(x, num_heads):
    y = x.unflatten(-1, (num_heads, -1))
    y = y.movedim(-2, 1)
    return y.contiguous()
""",
    ),
    right(
        "slices written into an empty tensor",
        """
def split_heads(x, num_heads):
    B, N, D = x.shape
    dh = int(D / num_heads)
    out = x.new_zeros(B, num_heads, N, dh)
    for h in range(num_heads):
        out[:, h] = x[:, :, h * dh:(h + 1) * dh]
    return out
""",
    ),
]
