"""The smallest failing input: of wrong functions of the course, in numbers for a napkin."""

from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.faults.by_hand import input_words, numbers, results_words
from autograder.faults.counterexample import smallest
from autograder.faults.failure import Clock
from autograder.faults.filling import Filling
from autograder.faults.small_inputs import (
    NUMBERS,
    count,
    expected_of,
    is_fair,
    leaves_of,
    small_inputs,
    weight,
)
from autograder.observe.protocol import Array
from autograder.pack import load_pack

COURSE = Path(__file__).parents[3]
PS1, PS2, PS3 = "ps1_numpy_attention", "ps2_torch_attention", "ps3_multi_head"
PS6 = "ps6_transformer_block"


@cache
def pack_of(name):
    return load_pack(COURSE, name)


@cache
def prepared(assignment, name):
    pack = pack_of(assignment)
    spec = pack.draw(name, "selfcheck", public_only=True)
    return pack, spec, small_inputs(pack, spec)


def search(assignment, name, implementation, *, simpler=True):
    pack, spec, small = prepared(assignment, name)
    run = partial(pack.observe, name, implementation)
    if not simpler:
        return smallest(spec, small, run, Clock(60.0))
    expect = partial(expected_of, pack, spec, title="")
    return smallest(spec, small, run, Clock(60.0), expect, partial(is_fair, pack, spec))


def softmax_over_queries(scores):
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def softmax_of_powers_of_two(scores):
    powers = 2.0 ** (scores - scores.max(axis=0))
    return powers / powers.sum(axis=0)


def softmax_without_shift(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=0)


def half_scaled(scores, d_k):
    return scores / (d_k / 2)


def causal_without_diagonal(n):
    import torch

    return torch.ones(n, n).tril(-1).bool()


def padding_one_too_many(lengths, n_max):
    import torch

    return (torch.arange(n_max) <= lengths[:, None])[:, None, :]


def keys_by_values(Q, K, V, mask=None):
    import torch

    scores = Q @ K.mT / V.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ V, weights


def interleaved_heads(x, num_heads):
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


def one_bias_for_each_layer(d_model, num_heads, bias=True):
    return 4 * d_model**2 + 4 * bias


# (assignment, exercise, wrong code, most numbers of the input, words of it)
WRONG = [
    (PS1, "project", lambda W, X: W.T @ X, 6, None),
    (PS1, "attention_scores", lambda Q, K: Q.T @ K, 4, None),
    (PS1, "scale_scores", half_scaled, 2, "scores = [[1]], d_k = 1"),
    (PS1, "softmax", softmax_over_queries, 2, None),
    (PS1, "softmax", softmax_of_powers_of_two, 2, "scores = [[0], [1]]"),
    (PS1, "softmax", softmax_without_shift, 1, None),
    (PS1, "softmax_jacobian", lambda p: -np.outer(p, p), 1, "p = [1]"),
    (PS1, "attend", lambda V, weights: V @ weights.T, 9, None),
    (PS2, "causal_mask", causal_without_diagonal, 1, "n = 1"),
    (PS2, "padding_mask", padding_one_too_many, 2, None),
    (PS2, "scaled_dot_product_attention", keys_by_values, 12, None),
    # two heads that are two features wide
    (PS3, "split_heads", interleaved_heads, 9, None),
    # its only public case with biases calls it more than once
    (PS3, "count_parameters", one_bias_for_each_layer, 2, "d_model = 2, num_heads = 1"),
]


@pytest.mark.parametrize(
    ("assignment", "name", "wrong", "most", "words"),
    WRONG,
    ids=[f"{item[1]}-{number}" for number, item in enumerate(WRONG)],
)
def test_wrong_functions_fail_on_a_small_input(assignment, name, wrong, most, words):
    found = search(assignment, name, wrong)
    assert found is not None
    assert found.size <= most
    said = input_words(found.case.program)
    assert words is None or said == words
    # by hand: small whole numbers, or halves of a distribution; 10000 where size is the matter
    for _, value in leaves_of(found.case.program):
        if isinstance(value, Array):
            entries = np.asarray(value.data, dtype=np.float64).ravel()
            assert all(entry in (0, 0.5, 1, 2, 3, 10000) for entry in np.abs(entries))
    expected, got = results_words(found)
    assert expected != got


def test_the_words_hold_the_very_numbers():
    found = search(PS1, "softmax", softmax_of_powers_of_two)
    assert results_words(found) == ("[[0.2689], [0.7311]]", "[[0.3333], [0.6667]]")


def test_an_exception_is_what_was_got():
    found = search(PS1, "attention_scores", lambda Q, K: np.linalg.inv(Q @ K))
    assert "Error" in results_words(found)[1]


