# ps3/split_heads: splits by reshape alone.
# Named: reshape_alone
def split_heads(x, num_heads):
    batch, n, width = x.shape
    return x.reshape(batch, num_heads, n, width // num_heads)
