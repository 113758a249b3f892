"""Count what one layer of self-attention computes.

A multiply-add counts as two floating-point operations. Four projections and two products of
matrices are all that matters; softmax, masks and biases are left out.
"""

from autograder import exercise


@exercise(points=2, order=6)
def attention_flops(n: int, d_model: int) -> int:
    """Floating-point operations of one self-attention layer, for one sequence.

    Args:
        n: number of tokens.
        d_model: width of a token. Queries, keys and values of all heads together are as wide,
            however many heads there are.

    Returns:
        A whole number: 2 for each multiply-add in the projections to queries, keys and values,
        in the product that gives the scores, in the one that mixes the values, and in the
        output projection.
    """
    projections = 4 * 2 * n * d_model * d_model  # W_q, W_k, W_v, W_o: (n, d) times (d, d)
    products = 2 * 2 * n * n * d_model  # (n, d) times (d, n), and (n, n) times (n, d)
    return projections + products


# ---- cases ---------------------------------------------------------------------------------

ALL = [
    "multiply_add_counted_once",
    "output_projection_forgotten",
    "projections_forgotten",
    "second_product_forgotten",
    "products_forgotten",
    "width_and_tokens_swapped",
    "one_projection",
    "products_of_all_pairs_of_features",
]


@attention_flops.case("few tokens, wide", separates=ALL)
def few_tokens(rng):
    return {"n": int(rng.integers(5, 20)), "d_model": int(rng.integers(30, 90))}


@attention_flops.case("many tokens, narrow", separates=ALL)
def many_tokens(rng):
    return {"n": int(rng.integers(1000, 9000)), "d_model": int(rng.integers(16, 64))}


@attention_flops.case("196 tokens of width 512", separates=["width_and_tokens_swapped"])
def vision_transformer(rng):
    return {"n": 196, "d_model": 512}


@attention_flops.case(
    "as many tokens as features", separates=["output_projection_forgotten"], hidden=True
)
def square(rng):
    size = int(rng.integers(7, 40))
    return {"n": size, "d_model": size}


@attention_flops.case("one token", kind="robustness", hidden=True)
def one_token(rng):
    return {"n": 1, "d_model": int(rng.integers(2, 9))}


# ---- misconceptions ------------------------------------------------------------------------


@attention_flops.misconception(
    "Counts a multiply-add as one operation, which halves the sum.",
    hint="An inner product of length d has d multiplications. How many additions does it have?",
    credit=0.5,
)
def multiply_add_counted_once(n, d_model):
    projections = 4 * n * d_model * d_model
    products = 2 * n * n * d_model
    return projections + products


@attention_flops.misconception(
    "Leaves out the output projection: three projections instead of four.",
    hint="What happens to the heads' outputs after they have been put side by side?",
    credit=0.5,
)
def output_projection_forgotten(n, d_model):
    projections = 3 * 2 * n * d_model * d_model
    products = 2 * 2 * n * n * d_model
    return projections + products


@attention_flops.misconception(
    "Counts the two products over pairs of tokens only, and none of the projections.",
    hint="Where do Q, K and V come from, and what does that cost for one token?",
)
def projections_forgotten(n, d_model):
    return 2 * 2 * n * n * d_model


@attention_flops.misconception(
    "Counts the product that gives the scores, and not the one that mixes the values.",
    hint="Once the weights are there, what are they multiplied with?",
    credit=0.5,
)
def second_product_forgotten(n, d_model):
    projections = 4 * 2 * n * d_model * d_model
    products = 2 * n * n * d_model
    return projections + products


@attention_flops.misconception(
    "Counts the projections only; the cost that grows with the square of the length is missing.",
    hint="How does your number change when the sequence is twice as long? Should it only double?",
)
def products_forgotten(n, d_model):
    return 4 * 2 * n * d_model * d_model


@attention_flops.misconception(
    "Swaps the number of tokens and the width.",
    hint="A projection is done once for each token. Which of the two sizes comes in squared there?",
)
def width_and_tokens_swapped(n, d_model):
    projections = 4 * 2 * d_model * n * n
    products = 2 * 2 * d_model * d_model * n
    return projections + products


@attention_flops.misconception(
    "Counts one projection, as if queries, keys, values and output shared it.",
    hint="How many weight matrices does the layer have?",
)
def one_projection(n, d_model):
    projections = 2 * n * d_model * d_model
    products = 2 * 2 * n * n * d_model
    return projections + products


@attention_flops.misconception(
    "Counts each product over pairs of tokens with the square of the width.",
    hint="How many multiplications does the score of one query and one key take?",
)
def products_of_all_pairs_of_features(n, d_model):
    projections = 4 * 2 * n * d_model * d_model
    products = 2 * 2 * n * n * d_model * d_model
    return projections + products


# ---- right but unusual ---------------------------------------------------------------------


@attention_flops.alternative("factored, as a float")
def factored(n, d_model):
    return 4.0 * n * d_model * (2 * d_model + n)


@attention_flops.alternative("product by product, with a helper")
def product_by_product(n, d_model):
    def matmul(rows, inner, columns):
        return 2 * rows * inner * columns

    total = sum(matmul(n, d_model, d_model) for _ in range(4))
    return total + matmul(n, d_model, n) + matmul(n, n, d_model)
