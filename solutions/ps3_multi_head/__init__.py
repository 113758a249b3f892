"""Problem set 3: multi-head attention.

Five exercises: cut tokens into heads and put them together again, the formula as it stands in the
paper, the layer that real models use, and the number of its parameters. Tensors hold tokens x
features, batch first: row i belongs to token i.
"""

# What submissions may import besides the standard library.
PACKAGES = ("numpy", "torch")
