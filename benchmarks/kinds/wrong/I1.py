# ps3/count_parameters: counts full projections for each head.
# Named: heads_multiply_projections
def count_parameters(d_model, num_heads, bias=True):
    layer = d_model * d_model + (d_model if bias else 0)
    return num_heads * 3 * layer + layer
