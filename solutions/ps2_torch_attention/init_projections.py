"""Give projections the initial weights that keep the scores in softmax's soft range.

Xavier's rule draws the weights of a layer uniformly, with a variance that follows from the
layer's two widths. `gain` stretches the weights; it is no standard deviation itself.
"""

import copy
import math

import numpy as np
import torch
from torch import nn

from autograder import DescribeModule, Interval, Probe, Program, Verdict, exercise


@exercise(points=4, order=6, framework="torch")
def init_projections(module: nn.Module, gain: float = 1.0) -> nn.Module:
    """Xavier-uniform weights and zero biases, in place.

    Args:
        module: any module, with `nn.Linear` layers anywhere in it, or an `nn.Linear` itself.
            Every `nn.Linear` gets new weights, drawn uniformly from an interval around 0, with
            variance gain² · 2 / (fan_in + fan_out), where fan_in and fan_out are the widths of
            what goes into the layer and what comes out. Where it has a bias, that becomes 0.
        gain: a positive number.

    Returns:
        The module that was given. Its parameters are the same objects as before, with other
        values; layers of other kinds are left as they are.
    """
    for layer in module.modules():  # the module itself too, and what is inside at any depth
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=gain)  # (fan_out, fan_in)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)  # (fan_out,)
    return module


# The name above stands for the plain reference once the file has been read.
_call = init_projections.call


@init_projections.check("weights as the rule says, biases 0, all else as it was", public=True)
def by_statistics(view):
    """Weights are never compared with fixed ones: each layer is judged by its N entries.

    Divided by its bound gain·√(6/(fan_in + fan_out)), a weight u is uniform on [-1, 1]. Then
    the mean of u² is 1/3 with a relative standard deviation of √(0.8/N), the mean of u is 0
    with one of 1/√(3N), and the largest of N entries stays below 1 - 21/N with the probability
    exp(-21) = 8e-10. With six standard deviations (2e-9) and up to 30 such tests, a right
    solution is rejected less often than once in ten million gradings.
    """
    tests = [step for step in view.steps if isinstance(step, dict)]
    message, summary, drawn = None, [], []
    each = len(tests) // len(view.calls)
    for number, call in enumerate(view.calls):
        # what was returned, where the case looks at that too, and the module as it was given
        returned, given = tests[each * number], tests[each * number + each - 1]
        built, gain = call.arguments["module"].call, call.arguments.get("gain", 1.0)
        # a bare layer is built of two widths, a model of a list of layers
        alone = isinstance(built[0], int)
        layers = [("", *built)] if alone else [(f"{layer[0]}.", *layer[1:]) for layer in built[0]]
        tied = [] if alone else [name for _, name in built[1]]
        others = {name for name in given if not alone and name.startswith("other_")}
        known = {f"{name}weight": (fan_in, fan_out) for name, fan_in, fan_out, _ in layers}
        known = {name: fans for name, fans in known.items() if name not in tied}
        biases = [f"{name}bias" for name, _, _, bias in layers if bias]
        named = set(given) == {*known, *biases, *others}
        same = set(given) == set(returned) and all(
            np.array_equal(given[name], returned[name]) for name in given
        )
        touched = sorted(name for name in others if not np.all(given[name] == 0.75))
        nonzero = [name for name in biases if name in given and np.any(given[name] != 0)]
        summary += [
            Interval(f"parameters {number}", float(len(given)), 0.0),
            Interval(f"same module {number}", float(same), 0.0),
            Interval(f"biases {number}", float(len(nonzero)), 0.0),
        ]
        summary += [Interval(f"{name} {number}", float(name in touched), 0.0) for name in others]
        if message is None and not named:
            message = (
                f"the module holds the parameters {', '.join(sorted(given))} afterwards, expected "
                f"{', '.join(sorted([*known, *biases, *others]))}: are they still the same objects?"
            )
        if message is None and not same:
            message = "the module that was given and the one that came back hold other weights"
        if message is None and touched:
            message = f"{touched[0]} was changed, which belongs to no nn.Linear"
        if message is None and nonzero:
            message = f"{nonzero[0]} is not 0 everywhere"
        for name, (fan_in, fan_out) in known.items():
            found = given.get(name)
            if found is None or np.shape(found) != (fan_out, fan_in):
                continue
            scaled = np.asarray(found, dtype=np.float64) / (gain * np.sqrt(6 / (fan_in + fan_out)))
            scaled = np.nan_to_num(scaled, nan=1e6, posinf=1e6, neginf=-1e6).ravel()  # (N,)
            drawn.append(scaled)
            size = len(scaled)
            ratio, mean = 3 * float(np.mean(scaled**2)), float(np.mean(scaled))
            low, high = float(scaled.min()), float(scaled.max())
            edge = 1 - 21 / size
            where = f"{name} (fan_in {fan_in}, fan_out {fan_out}, gain {gain:g})"
            if message is None and abs(ratio - 1) > 6 * np.sqrt(0.8 / size):
                message = (
                    f"{where} has {ratio:.3g} times the variance gain²·2/(fan_in + fan_out); at "
                    f"most {600 * np.sqrt(0.8 / size):.2g}% off would be chance"
                )
            if message is None and abs(mean) > 6 / np.sqrt(3 * size):
                message = f"the mean of {where} is far from 0"
            if message is None and not (edge <= high <= 1 + 1e-5 and edge <= -low <= 1 + 1e-5):
                message = (
                    f"{where} has about the right variance, but is not uniform: its entries reach "
                    f"from {low:.3g} to {high:.3g} of the bound, expected from -1 to 1"
                )
            # Two submissions with one mistake draw different numbers: the kurtosis of what they
            # draw, 3 at most, gives the spread of a mean square.
            rms = np.sqrt(max(ratio, 1e-12) / 3)
            summary += [
                Interval(
                    f"{name} {number}", float(np.log(max(ratio, 1e-12))), 4 * np.sqrt(2 / size)
                ),
                Interval(f"mean {name} {number}", mean / rms, 4 / np.sqrt(size)),
                # √3 = exp(0.55) for uniform entries, about exp(1.1) for some hundred normal ones
                Interval(f"shape {name} {number}", float(np.log(max(high, -low) / rms)), 0.22),
            ]
    # layers of one shape, in one module or in two, are drawn independently of each other
    repeated = any(
        np.array_equal(left, right)
        for position, left in enumerate(drawn)
        for right in drawn[position + 1 :]
    )
    summary.append(Interval("repeated", float(repeated), 0.0))
    if message is None and repeated:
        message = "two layers of one shape have the same weights, expected new draws for each"
    return Verdict(message, tuple(summary))


