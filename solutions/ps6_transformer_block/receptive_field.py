"""How far does a stack of convolutions see?

A layer of self-attention sees all n tokens at once. A convolution sees its kernel, and only a
stack of them sees further: this is how deep it has to be to match one layer of attention.
"""

import torch

from autograder import exercise


@exercise(points=2, order=5)
def receptive_field(num_layers: int, kernel_size: int) -> int:
    """Inputs that one output of a stack of convolutions depends on.

    Args:
        num_layers: convolutions, one after the other, of stride 1 and without dilation; 0 or more.
        kernel_size: inputs that one of them looks at, at least 1.

    Returns:
        A whole number. Without any layer an output is its own input: 1.
    """
    return 1 + num_layers * (kernel_size - 1)  # each layer adds a kernel but for the overlap


# ---- cases ---------------------------------------------------------------------------------

ALL = [
    "no_overlap",
    "multiplied",
    "one_missing",
    "one_side",
    "doubling_dilation",
    "last_layer_only",
    "layers_and_kernel_swapped",
]


@receptive_field.case("several layers, an odd kernel", separates=ALL)
def several(rng):
    return {"num_layers": int(rng.integers(4, 9)), "kernel_size": 3}


@receptive_field.case("a wide kernel", separates=["no_overlap", "multiplied", "one_side"])
def wide(rng):
    return {"num_layers": int(rng.integers(3, 6)), "kernel_size": int(rng.choice([7, 9, 11]))}


@receptive_field.case("an even kernel", separates=["one_side", "one_missing"], hidden=True)
def even(rng):
    return {"num_layers": int(rng.integers(4, 8)), "kernel_size": int(rng.choice([2, 6]))}


@receptive_field.case("no layer", separates=["no_overlap", "one_missing", "last_layer_only"])
def no_layer(rng):
    return {"num_layers": 0, "kernel_size": 5}


@receptive_field.case("kernels of one", kind="robustness", hidden=True)
def kernels_of_one(rng):
    return {"num_layers": int(rng.integers(2, 9)), "kernel_size": 1}


# ---- misconceptions ------------------------------------------------------------------------


@receptive_field.misconception(
    "Adds up the kernels as if they lay side by side: neighbouring layers overlap.",
    hint="Two layers of kernel 3: which inputs does one output see? Count them on paper.",
    credit=0.5,
)
def no_overlap(num_layers, kernel_size):
    return num_layers * kernel_size


@receptive_field.misconception(
    "Lets the field grow by the kernel size with each layer, as a factor.",
    hint="How many inputs does a second layer add to what the first one sees?",
)
def multiplied(num_layers, kernel_size):
    return kernel_size**num_layers


@receptive_field.misconception(
    "Forgets the position itself: what each layer adds comes on top of 1.",
    hint="What does a stack of no layers see?",
    credit=0.5,
)
def one_missing(num_layers, kernel_size):
    return num_layers * (kernel_size - 1)


@receptive_field.misconception(
    "Counts what is seen on one side only.",
    hint="Does a kernel of 3 look left, right, or both ways?",
    credit=0.25,
)
def one_side(num_layers, kernel_size):
    return 1 + num_layers * ((kernel_size - 1) // 2)


@receptive_field.misconception(
    "Doubles the step from layer to layer, which is what dilated convolutions do.",
    hint="Is there any dilation here?",
    credit=0.25,
)
def doubling_dilation(num_layers, kernel_size):
    return 1 + (2**num_layers - 1) * (kernel_size - 1)


@receptive_field.misconception(
    "Counts the last layer only, whose inputs see further themselves.",
    hint="The inputs of the last layer are outputs of another one. What do these depend on?",
)
def last_layer_only(num_layers, kernel_size):
    return kernel_size


@receptive_field.misconception(
    "Swaps the number of layers and the kernel size.",
    hint="Which of the two sizes is taken less one, and why?",
)
def layers_and_kernel_swapped(num_layers, kernel_size):
    return 1 + kernel_size * (num_layers - 1)


# ---- right but unusual ---------------------------------------------------------------------


@receptive_field.alternative("layer by layer, as a float")
def layer_by_layer(num_layers, kernel_size):
    seen = 1.0
    for _ in range(num_layers):
        seen += kernel_size - 1.0
    return seen


@receptive_field.alternative("counted in the gradient of a real stack")
def counted(num_layers, kernel_size):
    length = num_layers * kernel_size + 1
    x = torch.ones(1, 1, length + num_layers * kernel_size, requires_grad=True)
    y = x
    for _ in range(num_layers):
        y = torch.nn.functional.conv1d(y, torch.ones(1, 1, kernel_size))
    (gradient,) = torch.autograd.grad(y[0, 0, 0], x)
    return (gradient != 0).sum()
