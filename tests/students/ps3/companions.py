"""What stands around an entry in ps3: imports, an earlier homework, the other exercises (right)."""

header = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import nn, Tensor   # again

# from homework 2
def attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
"""

main = """
if __name__ == "__main__":
    print(torch.randn(2, 3))
"""

RIGHT = {
    "split_heads": """
def split_heads(x, num_heads):
    batch, n, width = x.shape
    return x.reshape(batch, n, num_heads, width // num_heads).transpose(1, 2)
""",
    "concat_heads": """
def concat_heads(heads):
    return heads.transpose(1, 2).flatten(2)
""",
}
