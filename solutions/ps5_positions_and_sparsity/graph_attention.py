"""Attention on a graph: every node attends to its neighbours and to itself.

The mask is the graph. Scores come from a small additive rule instead of an inner product, as in
graph attention networks (GAT), where a layer has several such heads.
"""

import math

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from autograder import exercise
from autograder.cases import with_gradients
from autograder.checks import exact_zeros, not_negative, sums_to_one
from autograder.forbidden import LIBRARY_ATTENTION


@exercise(
    points=6,
    order=10,
    forbids=LIBRARY_ATTENTION,
    checks=[
        not_negative("no weight is negative", result=1),
        exact_zeros("nodes that are no neighbours get no weight", result=1),
        sums_to_one(-1, "each row of the weights sums to 1", result=1),
    ],
)
def graph_attention(
    H: Float[Tensor, "n d"],
    adjacency: Bool[Tensor, "n n"],
    W: Float[Tensor, "d d_out"],
    a: Float[Tensor, "twice_d_out"],
    negative_slope: float = 0.2,
) -> tuple[Float[Tensor, "n d_out"], Float[Tensor, "n n"]]:
    """One head of a graph attention layer.

    Args:
        H: shape (n, d), the features of n nodes, one node per row.
        adjacency: shape (n, n), bool. Entry [i, j] is true where node i attends to node j. It
            need not be symmetric; self-loops and nodes without any neighbour are allowed. Every
            node attends to itself too, whatever the diagonal says, and once only.
        W: shape (d, d_out), the projection: W h_i means row i of H @ W.
        a: shape (2·d_out,), the weights of the score.
        negative_slope: the slope of the LeakyReLU below 0.

    Returns:
        (output, weights). weights, shape (n, n), is the softmax of
        LeakyReLU(aᵀ[W h_i ‖ W h_j]) over the nodes j that node i attends to, and 0 elsewhere: the
        first half of `a` meets the node that asks. Each row sums to 1. output, shape (n, d_out),
        has the rows Σ_j weights[i, j]·(W h_j), without another activation. Differentiable; no
        argument is changed. PyTorch's own attention is forbidden here; its softmax is not.
    """
    d_out = W.shape[1]
    features = H @ W  # (n, d_out), row i is W h_i
    own, other = features @ a[:d_out], features @ a[d_out:]  # (n,) each: aᵀ[u ‖ v] falls apart
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)  # (n, n)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)  # (n, n), neighbours and itself
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)  # (n, n)
    return weights @ features, weights  # (n, d_out), (n, n)


def _graph(rng, n, share=0.4):
    """A directed graph without self-loops; node 0 has a neighbour, node 1 has none."""
    adjacency = rng.random((n, n)) < share
    np.fill_diagonal(adjacency, False)
    adjacency[0, n - 1], adjacency[n - 1, 0] = True, False
    adjacency[1] = False
    return adjacency


def _arguments(rng, n, d, d_out, size=1.0):
    """Features of the given size, a graph, and projections that keep the size."""
    arrays = {
        "H": rng.normal(scale=size, size=(n, d)),
        "W": rng.normal(size=(d, d_out)) / np.sqrt(d),
        "a": rng.normal(size=2 * d_out),
    }
    drawn = {name: array.astype(np.float32) for name, array in arrays.items()}
    return drawn | {"adjacency": _graph(rng, n)}


# ---- cases ---------------------------------------------------------------------------------


@graph_attention.case(
    "six nodes, one of them without neighbours",
    separates=[
        "rectified",
        "not_activated",
        "activated_before",
        "slope_fixed",
        "halves_swapped",
        "one_half_twice",
        "over_columns",
        "edges_turned_round",
        "edges_both_ways",
        "itself_missing",
        "graph_multiplied",
        "everyone_attends",
        "not_renormalised",
        "output_activated",
        "not_projected",
        "weights_transposed",
        "scaled",
        "plain_mean",
        "order_swapped",
    ],
)
def six_nodes(rng):
    return _arguments(rng, n=6, d=3, d_out=4) | {"negative_slope": 0.1}


@graph_attention.case(
    "self-loops on every second node",
    separates=["itself_twice", "edges_turned_round", "itself_missing", "graph_multiplied"],
)
def self_loops(rng):
    drawn = _arguments(rng, n=7, d=2, d_out=3)
    drawn["adjacency"] |= np.diag(np.arange(7) % 2 == 0)
    return drawn


