def double(number):
    return number**2


def outer(a, b):
    return a[:, None] * b


def fourfold(x):
    return double(number=double(x))


q_kind = "linear"
q_twice = 42
