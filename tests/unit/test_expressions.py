"""Formulas as answers: every form of a right one is right, every near miss is wrong."""

import ast
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.exercise import AuthoringError
from autograder.quiz import expressions
from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.comparing import CannotCompare, Comparer, TookTooLong
from autograder.quiz.expressions import Expression, equal, evaluate, read_expression
from autograder.quiz.symbols import Symbol, read_symbols

SYMBOLS = ["n", "d_k", "h"]

# Ten formulas of the course, each with ten forms of it and ten near misses.
FORMULAS = {
    "flops of attention": (
        "8*n*d**2 + 4*n**2*d",
        ["n", "d"],
        [
            "4 n d (2 d + n)",
            "8nd² + 4n²d",
            "8·n·d^2 + 4·n^2·d",
            "4*n*d*(n + 2*d)",
            "2*(4*n*d*d + 2*n*n*d)",
            "4 N D (N + 2 D)",
            "８×ｎ×ｄ＾２＋４×ｎ＾２×ｄ",
            "4n²d + 8nd²",
            "2·n·d·(4·d + 2·n)",
            "4 d ((n + d)² − d²)",
        ],
        [
            "8*n*d**2 + 2*n**2*d",
            "4*n*d**2 + 4*n**2*d",
            "8*n*d + 4*n**2*d",
            "8*n*d**2 + 4*n*d",
            "8*n**2*d + 4*n*d**2",
            "6*n*d**2 + 4*n**2*d",
            "8nd² + 4n²d + n",
            "(8 n d)² + 4 n² d",
            "8*n*d**2 - 4*n**2*d",
            "4 n d (2 n + d)",
        ],
    ),
    "bytes of the score matrix": (
        "4*b*h*n**2",
        ["b", "h", "n"],
        [
            "4bhn²",
            "b·h·n·n·4",
            "b h (2n)²",
            "(2 n)^2 * b * h",
            "4 × b × h × n²",
            "32/8 · b · h · n^2",
            "2^2 b h n^2",
            "b*h*(4*n**2)",
            "4 b h n^3 / n",
            "sqrt(16) b h n**2",
        ],
        [
            "2*b*h*n**2",
            "4*b*h*n",
            "4*b*n**2",
            "4*h*n**2",
            "8bhn²",
            "b h n²",
            "(4 b h n)²",
            "4 (b + h) n²",
            "4*b*h*n**2 + n",
            "4·b·h·2^n",
        ],
    ),
    "entry of the softmax jacobian on the diagonal": (
        "p*(1 - p)",
        [{"p": {"low": 0, "high": 1, "real": True}}],
        [
            "p - p²",
            "p − p·p",
            "(1-p) p",
            "p(1-p)",
            "-(p**2) + p",
            "-p^2 + p",
            "p*(1-p)**1",
            "1/4 - (p - 1/2)²",
            "0.25 - (p - 0.5)^2",
            "(1 - (1 - p)² - p²)/2",
        ],
        [
            "p*(p - 1)",
            "-p²",
            "p(1+p)",
            "1 - p",
            "p - 2p²",
            "p(1-p)²",
            "p",
            "p^2 - p",
            "p - p^3",
            "sqrt(p)·(1 - p)",
        ],
    ),
    "relative variance of the estimator": (
        "(2 + 6/d_k)/N",
        ["d_k", "N"],
        [
            "2/N + 6/(N d_k)",
            "(2 d_k + 6)/(d_k N)",
            "2(d_k + 3)/(N·d_k)",
            "(2 + 6/dₖ)/n",
            "2*(1 + 3/d_k)/N",
            "(2+6·d_k^-1)·N^-1",
            "(2 + 6/dk) / N",
            "2/N·(1+3/d_k)",
            "√((2+6/d_k)/N)·√((2+6/d_k)/N)",
            "(8 + 24/d_k)/(4 N)",
        ],
        [
            "(2 + 6/N)/d_k",
            "(2 + 6·d_k)/N",
            "(2 + 2/d_k)/N",
            "2 + 6/d_k/N",
            "(2 + 6/d_k)/N²",
            "√((2 + 6/d_k)/N)",
            "(2 + 6/d_k)/(N - 1)",
            "8/(d_k N)",
            "(3 + 6/d_k)/N",
            "2/N + 6/d_k",
        ],
    ),
    "parameters of multi-head attention": (
        "4*d**2 + 4*d",
        ["d"],
        [
            "4 d (d + 1)",
            "4d² + 4d",
            "4(d² + d)",
            "(2d + 1)² - 1",
            "4·d·(1 + d)",
            "4*(d*d + d)",
            "3*(d**2 + d) + d**2 + d",
            "2d(2d + 2)",
            "4 D^2 + 4 D",
            "d*(d + 1)*2**2",
        ],
        [
            "4*d**2",
            "3*d**2 + 3*d",
            "4*d**2 + d",
            "4*d**2 + 3*d",
            "4(d+1)²",
            "4*d**2 - 4*d",
            "4*d**2 + 4",
            "8*d**2",
            "4 d^3 + 4 d",
            "(4 d)² + 4 d",
        ],
    ),
    "receptive field of stacked convolutions": (
        "1 + L*(k - 1)",
        ["L", "k"],
        [
            "L k - L + 1",
            "1+L(k−1)",
            "k + (L-1)(k-1)",
            "L*k - (L - 1)",
            "(k-1)·L + 1",
            "1 - L + L·k",
            "lk - l + 1",
            "1 - L(1 - k)",
            "(2 + 2L(k-1))/2",
            "1 + (k-1)/(1/L)",
        ],
        [
            "L*(k - 1)",
            "1 + L*k",
            "L*k",
            "k**L",
            "1 + (L - 1)*(k - 1)",
            "1 + L*(k + 1)",
            "1 + L*k - 1",
            "k + L*(k - 1)",
            "(1 + L)*(k - 1)",
            "1 + k*(L - 1)",
        ],
    ),
    "variance of Xavier's weights": (
        "2*g**2/(a + b)",
        ["g", "a", "b"],
        [
            "2g²/(a+b)",
            "g·g·2/(b+a)",
            "g^2 / ((a + b)/2)",
            "2 (g/√(a+b))²",
            "(√2 · g)²/(a+b)",
            "(g·sqrt(2/(a+b)))^2",
            "6g²/(a+b)/3",
            "1/((a+b)/(2 g²))",
            "2*g**2*(a+b)**-1",
            "(2 g^2 a - 2 g^2 b)/(a² - b²)",
        ],
        [
            "g*2/(a + b)",
            "g²/(a+b)",
            "2g²/a + b",
            "6g²/(a+b)",
            "g·√(2/(a+b))",
            "2g²/(a·b)",
            "2g²/a",
            "g^2·(a+b)/2",
            "4g²/(a+b)",
            "2 g²/(a - b)",
        ],
    ),
    "angle of a rotary pair": (
        "m * B**(-2*i/d)",
        ["m", {"B": {"low": 2, "high": 20000}}, {"i": {"low": 0, "high": 40}}, "d"],
        [
            "m B^(-2i/d)",
            "m / B^(2i/d)",
            "m·B**(−2·i/d)",
            "m * exp(-2 i/d · ln(B))",
            "m·(B^(2/d))^(-i)",
            "m * (1/B)**(2*i/d)",
            "m exp(-2 log(B) i/d)",
            "m/(B^(i/d))²",
            "m·B^(-i/(d/2))",
            "m / (B**2)**(i/d)",
        ],
        [
            "m * B**(2*i/d)",
            "m * B**(-i/d)",
            "m * B**(-2*i)/d",
            "B**(-2*i/d)",
            "m * B**-(2*i + 1)/d",
            "m * B**(-2*d/i)",
            "m / (2 B)^(i/d)",
            "(m B)^(-2i/d)",
            "m - B^(2i/d)",
            "m * B**(-2*(i+1)/d)",
        ],
    ),
    "size of the table of relative positions": (
        "(2*w - 1)**2",
        ["w"],
        [
            "4w² - 4w + 1",
            "(2w−1)²",
            "(2 w - 1)(2 w - 1)",
            "(1 - 2w)^2",
            "4w(w-1) + 1",
            "(w + w - 1)**2",
            "(w + (w - 1))²",
            "4(w - 1/2)²",
            "abs(2w - 1)^2",
            "w² + 2w(w-1) + (w-1)²",
        ],
        [
            "(2*w + 1)**2",
            "2*w - 1",
            "w**4",
            "(2w)² - 1",
            "4w² - 1",
            "(w - 1)²",
            "(2w-1)(2w+1)",
            "4w² - 4w",
            "2*(w - 1)**2",
            "2w² - 1",
        ],
    ),
    "width of a head": (
        "d/h",
        ["h", {"d": {"low": 2, "high": 64, "multiple_of": "h"}}],
        [
            "d//h",
            "d ÷ h",
            "d·h^-1",
            "d h^(-1)",
            "d*(1/h)",
            "floor(d/h)",
            "(d - d % h)/h",
            "d²/(d h)",
            "√(d²/h²)",
            "1/(h/d)",
        ],
        [
            "h/d",
            "d*h",
            "d - h",
            "d",
            "d/h + 1",
            "d/h²",
            "d/(h - 1)",
            "√d/h",
            "d % h",
            "d/2 · h",
        ],
    ),
}
RIGHT = [(name, form) for name, (_, _, forms, _) in FORMULAS.items() for form in forms]
WRONG = [(name, form) for name, (_, _, _, misses) in FORMULAS.items() for form in misses]