@graph_attention.case(
    "all sizes equal",
    separates=["not_projected", "over_columns", "weights_transposed", "halves_swapped"],
    hidden=True,
)
def all_equal(rng):
    # mix-ups of axes keep the right shape here: only the values tell
    return _arguments(rng, n=4, d=4, d_out=4)


@graph_attention.case("scores around 1000", separates=["no_maximum"])
def large(rng):
    # Whole numbers and a slope of 1/4: all scores are exact in float32 in any order of summation,
    # so that only the softmax can go wrong.
    drawn = _arguments(rng, n=6, d=3, d_out=2) | {"negative_slope": 0.25}
    drawn["H"] = rng.integers(-4, 5, size=(6, 3)).astype(np.float32)
    drawn["W"] = rng.integers(-4, 5, size=(3, 2)).astype(np.float32)
    drawn["a"] = rng.integers(2, 5, size=4).astype(np.float32)
    drawn["W"][0], drawn["H"][5] = 4.0, [16.0, 0.0, 0.0]  # node 5 scores 512 or more with itself
    return drawn


@graph_attention.case("gradients", separates=["graph_cut", "rectified", "not_activated"])
def gradients(rng):
    drawn = _arguments(rng, n=5, d=3, d_out=2)
    while _nearest_kink(drawn) < 1e-3:  # there rounding decides which slope a score has
        drawn["H"] = rng.normal(size=(5, 3)).astype(np.float32)
    adjacency = drawn.pop("adjacency")
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in drawn.items()}
    return with_gradients(graph_attention, adjacency=adjacency, **tensors)


def _nearest_kink(drawn):
    """How close to 0 any of the scores comes before the LeakyReLU."""
    features = drawn["H"] @ drawn["W"]  # (n, d_out)
    own, other = (features @ half for half in np.split(drawn["a"], 2))  # (n,) each
    return np.abs(own[:, None] + other[None, :]).min()


@graph_attention.case(
    "more nodes",
    separates=["slope_fixed", "edges_turned_round", "halves_swapped", "itself_twice"],
    hidden=True,
)
def more_nodes(rng):
    drawn = _arguments(rng, n=int(rng.integers(9, 13)), d=5, d_out=2)
    drawn["adjacency"][2, 2] = drawn["adjacency"][2, 0] = True
    return drawn | {"negative_slope": 0.3}


@graph_attention.case("no edges at all: every node keeps its own features", kind="robustness")
def no_edges(rng):
    return _arguments(rng, n=4, d=2, d_out=3) | {"adjacency": np.zeros((4, 4), dtype=bool)}


@graph_attention.case("a complete graph", kind="robustness", hidden=True)
def complete(rng):
    return _arguments(rng, n=5, d=4, d_out=2) | {"adjacency": np.ones((5, 5), dtype=bool)}


@graph_attention.case("a single node", kind="robustness", hidden=True)
def single_node(rng):
    drawn = _arguments(rng, n=3, d=2, d_out=4)
    return drawn | {"H": drawn["H"][:1], "adjacency": np.zeros((1, 1), dtype=bool)}


@graph_attention.case("tiny features", kind="robustness", hidden=True)
def tiny(rng):
    return _arguments(rng, n=5, d=3, d_out=2, size=1e-3)


@graph_attention.case("float64", kind="robustness", hidden=True)
def double_precision(rng):
    drawn = _arguments(rng, n=4, d=2, d_out=3)
    return {k: v if k == "adjacency" else v.astype(np.float64) for k, v in drawn.items()}


# ---- misconceptions ------------------------------------------------------------------------


