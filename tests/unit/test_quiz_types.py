"""Every type of question: reading, credit, words, and mistakes in quiz.yaml."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.exercise import AuthoringError
from autograder.quiz import (
    NotAnAnswer,
    for_student,
    form_of,
    guessing,
    load_quiz,
    read_answer,
    words_for,
)
from autograder.quiz.choices import MultipleChoice
from autograder.quiz.ordering import closure, longest_in_order
from autograder.quiz.questions import Option, Question
from tests.unit.quizzes import EVERY_TYPE, judged, quiz_in, write_quiz


@pytest.fixture(scope="module")
def quiz(tmp_path_factory):
    return quiz_in(tmp_path_factory.mktemp("quiz") / "ps0")


class TestReading:
    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            ("axis", " CEDAR ", "“cedar”"),
            ("axis", "ｃｅｄａｒ", "“cedar”"),
            ("axis", ["cedar"], "“cedar”"),
            ("facts", "delta、cedar", "the options cedar, delta"),
            ("facts", "cedar cedar amber", "the options amber, cedar"),
            ("facts", ["amber"], "the options amber"),
            ("memory", "48 KiB", "49152 bytes"),
            ("memory", "1.5MiB", "1572864 bytes"),
            ("memory", "10 bytes", "10 bytes"),
            ("memory", "１２", "12 bytes"),
            ("ratio", "1/3", "the number 0.333333333333"),
            ("ratio", "−3,", None),
            ("split", "2, 4, 6, 8", "the shape (2, 4, 6, 8)"),
            ("split", "［2，4］", "the shape (2, 4)"),
            ("split", (2,), "the shape (2,)"),
            ("split", 7, "the shape (7,)"),
            ("split", "()", "the shape ()"),
            ("split", [], "the shape ()"),
            ("split", "torch.Size([2, 4])", "the shape (2, 4)"),
            ("split", "2x4 × 6*8", "the shape (2, 4, 6, 8)"),
            ("split", "2 4 6 8", "the shape (2, 4, 6, 8)"),
            ("split", np.array([2, 4]), "the shape (2, 4)"),
            ("split", "2, 4.5", None),
            ("split", [2, -1], None),
            ("split", "1" * 40, None),
            ("split", [1] * 40, None),
            ("split", {"a": "b"}, None),
            ("mask", "1 0\n0.5 0.5", "the matrix [[1, 0], [0.5, 0.5]]"),
            ("mask", "[[1, 0], [1/2, 0.5]]", "the matrix [[1, 0], [0.5, 0.5]]"),
            ("mask", "［［1，0］，［0.5，0.5］］", "the matrix [[1, 0], [0.5, 0.5]]"),
            ("mask", np.eye(2), "the matrix [[1, 0], [0, 1]]"),
            ("mask", [1, 2], "the matrix [[1, 2]]"),
            ("mask", "1 0; 0.5", None),
            ("mask", [[1, [2]], [3, 4]], None),
            ("mask", [[0] * 40], None),
            ("mask", 3, None),
            ("steps", "birch→maple→cloud→stone→river",
             "the order birch, maple, cloud, stone, river"),
            ("steps", "river, stone", None),
            ("steps", "river, river, stone, cloud, maple, birch", None),
            ("roles", {"one": "kiwi", "two": None}, "the pairs one-kiwi"),
            ("roles", "ONE：kiwi；two→fig", "the pairs one-kiwi, two-fig"),
            ("roles", [("one", "kiwi"), ["two", "fig"]], "the pairs one-kiwi, two-fig"),
            ("roles", "one-kiwi, one-fig", None),
            ("roles", "one", None),
            ("roles", 3, None),
            ("cost", "n²·dₖ", "the formula n**2 * d_k"),
            ("cost", 7, "the formula 7"),
            ("cost", "__import__('os')", None),
            ("cost", ["n"], None),
        ],
    )  # fmt: skip
    def test_answers(self, quiz, name, value, said):
        form = form_of(quiz[name])
        if said is None:
            with pytest.raises(NotAnAnswer):
                read_answer(form, value)
        else:
            assert words_for(form, read_answer(form, value)) == said

    @pytest.mark.parametrize("blank", [None, "", " \n", "　"])
    def test_blank_is_unanswered(self, quiz, blank):
        for question in quiz.values():
            assert read_answer(form_of(question), blank) is None
            result = judged(question, repr(blank))
            assert (result.outcome, result.score, result.answer) == ("unanswered", 0.0, "")

    @pytest.mark.parametrize(("name", "value"), [("facts", ","), ("roles", {}), ("facts", [])])
    def test_choosing_nothing_is_unanswered(self, quiz, name, value):
        assert read_answer(form_of(quiz[name]), value) is None

    @settings(deadline=None, max_examples=60)
    @given(
        st.one_of(
            st.text(),
            st.text("0123456789 ,;.×x[]()-→abon²_*^\n{}'\""),
            st.recursive(
                st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=5)),
                lambda inner: st.one_of(
                    st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner)
                ),
                max_leaves=6,
            ),
        )
    )
    def test_anything_is_read_or_refused(self, quiz, value):
        for question in quiz.values():
            form = form_of(question)
            try:
                answer = read_answer(form, value)
            except NotAnAnswer as problem:
                assert str(problem)
            else:
                assert answer is None or words_for(form, answer)

    def test_what_was_read_is_read_again(self, quiz):
        """The answer in the result document is one that a student might have written."""
        for question in quiz.values():
            own = for_student(question, "s01")
            result = judged(own, repr(guessing.right(own)))
            again = judged(own, repr(result.answer))
            assert (result.outcome, again) == ("correct", result)


class TestCredit:
    @pytest.mark.parametrize(
        ("chosen", "credit"),
        [
            ("cedar, amber", 1.0),
            ("cedar", 0.5),
            ("cedar, amber, birch", 0.5),
            ("cedar, birch", 0.0),
            ("birch", 0.0),
            ("birch, delta", 0.0),
            ("cedar, amber, birch, delta", 0.0),
            ("cedar, amber, birch, delta, ebony, fjord, grove", 0.0),
        ],
    )
    def test_multiple_choice_is_net_correct(self, quiz, chosen, credit):
        assert judged(quiz["facts"], repr(chosen)).score == 2 * credit

    @pytest.mark.parametrize("right", range(1, 6))
    def test_multiple_choice_takes_away_as_much_as_it_gives(self, right):
        """Of six options. Whoever chooses one wrong one for each right one has nothing."""
        options = tuple(Option(f"o{i}", f"text {i}") for i in range(6))
        question = Question(
            id="q", type="multiple_choice", points=1.0, prompt="", explanation="",
            options=options, answer=tuple(option.id for option in options[:right]),
        )  # fmt: skip
        ids = [option.id for option in options]
        both = min(right, 6 - right)
        for chosen in (ids, ids[:both] + ids[right : right + both], ids[right:]):
            assert MultipleChoice().judge(question, tuple(chosen)).credit == 0
        if right > 1:
            share = MultipleChoice().judge(question, tuple(ids[: right - 1])).credit
            assert share == pytest.approx(1 - 1 / right)
        one_more = MultipleChoice().judge(question, tuple(ids[: right + 1])).credit
        assert one_more == pytest.approx(1 - 1 / both)

    def test_multiple_choice_before_the_floor_is_fair(self, quiz):
        """A guesser would get nothing; choosing all or nothing is worth exactly nothing."""
        right, every = {"cedar", "amber"}, ["cedar", "amber", "birch", "delta"]
        subsets = [set(part) for size in range(5) for part in itertools.combinations(every, size)]
        credits = [len(part & right) / 2 - len(part - right) / 2 for part in subsets]
        assert sum(credits) == 0

    @pytest.mark.parametrize(
        ("order", "score"),
        [
            ("river, stone, cloud, maple, birch", 2.0),
            ("stone, river, cloud, maple, birch", 1.0),
            ("birch, river, stone, cloud, maple", 1.0),
            ("stone, river, maple, cloud, birch", 0.0),
            ("birch, maple, cloud, stone, river", 0.0),
        ],
    )
    def test_ordering(self, quiz, order, score):
        assert judged(quiz["steps"], repr(order)).score == score

    @pytest.mark.parametrize(
        ("pairs", "score"),
        [
            ("one-kiwi, two-fig, three-plum, four-date", 3.0),
            ("one-kiwi, two-fig, three-plum", 2.0),
            ("one-kiwi, two-fig, three-date, four-plum", 1.0),
            ("one-kiwi", 0.0),
            ("one-fig, two-kiwi, three-plum, four-plum", 0.0),
        ],
    )
    def test_matching(self, quiz, pairs, score):
        assert judged(quiz["roles"], repr(pairs)).score == score

    @pytest.mark.parametrize(
        ("source", "right"),
        [("0.333", True), ("0.3335", True), ("0.33", False), ("0.3328", False), ("1/3", True),
         ("'1/3'", True), ("0.33383", True), ("0.334", False)],
    )  # fmt: skip
    def test_significant_digits(self, quiz, source, right):
        assert (judged(quiz["ratio"], source).outcome == "correct") is right

    def test_longest_common_subsequence_by_brute_force(self):
        """Against every order that the constraints allow."""
        names = "abcde"
        constraints = [("a", "b"), ("b", "d"), ("c", "d")]
        before = closure(constraints)
        allowed = [
            order
            for order in itertools.permutations(names)
            if all(order.index(x) < order.index(y) for x, y in constraints)
        ]
        for order in itertools.permutations(names):
            best = max(_lcs(order, other) for other in allowed)
            assert longest_in_order(order, before) == best


def _lcs(one, other):
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


class TestWords:
    """What stands in feedback; pinned, since students read it."""

    @pytest.mark.parametrize(
        ("name", "source", "message"),
        [
            ("facts", "'cedar, birch'",
             "“birch, cedar” is not right. “birch” is wrong. Not so. Try one? “amber” is right "
             "too. "
             "A distribution."),
            ("facts", "'cedar'", "“cedar” is partly right. “amber” is right too. A distribution."),
            ("memory", "'3 MB'",
             "could not be read: “MB” is 1000 or 1024 to different people; write KiB, MiB or "
             "GiB, or "
             "the number of bytes. 1048576 bytes"),
            ("memory", "'3 apples'",
             "could not be read: the answer is a number of bytes; write it without another unit. "
             "1048576 bytes"),
            ("memory", "262144",
             "“262144” is not right. Your numbers were h = 16 and n = 128. Entries. Of 16 "
             "heads: 262144 "
             "of what? 1048576 bytes"),
            ("split", "'2, a'",
             "could not be read: “a” is no size; write the sizes with commas: \"(3, 1, 4, 1, 5)\". "
             "Heads of 2."),
            ("split", "(2, 6, 16, 2)",
             "“(2, 6, 16, 2)” is not right. Your numbers were d = 32 and h = 16. Not "
             "transposed. Which "
             "axes? Heads of 2."),
            ("mask", "[[1, 0, 0]]",
             "“[[1, 0, 0]]” is not right. It has 2 rows and 2 columns. Each sees the past."),
            ("mask", "[[1, 0], [0, 1]]",
             "“[[1, 0], [0, 1]]” is not right. 2 of its 4 entries are right. Each sees the past."),
            ("mask", "[[0.5, 0.5], [0, 1]]",
             "“[[0.5, 0.5], [0, 1]]” is not right. The past. Who? Each sees the past."),
            ("steps", "'stone, river, cloud, maple, birch'",
             "“stone, river, cloud, maple, birch” is partly right. 4 of 5 stand in a right order. "
             "So it goes."),
            ("steps", "'stone, river'",
             "could not be read: birch, cloud, maple: no place yet; write each option once. "
             "So it goes."),
            ("roles", "'one-fig, two-fig'",
             "“one-fig, two-fig” is not right. 1 of 4 pairs are right. “one-fig” is wrong. "
             "Swapped. "
             "Who asks? So they are."),
            ("cost", "'n^2 d_k'",
             "“n**2 * d_k” is not right. Multiply-adds. Two? Two for each."),
        ],
    )  # fmt: skip
    def test_messages(self, quiz, name, source, message):
        assert judged(quiz[name], source).message == message


FAULTS = [
    ("answer: [cedar, amber]", "answer: [cedar, oak]", "facts", "the answer oak is none of its"),
    ("answer: [cedar, amber]", "answer: [cedar, cedar]", "facts", "the answer names cedar twice"),
    ("answer: [cedar, amber]", "answer: [cedar, amber, birch, delta, ebony, fjord, grove]", "facts",
     "every option is right; add a wrong one"),
    ("answer: [cedar, amber]", "answer: cedar", "facts", "answer is no list; write them as [a, b]"),
    ("{id: birch, text: symmetric", "{id: a b, text: symmetric", "facts",
     "the id 'a b' is no single word"),
    ("unit: bytes", "unit: [bytes]", "memory", "unit is ['bytes']; put it in quotes"),
    ("answer: 4 * h * n**2", "answer: 4 * k", "memory", "the formula 4 * k has no value: "),
    ("answer: 4 * h * n**2", "answer: n / (h - 2)", "memory", "has no value: "),
    ("answer: 4 * h * n**2", "answer: h * n**2", "memory",
     "with h = 2, n = 64: the wrong value 8192 counts as right; narrow the tolerance; correct "
     "it, or "
     "leave the draw out by `where`"),
    ("h: [2, 4, 8, 16]", "h: 2", "memory", "h is 2; write its choices as [16, 32]"),
    ("h: [2, 4, 8, 16]", "h: [2, 2]", "memory", "h holds 2 twice"),
    ("h: [2, 4, 8, 16]", "h: [2, x]", "memory", "h holds 'x'; write numbers"),
    ("h: [2, 4, 8, 16]", "2h: [2, 4]", "memory", "the draw '2h' is no name"),
    ("h: [2, 4, 8, 16]", f"h: {list(range(1, 3000))}", "memory",
     "there are 14995 combinations, more than 10000; write fewer choices"),
    ('["n > h"]', '["n > 1000"]', "memory", "0 combinations are left to draw; write more choices"),
    ('["n > h"]', '["n >"]', "memory", "the formula n > has no value: "),
    ('where: ["n > h"]', "equal: maybe", "memory", "equal is 'maybe'; write true or false"),
    ('"{h} heads, {n} tokens: bytes?"', '"{h} heads: bytes?"', "memory",
     "the prompt does not show {n}; students need it"),
    ('"{h} heads, {n} tokens: bytes?"', '"{h} {n} {m}"', "memory",
     "prompt: {m} is none of the draws; write {{ for a brace"),
    ('"{h} heads, {n} tokens: bytes?"', '"{h} {n} {=h * n}"', "memory",
     "prompt: {=h * n} would show its formula"),
    ('"{h} heads, {n} tokens: bytes?"', '"{h} {n} } "', "memory",
     "prompt: a single } stands in it; write }} for a brace"),
    ('"{=4 * h * n**2} bytes"', '"{=4 * k} bytes"', "memory", "the formula 4 * k has no value"),
    ("significant: 3", "significant: 0", "ratio", "significant is 0; write 1 to 15 digits"),
    ("significant: 3", "significant: 3\n  tolerance: {absolute: 1}", "ratio",
     "tolerance and significant say two things; keep one"),
    ("significant: 3", "where: ['1 < 2']", "ratio", "where stands without draws"),
    ("answer: [2, h, 6, d // h]", "answer: [2, h, 6, d / h / 3]", "split",
     "is no whole number from 0 up"),
    ("answer: [2, h, 6, d // h]", "answer: 3", "split", "answer is 3; write it as a list of sizes"),
    ("answer: [2, h, 6, d // h]", "answer: [2, 6, h, d // h]", "split",
     "is the right one"),
    ("answer: [2, h, 6, d // h]", "answer: [2, 0.5]", "split", "answer holds 0.5; write whole"),
    ("answer: [[1, 0], [0.5, 0.5]]", "answer: [[1, 0], [0.5]]", "mask",
     "the rows of answer differ"),
    ("answer: [[1, 0], [0.5, 0.5]]", "answer: [1, 0]", "mask", "as a list of rows"),
    ("answer: [[1, 0], [0.5, 0.5]]", "answer: [[1, a], [0.5, 0.5]]", "mask", "answer holds 'a'"),
    ("answer: [[1, 0], [0.5, 0.5]]", "answer: [[0.5, 0.5], [0, 1]]", "mask",
     "the wrong matrix [[0.5, 0.5], [0, 1]] counts as right"),
    ("{id: river, text: project}", "{id: aaa, text: project}", None, None),
    ("  prompt: order\n", "  prompt: order\n  constraints: [[river, oak]]\n", "steps",
     "constraints holds ['river', 'oak']; write pairs of options, the earlier first: [[a, b]]"),
    ("  prompt: order\n", "  prompt: order\n  constraints: [[river, stone], [stone, river]]\n",
     "steps", "the constraints go in a circle; take one out"),
    ("  prompt: order\n", "  prompt: order\n  constraints: [[stone, river]]\n", "steps",
     "the answer breaks a constraint"),
    ("  prompt: order\n", "  prompt: order\n  constraints: [[river, stone]]\n", "steps",
     "the order of the ids, birch, cloud, maple, river, stone, is right; rename the options"),
    ("  prompt: order\n", "  prompt: order\n  wrong: [{value: [river], misconception: x}]\n",
     "steps", "the wrong order river has not every option once"),
    ("  prompt: order\n", "  prompt: order\n  answer: [river]\n", "steps",
     "the answer names not every option once"),
    ("answer: {one: kiwi, ", "answer: {one: oak, ", "roles", "one is matched with 'oak'"),
    ("answer: {one: kiwi, ", "answer: {", "roles", "the answer must match each of left once"),
    ("answer: {one: kiwi, two: fig, three: plum, four: date}",
     "answer: {one: fig, two: fig, three: fig, four: fig}", "roles", "matched with the same"),
    ("answer: {one: kiwi, two: fig, three: plum, four: date}",
     "answer: {four: date, one: fig, three: kiwi, two: plum}", "roles",
     "the lists as they are shown, by their ids, match"),
    ("value: [one, fig]", "value: [one, oak]", "roles", "write the ids of a left and a right"),
    ("value: [one, fig]", "value: one", "roles", "write a pair: [left_id, right_id]"),
    ("value: [one, fig]", "value: [one, kiwi]", "roles", "the wrong pair one-kiwi is right"),
    ("symbols: [n, d_k]", "symbols: [n]", "cost", "the formula 2 * n**2 * d_k cannot be read: "),
    ("symbols: [n, d_k]", "symbols: n", "cost", "symbols is no list of names"),
    ("symbols: [n, d_k]", "symbols: [sqrt]", "cost", "sqrt is a function; choose another name"),
    ("value: n**2 * d_k", "value: n * n * 2 * d_k", "cost", "is equal to the answer"),
    ('text: "{=d}"', 'text: "{=d // h}"', "width", "0 combinations are left to draw"),
]  # fmt: skip


class TestAuthoring:
    @pytest.mark.parametrize(("old", "new", "name", "said"), FAULTS)
    def test_a_mistake_is_named_with_line_and_fix(self, tmp_path, old, new, name, said):
        at = EVERY_TYPE.index(f"id: {name}") if name else 0
        place = EVERY_TYPE.index(old, at)
        text = EVERY_TYPE[:place] + new + EVERY_TYPE[place + len(old) :]
        folder = write_quiz(tmp_path, text)
        if said is None:
            load_quiz(folder)
            return
        with pytest.raises(AuthoringError) as problem:
            load_quiz(folder)
        message = str(problem.value)
        assert said in message
        start, _, rest = message.removeprefix(f"{folder / 'quiz.yaml'}, line ").partition(": ")
        assert rest.startswith(f"question {name}")
        first = text[: text.index(f"id: {name}")].count("\n") + 1
        last = text.find("- id:", text.index(f"id: {name}"))
        assert first <= int(start) <= text[:last].count("\n") + 1

    def test_the_line_is_that_of_the_key(self, tmp_path):
        text = EVERY_TYPE.replace("significant: 3", "significant: 99")
        with pytest.raises(AuthoringError) as problem:
            load_quiz(write_quiz(tmp_path, text))
        line = text[: text.index("significant: 99")].count("\n") + 1
        assert f"quiz.yaml, line {line}: question ratio: " in str(problem.value)

    def test_a_key_that_stands_twice(self, tmp_path):
        text = EVERY_TYPE.replace("  prompt: order\n", "  prompt: order\n  prompt: again\n")
        with pytest.raises(AuthoringError, match="prompt stands twice; take one out"):
            load_quiz(write_quiz(tmp_path, text))

    def test_draws_that_make_options_alike_are_left_out(self, quiz):
        draws = quiz["width"].draws
        assert draws.size == 12
        left = list(draws.admitted_ones)
        assert {"d": 16, "h": 4} not in left  # 16 // 4 is 4
        assert {"d": 64, "h": 8} not in left
        assert len(left) == 10

    def test_a_course_of_another_term_draws_anew(self, tmp_path):
        folder = write_quiz(tmp_path / "ps0")
        students = [f"s{number:02d}" for number in range(40)]

        def drawn():
            [question] = [each for each in load_quiz(folder) if each.id == "memory"]
            return [question.draws.values_for("memory", student) for student in students]

        before = drawn()
        (folder / "__init__.py").write_text('COURSE = "attention, spring"\n', "utf-8")
        assert drawn() != before
        (folder / "__init__.py").write_text("COURSE = 3\n", "utf-8")
        with pytest.raises(AuthoringError, match="line 1: COURSE is a text"):
            load_quiz(folder)
