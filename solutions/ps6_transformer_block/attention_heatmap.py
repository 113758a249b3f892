"""Show who attends to whom.

Queries go down, keys go across, as in the matrix of weights. A picture of weights is a look at
one layer, and not a proof of what the model understands; but it finds many a bug.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from autograder import Probe, Program, ReadAxes, exercise


@exercise(points=4, order=6, axes_needed=True, framework="torch")
def attention_heatmap(
    weights: Float[torch.Tensor, "n_q n_k"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    ax=None,
):
    """Draw attention weights as a heat map.

    Args:
        weights: shape (n_q, n_k), a tensor, also one that requires grad, or a NumPy array.
        query_tokens: n_q strings; tokens may occur more than once.
        key_tokens: n_k strings.
        ax: the matplotlib Axes to draw into; a new one by default.

    Returns:
        The Axes. Query 0 is at the top, key 0 at the left. Each cell shows its weight undistorted:
        colours grow linearly with the values, and do not run into each other (imshow or
        pcolormesh). Every query is labelled on the y axis and every key on the x axis.
    """
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()  # (n_q, n_k), out of the graph
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto")  # row 0 at the top, one square for each weight
    ax.set_xticks(range(len(key_tokens)), labels=key_tokens, rotation=90)
    ax.set_yticks(range(len(query_tokens)), labels=query_tokens)
    ax.set_xlabel("keys")
    ax.set_ylabel("queries")
    return ax


OWN_AXES = """
def make():
    import matplotlib.pyplot as plt
    figure, (left, right) = plt.subplots(1, 2)
    plt.sca(right)
    return left
