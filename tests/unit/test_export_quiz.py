"""Quizzes exported for other programs, read back by readers that are not ours."""

import html
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.cli import main
from autograder.export import KINDS, CannotExport, export_course
from autograder.export.quiz_gift import escaped
from autograder.export.quiz_items import VARIANTS, decimal, groups_of, percent, shape_spellings
from autograder.export.quiz_texts import as_html, as_plain
from tests.unit import quiz_readers as read_by

ROOT = Path(__file__).parents[2]
PACKS = sorted(path.parent.name for path in ROOT.glob("solutions/*/quiz.yaml"))
NAME = "ps0_trial"
READERS = {"moodle": read_by.moodle, "gift": read_by.gift, "qti": read_by.qti}
# Of a file's kind; Moodle reads GIFT too, by rules of its own.
READ_BY = {**READERS, "gift in Moodle": read_by.gift_in_moodle}
QUIZ = r"""
- id: gradient
  type: single_choice
  points: 2
  prompt: |
    Was ist $\nabla_{q} \sum_j w_{ij} v_j \neq 0$, if `weights[i, j] == 0.5`? 注意力机制：选一个。

    ```python
    a = {1: "x"}   # ~ half
    b = a
    ```
  options:
    - {id: amber, text: "50% of $v_{j}$ {really} = half ~ #1: yes"}
    - {id: birch, text: "%50 of 全部", misconception: "A {mix} of = ~ #: no.", hint: "看 $\\nu$?"}
    - {id: cedar, text: "`w -> v` & < v", misconception: "An arrow.", hint: "Größer?"}
  answer: amber
  explanation: |
    Because $\frac{1}{2} < 1$: {x} = ~y #z. 因为。
- id: several
  type: multiple_choice
  points: 1
  prompt: Which of these hold?
  options:
    - {id: acorn, text: Rows sum to 1}
    - {id: beech, text: 行之和为 1}
    - {id: clove, text: Columns do, misconception: "They need not.", hint: "Which axis?"}
    - {id: dune, text: Neither}
    - {id: elm, text: Both}
  answer: [acorn, beech]
  explanation: Each row is a distribution.
- id: size
  type: number
  points: 1
  prompt: How many bytes do 256 floats of 4 bytes need?
  answer: 1024
  unit: bytes
  wrong:
    - {value: 256, misconception: "That is their number.", hint: "How large is one?"}
  explanation: $256 \cdot 4 = 1024$.
- id: ninth
  type: number
  points: 0.5
  prompt: What is a ninth?
  answer: 0.1111
  tolerance: {relative: 0.01}
  explanation: 1/9.
- id: shape
  type: shape
  points: 1
  prompt: Which shape has the output?
  answer: [2, 4, 7]
  wrong:
    - {value: [2, 7, 4], misconception: "Turned.", hint: "Which comes first?"}
  explanation: (batch, n, d)
- id: parts
  type: matching
  points: 1
  prompt: Match them.
  left:
    - {id: one, text: "$Q$"}
    - {id: two, text: "查询"}
    - {id: three, text: "Keys"}
  right:
    - {id: ask, text: "asks -> first"}
    - {id: be_asked, text: "is asked: 被问"}
    - {id: carry, text: "carries & $v < w$"}
  answer: {one: be_asked, two: ask, three: ask}
  explanation: By their names.
- id: steps
  type: ordering
  points: 1
  prompt: In which order?
  options:
    - {id: zinc, text: "Project $x$"}
    - {id: yarn, text: 缩放}
    - {id: wood, text: Softmax}
  explanation: As in the formula.
- id: loose
  type: ordering
  points: 1
  prompt: In which order, if two may be swapped?
  options:
    - {id: zinc, text: First}
    - {id: yarn, text: Second}
    - {id: wood, text: Third}
  answer: [zinc, yarn, wood]
  constraints: [[zinc, wood], [yarn, wood]]
  explanation: Only the last is fixed.
- id: weights
  type: matrix
  points: 1
  prompt: Which weights?
  answer: [[1, 0], [0.5, 0.5]]
  tolerance: {absolute: 0.01}
  explanation: Causal.
- id: flops
  type: expression
  points: 1
  prompt: How many flops?
  answer: 4*n**2*d
  symbols: [n, d]
  explanation: Two products.
- id: drawn
  type: number
  points: 1
  draws: {d: [16, 32, 64, 128], h: [2, 4, 8]}
  where: ["d % h == 0"]
  prompt: "What width has a head, with $d = {d}$ and {h} heads?"
  answer: d / h
  wrong:
    - {value: "d * h", misconception: "That is {=d*h}.", hint: "Divide."}
  explanation: "{d} / {h} = {=d/h}"
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("course")
    folder = root / "solutions" / NAME
    folder.mkdir(parents=True)
    (folder / "quiz.yaml").write_text(QUIZ, "utf-8")
    return root


@pytest.fixture(scope="module", params=READ_BY)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def exported(course):
    made = {each: export_course(f"quiz-{each}", course, NAME) for each in READERS}
    return {**made, "gift in Moodle": made["gift"]}


@pytest.fixture(scope="module")
def read(exported):
    return {
        each: {item.name: item for item in reader(exported[each].data)}
        for each, reader in READ_BY.items()
    }


def plain(text):
    """What is seen: no tags; formulas as they are."""
    text = re.sub("<(br|/p|pre)>", " ", text)
    return " ".join(html.unescape(re.sub("<[^>]*>", "", text)).split())


LEFT_OUT = {
    "moodle": {"loose", "flops"},
    "gift": {"steps", "loose", "weights", "flops"},
    "gift in Moodle": {"steps", "loose", "weights", "flops"},
    "qti": {"steps", "loose", "weights", "flops", "parts"},
}


class TestWhatIsCarried:
    def test_all_others_are_in_the_file(self, exported, read, kind):
        left_out = {name for name, _ in exported[kind].left_out}
        assert left_out == LEFT_OUT[kind]
        ids = {name.partition(" ")[0] for name in read[kind]}
        assert ids == set(re.findall(r"^- id: (\w+)", QUIZ, re.MULTILINE)) - left_out
        assert all(reason for _, reason in exported[kind].left_out)

    def test_it_is_said_that_the_file_is_secret(self, exported, kind):
        assert "keep it from students" in exported[kind].remarks[0]

    def test_texts_in_three_languages(self, read, kind):
        question = read[kind]["gradient"]
        seen = plain(question.text)
        assert r"\(\nabla_{q} \sum_j w_{ij} v_j \neq 0\)" in seen
        assert "if weights[i, j] == 0.5? 注意力机制：选一个。" in seen
        assert 'a = {1: "x"} # ~ half b = a' in seen
        assert plain(question.explanation) == r"Because \(\frac{1}{2} < 1\): {x} = ~y #z. 因为。"
        assert [plain(text) for _, text, _ in question.answers] == [
            r"50% of \(v_{j}\) {really} = half ~ #1: yes", "%50 of 全部", "w -> v & < v",
        ]  # fmt: skip
        assert [plain(said) for _, _, said in question.answers] == [
            "", r"A {mix} of = ~ #: no. 看 \(\nu\)?", "An arrow. Größer?",
        ]  # fmt: skip

    def test_one_right_choice(self, read, kind):
        assert [share for share, _, _ in read[kind]["gradient"].answers] == [100, 0, 0]

    def test_points(self, read, kind):
        points = {"moodle": 2.0, "qti": 2.0}
        assert read[kind]["gradient"].points == points.get(kind)
        if kind in points:
            assert read[kind]["ninth"].points == 0.5

    def test_several_right_choices(self, read, kind):
        shares = [share for share, _, _ in read[kind]["several"].answers]
        if kind == "qti":  # who is wrong by how much is the program's own rule
            assert shares == [100, 100, 0, 0, 0]
        else:
            assert shares == [50, 50, -50, -50, -50]
        assert plain(read[kind]["several"].answers[1][1]) == "行之和为 1"

    def test_numbers(self, read, kind):
        size, ninth = read[kind]["size"], read[kind]["ninth"]
        if kind == "qti":
            assert size.tolerances == [1024, 1024]
            assert ninth.tolerances == pytest.approx([0.11, 0.1122], abs=1e-4)
            return
        assert [(share, float(value)) for share, value, _ in size.answers] == [
            (100, 1024),
            (0, 256),
        ]
        assert plain(size.answers[1][2]) == "That is their number. How large is one?"
        assert size.tolerances == [0, pytest.approx(0.000256)]
        assert float(ninth.answers[0][1]) == 0.1111
        assert ninth.tolerances == [pytest.approx(0.001111)]

    def test_shapes(self, read, kind):
        right = {text for share, text, _ in read[kind]["shape"].answers if share == 100}
        assert right == set(shape_spellings([2, 4, 7]))
        assert {"(2, 4, 7)", "2,4,7", "[2, 4, 7]", "2 x 4 x 7", "2×4×7"} <= right
        if kind != "qti":
            wrong = {text: said for share, text, said in read[kind]["shape"].answers if share == 0}
            assert plain(wrong["(2, 7, 4)"]) == "Turned. Which comes first?"

    def test_variants(self, read, kind):
        variants = [item for name, item in read[kind].items() if name.startswith("drawn ")]
        assert len(variants) == VARIANTS
        assert len({item.text for item in variants}) == VARIANTS
        assert len({item.category for item in variants}) == 1
        assert variants[0].category != read[kind]["size"].category
        for item in variants:
            d, h = (int(each) for each in re.findall(r"\d+", plain(item.text)))
            right = item.tolerances[0] if kind == "qti" else float(item.answers[0][1])
            assert right == d / h
            assert plain(item.explanation) == f"{d} / {h} = {d // h}"
            if kind != "qti":
                assert plain(item.answers[1][2]) == f"That is {d * h}. Divide."

    @pytest.mark.parametrize("kind", ["moodle", "gift"])  # a zip file has the time in it
    def test_the_same_each_time(self, course, kind):
        once, again = (export_course(f"quiz-{kind}", course, NAME) for _ in range(2))
        assert once == again


class TestMatchingAndOrder:
    @pytest.mark.parametrize("kind", ["moodle", "gift", "gift in Moodle"])
    def test_pairs_and_a_distractor(self, read, kind):
        pairs = {
            (plain(left), right.replace("->", "→")) for left, right in read[kind]["parts"].pairs
        }
        assert pairs == {
            (r"\(Q\)", "is asked: 被问"),
            ("查询", "asks → first"),
            ("Keys", "asks → first"),
            ("", r"carries & \(v < w\)"),
        }

    def test_order(self, read):
        steps = read["moodle"]["steps"]
        assert [plain(text) for _, text, _ in steps.answers] == [
            r"Project \(x\)",
            "缩放",
            "Softmax",
        ]

    def test_a_matrix_has_a_field_an_entry(self, read):
        weights = read["moodle"]["weights"]
        assert [float(value) for _, value, _ in weights.answers] == [1, 0, 0.5, 0.5]
        assert weights.tolerances == [0.01] * 4
        assert weights.points == 4
        assert weights.text.count("<tr>") == 2 and plain(weights.text).startswith("Which weights?")

    def test_units(self, read):
        assert read["moodle"]["size"].units == {"bytes": 1, "byte": 1, "B": 1, "KiB": 1 / 1024}
        assert read["moodle"]["ninth"].units == {}


class TestThePacksOwnQuizzes:
    @pytest.mark.parametrize("assignment", PACKS)
    @pytest.mark.parametrize("kind", READ_BY)
    def test_are_read_back(self, assignment, kind):
        done = export_course(f"quiz-{kind.partition(' ')[0]}", ROOT, assignment)
        left_out = {name for name, _ in done.left_out}
        found = READ_BY[kind](done.data)
        expected = [
            item
            for group in groups_of(ROOT, assignment)
            if group.id not in left_out
            for item in group.items
        ]
        assert [item.name for item in found] == [item.name for item in expected]
        for item, ours in zip(found, expected, strict=True):
            if kind != "qti":  # text2qti has a Markdown of its own
                asked = re.sub("<table><tr><td>{1:N.*", "", item.text)
                assert plain(asked) == plain(as_html(ours.question.prompt))
                assert plain(item.explanation) == plain(as_html(ours.question.explanation))
            if ours.question.type == "single_choice":
                (right,) = (
                    place for place, (share, _, _) in enumerate(item.answers) if share == 100
                )
                assert ours.question.options[right].id == ours.question.answer
            elif ours.question.type == "number" and kind == "qti":
                low, high = item.tolerances
                assert low <= ours.question.answer <= high
            elif ours.question.type == "number":
                assert float(item.answers[0][1]) == float(ours.question.answer)


class TestTexts:
    @pytest.mark.parametrize(
        ("markdown", "expected"),
        [
            ("a *b*", "<p>a <em>b</em></p>"),
            ("$a_1 * b_2$ and *c*", r"<p>\(a_1 * b_2\) and <em>c</em></p>"),
            ("$$\nx < y\n$$", r"<p>\[x &lt; y\]</p>"),
            ("`$a$` costs \\$5 and $6", "<p><code>$a$</code> costs $5 and $6</p>"),
            ("``a ` $b$``", "<p><code>a ` $b$</code></p>"),
            ("| a | b |\n|---|---|\n| $x$ | 2 |", None),
            ("a\nb\n\nc", "<p>a b</p> <p>c</p>"),
            ("$5 and 6$", r"<p>\(5 and 6\)</p>"),
        ],
    )
    def test_html(self, markdown, expected):
        found = as_html(markdown)
        assert "\n" not in found
        if expected is None:
            assert r"<td>\(x\)</td>" in found
        else:
            assert found == expected

    def test_inline(self):
        assert as_html("*a*", inline=True) == "<em>a</em>"
        assert as_html("a\n\nb", inline=True) == "<p>a</p> <p>b</p>"

    def test_plain(self):
        assert as_plain("`a` **b** $x < y$ &") == r"a b \(x < y\) &"

    @given(st.text(alphabet=r"ab\~=#{}:n ->%/$_*" + "\n\r注", max_size=40))
    def test_gift_escapes_are_undone_by_moodles_rules(self, text):
        """Its escapedchar_pre and _post, question/format/gift/format.php."""
        written = escaped(text)
        assert not re.search(r"(?<!\\)(\\\\)*[~=#{}:]", written)
        assert "\n" not in written
        held = written.replace("\\\\", "\0")
        for sign in ":#={}~":
            held = held.replace(f"\\{sign}", f"\1{ord(sign)}\2")
        held = held.replace("\\n", "\n").replace("\0", "\\")
        undone = re.sub("\1(\\d+)\2", lambda found: chr(int(found[1])), held)
        assert undone == text.replace("\n", " ")

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (1024, "1024"),
            (0.5, "0.5"),
            (1e-7, "0.0000001"),
            (1e22, "1" + "0" * 22),
            (-0.25, "-0.25"),
        ],
    )
    def test_numbers_have_no_exponent(self, value, expected):
        assert decimal(value) == expected

    def test_fractions(self):
        assert float(decimal(Fraction(1, 3))) == 1 / 3
        assert [percent(share) for share in (1, 0.5, 1 / 3, -1 / 6, 0)] == [
            "100", "50", "33.33333", "-16.66667", "0",
        ]  # fmt: skip

    def test_shapes_of_one_axis_and_of_none(self):
        assert shape_spellings([4]) == ["(4,)", "(4)", "[4]", "4"]
        assert shape_spellings([]) == ["()", "[]"]


class TestRefusals:
    def test_no_such_set(self, course):
        with pytest.raises(CannotExport, match="name a problem set"):
            export_course("quiz-gift", course, "ps9")

    def test_no_quiz(self, tmp_path):
        (tmp_path / "solutions" / NAME).mkdir(parents=True)
        with pytest.raises(CannotExport, match=r"has no quiz; write .*quiz\.yaml"):
            export_course("quiz-moodle", tmp_path, NAME)

    @pytest.mark.parametrize("kind", READERS)
    def test_nothing_that_could_be_carried(self, tmp_path, kind):
        folder = tmp_path / "solutions" / NAME
        folder.mkdir(parents=True)
        only = QUIZ[QUIZ.index("- id: flops") : QUIZ.index("- id: drawn")]
        (folder / "quiz.yaml").write_text(only, "utf-8")
        with pytest.raises(CannotExport, match=r"formulas as texts.*choose another kind"):
            export_course(f"quiz-{kind}", tmp_path, NAME)

    def test_without_text2qti(self, course, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "text2qti.quiz", None)
        with pytest.raises(CannotExport, match=r"attention-autograder\[interchange\]"):
            export_course("quiz-qti", course, NAME)


def test_on_the_command_line(course, tmp_path, monkeypatch, capsys):
    out = tmp_path / "quiz.xml"
    monkeypatch.setattr(
        "sys.argv",
        [
            "autograder",
            "export",
            "quiz-moodle",
            NAME,
            "--course",
            str(course),
            "--output",
            str(out),
        ],
    )
    with pytest.raises(SystemExit) as status:
        main()
    assert status.value.code == 1  # done, and something is not in it
    assert read_by.moodle(out.read_bytes())
    said = capsys.readouterr().err
    assert "keep it from students" in said
    assert "left out: flops: Moodle compares formulas as texts" in said
    assert all("secret" in KINDS[f"quiz-{kind}"].what for kind in READERS)
