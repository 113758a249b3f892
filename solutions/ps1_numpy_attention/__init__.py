"""Problem set 1: self-attention in NumPy, one column per token.

Eight small functions, from the projection of the tokens to a whole layer of self-attention
and the two reasons (variance and saturation) for the scale in it. Arrays hold features x
tokens: column j belongs to token j. All later problem sets hold tokens x features.
"""

# What submissions may import besides the standard library.
PACKAGES = ("numpy",)
