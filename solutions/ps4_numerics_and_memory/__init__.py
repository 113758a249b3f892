"""Problem set 4: attention in the precision and the memory that a machine really has.

Seven small functions: softmax that survives huge logits and fully masked rows, batches of
sequences of different length, attention without its n_q x n_k matrix, attention in half
precision, and the two sums that say what attention costs. Tensors are in the row layout:
tokens x features, batch first.
"""

# What submissions may import besides the standard library.
PACKAGES = ("torch", "numpy")
