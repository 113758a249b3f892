"""What stands around an entry in ps2: imports, the other exercises (right), a main block."""

header = """
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
"""

main = """
if __name__ == "__main__":
    torch.manual_seed(0)
    print(torch.randn(2, 3))
"""

RIGHT = {
    "scaled_dot_product_attention": """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
""",
    "causal_mask": """
def causal_mask(n):
    return torch.tril(torch.ones(n, n)).bool()
""",
    "padding_mask": """
def padding_mask(lengths, n_max):
    return torch.arange(n_max) < lengths[:, None, None]
""",
}
