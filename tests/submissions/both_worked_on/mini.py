import numpy as np


def double(x):
    """The stub's docstring."""
    # YOUR CODE HERE
    raise NotImplementedError()


def outer(a, b):
    return a[:, None] * b


def fourfold(x):
    """The stub's docstring."""
    # YOUR CODE HERE
    raise NotImplementedError()


q_kind = None  # one of the options, in quotes
q_twice = None  # a number