@graph_attention.misconception(
    "Uses ReLU, so that all negative scores become equal.",
    hint="What should happen to a score of -1, and to one of -2? Are their weights equal?",
    credit=0.5,
)
def rectified(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.relu(own[:, None] + other[None, :])
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Leaves out the LeakyReLU: the term of the asking node then cancels in the softmax.",
    hint="Change the first half of `a`: do the weights move?",
    credit=0.5,
)
def not_activated(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = own[:, None] + other[None, :]
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Applies the LeakyReLU to the features, before the product with `a`.",
    hint="In the formula, is `a` inside or outside of the LeakyReLU? (A later paper, GATv2, moves "
    "it.)",
    credit=0.5,
)
def activated_before(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = (
        torch.nn.functional.leaky_relu(features, negative_slope) @ a[:d_out],
        torch.nn.functional.leaky_relu(features, negative_slope) @ a[d_out:],
    )
    scores = own[:, None] + other[None, :]
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Always uses PyTorch's own slope of 0.01, whatever the argument says.",
    hint="Where in your code does negative_slope stand, and which slope does the library take "
    "without it?",
    credit=0.5,
)
def slope_fixed(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :])
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Swaps the two halves of `a`: the first one meets the node that is attended to.",
    hint="Which of the two stands first between the brackets of the formula?",
    credit=0.5,
)
def halves_swapped(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[d_out:], features @ a[:d_out]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Uses the first half of `a` for both nodes.",
    hint="Two slices of `a` enter the score. Where does each of them begin?",
    credit=0.5,
)
def one_half_twice(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[:d_out]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Normalises over the nodes that ask instead of those that are attended to.",
    hint="Which line of the weights belongs to one asking node, and along which one do yours sum "
    "to 1?",
    credit=0.25,
)
def over_columns(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=0)
    return weights @ features, weights


