"""Small edits: each is Python, changes its places and nothing else, and puts in what is there."""

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.faults.edits import Proposal, Text, edits_of
from autograder.faults.scopes import is_mask
from autograder.faults.search import FAMILIES
from tests.students.corpus import students_of

MODULES = {"np": "numpy", "math": "math", "torch": "torch", "nn": "torch.nn", "F": "torch.nn.F"}
WRITTEN = [
    ast.unparse(node)
    for ps in ("ps1", "ps2", "ps3")
    for student in students_of(ps)
    for node in ast.parse(student.entry.source).body
    if isinstance(node, (ast.FunctionDef, ast.ClassDef))
]


def edits(source, torch=False, callables=(), families=FAMILIES):
    text = Text(textwrap.dedent(source).strip())
    return text, edits_of(text, families, frozenset(), MODULES, callables, torch)


def made(source, **options):
    """Everything that one edit makes of a source, as Python writes it."""
    text, found = edits(source, **options)
    return {ast.unparse(ast.parse(edit.applied(text.source))) for edit in found}


def assert_sound(source, torch):
    text, found = edits(source, torch)
    for edit in found:
        result = edit.applied(text.source)
        ast.parse(result)
        assert result != text.source
        assert edit.cost in (1, 2, 3)
        assert edit.lines and all(1 <= n <= source.count("\n") + 1 for n in edit.lines)
        # outside of its places every character is as it was
        kept, at = [], 0
        for change in edit.changes:
            assert at <= change.start <= change.end
            kept.append(text.source[at : change.start])
            at = change.end
        kept.append(text.source[at:])
        rebuilt = "".join(
            piece + (edit.changes[i].text if i < len(edit.changes) else "")
            for i, piece in enumerate(kept)
        )
        assert rebuilt == result


@given(st.sampled_from(WRITTEN))
@settings(max_examples=12, deadline=None)
def test_edits_of_what_students_write(source):
    assert_sound(source, "torch" in source)


# Statements over names that stand for anything, to reach what the corpus does not hold.
NAMES = st.sampled_from(["a", "b", "mask", "n", "W_q"])
EXPRESSIONS = st.recursive(
    NAMES
    | st.integers(-3, 30).map(str)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.sampled_from(["True", "None", "'-inf'", "x.T", "'é' + 'ü'"]),
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "/", "@", "**", "//", "&", "|"]), inner
        ).map(lambda parts: "({} {} {})".format(*parts)),
        st.tuples(NAMES, inner).map(lambda parts: "{}[{}]".format(*parts)),
        st.tuples(inner, inner).map(lambda parts: "{}[:{}]".format("a", parts[1])),
        st.tuples(
            st.sampled_from(["sum", "max", "softmax", "view", "dot", "where", "f"]), inner, inner
        ).map(lambda parts: "a.{}({}, dim={})".format(*parts)),
        inner.map(lambda value: f"(-{value})"),
        inner.map(lambda value: f"(not {value})"),
        st.tuples(inner, inner, inner).map(lambda parts: "({} if {} else {})".format(*parts)),
    ),
    max_leaves=8,
)
STATEMENTS = st.one_of(
    st.tuples(NAMES, EXPRESSIONS).map(lambda parts: "{} = {}".format(*parts)),
    st.tuples(NAMES, EXPRESSIONS).map(lambda parts: "{} += {}".format(*parts)),
    EXPRESSIONS.map(lambda value: f"if {value}:\n        b = {value}"),
    EXPRESSIONS.map(lambda value: f"for i in range({value}):\n        b = a[i]; n = 1"),
    EXPRESSIONS.map(lambda value: f"assert {value}"),
)


@given(st.lists(STATEMENTS, min_size=1, max_size=3), EXPRESSIONS, st.booleans())
@settings(max_examples=60, deadline=None)
def test_edits_of_anything(statements, value, torch):
    body = "\n    ".join([*statements, f"return {value}"])
    assert_sound(f"def f(a, b, mask=None, n=2, *, W_q=1):\n    {body}", torch)