@pytest.mark.parametrize(("assignment", "name"), [
    (PS1, "softmax"), (PS1, "self_attention"), (PS2, "padding_mask"),
])  # fmt: skip
def test_nothing_is_found_for_right_code(assignment, name):
    pack, spec, small = prepared(assignment, name)
    assert small
    for case in small:
        assert is_fair(pack, spec, case), input_words(case.program)
    assert search(assignment, name, pack.exercises[name].reference) is None


def test_statistical_and_drawing_exercises_have_no_small_inputs():
    assert prepared(PS1, "score_variance")[2] == ()
    assert prepared(PS2, "init_projections")[2] == ()


def test_nothing_random_of_a_case_in_which_dropout_draws():
    pack, spec, small = prepared(PS6, "EncoderBlock")
    assert small and all(is_fair(pack, spec, case) for case in small)
    assert not {"skip_path"} & {case.title for case in small}


def test_small_inputs_are_small_sorted_and_of_no_hidden_case():
    pack, _, small = prepared(PS1, "softmax")
    hidden = {case.name for case in pack.exercises["softmax"].cases if case.hidden}
    assert hidden
    assert not hidden & {case.title for case in small}
    weights = [weight(case.program) for case in small]
    assert weights == sorted(weights)
    assert all(count(case.program) <= NUMBERS for case in small)


def test_inputs_are_the_same_whatever_the_run():
    pack, _, small = prepared(PS1, "softmax")
    again = small_inputs(pack, pack.draw("softmax", "another seed"))
    words = [input_words(case.program) for case in small]
    assert words == [input_words(case.program) for case in again]


def test_no_time_no_counterexample():
    pack, spec, small = prepared(PS1, "softmax")
    run = partial(pack.observe, "softmax", softmax_over_queries)
    assert smallest(spec, small, run, Clock(0.0)) is None


def test_a_session_that_ended_is_asked_nothing_more():
    _, spec, small = prepared(PS1, "softmax")
    asked = []
    assert smallest(spec, small, asked.append, Clock(60.0)) is None
    assert len(asked) == 1


class TestFilling:
    def made(self, old, sizes=None, filling="drawn", seed=0):
        old = np.asarray(old)
        array = Array(old.dtype.name, old.shape, old)
        new = Filling(array, sizes or {}, filling, np.random.default_rng(seed)).array()
        assert new.dtype == array.dtype
        return new.data

    @given(st.integers(0, 1000), st.sampled_from(["sparse", "numbered", "drawn"]))
    def test_a_mask_shows_a_key_in_every_row(self, seed, filling):
        old = np.ones((4, 5), dtype=bool)
        new = self.made(old, {4: 2, 5: 3}, filling, seed)
        assert new.shape == (2, 3)
        assert new.any(axis=-1).all()

    def test_a_causal_mask_stays_one(self):
        new = self.made(np.tril(np.ones((5, 5), dtype=bool)), {5: 3})
        assert np.array_equal(new, np.tril(np.ones((3, 3), dtype=bool)))

    @given(st.integers(0, 1000), st.sampled_from(["sparse", "numbered", "drawn"]))
    def test_distributions_stay_distributions(self, seed, filling):
        old = np.random.default_rng(1).dirichlet(np.ones(5), size=3).T
        new = self.made(old, {5: 2, 3: 3}, filling, seed)
        assert np.allclose(new.sum(axis=0), 1)
        assert (new >= 0).all()

    @given(st.integers(0, 1000))
    def test_whole_numbers_stay_below_the_size_that_bounds_them(self, seed):
        new = self.made(np.array([4, 1, 3]), {3: 2, 6: 2}, seed=seed)
        assert new.dtype.kind == "i"
        assert new.min() >= 1 and new.max() <= 2

    def test_a_permutation_stays_one(self):
        assert sorted(self.made(np.array([2, 0, 3, 1]), {4: 3})) == [0, 1, 2]

    def test_large_numbers_stay_large(self):
        assert np.abs(self.made(np.array([800.0, 1.0, 2.0]), {3: 2})).max() == 1000

    def test_nothing_negative_where_nothing_was(self):
        assert all((self.made(np.ones((3, 3)) * 2, seed=seed) >= 0).all() for seed in range(20))


@pytest.mark.parametrize(("value", "words"), [
    (np.array([[1.0, 0.5], [-0.0, 2.0]]), "[[1, 0.5], [0, 2]]"),
    (np.array([True, False]), "[True, False]"),
    (np.array(1e4), "10000"),
    (3, "3"),
    (np.array([np.nan, np.inf]), "[nan, inf]"),
    ((1, None), "(1, None)"),
])  # fmt: skip
def test_numbers_as_python_writes_them(value, words):
    assert numbers(value) == words
