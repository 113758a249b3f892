def double(x):
    return x**2


def outer(a, b):
    return a[:, None] * b


def fourfold(x):
    return double(double(x)) + 1


q_kind = "linear"
q_twice = 42
