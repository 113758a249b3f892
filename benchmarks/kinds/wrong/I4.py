# ps2/init_projections: takes the standard deviation for the uniform's bound.
# Named: bound_is_std
from math import sqrt

from torch import nn


def init_projections(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            a = gain * sqrt(2 / (layer.in_features + layer.out_features))
            nn.init.uniform_(layer.weight, -a, a)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module