"""

WORDS = ["the", "cat", "sat", "on", "the", "mat", "and", "purred"]


def _weights(rng, n_q, n_k, *, grad=False):
    weights = torch.from_numpy(rng.dirichlet(np.ones(n_k), size=n_q)).float()
    return weights.requires_grad_(grad)


def _program(weights, queries, keys, **more):
    call = attention_heatmap.call(
        slot="made", weights=weights, query_tokens=queries, key_tokens=keys, **more
    )
    looks = (ReadAxes("made"), ReadAxes("made.ax")) if "ax" in more else (ReadAxes("made"),)
    return Program((call, *looks))


# ---- cases ---------------------------------------------------------------------------------


@attention_heatmap.case(
    "three queries, five keys",
    separates=[
        "transposed",
        "upside_down",
        "labels_swapped",
        "not_labelled",
        "smeared",
        "logarithmic",
        "cut_off",
    ],
)
def three_by_five(rng):
    return _program(_weights(rng, 3, 5), ["it", "was", "tired"], WORDS[:5])


@attention_heatmap.case("weights that require grad", separates=["gradient_kept"])
def with_gradient(rng):
    return _program(_weights(rng, 4, 3, grad=True), WORDS[:4], ["a", "b", "c"])


@attention_heatmap.case(
    "as many queries as keys, with repeated tokens",
    separates=["transposed", "upside_down", "repeated_tokens_joined"],
)
def square(rng):
    return _program(_weights(rng, 6, 6), WORDS[:6], WORDS[:6])


@attention_heatmap.case("in an Axes that was given", separates=["axes_ignored"])
def given_axes(rng):
    return _program(_weights(rng, 2, 4), ["yes", "no"], WORDS[:4], ax=Probe(OWN_AXES, "make", ()))


@attention_heatmap.case("many tokens", separates=["every_other_label", "logarithmic", "cut_off"])
def many(rng):
    queries = [f"q{number}" for number in range(12)]
    keys = [f"k{number}" for number in range(15)]
    return _program(_weights(rng, 12, 15), queries, keys)


@attention_heatmap.case(
    "other words", separates=["transposed", "labels_swapped", "upside_down"], hidden=True
)
def other_words(rng):
    order = rng.permutation(8)
    return _program(
        _weights(rng, 5, 4), [WORDS[i] for i in order[:5]], [WORDS[i] for i in order[4:]]
    )


@attention_heatmap.case("a single query", kind="robustness", hidden=True)
def single_query(rng):
    return _program(_weights(rng, 1, 4), ["?"], WORDS[:4])


# ---- misconceptions ------------------------------------------------------------------------


@attention_heatmap.misconception(
    "Draws the transpose: keys go down and queries across.",
    hint="Which axis of the weights counts the queries, and in which direction do rows go?",
    credit=0.5,
)
def transposed(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights.T, aspect="auto")
    ax.set_xticks(range(len(query_tokens)), labels=query_tokens, rotation=90)
    ax.set_yticks(range(len(key_tokens)), labels=key_tokens)
    return ax


@attention_heatmap.misconception(
    "Puts query 0 at the bottom.",
    hint="Where does one begin to read a matrix, and where does pcolormesh put its first row?",
    credit=0.5,
)
def upside_down(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto", origin="lower")
    ax.set_xticks(range(len(key_tokens)), labels=key_tokens, rotation=90)
    ax.set_yticks(range(len(query_tokens)), labels=query_tokens)
    return ax


@attention_heatmap.misconception(
    "Labels the columns with the queries and the rows with the keys.",
    hint="Read one cell aloud: which token attends to which?",
    credit=0.5,
)
def labels_swapped(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto")
    ax.set_xticks(range(len(query_tokens)), labels=query_tokens, rotation=90)
    ax.set_yticks(range(len(key_tokens)), labels=key_tokens)
    return ax


@attention_heatmap.misconception(
    "Leaves the axes with numbers instead of tokens.",
    hint="Can a reader tell which word attends to which?",
    credit=0.5,
)
def not_labelled(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto")
    return ax


@attention_heatmap.misconception(
    "Labels every other token only.",
    hint="How many ticks does your picture have, and how many tokens are there?",
    credit=0.75,
)
def every_other_label(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto")
    step = 1 if len(key_tokens) < 10 else 2
    ax.set_xticks(range(0, len(key_tokens), step), labels=key_tokens[::step], rotation=90)
    ax.set_yticks(range(0, len(query_tokens), step), labels=query_tokens[::step])
    return ax


@attention_heatmap.misconception(
    "Takes the tokens as a set or a dictionary, so that repeated ones are labelled once.",
    hint="The word “the” stands there twice. Where are its two labels?",
    credit=0.5,
)
def repeated_tokens_joined(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto")
    keys, queries = list(dict.fromkeys(key_tokens)), list(dict.fromkeys(query_tokens))
    ax.set_xticks(range(len(keys)), labels=keys, rotation=90)
    ax.set_yticks(range(len(queries)), labels=queries)
    return ax


@attention_heatmap.misconception(
    "Smooths the picture: colours run from one cell into the next.",
    hint="Is there anything between two tokens that the picture should show?",
    credit=0.5,
)
def smeared(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto", interpolation="bilinear")
    ax.set_xticks(range(len(key_tokens)), labels=key_tokens, rotation=90)
    ax.set_yticks(range(len(query_tokens)), labels=query_tokens)
    return ax


@attention_heatmap.misconception(
    "Colours the logarithm of the weights, which makes small ones look large.",
    hint="Does a weight twice as large look twice as far along the colour scale?",
    credit=0.5,
)
def logarithmic(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto", norm="log")
    ax.set_xticks(range(len(key_tokens)), labels=key_tokens, rotation=90)
    ax.set_yticks(range(len(query_tokens)), labels=query_tokens)
    return ax


@attention_heatmap.misconception(
    "Ends the colour scale below the largest weights, which then all look alike.",
    hint="Which colour do a weight of 0.2 and one of 0.8 get?",
    credit=0.5,
)
def cut_off(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto", vmin=0.0, vmax=float(np.median(weights)))
    ax.set_xticks(range(len(key_tokens)), labels=key_tokens, rotation=90)
    ax.set_yticks(range(len(query_tokens)), labels=query_tokens)
    return ax


@attention_heatmap.misconception(
    "Draws into a new Axes although one was given.",
    hint="What does your function do with `ax` when it is not None?",
    credit=0.5,
)
def axes_ignored(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().numpy()
    _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto")
    ax.set_xticks(range(len(key_tokens)), labels=key_tokens, rotation=90)
    ax.set_yticks(range(len(query_tokens)), labels=query_tokens)
    return ax


@attention_heatmap.misconception(
    "Hands a tensor that requires grad to NumPy, which refuses it.",
    hint="What has to be done with a tensor before matplotlib can draw it?",
    credit=0.75,
)
def gradient_kept(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    weights = weights.numpy()
    if ax is None:
        _, ax = plt.subplots()
    ax.imshow(weights, aspect="auto")
    ax.set_xticks(range(len(key_tokens)), labels=key_tokens, rotation=90)
    ax.set_yticks(range(len(query_tokens)), labels=query_tokens)
    return ax


# ---- right but unusual ---------------------------------------------------------------------


@attention_heatmap.alternative("a mesh turned over, with a colour bar")
def mesh(weights, query_tokens, key_tokens, ax=None):
    from matplotlib import pyplot

    values = np.array(weights.tolist())
    ax = pyplot.figure().add_subplot() if ax is None else ax
    picture = ax.pcolormesh(values, cmap="magma", vmin=0.0, vmax=1.0, edgecolors="white")
    ax.invert_yaxis()
    ax.set_xticks(np.arange(len(key_tokens)) + 0.5)
    ax.set_xticklabels(key_tokens)
    ax.set_yticks(np.arange(len(query_tokens)) + 0.5)
    ax.set_yticklabels(query_tokens)
    ax.figure.colorbar(picture, ax=ax)
    return ax


@attention_heatmap.alternative("matshow, labels on top, numbers in the cells")
def labels_on_top(weights, query_tokens, key_tokens, ax=None):
    import matplotlib.pyplot as plt

    values = torch.as_tensor(weights).detach().numpy()
    if ax is None:
        ax = plt.gca()
    ax.matshow(values, cmap="Blues", interpolation="nearest")
    ax.set_xticks(np.arange(values.shape[1]), key_tokens, rotation=45, ha="left")
    ax.set_yticks(np.arange(values.shape[0]), query_tokens)
    for (i, j), value in np.ndenumerate(values):
        ax.text(j, i, f"{value:.2f}", ha="center", va="center")
    return ax
