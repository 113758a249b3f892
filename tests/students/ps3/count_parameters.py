"""What students wrote for `count_parameters`: 4 d² and 4 d of biases."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "I1",
        "times the number of heads",
        """
def count_parameters(d_model, num_heads, bias=True):
    per_head = 3 * d_model * d_model + (3 * d_model if bias else 0)
    out = d_model * d_model + (d_model if bias else 0)
    return num_heads * per_head + out
""",
        "heads_multiply_projections",
        fault="num_heads * per_head",
    ),
    wrong(
        "I2",
        "no output projection",
        """
def count_parameters(d_model, num_heads, bias=True):
    n = d_model * d_model
    if bias:
        n += d_model
    return 3 * n
""",
        "no_output_layer",
        fault="return 3 * n",
    ),
    wrong(
        "I2",
        "biases never counted",
        """
def count_parameters(d_model, num_heads, bias=True):
    d_k = d_model // num_heads
    return num_heads * (3 * d_model * d_k) + (num_heads * d_k) * d_model
""",
        "no_biases",
        fault="return num_heads *",
    ),
    wrong(
        "own",
        "biases always counted",
        """
def count_parameters(d_model, num_heads, bias=True):
    # W + b for q, k, v, o
    return 4 * (d_model ** 2 + d_model)
""",
        "biases_always",
        fault="4 * (d_model ** 2 + d_model)",
    ),
    wrong(
        "own",
        "only the output projection has a bias",
        """
def count_parameters(d_model, num_heads, bias=True):
    total = 4 * d_model**2
    if bias:
        total += d_model
    return total
""",
        "bias_of_output_only",
        fault="total += d_model",
    ),
    wrong(
        "own",
        "one bias number for each layer",
        """
def count_parameters(d_model, num_heads, bias=True):
    return 4 * d_model * d_model + 4 * int(bias)
""",
        "one_bias_number",
        fault="4 * int(bias)",
    ),
    wrong(
        "own",
        "projections to a single head's width",
        """
def count_parameters(d_model, num_heads, bias=True):
    d_head = d_model // num_heads
    qkv = 3 * (d_model * d_head + (d_head if bias else 0))
    o = d_model * d_model + (d_model if bias else 0)
    return qkv + o
""",
        "one_head_only",
        fault=("qkv = 3 *", "d_head = d_model // num_heads", "return qkv + o"),
    ),
    wrong(
        "I2",
        "the output projection without its bias",
        """
def count_parameters(d_model, num_heads, bias=True):
    qkv = 3 * d_model * (d_model + (1 if bias else 0))
    return qkv + d_model * d_model
""",
        "output_without_bias",
        fault="return qkv + d_model * d_model",
    ),
    wrong(
        "I1",
        "the shared output projection counted once for each head too",
        """
def count_parameters(d_model, num_heads, bias=True):
    one = d_model * d_model + bias * d_model
    return 4 * one * num_heads
""",
        "heads_multiply_all",
        fault="4 * one * num_heads",
    ),
    right(
        "counts a real module's parameters",
        """
def count_parameters(d_model, num_heads, bias=True):
    m = nn.ModuleList([nn.Linear(d_model, d_model, bias=bias) for _ in range(4)])
    return sum(p.numel() for p in m.parameters() if p.requires_grad)
""",
    ),
    right(
        "head by head",
        """
def count_parameters(d_model, num_heads, bias=True):
    d = d_model / num_heads
    n = 0
    for _ in range(num_heads):
        for _ in "qkv":
            n += d_model * d + bias * d
    n += d_model * d_model + bias * d_model
    return round(n)
""",
    ),
    right(
        "as a float",
        """
import numpy as np

def count_parameters(d_model, num_heads, bias=True):
    sizes = np.array([d_model * d_model, d_model if bias else 0])
    return 4.0 * sizes.sum()
""",
    ),
]
