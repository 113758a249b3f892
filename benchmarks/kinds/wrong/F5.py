# ps1/softmax: subtracts one maximum of the whole matrix.
# Named: global_maximum
import numpy as np


def softmax(scores):
    e = np.exp(scores - np.max(scores))
    return e / np.sum(e, axis=0, keepdims=True)
