import numpy as np


def double(x):
    return 2 * x


def outer(a, b):
    return a[:, None] * b


def fourfold(x):
    return double(double(x))


q_kind = "linear"
q_twice = 42
q_linear_maps = ["cedar", "amber"]
q_outer_shape = (6, 8)
student_id = "right_module"