@pytest.mark.parametrize(
    "before, after",
    [
        ("return e / e.sum(axis=1)", "return e / e.sum(axis=0)"),
        ("return e - e.max()", "return e - e.max(axis=0, keepdims=True)"),
        ("return e.T @ K", "return K.T @ e"),
        ("return e @ K.T", "return K.T @ e"),
        ("return e @ K", "return K @ e"),
        ("return e.T @ K", "return e @ K.T"),
        ("return e / d_k", "return e / d_k ** 0.5"),
        ("return e * d_k ** 1 / 2", "return e * (d_k ** 1 / 2)"),
        ("return d_k**1/2", "return d_k**(1/2)"),
        ("e /= d_k\n    return e", "e = e / d_k\n    return e"),
        ("return np.where(e > 0, e, -np.inf)", "return np.where(e > 0, -np.inf, e)"),
        ("return np.einsum('ij,jk->ik', e, K)", "return np.einsum('ji,jk->ik', e, K)"),
        ("return e, K", "return K, e"),
        ("return [e[:n] for n in range(d_k)]", "return [e[:n] for n in range(d_k + 1)]"),
        (
            "if d_k > 1:\n        e = K\n    return e",
            "if not d_k > 1:\n        e = K\n    return e",
        ),
        ("e = e + K\n    return e", "pass\n    return e"),
        ("e = e + K\n    return e", "e = e\n    return e"),
        ("e.clip(0)\n    return e", "e = e.clip(0)\n    return e"),
    ],
)
def test_slips_that_are_looked_for(before, after):
    wanted = ast.unparse(ast.parse(f"def f(e, K, d_k):\n    {after}"))
    assert wanted in made(f"def f(e, K, d_k):\n    {before}")


@pytest.mark.parametrize(
    "before, after",
    [
        ("s.masked_fill(mask, -1e9)", "s.masked_fill(mask == 0, -1e9)"),
        ("s.masked_fill(mask == 0, 1e9)", "s.masked_fill(mask == 0, -1000000000.0)"),
        ("torch.triu(s)", "torch.tril(s)"),
        ("s.view(b, h, n, d)", "s.reshape(b, n, h, d).transpose(1, 2)"),
        ("s.reshape(b, n, h * d)", "s.transpose(1, 2).reshape(b, n, h * d)"),
        ("s.transpose(1, 2).view(b, n)", "s.transpose(1, 2).reshape(b, n)"),
        ("F.log_softmax(s, dim=-1)", "F.softmax(s, dim=-1)"),
        ("mask.repeat(h, 1, 1)", "mask.repeat_interleave(h, dim=0)"),
        ("nn.Linear(b, h)", "nn.Linear(h, b)"),
    ],
)
def test_slips_in_torch(before, after):
    head = "def f(s, mask, b, h, n, d):\n    return "
    assert ast.unparse(ast.parse(head + after)) in made(head + before, torch=True)


def test_the_same_slip_in_several_places_is_one_edit():
    source = "def f(s):\n    s = s - s.max(axis=1)\n    return s / s.sum(axis=1)"
    text, found = edits(source)
    both = [e for e in found if e.places == 2 and e.after == "axis=0"]
    assert [e.lines for e in both] == [(2, 3)]
    assert both[0].applied(text.source).count("axis=0") == 2


def test_a_name_is_one_that_could_be_meant():
    """A size for a size, a mask for a mask; never one that is not there."""
    _, found = edits("def f(x, W, mask, d_k):\n    n = len(x)\n    return x @ W / d_k, mask")
    names = {(e.before, e.after) for e in found if e.family in ("name", "variable")}
    assert ("d_k", "n") in names and ("x", "W") in names
    assert not any(is_mask(before) != is_mask(after) for before, after in names)
    assert not any((a in ("n", "d_k")) != (b in ("n", "d_k")) for a, b in names)


def test_what_is_never_used_comes_first():
    source = "def f(x, W_o):\n    return x + 1"
    likely = [e for e in edits(source)[1] if e.likely]
    assert {e.after for e in likely} >= {"W_o"}


def test_parts_that_are_frozen_and_stubs_stay():
    text = Text("class A:\n    def f(self, x):\n        return x + 1")
    assert edits_of(text, FAMILIES)
    assert not edits_of(text, FAMILIES, frozenset({"A"}))
    assert not edits_of(Text("def f(x):\n    raise NotImplementedError"), FAMILIES)


def test_texts_and_annotations_stay():
    source = '''
        def f(x: int = 3) -> int:
            """Adds 5 to 7."""
            return f"{x + 1}"
    '''
    assert all("x: int=3" in code and "Adds 5 to 7." in code for code in made(source))


def test_a_place_is_found_in_bytes_and_characters():
    text, found = edits("def f(ü, é):\n    return 'ß' + ü - é")
    assert any("- ü" in e.applied(text.source) or "é -" in e.applied(text.source) for e in found)
    for edit in found:
        ast.parse(edit.applied(text.source))


def test_a_proposal_that_cannot_be_written_is_none():
    text = Text("def f(x):\n    return x")
    node = text.tree.body[0].body[0].value

    def broken(part, scope):
        return [Proposal(node, "1 +", "number")] if part is node else []

    assert edits_of(text, [broken]) == []