def verdict(name, form, seed=7):
    answer, symbols, _, _ = FORMULAS[name]
    return equal(read_expression(form, symbols), read_expression(answer, symbols), symbols, seed)


def read(text, symbols=SYMBOLS):
    return str(read_expression(text, symbols))


class TestVerdicts:
    def test_there_are_a_hundred_of_each(self):
        assert (len(set(RIGHT)), len(set(WRONG))) == (100, 100)

    @pytest.mark.parametrize(("name", "form"), RIGHT)
    def test_another_form_is_right(self, name, form):
        assert verdict(name, form)

    @pytest.mark.parametrize(("name", "form"), WRONG)
    def test_a_near_miss_is_wrong(self, name, form):
        assert not verdict(name, form)

    def test_the_seed_decides_nothing(self):
        for seed in range(10):
            assert verdict("angle of a rotary pair", "m/(B^(i/d))²", seed)
            assert not verdict("angle of a rotary pair", "m * B**(-2*(i+1)/d)", seed)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("exp(n) - exp(n) + n", "n"),
            ("exp(1000 n) - exp(1000 n) + n", "n"),
            ("(n^2 - 1)/(n - 1)", "n + 1"),
            ("(n - 5)^2/(n - 5)", "n - 5"),
            ("exp(log n)", "n"),
            ("log2(n)", "ln(n)/ln(2)"),
            ("log10(n)", "log(n)/log(10)"),
            ("log(n^h)", "h log(n)"),
            ("sin(n)^2 + cos(n)^2", "1"),
            ("2^n · 2^n", "4^n"),
            ("e^n", "exp(n)"),
            ("√n · √n", "n"),
            ("abs(-n)", "n"),
            ("n - n % h", "h (n//h)"),
            ("ceil(n/h)", "-(-n // h)"),
            ("0.1 n + 0.2 n", "0.3 n"),
            ("log(1/n)", "-log(n)"),
            ("n^0", "1"),
            ("10^300 n / 10^300", "n"),
        ],
    )
    def test_no_rounding_parts_what_is_equal(self, one, other):
        assert equal(read_expression(one, SYMBOLS), read_expression(other, SYMBOLS), SYMBOLS, 1)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("n + 10^-40", "n"),
            ("n + exp(-n)", "n"),
            ("n + 1/exp(100)", "n"),
            ("1.0000000000000000000000001 n", "n"),
            ("0.3333333333333333 n", "n/3"),
            ("1.4142135623730951 n", "√2 · n"),
            ("sin(3.14159265358979 n)", "0"),
            ("n//h", "n/h"),
            ("√(-n)", "n"),
            ("√(n - d_k)²", "n - d_k"),
            ("n^n^n^n", "n"),
            ("exp(exp(n))", "n"),
            ("log(n)", "log2(n)"),
        ],
    )
    def test_no_rounding_hides_a_difference(self, one, other):
        assert not equal(read_expression(one, SYMBOLS), read_expression(other, SYMBOLS), SYMBOLS, 1)

    def test_the_sign_counts_where_a_symbol_may_be_negative(self):
        signed = [{"x": {"low": -3, "high": 3, "real": True}}]
        root, plain, size = (read_expression(each, signed) for each in ("√(x²)", "x", "abs(x)"))
        assert not equal(root, plain, signed, 1)
        assert equal(root, size, signed, 1)
        assert equal(read_expression("√(n²)", SYMBOLS), read_expression("n", SYMBOLS), SYMBOLS, 1)

    @settings(max_examples=40, deadline=None)
    @given(
        st.recursive(
            st.sampled_from(["n", "h", "2", "3", "d_k"]),
            lambda part: st.tuples(part, st.sampled_from("+-*"), part).map(
                lambda made: f"({' '.join(made)})"
            ),
            max_leaves=8,
        )
    )
    def test_what_is_shown_is_what_was_read(self, text):
        """Against Python itself, at one point, and read again."""
        tree = read_expression(text, SYMBOLS)
        again = read_expression(str(tree), SYMBOLS)
        assert equal(tree, again, SYMBOLS, 3)
        code = compile(ast.parse(text, mode="eval"), "<test>", "eval")
        value = eval(code, {"n": 5, "h": 7, "d_k": 11})
        assert evaluate(str(tree), {"n": 5, "h": 7, "d_k": 11}) == value

    def test_what_cannot_be_decided_is_no_verdict(self):
        with pytest.raises(NotAnAnswer, match="cannot be decided"):
            equal(
                read_expression("floor(sqrt(2)^2 n)", SYMBOLS),
                read_expression("2 n", SYMBOLS),
                SYMBOLS,
                1,
            )

    def test_an_answer_without_a_value_is_the_authors_fault(self):
        with pytest.raises(AuthoringError, match="has no value"):
            equal(read_expression("n", SYMBOLS), read_expression("√(-n)", SYMBOLS), SYMBOLS, 1)