@graph_attention.misconception(
    "Turns all edges round: node i attends to the nodes that attend to it.",
    hint="Which index of the adjacency names the node that asks?",
    credit=0.5,
)
def edges_turned_round(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency.T | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Takes the graph for undirected: an edge in either direction lets two nodes see each other.",
    hint="Node 0 may attend to node 5 although 5 does not attend to 0. Is that so in your weights?",
    credit=0.5,
)
def edges_both_ways(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | adjacency.T | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Forgets the node itself: a node without neighbours has nothing to attend to.",
    hint="What is a softmax over nothing? Which node is always there?",
    credit=0.25,
)
def itself_missing(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Multiplies the scores with the graph: a score of 0 is not a weight of 0.",
    hint="What is the exponential of a score of 0? Which score gives the weight 0?",
    credit=0.25,
)
def graph_multiplied(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores * attends, dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Does not use the graph: every node attends to all others.",
    hint="Remove an edge: does any weight move?",
    credit=0.25,
)
def everyone_attends(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    weights = torch.softmax(scores, dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Removes the weights of strangers after the softmax, so that the rows no longer sum to 1.",
    hint="Over which nodes does the sum in your softmax run, and over which ones should it?",
    credit=0.25,
)
def not_renormalised(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores, dim=-1) * attends
    return weights @ features, weights


@graph_attention.misconception(
    "Adds the node itself once more where the graph has a self-loop already: it then counts twice.",
    hint="A self-loop is there or not. What do you get where it is there before you add yours?",
    credit=0.5,
)
def itself_twice(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    weights = torch.softmax(
        scores + (adjacency.to(H.dtype) + torch.eye(len(H), dtype=H.dtype)).log(), dim=-1
    )
    return weights @ features, weights


@graph_attention.misconception(
    "Applies an activation to the output, which the layer around the head does, not the head.",
    hint="Can an entry of your output be below -1, and can one of W h_j?",
    credit=0.5,
)
def output_activated(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return torch.nn.functional.elu(weights @ features), weights


@graph_attention.misconception(
    "Mixes the features before the projection.",
    hint="How wide is the output by the docstring, and what is mixed in the formula?",
    credit=0.25,
)
def not_projected(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ H, weights


@graph_attention.misconception(
    "Mixes the features with the transposed weights.",
    hint="Output i must use the weights of node i. Are those a row or a column?",
    credit=0.25,
)
def weights_transposed(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights.T @ features, weights


@graph_attention.misconception(
    "Divides the scores by the root of d_out, as for inner products; the formula has no scale.",
    hint="Is there a root in the formula of the docstring?",
    credit=0.5,
)
def scaled(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = (
        torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope) / d_out**0.5
    )
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Gives all neighbours the same weight, as a graph convolution does.",
    hint="Change `a`: do the weights move?",
)
def plain_mean(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope) * 0.0
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


@graph_attention.misconception(
    "Returns weights and output in the wrong order.",
    hint="Which of the two results does the docstring name first?",
    credit=0.5,
)
def order_swapped(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights, weights @ features


@graph_attention.misconception(
    "Takes the exponential of the scores as they are, which overflows for large ones.",
    hint="What does PyTorch give for the exponential of 1000? Which shift leaves a softmax "
    "unchanged?",
    credit=0.5,
)
def no_maximum(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = H @ W
    own, other = features @ a[:d_out], features @ a[d_out:]
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = scores.exp() * attends
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ features, weights


@graph_attention.misconception(
    "Gets the values right but cuts the graph of autograd: no gradient arrives.",
    hint="Which step of yours leaves PyTorch, or copies only the numbers of a tensor?",
    credit=0.5,
)
def graph_cut(H, adjacency, W, a, negative_slope=0.2):
    d_out = W.shape[1]
    features = (H @ W).detach()
    own, other = features @ a[:d_out].detach(), features @ a[d_out:].detach()
    scores = torch.nn.functional.leaky_relu(own[:, None] + other[None, :], negative_slope)
    attends = adjacency | torch.eye(len(H), dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~attends, -torch.inf), dim=-1)
    return weights @ features, weights


# ---- right but unusual ---------------------------------------------------------------------


@graph_attention.alternative("every pair concatenated, as the formula stands")
def concatenated(H, adjacency, W, a, negative_slope=0.2):
    n = H.shape[0]
    projected = torch.einsum("nd,de->ne", H, W)
    left = projected.unsqueeze(1).expand(n, n, -1)
    right = projected.unsqueeze(0).expand(n, n, -1)
    scores = torch.cat((left, right), dim=-1) @ a
    scores = torch.where(scores > 0, scores, negative_slope * scores)
    seen = adjacency.logical_or(torch.eye(n) > 0)
    weights = torch.where(seen, scores, torch.finfo(scores.dtype).min).softmax(1)
    return [weights @ projected, weights]


@graph_attention.alternative("node by node, over lists of neighbours")
def node_by_node(H, adjacency, W, a, negative_slope=0.2):
    first, second = a.chunk(2)
    projected = H @ W
    outputs, rows = [], []
    for i in range(len(H)):
        seen = sorted({i, *adjacency[i].nonzero().flatten().tolist()})
        scores = (first * projected[i]).sum() + projected[seen] @ second
        scores = torch.maximum(scores, scores * negative_slope)
        shares = torch.exp(scores - scores.logsumexp(0))
        outputs.append(shares @ projected[seen])
        rows.append(torch.zeros_like(H[:, 0]).index_put((torch.tensor(seen),), shares))
    return torch.stack(outputs), torch.stack(rows)


@graph_attention.alternative("a list of edges, summed up with index_add")
def list_of_edges(H, adjacency, W, a, negative_slope=0.2):
    n, d_out = len(H), W.shape[1]
    seen = adjacency.clone().fill_diagonal_(True)
    source, target = seen.nonzero(as_tuple=True)
    projected = H @ W
    both = torch.cat((projected[source], projected[target]), dim=1)
    scores = torch.nn.functional.leaky_relu(both @ a, negative_slope)
    largest = scores.new_full((n,), -math.inf).scatter_reduce(0, source, scores.detach(), "amax")
    powers = torch.exp(scores - largest[source])
    shares = powers / powers.new_zeros(n).index_add(0, source, powers)[source]
    output = H.new_zeros(n, d_out).index_add(0, source, shares[:, None] * projected[target])
    return output, H.new_zeros(n, n).index_put((source, target), shares)


@graph_attention.alternative("masked in the exponential, with the projections folded into `a`")
def folded(H, adjacency, W, a, negative_slope=0.2):
    folded_a = W @ a.reshape(2, -1).mT  # (d, 2)
    own, other = (H @ folded_a).unbind(1)
    scores = torch.nn.LeakyReLU(negative_slope)(own.unsqueeze(1) + other)
    seen = (adjacency + torch.eye(len(H))).clamp(max=1.0).to(H.dtype)
    shifted = scores - scores.masked_fill(seen == 0, -math.inf).amax(1, keepdim=True).detach()
    powers = torch.exp(shifted.clamp(max=0.0)) * seen
    weights = powers / powers.sum(1, keepdim=True)
    return weights @ H @ W, weights