MODEL = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, layers, tied):
        super().__init__()
        for name, fan_in, fan_out, bias in layers:
            *path, last = name.split(".")
            place = self
            for part in path:  # layers may lie inside others
                if not hasattr(place, part):
                    place.add_module(part, nn.Module())
                place = getattr(place, part)
            place.add_module(last, nn.Linear(fan_in, fan_out, bias=bias))
        for first, second in tied:  # one parameter in two layers
            self.get_submodule(second.removesuffix(".weight")).weight = self.get_parameter(first)
        self.other_norm = nn.LayerNorm(4)
        self.other_words = nn.Embedding(3, 4)
        self.other_filter = nn.Conv1d(2, 3, 2)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name.startswith("other_"):
                    parameter.fill_(0.75)


Linear = nn.Linear
"""


def _steps(module, slot="made", **arguments):
    """One call, and what the module that came back and the one that was given hold then."""
    return (
        _call(slot=slot, module=module, **arguments),
        DescribeModule(slot, True),
        DescribeModule(f"{slot}.module", True),
    )


# ---- cases ---------------------------------------------------------------------------------


@init_projections.case(
    "a model of four layers, one weight in two of them, gain 0.5",
    separates=[
        "gain_ignored",
        "gain_under_the_root",
        "std_is_gain",
        "bound_is_gain",
        "bound_is_std",
        "normal",
        "kaiming",
        "fan_in_alone",
        "fan_out_alone",
        "left_as_built",
        "biases_left",
        "outermost_only",
        "every_matrix",
        "every_bias",
        "bias_expected",
        "new_parameters",
        "nothing_returned",
        "one_sided",
    ],
)
def model(rng):
    # fan_in far above fan_out in one layer, and far below in another: each mistake with the
    # widths shows, and none looks like a mistake with the gain
    layers = [
        ["W_q", 28, 9, True],
        ["block.W_k", 28, 9, False],
        ["block.W_v", 28, 9, True],
        ["block.inner.W_o", 9, 28, True],
    ]
    tied = [["block.W_k.weight", "block.W_v.weight"]]
    called, _, given = _steps(Probe(MODEL, "Model", (layers, tied)), gain=0.5)
    # what came back is looked at in the next case, since these weights fill the self-check
    return Program((called, given))


@init_projections.case(
    "two bare layers one after the other",
    separates=["outermost_only", "reseeded", "biases_left", "copy_returned"],
)
def bare(rng):
    first, second = (Probe(MODEL, "Linear", (15, 9, True)) for _ in range(2))
    return Program((*_steps(first, "first"), *_steps(second, "second")))


@init_projections.case(
    "wide layers, gain 0.02",
    separates=["std_is_gain", "gain_ignored", "normal", "bound_is_std", "kaiming"],
    hidden=True,
)
def wide(rng):
    layers = [["W_q", 64, 128, False], ["deep.er.W_v", 96, 16, True], ["W_k", 64, 128, True]]
    return Program(_steps(Probe(MODEL, "Model", (layers, [])), gain=0.02))


@init_projections.case(
    "a bare layer without a bias, gain 3",
    separates=["outermost_only", "bias_expected", "gain_ignored"],
    hidden=True,
)
def bare_without_bias(rng):
    return Program(_steps(Probe(MODEL, "Linear", (15, 40, False)), gain=3.0))


@init_projections.case(
    "a module without any linear layer", separates=["every_matrix", "every_bias"], hidden=True
)
def no_linear_layer(rng):
    return Program(_steps(Probe(MODEL, "Model", ([], [])), gain=2.0))


# ---- misconceptions ------------------------------------------------------------------------


@init_projections.misconception(
    "Does not use the gain.",
    hint="Where does `gain` stand in your code? Twice the gain should give twice the weights.",
    credit=0.5,
)
def gain_ignored(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Multiplies the variance by the gain, not by its square.",
    hint="The gain stretches the weights themselves. What does that do to their variance?",
    credit=0.5,
)
def gain_under_the_root(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=math.sqrt(gain))
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Takes the gain for the standard deviation of the weights.",
    hint="Should a layer with more inputs have larger or smaller weights, and does yours?",
    credit=0.25,
)
def std_is_gain(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Takes the gain for the bound of the uniform distribution.",
    hint="Should a layer with more inputs have larger or smaller weights, and does yours?",
    credit=0.25,
    hidden=True,
)
def bound_is_gain(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.uniform_(layer.weight, -gain, gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Takes the standard deviation for the bound of the uniform distribution: the variance is a "
    "third of what it should be.",
    hint="What is the variance of a number drawn uniformly between -1 and 1?",
    credit=0.5,
)
def bound_is_std(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            bound = gain * math.sqrt(2 / sum(layer.weight.shape))
            nn.init.uniform_(layer.weight, -bound, bound)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Draws from a normal distribution: the variance is right, but the weights are not uniform.",
    hint="Xavier's rule comes in two forms. Which one does the docstring ask for?",
    credit=0.75,
)
def normal(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_normal_(layer.weight, gain=gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Uses Kaiming's rule, which is made for layers before a ReLU and looks at fan_in alone.",
    hint="Which two widths does the variance of the docstring depend on?",
    credit=0.25,
)
def kaiming(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Takes the variance from fan_in alone, as if the layer were square.",
    hint="Which two widths does the variance of the docstring depend on?",
    credit=0.5,
)
def fan_in_alone(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            bound = gain * math.sqrt(3 / layer.in_features)
            nn.init.uniform_(layer.weight, -bound, bound)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Takes the variance from fan_out alone, as if the layer were square.",
    hint="Which two widths does the variance of the docstring depend on?",
    credit=0.5,
    hidden=True,
)
def fan_out_alone(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            bound = gain * math.sqrt(3 / layer.out_features)
            nn.init.uniform_(layer.weight, -bound, bound)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Draws weights between 0 and the bound: none is negative.",
    hint="What should the mean of the weights be?",
    credit=0.25,
    hidden=True,
)
def one_sided(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            bound = gain * math.sqrt(6 / sum(layer.weight.shape))
            nn.init.uniform_(layer.weight, 0, bound)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Changes nothing: the weights are those that the layers were built with.",
    hint="Print a weight before and after. Which functions of nn.init work in place?",
)
def left_as_built(module, gain=1.0):
    return module


@init_projections.misconception(
    "Leaves the biases as they were.",
    hint="What does `nn.Linear` do with its bias when it is built?",
    credit=0.5,
)
def biases_left(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=gain)
    return module


@init_projections.misconception(
    "Looks at the outermost layers alone: not at the module itself, nor deeper inside.",
    hint="What do `children()` and `modules()` of a module give? And what if the module is an "
    "`nn.Linear`?",
    credit=0.5,
)
def outermost_only(module, gain=1.0):
    for layer in module.children():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Goes by the shape of a parameter, not by the kind of its layer: embeddings and convolutions "
    "are changed too, and biases are left as they were.",
    hint="Which layers besides `nn.Linear` have a matrix among their parameters?",
    credit=0.5,
)
def every_matrix(module, gain=1.0):
    for parameter in module.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter, gain=gain)
    return module


@init_projections.misconception(
    "Sets the biases of all layers to 0, not only those of `nn.Linear`.",
    hint="Which layers besides `nn.Linear` have a bias?",
    credit=0.5,
    hidden=True,
)
def every_bias(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=gain)
        if getattr(layer, "bias", None) is not None:
            nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Expects every layer to have a bias.",
    hint="What is `bias` of a layer that was built with bias=False?",
    credit=0.5,
)
def bias_expected(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=gain)
            nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Puts new parameters in place of the old ones: an optimiser still holds the old ones, and "
    "layers that share a weight share it no more.",
    hint="Is `layer.weight` the same object before and after? Which one does an optimiser "
    "that was made before go on changing?",
    credit=0.5,
)
def new_parameters(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            layer.weight = nn.Parameter(nn.init.xavier_uniform_(layer.weight.clone(), gain=gain))
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Returns nothing.",
    hint="What does the docstring say that comes back?",
    credit=0.75,
)
def nothing_returned(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


@init_projections.misconception(
    "Works on a copy: the module that was given keeps its old weights.",
    hint="What does “in place” ask for? Look at the module that you gave.",
    credit=0.5,
    hidden=True,
)
def copy_returned(module, gain=1.0):
    module = copy.deepcopy(module)
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Seeds the global generator, so that every call draws the same weights.",
    hint="Call it for two layers of one shape. Are their weights equal? Seeding is the business of "
    "whoever runs the experiment.",
    credit=0.5,
)
def reseeded(module, gain=1.0):
    torch.manual_seed(0)
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


@init_projections.misconception(
    "Expects every layer to have a bias, and reaches for its data.",
    hint="What is `bias` of a layer that was built with bias=False?",
    credit=0.5,
)
def data_of_bias_expected(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=gain)
            layer.bias.data.zero_()
    return module


# ---- right but unusual ---------------------------------------------------------------------


@init_projections.alternative("the bound spelled out, written into the data")
def spelled_out(module, gain=1.0):
    for layer in filter(lambda part: type(part) is nn.Linear, module.modules()):
        fan_out, fan_in = layer.weight.shape
        bound = gain * (6 / (fan_in + fan_out)) ** 0.5
        layer.weight.data = (2 * torch.rand(fan_out, fan_in).to(layer.weight) - 1) * bound
        if layer.bias is not None:
            layer.bias.data.fill_(0)
    return module


@init_projections.alternative("module.apply")
def applied(module, gain=1.0):
    @torch.no_grad()
    def each(layer):
        if isinstance(layer, nn.Linear):
            bound = gain * math.sqrt(3.0) * math.sqrt(2.0 / sum(layer.weight.shape))
            layer.weight.uniform_(-bound, bound)
            if layer.bias is not None:
                layer.bias.mul_(0)

    return module.apply(each)


@init_projections.alternative("drawn by NumPy and copied, from inside to outside")
def drawn_by_numpy(module, gain=1.0):
    for child in module.children():
        drawn_by_numpy(child, gain)
    if isinstance(module, nn.Linear):
        bound = gain * np.sqrt(6 / (module.in_features + module.out_features))
        with torch.no_grad():
            drawn = np.random.uniform(-bound, bound, size=tuple(module.weight.shape))
            module.weight.copy_(torch.from_numpy(drawn))
            if module.bias is not None:
                module.bias.copy_(torch.zeros_like(module.bias))
    return module


@init_projections.alternative("unit draws stretched by the gain")
def stretched(module, gain=1.0):
    for _, layer in module.named_modules():
        if isinstance(layer, nn.Linear):
            torch.nn.init.xavier_uniform_(layer.weight)
            layer.weight.data *= gain
            if "bias" in dict(layer.named_parameters()):
                nn.init.constant_(layer.bias, 0.0)
    return module
