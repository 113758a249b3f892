"""Give every position a vector of its own, made of waves that get longer and longer.

Attention does not see the order of its tokens. Added to the embeddings, these vectors say where a
token stands. The first transformer used them; nothing in them is learned.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder import Bound, exercise


@exercise(
    points=3,
    order=1,
    tolerance=Bound(
        "the angle of column 0 is the position itself, and float32 angles up to 512 lie 3e-5 apart",
        absolute=1e-4,
    ),
)
def sinusoidal_positions(n: int, d_model: int) -> Float[Tensor, "n d_model"]:
    """Sinusoidal position vectors.

    Args:
        n: the number of positions, at least 1.
        d_model: the width of the vectors, an even number.

    Returns:
        Shape (n, d_model), of any float dtype. Row p belongs to position p, counted from 0.
        Columns 2i and 2i + 1 are neighbours and hold the sine and the cosine of the same angle
        p / 10000^(2i/d_model), so that i runs from 0 to d_model/2 - 1. Float32 angles are exact
        enough: up to position 512 entries may be off by 1e-4.
    """
    positions = torch.arange(n)[:, None]  # (n, 1)
    exponents = torch.arange(0, d_model, 2) / d_model  # (d_model/2,), 2i/d_model
    angles = positions / 10000.0**exponents  # (n, d_model/2)
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)  # (n, d_model/2, 2)
    return pairs.flatten(-2)  # (n, d_model)


# ---- cases ---------------------------------------------------------------------------------


@sinusoidal_positions.case(
    "ten positions, six features",
    separates=[
        "exponent_doubled",
        "exponent_halved",
        "cosine_of_its_own",
        "base_1000",
        "all_one_speed",
        "two_blocks",
        "from_one",
        "sine_and_cosine_swapped",
        "speeding_up",
        "slowest_is_the_base",
        "in_turns",
        "positions_across",
        "sines_only",
    ],
)
def ten_positions(rng):
    return {"n": 10, "d_model": 6}


@sinusoidal_positions.case(
    "as many positions as features",
    separates=["positions_across", "two_blocks", "from_one", "exponent_doubled", "base_1000"],
)
def as_many(rng):
    return {"n": 8, "d_model": 8}


@sinusoidal_positions.case(
    "one pair of features", separates=["from_one", "sine_and_cosine_swapped", "in_turns"]
)
def one_pair(rng):
    # one angle only, the position itself: exponents and layout do not show here
    return {"n": 7, "d_model": 2}


@sinusoidal_positions.case(
    "513 positions", separates=["base_1000", "cosine_of_its_own", "exponent_doubled"], hidden=True
)
def to_512(rng):
    return {"n": 513, "d_model": 4 + 2 * int(rng.integers(1, 4))}


@sinusoidal_positions.case(
    "a very long text",
    separates=["slowest_is_the_base", "exponent_halved", "all_one_speed"],
    hidden=True,
    tolerance=Bound("float32 angles up to 10,000 lie 1e-3 apart", absolute=2e-3),
)
def to_ten_thousand(rng):
    return {"n": 10001, "d_model": 4}


@sinusoidal_positions.case(
    "a wide model", separates=["two_blocks", "slowest_is_the_base", "sines_only"], hidden=True
)
def wide(rng):
    return {"n": int(rng.integers(11, 25)), "d_model": 2 * int(rng.integers(24, 40))}


@sinusoidal_positions.case("a single position", separates=["from_one", "two_blocks"])
def single_position(rng):
    return {"n": 1, "d_model": 4}


@sinusoidal_positions.case("two positions of 64 features", kind="robustness")
def two_positions(rng):
    return {"n": 2, "d_model": 64}


# ---- misconceptions ------------------------------------------------------------------------


@sinusoidal_positions.misconception(
    "Counts the factor 2 of the exponent twice: the waves get longer too fast.",
    hint="Your counter may step by 2 already. Which exponent does the second pair get, with "
    "d_model = 4?",
    credit=0.5,
)
def exponent_doubled(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = 2 * torch.arange(0, d_model, 2) / d_model
    angles = positions / 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Uses the exponent i/d_model where 2i/d_model is meant: the waves get longer half as fast.",
    hint="What is the exponent of the last pair, and how close should it come to 1?",
    credit=0.5,
)
def exponent_halved(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(d_model // 2) / d_model
    angles = positions / 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Gives the cosine an exponent of its own: sine and cosine of a pair are not of the same angle.",
    hint="Square the two entries of a pair and add them up. What must come out?",
    credit=0.5,
)
def cosine_of_its_own(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = positions / 10000.0**exponents
    pairs = torch.stack(
        (angles.sin(), (positions / 10000.0 ** (exponents + 1 / d_model)).cos()), dim=-1
    )
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Uses the base 1000 where 10000 is meant.",
    hint="How many zeros has the base in the docstring, and how many in your code?",
    credit=0.5,
)
def base_1000(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = positions / 1000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Rounds the exponents to whole numbers: all pairs turn at the same speed.",
    hint="Compare columns 0 and 2. Are they different, and which dtype have your exponents?",
    credit=0.25,
)
def all_one_speed(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) // d_model
    angles = positions / 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Puts all sines first and all cosines after them; here the two of a pair are neighbours.",
    hint="Row 0 is 0, 1, 0, 1 and so on by the docstring. What is yours?",
    credit=0.5,
)
def two_blocks(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = positions / 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-2)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Counts positions from 1.",
    hint="Which angle has position 0, and what are its sine and cosine?",
    credit=0.5,
)
def from_one(n, d_model):
    positions = torch.arange(1, n + 1)[:, None]
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = positions / 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Has the cosine in the even columns and the sine in the odd ones.",
    hint="Row 0 is 0, 1, 0, 1 and so on by the docstring. What is yours?",
    credit=0.5,
)
def sine_and_cosine_swapped(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = positions / 10000.0**exponents
    pairs = torch.stack((angles.cos(), angles.sin()), dim=-1)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Multiplies by the power of the base instead of dividing: the waves get shorter and shorter.",
    hint="Which pair should change slowest from one position to the next, the first or the last?",
    credit=0.25,
)
def speeding_up(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = positions * 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Spreads the exponents so that the last one is exactly 1: it divides by d_model - 2.",
    hint="Which exponent does the last pair get by the formula? (Some libraries do it your way.)",
    credit=0.5,
)
def slowest_is_the_base(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) / max(d_model - 2, 1)
    angles = positions / 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Measures angles in full turns: there is a factor 2π too many.",
    hint="Which angle has position 1 in the first pair, by the formula?",
    credit=0.25,
)
def in_turns(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = 2 * torch.pi * positions / 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(-2)


@sinusoidal_positions.misconception(
    "Returns one position per column; tokens are rows in this problem set.",
    hint="Compare the shape of your result with the docstring. Which axis counts positions?",
    credit=0.5,
)
def positions_across(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = positions / 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return pairs.flatten(-2).mT


@sinusoidal_positions.misconception(
    "Takes the sine in all columns.",
    hint="Two positions half a wave apart: can a sine alone tell where on the wave they stand?",
    credit=0.25,
)
def sines_only(n, d_model):
    positions = torch.arange(n)[:, None]
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = positions / 10000.0**exponents
    pairs = torch.stack((angles.sin(), angles.sin()), dim=-1)
    return pairs.flatten(-2)


# ---- right but unusual ---------------------------------------------------------------------


@sinusoidal_positions.alternative("exponentials of logarithms, written into every second column")
def logarithms(n, d_model):
    table = torch.zeros(n, d_model)
    position = torch.arange(0, n, dtype=torch.float).unsqueeze(1)
    speeds = torch.exp(torch.arange(0, d_model, 2).float() * (-np.log(10000.0) / d_model))
    table[:, 0::2] = torch.sin(position * speeds)
    table[:, 1::2] = torch.cos(position * speeds)
    return table


@sinusoidal_positions.alternative("entry by entry in plain Python, as float64")
def entry_by_entry(n, d_model):
    speeds = [10000 ** (-(j - j % 2) / d_model) for j in range(d_model)]
    rows = [
        [np.cos(p * speeds[j]) if j % 2 else np.sin(p * speeds[j]) for j in range(d_model)]
        for p in range(n)
    ]
    return torch.tensor(np.array(rows))


@sinusoidal_positions.alternative("a cosine is a sine a quarter turn later")
def quarter_turn(n, d_model):
    columns = torch.arange(d_model)
    angles = torch.outer(torch.arange(n).double(), 1e4 ** -(columns // 2 * 2 / d_model).double())
    return (angles + columns % 2 * (np.pi / 2)).sin().float()


@sinusoidal_positions.alternative("points on the unit circle as complex numbers")
def unit_circle(n, d_model):
    speeds = torch.pow(10000.0, -torch.arange(0, d_model, 2) / d_model)
    angles = torch.einsum("p,i->pi", torch.arange(n).to(speeds.dtype), speeds)
    points = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))  # cosine, sine
    return points.flip(-1).reshape(n, d_model)