class TestReading:
    @pytest.mark.parametrize(
        ("typed", "expected"),
        [
            ("2 n d_k", "2 * n * d_k"),
            ("n·d_k", "n * d_k"),
            ("ndk", "n * d_k"),
            ("2nd_k", "2 * n * d_k"),
            ("n^2·dₖ", "n**2 * d_k"),
            ("n²dₖ³h", "n**2 * d_k**3 * h"),
            ("√d_k", "sqrt(d_k)"),
            ("√ dₖ · n", "sqrt(d_k) * n"),
            ("√(d_k n)", "sqrt(d_k * n)"),
            ("d_k^(1/2)", "d_k**(1 / 2)"),
            ("d_{k}", "d_k"),
            ("D_K + N", "d_k + n"),
            ("n(h+1)", "n * (h + 1)"),
            ("n²(h+1)", "n**2 * (h + 1)"),
            ("（n＋1）×h", "(n + 1) * h"),
            ("[n + 1] h", "(n + 1) * h"),
            ("2 x n", "2 * n"),
            ("-n^2", "-n**2"),
            ("2^-n", "2**(-n)"),
            ("2ⁿ⁺¹", "2**(n + 1)"),
            ("n^h^2", "n**h**2"),
            ("log n", "log(n)"),
            ("n log(n)", "n * log(n)"),
            ("SQRT(n)", "sqrt(n)"),
            ("½ n", "1 / 2 * n"),
            ("π n", "pi * n"),
            ("= 2 n", "2 * n"),
            ("'2 n'", "2 * n"),
            ("1.5e3 n", "1500 * n"),
            ("n - (h - 1)", "n - (h - 1)"),
            ("n/(h/2)", "n / (h / 2)"),
            ("n * (h // 2)", "n * (h // 2)"),
            ("\u200bn\ufeff + ｈ", "n + h"),
        ],
    )
    def test_is_read_as(self, typed, expected):
        assert read(typed) == expected

    def test_greek_letters(self):
        symbols = ["σ", "n", {"λ_x": {"real": True}}]
        assert [each.name for each in read_symbols(symbols)] == ["sigma", "n", "lambda_x"]
        assert read("2σn + nλ_x", symbols) == "2 * sigma * n + n * lambda_x"
        assert read("2 sigma n + n lambda_x", symbols) == read("2σn + nλₓ", symbols)

    @pytest.mark.parametrize(
        ("typed", "sentence"),
        [
            ("1/2n", "what is divided by"),
            ("1/2 n", "what is divided by"),
            ("n/√d_k h", "what is divided by"),
            ("1/nh", "what is divided by"),
            ("6/2(n+1)", "what is divided by"),
            ("√2n", "what √ is taken of"),
            ("log n h", "what log is taken of"),
            ("log n^2", "what log is taken of"),
            ("2^nh", "brackets around it"),
            ("n^2h", "brackets around the exponent"),
            ("n²^3", "brackets around a power"),
            ("0,5 n", "decimal point"),
            ("1，5 n", "decimal point"),
            ("n = 2 h", "right-hand side"),
            ("|n|", "abs"),
            ("n!", "no factorials"),
            (r"\sqrt{n}", "LaTeX"),
            ("n2", "there is no n2 here; the symbols are n, d_k, h"),
            ("n 2", "before the number 2"),
            ("2 3", "before the number 3"),
            ("x₊₁", "there is no"),
            ("", "no whole formula"),
            ("n +", "no whole formula"),
            ("* n", "no whole formula"),
            ("(n", "no whole formula"),
            ("n)", "no whole formula"),
            ("()", "no whole formula"),
            ("50%", "no whole formula"),
            ("1/0", "divides by zero"),
            ("n + sqrt(-1)", "negative"),
            ("log(0) n", "negative"),
            ("(-8)^(1/3)", "negative"),
            ("∞", "finite"),
            ("inf", "there is no inf"),
            ("nan * n", "there is no nan"),
            ("1_024 n", "there is no _024"),
            ("9**9**9", "too large"),
            ("exp(exp(exp(1000)))", "too large"),
            ("n**9**9", "too large"),
            ("n^1001", "too large"),
            ("10^308 * 10 + n", "too large"),
            ("1e999 n", "too large"),
            ("9" * 70, "too large"),
            ("(" * 10_000 + "n" + ")" * 10_000, "too long"),
            ("(" * 40 + "n" + ")" * 40, "too many brackets"),
            ("√" * 300 + "n", "brackets after √"),
            ("-" * 399 + "n", "too long"),
            ("+n" * 200, "too long"),
            ("__import__('os').system('ls')", "there is no __import__"),
            ("exec('1')", "there is no exec"),
            ("n.__class__", "has no meaning"),
            ("lambda: 0", "there is no lambda"),
            ("n if h else 2", "there is no if"),
            ("n[h:2]", "has no meaning"),
            ("f'{n}'", "there is no f"),
            ("n; h", "has no meaning"),
            ("n := 2", "has no meaning"),
            ("n@h", "has no meaning"),
            ("n < h", "has no meaning"),
            ("s0", "there is no s0"),
        ],
    )
    def test_is_refused(self, typed, sentence):
        started = time.process_time()
        with pytest.raises(NotAnAnswer, match=sentence) as refusal:
            read_expression(typed, SYMBOLS)
        assert time.process_time() - started < 1.0
        assert len(str(refusal.value)) < 200

    def test_a_doubt_about_names_is_refused(self):
        assert read("dk", ["d_k", "n"]) == "d_k"
        assert read("dk", ["d", "k"]) == "d * k"
        assert read("d_k", ["d", "k", "d_k"]) == "d_k"
        with pytest.raises(NotAnAnswer, match="two ways"):
            read("dk", ["d", "k", "d_k"])
        assert read("N n", ["n", "N"]) == "N * n"

    @settings(max_examples=300, deadline=None)
    @given(st.text(alphabet="nh2dk_3 +-*/^()√²³ₖ·×π,.e=logsqrt[]", max_size=25))
    def test_any_text_is_read_the_same_twice_or_refused(self, text):
        try:
            once = read_expression(text, SYMBOLS)
        except NotAnAnswer as refusal:
            assert str(refusal)
            return
        assert isinstance(once, Expression)
        assert str(read_expression(str(once), SYMBOLS)) == str(once)


