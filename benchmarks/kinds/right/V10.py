# ps1/softmax: works on the transpose, returns it in Fortran order.
import numpy as np


def softmax(scores):
    by_query = np.ascontiguousarray(np.transpose(scores))  # one row per query
    e = np.exp(by_query - by_query.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).T  # in Fortran order
