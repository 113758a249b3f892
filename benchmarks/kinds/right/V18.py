# ps3/count_parameters: returns an array without dimensions.
import numpy as np


def count_parameters(d_model, num_heads, bias=True):
    return np.array(4 * d_model * (d_model + bool(bias)))
