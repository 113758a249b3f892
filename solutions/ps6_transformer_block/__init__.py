"""Problem set 6: from attention to a transformer block.

Layer normalisation, dropout on the weights, and the block that holds attention, a small network,
two residual paths and two norms; then what such a block can and cannot tell apart, how far it sees,
and how to look at what it does. Tensors are in the row layout: tokens x features, batch first.
"""

# What submissions may import besides the standard library.
PACKAGES = ("torch", "numpy", "matplotlib")

# What students get solved, and why that gives nothing away.
GIVEN = {
    "MultiHeadAttention": "a block is built around it: the set is released after ps3 is closed",
}
