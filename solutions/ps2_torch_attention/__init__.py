"""Problem set 2: attention in PyTorch, one row per token.

Scaled dot-product attention for any number of leading dimensions, the two masks that everybody
needs, self- and cross-attention as modules, and the projections' initial weights. Tensors hold
tokens x features, batch first: row i belongs to token i, as in all problem sets but the first.
"""

# What submissions may import besides the standard library.
PACKAGES = ("numpy", "torch")
