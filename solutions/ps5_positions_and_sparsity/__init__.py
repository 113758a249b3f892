"""Problem set 5: where a token stands, and which tokens it may look at.

Ten functions: three ways of telling attention about positions (sinusoids, a learned bias,
rotation), and four ways of looking at fewer tokens (a sliding window, windows of an image,
patches, the neighbours in a graph). Arrays hold tokens x features, batch first: row i belongs
to token i.
"""

# What submissions may import besides the standard library.
PACKAGES = ("torch", "numpy")