class TestSymbols:
    @pytest.mark.parametrize(
        ("symbols", "sentence"),
        [
            (["n", "n"], "twice"),
            (["2n"], "no name"),
            ([{"n": {"lowest": 1}}], "can be said"),
            ([{"n": {}, "m": {}}], "not one symbol"),
            ([{"n": {"low": 5, "high": 5}}], "let it go up"),
            ([{"n": {"low": 0.5}}], "write a number"),
            (["sqrt"], "is a function"),
            ([{"d": {"multiple_of": "h"}}], "another symbol"),
            ([3], "no name"),
        ],
    )
    def test_are_refused_with_a_sentence(self, symbols, sentence):
        with pytest.raises(AuthoringError, match=sentence):
            read_symbols(symbols)

    def test_are_read(self):
        assert read_symbols(["n", {"x": {"low": -1, "high": 1, "real": True}}]) == (
            Symbol("n"),
            Symbol("x", -1, 1, True),
        )
        assert read_symbols({"n": {}, "h": None}) == (Symbol("n"), Symbol("h"))


class TestTheProcess:
    def test_one_that_takes_too_long_is_ended(self, tmp_path, monkeypatch):
        """By processor time, whatever the load; and the next question has another."""
        (tmp_path / "endless.py").write_text(
            "import sys; from autograder.quiz import agreement as a\n"
            "def compare(student, *rest):\n    while student == 'long': pass\n    return 'equal'\n"
            "a.compare = compare; a.serve(float(sys.argv[1]), int(sys.argv[2]))\n",
            "utf-8",
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        comparer = Comparer(cpu_seconds=0.2, module="endless")
        try:
            assert comparer.ask(["short", "", [], ""]) == "equal"
            with pytest.raises(TookTooLong):
                comparer.ask(["long", "", [], ""])
            assert comparer.ask(["short", "", [], ""]) == "equal"
        finally:
            comparer.close()

    def test_one_that_cannot_start_is_no_fault_of_an_answer(self):
        comparer = Comparer(module="autograder.no_such_module")
        with pytest.raises(CannotCompare, match="import mpmath"):
            comparer.ask(["", "", [], ""])

    def test_a_student_hears_of_it_in_a_sentence(self, monkeypatch):
        def give_up(request):
            raise TookTooLong

        monkeypatch.setattr(expressions, "verdict", give_up)
        with pytest.raises(NotAnAnswer, match="write it more simply"):
            equal(read_expression("n", SYMBOLS), read_expression("h", SYMBOLS), SYMBOLS, 1)

    def test_what_is_too_large_everywhere_is_no_verdict(self):
        symbols = [{"n": {"low": 30, "high": 99}}]
        with pytest.raises(NotAnAnswer, match="too large"):
            equal(
                read_expression("n^n^n/n^n^n*n", symbols), read_expression("n", symbols), symbols, 1
            )
