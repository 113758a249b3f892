"""The facts that tutorials on attention are loose about: where each is taught, where computed.

One entry for each statement of the course's list. A place is a problem set, a cell of its
notebook (a question's cell is `question_<id>`) and words that stand there; a test is named by
its file in tests/ and its function. `tests/test_course_facts.py` sees to it that all of them
exist, and `make counts` counts them.
"""

from __future__ import annotations

from dataclasses import dataclass

PS1, PS2, PS3 = "ps1_numpy_attention", "ps2_torch_attention", "ps3_multi_head"
PS4, PS5 = "ps4_numerics_and_memory", "ps5_positions_and_sparsity"
PS6 = "ps6_transformer_block"

Place = tuple[str, str, str]


@dataclass(frozen=True)
class Fact:
    """One statement. taught: (set, cell, words in it). tests: file::function or ::Class::method."""

    says: str
    taught: tuple[Place, ...]
    tests: tuple[str, ...]


def _fact(says: str, *taught: Place, tests: str) -> Fact:
    return Fact(says, taught, tuple(tests.split()))


FACTS: tuple[Fact, ...] = (
    # --- variance ---
    _fact(
        "Var(q·k) = d_k needs zero mean, unit variance and independence",
        (PS1, "variance", "All three assumptions are needed: mean 0, variance 1, independence."),
        (PS1, "moments-of-one-product", '"as assumed": first * second'),
        tests="pack/test_ps1.py::test_the_variance_of_a_score_is_d_k",
    ),
    _fact(
        "that variance is per entry of the scores",
        (PS1, "variance", "Two entries of a column share their query"),
        tests="pack/test_ps1.py::test_entries_that_share_a_query_are_not_independent",
    ),
    _fact(
        "mean 1 gives 3·d_k",
        (PS1, "broken-assumptions", r"**Mean 1** gives a variance of $3\,d_k$"),
        (PS1, "question_variance_with_mean", "every entry has **mean 1**"),
        tests="pack/test_ps1.py::test_a_mean_of_one_makes_it_three_times_d_k",
    ),
    _fact(
        "q = k gives mean d_k and variance 2·d_k",
        (PS1, "broken-assumptions", r"**$q = k$** gives mean $d_k$ and variance $2\,d_k$."),
        (PS1, "question_diagonal_score", "the query of a token is also its key"),
        tests="pack/test_ps1.py::test_a_query_that_is_its_key_has_mean_d_k_and_variance_two_d_k",
    ),
    _fact(
        "standard deviation 0.5 gives a scaled variance of 1/16",
        (PS1, "broken-assumptions", "gives a scaled variance of $1/16$"),
        (PS1, "question_variance_with_spread", "What is the variance of a *scaled* score"),
        tests="pack/test_ps1.py::test_half_the_standard_deviation_gives_a_sixteenth_once_scaled",
    ),
    _fact(
        "default nn.Linear projections of N(0, 1) inputs give a scaled variance of 1/9",
        (PS2, "question_default_variance", "What is the variance of a scaled score"),
        (PS2, "initial-scores-read", r"scaled scores $\tfrac19$"),
        tests="test_course_facts.py::TestScoresOfAFreshLayer::"
        "test_default_linear_layers_give_a_ninth",
    ),
    _fact(
        "W ~ N(0, 1) of width 256 leaves scaled scores a std of about 256; W/√d cures it",
        (PS1, "larger-run", "The scale does not cure that."),
        (PS2, "question_unit_weights", "entries from N(0, 1)"),
        tests="pack/test_ps1.py::"
        "test_projections_from_n_0_1_spread_scaled_scores_by_their_width "
        "test_course_facts.py::TestScoresOfAFreshLayer::"
        "test_unit_weights_of_width_256_spread_by_256",
    ),
    # --- layouts and softmax ---
    _fact(
        "in the column layout A = KᵀQ, and A[i, j] is the attention of token j to token i",
        (PS1, "scores", "is the attention of token $j$ **to** token"),
        (PS1, "question_column_layout", "`weights[1, 2] == 0.75`"),
        tests="pack/test_ps1.py::test_a_column_holds_what_its_token_attends_to",
    ),
    _fact(
        "one global maximum in softmax is a bug (NaN columns), not a style",
        (PS1, "global-maximum-is-a-bug", "One global maximum is not a matter of style but a bug"),
        (PS1, "question_which_columns", "Which columns of the weights are NaN?"),
        (PS4, "question_why_own_maximum", "the maximum of the whole (n_q, n_k) matrix"),
        tests="pack/test_ps1.py::test_one_global_maximum_makes_a_column_nan",
    ),
    _fact(
        "on batched input axis 0 normalises over the batch in silence",
        (PS1, "softmax-columns", "normalises over the batch, without any error"),
        (PS2, "axis-zero", "softmax over axis"),
        tests="test_course_facts.py::test_axis_0_of_a_batch_is_the_batch",
    ),
    # --- widths, biases, initial weights ---
    _fact(
        "Q and K must share a width; only V's is free",
        (PS1, "projections", "The width of the values, $d_v$, is free."),
        (PS1, "question_fitting_widths", "other shapes may `W_k` and `W_v` be given"),
        (PS2, "widths", "queries of width 8, keys of width 6"),
        tests="test_course_facts.py::TestShapesAndParametersOfLayers::"
        "test_queries_and_keys_share_a_width_and_values_do_not",
    ),
    _fact(
        "a key bias changes no output",
        (PS2, "question_idle_bias", "without changing any output"),
        (PS2, "idle-bias-read", "softmax does not see a shift"),
        tests="test_course_facts.py::test_a_key_bias_changes_no_output_and_the_others_do",
    ),
    _fact(
        "scaling twice and dividing by d_k are the same mistake",
        (PS1, "scale", "Scaling twice amounts to dividing by $d_k$"),
        (PS1, "question_twice_scaled", "calls a library that scales the scores by itself"),
        (PS2, "scale-seen", "scaled twice, which is the same as dividing by $d_k$"),
        tests="pack/test_ps1.py::test_scaling_twice_is_dividing_by_d_k",
    ),
    _fact(
        "Xavier with gain 0.02 is not std 0.02: at 64 → 128 it gives std 0.002",
        (PS2, "question_xavier_gain", "`nn.init.xavier_uniform_(weight, gain=0.02)`"),
        tests="test_course_facts.py::TestXavierWithGain002::"
        "test_the_standard_deviation_is_a_tenth_of_it",
    ),
    _fact(
        "its scores are so flat that weights are uniform to three digits",
        (PS2, "gain-picture-read", "With gain 0.02 every weight is 0.100 to three digits"),
        tests="test_course_facts.py::TestXavierWithGain002::"
        "test_weights_are_uniform_to_three_digits",
    ),
    # --- order ---
    _fact(
        "attention without positions is permutation equivariant",
        (PS5, "order-read", "self-attention without positions is **permutation equivariant**"),
        (PS5, "question_shuffled_tokens", "in another order"),
        (PS3, "order", "layer is *permutation equivariant*"),
        (PS6, "question_permuted_weights", "Now the tokens come in another order"),
        tests="pack/test_ps5.py::test_shuffled_tokens "
        "test_course_facts.py::TestOrder::"
        "test_equivariant_without_a_mask_and_the_mean_invariant",
    ),
    _fact(
        "it is invariant only after pooling",
        (PS5, "order-read", "It is not *invariant*; only after pooling"),
        (PS6, "question_tells_the_order", "if its output is the mean over its tokens?"),
        (PS6, "question_equivariant_ones", "are permutation **equivariant**?"),
        tests="pack/test_ps5.py::test_shuffled_tokens "
        "pack/test_ps6.py::TestEquivariance::test_our_block_is_and_its_mean_is_invariant",
    ),
    _fact(
        "with a causal mask it is neither equivariant nor invariant",
        (PS6, "question_tells_the_order", "A layer of self-attention with a causal mask"),
        (PS6, "question_equivariant_ones", "self-attention with a causal mask"),
        tests="pack/test_ps6.py::TestNumbersOfOrderAndReach::test_dog_bites_man "
        "pack/test_quiz_choices.py::TestSeveralOfPs6::test_which_are_equivariant",
    ),
    # --- heads ---
    _fact(
        "heads do not change the parameter count: the same for 1, 8 and 32",
        (PS3, "count-table", "for heads in (1, 8, 32)"),
        (PS3, "question_parameters", "MultiHeadAttention("),
        (PS3, "question_more_heads", "the number of heads goes from 8 to 16"),
        tests="test_course_facts.py::TestCostsOfHeads::test_the_number_of_heads_does_not_count",
    ),
    _fact(
        "d = 512: 786,432 for Q, K and V, and 1,048,576 with W_o",
        (PS3, "count-table", "make queries, keys and values, and"),
        tests="test_course_facts.py::TestCostsOfHeads::test_the_number_of_heads_does_not_count",
    ),
    _fact(
        "a single head without W_o has 262,144 fewer",
        (PS3, "question_single_head", "a single head **without** an output layer"),
        tests="test_course_facts.py::TestCostsOfHeads::test_the_questions",
    ),
    _fact(
        "512/32 leaves 16 a head",
        (PS3, "narrow-heads", "512 // heads"),
        (PS3, "question_scale_of_a_head", "By which number are its scores divided?"),
        tests="test_course_facts.py::TestFormulaOfHeads::test_512_features_in_32_heads",
    ),
    # --- time and memory ---
    _fact(
        "time is O(n²d + nd²)",
        (PS3, "time", "So time is $O(n^2 d + n d^2)$."),
        (PS4, "costs", "$$8nd^2 + 4n^2d .$$"),
        (PS4, "question_projections_share", "8·n·d² + 4·n²·d"),
        (PS4, "question_quadratic_share", "spent on pairs of tokens"),
        tests="test_course_facts.py::TestCostsOfHeads::test_time "
        "pack/test_ps4.py::TestOracles::test_attention_flops_counted_by_the_library",
    ),
    _fact(
        "at n = 196, d = 512 the projections cost 5 times the n² term",
        (PS3, "question_projections_or_scores", "n = 196 patches"),
        (PS4, "costs-by-hand", "n, d = 196, 512"),
        tests="test_course_facts.py::TestCostsOfHeads::test_time "
        "pack/test_ps4.py::TestNumbers::test_costs",
    ),
    _fact(
        "memory is O(h·n²)",
        (PS3, "memory", r"$O(h\,n^2)$"),
        tests="test_course_facts.py::TestCostsOfHeads::test_memory",
    ),
    _fact(
        "n = 8192, h = 8: one float32 score tensor takes 2 GiB",
        (PS3, "question_score_memory", "n = 8192 tokens"),
        (PS4, "costs-example", "n = 8192"),
        tests="test_course_facts.py::TestCostsOfHeads::test_memory "
        "pack/test_ps4.py::TestNumbers::test_memory",
    ),
    # --- masks ---
    _fact(
        "−1e9 overflows float16",
        (PS4, "minus-1e9", "as a float16, -1e9 is"),
        (PS4, "lowest-number", "`-1e9` does not fit."),
        (PS4, "question_hides_safely", "Scores are `float16`"),
        tests="pack/test_ps4.py::TestNumbers::test_half_types",
    ),
    _fact(
        "a fully masked row becomes uniform with −1e9, NaN with −inf, and should be zeros",
        (PS4, "empty-row-three-ways", "filled with -1e9"),
        (PS4, "empty-row-read", "**weights of zero**"),
        (PS4, "question_empty_row", "has nothing visible"),
        (PS4, "question_masked_rows", "What should `masked_softmax` return"),
        tests="pack/test_ps4.py::TestNumbers::test_an_empty_row "
        "test_course_facts.py::test_a_row_with_nothing_visible",
    ),
    _fact(
        "a (batch, n) padding mask broadcasts silently as (query, key) when batch = n",
        (PS2, "question_silent_broadcast", "has shape (8, 8), (batch, key)"),
        (PS2, "question_mask_shapes", "What can a mask of each shape say?"),
        (PS4, "question_silent_broadcast", "wrong *without an error*"),
        tests="test_course_facts.py::TestMasks::test_a_flat_padding_mask_is_read_as_query_and_key",
    ),
    # --- self- and cross-attention ---
    _fact(
        "self- and cross-attention differ in where Q and where K and V come from",
        (PS2, "cross", "That is the whole difference."),
        tests="test_course_facts.py::test_cross_attention_to_itself_is_self_attention",
    ),
    _fact(
        "cross scores are n_q × n_k",
        (PS2, "question_cross_shape", "and a context of shape"),
        (PS3, "question_cross_shape", "and a key of shape"),
        tests="test_course_facts.py::TestShapesAndParametersOfLayers::"
        "test_cross_attention_has_a_row_for_each_query "
        "test_course_facts.py::TestShapesOfTheLayer::test_a_key_alone",
    ),
    # --- worked shapes ---
    _fact(
        "(2, 6, 512) → (2, 6, 64) with weights (2, 6, 6) and 98,304 parameters",
        (PS2, "layer-example", "(2, 6, 512) goes in"),
        (PS2, "parameters-by-hand", "3 * input_dim * dim_k"),
        tests="test_course_facts.py::TestShapesAndParametersOfLayers::test_512_to_64",
    ),
    _fact(
        "(4, 10, 64) with dim_k 128, dim_v 160 → (4, 10, 160) and 27,040 parameters with biases",
        (PS2, "question_parameters", "`SelfAttention(64, 128, dim_v=160, bias=True)`"),
        tests="test_course_facts.py::TestShapesAndParametersOfLayers::test_wide_values_with_biases",
    ),
    _fact(
        "(256, 32) columns have a (32, 32) score matrix",
        (PS1, "larger-run", "$X$ has shape $(256, 32)$ and the score matrix $(32, 32)$"),
        tests="pack/test_ps1.py::test_projections_from_n_0_1_spread_scaled_scores_by_their_width",
    ),
    _fact(
        "[4, 3] → [4, d_k] → [4, 4] → [4, d_v]",
        (PS1, "self-attention", "| scores and weights | $K^\\top Q$: $(4, 4)$"),
        tests="pack/test_ps1.py::test_shapes_of_four_tokens_of_three_features",
    ),
    # --- looking at weights ---
    _fact(
        'in the pronoun example "animal" is token 1 when counting from 0',
        (PS1, "pronoun", "which is token 1 when counting from 0"),
        (PS2, "question_pronoun_entry", "are counted from 0"),
        tests="test_course_facts.py::test_the_pronoun_and_its_animal "
        "pack/test_ps1.py::test_weights_set_by_hand_let_it_attend_to_the_animal",
    ),
    _fact(
        "weights are a look at one layer, not proof of understanding",
        (PS1, "pronoun-caution", "does not prove that the model understood the sentence"),
        (PS2, "pronoun-caution", "does not prove that the model understood the sentence"),
        tests="pack/test_ps1.py::test_weights_set_by_hand_let_it_attend_to_the_animal",
    ),
    # --- beside other layers ---
    _fact(
        "attention is a soft look-up",
        (PS1, "soft-lookup", "Attention looks up *softly*."),
        (PS1, "soft-lookup-numbers", "soft: a mixture of all three"),
        (PS1, "question_soft_lookup", "What is the output for this query?"),
        tests="pack/test_ps1.py::test_attention_is_a_soft_look_up",
    ),
    _fact(
        "a convolution is local and translation equivariant, up to borders",
        (PS5, "convolution", "**translation equivariant**"),
        (PS5, "question_who_is_equivariant", "Apart from the borders"),
        (PS6, "question_sees_what", "a convolution of kernel size 5"),
        tests="pack/test_ps5.py::test_who_is_equivariant",
    ),
    _fact(
        "windows (Swin) trade reach for cost",
        (PS5, "windows-trade", "Windows trade **reach for cost**."),
        (PS5, "question_cost_of_windows", "windows of 7 x 7"),
        (PS5, "question_window_scores", "Attention runs inside of each window."),
        tests="pack/test_ps5.py::test_answers_and_what_mistakes_give "
        "test_course_facts.py::test_windows_trade_reach_for_cost",
    ),
)
