import numpy as np


def double(x):
    return 2 * x


def outer(a, b:
    return a[:, None] * b


def fourfold(x):
    return double(double(x))


q_kind = "linear"
q_twice = 42
